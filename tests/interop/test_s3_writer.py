"""Spark writes segments into a store that speaks S3 (s3proxy): one task a partition, whole objects, all of a job or nothing.

The keys of the store are in the environment, and writers of this process have them as options of their target, which they must not tell.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, StructType

import eras
import logsegment as ls
from faulty_place import replace_methods
from logsegment._core import Place
from logsegment._places import with_options
from logsegment.segment_files.discovery import find_segments
from logsegment.spark.write import SegmentStreamWriter, SegmentWriter, journal, places
from logsegment.spark.write import task as tasks
from logsegment.spark.write.journal import Mark
from logsegment.spark.write.segments import StoredPart
from logsegment.spark.write.task import StagedMessage
from s3_server import Server, assert_no_secret, serving, spark_workers

pytestmark = [pytest.mark.interop, pytest.mark.spark]
SCHEMA = StructType().add("value", BinaryType())
FIRST = "00000000000000000000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    eras.need("java", "mvn")
    with serving(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(scope="module")
def spark(server: Server) -> Iterator[SparkSession]:
    with spark_workers(server) as session:
        yield session


def objects(server: Server, key: str) -> list[str]:
    """Keys below a key; directories are none."""
    place = server.bucket / key
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


def values(server: Server, key: str, **options: Any) -> list[tuple[int, str]]:
    found = ls.Log(server.uri(key)).records(columns=["offset", "value"], **options).to_pyarrow().to_pylist()
    return [(row["offset"], row["value"].decode()) for row in found]


def writer(server: Server, key: str, *, stream: bool = False, **options: str) -> Any:
    kind = SegmentStreamWriter if stream else SegmentWriter
    return kind({"path": with_options(server.uri(key), server.options), "topic": "orders", **options}, SCHEMA, False)


def attempt(
    one: Any, task: int, rows: list[str] | Iterator[pa.RecordBatch], monkeypatch: pytest.MonkeyPatch, batch: int | None = None
) -> StagedMessage:
    """What a worker would do for a task with these values."""
    context = type("Context", (), {})()
    context.partitionId = lambda: task
    context.taskAttemptId = lambda: 7
    context.getLocalProperty = {tasks.QUERY: None if batch is None else "q", tasks.BATCH: None if batch is None else str(batch)}.get
    monkeypatch.setattr(tasks.TaskContext, "get", classmethod(lambda _: context))
    if isinstance(rows, list):
        rows = iter([pa.record_batch({"value": pa.array(rows, pa.string()).cast(pa.binary())})])
    return one.write(rows)


def numbered(*texts: str) -> list[tuple[int, str]]:
    return list(enumerate(texts))


def test_spark_writes_to_a_bucket_and_goes_on_there(server: Server, spark: SparkSession):
    """Each log whole and without findings; the second job goes on behind the first."""
    rows = [(f"value {index}", f"topic{index % 2}", index // 2 % 2) for index in range(160)]
    for job in range(2):
        frame = spark.createDataFrame([(f"{job} {value}", *place) for value, *place in rows], "value string, topic string, partition int")
        writing = frame.repartition("topic", "partition").write.format("logsegment").option("compression", "zstd")
        writing.option("segmentBytes", "400").option("batchBytes", "200").mode("append").save(server.uri("both"))
    place = with_options(server.uri("both"), server.options)[:]
    back = spark.read.format("logsegment").load(place).selectExpr("cast(value as string)", "topic", "partition")
    assert sorted(map(tuple, back.collect())) == sorted((f"{job} {value}", *place) for job in range(2) for value, *place in rows)
    for topic in ("topic0", "topic1"):
        for partition in range(2):
            log = ls.Log(server.uri(f"both/{topic}-{partition}"))
            assert log.records(columns=["offset"]).to_pyarrow()["offset"].to_pylist() == list(range(80))
            assert len(log) >= 4
            assert log.validate().findings == []
    assert {key.rpartition(".")[2] for key in objects(server, "both")} == {"log", "index", "timeindex"}


def test_two_tasks_of_one_partition_are_refused_and_nothing_is_there(server: Server, spark: SparkSession):
    frame = spark.range(0, 100, 1, 2).selectExpr("cast(id as string) as value", "0 as partition")
    writing = frame.write.format("logsegment").option("topic", "orders").mode("append")
    with pytest.raises(Exception, match=r'tasks 0 and 1 both have rows of orders-0: .*df\.repartition\("topic", "partition"\)') as raised:
        writing.save(with_options(server.uri("shared"), server.options)[:])
    # A task that had begun to send when the job was given up takes it back itself.
    until = time.monotonic() + 30
    while objects(server, "shared"):
        assert time.monotonic() < until, objects(server, "shared")
        time.sleep(0.1)
    assert_no_secret(str(raised.value))
    frame.coalesce(1).write.format("logsegment").option("topic", "orders").mode("append").save(server.uri("shared"))
    assert values(server, "shared/orders-0") == numbered(*map(str, range(100)))


def test_the_second_task_of_a_partition_is_refused_when_it_meets_the_first_row_and_sends_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    """Of all its rows the task asks for one batch. The try of the first task, and another try of it, are not in each other's way."""
    one = writer(server, "claimed")
    kept = attempt(one, 0, ["kept"], monkeypatch)
    before = objects(server, "claimed")

    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"value": pa.array([b"other"])})
        pytest.fail("more rows are asked for")

    with pytest.raises(ValueError, match="tasks 0 and 1 both have rows of orders-0: offsets cannot be changed"):
        attempt(one, 1, rows(), monkeypatch)
    assert objects(server, "claimed") == before
    attempt(one, 0, ["again"], monkeypatch)
    one.commit([kept, None])
    assert values(server, "claimed") == numbered("kept")
    assert objects(server, "claimed") == [f"orders-0/{FIRST}.{suffix}" for suffix in ("index", "log", "timeindex")]


