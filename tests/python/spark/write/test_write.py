"""A real Spark writes segments: what goes in comes out of `decode`, of the source, and of a second write."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from pathlib import Path
from time import time_ns
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import corpus
import logsegment as ls
from logsegment.spark import LogSegmentSource
from logsegment.spark.write.options import parse_options

pytestmark = pytest.mark.spark

ALL = (
    "key string, value string, headers array<struct<key:string,value:binary>>, timestamp timestamp, topic string, partition int, "
    "offset bigint, timestampType int"
)
TIME = datetime(2024, 5, 1, 12, 30, 15, 123000, UTC)
CELLS = [
    (written, compression)
    for written in ("v2", "v1", "v0", "0.7")
    for compression in ("none", "gzip", "snappy", "lz4", "zstd")
    if not (compression == "zstd" and written != "v2") and not (compression == "lz4" and written == "0.7")
]


def write(frame: DataFrame, target: Path, mode: str = "append", **options: str) -> None:
    frame.write.format("logsegment").options(**options).mode(mode).save(str(target))


def frame_of(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str, tasks: int = 1) -> DataFrame:
    """One slice of the rows for each task, in order."""
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, tasks), schema)


def decoded(target: Path, *columns: str, format: Any = "auto") -> list[dict[str, Any]]:
    rows = ls.Log(target).records(columns=list(columns), format=format).to_pyarrow().to_pylist()
    # Without headers the column is null in Spark.
    return [row | ({"headers": row["headers"] or None} if "headers" in row else {}) for row in rows]


def test_every_format_and_codec_goes_round(spark: SparkSession, tmp_path: Path):
    """Two tasks and two partitions; v0 and 0.7 keep no time, 0.7 no key."""
    for written, compression in CELLS:
        is_keyed = written != "0.7"
        rows = [
            (f"key {index}" if is_keyed and index % 3 else None, f"value {index}", datetime.fromtimestamp(1.7e9 + index, UTC), index % 2)
            for index in range(300)
        ]
        frame = frame_of(spark, rows, "key string, value string, timestamp timestamp, partition int", tasks=2)
        target = tmp_path / f"{written}-{compression}"
        write(frame, target, topic="orders", format=written, compression=compression, batchBytes="1000", segmentBytes="4000")
        for partition in (0, 1):
            named = "0.7" if written == "0.7" else "auto"
            found = decoded(target / f"orders-{partition}", "key", "value", "timestamp", "magic", "compression", format=named)
            wanted = [row for row in rows if row[3] == partition]
            assert [row["value"].decode() for row in found] == [row[1] for row in wanted], (written, compression)
            assert [row["key"] and row["key"].decode() for row in found] == [row[0] for row in wanted]
            if written in ("v1", "v2"):
                assert [row["timestamp"] for row in found] == [row[2] for row in wanted]
            codecs = {row["compression"] for row in found}
            assert codecs == {compression}
            assert {row["magic"] for row in found} <= {{"v2": 2, "v1": 1, "v0": 0, "0.7": 1}[written], 0}
            assert ls.Log(target / f"orders-{partition}").validate(format=named).ok
    read = spark.read.format("logsegment").load(str(tmp_path / "v2-zstd"))
    assert read.count() == 300
    assert read.groupBy("partition").agg({"offset": "max"}).orderBy("partition").collect() == [(0, 149), (1, 149)]


def test_what_a_kafka_source_gives_is_written_and_read_equal(spark: SparkSession, tmp_path: Path):
    """Headers with the same key twice and null values, tombstones, empty and null keys; offset and timestampType are not checked."""
    rows = [
        (b"k", b"v", [("a", b"1"), ("a", None), ("", b"")], TIME, "orders", 1, 900, 0),
        (b"", None, None, TIME, "orders", 0, 3, 0),
        (None, b"", [], TIME, "payments", 0, 17, 1),
        (None, None, None, datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), "payments", 0, 17, -1),
    ]
    schema = ALL.replace("key string, value string", "key binary, value binary")
    write(frame_of(spark, rows, schema), tmp_path)
    read = spark.read.format("logsegment").option("includeHeaders", "true").load(str(tmp_path)).orderBy("topic", "partition", "offset")
    found = [tuple(row) for row in read.select("topic", "partition", "offset", "key", "value", "headers", "timestamp").toLocalIterator()]
    assert [(row[0], row[1], row[2]) for row in found] == [("orders", 0, 0), ("orders", 1, 0), ("payments", 0, 0), ("payments", 0, 1)]
    assert [row[3] and bytes(row[3]) for row in found] == [b"", b"k", None, None]
    assert [row[4] if row[4] is None else bytes(row[4]) for row in found] == [None, b"v", b"", None]
    assert [row[5] and [(record.key, record.value and bytes(record.value)) for record in row[5]] for row in found] == [
        None,
        [("a", b"1"), ("a", None), ("", b"")],
        None,
        None,
    ]
    stamps = [row["timestampMs"] for row in decoded(tmp_path / "payments-0", "timestampMs")]
    assert stamps == [int(TIME.timestamp() * 1000), -1]
    again = tmp_path / "again"
    write(spark.read.format("logsegment").option("includeHeaders", "true").load(str(tmp_path)), again)
    for name in ("orders-0", "orders-1", "payments-0"):
        columns = ("key", "value", "headers", "timestampMs", "offset")
        assert decoded(again / name, *columns) == decoded(tmp_path / name, *columns)


def test_rows_without_a_time_get_that_of_their_writing(spark: SparkSession, tmp_path: Path):
    before = datetime.now(UTC).timestamp() * 1000 - 1
    write(frame_of(spark, [("a", None), ("b", TIME)], "value string, timestamp timestamp"), tmp_path / "null", topic="t")
    write(frame_of(spark, [("a",)], "value string"), tmp_path / "absent", topic="t")
    null = [row["timestampMs"] for row in decoded(tmp_path / "null", "timestampMs")]
    absent = [row["timestampMs"] for row in decoded(tmp_path / "absent", "timestampMs")]
    assert null[1] == int(TIME.timestamp() * 1000)
    assert all(before <= stamp <= datetime.now(UTC).timestamp() * 1000 for stamp in (null[0], absent[0]))


def test_every_time_is_kept_by_its_milliseconds(spark: SparkSession, tmp_path: Path):
    """V2-17: microseconds, as Spark counts, do not reach all of them; null is the time of writing, as for a timestamp."""
    times = [0, -1, 2**63 - 1, 1_700_000_000_123]
    write(frame_of(spark, [(f"{time}", time) for time in times], "value string, timestampMs bigint"), tmp_path, topic="t")
    assert [row["timestampMs"] for row in decoded(tmp_path / "t-0", "timestampMs")] == times
    read = spark.read.format("logsegment").option("columns", "topic,partition,key,value,timestampMs").load(str(tmp_path))
    write(read, tmp_path / "again")
    assert decoded(tmp_path / "again" / "t-0", "value", "timestampMs") == decoded(tmp_path / "t-0", "value", "timestampMs")
    write(frame_of(spark, [("now", None)], "value string, timestampMs bigint"), tmp_path / "now", topic="t")
    assert abs(decoded(tmp_path / "now" / "t-0", "timestampMs")[0]["timestampMs"] - time_ns() // 1_000_000) < 600_000


def test_other_columns_are_not_looked_at(spark: SparkSession, tmp_path: Path):
    """As by Spark's Kafka sink."""
    write(frame_of(spark, [("a", 1, 7)], "value string, n int, producerId bigint"), tmp_path, topic="t")
    assert [row["value"] for row in decoded(tmp_path / "t-0", "value")] == [b"a"]


