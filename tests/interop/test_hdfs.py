"""Segments in HDFS are read and written as those on disk: in Python, on the command line, in Spark.

It is Hadoop's mini cluster, on loopback. The process that reads has no Java.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.types import BinaryType, StructType

import corpus
import eras
import hdfs_server
import logsegment as ls
from logsegment import _core, stores
from logsegment.spark import register
from logsegment.spark.write import SegmentWriter, journal
from loopback import free_port
from spark_session import spark_session

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]
DATA = corpus.CORPUS / "modern-4.1.0/data"
TRANSACTIONS = "transactions-multi-segment-0"
LARGE = "large-0"
NAMES = ("codec-none-0", "codec-zstd-0", TRANSACTIONS, LARGE)
FIRST = f"{0:020}.log"
COLUMNS = ["key", "value", "headersRaw", "offset", "timestampMs", "partition", "topic"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hdfs_server.Server]:
    eras.need(*hdfs_server.NEEDED_COMMANDS)
    running = hdfs_server.Server(tmp_path_factory.mktemp("hdfs"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions of the corpus, and one large segment of 10,000 records with its indexes."""
    place = tmp_path_factory.mktemp("here") / "kafka"
    for name in NAMES[:-1]:
        shutil.copytree(DATA / name, place / name)
    (place / LARGE).mkdir()
    ls.encode(pa.table({"value": [b"v" * 2000] * 10_000}), out=place / LARGE / FIRST, batch_bytes=16 << 10)
    _core.rebuild_indexes([(place / LARGE / FIRST, 0)], place / LARGE)
    return place


@pytest.fixture(scope="module")
def there(server: hdfs_server.Server, here: Path) -> str:
    """The same below `/kafka` in HDFS."""
    uri = server.uri("kafka")
    for file in stores.walk(str(here)):
        stores.put_file(file.path, f"{uri}/{Path(file.path).relative_to(here)}")
    return uri


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    session = spark_session()
    register(session)
    return session


def values(log: str) -> list[tuple[int, str]]:
    rows = ls.Log(log).records(columns=["offset", "value"]).to_pyarrow().to_pylist()
    return [(row["offset"], row["value"].decode()) for row in rows]


def names(uri: str) -> list[str]:
    return [entry.name for entry in stores.entries(uri)]


def test_paths_count_from_the_root(server: hdfs_server.Server, here: Path, there: str) -> None:
    """And not from the directory of the user. Hadoop's shell sees each file where its URI says, and no others."""
    assert server.tree("/kafka") == sorted(f"/kafka/{path.relative_to(here)}" for path in here.rglob("*"))
    assert names(there) == sorted(NAMES)
    assert "kafka" in names(server.uri()) == [entry.name for entry in stores.entries(server.uri().rstrip("/"))]
    assert names(there.replace("//", "//another@")) == names(there)


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("name", NAMES)
def test_records_are_those_of_the_files(here: Path, there: str, name: str, level: Literal["read_uncommitted", "read_committed"]) -> None:
    mine, theirs = (ls.Log(f"{place}/{name}").records(columns=COLUMNS, isolation=level).to_pyarrow() for place in (here, there))
    assert theirs.equals(mine)
    assert mine.num_rows > 0
    assert name != LARGE or mine.num_rows == 10_000


@pytest.mark.parametrize("name", NAMES)
def test_validation_finds_the_same(here: Path, there: str, name: str) -> None:
    def found(place: str) -> list[tuple[Any, ...]]:
        return [(one.rule, one.position, one.path.rpartition("/")[2]) for one in ls.Log(place).validate().findings]

    assert found(f"{there}/{name}") == found(f"{here}/{name}")


def test_one_per_cent_of_the_offsets_fetches_about_one_per_cent(here: Path, there: str) -> None:
    before = stores.io_stats().bytes_fetched
    rows = ls.Log(f"{there}/{LARGE}").records(columns=["offset"], start_offset=5000, end_offset=5100).read_all().num_rows
    fetched = stores.io_stats().bytes_fetched - before
    size = (here / LARGE / FIRST).stat().st_size
    assert rows == 100
    assert size * 0.009 < fetched < size * 0.02 + (here / LARGE / FIRST).with_suffix(".index").stat().st_size


@pytest.mark.parametrize(
    "verb", [["cat", "--offset", "10..20", "--columns", "offset,value"], ["batches", "--json"]], ids=lambda verb: verb[0]
)
def test_the_command_line_takes_uris(here: Path, there: str, verb: list[str]) -> None:
    mine, theirs = (
        subprocess.run(
            [sys.executable, "-m", "logsegment", *verb, f"{place}/{TRANSACTIONS}"], env=environment(), capture_output=True, text=True
        )
        for place in (here, there)
    )
    assert theirs.returncode == 0, theirs.stderr[-4000:]
    assert theirs.stdout.replace(there, str(here)) == mine.stdout
    assert len(theirs.stdout.splitlines()) > 5


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(ls.__file__).parents[1])}


def read_first(uri: str) -> object:
    return ls.decode(ls.FileSource(f"{uri}/{FIRST}")).read_all()


def walked(uri: str) -> object:
    return list(stores.walk(uri))


