"""The columnar reader next to the one in Python: the same rows, schemas and errors, in an executor that stays alive.

Most tests of batch queries run with both readers (conftest.py). Here is what they share no test for: the whole corpus in one query of each
reader, the hostile files, which reader a plan names, what is pushed, metrics, class loaders, versions.
"""

from __future__ import annotations

import json
import traceback
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

import corpus
import hostile
import logsegment as ls
from logsegment.spark import LogSegmentSource, jar, record_schema
from logsegment.spark.jvm.tasks import task_bytes
from logsegment.spark.options.read import parse_options
from logsegment.spark.read.reader import SegmentReader
from spark_session import columnar_options

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built: it needs a JDK"),
]

MODERN = corpus.CORPUS / "modern-4.1.0/data"
SEGMENT = MODERN / "codec-zstd-0/00000000000000000000.log"
#: All columns but `internal`, which Python reads.
COLUMNS = [*record_schema().fieldNames(), *[name for name in corpus.RECORD_COLUMNS if name not in record_schema().fieldNames()]]
READERS = ("python", "columnar")


def load(spark: SparkSession, *paths: Path, schema: list[str] | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("logsegment").options(**options)
    if schema is not None:
        reader = reader.schema(record_schema(schema))
    return reader.load([str(path) for path in paths])


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().toString())


def outcome(frame: DataFrame) -> str:
    """The rows of a query as a number, or the lines of its error that name the error."""
    try:
        return str(frame.selectExpr("count(*)", "bit_xor(xxhash64(*))").first())
    except (PythonException, AnalysisException) as error:
        lines = [line.strip() for line in str(error).splitlines() if "Error: " in line]
        return f"{type(error).__name__}: {lines[0] if lines else error}"


def test_both_readers_give_equal_rows_of_the_corpus(spark: SparkSession, tmp_path: Path):
    cases = corpus.cases()
    for index, case in enumerate(cases):
        directory = tmp_path / f"case-{index}"
        directory.mkdir()
        (directory / (case.path.name if case.format == "0.7" else f"{0:020}.log")).symlink_to(case.path)
    frames = [load(spark, tmp_path, schema=COLUMNS, reader=reader) for reader in READERS]
    assert frames[0].schema == frames[1].schema
    assert "columnar reader" in plan_of(frames[1])
    python, columnar = (frame.toArrow().sort_by([("topic", "ascending"), ("batchBaseOffset", "ascending")]) for frame in frames)
    assert columnar.num_rows > 10_000
    assert python.equals(columnar)


def in_python(options: dict[str, str]) -> pa.Table | str:
    """The rows of the Python reader, in this process, or its error as a traceback ends with it."""
    source = LogSegmentSource(options)
    try:
        reader = source.reader(source.schema())
        with warnings.catch_warnings(action="ignore"):
            batches = [batch for task in reader.partitions() for batch in reader.read(task)]
    except Exception as error:
        return traceback.format_exception_only(error)[-1].strip()
    return pa.Table.from_batches(batches, to_arrow_schema(source.schema(), timezone="UTC"))


@pytest.mark.slow
def test_both_readers_give_equal_outcomes_of_the_hostile_files_in_one_executor(spark: SparkSession, tmp_path: Path):
    """COD-6, and every rule of a hostile file: a damaged file ends its task, and the JVM goes on."""
    executor = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    failed = 0
    for case in hostile.cases():
        directory = tmp_path / f"{case.name}-0"
        directory.mkdir()
        path = directory / (f"{0:020}.kafka" if case.format == "0.7" else f"{0:020}.log")
        path.write_bytes(case.read())
        options = {"includeHeaders": "true", "experimental": "true"}
        expected = in_python(options | {"path": str(path)})
        frame = load(spark, path, reader="columnar", **options)
        if isinstance(expected, str):
            failed += 1
            with pytest.raises((PythonException, AnalysisException)) as caught:
                frame.toArrow()
            assert expected in str(caught.value), case
        else:
            assert frame.toArrow().equals(expected), case
        path.unlink()
    assert failed > 200
    assert load(spark, SEGMENT, reader="columnar").count() == 240
    assert spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid() == executor