def test_a_column_topic_is_not_looked_at_where_the_option_says_it(spark: SparkSession, tmp_path: Path):
    """As by Spark's Kafka sink: it may be null, no name of a topic, or no string."""
    write(frame_of(spark, [("a", None), ("b", "no/name")], "value string, topic string"), tmp_path / "strings", topic="t")
    assert [row["value"] for row in decoded(tmp_path / "strings" / "t-0", "value")] == [b"a", b"b"]
    write(frame_of(spark, [("a", 7)], "value string, topic int"), tmp_path / "numbers", topic="t")
    assert [row["value"] for row in decoded(tmp_path / "numbers" / "t-0", "value")] == [b"a"]


def test_keys_choose_partitions_as_kafkas_producer_does(spark: SparkSession, tmp_path: Path):
    """The hashes are those of the test of `Utils.murmur2` in Kafka's clients; made positive by dropping the sign bit."""
    hashes = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "abc": 479470107}
    positive = {key: number & 0x7FFFFFFF for key, number in hashes.items()}

    def placed() -> list[tuple[str, int]]:
        read = spark.read.format("logsegment").load(str(tmp_path))
        return [tuple(row) for row in read.selectExpr("cast(key as string)", "partition").collect()]

    frame = frame_of(spark, [(key, key) for key in hashes], "key string, value string")
    write(frame, tmp_path, topic="t", partitions="7")
    assert dict(placed()) == {key: number % 7 for key, number in positive.items()}
    known = max(number % 7 for number in positive.values()) + 1
    write(frame, tmp_path, topic="t")
    expected = [(key, number % count) for key, number in positive.items() for count in (7, known)]
    assert sorted(placed()) == sorted(expected), "as many partitions as the topic has in the target"


