"""The streaming reader without Spark: which offsets a trigger gives, which tasks, and what they read, while a log grows and shrinks."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
from counted_bytes import bytes_read, counting
from growing import TIME, GrowingLog
from logsegment.spark import LogSegmentSource
from logsegment.spark.options.topics import TopicPartition
from logsegment.spark.read.plan import OWN_TASKS
from logsegment.spark.stream import limits as stream_limits
from logsegment.spark.stream import partitions as stream_partitions
from logsegment.spark.stream import read
from logsegment.spark.stream.limits import Admission, shares
from logsegment.spark.stream.plan import DataLossError
from logsegment.spark.stream.reader import RefusedStreamReader, SegmentStreamReader

pyspark_streaming = pytest.importorskip("pyspark.sql.streaming.datasource")

Json = dict[str, dict[str, int]]


@pytest.fixture
def log(tmp_path: Path) -> GrowingLog:
    return GrowingLog(tmp_path / "logs")


def reader_of(log: GrowingLog | Path, **options: str) -> SegmentStreamReader:
    root = log if isinstance(log, Path) else log.root
    source = LogSegmentSource({"path": str(root), **options})
    reader = source.streamReader(source.schema())
    if isinstance(reader, RefusedStreamReader):
        raise reader.error
    assert isinstance(reader, SegmentStreamReader)
    return reader


def from_the_start(log: GrowingLog | Path, **options: str) -> SegmentStreamReader:
    return reader_of(log, startingOffsets="earliest", **options)


def upto(offset: int, topic: str = "orders") -> Json:
    return {topic: {"0": offset}}


def trigger(reader: SegmentStreamReader, start: Json) -> Json:
    return reader.latestOffset(start, reader.getDefaultReadLimit())


def offsets(reader: SegmentStreamReader, start: Json, end: Json) -> list[int]:
    """Offsets in the order of the tasks; the values must be theirs."""
    found = [row for task in reader.partitions(start, end) for batch in reader.read(task) for row in batch.to_pylist()]
    assert [int(row["value"][:20]) for row in found] == [row["offset"] for row in found]
    return [row["offset"] for row in found]


def test_a_new_query_begins_at_the_latest_offsets_and_keeps_the_place_in_its_first_batch(log: GrowingLog):
    log.append(3)
    reader = reader_of(log)
    start = reader.initialOffset()
    log.append(2)
    assert start == upto(3)
    assert trigger(reader, start) == start, "the first batch writes the place into the checkpoint"
    assert trigger(reader, start) == upto(5)
    assert offsets(reader, start, upto(5)) == [3, 4]


def test_a_first_batch_that_is_repeated_loses_nothing_when_latest_has_moved_on(log: GrowingLog):
    """PySpark asks for the initial offset again then: the offsets in the checkpoint count, not the new ones."""
    log.append(3)
    first = reader_of(log)
    end = trigger(first, first.initialOffset())
    log.append(4)
    again = reader_of(log)
    begin = again.initialOffset()
    assert (end, begin) == (upto(3), upto(7))
    assert again.partitions(begin, end) == []
    assert trigger(again, end) == upto(7)
    assert offsets(again, end, upto(7)) == [3, 4, 5, 6]


def test_offsets_are_spark_s_json_in_the_order_of_topics_and_partitions(tmp_path: Path):
    for partition in (10, 2, 0):
        GrowingLog(tmp_path, "b", partition).append(partition + 1)
    GrowingLog(tmp_path, "a", 0).append(5)
    end = trigger(from_the_start(tmp_path), {})
    assert json.dumps(end) == '{"a": {"0": 5}, "b": {"0": 1, "2": 3, "10": 11}}'


def test_the_same_json_is_given_back_when_there_is_nothing_new(log: GrowingLog):
    log.append(1)
    reader, start = from_the_start(log), upto(1)
    assert trigger(reader, start) is start
    assert reader.partitions(start, start) == []


def test_a_batch_is_there_when_all_of_its_bytes_are(log: GrowingLog):
    log.append(2)
    reader = from_the_start(log)
    data = log.encode(3)
    for size in (5, 30, 61, len(data) - 1):
        log.write(data[:size])
        assert trigger(reader, upto(0)) == upto(2), size
        os.truncate(log.segment, log.segment.stat().st_size - size)
    log.write(data)
    assert trigger(reader, upto(0)) == upto(5)
    assert offsets(reader, upto(0), upto(5)) == [0, 1, 2, 3, 4]


def test_a_last_batch_with_holes_is_not_there_yet_and_a_preallocated_file_ends_before_its_zeros(log: GrowingLog):
    log.append(2)
    end = log.segment.stat().st_size
    data = bytearray(log.encode(3))
    holes = data[:70] + bytes(len(data) - 70)
    reader = from_the_start(log)
    log.write(holes + bytes(5000))
    assert trigger(reader, upto(0)) == upto(2)
    with log.segment.open("r+b") as file:
        file.seek(end)
        file.write(data)
    assert trigger(reader, upto(0)) == upto(5)
    assert offsets(reader, upto(0), upto(5)) == [0, 1, 2, 3, 4]


@counting
@pytest.mark.parametrize("options", [{}, {"isolation": "read_committed"}, {"mode": "DROPMALFORMED"}], ids=str)
def test_the_zeros_of_a_preallocated_segment_are_read_by_the_first_trigger_alone(log: GrowingLog, options: dict[str, str]):
    zeros, few = 32 << 20, 200 << 10
    reader = from_the_start(log, **options)
    log.append(2)
    log.preallocate(zeros)
    assert bytes_read(lambda: trigger(reader, upto(0))) > zeros
    for end in range(3, 6):
        log.append(1)
        assert bytes_read(lambda: trigger(reader, upto(0))) < few
        if "mode" not in options:  # who goes on past damage looks for what stands behind it
            assert bytes_read(lambda end=end: offsets(reader, upto(end - 1), upto(end))) < few
        assert trigger(reader, upto(0)) == upto(end)
    assert offsets(reader, upto(0), upto(5)) == [0, 1, 2, 3, 4]


def test_what_was_walked_is_not_walked_again(log: GrowingLog):
    """Bytes that were seen may become unreadable without being noticed by later triggers."""
    log.append(*[5] * 20)
    reader = from_the_start(log, isolation="read_committed")
    assert trigger(reader, upto(0)) == upto(100)
    with log.segment.open("r+b") as file:
        file.write(b"\xff" * 100)
    log.append(5)
    assert trigger(reader, upto(100)) == upto(105)
    fresh = from_the_start(log, isolation="read_committed")
    with pytest.raises(ls.RecordBatchError):
        trigger(fresh, upto(100))


def test_segments_roll(log: GrowingLog):
    reader = from_the_start(log, isolation="read_committed")
    assert reader.initialOffset() == upto(0)
    end = upto(0)
    for count in range(1, 6):
        log.append(count)
        log.roll()
        start, end = end, trigger(reader, end)
        assert offsets(reader, start, end) == list(range(start["orders"]["0"], log.next))
    assert offsets(reader, upto(2), upto(14)) == list(range(2, 14))


def test_the_high_watermark_is_the_end_where_a_broker_wrote_one(log: GrowingLog):
    """SEG-9; what is behind it may still be cut off."""
    log.append(3, 3, 3)
    log.high_watermark(6)
    assert trigger(from_the_start(log), upto(0)) == upto(6)
    assert offsets(from_the_start(log), upto(0), upto(6)) == list(range(6))
    assert trigger(from_the_start(log, upTo="logEnd"), upto(0)) == upto(9)
    log.high_watermark(100)
    assert trigger(from_the_start(log), upto(0)) == upto(9)


def test_the_high_watermark_of_one_partition_is_looked_for_above_its_directory(log: GrowingLog):
    log.append(3, 3, 3)
    log.high_watermark(6)
    assert trigger(from_the_start(log.directory), upto(0)) == upto(6)


def test_a_high_watermark_behind_what_was_read_is_old_and_no_loss(log: GrowingLog):
    """A broker writes it every few seconds; a query that once read to the log end may be ahead of it."""
    log.append(3, 3, 3)
    log.high_watermark(6)
    start = upto(9)
    assert trigger(from_the_start(log), start) is start


def test_a_partition_without_a_high_watermark_waits(log: GrowingLog):
    log.append(3)
    log.high_watermark(None)
    reader = from_the_start(log)
    assert reader.initialOffset() == upto(0)
    assert trigger(reader, upto(0)) == upto(0)
    assert trigger(reader, {}) == {}
    log.high_watermark(3)
    assert trigger(reader, upto(0)) == upto(3)


def test_a_damaged_checkpoint_is_one_clear_error(log: GrowingLog):
    log.append(3)
    (log.root / "replication-offset-checkpoint").write_text("7\nnonsense\n")
    with pytest.raises(ValueError, match=r"replication-offset-checkpoint.*SEG-9.*upTo=logEnd"):
        trigger(from_the_start(log), upto(0))
    assert trigger(from_the_start(log, upTo="logEnd"), upto(0)) == upto(3)


@pytest.mark.parametrize("has_mark", [False, True])
def test_a_log_that_was_cut_below_what_was_read(log: GrowingLog, has_mark: bool):
    log.append(5, 5)
    reader = from_the_start(log, failOnDataLoss="true")
    lenient = from_the_start(log, failOnDataLoss="false")
    for item in (reader, lenient):
        assert trigger(item, upto(0)) == upto(10)
    log.cut(5)
    if has_mark:
        log.high_watermark(5)
    with pytest.raises(DataLossError, match=r"orders-0 was truncated at offset 5.*up to 9.*failOnDataLoss"):
        trigger(reader, upto(10))
    with pytest.raises(DataLossError, match="truncated at offset 5"):
        reader.partitions(upto(10), upto(5))
    with pytest.warns(UserWarning, match="truncated"):
        end = trigger(lenient, upto(10))
    assert end == upto(5)
    with pytest.warns(UserWarning, match="truncated"):
        assert lenient.partitions(upto(10), end) == []
    log.append(2)
    if has_mark:
        log.high_watermark(7)
    assert trigger(lenient, end) == upto(7)
    assert offsets(lenient, end, upto(7)) == [5, 6]


def test_a_log_that_was_cut_and_written_again_is_walked_from_its_index_on(log: GrowingLog):
    log.append(5, 5)
    reader = from_the_start(log, isolation="read_committed")
    trigger(reader, upto(0))
    log.cut(5)
    log.append(2, 2, 2, size=50)
    assert trigger(reader, upto(5)) == upto(11)


def test_offsets_that_were_deleted_before_they_were_read(log: GrowingLog):
    log.append(5)
    log.roll()
    log.append(5)
    log.roll()
    log.append(5)
    reader, lenient = from_the_start(log), from_the_start(log, failOnDataLoss="false")
    (log.directory / f"{0:020d}.log").unlink()
    with pytest.raises(DataLossError, match="offsets 2 to 4 were deleted"):
        reader.partitions(upto(2), upto(15))
    with pytest.warns(UserWarning, match="offsets 2 to 4"):
        assert offsets(lenient, upto(2), upto(15)) == list(range(5, 15))


def test_the_log_start_offset_of_a_broker_counts(log: GrowingLog):
    """DeleteRecords: the offsets are still in the segment."""
    log.append(10)
    (log.root / "log-start-offset-checkpoint").write_text("0\n1\norders 0 4\n")
    reader = from_the_start(log)
    assert reader.initialOffset() == upto(4)
    assert offsets(reader, upto(4), upto(10)) == [4, 5, 6, 7, 8, 9]


def test_new_partitions_are_read_from_their_beginning(log: GrowingLog):
    log.append(2)
    reader = reader_of(log)
    start = reader.initialOffset()
    start = trigger(reader, start)
    later = GrowingLog(log.root, "orders", 1)
    later.append(4)
    end = trigger(reader, start)
    assert end == {"orders": {"0": 2, "1": 4}}
    assert offsets(reader, start, end) == [0, 1, 2, 3]


def test_a_new_partition_that_begins_late_has_lost_something(log: GrowingLog):
    log.append(2)
    GrowingLog(log.root, "orders", 1, start=7).append(1)
    end = {"orders": {"0": 2, "1": 8}}
    with pytest.raises(DataLossError, match="orders-1 is new and starts at offset 7, not at 0"):
        from_the_start(log).partitions(upto(2), end)
    with pytest.warns(UserWarning, match="starts at offset 7"):
        assert offsets(from_the_start(log, failOnDataLoss="false"), upto(2), end) == [7]


@pytest.mark.parametrize("way", ["removed", "marked"])
def test_a_partition_that_is_gone(log: GrowingLog, way: str):
    """A broker marks the directory of a topic that is deleted, and removes it a minute later."""
    log.append(2)
    other = GrowingLog(log.root, "orders", 1)
    other.append(4)
    if way == "removed":
        shutil.rmtree(other.directory)
    else:
        other.directory.rename(f"{other.directory}.{'0f' * 16}-delete")
    both = {"orders": {"0": 0, "1": 2}}
    with pytest.raises(DataLossError, match=r"orders-1 .*offset 2"):
        trigger(from_the_start(log), both)
    lenient = from_the_start(log, failOnDataLoss="false")
    with pytest.warns(UserWarning, match="orders-1 was deleted"):
        assert trigger(lenient, both) == upto(2)
    with pytest.warns(UserWarning, match="orders-1 was deleted"):
        assert offsets(lenient, both, upto(2)) == [0, 1]


@pytest.mark.parametrize("loss", ["true", "false"])
def test_a_directory_in_which_no_log_is_left_ends_the_query(log: GrowingLog, loss: str):
    """Nobody can tell deleted topics from a mount that is gone, behind which all offsets would be read again."""
    log.append(2)
    reader = from_the_start(log, failOnDataLoss=loss)
    shutil.rmtree(log.directory)
    with pytest.raises(FileNotFoundError, match="no log segments"):
        trigger(reader, upto(2))


def test_a_committed_read_ends_at_the_last_stable_offset(log: GrowingLog):
    """TXN-6."""
    log.append(2)
    log.in_transaction(3, producer_id=7)
    log.append(2)
    reader = from_the_start(log, isolation="read_committed")
    assert trigger(reader, upto(0)) == upto(2)
    log.roll()
    log.marker("ABORT", 7)
    log.in_transaction(1, producer_id=8)
    assert trigger(reader, upto(2)) == upto(8)
    assert offsets(reader, upto(0), upto(8)) == [0, 1, 5, 6]
    log.marker("COMMIT", 8)
    assert trigger(reader, upto(8)) == upto(10)
    assert offsets(reader, upto(8), upto(10)) == [8]
    assert trigger(from_the_start(log), upto(0)) == upto(10)


def test_a_flipped_magic_is_an_error_and_no_transaction_that_never_ends(log: GrowingLog):
    """TXN-8, FND-18: no checksum covers the magic."""
    log.append(2)
    log.in_transaction(3, producer_id=7)
    log.marker("COMMIT", 7)
    data = bytearray(log.segment.read_bytes())
    second = ls.batches(bytes(data)).to_pylist()[1]["position"]
    data[second + 16] = 3
    log.segment.write_bytes(data)
    for switch, said in (({}, "MAP-3"), ({"format": "v3"}, "FND-18|PRM-4")):
        reader = from_the_start(log, isolation="read_committed", **switch)
        with pytest.raises(ls.RecordBatchError, match=said):
            trigger(reader, upto(0))


def test_batches_of_v3_are_followed_where_they_are_allowed(log: GrowingLog):
    log.append(2, format="v3")
    log.append(3, format="v3", transactional=True, producer_id=7, producer_epoch=0, base_sequence=0)
    for options in ({}, {"mode": "DROPMALFORMED"}):
        reader = from_the_start(log, format="v3", **options)
        assert trigger(reader, upto(0)) == upto(5)
        assert offsets(reader, upto(0), upto(5)) == [0, 1, 2, 3, 4]
    assert trigger(from_the_start(log, format="v3", isolation="read_committed"), upto(0)) == upto(2)
    with pytest.raises(ls.UnsupportedError, match="MAP-3"):
        trigger(from_the_start(log), upto(0))


def test_a_marker_behind_the_high_watermark_ends_nothing_yet(log: GrowingLog):
    log.in_transaction(3, producer_id=7)
    log.marker("COMMIT", 7)
    log.high_watermark(3)
    reader = from_the_start(log, isolation="read_committed")
    assert trigger(reader, upto(0)) == upto(0)
    log.high_watermark(4)
    assert trigger(reader, upto(0)) == upto(4)
    assert offsets(reader, upto(0), upto(4)) == [0, 1, 2]


@pytest.mark.parametrize("damaged", ["marker", "control bit", "first batch"])
def test_damage_that_would_hold_a_committed_stream_up_without_a_word_is_an_error(log: GrowingLog, damaged: str):
    """A marker that became another one, or data; a batch that a flipped bit made the first of a transaction without an end."""
    log.append(3)
    log.in_transaction(2, producer_id=7)
    log.marker("ABORT", 7)
    log.append(2)
    (path,) = log.root.glob("*/*.log")
    data = bytearray(path.read_bytes())
    (marker,) = (row for row in ls.batches(bytes(data)).to_pylist() if row["isControl"])
    if damaged == "first batch":
        data[22] ^= 0x10
        data[43] ^= 0x80
    else:
        data[marker["position"] + (69 if damaged == "marker" else 22)] ^= 1 if damaged == "marker" else 0x20
    path.write_bytes(data)
    reader = from_the_start(log, isolation="read_committed")
    for _ in range(2):
        with pytest.raises(ls.ChecksumError, match=r"\[V2-31\] at byte \d+, base offset " + ("0" if damaged == "first batch" else "5")):
            trigger(reader, upto(0))
    assert trigger(from_the_start(log), upto(0)) == upto(8), "who reads all meets it when it comes there"


def test_transactions_of_the_corpus_are_read_in_small_steps_as_kafkas_consumer_returned_them():
    """TXN-1 to TXN-6 across segments, from producer snapshots."""
    (payments,) = [partition for partition in corpus.partitions() if partition.directory.name == "transactions-multi-segment-0"]
    name = payments.directory.name.rpartition("-")[0]
    reader = from_the_start(payments.directory, isolation="read_committed", maxOffsetsPerTrigger="5")
    end = reader.initialOffset()
    found, steps = [], 0
    while (start := end) != (end := trigger(reader, start)):
        found += [row["offset"] for task in reader.partitions(start, end) for batch in reader.read(task) for row in batch.to_pylist()]
        steps += 1
    assert found == [row["offset"] for row in corpus.expected_consumed(payments.consumed["read_committed"])]
    assert end[name]["0"] - found[0] <= 5 * steps
    assert steps > 5


def test_most_offsets_are_shared_by_what_waits(tmp_path: Path):
    logs = [GrowingLog(tmp_path, "t", partition) for partition in range(3)]
    for log, count in zip(logs, (100, 300, 1), strict=True):
        log.append(count)
    reader = from_the_start(tmp_path, maxOffsetsPerTrigger="40")
    end = trigger(reader, reader.initialOffset())
    assert end == {"t": {"0": 9, "1": 29, "2": 1}}
    assert len(offsets(reader, reader.initialOffset(), end)) == 39
    steps = 1
    while end != (end := trigger(reader, end)):
        steps += 1
    assert end == {"t": {"0": 100, "1": 300, "2": 1}}
    assert steps <= 13


def test_shares_are_whole_and_leave_no_partition_out():
    """As in Spark; beyond what a float can tell, too."""
    names = [TopicPartition("t", number) for number in range(3)]
    assert list(shares(10, dict(zip(names, (5, 0, 1000), strict=True))).values()) == [1, 0, 9]
    big = 2**62
    assert list(shares(big, dict(zip(names, (big, big, 1), strict=True))).values()) == [big // 2 - 1, big // 2 - 1, 1]
    assert list(shares(100, dict(zip(names, (5, 6, 7), strict=True))).values()) == [5, 6, 7]


def test_fewest_offsets_are_waited_for_but_not_for_ever(log: GrowingLog):
    now = 0.0
    reader = from_the_start(log, minOffsetsPerTrigger="10", maxTriggerDelay="30s", maxOffsetsPerTrigger="12")
    reader._admission = Admission(reader.options, clock=lambda: now)
    log.append(3)
    assert trigger(reader, upto(0)) == upto(3), "the first trigger waits for nothing"
    log.append(9)
    assert trigger(reader, upto(3)) == upto(3)
    log.append(1)
    assert trigger(reader, upto(3)) == upto(13)
    log.append(1)
    now = 29.0
    assert trigger(reader, upto(13)) == upto(13)
    now = 31.0
    assert trigger(reader, upto(13)) == upto(14)
    log.append(50)
    assert trigger(reader, upto(14)) == upto(26)


def test_limits_are_kept_together(log: GrowingLog):
    """The fewest offsets say whether a micro-batch runs, the others how much it takes: the smaller part."""
    log.append(*[10] * 20, size=100)
    size = ls.batches(ls.FileSource(log.segment)).to_pylist()[0]["size"]
    for most, budget, expected in ((35, 10, 35), (150, 3, 30), (35, 3, 30), (7, 1, 7)):
        reader = from_the_start(log, maxOffsetsPerTrigger=str(most), maxBytesPerTrigger=str(size * budget))
        assert trigger(reader, upto(0)) == upto(expected), (most, budget)
    times = iter((0.0, 1.0, 2.0, 3.0, 31.0, 33.0))
    reader = from_the_start(log, minOffsetsPerTrigger="25", maxBytesPerTrigger=str(size * 6), maxTriggerDelay="30s")
    reader._admission = Admission(reader.options, clock=lambda: next(times))
    found = [upto(0)]
    for _ in range(6):
        found.append(trigger(reader, found[-1]))
    assert found[1:] == [upto(60), upto(120), upto(180), upto(180), upto(180), upto(200)], "30 s behind the last one"


def test_shares_hold_for_new_partitions_too_from_where_they_begin(log: GrowingLog):
    """As in Spark's Kafka source, which asks brokers for their earliest offsets."""
    log.append(100)
    reader = from_the_start(log, maxOffsetsPerTrigger="50", failOnDataLoss="false")
    end = trigger(reader, upto(0))
    assert end == upto(50)
    GrowingLog(log.root, "orders", 1, start=1000).append(150)
    end = trigger(reader, end)
    assert end == {"orders": {"0": 62, "1": 1037}}
    with pytest.warns(UserWarning, match="orders-1 is new and starts at offset 1000"):
        assert offsets(reader, upto(50), end) == [*range(50, 62), *range(1000, 1037)]


