"""Internal topics decode to what Kafka 4.3 prints: its JSON converters, the formatters of its console consumer, its dump tool."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eras
import logsegment as ls
from corpus import CORPUS
from internal_messages import Made, jars, records
from peers import Peer

VERSION = "4.3.1"
DATA = CORPUS / "modern-4.1.0" / "data"
#: What the tests without Java hold ours against; written with RECORD=1.
RECORDED = Path(__file__).resolve().parents[1] / "support" / "internal_records.jsonl.gz"

CONSOLE = "org.apache.kafka.tools.consumer."
#: Which formatter prints which types of records.
FORMATTERS = [
    ("__consumer_offsets", "OffsetsMessageFormatter", {"OFFSET_COMMIT", "LEGACY_OFFSET_COMMIT"}),
    ("__consumer_offsets", "GroupMetadataMessageFormatter", {"GROUP_METADATA"}),
    ("__transaction_state", "TransactionLogMessageFormatter", {"TRANSACTION_LOG"}),
]
RECORD = re.compile(r"^\| offset: (-?\d+) .*?(?: key: (?P<key>.*?))?(?: payload: (?P<value>.*))?$")


def decoded(path: Path, *, control: bool = False) -> list[dict[str, Any]]:
    """The records of a segment with what they say, as Python values."""
    rows = ls.decode(ls.FileSource(path), columns=["offset", "isControl"], values="internal", control=control).to_pyarrow().to_pylist()
    return [row | {"internal": loaded(row["internal"])} for row in rows]


def loaded(internal: dict[str, Any]) -> dict[str, Any]:
    parts = {name: None if internal[name] is None else json.loads(internal[name]) for name in ("key", "value")}
    return internal | parts


def segments(topic: str) -> list[Path]:
    found = sorted(DATA.glob(f"{topic}-*/*.log")) + sorted(DATA.glob(f"{topic}-*/*.checkpoint"))
    assert found, topic
    return found


@pytest.fixture
def kafka(peer: Callable[[str], Peer]) -> Peer:
    return peer(VERSION)


def test_the_tables_are_those_of_the_release() -> None:
    command = [sys.executable, str(eras.ROOT / "tools" / "message_tables.py"), "check", os.pathsep.join(map(str, jars()))]
    eras.need("rustfmt")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_type_and_version_says_what_kafkas_converters_say(kafka: Peer, tmp_path: Path) -> None:
    made = list(records(seed=4301, each=4))
    assert len({item.type for item in made}) > 50
    expected = said_by_kafka(kafka, made, tmp_path)
    found = ours(made)
    for message, theirs, own in zip(made, expected, found, strict=True):
        assert own == theirs, (message.type, message.value_message.version, message.value_message.body.hex())
    if os.environ.get("RECORD"):
        chosen = [pair for index, pair in enumerate(zip(made, expected, strict=True)) if index % 4 == 0]
        record(chosen)


def said_by_kafka(kafka: Peer, made: list[Made], scratch: Path) -> list[dict[str, Any]]:
    """What the records say, by Kafka's own classes."""
    messages = [message for record in made for message in (record.key_message, record.value_message) if message is not None]
    asked, answered = scratch / "messages", scratch / "json"
    asked.write_text("".join(f"{message.kind} {message.version} {base64.b64encode(message.body).decode()}\n" for message in messages))
    assert kafka.ask("messages", str(asked), str(answered)) == str(len(messages))
    said = dict(zip(map(id, messages), map(json.loads, answered.read_text().splitlines()), strict=True))
    return [
        {
            "type": record.type,
            "version": record.value_message.version,
            "key": None if record.key_message is None else said[id(record.key_message)],
            "value": said[id(record.value_message)],
        }
        for record in made
    ]


def ours(made: list[Made]) -> list[dict[str, Any]]:
    """What the records say, by ours, in their order."""
    told: dict[int, dict[str, Any]] = {}
    for topic in {segment.topic for segment in made}:
        chosen = [segment for segment in made if segment.topic == topic]
        keys = pa.array([record.key for record in chosen], pa.binary())
        data = ls.encode(pa.table({"key": keys, "value": pa.array([record.value for record in chosen], pa.binary())}))
        stream = ls.decode(data, columns=[], topic=topic, values="internal")
        rows = stream.to_pyarrow()["internal"].to_pylist()
        assert stream.findings == []
        told |= {id(item): loaded(row) for item, row in zip(chosen, rows, strict=True)}
    return [told[id(item)] for item in made]


def record(pairs: list[tuple[Made, dict[str, Any]]]) -> None:
    def text(part: bytes | None) -> str | None:
        return None if part is None else base64.b64encode(part).decode()

    lines = [json.dumps({"topic": made.topic, "key": text(made.key), "value": text(made.value), "said": said}) for made, said in pairs]
    RECORDED.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


@pytest.mark.parametrize(("topic", "formatter", "types"), FORMATTERS)
def test_segments_of_brokers_say_what_the_console_consumer_prints(
    kafka: Peer, tmp_path: Path, topic: str, formatter: str, types: set[str]
) -> None:
    seen = 0
    for path in segments(topic):
        out = tmp_path / "printed"
        kafka.ask("console", CONSOLE + formatter, str(path), topic, str(out))
        printed = {int(offset): json.loads(text) for offset, _, text in (line.partition("\t") for line in out.read_text().splitlines())}
        own = {row["offset"]: row["internal"] for row in decoded(path) if row["internal"]["type"] in types}
        assert printed.keys() == own.keys()
        for offset, theirs in printed.items():
            internal = own[offset]
            assert theirs["key"]["data"] == internal["key"]
            value = theirs["value"]
            assert (value and value["version"], value and value["data"]) == (internal["version"], internal["value"])
            seen += 1
    assert seen > 2


