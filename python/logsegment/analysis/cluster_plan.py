"""Plans that create the state of a cluster again: one document, or commands of Kafka's own tools."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]

#: What the core shows instead of a value that may be a secret.
HIDDEN = "(hidden)"
DEFAULT = "<default>"
#: Topics that brokers create for themselves.
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata"})
#: The name of each kind of resource for `kafka-configs`.
_ENTITIES = {"BROKER": "brokers", "GROUP": "groups", "CLIENT_METRICS": "client-metrics", "TOPIC": "topics"}
_RESOURCES = {
    "TOPIC": "--topic",
    "GROUP": "--group",
    "TRANSACTIONAL_ID": "--transactional-id",
    "DELEGATION_TOKEN": "--delegation-token",
    "USER": "--user-principal",
}
#: Values that `kafka-topics --config` and `kafka-configs --add-config` take as they are.
_PLAIN = re.compile(r"[A-Za-z0-9_.:*-]+\Z")

_HEAD = """#!/bin/sh
# Creates again what a cluster had, with Kafka's own tools. Made by `logsegment cluster --plan --format sh`: read it before you run it.
#
# BOOTSTRAP=HOST:PORT sh plan.sh [topics] [configs] [acls] [quotas] [offsets]      (all of them without an argument)
#
# Run `offsets` after the records are back: kafka-consumer-groups moves an offset after the end of a log to its end.
# KAFKA_BIN is the directory of the tools, KAFKA_SUFFIX the end of their names (.sh by default), COMMAND_CONFIG a file with the
# properties of the client, REPLICATION_FACTOR replaces the number of replicas of each topic.
set -eu
: "${BOOTSTRAP:?is the address of a broker of the new cluster}"
parts=" ${*:-topics configs acls quotas offsets} "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kafka() {
    tool="${KAFKA_BIN:+$KAFKA_BIN/}$1${KAFKA_SUFFIX-.sh}"
    shift
    "$tool" --bootstrap-server "$BOOTSTRAP" ${COMMAND_CONFIG:+--command-config "$COMMAND_CONFIG"} "$@"
}
wants() { case "$parts" in *" $1 "*) ;; *) return 1 ;; esac; }
"""


class Plan:
    """The plan that creates the state of a cluster again.

    Attributes:
        document (dict): topics, configurations, ACLs, quotas, groups and their offsets, and what is omitted.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def to_dict(self) -> dict[str, Any]:
        """Return the document, ready for JSON."""
        return self.document

    def to_sh(self) -> str:
        """Return a shell script with commands of `kafka-topics`, `kafka-configs`, `kafka-acls` and `kafka-consumer-groups`."""
        return "\n".join([_HEAD, *_script(self.document)]) + "\n"

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self.document[name]):,} {name}" for name in ("topics", "configs", "acls", "quotas", "groups"))
        return f"Plan({counts})"


def plan_of(views: Mapping[str, Sequence[Row]], cluster_ids: Sequence[str]) -> Plan:
    """Return the plan of the tables of a cluster."""
    omitted: list[str] = []
    topics = _topics(views, omitted)
    document = {
        "clusterIds": list(cluster_ids),
        "topics": topics,
        "configs": list(_configs(views["configs"], omitted)),
        "acls": [dict(row) for row in views["acls"]],
        "quotas": [dict(row) for row in views["quotas"]],
        "features": [dict(row) for row in views["features"]],
        "groups": list(_groups(views["groups"], {topic["topic"] for topic in topics}, omitted)),
        "omitted": omitted,
    }
    omitted += [f"the {row['mechanism']} credential of user {row['user']}: its secrets are never shown" for row in views["scram"]]
    return Plan(document)