@pytest.mark.parametrize("ask", [ls.Log, read_first, stores.entry_of, stores.entries, walked], ids=lambda ask: ask.__name__)
def test_what_is_missing_is_a_file_not_found(server: hdfs_server.Server, ask: Callable[[str], object]) -> None:
    """Of a directory as well as of a file: an empty log is another thing."""
    uri = server.uri("none-0")
    file = f"/{FIRST}" if ask is read_first else ""
    with pytest.raises(FileNotFoundError, match=rf"^\[Errno 2\] No such file or directory: '{uri}{file}'$"):
        ask(uri)


def test_a_staged_file_is_renamed_once_and_missed_when_it_is_gone(server: hdfs_server.Server) -> None:
    """To repeat a step is harmless."""
    source, place = server.uri("settled/staged/a.log"), server.uri("settled/orders-0/a.log")
    stores.put_bytes(source, b"a")
    for _ in range(2):
        stores.settle(source, place)
        assert server.tree("/settled") == ["/settled/orders-0", "/settled/orders-0/a.log", "/settled/staged"]
        assert stores.read_file(place, 10) == b"a"
    for _ in range(2):
        stores.unsettle(source, place)
        assert server.tree("/settled") == ["/settled/orders-0", "/settled/staged", "/settled/staged/a.log"]
        assert stores.read_file(source, 10) == b"a"
    stores.remove(source)
    with pytest.raises(FileNotFoundError, match=rf"No such file or directory: '{source}'"):
        stores.settle(source, place)
    stores.unsettle(source, place)
    assert server.tree("/settled") == ["/settled/orders-0", "/settled/staged"]


@pytest.mark.parametrize("made", [0, 1, 2, 3])
def test_a_commit_that_a_crash_interrupts_is_finished_by_the_next(
    server: hdfs_server.Server, monkeypatch: pytest.MonkeyPatch, made: int
) -> None:
    """After so many renames. Files are renamed there, where an object store copies them."""
    target = server.uri(f"crash-{made}")
    write(target, "a")
    move = journal._make

    def crash(place: str, moves: list[journal.Move]) -> None:
        move(place, moves[:made])
        raise KeyboardInterrupt

    with monkeypatch.context() as crashing:
        crashing.setattr(journal, "_make", crash)
        with pytest.raises(KeyboardInterrupt):
            write(target, "b", "c")
    write(target, "d")
    assert values(f"{target}/orders-0") == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]


def write(target: str, *texts: str) -> None:
    one = SegmentWriter({"path": target, "topic": "orders"}, StructType().add("value", BinaryType()), False)
    one.commit([one.write(iter([pa.record_batch({"value": [text.encode() for text in texts]})]))])


def test_spark_reads_the_files_there(spark: SparkSession, here: Path, there: str) -> None:
    def read(place: str) -> list[tuple[Any, ...]]:
        frame = spark.read.format("logsegment").option("isolation", "read_committed").load(place)
        totals = [expr(text) for text in ("count(*)", "sum(offset)", "sum(length(value))")]
        return [tuple(row) for row in frame.groupBy("topic", "partition").agg(*totals).orderBy("topic", "partition").collect()]

    assert read(there) == read(str(here))
    assert len(read(there)) == 4


@pytest.fixture(scope="module")
def written(server: hdfs_server.Server, spark: SparkSession) -> str:
    """A log to which Spark appended twice."""
    uri = server.uri("written")
    for _ in range(2):
        append(spark, uri, tasks=1)
    return uri


def append(spark: SparkSession, uri: str, tasks: int) -> None:
    frame = spark.range(0, 100, 1, tasks).selectExpr("cast(id as string) as value", "0 as partition")
    frame.write.format("logsegment").option("topic", "orders").mode("append").save(uri)


def test_spark_appends_and_refuses_a_second_task(server: hdfs_server.Server, spark: SparkSession, written: str) -> None:
    """Nothing of the commits and of the refused write is left."""
    refused = "tasks 0 and 1 both have rows of orders-0: offsets cannot be changed in a store"
    with pytest.raises(Exception, match=refused):
        append(spark, written, tasks=2)
    assert values(f"{written}/orders-0") == [(offset, str(offset % 100)) for offset in range(200)]
    suffixes = ("index", "log", "timeindex")
    files = [f"orders-0/{base:020}.{suffix}" for base in (0, 100) for suffix in suffixes]
    assert server.tree("/written") == [f"/written/{name}" for name in ("orders-0", *files)]


def test_a_stream_of_spark_follows(spark: SparkSession, written: str, tmp_path: Path) -> None:
    batches: list[int] = []
    stream = spark.readStream.format("logsegment").options(startingOffsets="earliest", maxOffsetsPerTrigger="150").load(written)
    writing = stream.writeStream.foreachBatch(lambda batch, number: batches.append(batch.count()))
    writing.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
    assert batches == [150, 50]


@pytest.mark.parametrize("ask", ["ls.Log", "stores.exists", "stores.open_file"])
def test_a_name_node_that_is_gone_is_a_connection_error(ask: str) -> None:
    """Within two minutes. A writer that took it for an empty directory would begin a log anew."""
    uri = f"hdfs://127.0.0.1:{free_port()}/orders-0"
    told = f"try: {ask}(sys.argv[1])\nexcept ConnectionError as error: print(error)"
    told = f"import sys, logsegment as ls\nfrom logsegment import stores\n{told}"
    done = subprocess.run([sys.executable, "-c", told, uri], env=environment(), capture_output=True, text=True, timeout=120)
    assert done.stdout.strip().endswith(f"'{uri}'"), done.stderr[-4000:]
    assert "the store does not respond" in done.stdout
