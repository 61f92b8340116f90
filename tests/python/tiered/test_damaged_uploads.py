"""Reports of uploads that are damaged, that overlap, or that name missing objects."""

from __future__ import annotations

import base64
import json
import shutil
import sys
import textwrap
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import run
from logsegment import stores
from logsegment.spark.options.read import keys_option
from logsegment.tiered.chunks import CACHE, ChunkedFile, Opener
from logsegment.tiered.errors import ChunkError
from logsegment.tiered.keys import KeyRing
from logsegment.tiered.manifest import ChunkTable
from logsegment.tiered.overlaps import Span, chosen


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    """A copy of the objects, to be damaged."""
    return shutil.copytree(tiered.BUCKET, tmp_path / "bucket")


def log_of(mode: str, root: Path) -> ls.Segment:
    (segment,) = ls.Log(root / tiered.folder(mode).relative_to(tiered.BUCKET), decryption_keys=tiered.KEYS).segments
    return segment


def damage(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)


@pytest.mark.parametrize("damaged", [(3, 4), (3, 5), (0, 1, 2), (11, 12)])
def test_damaged_neighbours_are_looked_past(damaged: tuple[int, ...], bucket: Path):
    """TS-45: each tells the offsets between the nearest intact batches."""
    segment = log_of("enc", bucket)
    table = stores.open_file(segment.path)._table
    for number in damaged:
        damage(Path(str(segment.path)), table[number].stored_position + 14)
    CACHE.clear()
    intact = ls.batches(tiered.original("enc")).to_pylist()
    bounds = [(number * 1000, number * 1000 + 1000) for number in damaged]
    lost = [row for row in intact if any(row["position"] < end and row["position"] + row["size"] > start for start, end in bounds)]
    sound = [row for row in intact if row not in lost]
    expected = [
        (
            max((row["lastOffset"] + 1 for row in sound if row["position"] < start), default=1234),
            min((row["baseOffset"] - 1 for row in sound if row["position"] > start), default=1433),
        )
        for start, _ in bounds
    ]
    found = [one for one in segment.validate().findings if one.rule == "TS-45"]
    assert [(one.base_offset, one.last_offset) for one in found] == expected


def test_threads_that_look_up_in_one_segment_do_not_take_each_others_damage(bucket: Path):
    """One goes on past damage for where to cut, the other must hear of it, whoever of them fetched the bytes."""
    segment = log_of("enc", bucket)
    file = stores.open_file(segment.path)
    damage(Path(str(segment.path)), file._table[3].stored_position + 14)
    CACHE.clear()
    index = segment._lookup.index
    cuts = index.cuts(0, file.size, 500)
    (row, *_) = (row for row in ls.batches(tiered.original("enc")).to_pylist() if 3000 <= row["position"] < 4000)

    def strict() -> list[type]:
        met = []
        for _ in range(100):
            try:
                index.find_offset(row["lastOffset"])
                met.append(type(None))
            except ChunkError as error:
                met.append(type(error))
        return met

    def lenient() -> list[list[int]]:
        return [index.cuts(0, file.size, 500) for _ in range(100)]

    assert strict() == [ChunkError] * 100
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(ask) for ask in (strict, lenient, strict, lenient)]
            strictly, leniently = [one.result() for one in asked[::2]], [one.result() for one in asked[1::2]]
    finally:
        sys.setswitchinterval(before)
    assert strictly == [[ChunkError] * 100] * 2
    assert leniently == [[cuts] * 100] * 2


def test_damage_in_front_of_a_compressed_message(tmp_path: Path):
    """TS-45: what is packed in a wrapper of magic 1 is unpacked for its first offset."""
    source = corpus.CORPUS / "legacy-0.10.2.2/data/codec-snappy-0/00000000000000000000.log"
    intact = ls.batches(source.read_bytes(), resolve=True).to_pylist()
    assert any(row["baseOffset"] is None for row in ls.batches(source.read_bytes()).to_pylist())
    stored = tiered.Uploader(tmp_path, chunk_size=300, key_id="key1").segment(source, intact[-1]["lastOffset"])
    damage(stored, 20)
    behind = next(row for row in intact if row["position"] >= 300)
    (found,) = (one for one in ls.Segment(stored, decryption_keys=tiered.KEYS).validate().findings if one.rule == "TS-45")
    assert (found.base_offset, found.last_offset) == (0, behind["baseOffset"] - 1)


def span_of(start: int, end: int, epochs: dict[int, int], written: int = 0) -> Span:
    return Span(start, end, tuple((first, term) for term, first in epochs.items()), written)


