"""The stores that test_every_store.py runs on: a real server of each protocol, started when the first test needs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StructType

import azure_server
import corpus
import eras
import gcs_server
import hdfs_server
import logsegment as ls
import s3_server
import store_server
from logsegment import _core
from logsegment._core import Place
from logsegment._places import with_options
from logsegment.spark.write import SegmentWriter
from store_server import GatedServer

DATA = corpus.CORPUS / "modern-4.1.0/data"
TRANSACTIONS, LARGE, DAMAGED = "transactions-multi-segment-0", "large-0", "damaged-0"
CODECS = tuple(f"codec-{codec}-0" for codec in ("none", "gzip", "snappy", "lz4", "zstd"))
NAMES = (*CODECS, TRANSACTIONS, LARGE)
FIRST = f"{0:020}.log"
RECORDS = 10_000
EVERY = ("s3", "gs", "az", "abfss", "hdfs")
#: Stores with keys and buckets, whose servers have a gate.
OBJECT_STORES = EVERY[:-1]
#: fake-gcs-server checks no credentials, and has no uploads in several parts.
CHECKS_KEYS = ("s3", "az", "abfss")
HAS_PARTS = ("s3", "az", "abfss", "hdfs")
#: fake-gcs-server answers 500 for a listing of a missing bucket, and HDFS has no buckets.
LISTS_MISSING_BUCKETS = CHECKS_KEYS
MODULES: dict[str, Any] = {"s3": s3_server, "gs": gcs_server, "az": azure_server, "hdfs": hdfs_server}
Server: TypeAlias = Any
#: Directories that are the root of a store for tests: the two schemes of Azure share a container.
ROOTS = {"az": "blobs", "hdfs": "stores"}
SECRETS = {
    "s3": (s3_server.KEY, s3_server.SECRET),
    "gs": (gcs_server.PRIVATE_KEY,),
    "az": (azure_server.KEY, azure_server.KEY[:20]),
    "abfss": (azure_server.KEY, azure_server.KEY[:20]),
}
MISSING = {
    "s3": "s3://no-such-bucket",
    "gs": "gs://no-such-bucket",
    "az": "az://no-such-container",
    "abfss": f"abfss://no-such-container@{azure_server.ACCOUNT}.dfs.core.windows.net",
}
#: Beginnings of variables.
VARIABLES = ("AWS_", "AZURE_", "GOOGLE_", "HADOOP_")
#: Keys that the servers do not accept.
WRONG = {
    "s3": {"aws_secret_access_key": "wrong-secret-of-the-tests"},
    "az": {"azure_storage_account_key": "d3Jvbmctc2VjcmV0LW9mLXRoZS10ZXN0cw=="},
}
WRONG["abfss"] = WRONG["az"]


@dataclass(frozen=True)
class Store:
    """A running store as tests reach it.

    Attributes:
        name: one of EVERY.
        root: the URI of the bucket, or of a directory in it.
        options: options for readers and writers.
        secrets: texts that no message may have.
        missing_root: the URI of a bucket that does not exist.
        gate: the gate before the server; HDFS has none.
    """

    name: str
    root: str
    options: dict[str, str]
    secrets: tuple[str, ...] = ()
    missing_root: str = ""
    gate: GatedServer | None = None

    def uri(self, key: str = "") -> str:
        """The URI of a key as users write it."""
        return f"{self.root}/{key}".rstrip("/")

    def place(self, key: str = "", **options: str) -> str:
        """The URI of a key with the options of the store and further ones, as it travels inside the package."""
        return with_options(self.uri(key), self.options | options)

    @property
    def wrong_options(self) -> dict[str, str]:
        """The options of the store with a key that the server does not accept."""
        return self.options | WRONG[self.name]

    @property
    def flags(self) -> list[str]:
        """The options for the command line."""
        return [word for name, value in self.options.items() for word in ("--storage-option", f"{name}={value}")]

    def assert_clean(self, error: OSError, uri: str) -> None:
        """Check that an error names the file, and no secret."""
        assert error.filename == uri
        self.assert_no_secret(f"{error!r} {error} {error.strerror} {error.filename!r}")

    def assert_no_secret(self, *texts: str) -> None:
        """Check that no text has a secret, as it is or quoted."""
        store_server.assert_no_secret([*self.secrets, "d3Jvbmct", "wrong-secret"], *texts)


@contextmanager
def running(place: Path) -> Iterator[Callable[[str], Store]]:
    """Start the stores that are called for by name, and stop them at the end. Both schemes of Azure have one server."""
    servers: dict[str, Server] = {}

    def started(name: str) -> Server:
        if name not in servers:
            module = MODULES[name]
            eras.need(*module.NEEDED_COMMANDS)
            (place / name).mkdir()
            servers[name] = module.Server(place / name)
        return servers[name]

    def named(name: str) -> Store:
        server = started("az" if name == "abfss" else name)
        gate = server if isinstance(server, GatedServer) else None
        root = server.abfss_uri("files") if name == "abfss" else server.uri(ROOTS.get(name, ""))
        return Store(name, root.rstrip("/"), server.options, SECRETS.get(name, ()), MISSING.get(name, ""), gate)

    try:
        yield named
    finally:
        for server in servers.values():
            server.close()


def clear(environment: pytest.MonkeyPatch) -> None:
    """Remove what clients of stores read from the environment."""
    for name in [name for name in os.environ if name.startswith(VARIABLES)]:
        environment.delenv(name)


def files_of_this_machine(place: Path) -> Path:
    """Partitions of the corpus below `kafka`, with a large segment; and a damaged one with a damaged index below `damaged`."""
    for name in (*CODECS, TRANSACTIONS):
        shutil.copytree(DATA / name, place / "kafka" / name)
    large = place / "kafka" / LARGE
    large.mkdir()
    table = pa.table(
        {"value": pa.array([b"v" * 700] * RECORDS, pa.binary()), "timestamp": pa.array(range(RECORDS), pa.timestamp("ms", "UTC"))}
    )
    ls.encode(table, out=large / FIRST, batch_bytes=16 << 10)
    _core.rebuild_indexes([(large / FIRST, 0)], large)
    shutil.copytree(DATA / CODECS[0], place / "damaged" / DAMAGED)
    content = bytearray((place / "damaged" / DAMAGED / FIRST).read_bytes())
    content[len(content) // 2] ^= 1
    (place / "damaged" / DAMAGED / FIRST).write_bytes(content)
    (place / "damaged" / DAMAGED / FIRST).with_suffix(".index").write_bytes(b"\xff" * 8)
    return place


def send(directory: Path, store: Store) -> None:
    """Copy the files of a directory into a store, a few at a time: a name node takes most of a second for each."""

    def put(path: Path) -> None:
        Place(store.place(str(path.relative_to(directory)))).put_file(str(path))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, [path for path in directory.rglob("*") if path.is_file()]))


def read(uri: str, store: Store, **options: str) -> Any:
    return ls.decode(ls.FileSource(uri, storage_options=store.options | options)).read_all()


def logged(uri: str, store: Store, **options: str) -> Any:
    return ls.Log(uri, storage_options=store.options | options)


def listed(uri: str, store: Store, **options: str) -> Any:
    return Place(store.place(uri[len(store.root) + 1 :], **options)).entries()


def walked(uri: str, store: Store, **options: str) -> Any:
    return list(Place(store.place(uri[len(store.root) + 1 :], **options)).files_below())


#: Ways to ask for a file or a directory.
ASKS = pytest.mark.parametrize("ask", [read, logged, listed, walked], ids=lambda ask: ask.__name__)


def writer(store: Store, key: str, **options: str) -> SegmentWriter:
    options |= {f"storage.{name}": value for name, value in store.options.items()}
    return SegmentWriter({"path": store.uri(key), "topic": "orders", **options}, StructType().add("value", BinaryType()), False)


def write(store: Store, key: str, *texts: str) -> None:
    one = writer(store, key)
    one.commit([attempt(one, *texts)])


def attempt(one: SegmentWriter, *texts: str) -> Any:
    return one.write(iter([pa.record_batch({"value": [text.encode() for text in texts]})]))


def values(store: Store, key: str) -> list[tuple[int, str]]:
    rows = ls.Log(store.uri(key), storage_options=store.options).records(columns=["offset", "value"]).to_pyarrow().to_pylist()
    return [(row["offset"], row["value"].decode()) for row in rows]


def files(store: Store, key: str) -> list[str]:
    place = store.place(key)
    return sorted(file.path[len(place) + 1 :] for file in Place(place).files_below()) if Place(place).exists() else []


def files_of(*bases: int) -> list[str]:
    return [f"orders-0/{base:020}.{suffix}" for base in bases for suffix in ("index", "log", "timeindex")]


def reading(store: Store, here: Path, key: str) -> Any:
    """A stream over a copy of the large segment, of which the first rows were read."""
    Place(store.place(key)).put_file(str(here / "kafka" / LARGE / FIRST))
    stream = ls.decode(ls.FileSource(store.uri(key), storage_options=store.options), columns=["offset"], batch_size=100, threads=1)
    next(stream)
    return stream


def shape(findings: list[ls.Finding]) -> list[tuple[Any, ...]]:
    return sorted((found.rule, found.severity, found.position, found.base_offset or 0, found.path.rpartition("/")[2]) for found in findings)