def test_rows_without_keys_fill_partitions_batch_by_batch(spark: SparkSession, tmp_path: Path):
    """A task begins with the partition of its own number, and goes to the next when a batch is full."""
    rows = [("x" * 100,) for _ in range(80)]
    write(frame_of(spark, rows, "value string", tasks=2), tmp_path, topic="t", partitions="4", batchBytes="1000")
    read = spark.read.format("logsegment").load(str(tmp_path)).groupBy("partition").count().collect()
    assert dict(map(tuple, read)) == {0: 20, 1: 20, 2: 20, 3: 20}


def test_appends_go_on_and_overwrite_begins_anew(spark: SparkSession, tmp_path: Path):
    for text in ("a", "b", "c"):
        write(frame_of(spark, [(text,), (text,)], "value string"), tmp_path, topic="t")
    found = decoded(tmp_path / "t-0", "offset", "value")
    assert [(row["offset"], row["value"]) for row in found] == list(enumerate([b"a", b"a", b"b", b"b", b"c", b"c"]))
    assert [segment.base_offset for segment in ls.Log(tmp_path / "t-0").segments] == [0, 2, 4]
    everything = spark.read.format("logsegment").load(str(tmp_path))
    write(everything.where("offset % 2 = 0"), tmp_path, mode="overwrite")
    assert [row["value"] for row in decoded(tmp_path / "t-0", "value")] == [b"a", b"b", b"c"], "a target may be read while it is replaced"
    write(frame_of(spark, [], "value string"), tmp_path, mode="overwrite", topic="t")
    assert not list(tmp_path.glob("t-*"))


def test_a_log_of_a_broker_is_continued(spark: SparkSession, tmp_path: Path):
    """Several segments with transactions and producers, which stay as they are."""
    source = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
    log = tmp_path / "payments-0"
    log.mkdir()
    before = {}
    for file in source.iterdir():
        before[file.name] = file.read_bytes()
        (log / file.name).write_bytes(before[file.name])
    end = ls.Log(log).batches().to_pylist()[-1]["lastOffset"] + 1
    write(frame_of(spark, [("more",)], "value string"), tmp_path, topic="payments")
    assert decoded(log, "offset", "value")[-1] == {"offset": end, "value": b"more"}
    assert {name: (log / name).read_bytes() for name in before if not name.startswith(f"{end:020}")} == {
        name: data for name, data in before.items() if not name.startswith(f"{end:020}")
    }
    assert ls.Log(log).validate().ok