@pytest.mark.parametrize(
    ("given", "checkpoint", "expected"),
    [
        # DeleteRecords cut the checkpoint at the start of the log, within the segment.
        ([(400, 600, {5: 400}, 1), (400, 600, {5: 400}, 2)], [(5, 500)], ["duplicate", None]),
        # An unclean election: the older leader had written further.
        ([(0, 150, {1: 0}), (0, 100, {1: 0}), (101, 120, {2: 101})], [(1, 0), (2, 101)], ["superseded", None, None]),
        ([(0, 100, {1: 0}), (50, 150, {2: 50}), (101, 160, {1: 101})], [(1, 0), (2, 50)], [50, None, "superseded"]),
        # The only holder of offsets of the log is read as far as they are of the log.
        ([(0, 150, {1: 0}), (101, 120, {2: 101})], [(1, 0), (2, 101)], [101, None]),
        # A leader whose segments have other borders: each ends where the next one begins, as in Kafka.
        ([(0, 99, {1: 0}), (50, 149, {1: 50, 2: 120}), (130, 199, {2: 130})], [(1, 0), (2, 120)], [50, 130, None]),
        # The new leader's segment is nested in that of the old one, whose end was cut off.
        ([(0, 199, {1: 0}), (50, 99, {1: 50, 2: 80}), (100, 120, {2: 100})], [(1, 0), (2, 80)], [50, None, None]),
        # Without a checkpoint the newest upload tells the terms of its own offsets.
        ([(0, 99, {1: 0}), (50, 149, {2: 50})], [], [50, None]),
        # In front of the checkpoint nobody tells which of two leaders' records were kept.
        ([(0, 99, {1: 0}), (50, 149, {2: 50})], [(3, 200)], [None, "?"]),
        ([(0, 99, {}), (50, 149, {2: 50})], [(2, 0)], [None, "?"]),
    ],
)
def test_which_of_overlapping_uploads_counts(given: list[tuple], checkpoint: list[tuple[int, int]], expected: list[object]):
    """TS-44: the checkpoint of the latest leader decides, as far as it goes back, and each offset is read once."""
    spans = {str(at): span_of(*one) for at, one in enumerate(given)}
    choice = chosen(spans, lambda name: checkpoint)
    told: list[object] = []
    for name in spans:
        cut = choice.cuts[name].offset if name in choice.cuts else None
        told.append(choice.left_out[name].state if name in choice.left_out else "?" if name in choice.undecided else cut)
    assert told == expected
    if "?" not in expected:
        read = [range(one.start, choice.cuts[name].offset if name in choice.cuts else one.end + 1) for name, one in spans.items()]
        offsets = [offset for name, own in zip(spans, read, strict=True) if name not in choice.left_out for offset in own]
        assert len(set(offsets)) == len(offsets), "once"
        assert set(offsets) >= set(range(min(offsets), max(offsets) + 1)), "and none is missing"


def test_the_checkpoint_that_decides_is_that_of_the_latest_term():
    """TS-44: not that of the greatest offset; and none is asked for where leaders agree."""
    asked = []
    spans = {"a": span_of(0, 150, {1: 0}, 9), "b": span_of(0, 100, {1: 0}), "c": span_of(101, 120, {2: 101})}
    chosen(spans, lambda name: asked.append(name) or [])
    assert asked == ["c"]
    chosen({name: spans[name] for name in "ab"}, lambda name: asked.append(name) or [])
    assert asked == ["c"]


class Stored:
    """An object of these bytes."""

    version = None

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def read_at(self, position: int, length: int) -> bytes:
        return self.data[position : position + length]


def chunked(data: bytes, table: ChunkTable, opener: Opener | None = None) -> ChunkedFile:
    return ChunkedFile("a.log", Stored(data), table, opener, lambda: (b"", None, None))


@pytest.mark.parametrize("opener", [None, Opener(None, is_compressed=True), Opener(bytes(32), b"a")], ids=["plain", "zstd", "enc"])
def test_a_size_that_is_only_claimed_takes_no_memory(opener: Opener | None):
    """TS-41: a manifest of a few bytes tells of one chunk of 2 GiB, and the object is empty."""
    file = chunked(b"", ChunkTable(2**31 - 1, 2**31 - 1, None, 2**31 - 1, 2**31 - 1), opener)
    tracemalloc.start()
    assert file.read_past_damage(1 << 30, 100) == b"\xff" * 100
    with pytest.raises(ChunkError, match="the object ends at its byte 0"):
        file.read_at(0, 1 << 30)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    with pytest.raises(ChunkError, match="its zstd frame of 13 bytes cannot have 2,147,483,647"):
        Opener(None, is_compressed=True).opened(bytes(13), 2**31 - 1)


def test_a_plain_chunk_has_the_size_that_its_place_has():
    """TS-26: what is stored of it is what it was."""
    file = chunked(bytes(240), ChunkTable(100, 250, None, 95, 50))
    with pytest.raises(ChunkError, match=r"chunk 0 .* it has 95 bytes instead of 100"):
        file.read_at(0, 250)
    assert file.read_past_damage(195, 55) == b"\xff" * 5 + bytes(50)


def test_a_key_without_its_pem_lines_is_not_shown():
    """TS-32: it is no path, and errors of files show paths."""
    key = base64.b64encode(tiered.KEYS["key1"]).decode()
    lines = "\n".join(textwrap.wrap(key, 64))
    for text in (key, lines, key[:900], key[40:], key.rstrip("="), f"{lines}\n-----END PRIVATE KEY-----", tiered.KEYS["key1"].hex()):
        with pytest.raises(ValueError, match="'key1' is not a path") as raised:
            ls.Log(tiered.folder("zstdenc"), decryption_keys={"key1": text})
        assert text[100:120] not in str(raised.value)
        with pytest.raises(ValueError, match="option keys must be JSON like") as raised:
            keys_option({"keys": json.dumps({"key1": text})})
        assert text[100:120] not in str(raised.value)
        done = run("cat", tiered.folder("zstdenc"), "--key-file", f"key1={key}") if text is key else None
        assert done is None or (done.code, "is not a path" in done.err, key[100:120] in done.err) == (2, True, False)
    for path in ("MIIE/key1", "/" + "a/" * 200 + "key1", "k" * 250 + ".pem", "keys/MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ.der"):
        assert KeyRing({"key1": path}).ids == ["key1"]
