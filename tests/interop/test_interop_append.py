"""`broker.append` beside Kafka's own log: the storage module of 4.3.1, given the same bytes by each origin (VAL-2 to VAL-20)."""

from __future__ import annotations

import gzip
import itertools
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from building import CONTROL, batch, marker, message, record, records, simple_batch, transactional_batch
from corpus import rows_of
from peers import Peer

pytestmark = pytest.mark.interop
ORIGINS = ("client", "coordinator", "replication", "raft_leader")
#: Where logs begin whose origin gives no offsets.
START = 10
NOW = 1_700_000_000_000
TABLE = pa.table({"key": [b"k"] * 3, "value": [b"a", b"b", None], "timestampMs": [NOW, NOW - 5, NOW + 5]})
UNKEYED = pa.table({"value": [b"a"], "timestampMs": [NOW]})
#: What is compared when bytes were packed anew.
HEADERS = [
    "baseOffset",
    "lastOffset",
    "count",
    "magic",
    "compression",
    "timestampType",
    "maxTimestamp",
    "partitionLeaderEpoch",
    "attributes",
]
#: Configuration of the topic, and the same as our arguments.
TOPICS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("-", {}),
    "gzip": ("compression.type=gzip", {"compression": "gzip"}),
    "zstd": ("compression.type=zstd", {"compression": "zstd"}),
    "uncompressed": ("compression.type=uncompressed", {"compression": "uncompressed"}),
    "compacted": ("cleanup.policy=compact", {"compacted": True}),
    "stamped": ("message.timestamp.type=LogAppendTime", {"timestamp_type": "LogAppendTime"}),
    "small": ("max.message.bytes=80", {"max_message_bytes": 80}),
    "timely": (
        "message.timestamp.before.max.ms=4,message.timestamp.after.max.ms=1000",
        {"before_max_ms": 4, "after_max_ms": 1000},
    ),
}


def wrapper(*inner: bytes, magic: int = 1) -> bytes:
    return message(gzip.compress(b"".join(inner)), magic=magic, attributes=1, offset=len(inner) - 1)


def headers(data: bytes) -> list[dict[str, Any]]:
    return [{name: row[name] for name in HEADERS} for row in rows_of(ls.batches(data))]


def old(magic: int, value: bytes = b"v", offset: int = 0) -> bytes:
    return message(value, magic=magic, key=b"k", offset=offset, timestamp=NOW)


def at(offset: int, entry: bytes, leader_epoch: int = 0) -> bytes:
    return struct.pack(">q", offset) + entry[8:12] + struct.pack(">i", leader_epoch) + entry[16:]


MARKER = batch(
    record(struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 0)),
    count=1,
    attributes=CONTROL | 0x10,
    base_timestamp=NOW,
    producer_id=9,
    producer_epoch=0,
)
INPUTS: dict[str, bytes] = {
    "plain": ls.encode(TABLE, partition_leader_epoch=0),
    "gzip": ls.encode(TABLE, compression="gzip", partition_leader_epoch=0),
    "stored": at(40, ls.encode(TABLE, partition_leader_epoch=0)),
    "two": ls.encode(UNKEYED, partition_leader_epoch=0) + at(1, ls.encode(TABLE, partition_leader_epoch=0)),
    "two at once": ls.encode(UNKEYED, partition_leader_epoch=0) * 2,
    "later leader": at(0, ls.encode(UNKEYED), 1) + at(1, ls.encode(UNKEYED), 1),
    "unkeyed": ls.encode(UNKEYED, partition_leader_epoch=0),
    "stamped": at(0, ls.encode(TABLE, timestamp_type="LogAppendTime", log_append_time=NOW)),
    "torn": ls.encode(TABLE, partition_leader_epoch=0) + bytes(30),
    "bad checksum": ls.encode(TABLE, partition_leader_epoch=0)[:-1] + b"?",
    "incomplete": batch(records([b"a"]), count=1, last_offset_delta=3, base_timestamp=NOW),
    "no sequence": batch(records([b"a"]), count=1, producer_id=9, producer_epoch=0, base_timestamp=NOW),
    "transactional": transactional_batch([b"a"], 9, 0),
    "marker": MARKER,
    "stored marker": at(40, MARKER),
    "v1": old(1),
    "v1 run": old(1) + old(1, b"w", 1),
    "v1 wrapper": wrapper(old(1), old(1, b"w", 1)),
    "v1 wrapper, all at 0": wrapper(old(1), old(1, b"w", 0)),
    "v0 wrapper": wrapper(old(0), old(0, b"w", 1), magic=0),
    "mixed": old(1) + old(0, b"w", 1),
    "behind a wrapper": wrapper(old(1)) + old(1, b"w", 1),
    "before a wrapper": old(1) + at(1, b"")[:8] + wrapper(old(1))[8:],
    "wrapped twice": wrapper(wrapper(old(1))),
    "v0 in v1": wrapper(old(0)),
    "damaged inside": wrapper(old(1)[:-1] + b"?"),
}


