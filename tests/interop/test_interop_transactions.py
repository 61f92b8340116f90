"""Transactions, producers, holes and LogAppendTime as we encode them: a 4.3.1 broker knows them for what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import logsegment as ls
import rows
from dump_log import parsed
from kraft import VERSION, Broker
from matrix import SEGMENT
from peers import Peer
from rows import CREATE_TIME, LOG_APPEND_TIME, Row

pytestmark = pytest.mark.interop
TIME = 1_700_000_000_000
TOPIC = "encoded-transactions"


@pytest.fixture(scope="module")
def segment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("transactions") / SEGMENT
    path.write_bytes(transactions())
    return path


@pytest.fixture(scope="module")
def broker(new_broker: Callable[[], Broker], segment: Path) -> Iterator[Broker]:
    started = new_broker()
    started.start()
    started.create_topics([TOPIC])
    started.stop()
    started.replace(TOPIC, [segment])
    started.start()
    yield started
    started.stop()


def transactions() -> bytes:
    """A committed and an aborted transaction, an idempotent producer, a hole as compaction leaves it, and LogAppendTime."""
    producer = {"producer_id": 7, "producer_epoch": 0}
    return b"".join(
        [
            encoded(0, 3, transactional=True, base_sequence=0, compression="lz4", **producer),
            marker(3, "COMMIT", **producer),
            encoded(4, 3, transactional=True, base_sequence=3, compression="zstd", **producer),
            marker(7, "ABORT", **producer),
            encoded(8, 2, base_sequence=0, producer_id=8, producer_epoch=1, compression="gzip"),
            encoded(15, 2, compression="snappy", timestamp_type="LogAppendTime", log_append_time=TIME + 999),
        ]
    )


def encoded(first: int, count: int, **options: object) -> bytes:
    columns = {
        "offset": range(first, first + count),
        "value": [b"at %d" % offset for offset in range(first, first + count)],
        "timestampMs": [TIME + offset for offset in range(first, first + count)],
    }
    return ls.encode(pa.table(columns), partition_leader_epoch=0, **options)


def marker(offset: int, kind: str, **producer: int) -> bytes:
    columns = {"offset": [offset], "value": pa.array([None], pa.binary()), "controlType": [kind], "timestampMs": [TIME + offset]}
    return ls.encode(pa.table(columns), transactional=True, partition_leader_epoch=0, **producer)


def expected_transactions(offsets: list[int]) -> list[Row]:
    def row(offset: int) -> Row:
        late = offset >= 15
        return Row(offset, TIME + (999 if late else offset), LOG_APPEND_TIME if late else CREATE_TIME, None, b"at %d" % offset)

    return [row(offset) for offset in offsets]


@pytest.mark.parametrize(
    ("isolation", "offsets"),
    [("read_committed", [0, 1, 2, 8, 9, 15, 16]), ("read_uncommitted", [0, 1, 2, 4, 5, 6, 8, 9, 15, 16])],
)
def test_a_broker_knows_our_transactions(
    broker: Broker, peer: Callable[[str], Peer], scratch: Path, isolation: str, offsets: list[int]
) -> None:
    out = scratch / "transactions.rows"
    peer(VERSION).ask("consume", broker.servers, TOPIC, isolation, str(out))
    expected = expected_transactions(offsets)
    assert rows.difference(rows.load_rows(out), expected) is None


def test_the_broker_kept_every_byte_and_dump_log_complains_of_none(
    broker: Broker, segment: Path, peer: Callable[[str], Peer], scratch: Path
) -> None:
    """Recovery cuts a segment where a batch is not valid."""
    assert (broker.partition(TOPIC) / SEGMENT).read_bytes() == segment.read_bytes()
    out = scratch / "transactions.dump"
    peer(VERSION).ask("dump", str(segment), str(out))
    dump = parsed(out.read_text())
    assert not dump.complaints
    assert [offset for offset, valid in dump.batches if valid] == [0, 3, 4, 7, 8, 15]
