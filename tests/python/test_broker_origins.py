"""What each origin of an append skips, allows and insists on (`AppendOrigin`), and the rules that only one path meets.

The same cases are held against Kafka's own log in tests/interop/test_interop_append.py.
"""

from __future__ import annotations

import gzip
import struct
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from building import CONTROL, batch, marker, message, record, records, simple_batch, transactional_batch
from corpus import rows_of

LEADERS, OTHERS = ("client", "coordinator"), ("replication", "raft_leader")
ORIGINS = LEADERS + OTHERS


def append(data: bytes, origin: str, first_offset: int = 0, **options: Any) -> ls.broker.Appended:
    return ls.broker.append(data, **{"first_offset": first_offset, "origin": origin, "partition_leader_epoch": 0, "now": 5} | options)


def refusal(data: bytes, origin: str, first_offset: int = 0, **options: Any) -> tuple[str, int]:
    with pytest.raises(ls.RecordBatchError) as caught:
        append(data, origin, first_offset, **options)
    return caught.value.rule, caught.value.kafka_error_code


def wrapper(*inner: bytes, magic: int = 1) -> bytes:
    return message(gzip.compress(b"".join(inner), mtime=0), magic=magic, attributes=1, offset=len(inner) - 1)


@pytest.mark.parametrize("origin", ORIGINS)
def test_val_2a_only_clients_must_begin_at_0(origin: str):
    stored = simple_batch([b"a", b"b"], base_offset=40)
    if origin == "client":
        assert refusal(stored, origin) == ("VAL-2", 87)
        return
    appended = append(stored, origin, first_offset=7)
    first = 7 if origin == "coordinator" else 40
    assert (appended.first_offset, appended.last_offset, appended.data[:8]) == (first, first + 1, struct.pack(">q", first))
    assert appended.data[8:] == stored[8:]


@pytest.mark.parametrize("origin", ORIGINS)
def test_val_2b_followers_take_what_the_leader_took(origin: str):
    data = simple_batch([b"a" * 100])
    assert append(data, origin, max_message_bytes=len(data)).data == data
    if origin == "replication":
        assert append(data, origin, max_message_bytes=len(data) - 1).data == data
    else:
        assert refusal(data, origin, max_message_bytes=len(data) - 1) == ("VAL-2", 10)


@pytest.mark.parametrize("origin", ORIGINS)
def test_val_2c_and_2d_hold_for_everybody(origin: str):
    data = simple_batch([b"a"])
    assert append(data + data[:40], origin).data == data
    assert refusal(data[:-1] + bytes([data[-1] ^ 1]), origin) == ("V2-31", 2)


@pytest.mark.parametrize(
    ("rule", "data"),
    [
        ("VAL-3", batch(records([b"a"]), count=1, last_offset_delta=4)),
        ("VAL-4", marker(1, 9, 0)),
        ("VAL-5", batch(records([b"a"]), count=1, producer_id=9, producer_epoch=0)),
    ],
    ids=["VAL-3", "VAL-4", "VAL-5"],
)
def test_val_3_to_5_hold_for_clients_alone(rule: str, data: bytes):
    assert refusal(data, "client") == (rule, 87)
    for origin in ORIGINS[1:]:
        assert append(data, origin).data[57:] == data[57:]


