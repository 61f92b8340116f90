"""Reports of uploads that are damaged, that overlap, or that name missing objects."""

from __future__ import annotations

import base64
import json
import shutil
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import run
from logsegment._core import ChunkError, ManifestError, Place
from logsegment.spark.options.read import keys_option
from logsegment.tiered.keys import KeyRing
from made_logs import make_partition


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
    table = tiered.chunks_of(segment.path)
    for number in damaged:
        damage(Path(str(segment.path)), table[number].stored_position + 14)
    Place.forget_chunks()
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
    found = [finding for finding in segment.validate().findings if finding.rule == "TS-45"]
    assert [(segment.base_offset, segment.last_offset) for segment in found] == expected


def test_threads_that_look_up_in_one_segment_do_not_take_each_others_damage(bucket: Path):
    """One goes on past damage for where to cut, the other must hear of it, whoever of them fetched the bytes."""
    segment = log_of("enc", bucket)
    file = Place(segment.path).open()
    damage(Path(str(segment.path)), tiered.chunks_of(segment.path)[3].stored_position + 14)
    Place.forget_chunks()
    index = segment._lookup
    cuts = index.cuts(500, 0, file.size)
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
        return [index.cuts(500, 0, file.size) for _ in range(100)]

    assert strict() == [ChunkError] * 100
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(ask) for ask in (strict, lenient, strict, lenient)]
            strictly, leniently = [item.result() for item in asked[::2]], [item.result() for item in asked[1::2]]
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
    (found,) = (finding for finding in ls.Segment(stored, decryption_keys=tiered.KEYS).validate().findings if finding.rule == "TS-45")
    assert (found.base_offset, found.last_offset) == (0, behind["baseOffset"] - 1)


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


@pytest.mark.parametrize("start", [0, 1000, 40_000])
@pytest.mark.parametrize("damage", [lambda log: log.write_bytes(log.read_bytes() + b"x"), lambda log: manifest_of(log).write_text("{")])
def test_a_range_of_a_lost_segment_is_an_error_wherever_it_begins(tmp_path: Path, start: int, damage: Callable[[Path], object]):
    """TS-18, TS-10. The range may begin after as many bytes as the compressed object has."""
    make_partition(tmp_path, "orders", 0, [list(range(3000))], value_bytes=600, batch_bytes=20_000)
    (log,) = tiered.Uploader(tmp_path, chunk_size=100_000, compresses=True).partition(tmp_path / "orders-0")
    (path,) = {segment.path for segment in ls.Log(tmp_path / "prefix").segments}
    assert log.stat().st_size < 40_000
    damage(log)
    with pytest.raises(ManifestError):
        ls.decode(ls.FileSource(path, start)).read_all()
    skipped = ls.decode(ls.FileSource(path, start), on_error="skip").read_all()
    assert skipped.num_rows == 0
    assert {finding.rule for finding in skipped.findings} & {"TS-18", "TS-10"}


def manifest_of(log: Path) -> Path:
    return log.with_suffix(".rsm-manifest")
