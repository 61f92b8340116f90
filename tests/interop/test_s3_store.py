"""S3 alone: which ranges are fetched, how keys are given and never shown, tags, and what Spark reads. test_every_store.py has the rest.

The store is s3proxy, a server that speaks S3, over a directory; a gate before it counts what is fetched. Its keys are in the environment;
tests about secrets give them as options, which travel with a URI.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

import corpus
import eras
import logsegment as ls
from logsegment import _core, stores
from logsegment._core import FoundSegments, Place
from logsegment._places import with_options
from logsegment.segment_files.discovery import find_segments, size_of
from s3_server import KEY, SECRET, Fetched, Server, assert_no_secret, serving, spark_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop
DATA = corpus.CORPUS / "modern-4.1.0/data"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST = "00000000000000000000.log"
#: URIs as they once were, which had keys and settings; `{}` is the place of bucket and key.
KEYED = (
    f"s3://{KEY}:{quote(SECRET, safe='')}@{{}}",
    f"s3://{KEY}:{SECRET}@{{}}",
    f"s3a://{KEY}:{SECRET}@{{}}",
    f"s3://{KEY}@{{}}",
    f"s3://{KEY}:{quote(SECRET, safe='')}@{{}}?endpoint_override=127.0.0.1:9000&scheme=http&region=us-east-1",
)
TOKEN = "session-token-of-the-tests"
#: Bytes of a request of sequential reads at most.
LARGEST = 8 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    eras.need("java", "mvn")
    with serving(tmp_path_factory.mktemp("s3")) as running:
        for codec in CODECS:
            running.put(DATA / f"codec-{codec}-0", f"kafka/codec-{codec}-0")
        running.put(DATA / "transactions-multi-segment-0", "kafka/payments-0")
        yield running


@pytest.fixture(scope="module")
def large(server: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A segment of 48 MiB with its indexes, here and in the store."""
    import pyarrow as pa

    place = tmp_path_factory.mktemp("large") / "large-0"
    place.mkdir()
    rows = 48 << 10
    table = pa.table({"value": pa.array([b"v" * 1000] * rows, pa.binary()), "timestamp": pa.array(range(rows), pa.timestamp("ms", "UTC"))})
    ls.encode(table, out=place / FIRST, batch_bytes=16 << 10)
    _core.rebuild_indexes([(place / FIRST, 0)], place)
    server.put(place, "large-0")
    return place, server.uri("large-0")


@pytest.fixture(scope="module")
def spark(server: Server) -> Iterator[SparkSession]:
    with spark_workers(server) as session:
        yield session


