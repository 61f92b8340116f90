"""The columnar reader next to the one in Python: the same rows, schemas and errors, in an executor that stays alive.

Most tests of batch queries run with both readers (conftest.py). Here is what they share no test for: the whole corpus in one query of each
reader, the hostile files, which reader a plan names, what is pushed, metrics, class loaders, versions.
"""

from __future__ import annotations

import re
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

import building
import corpus
import hostile
import logsegment as ls
from log_starts import write_checkpoint
from logsegment.spark import LogSegmentSource, jar, record_schema
from logsegment.spark.jvm.tasks import task_bytes
from logsegment.spark.options.read import parse_options
from logsegment.spark.read.reader import SegmentReader
from made_logs import make_partition
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


def test_both_readers_start_at_the_log_start_offset(spark: SparkSession, tmp_path: Path):
    make_partition(tmp_path, "orders", 0, [list(range(20)), list(range(20, 40))])
    for start in (7, 20, 33):
        write_checkpoint(tmp_path, "orders-0", start)
        for reader in READERS:
            frames = load(spark, tmp_path, reader=reader), load(spark, tmp_path, reader=reader, logStartOffset="ignore")
            assert sorted(row.offset for row in frames[0].collect()) == list(range(start, 40))
            assert frames[1].count() == 40
            assert frames[0].filter("offset < 5").count() == 0


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


def is_planned(options: dict[str, str]) -> bool:
    """Whether it is a task that refuses the file, and not the planning."""
    source = LogSegmentSource(options)
    try:
        return len(source.reader(source.schema()).partitions()) > 0
    except Exception:
        return False


def refusals(frame: DataFrame) -> list[str]:
    """The error of each task of a plan, read by itself in the JVM: a query would end with the first."""
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    partitions, factory = scan.inputPartitions(), scan.readerFactory()
    found = []
    for number in range(partitions.size()):
        reader = factory.createColumnarReader(partitions.apply(number))
        try:
            while reader.next():
                assert reader.get().numRows() > 0
            found.append("read to the end")
        except PythonException as error:
            found.append(str(error))
        finally:
            reader.close()
    return found


@pytest.mark.slow
def test_both_readers_give_equal_outcomes_of_the_hostile_files_in_one_executor(spark: SparkSession, tmp_path: Path):
    """COD-6, and every rule of a hostile file: a damaged file ends its task, and the JVM goes on.

    Files that are read to the end share a query. Each that is refused would end it, so they share a plan, whose tasks are read one by one;
    every 25th has a query too, as have those that planning refuses. Bombs end early here: test_hostile.py has the limit of users.
    """
    executor = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    options = {"includeHeaders": "true", "format": "v3", "limits.max_decompressed_bytes": str(32 << 20)}
    read: dict[Path, pa.Table] = {}
    refused: dict[Path, str] = {}
    for case in hostile.cases():
        path = tmp_path / f"{case.name}-0" / (f"{0:020}.kafka" if case.format == "0.7" else f"{0:020}.log")
        path.parent.mkdir()
        path.write_bytes(case.read())
        expected = in_python(options | {"path": str(path)})
        if isinstance(expected, str):
            refused[path] = expected
        else:
            read[path] = expected
    found = load(spark, *read, reader="columnar", **options).toArrow()
    assert found.num_rows == sum(map(len, read.values())) > 1000
    for path, expected in read.items():
        topic = path.parent.name.removesuffix("-0")
        assert found.filter(pc.field("topic") == topic).combine_chunks().equals(expected.combine_chunks()), topic

    def refusal(path: Path) -> str:
        with pytest.raises((PythonException, AnalysisException)) as caught:
            load(spark, path, reader="columnar", **options).toArrow()
        return str(caught.value)

    planned = [path for path in refused if is_planned(options | {"path": str(path)})]
    assert len(planned) > 200
    told = refusals(load(spark, *planned, reader="columnar", minPartitions=str(len(planned)), **options))
    assert len(told) == len(planned)
    for path in planned:
        (message,) = (message for message in told if f"/{path.parent.name}/" in message)
        assert refused[path] in message, path.parent.name
    for path in [path for path in refused if path not in planned] + planned[::25]:
        assert refused[path] in refusal(path), path.parent.name
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
        ({"ioStats": "{}"}, "option ioStats"),
        ({"view": "batches"}, "view batches"),
        ({"view": "findings"}, "view findings"),
        ({"reader": "python"}, "option reader is python"),
    ],
)
def test_python_reads_what_the_columnar_reader_does_not_and_the_plan_says_why(
    spark: SparkSession, options: dict[str, str], reason: str, tmp_path: Path
):
    options = {name: value.format(tmp_path) for name, value in options.items()}
    frame = load(spark, SEGMENT, **options)
    assert f"(read in Python: {reason})" in plan_of(frame)
    assert "columnar reader" not in plan_of(frame)
    assert (frame.count() > 0) == (options.get("view") != "findings")
    if options.keys() - {"reader", "view"}:
        with pytest.raises(AnalysisException, match=f"the columnar reader does not read this query: {reason}"):
            load(spark, SEGMENT, **options, reader="columnar").count()


@contextmanager
def logged_lines(spark: SparkSession, name: str = "PythonScanWithReason") -> Iterator[Callable[[], list[str]]]:
    """What the Java classes of logsegment log at INFO: Spark's own logger is off in tests."""
    jvm = spark.sparkContext._jvm
    core = jvm.org.apache.logging.log4j.core
    written = jvm.java.io.StringWriter()
    layout = core.layout.PatternLayout.newBuilder().withPattern("%p %m%n").build()
    appender = core.appender.WriterAppender.createAppender(layout, None, written, "reasons", False, True)
    appender.start()
    logger = jvm.org.apache.logging.log4j.LogManager.getLogger(f"io.github.logsegment.spark.{name}")
    logger.addAppender(appender)
    core.config.Configurator.setLevel(logger.getName(), jvm.org.apache.logging.log4j.Level.INFO)
    try:
        yield lambda: str(written.toString()).splitlines()
    finally:
        core.config.Configurator.setLevel(logger.getName(), jvm.org.apache.logging.log4j.Level.OFF)
        logger.removeAppender(appender)