@pytest.mark.parametrize("limit", ["max_batch_bytes", "max_decompressed_bytes", "max_ratio", "max_records"])
def test_limits_are_those_of_the_options(spark: SparkSession, limit: str):
    """COD-6."""
    told = [outcome(load(spark, SEGMENT, reader=reader, **{f"limits.{limit}": "1"})) for reader in READERS]
    assert told[0] == told[1]
    assert f"over the limit {limit} = " in told[1] or limit == "max_ratio"
    assert load(spark, SEGMENT, reader="columnar", **{f"limits.{limit}": "unlimited"}).count() == 240


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"mode": "PERMISSIVE"}, "option mode is PERMISSIVE"),
        ({"mode": "DROPMALFORMED"}, "option mode is DROPMALFORMED"),
        ({"isolation": "read_committed"}, "option isolation is read_committed"),
        ({"values": "internal"}, "option values is internal"),
        ({"failOnDataLoss": "false"}, "option failOnDataLoss is false"),
        ({"view": "batches"}, "view batches"),
        ({"view": "findings"}, "view findings"),
        ({"reader": "python"}, "option reader is python"),
    ],
)
def test_python_reads_what_the_columnar_reader_does_not_and_the_plan_says_why(spark: SparkSession, options: dict[str, str], reason: str):
    frame = load(spark, SEGMENT, **options)
    assert f"(read in Python: {reason})" in plan_of(frame)
    assert "columnar reader" not in plan_of(frame)
    assert (frame.count() > 0) == (options.get("view") != "findings")
    if options.keys() - {"reader", "view"}:
        with pytest.raises(AnalysisException, match=f"the columnar reader does not read this query: {reason}"):
            load(spark, SEGMENT, **options, reader="columnar").count()


def test_a_session_can_switch_the_columnar_reader_off(spark: SparkSession):
    spark.conf.set("spark.logsegment.reader", "python")
    try:
        assert "(read in Python: spark.logsegment.reader is python)" in plan_of(load(spark, SEGMENT))
        with pytest.raises(AnalysisException, match="option reader: the columnar reader is not loaded"):
            load(spark, SEGMENT, reader="columnar").count()
    finally:
        spark.conf.set("spark.logsegment.reader", "auto")


def test_only_the_wanted_columns_are_read_and_the_filters_are_in_the_plan(spark: SparkSession):
    frame = load(spark, SEGMENT).where("offset >= 200 and partition = 0 and topic = 'codec-zstd'").select("value")
    plan = plan_of(frame)
    assert "[GreaterThanOrEqual, offset, 200]" in plan
    assert "[EqualTo, partition, 0]" in plan
    scan = next(line for line in plan.splitlines() if "BatchScan" in line)
    assert "key#" not in scan
    assert "timestamp#" not in scan
    assert frame.count() == 40