@pytest.mark.parametrize(
    ("topic", "option"),
    [
        ("__consumer_offsets", "--offsets-decoder"),
        ("__transaction_state", "--transaction-log-decoder"),
        ("__cluster_metadata", "--cluster-metadata-decoder"),
    ],
)
def test_segments_and_snapshots_say_what_the_dump_tool_prints(kafka: Peer, tmp_path: Path, topic: str, option: str) -> None:
    seen = 0
    for path in segments(topic):
        out = tmp_path / "printed"
        kafka.ask("dump", str(path), str(out), option)
        lines = [found for line in out.read_text().splitlines() if (found := RECORD.match(line))]
        own = decoded(path, control=True)
        assert [int(found[1]) for found in lines] == [row["offset"] for row in own]
        for found, row in zip(lines, own, strict=True):
            if not row["isControl"]:
                compare(found, row["internal"])
                seen += 1
            else:
                compare_control(found[0], row["internal"])
    assert seen > 20


def compare(printed: re.Match[str], internal: dict[str, Any]) -> None:
    """Key and payload of a line, in the JSON of the dump tool."""
    if printed["key"] is not None:
        assert json.loads(printed["key"])["data"] == internal["key"]
    if printed["value"] in (None, "<DELETE>"):
        assert internal["value"] is None
        return
    theirs = json.loads(printed["value"])
    if internal["type"] == "GROUP_METADATA":
        # The dump tool looks into what the members of the group said to each other, the console consumer and we give its bytes.
        for group in (theirs["data"], internal["value"]):
            for member in group["members"]:
                member.pop("subscription"), member.pop("assignment")
    assert theirs["data"] == internal["value"]
    assert int(theirs["version"]) == internal["version"]
    assert theirs.get("type", internal["type"]) == internal["type"]


def compare_control(line: str, internal: dict[str, Any]) -> None:
    """The control record of a line."""
    if found := re.search(r"endTxnMarker: (\w+) coordinatorEpoch: (-?\d+)", line):
        assert (internal["type"], internal["value"]) == (found[1], {"coordinatorEpoch": int(found[2])})
    elif found := re.search(r" (SnapshotHeader|SnapshotFooter|KRaftVersion|KRaftVoters) (\{.*\})", line):
        assert internal["type"].replace("_", "") == found[1].upper()
        assert internal["value"] == json.loads(found[2])
    else:
        assert "LeaderChange" in line or "LEADER_CHANGE" in line, line
        assert internal["type"] == "LEADER_CHANGE"


#: What Kafka's own serializer wrote: a copied segment without and with the tag of Kafka 4, an update, a deletion (TS-73 to TS-76).
IDS = "09746f2d7069632e6131627a1474df458cbaee3cf065d7aa490000000100"
SEGMENT = f"{IDS}b6a8a629e6704ad3843b04734f72f9a100"
COPIED = f"010000{SEGMENT}00000000000004d20000000000000599000000070000018bcfe56d990000018bcfe56fd003"
COPIED += "0000000000000000000004d2000000000300000000000005140000003144" + "0000"
REMOTE = [
    f"{COPIED}00",
    f"{COPIED}01000101",
    f"010100{SEGMENT}000000070000018bcfe573b8040102030100",
    f"010200{IDS}000000070000018bcfe577a00000",
]


def test_the_metadata_of_remote_logs_says_what_the_console_consumer_prints(kafka: Peer, tmp_path: Path) -> None:
    path = tmp_path / "__remote_log_metadata-0" / "00000000000000000000.log"
    path.parent.mkdir()
    values = pa.array(map(bytes.fromhex, REMOTE), pa.binary())
    ls.encode(pa.table({"key": pa.nulls(len(REMOTE), pa.binary()), "value": values}), out=path)
    out = tmp_path / "printed"
    formatter = "org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde$RemoteLogMetadataFormatter"
    kafka.ask("console", formatter, str(path), "__remote_log_metadata", str(out))
    printed = [line.partition("\t")[2] for line in out.read_text().splitlines()]
    own = [row["internal"] for row in decoded(path)]
    kinds = [re.search(r"value: (\w+)\{", line)[1] for line in printed]
    assert kinds == [
        "RemoteLogSegmentMetadata",
        "RemoteLogSegmentMetadata",
        "RemoteLogSegmentMetadataUpdate",
        "RemotePartitionDeleteMetadata",
    ]
    assert [row["type"].replace("_", "").removesuffix("RECORD").lower() for row in own] == [kind.lower() for kind in kinds]
    for line, row in zip(printed, own, strict=True):
        numbers = {name: value for name, value in row["value"].items() if isinstance(value, int) and not name.endswith("State")}
        assert numbers["brokerId"] == 7
        said = {name: found[1] for name in numbers if (found := re.search(rf"\b{name}=(\w+)", line))}
        assert said.keys() >= {"brokerId", "eventTimestampMs"}
        assert said == {name: str(numbers[name]).lower() for name in said}
        place = row["value"].get("remoteLogSegmentId", row["value"])["topicIdPartition"]
        assert f"{place['id']}:{place['name']}-{place['partition']}" in line
