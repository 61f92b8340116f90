"""TS-45: every reader gives the records before and after a damaged chunk of an upload, and all readers agree."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
import object_store
import tiered_corpus as tiered
from cli_process import Done
from logsegment._core import ChunkError, Place
from logsegment.analysis.find import Conditions, Search
from logsegment.segment_files.discovery import find_segments
from made_logs import START, make_partition

TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
OFFSETS = range(1234, 1434)
CHUNKS = {"first": 0, "middle": 5, "last": 12}


@dataclass(frozen=True)
class Case:
    """A damaged upload, and what is lost of it."""

    folder: Path
    log: Path
    chunk: int
    first_byte: int
    is_told_by_chunk: bool
    lost: list[int]
    lost_bytes: int

    @property
    def kept(self) -> list[int]:
        return [offset for offset in OFFSETS if offset not in self.lost]

    @property
    def before(self) -> list[int]:
        return [offset for offset in OFFSETS if offset < self.lost[0]]

    @property
    def error(self) -> type[ls.RecordBatchError]:
        return ChunkError if self.is_told_by_chunk else ls.ChecksumError

    def segment(self) -> ls.Segment:
        (segment,) = ls.Log(self.folder, decryption_keys=tiered.KEYS).segments
        return segment


def damaged(bucket: Path, mode: str, chunk: int, form: str) -> Case:
    """Flip a bit in a chunk of an object, or cut the object within it."""
    folder = bucket / tiered.folder(mode).relative_to(tiered.BUCKET)
    (log,) = folder.glob("*.log")
    (segment,) = ls.Log(folder, decryption_keys=tiered.KEYS).segments
    place = tiered.chunks_of(segment.path)[chunk]
    at = place.stored_position + (14 if "enc" in mode else 2 if "zstd" in mode else 30)
    data = bytearray(log.read_bytes())
    data[at] ^= 0x40
    log.write_bytes(data[:at] if form == "cut" else data)
    Place.forget_chunks()
    is_plain = mode == "plain"
    begin = at if is_plain else place.position
    end = 1 << 30 if form == "cut" else at + 1 if is_plain else place.position + place.size
    hit = [row for row in ls.batches(tiered.original(mode)).to_pylist() if row["position"] < end and row["position"] + row["size"] > begin]
    lost = [offset for row in hit for offset in range(row["baseOffset"], row["lastOffset"] + 1)]
    return Case(folder, log, chunk, begin, not is_plain or form == "cut", lost, sum(row["size"] for row in hit))


CASES = [(mode, chunk, form) for mode in ("plain", "zstd", "enc", "zstdenc") for chunk in CHUNKS for form in ("flip", "cut")]


@pytest.fixture(params=CASES, ids="-".join)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    mode, chunk, form = request.param
    return damaged(shutil.copytree(tiered.BUCKET, tmp_path / "bucket"), mode, CHUNKS[chunk], form)


@pytest.fixture
def key_files(tmp_path: Path) -> list[str]:
    """The options that bring all keys."""
    options = []
    for name, key in tiered.KEYS.items():
        (tmp_path / name).write_bytes(key)
        options += ["--key-file", f"{name}={tmp_path / name}"]
    return options


def given(stream: ls.RecordStream, column: str = "offset") -> tuple[list[int], ls.RecordBatchError | None]:
    """What a stream gives, and the error that ends it."""
    found: list[int] = []
    try:
        for batch in stream:
            found += batch.to_pyarrow().column(column).to_pylist()
    except ls.RecordBatchError as error:
        return found, error
    return found, None


def test_what_is_before_the_damage_comes_first(case: Case):
    segment, log = case.segment(), ls.Log(case.folder, decryption_keys=tiered.KEYS)
    source = ls.FileSource(segment.path)
    readers: list[Callable[[], ls.RecordStream]] = [
        lambda: segment.records(columns=["offset"]),
        lambda: segment.records(columns=["offset"], threads=3),
        lambda: segment.records(columns=["offset"], batch_size=7),
        lambda: segment.records(columns=["offset"], isolation="read_committed"),
        lambda: log.records(columns=["offset"]),
        lambda: ls.decode(source, columns=["offset"]),
    ]
    for number, reader in enumerate(readers):
        Place.forget_chunks()
        found, error = given(reader())
        assert (found, type(error)) == (case.before, case.error), number
    if case.is_told_by_chunk:
        Place.forget_chunks()
        bases, error = given(ls.batch_stream(source), "baseOffset")
        assert (bases, type(error)) == ([base for base in case.before if (base - 1234) % 5 == 0], ChunkError)
        words = rf"{re.escape(str(case.log))}: chunks? {case.chunk}( to 12)? \(bytes {case.first_byte} to \d+ of the segment, "
        assert re.match(words + rf"offsets {case.lost[0]} to {case.lost[-1]}\) (is|are) lost: ", str(error))
        assert (error.chunk, error.position) == (case.chunk, case.first_byte)
        assert (error.base_offset, error.last_offset) == (case.lost[0], case.lost[-1])


@pytest.mark.slow
def test_every_offset_that_is_not_lost_is_looked_up(case: Case):
    segment = case.segment()
    for offset in OFFSETS:
        records = segment.records(columns=["offset"], start_offset=offset, end_offset=offset + 1)
        if offset in case.lost:
            assert given(records)[0] == [], offset
            assert type(given(segment.records(columns=["offset"], start_offset=offset))[1]) is case.error, offset
        else:
            assert given(records) == ([offset], None), offset
    behind = [offset for offset in case.kept if offset > case.lost[-1]]
    if behind:
        assert given(segment.records(columns=["offset"], start_offset=behind[0])) == (behind, None)
        assert segment.next_offset() == OFFSETS.stop
    elif case.is_told_by_chunk:
        assert segment.next_offset() is None, "the last batch is lost"
    start = min(1240, case.lost[0])
    across = given(segment.records(columns=["offset"], start_offset=start, end_offset=case.lost[-1]))
    assert across[0] == [offset for offset in case.before if offset >= start]
    assert type(across[1]) is case.error


def test_all_readers_report_the_same_damage(case: Case):
    segment = case.segment()
    stream = segment.records(columns=["offset"], on_error="skip")
    assert given(stream) == (case.kept, None)
    report = ls.validate(ls.FileSource(segment.path))
    for findings in (stream.findings, report.findings):
        errors = [finding for finding in findings if finding.severity == "error"]
        assert {error.rule for error in errors} == {"TS-45" if case.is_told_by_chunk else "V2-31"}
        assert findings[: len(errors)] == errors, "the cause comes first"
        assert sum(error.length for error in errors) == case.lost_bytes
        if case.is_told_by_chunk:
            told = {offset for error in errors for offset in range(error.base_offset, error.last_offset + 1)}
            assert sorted(told) == case.lost
    saved = ls.salvage(ls.FileSource(segment.path))
    assert [offset for kept in saved.kept for offset in range(kept.first_offset, kept.last_offset + 1)] == case.kept
    assert {lost.rule for lost in saved.lost} == {error.rule for error in errors}
    assert (saved.lost_bytes, saved.harmful_bytes) == (case.lost_bytes, case.lost_bytes)
    frame = ls.polars.scan(case.folder, decryption_keys=tiered.KEYS, on_error="skip").select("offset").collect()
    assert frame["offset"].to_list() == case.kept


def test_the_command_line_has_the_same_judgement(case: Case, key_files: list[str], here: Callable[..., Done]):
    for threads in ("1", "2"):
        done = here("cat", case.folder, "--columns", "offset", "--threads", threads, *key_files)
        assert (done.code, [line["offset"] for line in done.lines]) == (1, case.before), done.err
    done = here("cat", case.folder, "--columns", "offset", "--on-error", "skip", *key_files)
    assert [line["offset"] for line in done.lines] == case.kept
    done = here("verify", case.folder, "--json", *key_files)
    summary = next(line for line in done.lines if line["type"] == "summary")
    safe = [offset for place in summary["safe"] for offset in range(place["firstOffset"], place["lastOffset"] + 1)]
    assert (done.code, summary["state"], safe) == (1, "damaged", case.kept)
    assert sum(place["length"] for place in summary["lost"]) == case.lost_bytes
    for offset, is_there in [(case.lost[0], False), *((offset, True) for offset in (case.kept[:1] + case.kept[-1:]))]:
        done = here("find", case.folder, "--offset", str(offset), "--json", "--quiet", *key_files)
        assert (done.code, [line["offset"] for line in done.lines]) == ((0, [offset]) if is_there else (2, [])), done.err


def test_cat_looks_offsets_up_as_a_log_does(case: Case, key_files: list[str], here: Callable[..., Done]):
    """Damage that no wanted record was in is passed by, as it is in a local segment."""
    first, last = case.lost[0], case.lost[-1]
    around = [(max(first - 3, 1234), first), (first, last + 1), (first - 2, last + 2), (last + 2, last + 5)]
    for start, end in [(None, first), *around, (last + 1, None)]:
        offsets = f"{'' if start is None else start}..{'' if end is None else end}"
        found, error = given(
            ls.Log(case.folder, decryption_keys=tiered.KEYS).records(columns=["offset"], start_offset=start, end_offset=end)
        )
        done = here("cat", case.folder, "--offset", offsets, "--columns", "offset", *key_files)
        assert [line["offset"] for line in done.lines] == found, offsets
        assert done.code == (0 if error is None else 1), (offsets, done.err)
    done = here("cat", case.folder, "--offset", f"{first - 2}..{last + 2}", "--columns", "offset", "--on-error", "skip", *key_files)
    assert [line["offset"] for line in done.lines] == [offset for offset in case.kept if first - 2 <= offset < last + 2]
    assert done.code == 1


def test_cat_gives_what_is_committed_of_one_damaged_segment(case: Case, key_files: list[str], here: Callable[..., Done]):
    for on_error in ("raise", "skip"):
        log = ls.Log(case.folder, decryption_keys=tiered.KEYS)
        found, _ = given(log.records(columns=["offset"], isolation="read_committed", on_error=on_error))
        assert len(found) == len(case.before if on_error == "raise" else case.kept)
        done = here("cat", case.folder, "--isolation", "read_committed", "--on-error", on_error, "--columns", "offset", *key_files)
        assert ([line["offset"] for line in done.lines], done.code) == (found, 1), done.err


@pytest.mark.parametrize("mode", ["enc", "zstd"])
def test_damage_is_that_of_a_local_segment_with_holes(mode: str, tmp_path: Path):
    """The same records come before the error, and the same ones behind it, as of a file whose blocks a disk has lost."""
    case = damaged(shutil.copytree(tiered.BUCKET, tmp_path / "bucket"), mode, 5, "flip")
    data = bytearray(tiered.original(mode))
    data[5000:6000] = b"\xff" * 1000
    (tmp_path / "to-pic.a-1").mkdir()
    (tmp_path / "to-pic.a-1" / f"{1234:020}.log").write_bytes(data)
    here, there = ls.Segment(tmp_path / "to-pic.a-1" / f"{1234:020}.log"), case.segment()
    for options in ({}, {"isolation": "read_committed"}, {"on_error": "skip"}):
        assert given(here.records(columns=["offset"], **options))[0] == given(there.records(columns=["offset"], **options))[0]
    lost = [(finding.position, finding.length) for finding in here.validate().findings if finding.severity == "error"]
    assert [(finding.position, finding.length) for finding in there.validate().findings if finding.severity == "error"] == lost
    (found,) = (finding for finding in there.validate().findings if finding.severity == "error")
    assert (found.rule, found.path) == ("TS-45", f"{there.path}@{found.position}")


@dataclass(frozen=True)
class Indexed:
    """An upload of many chunks with sound indexes, one chunk of it damaged, and what is asked of its object."""

    segment: ls.Segment
    rows: list[dict[str, Any]]
    position: int
    size: int
    stored: range
    asked: list[range]

    def rows_in(self, begin: int, end: int) -> list[dict[str, Any]]:
        return [row for row in self.rows if begin <= row["position"] and row["position"] + row["size"] <= end]

    @property
    def is_damage_untouched(self) -> bool:
        return all(item.stop <= self.stored.start or item.start >= self.stored.stop for item in self.asked)


CHUNK_SIZE = 32 << 10


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_bucket: Callable[[Path], None]) -> Iterator[Indexed]:
    as_bucket(tmp_path)
    make_partition(tmp_path, "orders", 0, [list(range(15_000))], value_bytes=60, interval=1024)
    source = tmp_path / "orders-0" / f"{0:020}.log"
    log = tiered.Uploader(tmp_path, chunk_size=CHUNK_SIZE, key_id="key1").segment(source, ls.Segment(source).next_offset() - 1)
    segment = ls.Segment(f"s3://bucket/{log.relative_to(tmp_path)}", decryption_keys=tiered.KEYS)
    table = tiered.chunks_of(log)
    chunk = table[len(table) // 2]
    data = bytearray(log.read_bytes())
    data[chunk.stored_position + 20] ^= 1
    log.write_bytes(data)
    asked: list[range] = []
    answer = object_store.Handler._object

    def counted(self: object_store.Handler, path: Path) -> None:
        if path == log and (span := self.headers.get("Range")):
            start, end = map(int, span.removeprefix("bytes=").split("-"))
            asked.append(range(start, end + 1))
        answer(self, path)

    monkeypatch.setattr(object_store.Handler, "_object", counted)
    stored = range(chunk.stored_position, chunk.stored_position + chunk.stored_size)
    yield Indexed(segment, ls.batches(ls.FileSource(source)).to_pylist(), chunk.position, chunk.size, stored, asked)
    assert asked


def far_behind(indexed: Indexed) -> dict[str, Any]:
    """A batch to which the indexes lead, behind the damage."""
    return indexed.rows_in(indexed.position + 3 * CHUNK_SIZE, 1 << 40)[0]


def test_a_look_up_that_an_index_leads_past_the_damage_does_not_touch_it(indexed: Indexed):
    row = far_behind(indexed)
    offset = row["baseOffset"]
    records = indexed.segment.records(columns=["offset"], start_offset=offset, end_offset=offset + 1)
    assert given(records) == ([offset], None)
    assert indexed.is_damage_untouched
    (place,) = Search(Conditions(start_offset=offset, end_offset=offset + 1)).places(find_segments(indexed.segment.path))
    assert (place.offset, place.entry_position) == (offset, row["position"])
    assert indexed.is_damage_untouched
    assert indexed.segment._lookup.index_findings == []


def test_a_time_after_the_damage_may_be_lost_with_it(indexed: Indexed):
    """No index proves that nothing in the chunk is as late."""
    row = far_behind(indexed)
    with pytest.raises(ls.tiered.ChunkError):
        indexed.segment.records(columns=["offset"], start_timestamp=row["maxTimestamp"])


def test_a_time_that_may_be_lost_is_not_returned(indexed: Indexed):
    lost = [row for row in indexed.rows if indexed.position <= row["position"] < indexed.position + indexed.size]
    with pytest.raises(ChunkError):
        indexed.segment.offset_for_timestamp(lost[len(lost) // 2]["maxTimestamp"])
    before = indexed.rows_in(0, indexed.position)[-1]
    assert indexed.segment.offset_for_timestamp(before["maxTimestamp"]) is not None


def test_behind_the_damage_all_entries_of_an_index_into_it_are_one(indexed: Indexed):
    """A chunk holds many entries; the first batch behind it is found from the chunk on, not from the beginning of the segment."""
    entries = [span for span in indexed.segment.offset_index if indexed.position <= span.position < indexed.position + indexed.size]
    assert len(entries) > 3
    behind = indexed.rows_in(indexed.position + indexed.size, 1 << 40)[0]
    offset = behind["baseOffset"]
    for options in ({}, {"on_error": "skip"}):
        Place.forget_chunks()
        indexed.asked.clear()
        found = given(indexed.segment.records(columns=["offset"], start_offset=offset, end_offset=offset + 1, **options))
        assert found == ([offset], None)
        assert min(item.start for item in indexed.asked) >= indexed.stored.start - 3 * CHUNK_SIZE
    lost = max((row for row in indexed.rows if row["position"] < indexed.position + indexed.size), key=lambda row: row["position"])
    Place.forget_chunks()
    indexed.asked.clear()
    assert type(given(indexed.segment.records(columns=["offset"], start_offset=lost["lastOffset"]))[1]) is ChunkError
    assert min(item.start for item in indexed.asked) >= indexed.stored.start - 3 * CHUNK_SIZE
    assert indexed.segment._lookup.index_findings == []


def test_a_time_behind_a_segment_whose_end_is_lost_is_looked_up(tmp_path: Path):
    """The manifest tells that all of the segment is earlier; no index entry is behind the chunk."""
    make_partition(tmp_path, "orders", 0, [list(range(100)), list(range(100, 200))])
    uploader = tiered.Uploader(tmp_path, key_id="key1")
    first, _ = uploader.partition(tmp_path / "orders-0")
    data = bytearray(first.read_bytes())
    data[-1] ^= 1
    first.write_bytes(data)
    log = ls.Log(uploader.prefix, decryption_keys=tiered.KEYS)
    (lost,) = {(finding.base_offset, finding.last_offset) for finding in log.validate().findings if finding.rule == "TS-45"}
    assert lost[1] == 99
    assert log.offset_for_timestamp(START + 150) == 150
    assert given(log.records(columns=["offset"], start_timestamp=START + 100)) == (list(range(100, 200)), None)
    search = Search(Conditions(since=START + 150, until=START + 152))
    assert [place.offset for place in search.places(find_segments(log.paths[0]))] == [150, 151]
    with pytest.raises(ChunkError):
        log.offset_for_timestamp(START + lost[0])
    assert log.offset_for_timestamp(START + lost[0] - 1) == lost[0] - 1
    manifest = first.with_suffix(".rsm-manifest")
    manifest.write_text(manifest.read_text().replace('"maxTimestampMs"', '"other"'))
    with pytest.raises(ChunkError):
        ls.Log(uploader.prefix, decryption_keys=tiered.KEYS).offset_for_timestamp(START + 150)


def test_a_committed_read_behind_the_damage_is_that_of_a_file(tmp_path: Path):
    """Markers are looked for past the chunk: what was open before it is open where its marker is lost."""
    for log in TRANSACTIONS.iterdir():
        (tmp_path / "payments-0").mkdir(exist_ok=True)
        (tmp_path / "payments-0" / log.name).write_bytes(log.read_bytes())
    stored = tiered.Uploader(tmp_path, "payments", chunk_size=400, key_id="key1").partition(TRANSACTIONS)[1]
    (name,) = (path for path in (tmp_path / "payments-0").glob("*.log") if path.name[:20] == stored.name[:20])
    data, holes = bytearray(stored.read_bytes()), bytearray(name.read_bytes())
    data[2 * 428 + 20] ^= 1
    holes[800:1200] = b"\xff" * 400
    stored.write_bytes(data)
    name.write_bytes(holes)
    here, there = ls.Log(tmp_path / "payments-0"), ls.Log(stored.parent, decryption_keys=tiered.KEYS)
    (lost,) = (finding for finding in there.validate().findings if finding.rule == "TS-45")
    read = 0
    for start in range(lost.last_offset + 1, there.segments[3].base_offset):
        found, expected = (given(log.records(columns=["offset"], start_offset=start, isolation="read_committed")) for log in (there, here))
        assert found == expected
        read += len(found[0])
    assert read


@pytest.mark.parametrize("at", [20_000, 21_000])
def test_no_record_is_made_of_lost_bytes(at: int, tmp_path: Path):
    """Without a checksum nothing else tells that a value, of which the chunk is a part, is not what was written."""
    made = make_partition(tmp_path, "orders", 0, [list(range(50))], value_bytes=5000, batch_bytes=20_000)
    source = tmp_path / "orders-0" / f"{0:020}.log"
    log = tiered.Uploader(tmp_path, key_id="key1").segment(source, 49)
    data = bytearray(log.read_bytes())
    data[at // 1000 * 1028 + 20] ^= 1
    log.write_bytes(data)
    segment = ls.Segment(log, decryption_keys=tiered.KEYS)
    (hit,) = (row for row in ls.batches(ls.FileSource(source)).to_pylist() if row["position"] <= at < row["position"] + row["size"])
    kept = [record for record in made if not hit["baseOffset"] <= record.offset <= hit["lastOffset"]]
    for check_crc in (True, False):
        read = segment.records(on_error="skip", check_crc=check_crc).read_all()
        assert [(row["offset"], row["value"]) for row in read.to_pylist()] == [(record.offset, record.value) for record in kept]
        report = segment.validate(check_crc=check_crc)
        for findings in (read.findings, [finding for finding in report.findings if finding.severity == "error"]):
            assert [(finding.rule, finding.position, finding.length) for finding in findings] == [("TS-45", hit["position"], hit["size"])]
        rows = segment.batches(on_error="skip", check_crc=check_crc).to_pylist()
        assert [row["isValid"] for row in rows if row["position"] == hit["position"]] == [False if check_crc else None]


def test_an_error_that_another_library_met_is_the_same(tmp_path: Path):
    """`RecordStream.error` is what Python code would have got, each time it is asked for."""
    import pyarrow as pa

    case = damaged(shutil.copytree(tiered.BUCKET, tmp_path / "bucket"), "enc", 5, "flip")
    stream = case.segment().records(columns=["offset"])
    reader = pa.RecordBatchReader.from_stream(stream)
    with pytest.raises(pa.ArrowInvalid, match="chunk 5"):
        reader.read_all()
    assert [(type(stream.error), stream.error.chunk) for _ in range(2)] == [(ChunkError, 5)] * 2