def test_0_7_topics_are_compressed_by_the_producers_policy(spark: SparkSession, tmp_path: Path):
    """L7-5: `compression.codec` by its id, for the topics of `compressed.topics`."""
    frame = frame_of(spark, [("a", "orders"), ("b", "payments")], "value string, topic string")
    for number, name in (("1", "gzip"), ("3", "lz4")):
        options = {"compression.codec": number, "compressed.topics": "orders"}
        write(frame, tmp_path / name, format="0.7", **options)
        for topic, codec in (("orders", name), ("payments", "none")):
            assert {row["compression"] for row in decoded(tmp_path / name / f"{topic}-0", "compression", format="0.7")} == {codec}


@pytest.mark.parametrize(
    ("schema", "options", "told"),
    [
        ("key string", {"topic": "t"}, "column value is missing; the columns are key"),
        ("value string", {}, "topic is missing; add a column topic"),
        ("value int", {"topic": "t"}, "column value must be string or binary, not int"),
        ("key int, value string", {"topic": "t"}, "column key must be string or binary, not int"),
        ("value string, topic int", {}, "column topic must be string, not int"),
        ("value string, partition string", {"topic": "t"}, "column partition must be int, not string"),
        ("value string, timestamp bigint", {"topic": "t"}, "column timestamp must be timestamp, not bigint"),
        ("value string, timestampMs timestamp", {"topic": "t"}, "column timestampMs must be bigint, not timestamp"),
        ("value string, timestamp timestamp, timestampMs bigint", {"topic": "t"}, "both have the timestamp of a record; drop one of them"),
        (
            "value string, _corrupt_record string",
            {"topic": "t"},
            "column _corrupt_record describes damage, and rows of damage are not records",
        ),
        ("value string, headers map<string,binary>", {"topic": "t"}, "column headers must be array<struct<key:string,value:binary>>"),
        ("value string", {"topic": "t", "compresion": "gzip"}, r"unknown option compresion \(did you mean compression\?\)"),
        ("value string", {"topic": "t", "compression": "brotli"}, "Unknown compression name: brotli"),
        ("value string", {"topic": "t", "format": "v1", "compression": "zstd"}, "ZStandard compression is not supported for magic 1"),
        ("value string", {"topic": "t", "format": "v3"}, "option format must be one of 0.7, v0, v1, v2, not 'v3'"),
        ("value string", {"topic": "t", "compression": "gzip", "level": "12"}, "level"),
        ("value string", {"topic": "t", "partitions": "0"}, "option partitions must be a whole number from 1"),
        ("value string", {"topic": "t", "batchBytes": "many"}, "option batchBytes must be a whole number"),
        ("value string", {"topic": "t", "compression": "gzip", "compression.codec": "2"}, "pass one of them"),
        ("value string", {"topic": "t", "compression.codec": "4"}, r"\[L7-5\] 4 is an unknown compression codec"),
        ("value string", {"topic": "t", "path": "nowhere://bucket/logs"}, "unknown scheme; known are s3"),
    ],
)
def test_an_invalid_option_is_rejected_before_a_task_runs(
    spark: SparkSession, tmp_path: Path, schema: str, options: dict[str, str], told: str
):
    """As the driver meets it."""
    given = {"path": str(tmp_path / "log"), **options}
    with pytest.raises((ValueError, OSError), match=told):
        LogSegmentSource(given).writer(StructType.fromDDL(schema), False)
    assert not (tmp_path / "log").exists()


def test_a_user_sees_a_mistake_in_one_line(spark: SparkSession, tmp_path: Path):
    with pytest.raises(AnalysisException, match=r"options? compression"):
        write(frame_of(spark, [("a",)], "value string"), tmp_path / "log", topic="t", compression="gzip", **{"compression.codec": "1"})
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    ("rows", "options", "told"),
    [
        ([("a", "t", 0), ("b", None, 0)], {}, "the topic is null"),
        ([("a", "../up", 0)], {}, "invalid topic name"),
        ([("a", "t", -1)], {}, "partition -1 is not in the range from 0"),
        ([("a", "t", 3)], {"partitions": "3"}, "task 0: .*in row 0: partition 3 is not in the range from 0 to 2"),
    ],
)
def test_a_row_that_cannot_be_written_fails_the_job(
    spark: SparkSession, tmp_path: Path, rows: list[tuple[Any, ...]], options: dict[str, str], told: str
):
    with pytest.raises(Exception, match=told):
        write(frame_of(spark, rows, "value string, topic string, partition int"), tmp_path / "log", **options)
    assert [path for path in (tmp_path / "log").rglob("*") if path.is_file()] == []