def test_a_batch_that_is_tried_again_may_lie_otherwise_in_its_tasks(server: Server, monkeypatch: pytest.MonkeyPatch):
    """What a killed driver left holds nothing up, in the same directory; it goes with the commit."""
    attempt(writer(server, "otherwise", stream=True), 0, ["lost"], monkeypatch, 3)
    again = writer(server, "otherwise", stream=True)
    again.commit([attempt(again, 1, ["there"], monkeypatch, 3)], 3)
    assert values(server, "otherwise") == numbered("there")
    assert {name.partition("/")[0] for name in objects(server, "otherwise")} == {journal.BATCHES, "orders-0"}


def test_what_killed_drivers_left_is_removed_when_it_is_a_day_old(server: Server, monkeypatch: pytest.MonkeyPatch):
    for _ in range(2):
        attempt(writer(server, "left"), 0, ["lost"], monkeypatch)
    old, young = sorted({name.partition("/")[0] for name in objects(server, "left")})
    long_ago = time.time() - places.ABANDONED_AFTER - 60
    for path in (server.bucket / "left" / old).rglob("*"):
        os.utime(path, (long_ago, long_ago))
    one = writer(server, "left")
    one.commit([attempt(one, 0, ["a"], monkeypatch)])
    assert {name.partition("/")[0] for name in objects(server, "left")} == {"orders-0", young}
    assert values(server, "left/orders-0") == numbered("a")


@pytest.mark.parametrize(("renewed_after", "puts"), [(0, 4), (tasks.RENEWED_AFTER, 1)])
def test_a_task_that_works_for_long_is_not_taken_for_abandoned(
    server: Server, monkeypatch: pytest.MonkeyPatch, renewed_after: int, puts: int
):
    """Until its segments are made the store holds nothing but its claim, which it puts anew when another batch of rows comes."""
    assert places.ABANDONED_AFTER > 10 * tasks.RENEWED_AFTER
    monkeypatch.setattr(tasks, "RENEWED_AFTER", renewed_after)
    asked: list[str] = []

    def note(method: str, path: str) -> bool:
        if method == "PUT" and "/claims-" in path:
            asked.append(path.partition("?")[0])
        return False

    monkeypatch.setattr(server, "refuses", note)
    key = f"long-{puts}"
    one = writer(server, key)
    kept = attempt(one, 0, (pa.record_batch({"value": pa.array([b"a"])}) for _ in range(4)), monkeypatch)
    assert len(asked) == puts
    assert len(set(asked)) == 1
    one.commit([kept])
    assert values(server, key) == numbered(*"aaaa")


def test_what_attempts_put_there_no_reader_sees(server: Server, monkeypatch: pytest.MonkeyPatch):
    one = writer(server, "attempts")
    lost = attempt(one, 0, ["lost"], monkeypatch)
    counted = attempt(one, 0, ["counted"], monkeypatch)
    assert len([name for name in objects(server, "attempts") if "/claims-" not in name]) == 6
    with pytest.raises(FileNotFoundError, match="no log segments"):
        find_segments(server.uri("attempts"))
    assert lost.parts[0].path != counted.parts[0].path
    one.commit([counted, None])
    assert values(server, "attempts") == numbered("counted")
    assert objects(server, "attempts") == [f"orders-0/{FIRST}.{suffix}" for suffix in ("index", "log", "timeindex")]


