"""The output of `kafka-topics --describe` of Kafka 4.3, for `cluster --as`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from logsegment import Cluster


def topic_lines(cluster: Cluster) -> Iterator[str]:
    """Yield the lines of the tool. Of configurations it has those that were set for the topic, not those of `server.properties`."""
    configs: dict[str, list[str]] = {}
    for row in cluster.configs.to_pylist():
        if row["resourceType"] == "TOPIC":
            configs.setdefault(row["resourceName"], []).append(f"{row['name']}={row['value']}")
    details = {(topic, partition): more for topic, partition, *more in cluster.partition_details()}
    topics: dict[str, list[dict[str, Any]]] = {}
    for row in cluster.topics.to_pylist():
        if not row["deleted"]:
            topics.setdefault(row["topic"], []).append(row)
    for topic, rows in topics.items():
        adding = details.get((topic, 0), ([], [], []))[1]
        replicas = [number for number in _numbers(rows[0]["replicas"]) if number not in adding]
        head = [f"Topic: {topic}", f"TopicId: {rows[0]['topicId']}", f"PartitionCount: {len(rows)}", f"ReplicationFactor: {len(replicas)}"]
        yield "\t".join([*head, f"Configs: {','.join(configs.get(topic, ()))}"])
        for row in rows:
            last_known, added, removed = details.get((topic, row["partition"]), ([], [], []))
            leader = "none" if row["leader"] in (-1, None) else row["leader"]
            fields = ["", f"Topic: {topic}", f"Partition: {row['partition']}", f"Leader: {leader}"]
            fields += [f"Replicas: {_listed(row['replicas'])}", f"Isr: {_listed(row['isr'])}"]
            if added or removed:
                fields += [f"Adding Replicas: {_listed(added)}", f"Removing Replicas: {_listed(removed)}"]
            yield "\t".join([*fields, f"Elr: {_listed(row['elr'])}", f"LastKnownElr: {_listed(last_known)}"])


def _numbers(value: object) -> list[int]:
    return list(value) if isinstance(value, Iterable) else []


def _listed(value: object) -> str:
    return ",".join(map(str, _numbers(value)))