class Log:
    """One log of Kafka's and what we keep of ours, given the same appends."""

    def __init__(self, peer: Peer, directory: Path, start: int, topic: str, magic: int = 2) -> None:
        self.peer, self.directory, self.end, self.magic = peer, directory / "t-0", start, magic
        self.config, self.options = TOPICS[topic]
        self.start, self.state = start, {}
        self.count = itertools.count()
        directory.mkdir()

    def theirs(self, data: bytes, origin: str) -> tuple[Any, ...]:
        number = next(self.count)
        given, out = (self.directory.with_name(f"{number}.{end}") for end in ("in", "out"))
        given.write_bytes(data)
        words = (str(self.directory), str(self.start), origin.upper(), "0", str(NOW), self.config, str(self.magic), str(given), str(out))
        answer = self.peer.ask("append", *words).split()
        return ("refused", int(answer[1])) if answer[0] == "refused" else (int(answer[0]), int(answer[1]), out.read_bytes())

    def ours(self, data: bytes, origin: Any) -> tuple[Any, ...]:
        fixed = {"now": NOW, "partition_leader_epoch": 0, "to": f"v{self.magic}", "after_max_ms": 3_600_000} | self.options
        try:
            appended = ls.broker.append(data, first_offset=self.end, origin=origin, producer_state=self.state, **fixed)
        except ls.RecordBatchError as error:
            return "refused", error.kafka_error_code
        self.state = appended.producer_state
        if appended.data:
            self.end = appended.last_offset + 1
        return appended.first_offset, appended.last_offset, appended.data

    def append(self, data: bytes, origin: str) -> tuple[Any, ...]:
        """Both append; what they made is the same, byte for byte unless it was packed anew."""
        ours, theirs = self.ours(data, origin), self.theirs(data, origin)
        assert ours[:2] == theirs[:2], (origin, ours, theirs)
        if ours[0] != "refused" and ours[2] != theirs[2]:
            assert "none" not in {row["compression"] for row in rows_of(ls.batches(theirs[2]))}, (origin, ours, theirs)
            assert headers(ours[2]) == headers(theirs[2])
            assert rows_of(ls.decode(ours[2])) == rows_of(ls.decode(theirs[2]))
        return ours


@pytest.mark.parametrize("topic", TOPICS)
def test_every_origin_appends_what_kafkas_log_appends(peer: Callable[[str], Peer], tmp_path: Path, topic: str) -> None:
    refused, appended = set(), set()
    for number, (origin, name) in enumerate(itertools.product(ORIGINS, INPUTS)):
        start = START if origin in ("client", "coordinator") else 0
        log = Log(peer("4.3.1"), tmp_path / str(number), start, topic)
        done = log.append(INPUTS[name], origin)
        (refused if done[0] == "refused" else appended).add((origin, name))
    assert ("client", "marker") in refused
    assert {("replication", "marker"), ("replication", "wrapped twice"), ("replication", "incomplete")} <= appended
    assert topic == "small" or ("coordinator", "marker") in appended
    assert len(refused) + len(appended) == len(ORIGINS) * len(INPUTS)


