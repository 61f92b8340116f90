"""Segments and logs: the files beside a log speed a read up, are reported when they are wrong, and never change what it gives."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import corpus
import logsegment as ls
from logsegment._validate import validate_sidecars
from logsegment.segment_files.discovery import find_segments
from slow import slow_after

MODERN = corpus.CORPUS / "modern-4.1.0"
DATA, TRUTH = MODERN / "data", MODERN / "truth/segments"
BESIDE = (".index", ".timeindex", ".txnindex", ".snapshot")
COLUMNS = ["topic", "partition", "offset", "timestampMs", "key", "value"]


def partitions() -> list[Path]:
    found = sorted({path.parent for path in DATA.rglob("*.log")})
    assert len(found) > 30
    return found


def logs(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


def rows(stream: ls.RecordStream) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = stream.to_pyarrow().to_pylist()
    return found


def truth(path: Path) -> list[dict[str, Any]]:
    with gzip.open(f"{TRUTH / path.relative_to(DATA)}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def all_rows(directory: Path, **options: Any) -> list[dict[str, Any]]:
    """Without any index: every segment decoded by itself."""
    topic, _, partition = directory.name.rpartition("-")
    streams = (
        ls.decode(ls.FileSource(path), columns=COLUMNS, topic=topic, partition=int(partition), **options) for path in logs(directory)
    )
    return [row for stream in streams for row in rows(stream)]


@pytest.mark.parametrize("directory", partitions(), ids=lambda path: path.name)
def test_a_log_gives_the_records_of_its_segments_in_order(directory: Path):
    log = ls.Log(directory)
    assert [segment.path for segment in log.segments] == [str(path) for path in logs(directory)]
    assert rows(log.records(columns=COLUMNS)) == all_rows(directory)
    assert log.batches().num_rows == sum(ls.batches(ls.FileSource(path)).num_rows for path in logs(directory))


@pytest.mark.parametrize("directory", partitions(), ids=lambda path: path.name)
def test_no_file_of_the_corpus_is_found_fault_with(directory: Path):
    assert [finding for finding in ls.Log(directory).validate(depth="headers").findings if finding.rule[:3] in ("SEG", "IDX")] == []


@pytest.mark.parametrize("era", ["legacy-0.8.2.2", "legacy-0.10.2.2", "legacy-0.11.0.3", "legacy-2.4.1", "other-clients"])
def test_files_of_every_era_are_sound(era: str):
    """0.8 indexes first offsets and no times, an append of many batches has one entry, 0.11 leaves empty epochs."""
    files = find_segments(corpus.CORPUS / era / "data")
    assert len(files) >= 14
    assert [(finding.path, finding.message) for finding in validate_sidecars(files).findings] == []


def records_of(path: Path) -> list[tuple[Any, ...]]:
    truth = corpus.CORPUS / path.relative_to(corpus.CORPUS).parts[0] / "truth" / path.parent.name / f"{path.name}.jsonl.gz"
    with gzip.open(truth, "rt") as lines:
        found = [json.loads(line) for line in lines]
    return [(row.get("offset", row.get("nextOffset")),) for row in found if row["type"] == "record"]


@pytest.mark.parametrize("era", ["legacy-0.7.2", "legacy-0.8.2.2", "legacy-0.10.2.2", "legacy-2.4.1"])
def test_logs_of_every_era_are_read_and_validated(era: str):
    for directory in sorted(path for path in (corpus.CORPUS / era / "data").iterdir() if path.is_dir()):
        log = ls.Log(directory)
        offsets = [row["offset"] for row in rows(log.records(columns=["offset"]))]
        assert offsets == [offset for segment in log.segments for (offset,) in records_of(Path(segment.path))], directory
        assert log.validate().ok
        if era == "legacy-0.7.2":
            continue
        for start in range(0, offsets[-1] + 1, max(1, offsets[-1] // 7)):
            found = rows(log.records(columns=["offset"], start_offset=start, end_offset=start + 9))
            assert [row["offset"] for row in found] == [offset for offset in offsets if start <= offset < start + 9], (directory, start)


def test_entries_are_those_that_kafkas_classes_read():
    seen = 0
    for path in sorted(DATA.rglob("*.log")):
        segment = ls.Segment(path)
        for suffix, found, names in (
            (".index", segment.offset_index, ("offset", "position")),
            (".timeindex", segment.time_index, ("timestamp", "offset")),
            (".txnindex", segment.aborted_transactions, ("producerId", "firstOffset", "lastOffset", "lastStableOffset")),
            (".snapshot", segment.producer_snapshot, ("producerId", "producerEpoch", "lastSequence", "lastOffset", "offsetDelta")),
        ):
            beside = path.with_suffix(suffix)
            if not beside.exists() or not (TRUTH / beside.relative_to(DATA)).with_suffix(f"{suffix}.jsonl.gz").exists():
                continue
            expected = [tuple(row[name] for name in names) for row in truth(beside)]
            assert [tuple(row)[: len(names)] for row in found] == expected, beside
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("name", ["multi-segment-0", "transactions-0", "compacted-0", "codec-zstd-0"])
def test_offset_bounds_give_what_a_filter_gives(name: str):
    log, everything = ls.Log(DATA / name), all_rows(DATA / name)
    last = everything[-1]["offset"]
    for start in range(0, last + 2, max(1, last // 40)):
        for end in (start, start + 1, start + 17, None):
            expected = [row for row in everything if row["offset"] >= start and (end is None or row["offset"] < end)]
            assert rows(log.records(columns=COLUMNS, start_offset=start, end_offset=end)) == expected, (start, end)


@pytest.mark.parametrize("name", ["multi-segment-0", "transactions-0", "edge-records-0", "logappendtime-0", "codec-lz4-0"])
def test_a_timestamp_is_found_where_a_look_at_every_record_finds_it(name: str):
    log, everything = ls.Log(DATA / name), all_rows(DATA / name, control=True)
    stamps = sorted({row["timestampMs"] for row in everything})
    for wanted in [stamp + shift for stamp in stamps[:: max(1, len(stamps) // 30)] for shift in (-1, 0, 1)]:
        expected = next((row["offset"] for row in everything if row["timestampMs"] >= wanted), None)
        assert log.offset_for_timestamp(wanted) == expected, wanted


def test_times_are_milliseconds_or_aware_datetimes():
    segment = ls.Segment(logs(DATA / "multi-segment-0")[0])
    wanted = segment.time_index[1].timestamp
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=wanted)
    found = segment.offset_for_timestamp(wanted)
    assert found == segment.offset_for_timestamp(moment)
    assert segment.offset_for_timestamp(moment - timedelta(microseconds=1)) == found
    with pytest.raises(ValueError, match="time zone"):
        segment.offset_for_timestamp(moment.replace(tzinfo=None))
    bounded = rows(segment.records(columns=["offset"], start_timestamp=moment))
    assert bounded[0]["offset"] == found


@pytest.mark.parametrize("name", ["transactions-0", "transactions-1", "transactions-multi-segment-0", "transactions-multi-segment-1"])
def test_committed_records_are_those_of_kafkas_consumer(name: str):
    with gzip.open(MODERN / f"truth/consumer/{name}.read_committed.jsonl.gz", "rt") as lines:
        consumed = [json.loads(line)["offset"] for line in lines]
    log = ls.Log(DATA / name)
    assert [row["offset"] for row in rows(log.records(columns=["offset"], isolation="read_committed"))] == consumed
    for segment in log.segments:
        own = [row["offset"] for row in rows(segment.records(columns=["offset"], isolation="read_committed"))]
        assert own == [offset for offset in consumed if own and own[0] <= offset <= own[-1]]
    for start in range(0, consumed[-1], 5):
        found = log.records(columns=["offset"], isolation="read_committed", start_offset=start, end_offset=start + 7)
        assert [row["offset"] for row in rows(found)] == [offset for offset in consumed if start <= offset < start + 7]


def test_a_look_up_reads_little_of_a_segment(tmp_path: Path):
    path = logs(DATA / "many-tiny-records-0")[0]
    segment = ls.Segment(path)
    last = rows(segment.records(columns=["offset"]))[-1]["offset"]
    stream = segment.records(columns=["offset"], start_offset=last)
    assert rows(stream) == [{"offset": last}]
    assert stream.io_stats.bytes_read < path.stat().st_size / 3


def read_every_way(directory: Path) -> Iterator[Any]:
    log = ls.Log(directory)
    for start, end in ((None, None), (0, 3), (5, 40), (30, 31), (60, None)):
        for isolation in ("read_uncommitted", "read_committed"):
            found = log.records(columns=COLUMNS, start_offset=start, end_offset=end, isolation=isolation)
            yield rows(found)
    stamps = [row["timestampMs"] for row in all_rows(directory, control=True)]
    for wanted in (0, stamps[0], stamps[len(stamps) // 2], stamps[len(stamps) // 2] + 1, max(stamps), max(stamps) + 1):
        yield log.offset_for_timestamp(wanted)
    yield [tuple(row)[:3] for row in log.aborted_transactions if not log.aborted_transactions.findings]


HURT = ["transactions-0", "transactions-multi-segment-0", "multi-segment-0"]
EXPECTED: dict[str, list[Any]] = {}


def hurt(path: Path, how: str, at: int, byte: int) -> None:
    data = bytearray(path.read_bytes())
    if how == "remove":
        path.unlink()
        return
    if how == "cut":
        del data[at % (len(data) + 1) :]
    elif how == "zeros":
        data += bytes(at % 5000)
    elif how == "flip" and data:
        data[at % len(data)] ^= byte
    elif how == "entry" and data:
        data[at % len(data) :] = data[: len(data) - at % len(data)]
    path.write_bytes(data)


WOUNDS = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from(["remove", "cut", "zeros", "flip", "entry"]), st.integers(0, 2**16), st.integers(1, 255)),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("name", slow_after(1, HURT))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(wounds=WOUNDS)
def test_damaged_sidecar_files_change_no_result(name: str, wounds: list[tuple[int, str, int, int]], tmp_path_factory: Any):
    """All but the log itself is fair game: removed, cut, lengthened, flipped, shifted."""
    directory = tmp_path_factory.mktemp("hurt") / name
    shutil.copytree(DATA / name, directory, copy_function=shutil.copyfile)
    if name not in EXPECTED:
        EXPECTED[name] = list(read_every_way(directory))[:-1]
    beside = sorted(path for path in directory.iterdir() if path.suffix != ".log")
    for which, how, at, byte in wounds:
        path = beside[which % len(beside)]
        if path.exists():
            hurt(path, how, at, byte)
    assert list(read_every_way(directory))[:-1] == EXPECTED[name]
    ls.Log(directory).validate(depth="headers")
    shutil.rmtree(directory)


@pytest.mark.parametrize(
    ("suffix", "change", "rule"),
    [
        (".index", lambda data: data[:-3], "SEG-5"),
        (".index", lambda data: data + bytes(80), "SEG-5"),
        (".index", lambda data: data[8:] + data[:8], "SEG-3"),
        (".index", lambda data: data[:7] + bytes([data[7] ^ 1]) + data[8:], "IDX-2"),
        (".index", lambda data: data[:3] + bytes([data[3] ^ 4]) + data[4:8], "IDX-2"),
        (".index", lambda data: data[:2] + b"\1" + data[3:8], "IDX-2"),
        (".timeindex", lambda data: data[12:] + data[:12], "SEG-4"),
        (".timeindex", lambda data: data[:7] + bytes([data[7] ^ 1]) + data[8:], "IDX-3"),
        (".txnindex", lambda data: data[34:] + data[:34], "SEG-7"),
        (".txnindex", lambda data: data[34:], "IDX-4"),
        (".txnindex", lambda data: data[:25] + bytes([data[25] ^ 2]) + data[26:34], "IDX-4"),
        (".snapshot", lambda data: data[:20] + b"x" + data[21:], "SEG-8"),
        ("leader-epoch-checkpoint", lambda data: data.replace(b"2 85", b"x 85"), "SEG-9"),
        ("leader-epoch-checkpoint", lambda data: data.replace(b"0 0\n2 85", b"0 0\n1 20"), "IDX-5"),
        ("partition.metadata", lambda data: data[:-1], "SEG-10"),
        (".index", None, "IDX-1"),
        (".timeindex", None, "IDX-1"),
    ],
)
def test_what_is_wrong_is_reported_with_its_file(tmp_path: Path, suffix: str, change: Any, rule: str):
    directory = tmp_path / "transactions-0"
    shutil.copytree(DATA / "transactions-0", directory, copy_function=shutil.copyfile)
    name = suffix if "-" in suffix or suffix == "partition.metadata" else f"00000000000000000008{suffix}"
    if change is None:
        os.unlink(directory / name)
    else:
        data = (directory / name).read_bytes()
        assert change(data) != data
        (directory / name).write_bytes(change(data))
    report = ls.Log(directory).validate()
    assert report.ok
    assert {(finding.rule, finding.path.rpartition("@")[0]) for finding in report.findings} == {(rule, str(directory / name))}


def test_findings_and_errors_name_the_file(tmp_path: Path):
    directory = tmp_path / "multi-segment-0"
    shutil.copytree(DATA / "multi-segment-0", directory, copy_function=shutil.copyfile)
    second = logs(directory)[1]
    data = bytearray(second.read_bytes())
    data[100] ^= 1
    second.write_bytes(data)
    with pytest.raises(ls.ChecksumError):
        rows(ls.Log(directory).records(columns=["offset"]))
    stream = ls.Log(directory).records(columns=["offset"], on_error="skip")
    assert 0 < len(rows(stream)) < len(all_rows(DATA / "multi-segment-0"))
    assert [finding.path.partition("/entry@")[0] for finding in stream.findings] == [str(second)]
    report = ls.Log(directory).validate()
    assert [finding.path.partition("/entry@")[0] for finding in report.findings if finding.severity == "error"] == [str(second)]


def test_a_tree_is_read_partition_by_partition():
    log = ls.Log(DATA)
    assert len(log.partitions) == len(partitions())
    assert ("multi-segment", 2) in log.partitions
    with pytest.raises(ValueError, match="partitions"):
        log.offset_for_timestamp(0)
    found = log.records(columns=["topic", "partition"], start_offset=0, end_offset=1).to_pyarrow()
    assert {(row["topic"], row["partition"]) for row in found.to_pylist()} <= set(log.partitions)


def test_usage_errors(tmp_path: Path):
    with pytest.raises(ls.InvalidError, match="looks like a directory"):
        ls.Segment(DATA / "multi-segment-0")
    with pytest.raises(FileNotFoundError):
        ls.Segment(tmp_path / "00000000000000000000.log")
    with pytest.raises(FileNotFoundError):
        ls.Log(tmp_path)
    with pytest.raises(ValueError, match="mmap"):
        ls.Segment(logs(DATA / "multi-segment-0")[0], mmap="auto")  # type: ignore[arg-type]


def test_a_mapped_segment_gives_the_same():
    path = logs(DATA / "multi-segment-0")[0]
    assert rows(ls.Segment(path, mmap=True).records(columns=COLUMNS)) == rows(ls.Segment(path).records(columns=COLUMNS))


def test_markers_of_a_partition_are_read_once_for_all_of_its_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from logsegment.log import log as module

    place = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
    for path in place.iterdir():
        if path.suffix == ".log":
            shutil.copyfile(path, tmp_path / path.name)
    asked = []
    own = module.committed_transactions
    monkeypatch.setattr(module, "committed_transactions", lambda files, options: asked.append(files) or own(files, options))
    log = ls.Log(tmp_path)
    found = [transaction[:3] for transaction in log.aborted_transactions]
    again = log.aborted_transactions
    assert ([item[:3] for item in again], [transaction[:3] for transaction in pickle.loads(pickle.dumps(log)).aborted_transactions]) == (
        found,
        found,
    )
    assert len(asked) == 1, "not for each look at them"
    assert sorted(found) == sorted(transaction[:3] for transaction in ls.Log(place).aborted_transactions)
    assert found == [transaction[:3] for segment in log for transaction in segment.aborted_transactions]


def test_a_log_is_a_sequence_of_its_segments():
    log = ls.Log(DATA / "multi-segment-0")
    assert len(log) > 1
    assert list(log) == log.segments
    assert log[-1] is log.segments[-1]


@pytest.mark.parametrize("log", [ls.Log(DATA / "multi-segment-0"), ls.Segment(DATA / "multi-segment-0/00000000000000000000.log")], ids=repr)
def test_a_log_is_an_arrow_stream_of_its_records(log: Any):
    table = pa.table(log)
    assert table.equals(log.records().to_pyarrow())
    # Any number of times.
    assert pa.table(log).equals(table)
    assert log.to_pyarrow().equals(table)
    assert pa.schema(log).equals(table.schema)
    assert log.to_pylist() == table.to_pylist()
    assert log.to_polars().equals(pl.DataFrame(table))
    assert log.to_pandas().shape == (table.num_rows, table.num_columns)
    connection = duckdb.connect()
    assert connection.sql("select count(*), max(timestamp) from log").fetchall() == [(table.num_rows, pc.max(table["timestamp"]).as_py())]


def test_several_paths_and_patterns_are_one_log(tmp_path: Path):
    both = [DATA / "multi-segment-0", DATA / "codec-none-0"]
    log = ls.Log(both)
    assert log.paths == [str(path) for path in both]
    assert sorted(log.partitions) == [("codec-none", 0), ("multi-segment", 0)]
    assert len(log) == len(logs(both[0])) + len(logs(both[1]))
    assert log.records().to_pyarrow().num_rows == sum(ls.Log(path).records().to_pyarrow().num_rows for path in both)
    pattern = ls.Log(str(DATA / "codec-*-0"))
    assert pattern.paths == sorted(str(path) for path in DATA.glob("codec-*-0"))
    assert len(pattern) > 3
    # The segments of one partition, each named: in the order of their offsets, whatever the order of the names, and each once.
    files = logs(both[0])
    assert [file.path for file in ls.Log([*reversed(files), files[0]])] == list(map(str, files))
    assert ls.Log([both[0], files[0]]).records().rows() == ls.Log(both[0]).records().rows()
    # A name with the characters of a pattern is the name of a file.
    odd = tmp_path / "[odd]-0"
    shutil.copytree(both[1], odd)
    assert [file.path for file in ls.Log(odd)] == list(map(str, logs(odd)))
    assert ls.Log(odd).records(columns=["offset"]).rows() == ls.Log(both[1]).records(columns=["offset"]).rows()
    with pytest.raises(FileNotFoundError, match="matches"):
        ls.Log(str(tmp_path / "none-*"))


def test_topic_and_partition_choose_from_a_tree(tmp_path: Path):
    assert set(ls.Log(DATA, topic="multi-segment").partitions) == {
        partition for partition in ls.Log(DATA).partitions if partition[0] == "multi-segment"
    }
    assert ls.Log(DATA, topic="multi-segment", partition=2).partitions == [("multi-segment", 2)]
    assert {number for _, number in ls.Log(DATA, partition=0).partitions} == {0}
    with pytest.raises(ValueError, match=r"no such topic: multi-segmnt; there are .* more"):
        ls.Log(DATA, topic="multi-segmnt")
    with pytest.raises(ValueError, match="no such partition: 9; there are 0, 1"):
        ls.Log(DATA, topic="multi-segment", partition=9)
    # Where no directory names a topic, the arguments do.
    shutil.copy(logs(DATA / "codec-none-0")[0], tmp_path / "copy.log")
    named = ls.Log(tmp_path / "copy.log", topic="orders", partition=7)
    assert set(named.records(columns=["topic", "partition"]).rows()) == {("orders", 7)}


def test_what_is_not_read_is_reported_for_the_chosen_partitions(tmp_path: Path):
    for name in ("orders-0", "payments-0"):
        shutil.copytree(DATA / "codec-none-0", tmp_path / name)
        (tmp_path / name / "00000000000000099999.log").symlink_to(tmp_path / "nothing")
    assert len(ls.Log(tmp_path).left_out) == 2
    (finding,) = ls.Log(tmp_path, topic="orders").left_out
    assert "orders-0" in finding.path


def test_decode_names_the_reader_of_a_log():
    with pytest.raises(TypeError, match=r"call its records\(\)"):
        ls.decode(ls.Log(DATA / "codec-none-0"))
