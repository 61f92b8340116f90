"""A segment that another one follows is complete: what ends it inside a batch, or in zeros, is an error in every API (SEG-23)."""

from __future__ import annotations

import itertools
import pickle
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import building
import corpus
import logsegment as ls
import logsegment.polars as ls_polars
from cli_process import TORN, run
from damage import EXAMPLES
from logsegment._core import SegmentFile, decode_files, rebuild_indexes
from logsegment._options import ReadOptions
from logsegment.partition.follow import Follower
from logsegment.partition.reader import lower_bounded
from logsegment.segment_files.discovery import find_segments

FLIP = corpus.TESTS / "finds/closed-segment-cut/flip-0"
#: A case calls every API, so that fewer cases than of other properties are enough.
search = settings(max_examples=max(EXAMPLES // 10, 8), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Case:
    """A partition with one damaged segment that another segment follows.

    Attributes:
        directory: the partition.
        log: the damaged segment.
        position: where the damage begins.
        kept: the offsets that a read past the damage gives.
        lost: the other offsets.
    """

    directory: Path
    log: Path
    position: int
    kept: list[int]
    lost: list[int]


@dataclass(frozen=True)
class Plan:
    """What a case is made of. Numbers choose among what there is, modulo their count."""

    magic: int
    compression: str
    segments: list[list[int]]
    segment: int
    batch: int
    kind: str
    detail: int
    has_index: bool


counts = st.lists(st.integers(1, 3), min_size=1, max_size=4)
plans = st.builds(
    Plan,
    magic=st.sampled_from([0, 1, 2]),
    compression=st.sampled_from(["none", "gzip", "snappy"]),
    segments=st.lists(counts, min_size=2, max_size=3),
    segment=st.integers(0, 3),
    batch=st.integers(0, 3),
    kind=st.sampled_from(["flip", "cut", "zeros"]),
    detail=st.integers(0, 10_000),
    has_index=st.booleans(),
)


def batch_of(plan: Plan, offset: int, count: int) -> bytes:
    table = pa.table(
        {
            "key": pa.array([f"k{offset + at}".encode() for at in range(count)]),
            "value": pa.array([b"v" * 40] * count),
            "timestampMs": pa.array([1_600_000_000_000 + offset + at for at in range(count)], pa.int64()),
        }
    )
    data = ls.encode(table, format=f"v{plan.magic}", compression=plan.compression, base_offset=offset, batch_bytes=1 << 20)
    assert isinstance(data, bytes)
    return data


def made(root: Path, plan: Plan) -> Case:
    directory = root / "t-0"
    directory.mkdir()
    offset = 0
    logs: list[tuple[Path, list[tuple[bytes, list[int]]]]] = []
    for counts in plan.segments:
        entries: list[tuple[bytes, list[int]]] = []
        first = offset
        for count in counts:
            # Uncompressed messages are entries of their own.
            sizes = [1] * count if plan.magic < 2 and plan.compression == "none" else [count]
            for size in sizes:
                entries.append((batch_of(plan, offset, size), list(range(offset, offset + size))))
                offset += size
        log = directory / f"{first:020}.log"
        log.write_bytes(b"".join(data for data, _ in entries))
        logs.append((log, entries))
    if plan.has_index:
        rebuild_indexes([(log, int(log.stem)) for log, _ in logs], directory, index_interval_bytes=1)
    log, entries = logs[plan.segment % (len(logs) - 1)]
    hit = plan.batch % len(entries)
    position = sum(len(data) for data, _ in entries[:hit])
    rest = sum(len(data) for data, _ in entries[hit:])
    data = bytearray(log.read_bytes())
    if plan.kind == "flip":
        # A bit that makes the length so large that the batch goes on past the end.
        bits = [bit for bit in range(10, 27) if int.from_bytes(data[position + 8 : position + 12]) ^ (1 << bit) > rest]
        bit = bits[plan.detail % len(bits)]
        data[position + 8 + 3 - bit // 8] ^= 1 << bit % 8
        lost = entries[hit][1]
    elif plan.kind == "cut":
        del data[position + 1 + plan.detail % (len(entries[hit][0]) - 1) :]
        lost = [offset for _, offsets in entries[hit:] for offset in offsets]
    else:
        data[position:] = bytes(rest)
        lost = [offset for _, offsets in entries[hit:] for offset in offsets]
    log.write_bytes(data)
    return Case(directory, log, position, [number for number in range(offset) if number not in lost], lost)


@pytest.fixture
def flip(tmp_path: Path) -> Case:
    directory = tmp_path / "t-0"
    shutil.copytree(FLIP, directory)
    return Case(directory, directory / f"{0:020}.log", 120, [0, 2, 3, 4, 5], [1])


def offsets_of(stream: Any) -> list[int]:
    return [row["offset"] for row in stream.to_pylist()]


def is_raised(error: BaseException) -> bool:
    return isinstance(error, ls.RecordBatchError) and getattr(error, "rule", None) == "SEG-23"


#: Reads of a partition that skip no damage.
READS: dict[str, Callable[[Path], Any]] = {
    "records": lambda path: ls.Log(path).records().read_all(),
    "records of one column": lambda path: ls.Log(path).records(columns=["offset"], check_crc=False).read_all(),
    "records in threads": lambda path: ls.Log(path).records(threads=2).read_all(),
    "committed records": lambda path: ls.Log(path).records(isolation="read_committed").read_all(),
    "records up to the end": lambda path: ls.Log(path).records(end_offset=10_000).read_all(),
    "records since": lambda path: ls.Log(path).records(start_timestamp=0).read_all(),
    "batches": lambda path: ls.Log(path).batches(),
    "headers": lambda path: ls.Log(path).batches(check_crc=False),
    "polars": lambda path: ls_polars.scan(path).collect(),
    "polars streaming": lambda path: ls_polars.scan(path).filter(pl.col("offset") >= 0).collect(engine="streaming"),
}


def ensure_read(case: Case) -> None:
    """Every read that stops at damage raises; every read that skips it gives the other records, and a finding."""
    for name, read in READS.items():
        with pytest.raises(ls.RecordBatchError) as raised:
            read(case.directory)
        assert is_raised(raised.value) or "polars" in name, name
        assert raised.value.position in (case.position, None), name
        assert str(case.log) in str(raised.value), name
    stream = ls.Log(case.directory).records(columns=["offset"], on_error="skip")
    assert offsets_of(stream) == case.kept
    (found,) = [finding for finding in stream.findings if finding.rule == "SEG-23"]
    assert (found.severity, found.position, found.base_offset) == ("error", case.position, case.lost[0])
    # The first offset of a compressed message is in its inner messages.
    assert found.last_offset in (case.lost[-1], None)
    for check_crc in (True, False):
        rows = ls.Log(case.directory).batches(on_error="skip", check_crc=check_crc)
        assert [finding.rule for finding in rows.findings] == ["SEG-23"]
    assert ls_polars.scan(case.directory, on_error="skip").select("offset").collect()["offset"].to_list() == case.kept


def ensure_reported(case: Case) -> None:
    """Both validations, and `verify`, name the bytes and the offsets."""
    for report in (ls.Log(case.directory).validate(), ls.Segment(case.log).validate()):
        (lost,) = report.lost
        assert (report.ok, lost.rule, lost.position, lost.path) == (False, "SEG-23", case.position, str(case.log))
        assert list(lost.missing) == case.lost or (lost.after_offset is None and lost.before_offset == case.lost[-1] + 1)
        safe = [number for run in report.safe_offsets for number in range(run.first_offset, run.last_offset + 1)]
        assert safe == case.kept or (report.io_stats["entries_read"] < len(case.kept) and set(safe) < set(case.kept))
    for path in (case.directory, case.log):
        done = run("verify", "--json", path)
        assert done.code == 1
        summary = next(line for line in done.lines if line["type"] == "summary" and line["file"] == str(case.log))
        assert [(finding["rule"], finding["position"]) for finding in summary["lost"]] == [("SEG-23", case.position)]


def written(case: Case, out: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    numbers = itertools.count()

    def place() -> Path:
        return out / f"out-{next(numbers)}"

    yield "rewrite", lambda: ls.rewrite(case.directory, place(), drop=["no such key"])
    yield "rewrite --dry-run", lambda: ls.rewrite(case.directory, drop=["no such key"], dry_run=True)
    yield "compact", lambda: ls.compact(case.directory, place())
    yield "split", lambda: ls.split(case.directory, place(), offsets=[case.lost[0] + 1])
    yield "join", lambda: ls.join([case.directory], place())
    yield "convert of a path", lambda: ls.convert(str(case.log), compression="none", out=place())


def ensure_refused(case: Case, out: Path) -> None:
    """Nothing is written of a damaged partition."""
    for name, write in written(case, out):
        with pytest.raises(ls.RecordBatchError) as raised:
            write()
        assert is_raised(raised.value), name
    assert list(out.iterdir()) == []


@search
@given(plans)
def test_what_ends_a_followed_segment_early_is_an_error_in_every_api(plan: Plan):
    with TemporaryDirectory() as root:
        case = made(Path(root), plan)
        out = Path(root) / "out"
        out.mkdir()
        ensure_read(case)
        ensure_reported(case)
        ensure_refused(case, out)


def test_the_flipped_length_of_a_batch_is_an_error(flip: Case, tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()
    ensure_read(flip)
    ensure_reported(flip)
    ensure_refused(flip, out)
    for path in (flip.directory, flip.log):
        assert run("convert", path, "--output", out / "converted").code == 1
    assert list(out.iterdir()) == []


def test_a_range_of_offsets_that_ends_with_the_segment_names_its_end(flip: Case):
    """The last batch is found from the end of the file: past the damaged length, no other batch begins there."""
    log = ls.Log(flip.directory)
    assert offsets_of(log.records(end_offset=1)) == [0]
    for end in (2, 3, 4, None):
        with pytest.raises(ls.RecordBatchError, match=r"\[SEG-23\].*offsets 1 to 2"):
            offsets_of(log.records(end_offset=end))


def test_every_verb_of_the_command_line_ends_with_1(flip: Case):
    for verb in ("cat", "stats", "txn", "verify"):
        assert run(verb, flip.directory).code == 1, verb
    assert run("diff", flip.directory, FLIP).code == 1
    assert run("cat", flip.log).code == 1
    skipped = run("cat", "--on-error", "skip", "--columns", "offset", flip.directory)
    assert (skipped.code, [row["offset"] for row in skipped.lines]) == (1, flip.kept)
    done = run("find", "--key", "no such key", flip.directory)
    assert (done.code, "SEG-23" in done.err) == (2, True)


def test_the_file_alone_keeps_its_tolerance(flip: Case, tmp_path: Path):
    """A file that is read by name looks at no neighbour, and a torn tail of the last segment may still be written."""
    assert offsets_of(ls.decode(flip.log)) == [0]
    assert ls.batches(flip.log).num_rows == 1
    report = ls.validate(flip.log)
    assert (report.ok, [finding.rule for finding in report.findings if finding.severity == "warning"]) == (True, ["SWALLOWED"])
    alone = tmp_path / "alone" / flip.log.name
    alone.parent.mkdir()
    shutil.copy(flip.log, alone)
    assert offsets_of(ls.Segment(alone).records()) == [0]
    assert ls.Segment(alone).validate().ok
    with pytest.raises(ls.TruncatedError, match="SEG-23"):
        ls.Segment(flip.log).records().read_all()


def test_verify_is_1_when_bytes_are_lost_whatever_it_fails_on(flip: Case, tmp_path: Path):
    """SWALLOWED is a warning, and hides records all the same."""
    alone = tmp_path / "alone.log"
    shutil.copy(flip.log, alone)
    for arguments in ((alone,), ("--fail-on", "error", alone), ("--quiet", alone)):
        assert run("verify", *arguments).code == 1
    assert run("verify", "-", stdin=alone.read_bytes()).code == 1
    report = ls.validate(alone)
    (lost,) = report.lost
    assert (report.ok, lost.rule, lost.position, lost.length, list(lost.missing)) == (True, "SWALLOWED", 120, 120, [1])
    assert [(run.first_offset, run.last_offset) for run in report.safe_offsets] == [(0, 0), (2, 2)]
    assert [result.to_dict() for result in ls.validate(alone.read_bytes()).lost] == [lost.to_dict()]
    with alone.open("rb") as stream:
        (place,) = ls.validate(stream).lost
    assert (place.position, place.after_offset) == (120, None), "a stream is read once"
    again = pickle.loads(pickle.dumps(report))
    assert (again.lost, again.safe_offsets) == (report.lost, report.safe_offsets)


def test_a_torn_tail_of_the_last_segment_is_not_lost():
    report = ls.validate(TORN)
    assert (report.ok, report.lost) == (True, [])
    assert run("verify", TORN).code == 0


@pytest.mark.parametrize("first", [3, 5, 4_500_000_000_000_000_000])
def test_a_batch_in_a_value_of_a_torn_batch_is_not_its_successor(first: int):
    """Its offset is not above that of the torn batch, or no entry follows it."""
    stored = building.simple_batch([b"stored"], base_offset=first)
    torn = building.simple_batch([b"a" * 50, stored, b"c" * 500], base_offset=3)[:-200]
    data = building.simple_batch([b"x", b"y", b"z"]) + torn
    report = ls.validate(data)
    assert [(finding.rule, finding.severity) for finding in report.findings] == [("L8-14", "info")]
    assert report.lost == []
    assert offsets_of(ls.decode(data, on_error="skip")) == [0, 1, 2]


@pytest.fixture
def gap(tmp_path: Path) -> Path:
    """Two segments, with a gap between them as a cleaner leaves one."""
    directory = tmp_path / "gap-0"
    directory.mkdir()
    (directory / f"{0:020}.log").write_bytes(building.simple_batch([b"a"]) + building.simple_batch([b"b"], base_offset=1))
    (directory / f"{9:020}.log").write_bytes(building.simple_batch([b"c"], base_offset=9))
    return directory


def test_offsets_that_a_cleaner_removed_are_no_damage(gap: Path):
    assert offsets_of(ls.Log(gap).records()) == [0, 1, 9]
    assert (ls.Log(gap).validate().lost, run("verify", "--fail-on", "warning", gap).code) == ([], 0)


def test_zeros_after_all_offsets_hide_nothing(gap: Path):
    """A broker trims a segment when it rolls; a file that was preallocated and copied is whole all the same."""
    (gap / f"{9:020}.log").rename(gap / f"{2:020}.log")
    (gap / f"{2:020}.log").write_bytes(building.simple_batch([b"c"], base_offset=2))
    log = gap / f"{0:020}.log"
    log.write_bytes(log.read_bytes() + bytes(5000))
    assert offsets_of(ls.Log(gap).records()) == [0, 1, 2]
    assert (ls.Log(gap).validate().lost, run("verify", gap).code) == ([], 0)
    ls.rewrite(gap, gap.parent / "out", drop=["no such key"])


def test_zeros_before_missing_offsets_are_damage(gap: Path):
    log = gap / f"{0:020}.log"
    log.write_bytes(log.read_bytes() + bytes(5000))
    with pytest.raises(ls.RecordBatchError, match="5000 zero bytes instead of its last batches; offsets 2 to 8 are missing"):
        ls.Log(gap).records().read_all()
    (lost,) = ls.Log(gap).validate().lost
    assert (lost.length, lost.after_offset, lost.before_offset) == (5000, 1, 9)
    assert run("verify", gap).code == 1


@pytest.mark.parametrize("wanted", [(1, 2), (2, None), (None, 2)])
def test_ranges_raise_only_where_they_need_the_damage(flip: Case, wanted: tuple[int | None, int | None]):
    log = ls.Log(flip.directory)
    assert offsets_of(log.records(end_offset=1)) == [0]
    assert offsets_of(log.records(start_offset=3)) == [3, 4, 5]
    start, end = wanted
    if start == 2:
        # A look-up leads past the damage.
        assert offsets_of(log.records(start_offset=start, end_offset=end)) == [2, 3, 4, 5]
        return
    with pytest.raises(ls.TruncatedError, match="SEG-23"):
        log.records(start_offset=start, end_offset=end).read_all()


@pytest.mark.parametrize("kind", ["cut", "zeros"])
def test_a_look_up_of_a_time_does_not_pass_the_damage(kind: str, tmp_path: Path):
    case = made(tmp_path, Plan(2, "none", [[1, 1, 1], [1]], 0, 1, kind, 30, has_index=True))
    log = ls.Log(case.directory)
    time = 1_600_000_000_001
    with pytest.raises(ls.RecordBatchError):
        log.offset_for_timestamp(time)
    assert offsets_of(log.records(start_timestamp=time, on_error="skip")) == [3]
    with pytest.raises(ls.RecordBatchError):
        log.records(start_timestamp=time).read_all()
    with pytest.raises(ls.RecordBatchError):
        ls_polars.scan(case.directory).filter(pl.col("timestamp") >= pl.lit(time).cast(pl.Datetime("ms", "UTC"))).collect()


def test_a_length_that_leads_past_a_range_is_an_error(tmp_path: Path):
    """The index leads past the damaged batch to the end of a range; the batch cannot hide the records before it."""
    case = made(tmp_path, Plan(2, "none", [[1, 1, 1, 1], [1]], 0, 1, "flip", 0, has_index=True))
    for path in case.directory.glob(f"{4:020}.*"):
        path.unlink()
    assert offsets_of(ls.Log(case.directory).records()) == [0], "the last segment may end inside a batch"
    with pytest.raises(ls.RecordBatchError):
        ls.Log(case.directory).records(end_offset=4).read_all()
    assert offsets_of(ls.Log(case.directory).records(end_offset=4, on_error="skip")) == [0, 2, 3]


def messages_of_0_7(directory: Path) -> tuple[Path, int]:
    """Two segments of Kafka 0.7, whose names are positions."""
    directory.mkdir()
    first = b"".join(building.message_0_7(f"value {at}".encode()) for at in range(4))
    (directory / f"{0:020}.kafka").write_bytes(first)
    (directory / f"{len(first):020}.kafka").write_bytes(building.message_0_7(b"last"))
    return directory, len(first)


def test_a_segment_of_kafka_0_7_is_complete_too(tmp_path: Path):
    directory, size = messages_of_0_7(tmp_path / "t-0")
    assert ls.Log(directory).records().read_all().num_rows == 5
    log = directory / f"{0:020}.kafka"
    log.write_bytes(log.read_bytes()[:-4])
    with pytest.raises(ls.TruncatedError, match="SEG-23"):
        ls.Log(directory).records().read_all()
    with pytest.raises(ls.TruncatedError, match="SEG-23"):
        ls.rewrite(directory, tmp_path / "out", drop=["no such key"])
    stream = ls.Log(directory).records(on_error="skip")
    assert stream.read_all().num_rows == 4
    (found,) = [finding for finding in stream.findings if finding.rule == "SEG-23"]
    assert found.last_offset == size - 1
    assert (run("verify", directory).code, run("cat", directory).code) == (1, 1)
    assert run("convert", directory, "--output", tmp_path / "out").code == 1


def test_a_log_that_was_cut_meanwhile_may_end_inside_a_batch(flip: Case):
    """A broker that follows a new leader deletes the next segment before it cuts this one, and appends to it again."""
    segments = ls.Log(flip.directory).segments
    (flip.directory / f"{3:020}.log").unlink()
    assert offsets_of(segments[0].records()) == [0]


def followed(segments: list[SegmentFile], read: ReadOptions) -> list[int]:
    pieces = (piece for piece in Follower(0, read).look(segments) if not isinstance(piece, (str, Exception)))
    return [offset for piece in pieces for offset in offsets_of(decode_files([piece.part], read))]


def test_follow_raises_for_a_closed_segment_and_not_for_the_growing_one(flip: Case):
    segments = find_segments(flip.directory)
    read = ReadOptions(columns=("offset",))
    with pytest.raises(ls.RecordBatchError, match="SEG-23"):
        followed(segments, read)
    assert followed(segments, replace(read, on_error="skip")) == flip.kept
    flip.log.write_bytes(flip.log.read_bytes()[:200])
    with pytest.raises(ls.RecordBatchError, match="SEG-23"):
        followed(segments, read)
    assert followed([segments[0].replaced(next_offset=None)], read) == [0], "the last segment may still be written"


def test_the_next_segment_travels_with_a_source(flip: Case):
    first, last = find_segments(flip.directory)
    assert (first.next_offset, last.next_offset) == (3, None)
    assert lower_bounded(first).next_offset == 3
    source = first.source()
    again = pickle.loads(pickle.dumps(source))
    assert (again.next_offset, again.is_inner) == (3, False)
    with pytest.raises(ls.TruncatedError, match="SEG-23"):
        ls.decode(again).read_all()
    assert offsets_of(ls.decode(ls.FileSource(flip.log))) == [0]


def test_salvage_keeps_the_batches_after_the_damage(flip: Case, tmp_path: Path):
    done = run("salvage", "--json", flip.directory, "--output", tmp_path / "saved")
    assert done.code == 3
    assert offsets_of(ls.Log(tmp_path / "saved").records()) == flip.kept
    lost = [item for line in done.lines if line["type"] == "salvage" for item in line["lost"]]
    assert [(finding["rule"], finding["position"], finding["length"]) for finding in lost] == [("SEG-23", 120, 120)]


def test_a_rewrite_accounts_no_lost_bytes_as_dropped(flip: Case):
    done = run("rewrite", "--json", "--dry-run", "--drop", "key=no such key", flip.directory)
    assert (done.code, done.out) == (1, b"")
