"""Spark's settings for Hadoop's file systems are defaults of the options of stores. The environment has no option."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import corpus
import logsegment as ls
import object_store
from logsegment._places import with_options
from logsegment.spark import LogSegmentSource
from logsegment.spark.options.storage import store_defaults
from logsegment.spark.write.options import parse_options
from spark_session import columnar_options

DATA = corpus.CORPUS / "modern-4.1.0/data"
URI = "s3a://bucket/orders-0"
KEYS = {"fs.s3a.access.key": "AKIASESSION", "fs.s3a.secret.key": "hush/hush+hush", "fs.s3a.session.token": "hush-token"}
S3 = {"aws_access_key_id": "AKIASESSION", "aws_secret_access_key": "hush/hush+hush", "aws_session_token": "hush-token"}
JAR = pytest.mark.skipif(not columnar_options(), reason="the jar is not built: it needs a JDK")


@dataclass
class Bucket:
    """A directory that a server shows as every bucket.

    Attributes:
        root: the directory.
        settings: Hadoop's settings that lead to the server.
        signers: the key ids in the requests.
    """

    root: Path
    settings: dict[str, str]
    signers: set[str] = field(default_factory=set)


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "bucket"
    shutil.copytree(DATA / "transactions-multi-segment-0", root / "orders-0")
    with object_store.serving(root, is_bucket=True) as environment:
        endpoint = environment["AWS_ENDPOINT_URL"].removeprefix("http://")
        found = Bucket(root, {**KEYS, "fs.s3a.endpoint": endpoint, "fs.s3a.connection.ssl.enabled": "false"})
        place = object_store.Handler._place

        def noted(self: Any, path: str) -> tuple[Path, str]:
            found.signers.add(self.headers["Authorization"].partition("Credential=")[2].partition("/")[0])
            return place(self, path)

        monkeypatch.setattr(object_store.Handler, "_place", noted)
        yield found


@pytest.fixture
def session(spark: SparkSession, bucket: Bucket) -> Iterator[SparkSession]:
    for name, value in bucket.settings.items():
        spark.conf.set(name, value)
    yield spark
    for name in bucket.settings:
        spark.conf.unset(name)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (KEYS, S3),
        ({"fs.s3a.access.key": "AKIASESSION"}, {}),
        ({"fs.s3a.endpoint": "minio:9000"}, {"aws_endpoint": "https://minio:9000"}),
        ({"fs.s3a.endpoint": "minio:9000", "fs.s3a.connection.ssl.enabled": "false"}, {"aws_endpoint": "http://minio:9000"}),
        ({"fs.s3a.endpoint": "http://minio:9000", "fs.s3a.connection.ssl.enabled": "true"}, {"aws_endpoint": "http://minio:9000"}),
        ({"fs.s3a.endpoint": " ", "fs.s3a.endpoint.region": "eu-west-1"}, {"aws_region": "eu-west-1"}),
        ({"fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com"}, {"aws_region": "eu-west-1"}),
        ({"fs.s3a.endpoint": "https://s3.amazonaws.com"}, {}),
        (
            {"fs.s3a.endpoint": "https://minio:9000", "fs.s3a.path.style.access": "true"},
            {"aws_endpoint": "https://minio:9000", "aws_virtual_hosted_style_request": "false"},
        ),
        (
            {"fs.s3a.endpoint": "https://minio:9000", "fs.s3a.path.style.access": "false"},
            {"aws_endpoint": "https://bucket.minio:9000", "aws_virtual_hosted_style_request": "true"},
        ),
        (
            {"fs.s3a.endpoint": "https://10.0.0.7:9000", "fs.s3a.path.style.access": "false"},
            {"aws_endpoint": "https://10.0.0.7:9000", "aws_virtual_hosted_style_request": "false"},
        ),
        ({"fs.s3a.endpoint.region": "one", "fs.s3a.bucket.bucket.endpoint.region": "two"}, {"aws_region": "two"}),
        ({"fs.s3a.endpoint.region": "one", "fs.s3a.bucket.other.endpoint.region": "two"}, {"aws_region": "one"}),
        ({"fs.azure.account.key.one.dfs.core.windows.net": "k", "fs.defaultFS": "hdfs://node:8020"}, {}),
    ],
)
def test_settings_of_s3a(settings: Mapping[str, str], expected: Mapping[str, str]) -> None:
    for uri in (URI, "s3://bucket", "s3n://bucket/x.log"):
        assert store_defaults(uri, settings, ()) == expected
    for path in ("orders-0", "file:///data/orders-0", "gs://bucket/orders-0", "hdfs://node/orders-0"):
        assert store_defaults(path, settings, ()) == {}


@pytest.mark.parametrize(
    ("explicit", "kept"),
    [
        ("access_key_id", {"aws_region", "aws_endpoint"}),
        ("aws_skip_signature", {"aws_region", "aws_endpoint"}),
        ("aws_session_token", {"aws_region", "aws_endpoint"}),
        ("region", {*S3, "aws_endpoint"}),
        ("aws_endpoint_url", {*S3, "aws_region"}),
        ("timeout", {*S3, "aws_region", "aws_endpoint"}),
    ],
)
def test_an_explicit_option_replaces_all_settings_for_its_purpose(explicit: str, kept: set[str]) -> None:
    settings = KEYS | {"fs.s3a.endpoint": "https://minio:9000", "fs.s3a.endpoint.region": "eu-west-1"}
    assert store_defaults(URI, settings, [explicit]).keys() == kept


@pytest.mark.parametrize(
    ("uri", "account", "explicit", "is_found"),
    [
        ("abfss://box@one.dfs.core.windows.net/logs", "one.dfs.core.windows.net", (), True),
        ("abfs://box@one.dfs.core.windows.net/logs", "one.blob.core.windows.net", (), True),
        ("abfss://box@one.blob.core.windows.net/logs", "one.dfs.core.windows.net", (), True),
        ("abfss://box@one.dfs.core.windows.net/logs", "two.dfs.core.windows.net", (), False),
        ("abfss://box@one.dfs.core.windows.net/logs", "one.dfs.core.windows.net", ("azure_storage_sas_token",), False),
        ("abfss://box@one.dfs.core.windows.net/logs", "one.dfs.core.windows.net", ("azure_endpoint",), True),
        ("az://box/logs", "one.dfs.core.windows.net", ("azure_storage_account_name",), False),
    ],
)
def test_settings_of_azure(uri: str, account: str, explicit: tuple[str, ...], is_found: bool) -> None:
    found = store_defaults(uri, {f"fs.azure.account.key.{account}": "hush"}, explicit)
    assert found == ({"azure_storage_account_key": "hush"} if is_found else {})


@pytest.mark.parametrize(
    ("uri", "node", "explicit", "is_found"),
    [
        ("hdfs:///logs", "hdfs://node:8020", (), True),
        ("hdfs://other/logs", "hdfs://node:8020", (), False),
        ("hdfs:///logs", "file:///", (), False),
        ("hdfs:///logs", "hdfs://node:8020", ("fs.defaultFS",), False),
        ("viewfs:///logs", "hdfs://node:8020", (), False),
    ],
)
def test_the_default_file_system_is_for_uris_without_a_name_node(uri: str, node: str, explicit: tuple[str, ...], is_found: bool) -> None:
    assert store_defaults(uri, {"fs.defaultFS": node}, explicit) == ({"fs.defaultFS": node} if is_found else {})


@pytest.mark.parametrize("explicit", [None, "hdfs://127.0.0.1:1"])
def test_the_name_node_is_that_of_the_settings_or_of_an_option(explicit: str | None) -> None:
    """No server is there, but the client knows which one to ask."""
    node = "hdfs://127.0.0.1:1" if explicit is None else "hdfs://not a host"
    options = {"path": "hdfs:///logs", "storage.dfs.client.failover.max.attempts": "1", "jvm.hadoop": json.dumps({"fs.defaultFS": node})}
    # Spark writes the names of options in lower case.
    source = LogSegmentSource(options if explicit is None else {**options, "storage.fs.defaultfs": explicit})
    with pytest.raises(ConnectionError):
        source.schema()


@pytest.mark.parametrize("view", ["records", "batches", "findings"])
def test_tasks_carry_the_settings(view: str, bucket: Bucket) -> None:
    options = {"path": URI, "view": view, "jvm.hadoop": json.dumps(bucket.settings)}
    source = pickle.loads(pickle.dumps(LogSegmentSource(options)))
    reader: Any = source.reader(source.schema())
    tasks = pickle.loads(pickle.dumps(reader.partitions()))
    rows = sum(batch.num_rows for task in tasks for batch in reader.read(task))
    local = LogSegmentSource({"path": str(bucket.root / "orders-0"), "view": view})
    own: Any = local.reader(local.schema())
    assert rows == sum(batch.num_rows for task in own.partitions() for batch in own.read(task))
    assert (rows > 0) is (view != "findings")
    assert bucket.signers == {"AKIASESSION"}
    assert "hush" not in f"{source!r} {reader!r} {tasks!r}"


def test_explicit_options_win(bucket: Bucket) -> None:
    explicit = {"storage.aws_access_key_id": "AKIAOPTION", "storage.aws_secret_access_key": "hush"}
    source = LogSegmentSource({"paths": json.dumps([URI]), **explicit, "jvm.hadoop": json.dumps(bucket.settings)})
    reader: Any = source.reader(source.schema())
    assert sum(batch.num_rows for task in reader.partitions() for batch in reader.read(task)) > 0
    assert bucket.signers == {"AKIAOPTION"}


def test_schemas_come_from_the_store_too(bucket: Bucket) -> None:
    shutil.copytree(corpus.TESTS / "values/_schemas-0", bucket.root / "_schemas-0")
    settings = {"jvm.hadoop": json.dumps(bucket.settings)}
    options = {"path": URI, "values": "auto", "schemas.path": "s3a://bucket/_schemas-0", **settings}
    assert "valueRecord" in LogSegmentSource(options).schema().fieldNames()
    explicit = {f"storage.{name}": value for name, value in store_defaults(URI, bucket.settings, ()).items()}
    assert "valueRecord" in LogSegmentSource({**options, **explicit, "jvm.hadoop": "{}"}).schema().fieldNames()


def test_local_paths_carry_no_settings(bucket: Bucket) -> None:
    source = LogSegmentSource({"path": str(bucket.root / "orders-0"), "jvm.hadoop": json.dumps(bucket.settings)})
    assert b"hush" not in pickle.dumps(source)


def test_a_write_goes_to_the_store_of_the_settings() -> None:
    source = LogSegmentSource({"path": "s3a://bucket/out", "topic": "orders", "jvm.hadoop": json.dumps(KEYS)})
    path = parse_options(source.given).path
    assert (str(path), path) == ("s3://bucket/out", with_options("s3://bucket/out", S3))


def test_errors_show_no_setting(bucket: Bucket) -> None:
    settings = json.dumps(bucket.settings)
    wrong = [{"path": f"{URI}-missing"}, {"path": URI, "no.such.option": "x"}, {"path": URI, "storage.no_such_option": "x"}]
    for options in wrong:
        with pytest.raises((FileNotFoundError, ValueError)) as raised:
            LogSegmentSource({**options, "jvm.hadoop": settings}).schema()
        assert "hush" not in f"{raised.value} {raised.value!r}"


@JAR
@pytest.mark.spark
def test_a_session_reads_with_its_settings(session: SparkSession, bucket: Bucket) -> None:
    expected = ls.Log(bucket.root / "orders-0").records(columns=["offset"]).read_all().num_rows
    frame = session.read.format("logsegment").load(URI)
    assert frame.count() == expected
    assert (
        frame.where("offset < 10").select("offset").count()
        == session.read.format("logsegment").load(str(bucket.root)).where("offset < 10").count()
    )
    assert session.read.format("logsegment").schema("offset long").load(URI).count() == expected
    assert bucket.signers == {"AKIASESSION"}
    frame.createOrReplaceTempView("stored")
    plans = [frame._jdf.queryExecution().toString(), session.sql("explain extended select * from stored").first()[0]]
    assert "hush" not in f"{plans} {frame!r}"


@JAR
@pytest.mark.spark
def test_options_of_a_query_win_over_the_session(session: SparkSession, bucket: Bucket) -> None:
    reader = session.read.format("logsegment").option("storage.aws_access_key_id", "AKIAOPTION")
    assert reader.option("storage.aws_secret_access_key", "hush").load(URI).count() > 0
    assert bucket.signers == {"AKIAOPTION"}
    with pytest.raises(AnalysisException) as raised:
        session.read.format("logsegment").load("s3a://bucket/missing-0")
    assert "hush" not in str(raised.value)


@JAR
@pytest.mark.spark
def test_settings_of_the_context_count(spark: SparkSession, bucket: Bucket) -> None:
    """As `spark.hadoop.*` of spark-submit sets them."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in bucket.settings.items():
        hadoop.set(name, value)
    try:
        assert spark.read.format("logsegment").load(URI).count() > 0
    finally:
        for name in bucket.settings:
            hadoop.unset(name)
    assert bucket.signers == {"AKIASESSION"}


@JAR
@pytest.mark.spark
def test_a_session_writes_and_streams_with_its_settings(session: SparkSession, bucket: Bucket, tmp_path: Path) -> None:
    rows = session.range(30).coalesce(1).selectExpr("cast(id as string) as value")
    rows.write.format("logsegment").mode("append").option("topic", "made").save("s3a://bucket/written")
    assert ls.Log(bucket.root / "written").records(columns=["offset"]).read_all().num_rows == 30
    records = session.readStream.format("logsegment").option("startingOffsets", "earliest").load("s3a://bucket/written").coalesce(1)
    writer = records.writeStream.format("logsegment").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start("s3a://bucket/streamed")
    query.awaitTermination()
    assert query.exception() is None
    assert ls.Log(bucket.root / "streamed").records(columns=["offset"]).read_all().num_rows == 30
    assert bucket.signers == {"AKIASESSION"}
    shown = [str(query.recentProgress)]
    shown += [path.read_text(errors="replace") for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()]
    assert len(shown) > 1
    assert "hush" not in "".join(shown)
