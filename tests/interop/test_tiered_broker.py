"""A Kafka 4 broker starts on what `restore` gives back from an encrypted prefix, here and in a store, and serves all of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import corpus
import eras
import librdkafka
import logsegment as ls
import tiered_corpus as tiered
from kraft import Broker
from s3_server import Fetched, Server, serving
from tiered_leaders import two_leaders, upload, whole_bytes

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]
SOURCE = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
COLUMNS = ["offset", "key", "value"]


@pytest.fixture(scope="module")
def uploaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("uploaded")
    tiered.Uploader(root, "payments", chunk_size=3000, compresses=True, key_id="key1").partition(SOURCE)
    return root


def served(broker: Broker, restored: Path, *, trusted: bool = False) -> int:
    """How many records a broker gives that starts on a restored directory; `trusted` as in `Broker.replace`."""
    broker.start()
    broker.create_topics(["payments"])
    broker.stop()
    files = sorted(path for path in (restored / "payments-0").iterdir() if path.name != "partition.metadata")
    broker.replace("payments", files, trusted=trusted)
    broker.start()
    records = librdkafka.consume(broker.servers, ["payments"])["payments"]
    broker.stop()
    return len(records)


def committed() -> list[int]:
    rows = ls.Log(SOURCE).records(columns=["offset"], isolation="read_committed").read_all().to_pylist()
    return [row["offset"] for row in rows]


def test_a_broker_starts_on_a_restored_directory(new_broker: Callable[[], Broker], uploaded: Path, tmp_path: Path):
    ls.restore(uploaded, tmp_path / "restored", decryption_keys=tiered.KEYS)
    broker = new_broker()
    assert served(broker, tmp_path / "restored") == len(committed())
    for path in SOURCE.glob("*.log"):
        assert (broker.partition("payments") / path.name).read_bytes() == path.read_bytes()


def test_a_broker_starts_on_what_was_made_anew(new_broker: Callable[[], Broker], uploaded: Path, tmp_path: Path):
    """TS-37: all indexes and the snapshot of a segment are damaged, and those behind the last one."""
    prefix = Path(shutil.copytree(uploaded, tmp_path / "uploaded"))
    objects = sorted(prefix.glob("**/*.indexes"))
    for indexes in (objects[1], objects[-1]):
        data = bytearray(indexes.read_bytes())
        parts = json.loads(indexes.with_suffix(".rsm-manifest").read_text())["segmentIndexes"]
        for member in ("offset", "timestamp", "producerSnapshot", "transaction"):
            if parts[member] and parts[member]["size"]:
                data[parts[member]["position"] + 14] ^= 1
        indexes.write_bytes(data)
    done = ls.restore(prefix, tmp_path / "restored", decryption_keys=tiered.KEYS)
    made = {Path(told.partition(": ")[0]).name for told in done.made_anew}
    assert made >= {f"{20:020}.index", f"{20:020}.timeindex", f"{20:020}.txnindex", f"{43:020}.snapshot", f"{88:020}.snapshot"}
    broker = new_broker()
    assert served(broker, tmp_path / "restored", trusted=True) == len(committed())
    broker.start()
    for offset in range(20, 43):
        assert librdkafka.first_from(broker.servers, "payments", offset).offset == min(item for item in committed() if item >= offset)
    broker.stop()
    for path in [*SOURCE.glob("*.log"), *(tmp_path / "restored/payments-0").glob(f"{20:020}.*index")]:
        given = tmp_path / "restored/payments-0" / path.name
        assert (broker.partition("payments") / path.name).read_bytes() == given.read_bytes(), "it was left as it was"


def test_a_broker_starts_on_what_two_leaders_uploaded(new_broker: Callable[[], Broker], tmp_path: Path):
    """TS-44: their segments overlap, and a broker that loads a directory takes no offset twice."""
    first, second = two_leaders(tmp_path / "replicas", SOURCE)
    uploader = tiered.Uploader(tmp_path, "payments", chunk_size=3000, compresses=True, key_id="key1")
    upload(uploader, first, "first", 1, most=3)
    upload(uploader, second, "second", 2, skip=1)
    done = ls.restore(tmp_path / "prefix", tmp_path / "restored", decryption_keys=tiered.KEYS)
    assert len(done.left_out) >= 2
    broker = new_broker()
    assert served(broker, tmp_path / "restored") == len(committed())
    assert whole_bytes(ls.Log(broker.partition("payments"))) == whole_bytes(ls.Log(second))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    eras.need("java", "mvn")
    with serving(tmp_path_factory.mktemp("s3")) as running:
        yield running


def test_a_prefix_in_a_store(server: Server, uploaded: Path, tmp_path: Path):
    server.put(uploaded / "prefix", "tiered/prefix")
    uri = server.uri("tiered/prefix")
    there = ls.Log(uri, decryption_keys=tiered.KEYS)
    assert there.records(columns=COLUMNS).to_pyarrow() == ls.Log(SOURCE).records(columns=COLUMNS).to_pyarrow()
    assert str(there.segments[0].path).startswith("s3://lake/tiered/prefix/payments-")
    for isolation in ("read_committed", "read_uncommitted"):
        asked = {"columns": COLUMNS, "isolation": isolation, "start_offset": 20}
        assert there.records(**asked).to_pyarrow() == ls.Log(SOURCE).records(**asked).to_pyarrow()
    assert there.validate().ok
    ls.restore(uri, tmp_path / "restored", decryption_keys=tiered.KEYS)
    for path in SOURCE.glob("*.log"):
        assert (tmp_path / "restored/payments-0" / path.name).read_bytes() == path.read_bytes()


def test_a_look_up_in_a_store_fetches_its_chunks(server: Server, tmp_path: Path):
    """One of forty chunks and what a look-up needs, as the server counts it."""
    import pyarrow as pa

    from logsegment import _core

    place = tmp_path / "large-0"
    place.mkdir()
    log = place / "00000000000000000000.log"
    ls.encode(pa.table({"value": pa.array([b"v" * 1000] * 10000, pa.binary())}), out=log, batch_bytes=16 << 10)
    _core.rebuild_indexes([(log, 0)], place)
    stored = tiered.Uploader(tmp_path, "large", chunk_size=256 << 10, key_id="key2").segment(log, 9999)
    server.put(tmp_path / "prefix", "lookup/prefix")
    segment = ls.Log(server.uri("lookup/prefix"), decryption_keys=tiered.KEYS).segments[0]
    server.fetched = Fetched()
    assert segment.records(columns=["offset"], start_offset=5000, end_offset=5001).read_all().num_rows == 1
    assert server.fetched.bytes_given < 4 * (256 << 10) < stored.stat().st_size // 9
    shutil.rmtree(tmp_path / "prefix")
