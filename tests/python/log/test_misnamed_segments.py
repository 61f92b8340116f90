"""Segments that contradict their names (SEG-1): files of a partition that were swapped or renamed."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import logsegment as ls
from cli_process import run
from logsegment.analysis.find import Conditions, Search
from logsegment.cli.app import program
from logsegment.segment_files.discovery import find_segments
from made_logs import make_partition
from slow import slow_after

HAS_SPARK = importlib.util.find_spec("pyspark") is not None
#: The index of a renamed segment is that of another one, or there is none.
pytestmark = pytest.mark.filterwarnings("ignore:indexes are unusable")

#: Offsets of the segments of a partition, some of which begin later than their names, as after compaction.
SEGMENTS = [
    list(range(40)),
    list(range(40, 90)),
    list(range(100, 130)),
    list(range(130, 200)),
    list(range(207, 260)),
    list(range(260, 300)),
]


@dataclass(frozen=True)
class Read:
    """What a reader gave: offsets in their order, the rules of its findings, and the rule of the error that ended it."""

    offsets: list[int]
    rules: set[str]
    error: str | None = None


def name(offset: int, suffix: str = ".log") -> str:
    return f"{offset:020}{suffix}"


def rename(partition: Path, names: dict[int, int]) -> None:
    """Rename segments, with the sidecar files that have their names, all at the same time."""
    moved = {file: name(names[int(file.name[:20])]) for file in partition.glob("*.log") if int(file.name[:20]) in names}
    for file in moved:
        file.rename(file.with_suffix(".moved"))
    for file, new in moved.items():
        file.with_suffix(".moved").rename(partition / new)


def collected(stream: ls.RecordStream) -> Read:
    found: list[int] = []
    try:
        for batch in stream:
            found += batch.to_pyarrow().column("offset").to_pylist()
    except ls.RecordBatchError as error:
        return Read(found, {finding.rule for finding in stream.findings}, error.rule)
    return Read(found, {finding.rule for finding in stream.findings})


def by_log(partition: Path, start: int, end: int, on_error: str) -> Read:
    return collected(ls.Log(partition).records(columns=["offset"], start_offset=start, end_offset=end, on_error=on_error))


def by_polars(partition: Path, start: int, end: int, on_error: str) -> Read:
    findings: list[ls.Finding] = []
    frame = ls.polars.scan(partition, columns=["offset"], on_error=on_error, findings=findings)
    try:
        rows = frame.filter((pl.col("offset") >= start) & (pl.col("offset") < end)).collect()
    except (ls.RecordBatchError, pl.exceptions.ComputeError) as error:
        return Read([], {finding.rule for finding in findings}, "SEG-1" if "[SEG-1]" in str(error) else str(error))
    return Read(rows["offset"].to_list(), {finding.rule for finding in findings})


MODES = {"raise": "FAILFAST", "skip": "PERMISSIVE"}


def rows_of(tasks: Any, reader: Any) -> Read:
    offsets: list[int] = []
    rules = set()
    try:
        for task in tasks:
            for batch in reader.read(task):
                for row in batch.to_pylist():
                    if row.get("_corrupt_record") is None:
                        offsets.append(row["offset"])
                    else:
                        rules.add(json.loads(row["_corrupt_record"])["rule"])
    except ls.RecordBatchError as error:
        return Read(offsets, rules, error.rule)
    return Read(offsets, rules)


def by_spark_batch(partition: Path, start: int, end: int, on_error: str) -> Read:
    from logsegment.spark import LogSegmentSource

    limits = {"startingOffsets": json.dumps({"orders": {"0": start}}), "endingOffsets": json.dumps({"orders": {"0": end}})}
    source = LogSegmentSource({"path": str(partition), "mode": MODES[on_error], **limits})
    reader = source.reader(source.schema())
    return rows_of(reader.partitions(), reader)


def stream_reader(partition: Path, on_error: str) -> Any:
    from logsegment.spark import LogSegmentSource

    source = LogSegmentSource({"path": str(partition.parent), "mode": MODES[on_error], "startingOffsets": "earliest"})
    return source.streamReader(source.schema())


def by_micro_batch(partition: Path, start: int, end: int, on_error: str) -> Read:
    reader = stream_reader(partition, on_error)
    return rows_of(reader.partitions({"orders": {"0": start}}, {"orders": {"0": end}}), reader)


def by_spark_stream(partition: Path, start: int, end: int, on_error: str) -> Read:
    reader = stream_reader(partition, on_error)
    assert reader.latestOffset({"orders": {"0": start}}, reader.getDefaultReadLimit()) == {"orders": {"0": 300}}
    return by_micro_batch(partition, start, end, on_error)


READERS: list[Callable[[Path, int, int, str], Read]] = [by_log, by_polars]
if HAS_SPARK:
    READERS += [by_spark_batch, by_spark_stream]


def cat(partition: Path, start: int, end: int) -> int:
    """Run the verb in this process; return its exit code."""
    code: int = program.main(["cat", str(partition), "--offset", f"{start}..{end}", "--columns", "offset"], standalone_mode=False)
    return code


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    make_partition(root, "orders", 0, SEGMENTS)
    # As if cleaners had taken away what was in front: the name stays, and the segment begins later.
    (root / "orders-0" / name(207)).rename(root / "orders-0" / name(200))
    (root / "orders-0" / name(100)).rename(root / "orders-0" / name(90))
    return root / "orders-0"


NAMES = [0, 40, 90, 130, 200, 260]


def renamed(choices: random.Random) -> dict[int, int]:
    """New names: a few swapped, or a few renamed to anything."""
    chosen = choices.sample(NAMES, choices.randint(1, 4))
    if choices.random() < 0.5:
        return dict(zip(chosen, choices.sample(chosen, len(chosen)), strict=True))
    free = [offset for offset in range(400) if offset not in NAMES]
    return dict(zip(chosen, choices.sample(free, len(chosen)), strict=True))


def touched(held: dict[int, list[int]], start: int, end: int) -> bool:
    """Whether a segment contradicts its name, and has offsets of the range or should have some by that name."""
    names = sorted(held)
    limits = dict(pairwise([*names, 1 << 62]))
    wrong = {own: offsets for own, offsets in held.items() if offsets[0] < own or offsets[-1] >= limits[own]}
    has = any(offsets[0] < end and offsets[-1] >= start for offsets in wrong.values())
    return has or any(own < end and limits[own] > start for own in wrong)


def outside(held: dict[int, list[int]], start: int, end: int) -> bool:
    """Whether an offset of the range is in a segment that cannot have it by the names."""
    names = sorted(held)
    limits = dict(pairwise([*names, 1 << 62]))
    return any(start <= offset < end and not own <= offset < limits[own] for own, offsets in held.items() for offset in offsets)


@pytest.mark.parametrize("seed", slow_after(3, range(40)))
def test_every_reader_gives_the_records_of_a_range_whatever_the_names_are(partition: Path, seed: int, tmp_path: Path, capfdbinary: Any):
    choices = random.Random(seed)
    log = tmp_path / "orders-0"
    shutil.copytree(partition, log)
    names = renamed(choices)
    rename(log, names)
    held = {names.get(own, own): offsets for own, offsets in zip(NAMES, SEGMENTS, strict=True)}
    every = [offset for offsets in SEGMENTS for offset in offsets]
    is_contradicted = touched(held, 0, 1 << 60)
    report = ls.Log(log).validate()
    assert report.ok != is_contradicted, report.findings
    assert {finding.rule for finding in report.findings if finding.severity == "error"} == ({"SEG-1"} if is_contradicted else set())
    for _ in range(6):
        start, end = sorted(choices.sample(range(300), 2))
        wanted = [offset for offset in every if start <= offset < end]
        is_touched = touched(held, start, end)
        reads = {reader.__name__: reader(log, start, end, "raise") for reader in READERS}
        assert len({read.error for read in reads.values()}) == 1, (names, start, end, reads)
        for reader, read in reads.items():
            assert set(read.offsets) <= set(wanted), (reader, names, start, end, read)
            assert read.error in (None, "SEG-1")
            assert is_touched or read.error is None
            assert read.error or read.offsets == wanted, (reader, names, start, end, read)
            assert read.error or not outside(held, start, end), (reader, names, start, end)
        for reader in READERS:
            assert reader(log, start, end, "skip") == Read(wanted, {"SEG-1"} if is_touched else set()), (reader, names, start, end)
        capfdbinary.readouterr()
        code = cat(log, start, end)
        assert [json.loads(line)["offset"] for line in capfdbinary.readouterr().out.splitlines()] == wanted
        assert code == int(is_touched), (names, start, end)
        search = Search(Conditions(start_offset=start, end_offset=end))
        assert [place.offset for place in search.places(find_segments(log))] == wanted


def test_a_swap_is_reported_by_everyone_with_the_file_and_the_offsets(partition: Path, tmp_path: Path):
    log = tmp_path / "orders-0"
    shutil.copytree(partition, log)
    rename(log, {40: 130, 130: 40})
    with pytest.raises(ls.CorruptError, match=r"\[SEG-1\].*offsets 40 to .*offsets 130 to 199") as raised:
        ls.Log(log).records().read_all()
    assert (raised.value.code, raised.value.base_offset, raised.value.position) == ("outside_segment", 40, 0)
    done = run("verify", log)
    assert done.code == 1
    assert f"{log / name(40)}: DAMAGED" in done.text
    assert "offsets 130 to 199 are outside the segment, which by its name holds offsets 40 to 89" in done.text
    assert re.search(r"Safe offsets:\s+130 to 199", done.text)
    found = run("find", log, "--offset", "150")
    assert (found.code, found.text.split(":")[0]) == (0, str(log / name(40)))
    assert "SEG-1" in found.err
    with pytest.raises(ls.CorruptError, match="SEG-1"):
        ls.Log(log).batches()
    with pytest.raises(ls.CorruptError, match="SEG-1"):
        ls.Segment(log / name(40)).records().read_all()
    with pytest.raises(ls.CorruptError, match="SEG-1"):
        ls.Segment(log / name(40), mmap=True).records().read_all()
    assert not ls.Segment(log / name(40)).validate().ok


def test_one_file_or_buffer_is_not_judged_by_its_name(partition: Path, tmp_path: Path):
    log = tmp_path / name(500)
    shutil.copy(partition / name(40), log)
    assert ls.validate(ls.FileSource(log)).ok
    assert ls.decode(ls.FileSource(log)).read_all().num_rows == 50
    assert ls.decode(log.read_bytes()).read_all().num_rows == 50
    assert run("verify", log).code == 1


def test_a_base_offset_that_its_segment_cannot_have_is_damage_of_its_batch(partition: Path, tmp_path: Path):
    """No checksum covers a base offset."""
    log = tmp_path / "orders-0"
    shutil.copytree(partition, log)
    victim = next(row for row in ls.batches(ls.FileSource(log / name(40))).to_pylist() if row["baseOffset"] > 50)
    data = bytearray((log / name(40)).read_bytes())
    data[victim["position"] + 3] ^= 1
    (log / name(40)).write_bytes(data)
    read = by_log(log, 0, 300, "raise")
    assert (read.error, read.offsets[-1]) == ("SEG-1", victim["baseOffset"] - 1)
    lost = set(range(victim["baseOffset"], victim["lastOffset"] + 1))
    every = [offset for offsets in SEGMENTS for offset in offsets if offset not in lost]
    assert by_log(log, 0, 300, "skip") == Read(every, {"SEG-1"})
    (finding,) = [finding for finding in ls.Log(log).validate().findings if finding.severity == "error"]
    assert (finding.rule, finding.position) == ("SEG-1", victim["position"])


def test_a_base_offset_below_the_name_of_the_only_segment_is_damage(tmp_path: Path):
    """Found by a simulated history: a partition of one segment ended `cat` and `verify` with exit code 70."""
    make_partition(tmp_path, "orders", 0, [list(range(2**31 - 3, 2**31 + 20))], batch_bytes=1 << 20)
    (log,) = (tmp_path / "orders-0").glob("*.log")
    data = bytearray(log.read_bytes())
    data[4] ^= 0x40
    log.write_bytes(data)
    read = by_log(tmp_path / "orders-0", 0, 2**32, "skip")
    assert (read.rules, run("verify", log.parent).code, run("cat", log.parent).code) == ({"SEG-1"}, 1, 1)
    assert read.offsets


@pytest.mark.parametrize("form", ["v0", "v1"])
def test_swapped_segments_of_compressed_message_sets_lose_no_record_of_a_range(form: str, tmp_path: Path):
    """Found by a simulated history: the offset of such a set, that of its last message, was treated as the first one."""
    make_partition(tmp_path, "orders", 0, [list(range(3)), list(range(3, 5)), list(range(5, 20))], format=form, compression="gzip")
    log = tmp_path / "orders-0"
    rename(log, {3: 5, 5: 3})
    for start in range(20):
        read = by_log(log, start, start + 3, "skip")
        assert read.offsets == list(range(start, min(start + 3, 20)))


@pytest.mark.parametrize("end", [2, 3])
def test_a_flipped_bit_in_the_offset_of_the_only_batch_is_damage_to_its_range(end: int, tmp_path: Path, capfdbinary: Any):
    """Found by a simulated history: the segment has other offsets by that, and a range of its name had no record and no error."""
    make_partition(tmp_path, "orders", 0, [[0], [1], list(range(2, 300))])
    log = tmp_path / "orders-0"
    (log / name(1)).write_bytes(b"\x01" + (log / name(1)).read_bytes()[1:])
    # The flipped bit also moves the end of the log that a stream sees.
    for reader in [by_micro_batch if item is by_spark_stream else item for item in READERS] if HAS_SPARK else READERS:
        assert reader(log, 1, end, "raise").error == "SEG-1", reader
        assert reader(log, 1, end, "skip") == Read(list(range(2, end)), {"SEG-1"}), reader
        assert reader(log, 2, 4, "raise") == Read([2, 3], set()), reader
    assert cat(log, 1, end) == 1


@pytest.mark.parametrize("damaged", [0, -1])
def test_damage_in_a_renamed_segment_does_not_hide_its_records(partition: Path, damaged: int, tmp_path: Path):
    log = tmp_path / "orders-0"
    shutil.copytree(partition, log)
    rename(log, {130: 400})
    (log / name(400)).write_bytes(with_bad_length((log / name(400)).read_bytes(), damaged))
    for reader in READERS:
        assert reader(log, 150, 160, "raise").error is not None, reader
        assert reader(log, 150, 160, "skip").offsets == list(range(150, 160)), reader


def with_bad_length(data: bytes, at: int) -> bytes:
    """Make the length of a batch negative."""
    position = ls.batches(data).to_pylist()[at]["position"]
    return data[: position + 8] + b"\xff" + data[position + 9 :]


def test_offsets_after_the_name_of_the_next_segment_are_damage_wherever_they_are(partition: Path, tmp_path: Path):
    """A file that is two segments, one after the other, of which the second does not exist any more."""
    log = tmp_path / "orders-0"
    shutil.copytree(partition, log)
    (log / name(40)).write_bytes((log / name(40)).read_bytes() + (log / name(200)).read_bytes())
    (log / name(200)).unlink()
    for reader in READERS:
        assert reader(log, 220, 230, "raise").error == "SEG-1", reader
        assert reader(log, 220, 230, "skip") == Read(list(range(220, 230)), {"SEG-1"}), reader


@pytest.mark.skipif(not HAS_SPARK, reason="pyspark is not installed")
def test_a_writer_adds_nothing_to_a_log_whose_segments_contradict_their_names(partition: Path, tmp_path: Path):
    from logsegment.spark.write.segments import append_point

    log = tmp_path / "orders-0"
    shutil.copytree(partition, log)
    rename(log, {40: 260, 260: 40})
    with pytest.raises(ls.CorruptError, match="SEG-1"):
        append_point(str(log), is_07=False)