def test_a_row_is_counted_in_its_task(spark: SparkSession, tmp_path: Path):
    """V2-17: a time before 1970 is refused, and the message leads to it."""
    rows = [(f"{number}", datetime(1969 if number == 5 else 2020, 6, 1, tzinfo=UTC)) for number in range(8)]
    frame = frame_of(spark, rows, "value string, timestamp timestamp", tasks=2)
    with pytest.raises(PythonException, match=r"ValueError: task 1: \[V2-17\] in row 1: Invalid negative timestamp -"):
        write(frame, tmp_path, topic="t")


@pytest.mark.parametrize("mode", ["errorifexists", "ignore"])
def test_other_modes_are_refused_by_spark(spark: SparkSession, tmp_path: Path, mode: str):
    with pytest.raises(AnalysisException, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
        write(frame_of(spark, [("a",)], "value string"), tmp_path, mode=mode, topic="t")


def test_a_target_that_is_a_file_is_an_error(spark: SparkSession, tmp_path: Path):
    (tmp_path / "log").write_text("")
    with pytest.raises(Exception, match="written to a directory"):
        write(frame_of(spark, [("a",)], "value string"), tmp_path / "log", topic="t")


def test_a_log_is_no_target(spark: SparkSession, tmp_path: Path):
    """Its directories would lie inside of a partition's, where a broker finds nothing."""
    write(frame_of(spark, [("a",)], "value string"), tmp_path, topic="t")
    files = sorted(tmp_path.rglob("*"))
    for mode in ("append", "overwrite"):
        with pytest.raises(AnalysisException, match=r"t-0 is the directory of a partition.*: write to the directory above"):
            write(frame_of(spark, [("b",)], "value string"), tmp_path / "t-0", mode=mode, topic="t")
    assert sorted(tmp_path.rglob("*")) == files
    (tmp_path / "run-7").mkdir()
    write(frame_of(spark, [("b",)], "value string"), tmp_path / "run-7", topic="t")
    assert [row["value"] for row in decoded(tmp_path / "run-7", "value")] == [b"b"]


def test_a_torn_log_is_refused_before_work_is_done_for_it(spark: SparkSession, tmp_path: Path):
    """SEG-2: on the driver where all rows are of its topic; else by the first task that meets it. Other logs go on."""
    for topic in ("torn", "sound"):
        write(frame_of(spark, [("a",)], "value string"), tmp_path, topic=topic)
    log = tmp_path / "torn-0" / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-3])
    with pytest.raises(AnalysisException, match=r"torn-0/0{20}.log: the log ends inside an entry at byte 0 of"):
        write(frame_of(spark, [("b",)], "value string"), tmp_path, topic="torn")
    rows = frame_of(spark, [("b", "sound"), ("c", "torn")], "value string, topic string")
    with pytest.raises(PythonException, match=r"torn-0/0{20}.log: the log ends inside an entry at byte 0 of"):
        write(rows, tmp_path)
    write(rows.where("topic = 'sound'"), tmp_path)
    assert [row["value"] for row in decoded(tmp_path / "sound-0", "value")] == [b"a", b"b"]
    write(rows, tmp_path, mode="overwrite")
    assert [row["value"] for row in decoded(tmp_path / "torn-0", "value")] == [b"c"]


def test_options_of_brokers_are_ignored(spark: SparkSession, tmp_path: Path):
    write(frame_of(spark, [("a",)], "value string"), tmp_path, topic="t", **{"kafka.bootstrap.servers": "nowhere:9092"})
    assert len(decoded(tmp_path, "value")) == 1


