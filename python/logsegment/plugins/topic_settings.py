"""The topics of a registry as they should be: made so, and looked at. One partition, compacted and never deleted, with replicas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from logsegment._core import Finding
from logsegment.plugins.catalog import found, java_first, topic_of
from logsegment.plugins.cluster import Cluster, library

#: Replicas that a topic should have, where there are so many brokers.
REPLICAS = 3


def judge_topics(cluster: Cluster, languages: Iterable[str] | None = None) -> list[Finding]:
    """Look at the settings of the topics that are there.

    Args:
        cluster: where they are.
        languages: whose topics; None for all.

    Raises:
        RegistryError: when the brokers do not answer, or may not tell.
    """
    topics = cluster.topics()
    brokers = topics.pop("")
    asked = sorted(topics if languages is None else topics.keys() & set(languages), key=java_first)
    policies = _policies(cluster, asked)
    findings = []
    for language in asked:
        policy, replicas = policies[language], _replicas(topics[language])
        if policy != "compact":
            text = f"cleanup.policy of {topic_of(language)} is {policy!r} and must be 'compact': entries would be deleted for their age"
            findings.append(found("S-P12", text, language, field="cleanup.policy"))
        if replicas < min(REPLICAS, brokers):
            text = f"{topic_of(language)} has {replicas} of {min(REPLICAS, brokers)} possible replicas: a lost broker takes it along"
            findings.append(found("S-P9", text, language, severity="warning", field="replication.factor"))
    return findings


def make_topics(cluster: Cluster, languages: Iterable[str], replicas: int | None) -> None:
    """Make the topics that are not there.

    Args:
        cluster: where to.
        languages: whose topics are needed.
        replicas: of each; None for three, or as many as there are brokers.

    Raises:
        RegistryError: when one cannot be made.
    """
    topics = cluster.topics()
    brokers = topics.pop("")
    missing = sorted(set(languages) - topics.keys(), key=java_first)
    if not missing:
        return
    kafka, admin = _admin(cluster)
    new = [
        admin.NewTopic(
            topic_of(language),
            num_partitions=1,
            replication_factor=replicas or min(REPLICAS, brokers),
            config={"cleanup.policy": "compact"},
        )
        for language in missing
    ]
    told: list[str] = []
    client = cluster.made(admin.AdminClient, cluster.options(told))
    for made in client.create_topics(new, operation_timeout=cluster.timeout, request_timeout=cluster.timeout).values():
        try:
            made.result(2 * cluster.timeout)
        except kafka.KafkaException as error:
            # Another administrator was faster.
            if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                raise cluster.error(error.args[0], told) from None


def _policies(cluster: Cluster, languages: list[str]) -> dict[str, str]:
    """The `cleanup.policy` of each topic."""
    if not languages:
        return {}
    kafka, admin = _admin(cluster)
    told: list[str] = []
    client = cluster.made(admin.AdminClient, cluster.options(told))
    resources = {language: admin.ConfigResource(admin.ConfigResource.Type.TOPIC, topic_of(language)) for language in languages}
    answers = client.describe_configs(list(resources.values()), request_timeout=cluster.timeout)
    try:
        return {language: answers[one].result(2 * cluster.timeout)["cleanup.policy"].value for language, one in resources.items()}
    except kafka.KafkaException as error:
        raise cluster.error(error.args[0], told) from None


def _replicas(topic: Any) -> int:
    return min((len(partition.replicas) for partition in topic.partitions.values()), default=0)


def _admin(cluster: Cluster) -> tuple[Any, Any]:
    import importlib

    return library(), importlib.import_module("confluent_kafka.admin")
