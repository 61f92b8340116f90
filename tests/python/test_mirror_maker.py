"""The topics of MirrorMaker 2 among the internal ones: records built as its `Checkpoint`, `Heartbeat` and `OffsetSync` write them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from cli_process import run


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


#: Key, value, and what they say.
CHECKPOINT = (
    text("group-1") + text("A.orders") + struct.pack(">i", 3),
    struct.pack(">hqq", 0, 100, 90) + text("meta"),
    ("CHECKPOINT", 0, {"group": "group-1", "topic": "A.orders", "partition": 3}, {"upstreamOffset": 100, "offset": 90, "metadata": "meta"}),
)
HEARTBEAT = (
    text("A") + text("B"),
    struct.pack(">hq", 0, 1_700_000_000_000),
    ("HEARTBEAT", 0, {"sourceClusterAlias": "A", "targetClusterAlias": "B"}, {"timestamp": 1_700_000_000_000}),
)
OFFSET_SYNC = (
    text("orders") + struct.pack(">i", 1),
    struct.pack(">qq", 7, 5),
    ("OFFSET_SYNC", None, {"topic": "orders", "partition": 1}, {"upstreamOffset": 7, "offset": 5}),
)
TOPICS = {
    "A.checkpoints.internal": CHECKPOINT,
    "A-checkpoints-internal": CHECKPOINT,
    "heartbeats": HEARTBEAT,
    "A.heartbeats": HEARTBEAT,
    "mm2-offset-syncs.B.internal": OFFSET_SYNC,
    "mm2-offset-syncs_B_internal": OFFSET_SYNC,
}


def decoded(topic: str, key: bytes | None, value: bytes | None) -> tuple[Any, list[Any]]:
    data = ls.encode(pa.table({"key": pa.array([key], "binary"), "value": pa.array([value], "binary")}))
    stream = ls.decode(data, columns=["internal"], topic=topic, values="internal")
    (row,) = stream.to_pylist()
    return row["internal"], stream.findings


@pytest.mark.parametrize("topic", TOPICS)
def test_records_of_each_topic(topic: str):
    key, value, (kind, version, key_fields, value_fields) = TOPICS[topic]
    row, findings = decoded(topic, key, value)
    assert (row["type"], row["version"]) == (kind, version)
    assert (json.loads(row["key"]), json.loads(row["value"]), findings) == (key_fields, value_fields, [])
    tombstone, findings = decoded(topic, key, None)
    assert (json.loads(tombstone["key"]), tombstone["value"], findings) == (key_fields, None, [])


@pytest.mark.parametrize(
    "topic", ["checkpoints.internal", "internal", "myheartbeats", "Acheckpoints.internal", "mm2-offset-syncs.internal", "x.internal"]
)
def test_other_names_are_ordinary_topics(topic: str):
    key, value, _ = OFFSET_SYNC
    with pytest.warns(UserWarning, match="not an internal topic"):
        row, _ = decoded(topic, key, value)
    assert row is None


def test_bytes_that_are_none_are_given_as_they_are():
    for topic, (key, value, _) in TOPICS.items():
        for broken in (value[:-1], value + b"\0"):
            row, findings = decoded(topic, key, broken)
            assert list(json.loads(row["value"])) == ["base64"]
            assert [finding.rule for finding in findings] == ["INT-2"]
    row, findings = decoded("heartbeats", HEARTBEAT[0], b"\0\1" + HEARTBEAT[1][2:])
    assert (row["version"], [finding.rule for finding in findings]) == (1, ["INT-1"])


def test_the_command_line_reads_a_tree(tmp_path: Path):
    for topic, (key, value, _) in TOPICS.items():
        path = tmp_path / f"{topic}-0" / "00000000000000000000.log"
        path.parent.mkdir()
        path.write_bytes(ls.encode(pa.table({"key": [key], "value": [value]})) or b"")
    done = run("cat", tmp_path, "--values", "internal", "--quiet")
    assert done.code == 0
    assert sorted(line["internal"]["type"] for line in done.lines) == sorted(case[2][0] for case in TOPICS.values())