@pytest.mark.parametrize("format", ["v1", "v0", "0.7"])
def test_other_formats_go_on_too(server: Server, monkeypatch: pytest.MonkeyPatch, format: str):
    for texts in (["a", "b"], ["c"]):
        one = writer(server, f"format-{format}", format=format, compression="gzip")
        one.commit([attempt(one, 0, texts, monkeypatch)])
    log = ls.Log(server.uri(f"format-{format}"))
    named: Any = "0.7" if format == "0.7" else "auto"
    assert [row["value"] for row in log.records(columns=["value"], format=named).to_pyarrow().to_pylist()] == [b"a", b"b", b"c"]
    assert log.validate(format=named).ok


def test_a_task_that_sends_when_its_job_is_given_up_leaves_nothing(server: Server, monkeypatch: pytest.MonkeyPatch):
    """What is removed with the job is not what comes after it."""
    one = writer(server, "given-up")

    def late(place: Place, source: str) -> None:
        if source.endswith(".log"):
            one.abort([])
        place.put_file(source)

    replace_methods(monkeypatch, tasks, put_file=late)
    with pytest.raises(FileNotFoundError, match="the job was aborted"):
        attempt(one, 0, ["a"], monkeypatch)
    assert objects(server, "given-up") == []


def test_a_batch_of_a_stream_lands_once(server: Server, monkeypatch: pytest.MonkeyPatch):
    def send(batch: int, text: str) -> None:
        one = writer(server, "stream", stream=True)
        message = attempt(one, 0, [text], monkeypatch, batch)
        assert isinstance(message.parts[0], StoredPart)
        writer(server, "stream", stream=True).commit([message], batch)

    for batch, text in [(0, "a"), (1, "b"), (1, "b"), (0, "a"), (2, "c")]:
        send(batch, text)
    assert values(server, "stream") == numbered("a", "b", "c")
    assert journal.is_committed(writer(server, "stream").staging.options.path, Mark("q", 2))
    assert {name.partition("/")[0] for name in objects(server, "stream")} == {journal.BATCHES, "orders-0"}


@pytest.mark.parametrize("made", [0, 2, 3])
def test_a_batch_of_a_stream_whose_commit_crashed_is_there_once(server: Server, monkeypatch: pytest.MonkeyPatch, made: int):
    """Its tasks run again before anybody finishes the commit: they see half of it, or all of it."""
    key = f"stream-crash-{made}"
    one, make = writer(server, key, stream=True), journal._make

    def crash(target: str, moves: list[journal.Move]) -> None:
        make(target, moves[:made])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        message = attempt(one, 0, ["a", "b"], monkeypatch, 4)
        patched.setattr(journal, "_make", crash)
        with pytest.raises(KeyboardInterrupt):
            one.commit([message], 4)
    again = writer(server, key, stream=True)
    again.commit([attempt(again, 0, ["a", "b"], monkeypatch, 4)], 4)
    assert values(server, key) == numbered("a", "b")
    assert {name.partition("/")[0] for name in objects(server, key)} == {journal.BATCHES, "orders-0"}


def test_a_stream_of_spark_lands_once_over_a_restart(server: Server, spark: SparkSession, tmp_path: Path):
    (tmp_path / "in").mkdir()
    checkpoint = tmp_path / "checkpoint"

    def run() -> None:
        lines = spark.readStream.format("text").load(str(tmp_path / "in")).coalesce(1)
        stream = lines.writeStream.format("logsegment").option("topic", "lines").option("checkpointLocation", str(checkpoint))
        query = stream.trigger(availableNow=True).start(server.uri("lines"))
        assert query.awaitTermination(120)
        assert query.exception() is None

    for number in range(2):
        (tmp_path / f"in/{number}.txt").write_text(f"{number}.a\n{number}.b\n")
        run()
    for file in (checkpoint / "commits").iterdir():
        if file.name.lstrip(".").startswith("1"):
            file.unlink()
    run()
    assert values(server, "lines") == numbered("0.a", "0.b", "1.a", "1.b")


def test_overwrite_is_refused(server: Server, spark: SparkSession):
    with pytest.raises(Exception, match="a store cannot replace a directory"):
        spark.range(1).selectExpr("cast(id as string) as value").write.format("logsegment").option("topic", "t").mode("overwrite").save(
            server.uri("overwritten")
        )


def test_a_target_that_is_an_object_is_an_error(server: Server, monkeypatch: pytest.MonkeyPatch):
    (server.bucket / "object").write_text("")
    with pytest.raises(NotADirectoryError, match="s3://lake/object: not a directory"):
        writer(server, "object")
