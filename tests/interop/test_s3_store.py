"""Segments in an object store read as those on disk do: in Python, on the command line, in Spark; in ranges, with clear errors.

The store is s3proxy, a server that speaks S3, over a directory; a gate before it counts what is fetched.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import corpus
import eras
import logsegment as ls
from logsegment import _core, stores
from logsegment.segment_files.discovery import find_segments, size_of
from logsegment.stores.listing import matching
from loopback import free_port
from s3_server import KEY, SECRET, Fetched, Server

pytestmark = pytest.mark.interop
DATA = corpus.CORPUS / "modern-4.1.0/data"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST = "00000000000000000000.log"
COLUMNS = ["key", "value", "headersRaw", "offset", "timestampMs", "partition", "topic"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    eras.need("java", "mvn")
    running = Server(tmp_path_factory.mktemp("s3"))
    for codec in CODECS:
        running.put(DATA / f"codec-{codec}-0", f"kafka/codec-{codec}-0")
    running.put(DATA / "transactions-multi-segment-0", "kafka/payments-0")
    yield running
    running.close()


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


def rows_of(stream: Any) -> list[corpus.Row]:
    return corpus.rows_of(stream)


def shape(findings: list[ls.Finding]) -> list[tuple[Any, ...]]:
    return sorted((found.rule, found.severity, found.position, found.base_offset, found.path.rpartition("/")[2]) for found in findings)


def test_segments_of_a_bucket_are_found_in_one_listing(server: Server):
    before = stores.io_stats().listings
    found = find_segments(server.uri("kafka"))
    assert stores.io_stats().listings - before <= 2
    here = find_segments(server.bucket / "kafka")
    assert [(one.topic, one.partition, one.base_offset) for one in found] == [(one.topic, one.partition, one.base_offset) for one in here]
    assert list(map(size_of, found)) == list(map(size_of, here))
    assert len(found) == len(CODECS) + 6


@pytest.mark.parametrize("codec", CODECS)
def test_records_are_those_of_the_file(server: Server, codec: str):
    source = pickle.loads(pickle.dumps(ls.FileSource(server.uri(f"kafka/codec-{codec}-0/{FIRST}"))))
    here = ls.FileSource(DATA / f"codec-{codec}-0" / FIRST)
    for threads in (1, 2):
        assert rows_of(ls.decode(source, threads=threads)) == rows_of(ls.decode(here))
    assert rows_of(ls.batches(source)) == rows_of(ls.batches(here))


def test_a_log_reads_committed_records_as_here(server: Server):
    there, here = ls.Log(server.uri("kafka/payments-0")), ls.Log(DATA / "transactions-multi-segment-0")
    for isolation in ("read_committed", "read_uncommitted"):
        found = rows_of(there.records(columns=COLUMNS[:-1], isolation=isolation))
        assert found == rows_of(here.records(columns=COLUMNS[:-1], isolation=isolation))
    assert {row["topic"] for row in rows_of(there.records(columns=["topic"]))} == {"payments"}
    whole = ls.FileSource(server.uri(f"kafka/payments-0/{FIRST}"))
    own = ls.FileSource(DATA / "transactions-multi-segment-0" / FIRST)
    assert rows_of(ls.decode(whole, isolation="read_committed")) == rows_of(ls.decode(own, isolation="read_committed"))
    assert ls.scan_transactions([whole]) == ls.scan_transactions([own])


def test_sidecar_files_are_read_there_too(server: Server):
    there, here = ls.Log(server.uri("kafka/payments-0")), ls.Log(DATA / "transactions-multi-segment-0")
    for one, other in zip(there.segments, here.segments, strict=True):
        assert list(one.offset_index) == list(other.offset_index)
        assert list(one.time_index) == list(other.time_index)
        assert list(one.aborted_transactions) == list(other.aborted_transactions)
        assert list(one.producer_snapshot) == list(other.producer_snapshot)
        assert one.offset_for_timestamp(0) == other.offset_for_timestamp(0)
    assert list(there.leader_epochs) == list(here.leader_epochs)
    assert list(there.producer_snapshot) == list(here.producer_snapshot)
    assert shape(there.validate().findings) == shape(here.validate().findings)


def test_a_stale_index_is_reported_with_a_uri_that_shows_no_secret(server: Server):
    server.put(DATA / "transactions-multi-segment-0", "damaged/payments-0")
    index = server.bucket / "damaged/payments-0/00000000000000000000.index"
    index.write_bytes(b"\xff" * 8)
    found = [finding for finding in ls.Log(server.uri("damaged/payments-0")).validate().findings if ".index" in finding.path]
    assert found
    assert found[0].path.startswith("s3://lake/damaged/payments-0/00000000000000000000.index@")


def test_one_per_cent_of_the_offsets_fetches_about_one_per_cent(server: Server, large: tuple[Path, str]):
    """A look-up fetches the offset index, two windows of headers, and the batches; never the segment."""
    place, uri = large
    size, index = (place / FIRST).stat().st_size, (place / FIRST).with_suffix(".index").stat().st_size
    records = 48 << 10
    start = records // 2
    server.fetched = Fetched()
    before = stores.io_stats()
    segment = ls.Segment(f"{uri.partition('?')[0]}/{FIRST}?{uri.partition('?')[2]}")
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
    assert [one.base_offset for one in log.segments] == [one.base_offset for one in ls.Log(source).segments]
    assert [list(one.offset_index) for one in log.segments] == [list(one.offset_index) for one in ls.Log(source).segments]
    columns = ["offset", "value"]
    there, here = (one.records(columns=columns, isolation="read_committed") for one in (log, ls.Log(source)))
    assert rows_of(there) == rows_of(here)


def test_a_segment_that_was_uploaded_twice_is_not_read_twice(server: Server):
    """TS-7: a re-tried upload has another id."""
    for name in ("abcdefghijklmnop-_1234", "bbcdefghijklmnop-_1234"):
        server.put(DATA / "codec-none-0" / FIRST, f"twice/orders-7-PnnzqOgSQ4yNq8gSgDWTTw/00000000000000000000-{name}.log")
    with pytest.raises(FileExistsError, match="uploaded more than once"):
        ls.Log(server.uri("twice"))


def test_patterns_are_found_in_a_store(server: Server):
    found = matching(server.uri("kafka/codec-[gl]*-0"))
    assert list(map(str, found)) == ["s3://lake/kafka/codec-gzip-0", "s3://lake/kafka/codec-lz4-0"]
    with pytest.raises(FileNotFoundError, match="matches"):
        matching(server.uri("kafka/nothing-*"))


def test_a_missing_object_is_a_file_not_found(server: Server):
    for call in (find_segments, ls.Log, ls.Segment):
        with pytest.raises(FileNotFoundError) as raised:
            call(server.uri("kafka/none-0/00000000000000000000.log"))
        assert_clean(raised.value, "s3://lake/kafka/none-0/00000000000000000000.log")
    with pytest.raises(FileNotFoundError) as raised:
        ls.decode(ls.FileSource(server.uri("none.log"))).read_all()
    assert_clean(raised.value, "s3://lake/none.log")


def test_a_wrong_secret_is_a_permission_error(server: Server):
    uri = server.uri(f"kafka/codec-none-0/{FIRST}", secret="wrong-secret-of-the-tests")
    for call in (find_segments, lambda uri: ls.decode(ls.FileSource(uri)).read_all()):
        with pytest.raises(PermissionError) as raised:
            call(uri)
        assert_clean(raised.value, f"s3://lake/kafka/codec-none-0/{FIRST}")
        assert "wrong-secret" not in str(raised.value)


def test_an_endpoint_that_is_down_is_a_connection_error():
    uri = f"s3://key:top-secret@lake/orders-0?endpoint_override=127.0.0.1:{free_port()}&scheme=http&region=us-east-1"
    with pytest.raises(ConnectionError) as raised:
        find_segments(uri)
    assert_clean(raised.value, "s3://lake/orders-0")


def test_an_object_that_changes_while_it_is_read(server: Server, large: tuple[Path, str]):
    place, _ = large
    server.put(place / FIRST, "changing-0/" + FIRST)
    stream = ls.decode(ls.FileSource(server.uri("changing-0/" + FIRST)), columns=["offset"], batch_size=1000)
    next(stream)
    target = server.bucket / "changing-0" / FIRST
    content = target.read_bytes()
    target.unlink()
    target.write_bytes(content[: len(content) // 2])
    with pytest.raises(stores.ChangedError, match="was replaced") as raised:
        stream.read_all()
    assert_clean(raised.value, "s3://lake/changing-0/" + FIRST)


def test_an_object_that_goes_while_it_is_read(server: Server, large: tuple[Path, str]):
    place, _ = large
    server.put(place / FIRST, "going-0/" + FIRST)
    stream = ls.decode(ls.FileSource(server.uri("going-0/" + FIRST)), columns=["offset"], batch_size=1000)
    next(stream)
    (server.bucket / "going-0" / FIRST).unlink()
    with pytest.raises(FileNotFoundError) as raised:
        stream.read_all()
    assert_clean(raised.value, "s3://lake/going-0/" + FIRST)


def test_nothing_that_is_printed_has_a_secret(server: Server):
    uri = server.uri(f"kafka/codec-none-0/{FIRST}")
    (found,) = find_segments(uri)
    source, segment = ls.FileSource(uri), ls.Segment(uri)
    for thing in (found, found.path, found.directory, source, source.path, segment, segment.path, ls.Log(server.uri("kafka"))):
        for text in (str(thing), repr(thing), f"{thing}"):
            assert SECRET not in text
            assert KEY not in text
            assert "endpoint_override" not in text
    assert ls.decode(uri, columns=["offset"]).read_all().num_rows
    with pytest.raises(FileNotFoundError) as raised:
        ls.decode(uri.replace("codec-none-0", "no-such-0"))
    assert_clean(raised.value, f"s3://lake/kafka/no-such-0/{FIRST}")


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = [sys.executable, "-m", "logsegment", *arguments]
    return subprocess.run(done, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)


def test_the_command_line_takes_uris(server: Server, tmp_path: Path):
    there, here = server.uri("kafka/payments-0"), str(DATA / "transactions-multi-segment-0")
    columns = ["--columns", "offset,key,value"]
    for verb in (["cat", "--isolation", "read_committed", *columns], ["cat", "--offset", "10..20", *columns], ["batches", "--json"]):
        found, expected = command(*verb, there), command(*verb, here)
        assert (found.returncode, expected.returncode) == (0, 0), found.stderr
        assert found.stdout.replace("s3://lake/kafka/payments-0", here) == expected.stdout
    verified = command("verify", "--json", there)
    assert verified.returncode == 0, verified.stderr
    assert len(verified.stdout.splitlines()) == len(command("verify", "--json", here).stdout.splitlines())
    missing = command("cat", server.uri("kafka/none-0"))
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "s3://lake/kafka/none-0: No such file or directory" in missing.stderr
    converted = command("convert", "--to", "v2", server.uri(f"kafka/codec-none-0/{FIRST}"), "-o", str(tmp_path / "out.log"))
    assert converted.returncode == 0, converted.stderr
    refused = command("convert", "--to", "v2", here + "/" + FIRST, "-o", server.uri("out.log"))
    assert refused.returncode == 2
    for done in (verified, missing, converted, refused):
        assert SECRET not in done.stdout + done.stderr
        assert KEY not in done.stdout + done.stderr


@pytest.mark.spark
def test_spark_reads_a_bucket(server: Server):
    from logsegment.spark import register
    from spark_session import spark_session

    spark = spark_session()
    register(spark)
    reader = spark.read.format("logsegment").option("isolation", "read_committed")
    there, here = (reader.load(place) for place in (server.uri("kafka"), str(server.bucket / "kafka")))
    columns = ["topic", "partition", "offset", "key", "value"]
    found = sorted(map(tuple, there.select(*columns).collect()), key=lambda row: row[:3])
    assert found == sorted(map(tuple, here.select(*columns).collect()), key=lambda row: row[:3])
    assert len(found) > 1000


@pytest.mark.spark
def test_spark_fetches_one_per_cent_of_the_offsets_and_not_the_segment(server: Server, large: tuple[Path, str]):
    """All requests of the driver and of the tasks: the listing, look-ups in the index, the batches."""
    from logsegment.spark import register
    from spark_session import spark_session

    place, uri = large
    size, index = (place / FIRST).stat().st_size, (place / FIRST).with_suffix(".index").stat().st_size
    records = 48 << 10
    start, end = records // 2, records // 2 + records // 100
    spark = spark_session()
    register(spark)
    named = {"startingOffsets": json.dumps({"large": {"0": start}}), "endingOffsets": json.dumps({"large": {"0": end}})}
    frame = spark.read.format("logsegment").options(**named).load(uri)
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


@pytest.mark.spark
def test_a_stream_follows_a_bucket_to_which_segments_are_uploaded(server: Server, tmp_path: Path):
    """Also one that is uploaded anew while it grows, and up to the high watermark that is uploaded with it (SEG-9)."""
    from pyspark.sql import DataFrame

    from growing import GrowingLog
    from spark_session import spark_session

    spark = spark_session()
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
    # Spark itself may print the whole URI in the plan that it shows below.
    told = [line for line in str(caught.value).splitlines() if "was truncated" in line]
    assert told
    assert all(SECRET not in line for line in told)


def assert_clean(error: OSError, uri: str) -> None:
    """It names the file, and no secret."""
    assert error.filename == uri
    told = f"{error!r} {error} {error.strerror}"
    assert SECRET not in told
    assert KEY not in told
    assert json.dumps(error.filename) == json.dumps(uri)