def test_a_producers_setting_of_its_codec_is_taken(spark: SparkSession, tmp_path: Path):
    """A job that wrote to brokers says its codec so; passed over, its segments would be several times as large."""
    frame = frame_of(spark, [("a",)], "value string")
    write(frame, tmp_path, topic="t", **{"kafka.compression.type": "zstd"})
    assert [row["compression"] for row in decoded(tmp_path, "compression")] == ["zstd"]


@pytest.mark.parametrize(
    ("said", "codec"),
    [
        ({}, "zstd"),
        ({"compression": "lz4"}, "lz4"),
        ({"compression.codec": "1"}, "gzip"),
        ({"Compressed.Topics": "orders"}, "none"),
    ],
)
def test_a_producers_setting_of_its_codec_is_reported_where_it_is_not_used(tmp_path: Path, said: dict[str, str], codec: str):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        options = parse_options({"path": str(tmp_path), "kafka.compression.type": "zstd", **said})
    assert options.encode.compression == codec
    ignored = "logsegment reads files, not brokers; ignored options: kafka.compression.type"
    assert [str(item.message) for item in caught] == [ignored] * bool(said)


def test_a_stream_lands_once_over_a_restart(spark: SparkSession, tmp_path: Path):
    """A file source, stopped and started again from its checkpoint, which then forgets its last commit, so that Spark repeats it."""
    source, target, checkpoint = tmp_path / "in", tmp_path / "log", tmp_path / "checkpoint"
    source.mkdir()

    def run() -> None:
        lines = spark.readStream.format("text").load(str(source))
        stream = lines.writeStream.format("logsegment").option("topic", "lines").option("checkpointLocation", str(checkpoint))
        query = stream.trigger(availableNow=True).start(str(target))
        assert query.awaitTermination(120)
        assert query.exception() is None

    for number in range(3):
        (source / f"{number}.txt").write_text("".join(f"line {number}.{index}\n" for index in range(5)))
        run()
    wanted = [f"line {number}.{index}" for number in range(3) for index in range(5)]
    assert [row["value"].decode() for row in decoded(target / "lines-0", "value")] == wanted
    for file in (checkpoint / "commits").iterdir():
        if file.name.lstrip(".").startswith("2"):
            file.unlink()
    run()
    found = decoded(target / "lines-0", "offset", "value")
    assert [(row["offset"], row["value"].decode()) for row in found] == list(enumerate(wanted))
    assert not list(target.glob("*-delete"))


def test_output_mode_complete_replaces_what_is_there(spark: SparkSession, tmp_path: Path):
    """Each batch is the whole answer. Spark lets no Python sink take the mode update."""
    source = tmp_path / "in"
    source.mkdir()

    def run(mode: str) -> None:
        counts = (
            spark.readStream.format("text")
            .load(str(source))
            .groupBy("value")
            .count()
            .selectExpr("value as key", "cast(count as string) as value")
        )
        writing = counts.writeStream.format("logsegment").outputMode(mode).option("topic", "counts")
        query = writing.option("checkpointLocation", str(tmp_path / mode)).trigger(availableNow=True).start(str(tmp_path / "log"))
        query.awaitTermination(120)

    for number, expected in enumerate(({b"a": b"1"}, {b"a": b"2", b"b": b"1"})):
        (source / f"{number}.txt").write_text("a\nb\n" if number else "a\n")
        run("complete")
        assert {row["key"]: row["value"] for row in decoded(tmp_path / "log/counts-0", "key", "value")} == expected
    with pytest.raises(StreamingQueryException, match="does not support Update mode"):
        run("update")


def test_foreach_batch_writes_as_a_batch_does(spark: SparkSession, tmp_path: Path):
    """Its tasks see the stream's properties, but its job is that of its own writer."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_text("a\nb\n")
    lines = spark.readStream.format("text").load(str(tmp_path / "in"))
    stream = lines.writeStream.foreachBatch(lambda frame, _: write(frame, tmp_path / "log", topic="t"))
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert query.exception() is None
    assert [row["value"] for row in decoded(tmp_path / "log/t-0", "value")] == [b"a", b"b"]
