"""What the disk of a killed broker shows is what the broker answered: topics, configurations, rights, groups, offsets, transactions."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cli_process
import logsegment as ls
from cluster_answers import PROPERTIES, answers
from kraft import CLUSTER_ID, QUIET, Broker

pytestmark = pytest.mark.interop
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Rows]]]:
    """The log directory of a broker that was killed with all of its clients connected, and what it answered before."""
    scratch = tmp_path_factory.mktemp("cluster")
    broker = Broker(scratch / "broker", PROPERTIES)
    try:
        broker.start()
        with answers(broker.servers, scratch, "setup") as told:
            words = [TOOLS["kafka-topics"], "--bootstrap-server", broker.servers, "--describe"]
            described = subprocess.run(broker.command(*words), capture_output=True, text=True, timeout=60, check=True).stdout
            told["described"] = [{"line": line} for line in described.splitlines()]
            assert broker.process is not None
            broker.process.kill()
            broker.process.wait()
        yield broker.logs, told
    finally:
        broker.stop()


@pytest.fixture(scope="module")
def dead(killed: tuple[Path, dict[str, Rows]]) -> ls.Cluster:
    return ls.cluster(killed[0])


@pytest.fixture(scope="module")
def told(killed: tuple[Path, dict[str, Rows]]) -> dict[str, Rows]:
    return killed[1]


def ordered(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: str(sorted(row.items())))


def same(rows: Rows, told: Rows) -> None:
    """The columns of rows that other rows have are theirs."""
    assert told
    names = list(told[0])
    assert ordered([{name: row[name] for name in names} for row in rows]) == ordered(told)


def of_users(rows: Rows, column: str) -> Rows:
    """Rows without those of topics that brokers create."""
    return [row for row in rows if not row[column].startswith("__")]


def test_it_is_this_cluster(dead: ls.Cluster) -> None:
    assert dead.cluster_ids == [CLUSTER_ID]
    assert [finding for finding in dead.findings if finding.severity != "info"] == []


def test_topics(dead: ls.Cluster, told: dict[str, Rows]) -> None:
    rows = dead.topics.to_pylist()
    same([row for row in rows if not row["deleted"]], told["topics"])
    assert {row["topic"] for row in rows if row["deleted"]} == {"deleted", "again"}
    ids = {row["topicId"] for row in rows if row["topic"] == "again"}
    assert len(ids) == 2


def test_configurations(dead: ls.Cluster, told: dict[str, Rows]) -> None:
    same(dead.configs.to_pylist(), told["configs"])
    hidden = {row["name"] for row in dead.configs.to_pylist() if row["value"] == "(hidden)"}
    assert hidden == {"listener.name.plaintext.plain.sasl.jaas.config"}
    assert "hunter2" not in str(dead.to_dict())


def test_kafka_topics(killed: tuple[Path, dict[str, Rows]], told: dict[str, Rows]) -> None:
    """The lines of the tool, apart from configurations of `server.properties`."""
    found = cli_process.run("cluster", "--as", "kafka-topics", killed[0])
    of_topics = {(row["resourceName"], f"{row['name']}={row['value']}") for row in told["configs"] if row["resourceType"] == "TOPIC"}

    def without_others(line: str) -> str:
        front, configs, rest = line.partition("\tConfigs: ")
        topic = front.split("\t")[0].removeprefix("Topic: ")
        kept = sorted(config for config in rest.replace("compact,delete", "compact;delete").split(",") if config)
        kept = [config for config in kept if (topic, config.replace(";", ",")) in of_topics]
        return front + configs + ",".join(kept)

    lines = [without_others(row["line"]) for row in told["described"]]
    assert sorted(map(without_others, found.out.decode().splitlines())) == sorted(lines)
    assert any("cleanup.policy=compact;delete" in line for line in lines)


@pytest.mark.parametrize("view", ["acls", "quotas", "scram"])
def test_rights(dead: ls.Cluster, told: dict[str, Rows], view: Any) -> None:
    same(dead.view(view).to_pylist(), told[view])


def test_features(dead: ls.Cluster, told: dict[str, Any]) -> None:
    assert {row["feature"]: row["level"] for row in dead.features.to_pylist()} == told["features"]


def test_groups(dead: ls.Cluster, told: dict[str, Rows]) -> None:
    found: dict[str, dict[str, Any]] = {}
    for row in dead.groups.to_pylist():
        names = ("group", "type", "state", "protocol")
        group = found.setdefault(row["group"], {name: row[name] for name in names} | {"members": []})
        group["members"] += [row["memberId"]] if row["memberId"] is not None else []
    same([group | {"members": sorted(group["members"])} for group in found.values()], told["groups"])
    assert {(group["type"], group["state"]) for group in found.values()} >= {
        ("classic", "Stable"),
        ("consumer", "Stable"),
        ("share", "Empty"),
    }


def test_committed_offsets(dead: ls.Cluster, told: dict[str, Rows]) -> None:
    rows = [row for row in dead.groups.to_pylist() if row["committedOffset"] is not None]
    of_consumers = [row for row in told["offsets"] if "lag" not in row]
    same([row for row in rows if row["type"] != "share"], of_consumers)
    shared = [{name: row[name] for name in ("group", "topic", "partition", "committedOffset")} for row in told["offsets"] if "lag" in row]
    same([row for row in rows if row["type"] == "share"], shared)


def test_ends(dead: ls.Cluster, told: dict[str, Rows]) -> None:
    here = {(row["topic"], row["partition"]) for row in told["ends"]}
    rows = [row for row in dead.partitions.to_pylist() if (row["topic"], row["partition"]) in here]
    same(rows, told["ends"])
    assert {row["health"] for row in rows} == {"clean"}
    assert not any(row["behind"] for row in rows)


def test_lag(dead: ls.Cluster, told: dict[str, Rows]) -> None:
    ends = {(row["topic"], row["partition"]): row["logEndOffset"] for row in told["ends"]}
    lags = {(row["group"], row["topic"], row["partition"]): row for row in dead.lag.to_pylist()}
    expected = {}
    for row in told["offsets"]:
        place = row["topic"], row["partition"]
        lag = row.get("lag", ends[place] - row["committedOffset"]) if place in ends else None
        expected[row["group"], *place] = lag
    # The share group has not begun to read a partition without records.
    assert lags.pop(("sharing", "shared", 2))["committedOffset"] is None
    assert {place: row["lag"] for place, row in lags.items()} == expected
    # The coordinator has deleted the offsets of deleted topics.
    assert not {place for place in lags if place[1] in ("deleted", "again")}
    problems = {place[1:]: row["problem"] for place, row in lags.items() if row["problem"]}
    assert problems == {
        ("trimmed", 0): "the offset is before the log start offset 4",
        ("trimmed", 1): "the offset is after the log end offset 5",
    }
    late = lags["classic", "orders", 0]
    assert late["lag"] == 2
    assert late["lagMs"] > 0
    assert lags["left", "orders", 0]["lagMs"] == 0


def test_transactions(dead: ls.Cluster, told: dict[str, Rows]) -> None:
    rows = dead.transactions.to_pylist()
    same(rows, told["transactions"])
    assert {row["state"] for row in rows} == {"CompleteCommit", "CompleteAbort", "Ongoing"}


def test_producers(dead: ls.Cluster, told: dict[str, Rows]) -> None:
    here = {(row["topic"], row["partition"]) for row in told["producers"]}
    same([row for row in dead.producers.to_pylist() if (row["topic"], row["partition"]) in here], told["producers"])


@pytest.fixture(scope="module")
def given_back(
    killed: tuple[Path, dict[str, Rows]], dead: ls.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Rows]]:
    """What an empty cluster answers after Kafka's own tools have applied the plan. Its logs end where the old ones do."""
    scratch = tmp_path_factory.mktemp("given-back")
    broker = Broker(scratch / "broker", PROPERTIES)
    plan, tools = scratch / "plan.sh", scratch / "bin"
    plan.write_text(dead.plan().to_sh())
    tools.mkdir()
    for name, main in TOOLS.items():
        tool = tools / f"{name}.sh"
        tool.write_text(f'#!/bin/sh\nexec {shlex.join(broker.command(main))} "$@"\n')
        tool.chmod(0o755)
    environment = dict(os.environ) | {"BOOTSTRAP": broker.servers, "KAFKA_BIN": str(tools)}
    try:
        broker.start()
        run(["sh", str(plan), "topics", "configs", "acls", "quotas"], environment)
        fill(broker, dead)
        run(["sh", str(plan), "offsets"], environment)
        with answers(broker.servers, scratch, "ask") as told:
            yield told
    finally:
        broker.stop()


