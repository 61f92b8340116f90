"""The streaming source in a real Spark: checkpoints, restarts, micro-batches, errors."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from growing import GrowingLog

pytestmark = [pytest.mark.spark, pytest.mark.slow]


class Sink:
    """Rows by the number of their micro-batch."""

    def __init__(self, spark: SparkSession, log: GrowingLog, checkpoint: Path, **options: str) -> None:
        self.stream = spark.readStream.format("logsegment").options(**options).load(str(log.root))
        self.checkpoint = checkpoint
        self.batches: dict[int, list[int]] = {}
        self.fails = False

    def run(self) -> dict[int, list[int]]:
        """Read what is there; give what came."""
        self.batches = {}
        query = (
            self.stream.writeStream.foreachBatch(self._write).option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True)
        )
        query.start().awaitTermination()
        return {number: offsets for number, offsets in self.batches.items() if offsets}

    def _write(self, batch: DataFrame, number: int) -> None:
        if self.fails:
            raise RuntimeError("the sink is out of order")
        self.batches[number] = [row["offset"] for row in batch.select("offset").orderBy("offset").collect()]


def test_a_query_goes_on_where_its_checkpoint_ends(spark: SparkSession, tmp_path: Path):
    log = GrowingLog(tmp_path / "logs")
    log.append(*[10] * 5)
    sink = Sink(spark, log, tmp_path / "checkpoint", startingOffsets="earliest", maxOffsetsPerTrigger="20")
    assert sink.run() == {0: list(range(20)), 1: list(range(20, 40)), 2: list(range(40, 50))}
    log.roll()
    log.append(5)
    assert sink.run() == {3: list(range(50, 55))}
    assert sink.run() == {}
    assert json.loads((tmp_path / "checkpoint/offsets/3").read_text().splitlines()[-1]) == {"orders": {"0": 55}}


def until(true: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for_trigger(query: StreamingQuery) -> None:
    """Until one has begun and ended: with a trigger that comes again and again, so that neither is missed for long."""
    for is_active in (False, True, False):
        until(partial(lambda wanted: query.status["isTriggerActive"] == wanted, is_active))


def test_fewest_offsets_are_waited_for_but_not_for_ever(spark: SparkSession, tmp_path: Path):
    """With a trigger that comes again and again. The first one of a query waits for nothing; 15 minutes are the default."""
    log = GrowingLog(tmp_path / "logs")
    log.append(3)
    found: list[list[int]] = []

    def write(batch: DataFrame, number: int) -> None:
        if offsets := [row.offset for row in batch.select("offset").orderBy("offset").collect()]:
            found.append(offsets)

    def start(**options: str) -> StreamingQuery:
        stream = spark.readStream.format("logsegment").options(startingOffsets="earliest", minOffsetsPerTrigger="10", **options)
        writing = stream.load(str(log.root)).writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
        return writing.trigger(processingTime="50 milliseconds").start()

    query = start(maxOffsetsPerTrigger="12")
    until(lambda: found == [[0, 1, 2]])
    log.append(9)
    wait_for_trigger(query)
    assert len(found) == 1
    log.append(4)
    until(lambda: found[1:] == [list(range(3, 15))])
    # A micro-batch that is stopped before its end is noted comes again.
    wait_for_trigger(query)
    query.stop()
    query = start(maxTriggerDelay="1s")
    until(lambda: found[2:] == [[15]])
    log.append(2)
    until(lambda: found[3:] == [[16, 17]])
    query.stop()


def test_latest_is_kept_over_a_failure_of_the_first_micro_batch(spark: SparkSession, tmp_path: Path):
    log = GrowingLog(tmp_path / "logs")
    log.append(5)
    sink = Sink(spark, log, tmp_path / "checkpoint")
    sink.fails = True
    with pytest.raises(StreamingQueryException, match="out of order"):
        sink.run()
    log.append(5)
    sink.fails = False
    assert sink.run() == {1: list(range(5, 10))}


def test_a_checkpoint_as_the_kafka_source_writes_it_is_taken_over(spark: SparkSession, tmp_path: Path):
    """Its JSON has no blanks."""
    log = GrowingLog(tmp_path / "logs")
    log.append(10)
    sink = Sink(spark, log, tmp_path / "checkpoint", startingOffsets="earliest")
    assert sink.run() == {0: list(range(10))}
    for file in (tmp_path / "checkpoint/offsets").glob("*0"):
        if file.name == ".0.crc":
            file.unlink()
            continue
        lines = file.read_text().splitlines()
        file.write_text("\n".join([*lines[:-1], '{"orders":{"0":4}}']))
    assert sink.run() == {1: list(range(4, 10))}


def test_lost_offsets_are_one_readable_error(spark: SparkSession, tmp_path: Path):
    log = GrowingLog(tmp_path / "logs")
    log.append(5)
    first = log.segment
    sink = Sink(spark, log, tmp_path / "checkpoint", startingOffsets='{"orders":{"0":2}}')
    log.roll()
    log.append(5)
    first.unlink()
    with pytest.raises(StreamingQueryException, match=r"orders-0 .*offsets 2 to 4 were deleted"):
        sink.run()
    lenient = Sink(spark, log, tmp_path / "checkpoint", startingOffsets='{"orders":{"0":2}}', failOnDataLoss="false")
    assert lenient.run() == {0: list(range(5, 10))}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"maxTriggerDelay": "soon"}, "option maxTriggerDelay must be a time such as"),
        ({"endingOffsets": "latest"}, "option endingOffsets is not valid in a streaming query, only in a batch query"),
        ({"startingOffsets": '{"orders":{"0":-7}}'}, "option startingOffsets: -7 for orders-0 is not an offset"),
        ({"view": "batches"}, "option view must be records in a stream, not batches"),
    ],
)
def test_an_invalid_option_is_rejected_when_the_query_starts(spark: SparkSession, tmp_path: Path, options: dict[str, str], told: str):
    """And not the UnboundLocalError that PySpark makes of an error in `streamReader`."""
    log = GrowingLog(tmp_path / "logs")
    log.append(5)
    with pytest.raises(StreamingQueryException, match=told) as caught:
        Sink(spark, log, tmp_path / "checkpoint", **options).run()
    assert "UnboundLocalError" not in str(caught.value)


def test_a_query_that_goes_on_with_fewer_topics_says_so(spark: SparkSession, tmp_path: Path):
    log = GrowingLog(tmp_path / "logs")
    log.append(5)
    other = GrowingLog(tmp_path / "logs", "payments")
    other.append(3)
    both = {"startingOffsets": "earliest", "failOnDataLoss": "true"}
    assert sorted(Sink(spark, log, tmp_path / "checkpoint", **both).run()[0]) == [0, 0, 1, 1, 2, 2, 3, 4]
    told = "payments-0 was read up to offset 2, and is no longer in subscribe, subscribePattern or assign; set fail"
    log.append(5)
    with pytest.raises(StreamingQueryException, match=told):
        Sink(spark, log, tmp_path / "checkpoint", subscribe="orders", **both).run()
    assert Sink(spark, log, tmp_path / "checkpoint", subscribe="orders", failOnDataLoss="false").run() == {1: list(range(5, 10))}
