"""Plugin codecs in a real Spark: a registry travels with the tasks of reads, writes, streams, views and functions."""

from __future__ import annotations

import json
import pickle
import re
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession

import building
import logsegment as ls
import plugin_codecs
from logsegment.plugins import FileRegistry, Plugin, TopicRegistry
from logsegment.spark import (
    LogSegmentSource,
    batch_info_udf,
    convert_udf,
    decode_batches,
    decode_udf,
    register,
    validate_udf,
)
from logsegment.spark.options.plugins import HIDDEN, REDACTION
from logsegment.spark.options.read import parse_options
from loopback import free_port
from spark_session import spark_session

pytestmark = pytest.mark.spark

SECRET = "swordfish-4711"
#: Modules that the registry may name.
ALLOWED = ["plugin_codecs", "no.*"]
#: alias -> class, and what the error says when it unpacks.
FAULTS = {
    "raising": (plugin_codecs.Raising, "ArithmeticError: two and two is five"),
    "little": (plugin_codecs.TooLittle, "not the records of the batch"),
    "much": (plugin_codecs.TooMuch, "max_ratio"),
    "garbage": (plugin_codecs.Garbage, "not the records of the batch"),
}
VALUES = [b"value %d" % number for number in range(100)]


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    session = spark_session()
    session.sparkContext.addPyFile(plugin_codecs.__file__)
    return session


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> FileRegistry:
    """bz has id 0, those at fault 1 and on, the one that is not here comes last."""
    codecs = FileRegistry(tmp_path_factory.mktemp("registry") / "plugins.json", allow=ALLOWED)
    classes = {"bz": "logsegment.plugins.ready:Bzip2"}
    classes |= {alias: f"plugin_codecs:{item.__name__}" for alias, (item, _) in FAULTS.items()} | {"gone": "no.such:Gone"}
    codecs.register([Plugin(alias, {"java": f"org.example.{alias}", "python": name}, "v1.0") for alias, name in classes.items()])
    return codecs