@pytest.mark.parametrize("magic", [0, 1])
def test_clients_of_older_topics(peer: Callable[[str], Peer], tmp_path: Path, magic: int) -> None:
    """Kafka 4 keeps this for tests of logs that were written before it. Of VAL-8a it has the code of the builder, -1, and we the rule's."""
    for number, (topic, name) in enumerate(itertools.product(("plain", "gzip", "stamped"), INPUTS)):
        if name in ("transactional", "marker") and topic != "gzip":
            continue
        Log(peer("4.3.1"), tmp_path / str(number), 30, topic, magic).append(INPUTS[name], "client")


def test_val_20_sequences_duplicates_and_epochs_by_origin(peer: Callable[[str], Peer], tmp_path: Path) -> None:
    """One log after the other, each with its own history."""

    def sent(sequence: int, epoch: int = 0, base_offset: int = 0) -> bytes:
        content = {"count": 2, "base_timestamp": NOW, "producer_id": 9, "producer_epoch": epoch, "base_sequence": sequence}
        return batch(records([b"a", b"b"]), base_offset=base_offset, **content)

    def ended(epoch: int, base_offset: int = 0) -> bytes:
        return at(base_offset, marker(1, 9, base_offset, epoch))

    stories = [
        [("client", sent(0)), ("client", sent(2)), ("client", sent(0)), ("client", sent(5)), ("client", sent(0, 1)), ("client", sent(4))],
        [("client", sent(7)), ("client", sent(9, 1)), ("client", sent(0, 1)), ("client", sent(2, 0))],
        [("client", sent(2**31 - 2)), ("client", sent(0)), ("client", sent(2))],
        [("client", sent(0)), ("coordinator", sent(0)), ("coordinator", sent(-1)), ("client", sent(0)), ("client", sent(1))],
        [("client", sent(0)), ("coordinator", ended(3)), ("client", sent(2)), ("client", sent(2, 3)), ("client", sent(0, 3))],
        [
            ("coordinator", ended(3)),
            ("coordinator", ended(2)),
            ("coordinator", sent(-1, 2)),
            ("coordinator", ended(3)),
            ("client", sent(1, 3)),
        ],
        [
            ("replication", sent(0)),
            ("replication", sent(9, 4, 2)),
            ("replication", sent(3, 2, 4)),
            ("client", sent(5, 2)),
            ("client", sent(5, 1)),
        ],
        [("replication", sent(0) + ended(0, 2) + sent(5, 1, 3)), ("replication", sent(0, 0, 3)), ("client", sent(7, 1))],
        [("raft_leader", sent(0)), ("raft_leader", sent(9, 4, 2)), ("raft_leader", sent(3, 2, 4)), ("client", sent(11, 4))],
    ]
    outcomes = set()
    for number, story in enumerate(stories):
        log = Log(peer("4.3.1"), tmp_path / str(number), 0, "plain")
        outcomes |= {log.append(data, origin)[:2] for origin, data in story}
    assert {("refused", 45), ("refused", 47)} <= outcomes


def test_offsets_of_followers(peer: Callable[[str], Peer], tmp_path: Path) -> None:
    for number, origin in enumerate(("replication", "raft_leader")):
        log = Log(peer("4.3.1"), tmp_path / str(number), 10, "plain")
        assert log.append(simple_batch([b"a"], 9), origin) == ("refused", -1)
        assert log.append(simple_batch([b"a", b"b"], 10), origin)[:2] == (10, 11)
        assert log.append(simple_batch([b"a"], 11), origin) == ("refused", -1)
        assert log.append(simple_batch([b"c"], 50) + simple_batch([b"d"], 50), origin) == ("refused", -1)
        assert log.append(simple_batch([b"c"], 50), origin)[:2] == (50, 50)