def test_most_bytes_end_a_micro_batch_where_a_batch_ends(log: GrowingLog):
    log.append(*[10] * 10, size=100)
    log.roll()
    log.append(*[10] * 10, size=100)
    size = ls.batches(ls.FileSource(log.segment)).to_pylist()[0]["size"]
    for budget, expected in ((size * 3, 30), (size * 3 + size // 2, 30), (size * 4 - 1, 30), (size * 13, 130), (size * 100, 200), (1, 10)):
        reader = from_the_start(log, maxBytesPerTrigger=str(budget))
        assert trigger(reader, upto(0)) == upto(expected), budget
    reader = from_the_start(log, maxBytesPerTrigger=str(size * 7))
    end, ends = upto(0), []
    while end != (end := trigger(reader, end)):
        ends.append(end["orders"]["0"])
    assert ends[-1] == 200
    assert all(behind - before <= 70 for before, behind in zip([0, *ends], ends, strict=False))
    assert len(ends) <= 4


def test_most_bytes_are_found_through_the_index_as_through_the_headers(log: GrowingLog):
    log.append(*[10] * 200, size=100)
    size = ls.batches(ls.FileSource(log.segment)).to_pylist()[0]["size"]
    ls.rebuild_indexes(log.directory, log.root / "rebuilt") if hasattr(ls, "rebuild_indexes") else None
    for budget in (size, size * 50 + 3, size * 111, size * 199):
        assert trigger(from_the_start(log, maxBytesPerTrigger=str(budget)), upto(0)) == upto(budget // size * 10)


def test_the_engine_may_ask_for_all_or_for_limits_of_its_own(log: GrowingLog):
    log.append(*[10] * 10)
    reader = from_the_start(log, maxOffsetsPerTrigger="7")
    assert reader.getDefaultReadLimit() == pyspark_streaming.ReadMaxRows(7)
    assert reader.latestOffset(upto(0), pyspark_streaming.ReadAllAvailable()) == upto(100)
    assert reader.latestOffset(upto(0), pyspark_streaming.ReadMaxRows(3)) == upto(3)
    assert from_the_start(log).getDefaultReadLimit() == pyspark_streaming.ReadAllAvailable()
    assert from_the_start(log, maxBytesPerTrigger="9").getDefaultReadLimit() == pyspark_streaming.ReadMaxBytes(9)
    assert from_the_start(log, minOffsetsPerTrigger="9").getDefaultReadLimit() == pyspark_streaming.ReadMinRows(9)


def test_available_now_ends_where_the_log_ended_when_it_began(log: GrowingLog):
    log.append(*[10] * 10)
    reader = from_the_start(log, maxOffsetsPerTrigger="30", minOffsetsPerTrigger="25")
    reader.prepareForTriggerAvailableNow()
    log.append(10)
    GrowingLog(log.root, "orders", 1).append(1)
    end, steps = upto(0), []
    while end != (end := trigger(reader, end)):
        steps.append(end["orders"]["0"])
    assert steps == [30, 60, 90, 100], "what is left at last is not waited for"


def test_available_now_may_begin_behind_where_it_ends(log: GrowingLog):
    """Spark prepares the trigger before it asks where a new query begins: records and a partition come in between, and nothing is lost."""
    log.append(3)
    reader = reader_of(log)
    reader.prepareForTriggerAvailableNow()
    log.append(2)
    GrowingLog(log.root, "orders", 1).append(1)
    start = reader.initialOffset()
    assert start == {"orders": {"0": 5, "1": 1}}
    assert trigger(reader, start) == start
    log.append(4)
    assert trigger(reader, start) == start


def test_available_now_ends_where_a_log_was_cut_that_it_had_not_read(log: GrowingLog):
    log.append(*[10] * 10)
    reader = from_the_start(log, maxOffsetsPerTrigger="30")
    reader.prepareForTriggerAvailableNow()
    end = trigger(reader, upto(0))
    log.cut(50)
    assert trigger(reader, end) == upto(50)
    assert offsets(reader, end, upto(50)) == list(range(30, 50))
    assert trigger(reader, upto(50)) == upto(50)
    log.cut(40)
    with pytest.raises(DataLossError, match="orders-0 was truncated at offset 40"):
        trigger(reader, upto(50))


def test_the_latest_offsets_are_reported(log: GrowingLog):
    log.append(10)
    reader = from_the_start(log, maxOffsetsPerTrigger="3")
    assert reader.reportLatestOffset() is None
    trigger(reader, upto(0))
    assert reader.reportLatestOffset() == upto(10)


def test_pyspark_4_1_reads_all_and_says_so_of_limits(log: GrowingLog, monkeypatch: pytest.MonkeyPatch):
    """It calls latestOffset without arguments."""
    monkeypatch.setattr("logsegment.spark.stream.reader.supports_limits", lambda: False)
    log.append(4)
    with pytest.raises(ValueError, match=r"option maxOffsetsPerTrigger: .*PySpark 4\.2 or newer"):
        from_the_start(log, maxOffsetsPerTrigger="3")
    reader = from_the_start(log)
    reader.initialOffset()
    assert reader.latestOffset() == upto(4)


def test_limits_are_known_by_the_classes_that_pyspark_has(monkeypatch: pytest.MonkeyPatch):
    assert stream_limits.supports_limits()
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql.streaming.datasource", None)
    assert not stream_limits.supports_limits()


def test_tasks_end_where_segments_end_and_are_cut_where_more_are_wanted(log: GrowingLog):
    for _ in range(4):
        log.append(*[10] * 10, size=1000)
        log.roll()
    whole = list(range(400))

    def spans(**options: str) -> list[tuple[int, int]]:
        reader = from_the_start(log, **options)
        assert offsets(reader, upto(0), upto(400)) == whole
        return [(part.start, part.end) for task in reader.partitions(upto(0), upto(400)) for part in task.parts]

    assert spans() == [(0, 400)]
    assert spans(maxPartitionBytes="110000") == [(0, 100), (100, 200), (200, 300), (300, 400)]
    assert spans(minPartitions="8") == [(start, start + 50) for start in range(0, 400, 50)]
    assert spans(maxRecordsPerPartition="150") == [(0, 133), (133, 266), (266, 400)]
    assert len(spans(maxPartitionBytes="60000")) == 8


def test_starting_offsets_by_word_number_and_time(log: GrowingLog):
    log.append(*[5] * 4)
    assert reader_of(log, startingOffsets="earliest").initialOffset() == upto(0)
    assert reader_of(log, startingOffsets='{"orders":{"0":7}}').initialOffset() == upto(7)
    assert reader_of(log, startingOffsets='{"orders":{"0":-1}}').initialOffset() == upto(20)
    assert reader_of(log, startingOffsets='{"orders":{"0":-2}}').initialOffset() == upto(0)
    assert reader_of(log, startingTimestamp=str(TIME + 8)).initialOffset() == upto(8)
    assert reader_of(log, startingOffsetsByTimestamp=f'{{"orders":{{"0":{TIME + 9}}}}}').initialOffset() == upto(9)
    with pytest.raises(ValueError, match="no record of orders-0 has timestamp"):
        reader_of(log, startingTimestamp=str(TIME + 99)).initialOffset()
    late = reader_of(log, startingTimestamp=str(TIME + 99), startingOffsetsByTimestampStrategy="latest")
    assert late.initialOffset() == upto(20)
    assert reader_of(log, startingTimestamp="-2").initialOffset() == upto(0)
    assert reader_of(log, startingOffsetsByTimestamp='{"orders":{"0":-1}}').initialOffset() == upto(20)
    with pytest.raises(ValueError, match="orders-1 is not read"):
        reader_of(log, startingOffsets='{"orders":{"0":7,"1":0}}').initialOffset()


def test_a_start_after_the_end_is_an_error(log: GrowingLog):
    log.append(5)
    reader = reader_of(log, startingOffsets='{"orders":{"0":1000}}')
    with pytest.raises(DataLossError, match=r"orders-0 ends at offset 5.*1000"):
        trigger(reader, reader.initialOffset())
    lenient = reader_of(log, startingOffsets='{"orders":{"0":1000}}', failOnDataLoss="false")
    start = lenient.initialOffset()
    with pytest.warns(UserWarning, match="ends at offset 5"):
        assert trigger(lenient, start) == upto(5)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("maxOffsetsPerTrigger", "0", "a whole number from 1 on"),
        ("maxBytesPerTrigger", "many", "a whole number from 1 on"),
        ("maxTriggerDelay", "soon", "a time such as 500ms"),
        ("upTo", "here", "highWatermark or logEnd"),
        ("failOnDataLoss", "maybe", "true or false"),
        ("endingOffsets", "latest", "endingOffsets"),
        ("maxOffsetPerTrigger", "1", "did you mean maxOffsetsPerTrigger"),
    ],
)
def test_options_say_what_they_may_be(log: GrowingLog, option: str, value: str, said: str):
    log.append(1)
    with pytest.raises(ValueError, match=option) as caught:
        reader_of(log, **{option: value})
    assert said in str(caught.value)


def test_fewest_must_not_be_above_most(log: GrowingLog):
    with pytest.raises(ValueError, match=r"minOffsetsPerTrigger .*maxOffsetsPerTrigger: 5 and 4"):
        reader_of(log, minOffsetsPerTrigger="5", maxOffsetsPerTrigger="4")


def test_topics_are_chosen_as_in_a_batch_query(tmp_path: Path):
    for topic in ("a", "b", "bb"):
        GrowingLog(tmp_path, topic).append(1)
    assert from_the_start(tmp_path, subscribe="a,b").initialOffset() == {"a": {"0": 0}, "b": {"0": 0}}
    assert from_the_start(tmp_path, subscribePattern="b+").initialOffset() == {"b": {"0": 0}, "bb": {"0": 0}}
    assert from_the_start(tmp_path, assign='{"bb":[0]}').initialOffset() == {"bb": {"0": 0}}
    with pytest.raises(ValueError, match="no such topic: c"):
        from_the_start(tmp_path, subscribe="a,c").initialOffset()


def test_what_cannot_be_followed_is_refused(tmp_path: Path, log: GrowingLog):
    alone = tmp_path / "some.bin"
    alone.write_bytes(log.encode(1))
    with pytest.raises(ValueError, match="a stream follows the directories of partitions"):
        reader_of(alone).initialOffset()
    old = tmp_path / "old-0"
    old.mkdir()
    (old / f"{0:020d}.kafka").touch()
    with pytest.raises(ValueError, match=r"Kafka 0\.7"):
        reader_of(old).initialOffset()
    unnamed = tmp_path / "unnamed"
    shutil.copytree(log.directory, unnamed)
    with pytest.raises(ValueError, match="options topic and partition"):
        reader_of(unnamed).initialOffset()
    assert reader_of(unnamed, topic="orders", partition="3").initialOffset() == {"orders": {"3": 0}}


def test_a_cleaner_in_the_middle_of_its_work_is_waited_for(log: GrowingLog, monkeypatch: pytest.MonkeyPatch):
    """It renames the old segment away before it renames the new one: in between there is none of that name."""
    log.append(5)
    middle = log.roll()
    log.append(5)
    log.roll()
    log.append(5)
    swap = middle.with_name(middle.name + ".swap")
    middle.rename(swap)
    monkeypatch.setattr(stream_partitions.time, "sleep", lambda _: swap.exists() and swap.rename(middle))
    assert offsets(from_the_start(log), upto(2), upto(15)) == list(range(2, 15))


def test_a_cleaner_at_the_first_segment_is_no_loss(log: GrowingLog, monkeypatch: pytest.MonkeyPatch):
    log.append(5)
    first = log.segment
    log.roll()
    log.append(5)
    swap = first.with_name(first.name + ".swap")
    first.rename(swap)
    monkeypatch.setattr(stream_partitions.time, "sleep", lambda _: swap.exists() and swap.rename(first))
    assert offsets(from_the_start(log), upto(0), upto(10)) == list(range(10))


def test_a_swap_that_stays_is_read_and_named_once_it_was_waited_for(log: GrowingLog, monkeypatch: pytest.MonkeyPatch):
    log.append(5)
    middle = log.roll()
    log.append(5)
    log.roll()
    log.append(5)
    middle.rename(middle.with_name(middle.name + ".swap"))
    monkeypatch.setattr(stream_partitions, "PATIENCE", 1.0)
    pauses: list[float] = []
    pause = time.sleep
    # A thread of PySpark sleeps, too.
    own = threading.get_ident()
    monkeypatch.setattr(
        stream_partitions.time, "sleep", lambda seconds: (pauses.append if threading.get_ident() == own else pause)(seconds)
    )
    reader = from_the_start(log)
    with pytest.warns(UserWarning, match=rf"SEG-17.*{middle.name}\.swap"):
        tasks = reader.partitions(upto(2), upto(15))
    assert pauses
    pauses.clear()
    with pytest.warns(UserWarning, match="SEG-17"):
        assert reader.partitions(upto(2), upto(15)) == tasks
    assert pauses == []
    assert [row["offset"] for task in tasks for batch in reader.read(task) for row in batch.to_pylist()] == list(range(2, 15))


def between_lookup_and_opening(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Let something happen once when a segment's bytes were looked up and it is not open yet."""
    open_stream, waiting = read.decoded, [act]

    def opened(*arguments: Any) -> Any:
        while waiting:
            waiting.pop()()
        return open_stream(*arguments)

    monkeypatch.setattr(read, "decoded", opened)


def test_of_very_many_partitions_the_small_ones_share_tasks(tmp_path: Path):
    """A trigger would take minutes to start a task for each."""
    count = 3 * OWN_TASKS + 8
    for partition in range(count):
        GrowingLog(tmp_path, "orders", partition).append(5)
    begin, end = {"orders": dict.fromkeys(map(str, range(count)), 0)}, {"orders": dict.fromkeys(map(str, range(count)), 5)}

    def tasks(**options: str) -> list[Any]:
        return from_the_start(tmp_path, **options).partitions(begin, end)

    found = tasks()
    assert OWN_TASKS <= len(found) <= OWN_TASKS + 8
    assert [part.name.partition for task in found for part in task.parts] == list(range(count))
    reader = from_the_start(tmp_path, ioStats=str(tmp_path / "stats"))
    rows = [row for task in found for batch in reader.read(task) for row in batch.to_pylist()]
    assert [(row["partition"], row["offset"]) for row in rows] == [(part, offset) for part in range(count) for offset in range(5)]
    stats = [file.read_text().splitlines() for file in (tmp_path / "stats").iterdir()]
    assert (len(stats), sum(map(len, stats))) == (len(found), count)
    assert count // 2 <= len(tasks(minPartitions=str(count // 2))) <= count
    assert len(tasks(minPartitions=str(count))) == count
    assert {len(task.parts) for task in tasks(maxRecordsPerPartition="10")} == {2}
    few = tmp_path / "few"
    for partition in range(OWN_TASKS):
        GrowingLog(few, "orders", partition).append(5)
    own = from_the_start(few).partitions({}, {"orders": dict.fromkeys(map(str, range(OWN_TASKS)), 5)})
    assert [len(task.parts) for task in own] == [1] * OWN_TASKS


def test_a_segment_that_is_cleaned_while_it_is_opened_is_looked_up_again(log: GrowingLog, monkeypatch: pytest.MonkeyPatch):
    log.append(*[5] * 10, size=200)
    log.roll()
    log.append(5)

    def clean() -> None:
        """The first half of the records goes; what is left stands elsewhere in another file."""
        old = log.directory / f"{0:020d}.log"
        rows = ls.batches(ls.FileSource(old)).to_pylist()
        new = old.with_suffix(".log.cleaned")
        new.write_bytes(old.read_bytes()[rows[5]["position"] :])
        new.rename(old)

    reader = from_the_start(log)
    tasks = reader.partitions(upto(0), upto(55))
    between_lookup_and_opening(monkeypatch, clean)
    found = [row["offset"] for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]
    assert found == list(range(25, 55))


def test_a_segment_that_is_deleted_while_it_is_opened(log: GrowingLog, monkeypatch: pytest.MonkeyPatch):
    log.append(5)
    first = log.segment
    log.roll()
    log.append(5)

    def read(reader: SegmentStreamReader) -> list[int]:
        tasks = reader.partitions(upto(0), upto(10))
        between_lookup_and_opening(monkeypatch, lambda: first.rename(first.with_suffix(".log.deleted")))
        return [row["offset"] for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]

    with pytest.raises(DataLossError, match="offsets 0 to 4 were deleted before they were read"):
        read(from_the_start(log))
    first.with_suffix(".log.deleted").rename(first)
    with pytest.warns(UserWarning, match="offsets 0 to 4 were deleted"):
        assert read(from_the_start(log, failOnDataLoss="false")) == list(range(5, 10))


def test_a_segment_that_is_deleted_while_it_is_read_is_read_to_its_end(log: GrowingLog):
    log.append(*[100] * 50)
    reader = from_the_start(log, batchSize="100")
    (task,) = reader.partitions(upto(0), upto(5000))
    batches = reader.read(task)
    found = next(batches).to_pylist()
    log.segment.unlink()
    found += [row for batch in batches for row in batch.to_pylist()]
    assert [row["offset"] for row in found] == list(range(5000))


def test_a_log_that_is_cut_between_planning_and_reading(log: GrowingLog):
    log.append(5, 5)
    reader = from_the_start(log)
    (task,) = reader.partitions(upto(0), upto(10))
    log.cut(5)
    with pytest.raises(DataLossError, match="truncated before offset 9"):
        list(reader.read(task))


def test_damage_is_reported_with_its_file(log: GrowingLog):
    log.append(5, 5, 5)
    data = bytearray(log.segment.read_bytes())
    data[80] ^= 1
    log.segment.write_bytes(data)
    reader = from_the_start(log)
    with pytest.raises(ls.ChecksumError, match=re.escape(str(log.segment))):
        offsets(reader, upto(0), trigger(reader, upto(0)))