@pytest.fixture(scope="module")
def written(spark: SparkSession, registry: FileRegistry, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Spark writes with the alias of a plugin."""
    target = tmp_path_factory.mktemp("written") / "log"
    rows = spark.createDataFrame([(value.decode(), number) for number, value in enumerate(VALUES)], "value string, n int")
    frame = rows.selectExpr("value", "timestamp_millis(1700000000000 + n) as timestamp").coalesce(1)
    options = {
        "topic": "orders",
        "compression": "bz",
        "level": "1",
        "batchBytes": "500",
        "plugins.path": registry.path,
        "plugins.allow": ",".join(ALLOWED),
    }
    frame.write.format("logsegment").options(**options).mode("append").save(str(target))
    return target


@pytest.fixture(scope="module")
def faulty(registry: FileRegistry, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition for each fault: an intact batch, that of the plugin, an intact batch; 3 records each."""
    root = tmp_path_factory.mktemp("faulty")
    for alias in FAULTS:
        plugin_id = registry.by_alias(alias).plugin_id  # type: ignore[union-attr]
        batches = [
            building.batch(building.record(value=alias.encode()), count=1, base_offset=offset, attributes=attributes)
            for offset, attributes in enumerate((0, plugin_id << 8 | 5, 0))
        ]
        (root / f"{alias}-0").mkdir()
        (root / f"{alias}-0/00000000000000000000.log").write_bytes(b"".join(batches))
    return root


def load(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("logsegment").options(**{name.replace("__", "."): value for name, value in options.items()}).load(str(path))


def values(frame: DataFrame) -> list[bytes]:
    return sorted(bytes(row["value"]) for row in frame.select("value").collect())


def test_what_is_written_with_an_alias_is_read_with_a_registry(spark: SparkSession, registry: FileRegistry, written: Path):
    segment = written / "orders-0/00000000000000000000.log"
    assert {row["compression"] for row in ls.batches(segment.read_bytes(), codecs=registry).to_pylist()} == {"bz"}
    known = {"plugins__path": registry.path, "plugins__allow": ",".join(ALLOWED)}
    assert values(load(spark, written, **known)) == sorted(VALUES)
    told = load(spark, written, columns="offset,compression", **known).select("compression").distinct().collect()
    assert [row[0] for row in told] == ["bz"]
    later = load(spark, written, startingTimestamp="1700000000090", **known)
    assert values(later) == sorted(VALUES[90:]), "a time is looked up in batches of plugins"
    views = {view: load(spark, written, view=view, **options) for view, options in (("batches", known), ("findings", known))}
    assert [row[0] for row in views["batches"].select("compression").distinct().collect()] == ["bz"]
    assert views["findings"].count() == 0


def test_without_a_registry_headers_are_shown_and_records_are_refused(spark: SparkSession, written: Path):
    assert [row[0] for row in load(spark, written, view="batches").select("compression").distinct().collect()] == ["plugin:0"]
    assert {row[0] for row in load(spark, written, view="findings").select("rule").collect()} == {"S-P19"}
    with pytest.raises(PythonException, match=r"UnknownCompressionError: .*orders-0/0+\.log: \[S-P19\] .*plugin:0"):
        load(spark, written).count()


def test_a_broken_plugin_is_named_and_other_batches_are_read(spark: SparkSession, registry: FileRegistry, faulty: Path):
    """S-P6, in the three modes."""
    known = {"plugins__path": registry.path, "plugins__allow": ",".join(ALLOWED)}
    kept = sorted(alias.encode() for alias in FAULTS for _ in range(2))
    assert values(load(spark, faulty, mode="DROPMALFORMED", **known)) == kept
    rows = load(spark, faulty, mode="PERMISSIVE", **known).collect()
    assert sorted(bytes(row["value"]) for row in rows if row["_corrupt_record"] is None) == kept
    told = {row["topic"]: (row["offset"], json.loads(row["_corrupt_record"])) for row in rows if row["_corrupt_record"]}
    assert told.keys() == FAULTS.keys()
    for alias, (offset, finding) in told.items():
        own, text = FAULTS[alias]
        assert (offset, finding["rule"], finding["position"] > 0) == (1, "S-P6", True)
        assert all(part in finding["message"] for part in (alias, f"plugin_codecs:{own.__name__}", text)), finding
    with pytest.raises(PythonException, match=r"CodecError: .*/raising-0/0+\.log: \[S-P6\] at byte \d+, base offset 1"):
        load(spark, faulty / "raising-0", **known).count()
    found = load(spark, faulty, view="findings", **known).where("severity = 'error'").select("topic", "rule", "baseOffset").collect()
    assert sorted(map(tuple, found)) == [(alias, "S-P6", 1) for alias in sorted(FAULTS)]


def test_a_task_loads_no_module_that_the_query_does_not_allow(spark: SparkSession, registry: FileRegistry, faulty: Path):
    """Whoever may write to the registry would run code on each executor."""
    with pytest.raises(PythonException, match=r"may not load 'plugin_codecs:Raising'.*plugins\.allow"):
        load(spark, faulty / "raising-0", plugins__path=registry.path).count()
    with pytest.raises(PythonException, match="may not load"):
        load(spark, faulty / "raising-0", plugins__path=registry.path, plugins__allow="plugin, other.*").count()
    with pytest.raises(PythonException, match="two and two is five"):
        load(spark, faulty / "raising-0", plugins__path=registry.path, plugins__allow="other.*, plugin_codecs").count()


def test_a_plugin_that_is_not_installed_is_named(spark: SparkSession, registry: FileRegistry, tmp_path: Path):
    """S-P20."""
    gone = registry.by_alias("gone")
    assert gone is not None
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(building.batch(building.record(value=b"a"), count=1, attributes=gone.plugin_id << 8 | 5))
    with pytest.raises(PythonException, match=r"UnsupportedError: .*\[S-P20\] .*no\.such:Gone"):
        load(spark, path, plugins__path=registry.path, plugins__allow="no.*").count()
    frame = spark.createDataFrame([("a",)], "value string").write.format("logsegment").mode("append")
    frame = frame.options(**{"plugins.path": registry.path, "plugins.allow": "no.*"})
    with pytest.raises(Exception, match=r"\[S-P20\] plugin registered but not available") as raised:
        frame.options(topic="t", compression="gone").save(str(tmp_path / "log"))
    assert "no.such:Gone" in str(raised.value)
    for name in ("BZ", "nobody"):
        with pytest.raises(Exception, match=f"Unknown compression name: {name}"):
            frame.options(topic="t", compression=name).save(str(tmp_path / "log"))
    with pytest.raises(Exception, match="Plugin compression is not supported"):
        frame.options(topic="t", compression="bz", format="v1").save(str(tmp_path / "log"))
    assert not (tmp_path / "log").exists()


@pytest.mark.timeout(180)
def test_a_plugin_that_hangs_ends_with_its_query(spark: SparkSession, written: Path, registry: FileRegistry, tmp_path: Path):
    """There is no time limit; Spark ends the worker process of a task that does not end when it is told to."""
    begun = tmp_path / "begun"
    begun.mkdir()
    hanging = FileRegistry(tmp_path / "hanging.json", allow=ALLOWED)
    hanging.register([Plugin("hanging", {"java": "a.B", "python": "plugin_codecs:Hanging"}, "v1.0", extra={"directory": str(begun)})])
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(building.batch(building.record(value=b"a"), count=1, attributes=0x0005))
    told: list[str] = []

    def ask() -> None:
        spark.sparkContext.setJobGroup("hanging", "a plugin that never ends", interruptOnCancel=True)
        try:
            load(spark, path, plugins__path=hanging.path, plugins__allow="plugin_codecs").count()
        except Exception as error:
            told.append(str(error))

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: any(begun.iterdir()))
    [process] = [int(path.name) for path in begun.iterdir()]
    assert is_there(process)
    spark.sparkContext.cancelJobGroup("hanging")
    asking.join(60)
    assert not asking.is_alive()
    assert re.search(r"(?i)cancel", told[0])
    until(lambda: not is_there(process))
    assert values(load(spark, written, plugins__path=registry.path)) == sorted(VALUES), "the session goes on"


def until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def is_there(process: int) -> bool:
    """Whether it runs. One that has ended may wait for its parent to take notice."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_functions_carry_a_registry(spark: SparkSession, registry: FileRegistry, faulty: Path, written: Path):
    """Made by hand and in SQL; a plugin that fails gives null, as any bad value."""
    packed = (written / "orders-0/00000000000000000000.log").read_bytes()
    bad = (faulty / "raising-0/00000000000000000000.log").read_bytes()
    raw = spark.createDataFrame(pa.table({"id": [0, 1], "batch": [packed, bad]})).coalesce(1)
    decode = decode_batches(columns=["value", "compression"], on_error="skip", codecs=registry)
    rows = raw.mapInArrow(decode, decode.schema(raw.schema)).collect()
    assert sorted(bytes(row["value"]) for row in rows) == sorted([*VALUES, b"raising", b"raising"])
    assert {row["compression"] for row in rows} == {"bz", "none"}
    one = raw.select(
        "id",
        decode_udf(columns=["value"], codecs=registry)("batch").alias("decoded"),
        convert_udf(compression="gzip", codecs=registry)("batch").alias("gzip"),
        batch_info_udf(codecs=registry)("batch").alias("info"),
        batch_info_udf(kind="pandas", codecs=registry)("batch").alias("pandas"),
        validate_udf(codecs=registry)("batch").alias("report"),
        validate_udf()("batch").alias("blind"),
    )
    good, failed = one.orderBy("id").collect()
    assert [bytes(row["value"]) for row in good["decoded"]] == VALUES
    assert (failed["decoded"], failed["gzip"]) == (None, None)
    assert [row["value"] for row in ls.decode(bytes(good["gzip"]), columns=["value"]).to_pyarrow().to_pylist()] == VALUES
    assert (good["info"]["compression"], good["pandas"]["compression"]) == ("bz", "bz")
    assert (good["report"]["ok"], failed["report"]["ok"], good["blind"]["ok"]) == (True, False, False)
    assert [finding["rule"] for finding in failed["report"]["findings"]] == ["S-P6"]
    with pytest.raises(PythonException, match=r"CodecError: kafka_decode: .*\[S-P6\].*raising"):
        raw.select(decode_udf(on_error="raise", codecs=registry)("batch")).collect()
    session = spark.newSession()
    register(session, codecs=registry, encode={"compression": "bz"})
    session.createDataFrame(pa.table({"batch": [packed]})).createOrReplaceTempView("raw")
    again = session.sql("select kafka_encode(kafka_decode(batch)) as batch, kafka_validate(batch).ok as ok from raw")
    info = again.selectExpr("kafka_batch_info(batch).compression as c", "size(kafka_decode(batch)) as n", "ok").collect()
    assert [tuple(row) for row in info] == [("bz", 100, True)]


def test_large_values_take_plugins_too(spark: SparkSession, registry: FileRegistry, monkeypatch: pytest.MonkeyPatch):
    """A value that is streamed is validated before, with the same registry."""
    from logsegment.spark import map_in_arrow as map_batches

    monkeypatch.setattr(map_batches, "LARGE_BYTES", 10)
    packed = ls.encode(pa.table({"value": VALUES}), compression="bz", codecs=registry)
    decode = decode_batches(columns=["value"], codecs=registry)
    found = [row["value"] for rows in decode(iter([pa.record_batch({"batch": [packed]})])) for row in rows.to_pylist()]
    assert found == VALUES


@pytest.mark.slow
def test_streams_read_and_write_with_plugins(spark: SparkSession, registry: FileRegistry, written: Path, tmp_path: Path):
    known = {"plugins.path": registry.path, "plugins.allow": ",".join(ALLOWED)}
    stream = spark.readStream.format("logsegment").options(startingTimestamp="1700000000050", **known).load(str(written))
    query = (
        stream.writeStream.format("logsegment")
        .options(compression="bz", checkpointLocation=str(tmp_path / "checkpoint"), **known)
        .trigger(availableNow=True)
        .start(str(tmp_path / "log"))
    )
    assert query.awaitTermination(240)
    data = (tmp_path / "log/orders-0/00000000000000000000.log").read_bytes()
    assert {row["compression"] for row in ls.batches(data, codecs=registry).to_pylist()} == {"bz"}
    assert [row["value"] for row in ls.decode(data, codecs=registry, columns=["value"]).to_pyarrow().to_pylist()] == VALUES[50:]


def test_options_that_do_not_fit_are_mistakes(registry: FileRegistry):
    """They fail where the query is made, and no value of a setting is told."""
    for given, told in (
        ({"plugins.path": registry.path, "plugins.kafka.bootstrap.servers": "a:1"}, "options plugins.path and .* both set a registry"),
        ({"plugins.kafka.sasl.password": SECRET}, r"plugins\.kafka\.sasl\.password needs a registry in topics.*is missing"),
        ({"plugins.timeout": "1"}, "plugins.timeout needs a registry in topics"),
        ({"plugins.allow": "package.*"}, "plugins.allow needs a registry"),
        ({"plugins.kafka.bootstrap.servers": "a:1", "plugins.timeout": "0"}, "plugins.timeout must be seconds"),
        ({"plugins.kafka.bootstrap.servers": " "}, "must not be empty"),
        ({"plugins.bootstrap.servers": "a:1"}, r"did you mean plugins\.kafka\.bootstrap\.servers\?"),
        ({"plugin.path": "a"}, r"did you mean plugins\.path\?"),
    ):
        with pytest.raises(ValueError, match=told) as raised:
            parse_options({"path": "x", **given})
        assert SECRET not in str(raised.value)
    with pytest.raises(OSError, match=r"no registry .*/absent\.json"):
        parse_options({"path": "x", "plugins.path": "absent.json"})
    with pytest.raises(TypeError, match="codecs must be a registry"):
        decode_udf(codecs="plugins.json")


def test_a_broker_that_is_down_is_one_readable_error_without_secrets(spark: SparkSession, written: Path):
    """S-P19: of the query that meets a plugin; one that does not never asks."""
    pytest.importorskip("confluent_kafka")
    servers = f"127.0.0.1:{free_port()}"
    login = {"plugins.kafka.bootstrap.servers": servers, "plugins.timeout": "1", "plugins.kafka.sasl.password": SECRET}
    login |= {
        "plugins.kafka.sasl.username": "reader",
        "plugins.kafka.sasl.mechanism": "PLAIN",
        "plugins.kafka.security.protocol": "SASL_PLAINTEXT",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = load(spark, written, **login)
    shown = frame._jdf.queryExecution().toString()  # type: ignore[operator]
    assert "logsegment" in shown
    assert SECRET not in shown
    options = parse_options({"path": str(written), **login})
    assert SECRET not in repr(options) + repr(LogSegmentSource({"path": str(written), **login}))
    assert repr(options.read.codecs) == f"Registry('{servers}', 'python')"
    with pytest.raises(PythonException) as raised:
        frame.count()
    text = str(raised.value)
    assert re.search(rf"RegistryError: .*the plugin registry failed: RegistryError: Kafka at {servers}: ", text)
    assert SECRET not in text
    function = decode_udf(codecs=TopicRegistry(servers, timeout=1, sasl_mechanism="PLAIN", sasl_password=SECRET, sasl_username="a"))
    raw = spark.createDataFrame(pa.table({"batch": [(written / "orders-0/00000000000000000000.log").read_bytes()]}))
    plan = raw.select(function("batch"))
    assert SECRET not in plan._jdf.queryExecution().toString()  # type: ignore[operator]
    with pytest.raises(PythonException, match=f"Kafka at {servers}") as raised:
        plan.collect()
    assert SECRET not in str(raised.value)


PEM = "-----BEGIN PRIVATE KEY-----c3dvcmRmaXNo-----END PRIVATE KEY-----"


def test_no_plan_shows_settings_of_brokers(spark: SparkSession, written: Path, tmp_path: Path):
    """Spark's own pattern knows passwords; `register` adds the rest of librdkafka's names, and keeps what a user hides."""
    pytest.importorskip("confluent_kafka")
    session = spark.newSession()
    session.conf.set(REDACTION, "(?i)url|mine")
    session.conf.set("spark.sql.ui.explainMode", "extended")
    for _ in range(2):
        register(session)
    assert session.conf.get(REDACTION) == f"(?i)url|mine|{HIDDEN}"
    secret = {"plugins.kafka.bootstrap.servers": "127.0.0.1:9", "plugins.kafka.ssl.key.pem": PEM, "PLUGINS.KAFKA.sasl.username": SECRET}
    rows = session.createDataFrame([("a",)], "value string").coalesce(1)
    rows.write.format("logsegment").options(topic="t", **secret).mode("append").save(str(tmp_path / "log"))
    read, stream = (reader.format("logsegment").options(**secret).load(str(written)) for reader in (session.read, session.readStream))
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # type: ignore[union-attr]
    executions = session._jsparkSession.sharedState().statusStore().executionsList()
    shown = [executions.apply(number).physicalPlanDescription() for number in range(executions.size())]
    ours = [text for text in shown if str(tmp_path / "log") in text or "AppendData" in text]
    assert ours, "the plan of the write is there"
    shown += [frame._jdf.queryExecution().toString() for frame in (read, stream)]  # type: ignore[operator]
    for text in shown:
        assert PEM not in text
        assert SECRET not in text


def test_a_registry_file_that_only_the_driver_has(spark: SparkSession, registry: FileRegistry, written: Path, faulty: Path, tmp_path: Path):
    """What it read is known to the tasks. An id that it did not find is an error, or skipped if the caller allows it."""
    path = tmp_path / "plugins.json"
    path.write_bytes(Path(registry.path).read_bytes())
    log = tmp_path / "orders-0" / "00000000000000000000.log"
    log.parent.mkdir()
    known = (written / "orders-0" / log.name).read_bytes()
    unknown = building.batch(b"packed", count=1, base_offset=len(VALUES), attributes=0x0F05)
    log.write_bytes(known + unknown)
    decode = decode_batches(columns=["value"], on_error="skip", unreadable="skip", codecs=FileRegistry(path, allow=ALLOWED))
    strict = decode_udf(on_error="raise", codecs=FileRegistry(path, allow=ALLOWED))
    readers = {}
    for mode in ("DROPMALFORMED", "PERMISSIVE", "FAILFAST"):
        plugins = {"plugins.path": str(path), "plugins.allow": ",".join(ALLOWED)}
        unreadable = "raise" if mode == "FAILFAST" else "skip"
        source = LogSegmentSource({"path": str(log.parent), **plugins, "mode": mode, "unreadable": unreadable})
        readers[mode] = source.reader(source.schema())
    sent = {mode: pickle.dumps((reader, reader.partitions())) for mode, reader in readers.items()}
    raw = spark.createDataFrame(pa.table({"batch": [log.read_bytes()]})).coalesce(1)
    path.unlink()
    assert sorted(bytes(row["value"]) for row in raw.mapInArrow(decode, decode.schema(raw.schema)).collect()) == sorted(VALUES)
    with pytest.raises(PythonException, match=r"UnknownCompressionError: .*\[S-P19\].*plugin:15"):
        raw.select(strict("batch")).collect()

    def rows(mode: str) -> list[pa.RecordBatch]:
        reader, partitions = pickle.loads(sent[mode])
        return [pa.record_batch(rows) for partition in partitions for rows in reader.read(partition)]

    with pytest.warns(UserWarning, match="1 batch left out, undamaged but not readable here"):
        assert sum(part.num_rows for part in rows("DROPMALFORMED")) == len(VALUES)
    corrupt = [text for part in rows("PERMISSIVE") for text in part["_corrupt_record"].to_pylist() if text]
    assert [json.loads(text)["rule"] for text in corrupt] == ["S-P19"]
    with pytest.raises(ls.UnknownCompressionError, match="plugin:15"):
        rows("FAILFAST")


def test_a_registry_file_that_is_missing_fails_the_query_at_once(spark: SparkSession, written: Path):
    with pytest.raises((AnalysisException, PythonException), match=r"no registry .*/absent\.json"):
        load(spark, written, plugins__path="absent.json").count()