def test_filters_leave_tasks_and_bytes_out(spark: SparkSession):
    directory = MODERN / "transactions-multi-segment-0"
    everything = load(spark, directory, minPartitions="6")
    some = everything.where("offset >= 400")
    assert some.rdd.getNumPartitions() < everything.rdd.getNumPartitions()
    assert sorted(row.offset for row in some.collect()) == sorted(row.offset for row in everything.collect() if row.offset >= 400)
    assert load(spark, directory).where("topic = 'other'").count() == 0
    assert load(spark, directory).where("timestamp >= timestamp'2100-01-01'").count() == 0
    times = sorted(row.timestamp for row in everything.select("timestamp").collect())
    late = everything.where(f"timestamp >= timestamp'{times[len(times) // 2]}'")
    assert "[GreaterThanOrEqual, timestamp, " in plan_of(late)
    assert late.count() == sum(time >= times[len(times) // 2] for time in times)


@pytest.mark.parametrize(
    "condition", ["offset in (3, 7, 300)", "offset < 5", "offset <= 5", "offset > 235", "offset = 17", "topic like 'codec%'"]
)
def test_filters_change_no_row(spark: SparkSession, condition: str):
    rows = [load(spark, SEGMENT, reader=reader).where(condition).orderBy("offset").collect() for reader in READERS]
    assert rows[0] == rows[1]
    assert rows[1]


def test_a_limit_ends_a_task(spark: SparkSession):
    frame = load(spark, SEGMENT).limit(3)
    assert "limit of a task: 3" in plan_of(frame)
    assert [row.offset for row in frame.collect()] == [0, 1, 2]
    assert load(spark, SEGMENT).limit(1000).count() == 240
    assert load(spark, SEGMENT).limit(0).count() == 0


def test_batches_of_rows_are_as_small_as_asked_for(spark: SparkSession):
    rows = [load(spark, SEGMENT, batchSize=size, includeHeaders="true").orderBy("offset").collect() for size in ("7", "65536")]
    assert rows[0] == rows[1]


def test_nested_and_cached_frames(spark: SparkSession):
    """Spark may keep rows, which are in memory that is used again."""
    options = {"includeHeaders": "true", "columns": "offset,key,value,topic,headers"}
    frame = load(spark, MODERN / "edge-records-0", **options, batchSize="3")
    python = load(spark, MODERN / "edge-records-0", **options, reader="python")
    query = "max(topic)", "max_by(value, offset)", "min(key)", "collect_list(headers)"
    assert frame.selectExpr(*query).collect() == python.selectExpr(*query).collect()
    cached = frame.cache()
    try:
        assert cached.orderBy("offset").collect() == python.orderBy("offset").collect()
    finally:
        cached.unpersist()
    assert frame.selectExpr("headers.key").collect() == python.selectExpr("headers.key").collect()


def test_the_metrics_of_a_query_count_batches_and_bytes(spark: SparkSession):
    frame = load(spark, SEGMENT)
    execution = frame._jdf.queryExecution()
    frame.collect()
    found: dict[str, int] = {}
    todo = [execution.executedPlan()]
    while todo:
        node = todo.pop()
        children = node.children()
        todo += [children.apply(index) for index in range(children.size())]
        metrics = node.metrics()
        for name in ("arrowBatches", "bytesRead", "bytesDecompressed", "batchesRead", "batchesSkipped"):
            if metrics.contains(name):
                found[name] = metrics.apply(name).value()
    with ls.decode(SEGMENT.read_bytes()) as stream:
        rows = sum(batch.num_rows for batch in stream)
        stats = stream.io_stats
    assert rows == 240
    assert found["bytesRead"] == SEGMENT.stat().st_size
    assert found["batchesRead"] == stats.entries_read
    assert found["bytesDecompressed"] == stats.bytes_inflated > 0
    assert found["arrowBatches"] == 1


def test_each_class_loader_has_a_library_of_its_own(spark: SparkSession):
    """Spark Connect gives each session a class loader, and a JVM loads a library for one loader only."""
    jvm = spark.sparkContext._jvm
    url = jvm.java.io.File(jar()).toURI().toURL()
    urls = spark.sparkContext._gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = url
    # Spark's own classes, and not those of `spark.jars`.
    parent = jvm.java.lang.ClassLoader.getSystemClassLoader()
    for _ in range(2):
        loader = jvm.java.net.URLClassLoader(urls, parent)
        loaded = loader.loadClass("io.github.logsegment.spark.NativeReader")
        method = loaded.getDeclaredMethod("problem", spark.sparkContext._gateway.new_array(jvm.java.lang.Class, 0))
        method.setAccessible(True)
        assert method.invoke(None, spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 0)) is None


def test_another_version_of_the_package_is_one_error(spark: SparkSession):
    request = json.dumps({"version": "0.0.1", "filters": []})
    assert load(spark, SEGMENT).count() == 240
    source = LogSegmentSource({"path": str(SEGMENT), "jvm.plan": request})
    with pytest.raises(ValueError, match=r"the jar is of version 0\.0\.1, the Python package of version "):
        source.reader(source.schema()).partitions()


def test_a_task_is_small(tmp_path: Path):
    reader = SegmentReader(parse_options({"path": str(MODERN)}), ["offset"])
    sizes = [len(task_bytes(task, reader.options.read)) for task in reader.partitions()]
    assert sizes
    assert max(sizes) < 20_000


@pytest.mark.soak
def test_native_memory_is_flat_over_a_thousand_queries(spark: SparkSession):
    pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()

    def resident() -> int:
        status = Path(f"/proc/{pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))

    for number in range(1_000):
        assert load(spark, SEGMENT, reader="columnar").selectExpr("sum(length(value))").first()[0] > 0
        if number == 300:
            before = resident()
    assert resident() - before < 200_000