TOOLS = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def fill(broker: Broker, dead: ls.Cluster) -> None:
    """Give each partition as many records as the old one has offsets."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0, "logger": QUIET})
    for row in dead.partitions.to_pylist():
        for _ in range(0 if row["topic"].startswith("__") else row["logEndOffset"]):
            producer.produce(row["topic"], value=b"x", key=b"k", partition=row["partition"])
    assert producer.flush(60) == 0


def test_the_plan_gives_back_topics_and_configurations(dead: ls.Cluster, told: dict[str, Rows], given_back: dict[str, Rows]) -> None:
    names = ("topic", "partition", "replicas")
    rows = [{name: row[name] for name in names} for row in of_users(told["topics"], "topic")]
    same(of_users(given_back["topics"], "topic"), rows)
    shown = [row for row in told["configs"] if row["value"] != "(hidden)"]
    assert ordered(of_users(given_back["configs"], "resourceName")) == ordered(of_users(shown, "resourceName"))
    assert any("sasl.jaas.config" in text for text in dead.plan().document["omitted"])


@pytest.mark.parametrize("view", ["acls", "quotas"])
def test_the_plan_gives_back_rights(told: dict[str, Rows], given_back: dict[str, Rows], view: str) -> None:
    assert ordered(given_back[view]) == ordered(told[view])


def test_the_plan_gives_back_offsets(told: dict[str, Rows], given_back: dict[str, Rows]) -> None:
    def offsets(rows: Rows, topics: set[str]) -> set[tuple[str, str, int, int]]:
        found = {(row["group"], row["topic"], row["partition"], row["committedOffset"]) for row in rows if "lag" not in row}
        return {row for row in found if row[1] in topics}

    topics = {row["topic"] for row in given_back["topics"]}
    expected = offsets(told["offsets"], topics)
    # The tool moves an offset after the end of a log to its end.
    assert ("simple", "trimmed", 1, 1000) in expected
    expected = (expected - {("simple", "trimmed", 1, 1000)}) | {("simple", "trimmed", 1, 5)}
    assert offsets(given_back["offsets"], topics) == expected