@pytest.mark.parametrize("columns", [["offset"], ["*"]])
def test_the_log_names_the_reason_in_one_line(spark: SparkSession, columns: list[str]):
    with logged_lines(spark) as lines:
        load(spark, SEGMENT).select(*columns).collect()
        assert lines() == []
        load(spark, SEGMENT, reader="python").select(*columns).collect()
        assert lines() == ["INFO The Python reader of logsegment reads this query: option reader is python"]


def test_the_log_names_a_stream(spark: SparkSession):
    with logged_lines(spark) as lines:
        stream = spark.readStream.format("logsegment").options(startingOffsets="earliest").load(str(MODERN / "codec-zstd-0"))
        query = stream.writeStream.format("noop").trigger(availableNow=True).start()
        query.awaitTermination()
        assert set(lines()) == {"INFO The Python reader of logsegment reads this query: a stream"}


def test_the_log_names_what_a_task_leaves_out(spark: SparkSession, tmp_path: Path):
    path = tmp_path / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(building.simple_batch([b"a"]) + building.simple_batch([b"b", b"c"], 1))
    with logged_lines(spark, "ColumnarTaskReader") as lines:
        assert load(spark, path, unreadable="skip", reader="columnar", **{"limits.max_records": "1"}).count() == 1
        assert lines() == [f"WARN {path}: 1 batch left out, undamaged but not readable here (COD-6)"]


def test_explain_names_the_reader_and_the_reason(spark: SparkSession, capsys: pytest.CaptureFixture[str]):
    load(spark, SEGMENT).explain()
    assert "(columnar reader, tasks: 1" in capsys.readouterr().out
    load(spark, SEGMENT, reader="python").explain()
    assert "(read in Python: option reader is python)" in capsys.readouterr().out


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


def problem_of(spark: SparkSession, path: Path) -> str | None:
    """Why the library in a jar cannot be used, as the class says that a class loader of its own loads."""
    jvm = spark.sparkContext._jvm
    urls = spark.sparkContext._gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.io.File(str(path)).toURI().toURL()
    # Spark's own classes, and not those of `spark.jars`.
    loader = jvm.java.net.URLClassLoader(urls, jvm.java.lang.ClassLoader.getSystemClassLoader())
    method = loader.loadClass("io.github.logsegment.spark.NativeReader").getDeclaredMethod(
        "problem", spark.sparkContext._gateway.new_array(jvm.java.lang.Class, 0)
    )
    method.setAccessible(True)
    problem: str | None = method.invoke(None, spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 0))
    return problem


def test_each_class_loader_has_a_library_of_its_own(spark: SparkSession):
    """Spark Connect gives each session a class loader, and a JVM loads a library for one loader only."""
    assert [problem_of(spark, Path(jar())) for _ in range(2)] == [None, None]


def changed_jar(target: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """Copy the jar. A file is left out for which `change` gives None."""
    with zipfile.ZipFile(jar()) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return target


def test_a_library_of_another_version_is_one_error(spark: SparkSession, tmp_path: Path):
    other = changed_jar(tmp_path / "other.jar", lambda name, data: b"0.0.1" if name.endswith("/version.txt") else data)
    told = f"the jar of logsegment is of version 0.0.1, the library in it of version {ls.__version__}; set spark.jars to"
    with pytest.raises(Exception, match=re.escape(told)):
        problem_of(spark, other)


def test_a_jar_without_a_library_for_this_system_names_the_problem(spark: SparkSession, tmp_path: Path):
    other = changed_jar(tmp_path / "other.jar", lambda name, data: None if "/native/" in name else data)
    assert "has no library for this system" in str(problem_of(spark, other))


def other_version(planned_for: str | None) -> type[LogSegmentSource]:
    """The source of a package of version 9.9.9, in which plans for jars of a version are made (None: it checks nothing)."""

    class Other(LogSegmentSource):
        def reader(self, schema):
            from dataclasses import replace
            from unittest.mock import patch

            from logsegment.spark.jvm import planning

            reader = super().reader(schema)
            planned = reader.partitions

            def partitions():
                if planned_for is None:
                    reader.request = replace(reader.request, version="9.9.9")
                with patch.object(planning, "__version__", "9.9.9"):
                    return planned()

            reader.partitions = partitions
            return reader

    return Other


@pytest.mark.parametrize(
    ("planned_for", "told"),
    [
        ("9.9.9", "the jar is of version {}, the Python package of version 9.9.9; set spark.jars to logsegment.spark.jar()"),
        (None, "the jar of logsegment is of version {}, the Python package of version 9.9.9; set spark.jars to logsegment.spark.jar()"),
    ],
)
def test_another_version_of_the_package_is_one_error_of_the_query(spark: SparkSession, planned_for: str | None, told: str):
    """Both sides check: Python refuses the request of a jar, and Java the plan of a package that checks nothing."""
    session = spark.newSession()
    session.dataSource.register(other_version(planned_for))
    with pytest.raises(Exception, match=re.escape(told.format(ls.__version__))):
        load(session, SEGMENT).count()
    assert load(spark, SEGMENT).count() == 240


def test_a_task_is_small(tmp_path: Path):
    reader = SegmentReader(parse_options({"path": str(MODERN)}), ["offset"])
    sizes = [len(task_bytes(task)) for task in reader.partitions()]
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