@pytest.mark.parametrize(
    ("rule", "code", "data", "options"),
    [
        ("VAL-6", 87, message(b"a", magic=1) + message(b"b", magic=0), {"to": "v1"}),
        ("VAL-6", 87, message(b"a", magic=1) + message(b"b", magic=0), {"to": "v2"}),
        ("VAL-7", 87, b"", {}),
        ("VAL-7", 87, simple_batch([b"a"]) * 2, {}),
        ("VAL-7", 87, wrapper(message(b"a", magic=1)) + message(b"b", magic=1), {"to": "v1"}),
        ("VAL-7", 87, message(b"b", magic=1) + wrapper(message(b"a", magic=1)), {"to": "v1"}),
        ("VAL-8", 43, transactional_batch([b"a"], 9, 0), {"to": "v1"}),
        ("VAL-9", 76, simple_batch([b"a"]), {"compression": "zstd", "inter_broker_protocol_version": "2.0-IV1"}),
        ("VAL-10", 87, simple_batch([b"a"]), {"compacted": True}),
        ("VAL-11", 87, wrapper(wrapper(message(b"a", magic=1))), {"to": "v1"}),
        ("VAL-12", 87, wrapper(message(b"a", magic=0), magic=1), {"to": "v1"}),
        ("L8-2", 2, wrapper(message(b"a", magic=1)[:-1] + b"b"), {"to": "v1"}),
        ("VAL-14", 32, simple_batch([b"a"]), {"now": 10, "before_max_ms": 9}),
        ("VAL-15", 32, batch(records([b"a"]), count=1, attributes=8), {"timestamp_type": "LogAppendTime"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_val_6_to_16_hold_for_who_has_no_offsets_yet(rule: str, code: int, data: bytes, options: dict[str, Any]):
    """VAL-13 is L8-2 here: the checksum of an inner message, told at once."""
    for origin in LEADERS:
        assert refusal(data, origin, **options) == (rule, code), origin


def test_followers_do_not_look_into_batches():
    """Records that are none, and a codec that is not there, pass a follower as they pass Kafka's."""
    bad = batch(b"\xff" * 20, count=3, attributes=4)
    unknown_plugin = batch(b"?", count=1, attributes=0x0905)
    for origin in OTHERS:
        for data in (bad, unknown_plugin):
            assert append(data, origin, compacted=True, now=10, before_max_ms=1, timestamp_type="LogAppendTime").data == data
    for origin in LEADERS:
        with pytest.raises(ls.RecordBatchError):
            append(bad, origin)
        assert refusal(unknown_plugin, origin) == ("S-P18", -1)
    assert append(simple_batch([b"a"], 4) + simple_batch([b"b", b"c"], 9), "replication").last_offset == 10


def test_val_9_gates_zstd_by_the_oldest_broker():
    """KIP-110: from 2.1-IV0 on."""
    zstd = ls.encode(pa.table({"value": [b"a"]}), compression="zstd")
    for version in ("0.10.2", "1.1-IV0", "2.0"):
        assert refusal(zstd, "client", inter_broker_protocol_version=version) == ("VAL-9", 76)
        assert append(zstd, "client", compression="gzip", inter_broker_protocol_version=version).last_offset == 0
    for newer in (None, "2.1-IV0", "2.1", "3.9-IV0", "10.0"):
        assert append(zstd, "client", inter_broker_protocol_version=newer).data[16:] == zstd[16:]
    for wrong in ("", "two", "2", "2.x"):
        with pytest.raises(ValueError, match="inter_broker_protocol_version"):
            append(zstd, "client", inter_broker_protocol_version=wrong)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_val_19_plain_control_records_stay_plain(codec: str):
    appended = append(marker(1, 9, 0), "coordinator", first_offset=30, compression=codec, partition_leader_epoch=6)
    assert appended.data == marker(1, 9, 30)[:12] + struct.pack(">i", 6) + marker(1, 9, 30)[16:]
    data = append(transactional_batch([b"a"], 9, 0), "coordinator", compression=codec).data
    assert rows_of(ls.batches(data))[0]["compression"] == codec


def test_val_17_markers_get_the_append_time_as_others_do():
    data = append(marker(0, 9, 0), "coordinator", timestamp_type="LogAppendTime", now=77).data
    assert [(row["timestampType"], row["maxTimestamp"], row["isControl"]) for row in rows_of(ls.batches(data))] == [
        ("LogAppendTime", 77, True)
    ]


def test_offsets_of_followers_ascend_from_the_end_of_the_log_on():
    data = simple_batch([b"a"], 10) + simple_batch([b"b", b"c"], 20)
    for origin in OTHERS:
        appended = append(data, origin, first_offset=10)
        assert (appended.data, appended.first_offset, appended.last_offset, appended.max_timestamp) == (data, 10, 21, 0)
        assert refusal(data, origin, first_offset=11) == ("VAL-2", -1)
        assert refusal(simple_batch([b"a"], 21) + simple_batch([b"b", b"c"], 20), origin) == ("VAL-2", -1)
        nothing = append(data[:30], origin, first_offset=11)
        assert (nothing.data, nothing.first_offset, nothing.last_offset, nothing.max_timestamp) == (b"", -1, -1, -1)
    old = wrapper(message(b"a", magic=1, offset=0), message(b"b", magic=1, offset=1))
    old = struct.pack(">q", 31) + old[8:]
    assert append(old, "replication", first_offset=31).first_offset == 31, "a wrapper tells only its last offset"
    assert refusal(old, "replication", first_offset=32) == ("VAL-2", -1)


def test_leader_epochs_of_followers_and_raft_leaders():
    """KAFKA-18723: a follower leaves out what a later leader wrote, and all behind it."""
    data = b"".join(batch(records([b"a"]), count=1, base_offset=offset, leader_epoch=epoch) for offset, epoch in ((0, 3), (1, 4), (2, 3)))
    one = len(data) // 3
    assert append(data, "replication", partition_leader_epoch=3).data == data[:one]
    assert append(data, "replication", partition_leader_epoch=4).data == data
    assert append(data, "replication", partition_leader_epoch=-1).data == data
    assert append(data, "replication", partition_leader_epoch=2).data == b""
    assert append(data[:one], "raft_leader", partition_leader_epoch=3).data == data[:one]
    assert refusal(data, "raft_leader", partition_leader_epoch=3) == ("VAL-2", 87)


def test_val_20_by_origin():
    """Sequences and duplicates are looked at for clients, epochs for all but followers; markers raise an epoch."""
    first = append(transactional_batch([b"a", b"b"], 9, 0), "client")
    assert first.producer_state[9].batches[0].last_sequence == 1
    again = transactional_batch([b"a", b"b"], 9, 2)
    repeated = append(transactional_batch([b"a", b"b"], 9, 0), "client", 2, producer_state=first.producer_state)
    assert (repeated.duplicate, repeated.data, repeated.first_offset) == (True, b"", 0)
    for origin in ORIGINS[1:]:
        appended = append(again, origin, 2, producer_state=first.producer_state)
        assert (appended.duplicate, appended.first_offset, len(appended.producer_state[9].batches)) == (False, 2, 2)
    ended = append(marker(1, 9, 0, epoch=5), "coordinator", 2, producer_state=first.producer_state)
    assert ended.producer_state == {9: ls.broker.Producer(5)}
    late = batch(records([b"a"]), count=1, base_offset=3, producer_id=9, producer_epoch=4, base_sequence=0)
    for origin in ("coordinator", "raft_leader"):
        assert refusal(late, origin, 3, producer_state=ended.producer_state) == ("VAL-20", 47)
    assert append(late, "replication", 3, producer_state=ended.producer_state).producer_state[9].epoch == 4
    client = struct.pack(">q", 0) + late[8:]
    assert refusal(client, "client", 3, producer_state=ended.producer_state) == ("VAL-20", 47)
    next_epoch = batch(records([b"a"]), count=1, producer_id=9, producer_epoch=5, base_sequence=3)
    assert refusal(next_epoch, "client", 3, producer_state=ended.producer_state) == ("VAL-20", 45), "a marker leaves nothing to follow"
    begun = batch(records([b"a"]), count=1, producer_id=9, producer_epoch=5, base_sequence=0)
    assert append(begun, "client", 3, producer_state=ended.producer_state).producer_state[9].batches[0].first_offset == 3


def test_the_state_of_producers_changes_whole_or_not_at_all():
    good = batch(records([b"a"]), count=1, base_offset=0, producer_id=9, producer_epoch=3)
    late = batch(records([b"a"]), count=1, base_offset=1, producer_id=9, producer_epoch=2)
    state = {9: ls.broker.Producer(1)}
    assert refusal(good + late, "raft_leader", producer_state=state) == ("VAL-20", 47)
    assert state == {9: ls.broker.Producer(1)}
    cleaned = batch(b"", count=0, last_offset_delta=0, attributes=CONTROL, producer_id=9, producer_epoch=7)
    assert append(cleaned, "replication", producer_state=state).producer_state == state, "what is left of a marker tells nothing"


def test_an_origin_that_is_none_is_a_mistake():
    with pytest.raises(ValueError, match=r'origin must be "client", "coordinator", "replication" or "raft_leader", not "CLIENT"'):
        append(simple_batch([b"a"]), "CLIENT")
    assert append(batch(record(b"k", b"v"), count=1), "client").last_offset == 0