def _topics(views: Mapping[str, Sequence[Row]], omitted: list[str]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in views["topics"]:
        if row["deleted"] or row["topic"] in INTERNAL:
            continue
        topic = found.setdefault(row["topic"], {"topic": row["topic"], "topicId": row["topicId"], "partitions": [], "configs": {}})
        topic["partitions"].append({"partition": row["partition"], "replicas": row["replicas"]})
    for row in views["configs"]:
        if row["resourceType"] == "TOPIC" and row["resourceName"] in found and _is_shown(row, omitted):
            found[row["resourceName"]]["configs"][row["name"]] = row["value"]
    return list(found.values())


def _configs(rows: Iterable[Row], omitted: list[str]) -> Iterator[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        if row["resourceType"] != "TOPIC" and _is_shown(row, omitted):
            found.setdefault((row["resourceType"], row["resourceName"]), {})[row["name"]] = row["value"]
    for (kind, name), configs in found.items():
        yield {"resourceType": kind, "resourceName": name, "configs": configs}


def _is_shown(row: Row, omitted: list[str]) -> bool:
    if row["value"] != HIDDEN:
        return True
    omitted.append(f"the configuration {row['name']} of {row['resourceType']} {row['resourceName'] or DEFAULT}: its value is hidden")
    return False


def _groups(rows: Iterable[Row], topics: set[str], omitted: list[str]) -> Iterator[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        group = found.setdefault(row["group"], {"group": row["group"], "type": row["type"], "protocol": row["protocol"], "offsets": []})
        if row["committedOffset"] is None:
            continue
        if row["topic"] not in topics:
            omitted.append(f"the offset of group {row['group']} in {row['topic']}-{row['partition']}: the topic does not exist")
            continue
        names = ("topic", "partition", "committedOffset", "leaderEpoch", "metadata")
        group["offsets"].append({name: row[name] for name in names})
    yield from found.values()


def _script(document: Mapping[str, Any]) -> Iterator[str]:
    for text in document["omitted"]:
        yield "# omitted: " + " ".join(text.split())
    sections = {
        "topics": _topic_commands(document["topics"]),
        "configs": _config_commands(document["configs"]),
        "acls": map(_acl_command, document["acls"]),
        "quotas": map(_quota_command, document["quotas"]),
        "offsets": _offset_commands(document["groups"]),
    }
    for name, commands in sections.items():
        yield f"\nif wants {name}; then"
        yield "    :"
        yield from commands
        yield "fi"


def _topic_commands(topics: Iterable[Row]) -> Iterator[str]:
    for topic in topics:
        replicas = max((len(partition["replicas"] or ()) for partition in topic["partitions"]), default=0) or 1
        words = ["--create", "--if-not-exists", "--topic", topic["topic"], "--partitions", str(len(topic["partitions"]))]
        factor = f'--replication-factor "${{REPLICATION_FACTOR:-{replicas}}}"'
        yield f"kafka kafka-topics {shlex.join(words)} {factor}"
        yield from _altered(["--entity-type", "topics", "--entity-name", topic["topic"]], topic["configs"])


def _config_commands(resources: Iterable[Row]) -> Iterator[str]:
    for resource in resources:
        kind = _ENTITIES.get(resource["resourceType"])
        if kind is None:
            continue
        name = resource["resourceName"]
        yield from _altered(["--entity-type", kind, *(["--entity-name", name] if name else ["--entity-default"])], resource["configs"])


def _altered(entity: list[str], configs: Mapping[str, str]) -> Iterator[str]:
    """Yield the command that sets configurations; brackets let a value have commas."""
    if not configs:
        return
    pairs = ",".join(f"{name}={value if _PLAIN.match(value) else f'[{value}]'}" for name, value in configs.items())
    yield "kafka kafka-configs " + shlex.join(["--alter", *entity, "--add-config", pairs])


def _acl_command(acl: Row) -> str:
    kind = acl["resourceType"]
    resource = ["--cluster"] if kind == "CLUSTER" else [_RESOURCES[kind], acl["resourceName"]]
    side = acl["permission"].lower()
    operation = acl["operation"].title().replace("_", "")
    words = ["--add", "--force", *resource, "--resource-pattern-type", acl["patternType"].lower()]
    words += [f"--{side}-principal", acl["principal"], f"--{side}-host", acl["host"], "--operation", operation]
    return "kafka kafka-acls " + shlex.join(words)


def _quota_command(quota: Row) -> str:
    words = ["--alter"]
    for column, kind in (("user", "users"), ("clientId", "clients"), ("ip", "ips")):
        if quota[column] is not None:
            words += ["--entity-type", kind]
            words += ["--entity-default"] if quota[column] == DEFAULT else ["--entity-name", quota[column]]
    return "kafka kafka-configs " + shlex.join([*words, "--add-config", f"{quota['name']}={quota['value']!r}"])


def _offset_commands(groups: Iterable[Row]) -> Iterator[str]:
    for group in groups:
        if not group["offsets"]:
            continue
        if group["type"] == "share":
            yield f"    # kafka-share-groups cannot set the offsets of share group {shlex.quote(group['group'])}; the JSON plan has them"
            continue
        lines = [f"{offset['topic']},{offset['partition']},{offset['committedOffset']}" for offset in group["offsets"]]
        yield "\n".join(["cat > \"$work/offsets.csv\" <<'END'", *lines, "END"])
        words = shlex.join(["--reset-offsets", "--group", group["group"]])
        yield f'kafka kafka-consumer-groups {words} --from-file "$work/offsets.csv" --execute'