@pytest.fixture
def only_options(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing about the server is in the environment."""
    for name in server.environment:
        monkeypatch.delenv(name)


def rows_of(stream: Any) -> list[corpus.Row]:
    return corpus.rows_of(stream)


def shape(findings: list[ls.Finding]) -> list[tuple[Any, ...]]:
    return sorted((found.rule, found.severity, found.position, found.base_offset, found.path.rpartition("/")[2]) for found in findings)


def test_one_per_cent_of_the_offsets_fetches_about_one_per_cent(server: Server, large: tuple[Path, str]):
    """A look-up fetches the offset index, two windows of headers, and the batches; never the segment."""
    place, uri = large
    size, index = (place / FIRST).stat().st_size, (place / FIRST).with_suffix(".index").stat().st_size
    records = 48 << 10
    start = records // 2
    server.fetched = Fetched()
    before = stores.io_stats()
    segment = ls.Segment(f"{uri}/{FIRST}")
    stream = segment.records(columns=["offset"], start_offset=start, end_offset=start + records // 100)
    assert stream.read_all().num_rows == records // 100
    assert server.fetched.bytes_given < size * 0.02 + index
    assert len(server.fetched.ranges) <= 6
    after = stores.io_stats()
    assert after.bytes_fetched - before.bytes_fetched == server.fetched.bytes_given
    assert after.range_requests - before.range_requests == len(server.fetched.ranges)
    assert size * 0.01 * 0.9 < stream.io_stats.bytes_fetched < size * 0.012


def test_a_whole_segment_is_fetched_once_in_few_large_ranges(server: Server, large: tuple[Path, str]):
    place, uri = large
    size = (place / FIRST).stat().st_size
    server.fetched = Fetched()
    stream = ls.decode(ls.FileSource(find_segments(uri)[0].path), columns=["offset"])
    assert sum(batch.num_rows for batch in stream) == 48 << 10
    assert stream.io_stats.bytes_fetched == size == server.fetched.bytes_given
    assert stream.io_stats.range_requests == len(server.fetched.ranges) <= 16
    asked = [tuple(map(int, str(span).removeprefix("bytes=").split("-"))) for _, span in server.fetched.ranges]
    assert max(last - first + 1 for first, last in asked) == LARGEST


def test_a_reading_that_stops_early_has_not_fetched_the_segment(server: Server, large: tuple[Path, str]):
    """The first requests are small, so that little is fetched ahead before it is known that the reading goes on."""
    place, uri = large
    server.fetched = Fetched()
    stream = ls.decode(ls.FileSource(f"{uri}/{FIRST}"), columns=["offset"], batch_size=100, threads=1)
    next(stream)
    stream.close()
    assert server.fetched.bytes_given <= (place / FIRST).stat().st_size // 3


def test_local_files_ask_no_store():
    stream = ls.decode(ls.FileSource(DATA / "codec-none-0" / FIRST))
    stream.read_all()
    assert (stream.io_stats.range_requests, stream.io_stats.bytes_fetched) == (0, 0)


@pytest.mark.parametrize(
    ("layout", "topic", "partition"),
    [
        ("kafka-tiered-storage/orders-7-PnnzqOgSQ4yNq8gSgDWTTw/{}-abcdefghijklmnop-_1234", "orders", 7),
        ("prefix/cluster/orders-7/{}", "orders", 7),
        ("prefix/10110/cluster/orders-7/{}", "orders", 7),
    ],
    ids=["LocalTieredStorage", "Pinterest", "Pinterest with entropy"],
)
def test_layouts_of_tiered_storage(server: Server, layout: str, topic: str, partition: int):
    """SEG-12; TS-60, TS-80, TS-81. Those of Aiven's plug-in: below."""
    root = f"tiered-{abs(hash(layout))}"
    source = DATA / "transactions-multi-segment-0"
    for file in source.glob("0*"):
        if file.suffix in (".log", ".index", ".timeindex", ".txnindex"):
            server.put(file, f"{root}/{layout.format(file.stem)}{file.suffix}")
    log = ls.Log(server.uri(root))
    assert log.partitions == [(topic, partition)]
    assert [segment.base_offset for segment in log.segments] == [segment.base_offset for segment in ls.Log(source).segments]
    assert [list(segment.offset_index) for segment in log.segments] == [list(segment.offset_index) for segment in ls.Log(source).segments]
    columns = ["offset", "value"]
    there, here = (result.records(columns=columns, isolation="read_committed") for result in (log, ls.Log(source)))
    assert rows_of(there) == rows_of(here)


def test_a_segment_that_was_uploaded_twice_is_not_read_twice(server: Server):
    """TS-7: a re-tried upload has another id."""
    for name in ("abcdefghijklmnop-_1234", "bbcdefghijklmnop-_1234"):
        server.put(DATA / "codec-none-0" / FIRST, f"twice/orders-7-PnnzqOgSQ4yNq8gSgDWTTw/00000000000000000000-{name}.log")
    with pytest.raises(FileExistsError, match="uploaded more than once"):
        ls.Log(server.uri("twice"))


def refusing(server: Server, monkeypatch: pytest.MonkeyPatch, refuses: Callable[[str, str], bool], repeated: str = KEY) -> None:
    """The server refuses requests as S3 does: it repeats the id of a key, or a token."""
    name = "Token-0" if repeated == TOKEN else "AWSAccessKeyId"
    monkeypatch.setattr(server, "reason", f"<Error><Code>AccessDenied</Code><{name}>{repeated}</{name}></Error>".encode())
    monkeypatch.setattr(server, "refuses", refuses)


@pytest.mark.parametrize("given", ["in the environment", "as options"])
def test_what_a_store_says_about_a_request_that_it_refuses_shows_no_key(server: Server, monkeypatch: pytest.MonkeyPatch, given: str):
    refusing(server, monkeypatch, lambda method, path: method == "GET")
    place = f"kafka/codec-none-0/{FIRST}"
    uri = with_options(server.uri(place), server.options if given == "as options" else None)
    with pytest.raises(PermissionError, match="the store refused the request") as raised:
        ls.decode(ls.FileSource(uri)).read_all()
    assert_clean(raised.value, server.uri(place))


@pytest.mark.parametrize("given", ["in the environment", "as options"])
def test_what_a_store_says_about_a_session_shows_no_token(server: Server, monkeypatch: pytest.MonkeyPatch, given: str):
    refusing(server, monkeypatch, lambda method, path: True, TOKEN)
    uri = with_options(server.uri("refused"), server.options | {"aws_session_token": TOKEN} if given == "as options" else None)
    if given == "in the environment":
        monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    with pytest.raises(PermissionError, match="the store refused the request") as raised:
        Place(uri).put(b"data")
    assert_clean(raised.value, server.uri("refused"))


@pytest.mark.parametrize("keyed", KEYED, ids=["quoted", "with a slash", "another scheme", "only the id", "with settings"])
def test_a_uri_has_no_keys(server: Server, tmp_path: Path, keyed: str):
    """All that takes a URI refuses it before anything is asked of a store, and repeats neither key."""
    uri, listings = keyed.format(f"lake/kafka/codec-none-0/{FIRST}"), stores.io_stats()
    calls: tuple[Any, ...] = (
        Place,
        find_segments,
        lambda uri: FoundSegments.expanded([uri], must_exist=True),
        ls.FileSource,
        ls.Segment,
        ls.Log,
        ls.decode,
        ls.batches,
        lambda uri: with_options(uri, server.options),
        lambda uri: ls.convert(DATA / "codec-none-0" / FIRST, to="v2", out=uri),
        lambda uri: ls.restore(uri, tmp_path),
    )
    for call in calls:
        with pytest.raises(ValueError, match="storage_options") as raised:
            call(uri)
        assert "aws_secret_access_key" in str(raised.value)
        assert_no_secret(str(raised.value), repr(raised.value))
    assert stores.io_stats() == listings


@pytest.mark.parametrize("setting", ["endpoint_override=127.0.0.1:9000", "scheme=http", "region=us-east-1"])
def test_a_uri_has_no_settings(setting: str):
    name = setting.partition("=")[0]
    for call in (find_segments, ls.FileSource, ls.Log):
        with pytest.raises(ValueError, match=rf"storage_options \(aws_\w+ for {name}\)"):
            call(f"s3://lake/kafka?{setting}")


@pytest.mark.usefixtures("only_options")
def test_options_travel_with_a_uri(server: Server):
    """To the files of a directory, to another process, and to the files beside one; nothing else knows the server."""
    own = DATA / "transactions-multi-segment-0"
    place = with_options(server.uri("kafka/payments-0"), server.options)
    for there in (ls.Log(place), ls.Log(pickle.loads(pickle.dumps(place)))):
        columns = ["offset", "value"]
        found = rows_of(there.records(columns=columns, isolation="read_committed"))
        assert found == rows_of(ls.Log(own).records(columns=columns, isolation="read_committed"))
        assert shape(there.validate().findings) == shape(ls.Log(own).validate().findings)
    source = ls.FileSource(with_options(server.uri(f"kafka/codec-zstd-0/{FIRST}"), server.options))
    here = ls.FileSource(DATA / "codec-zstd-0" / FIRST)
    for item in (source, pickle.loads(pickle.dumps(source))):
        assert rows_of(ls.decode(item)) == rows_of(ls.decode(here))
    matched = FoundSegments.expanded([with_options(server.uri("kafka/codec-*"), server.options)], must_exist=True)
    for place in matched:
        (segment,) = find_segments(place)
        assert size_of(segment) == len(Place(segment.path).read() or b"")
    assert len(matched) == len(CODECS)


def test_an_unknown_option_is_named_without_its_value(server: Server):
    uri = with_options(server.uri("kafka"), server.options | {"aws_secret_acess_key": SECRET})
    with pytest.raises(ValueError, match="aws_secret_acess_key") as raised:
        find_segments(uri)
    assert_no_secret(str(raised.value))


@pytest.mark.parametrize("has_tag", [True, False], ids=["with a tag", "without a tag"])
def test_bytes_of_another_object_of_the_same_size_are_not_given(server: Server, tmp_path: Path, has_tag: bool):
    """The tag tells them apart, which a server gives for what was sent to it, and without a tag the time."""
    key, place = f"replaced-{has_tag}", server.bucket / f"replaced-{has_tag}"

    def put(letter: str, time: int) -> None:
        if has_tag:
            Place(server.uri(key)).put(letter.encode() * 100)
        else:
            (tmp_path / "object").write_text(letter * 100)
            server.put(tmp_path / "object", key)
        os.utime(place, (time, time))

    put("a", 1_700_000_000)
    file = Place(server.uri(key)).open()
    assert file.read_at(0, 10) == b"a" * 10
    put("b", 1_700_000_001)
    with pytest.raises(stores.ChangedError, match="was replaced") as raised:
        file.ensure_same()
    assert_clean(raised.value, server.uri(key))
    with pytest.raises(stores.ChangedError, match="was replaced") as raised:
        file.read_at(0, 10)
    assert_clean(raised.value, server.uri(key))


@pytest.mark.usefixtures("only_options")
def test_nothing_that_is_printed_has_a_secret(server: Server, caplog: pytest.LogCaptureFixture):
    caplog.set_level(0)
    uri = with_options(server.uri(f"kafka/codec-none-0/{FIRST}"), server.options)
    (found,) = find_segments(uri)
    source, segment, log = ls.FileSource(uri), ls.Segment(uri), ls.Log(with_options(server.uri("kafka"), server.options))
    shown = (
        uri,
        found,
        found.path,
        found.directory,
        source,
        source.path,
        segment,
        segment.path,
        log,
        log.segments,
        Place(found.directory).entries(),
    )
    for thing in shown:
        for text in (str(thing), repr(thing), f"{thing}"):
            assert_no_secret(text)
            assert "aws_" not in text
            assert server.options["aws_endpoint_url"] not in text
    assert ls.decode(uri, columns=["offset"]).read_all().num_rows
    with pytest.raises(FileNotFoundError) as raised:
        ls.decode(with_options(server.uri(f"kafka/no-such-0/{FIRST}"), server.options))
    assert_clean(raised.value, f"s3://lake/kafka/no-such-0/{FIRST}")
    assert_no_secret(caplog.text)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = [sys.executable, "-m", "logsegment", *arguments]
    return subprocess.run(done, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)


def test_the_command_line_converts_from_a_store_and_not_into_one(server: Server, tmp_path: Path):
    converted = command("convert", "--to", "v2", server.uri(f"kafka/codec-none-0/{FIRST}"), "-o", str(tmp_path / "out.log"))
    assert converted.returncode == 0, converted.stderr
    refused = command("convert", "--to", "v2", str(DATA / "codec-none-0" / FIRST), "-o", server.uri("out.log"))
    assert refused.returncode == 2
    for done in (converted, refused):
        assert_no_secret(done.stdout, done.stderr)


@pytest.mark.parametrize("verb", ["cat", "verify", "stats"])
def test_the_command_line_refuses_a_uri_with_keys(verb: str):
    """It is a mistake of the user, and no bug."""
    done = command(verb, KEYED[0].format("lake/kafka/payments-0"))
    assert_no_secret(done.stdout, done.stderr)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a URI has no keys or passwords" in done.stderr
    assert "bug" not in done.stderr


@pytest.mark.usefixtures("only_options")
def test_the_command_line_shows_no_option_of_a_uri(server: Server):
    """Options travel in the text of a URI."""
    there = with_options(server.uri("kafka/payments-0"), server.options)[:]
    found = command("cat", "--columns", "offset,key,value", there)
    assert found.returncode == 0, found.stderr
    assert found.stdout == command("cat", "--columns", "offset,key,value", str(DATA / "transactions-multi-segment-0")).stdout
    missing = command("cat", with_options(server.uri("kafka/none-0"), server.options)[:])
    assert (missing.returncode, missing.stdout) == (2, "")
    wrong = command("cat", with_options(server.uri("kafka/payments-0"), server.options | {"aws_secret_access_key": "not-of-the-tests"})[:])
    assert wrong.returncode == 2
    refused = command("convert", "--to", "v2", str(DATA / "codec-none-0" / FIRST), "-o", there)
    assert refused.returncode == 2
    for done in (found, missing, wrong, refused, command("batches", "--json", there), command("verify", "--json", there)):
        assert_no_secret(done.stdout, done.stderr)


def reader_for(given: str) -> str:
    """The JVM of this session does not have the environment of its Python workers."""
    return "auto" if given == "as options" else "python"


@pytest.mark.parametrize("given", ["in the environment", "as options"])
def test_spark_reads_a_bucket(server: Server, spark: SparkSession, given: str):
    reader = spark.read.format("logsegment").option("isolation", "read_committed").option("reader", reader_for(given))
    uri = with_options(server.uri("kafka"), server.options if given == "as options" else None)[:]
    there, here = (reader.load(place) for place in (uri, str(server.bucket / "kafka")))
    columns = ["topic", "partition", "offset", "key", "value"]
    found = sorted(map(tuple, there.select(*columns).collect()), key=lambda row: row[:3])
    assert found == sorted(map(tuple, here.select(*columns).collect()), key=lambda row: row[:3])
    assert len(found) > 1000


@pytest.mark.parametrize("given", ["in the environment", "as options"])
def test_what_spark_tells_of_a_bucket_shows_no_secret(server: Server, spark: SparkSession, given: str):
    """In plans, rows and errors."""
    reader = spark.read.format("logsegment").option("reader", reader_for(given))

    def uri(key: str) -> str:
        return with_options(server.uri(key), server.options if given == "as options" else None)[:]

    frame = reader.load(uri("kafka/payments-0")).where("offset > 5")
    assert frame.count()
    batches = spark.read.format("logsegment").option("view", "batches").load(uri("kafka/payments-0"))
    paths = [row.path for row in batches.select("path").distinct().collect()]
    assert paths
    assert all(path.startswith("s3://lake/kafka/payments-0/") for path in paths)
    assert_no_secret(*paths, *(item._jdf.queryExecution().toString() for item in (frame, batches)))
    with pytest.raises(Exception, match="s3://lake/kafka/none-0") as raised:
        reader.load(uri("kafka/none-0")).count()
    assert_no_secret(str(raised.value))


def test_spark_refuses_a_uri_with_keys(spark: SparkSession):
    with pytest.raises(Exception, match="storage_options") as raised:
        spark.read.format("logsegment").load(KEYED[0].format("lake/kafka/payments-0")).count()
    assert_no_secret(str(raised.value))


def test_spark_fetches_one_per_cent_of_the_offsets_and_not_the_segment(server: Server, large: tuple[Path, str], spark: SparkSession):
    """All requests of the driver and of the tasks: the listing, look-ups in the index, the batches."""
    place, uri = large
    size, index = (place / FIRST).stat().st_size, (place / FIRST).with_suffix(".index").stat().st_size
    records = 48 << 10
    start, end = records // 2, records // 2 + records // 100
    named = {"startingOffsets": json.dumps({"large": {"0": start}}), "endingOffsets": json.dumps({"large": {"0": end}})}
    frame = spark.read.format("logsegment").options(**named).load(with_options(uri, server.options)[:])
    server.fetched = Fetched()
    assert frame.selectExpr("count(*)", "min(offset)", "max(offset)").first() == (end - start, start, end - 1)
    assert size * 0.009 < server.fetched.bytes_given < size * 0.02 + 2 * index


@pytest.mark.spark
def test_a_trigger_of_a_stream_fetches_what_is_new(server: Server, large: tuple[Path, str]):
    """The end of a log that was never seen is found through its index; then nothing is fetched but headers behind it."""
    from logsegment.spark import LogSegmentSource

    place, uri = large
    size = (place / FIRST).stat().st_size
    source = LogSegmentSource({"path": uri, "startingOffsets": "earliest"})
    reader: Any = source.streamReader(source.schema())
    server.fetched = Fetched()
    end = reader.latestOffset(reader.initialOffset(), None)
    assert end == {"large": {"0": 48 << 10}}
    assert server.fetched.bytes_given < size * 0.02
    server.fetched = Fetched()
    assert reader.latestOffset(end, None) is end
    assert server.fetched.bytes_given < 64 << 10


def test_a_stream_follows_a_bucket_to_which_segments_are_uploaded(server: Server, spark: SparkSession, tmp_path: Path):
    """Also one that is uploaded anew while it grows, and up to the high watermark that is uploaded with it (SEG-9)."""
    from pyspark.sql import DataFrame

    from growing import GrowingLog

    log = GrowingLog(tmp_path / "logs")
    batches: list[list[int]] = []

    def upload() -> None:
        for file in sorted(log.root.rglob("*")):
            if file.is_file():
                server.put(file, f"streamed/{file.relative_to(log.root)}")

    def run(**options: str) -> list[list[int]]:
        def write(batch: DataFrame, number: int) -> None:
            if offsets := [row.offset for row in batch.select("offset").orderBy("offset").collect()]:
                batches.append(offsets)

        batches.clear()
        stream = spark.readStream.format("logsegment").options(startingOffsets="earliest", **options).load(server.uri("streamed"))
        query = stream.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
        query.trigger(availableNow=True).start().awaitTermination()
        return batches

    log.append(*[10] * 5, size=100)
    log.roll()
    log.append(5, size=100)
    upload()
    assert run(maxOffsetsPerTrigger="30") == [list(range(30)), list(range(30, 55))]
    log.append(5, size=100)
    log.roll()
    log.append(10)
    log.high_watermark(65)
    upload()
    assert run() == [list(range(55, 65))]
    log.high_watermark(70)
    upload()
    assert run(maxBytesPerTrigger="1", isolation="read_committed") == [list(range(65, 70))]
    (server.bucket / f"streamed/orders-0/{60:020}.log").unlink()
    with pytest.raises(Exception, match="orders-0 was truncated at offset 60, and offsets up to 69 were read before") as caught:
        run()
    assert_no_secret(str(caught.value))


def assert_clean(error: OSError, uri: str) -> None:
    """It names the file, and no secret."""
    assert error.filename == uri
    assert_no_secret(f"{error!r} {error} {error.strerror}")
    assert json.dumps(error.filename) == json.dumps(uri)


def test_a_listing_of_several_pages_is_complete(server: Server):
    """S3 lists a thousand keys at a time."""
    keys = [f"{number:05}.bin" for number in range(1001)]
    (server.bucket / "pages").mkdir()
    for key in keys:
        (server.bucket / "pages" / key).touch()
    assert Place(server.uri("pages")).names() == keys
    assert [file.name for file in Place(server.uri("pages")).files_below()] == keys
