"""How the topics of a registry are made, and what is said of their settings, where there are several brokers: real ones are one here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from logsegment.plugins import topic_registry
from logsegment.plugins.catalog import topic_of
from logsegment.plugins.topic_registry import check_topics, make_topics

pytest.importorskip("confluent_kafka")


class Brokers:
    """As many brokers, with topics of so many replicas, as `Cluster` tells of them; it notes which topics are made."""

    def __init__(self, count: int, **replicas: int) -> None:
        self.count, self.replicas = count, replicas
        self.timeout, self.made_topics = 1.0, []

    def topics(self) -> dict[str, Any]:
        partitions = {language: {0: SimpleNamespace(replicas=list(range(number)))} for language, number in self.replicas.items()}
        return {language: SimpleNamespace(partitions=own) for language, own in partitions.items()} | {"": self.count}

    def options(self, told: list[str]) -> dict[str, Any]:
        return {}

    def made(self, client: Any, options: dict[str, Any]) -> Any:
        def create_topics(topics: list[Any], **_timeouts: float) -> dict[str, Any]:
            self.made_topics += [(topic.topic, topic.num_partitions, topic.replication_factor, topic.config) for topic in topics]
            return {topic.topic: SimpleNamespace(result=lambda timeout: None) for topic in topics}

        return SimpleNamespace(create_topics=create_topics)


@pytest.mark.parametrize(("brokers", "wanted", "expected"), [(1, None, 1), (2, None, 2), (3, None, 3), (9, None, 3), (3, 1, 1), (9, 5, 5)])
def test_topics_are_made_compacted_with_one_partition_and_three_replicas(brokers: int, wanted: int | None, expected: int):
    """S-P9, S-P12: java's first; those that are there stay."""
    cluster: Any = Brokers(brokers, go=1)
    make_topics(cluster, ["python", "java", "go"], wanted)
    compact = {"cleanup.policy": "compact"}
    assert cluster.made_topics == [(topic_of(language), 1, expected, compact) for language in ("java", "python")]
    cluster.made_topics.clear()
    make_topics(cluster, ["go"], wanted)
    assert cluster.made_topics == []


@pytest.mark.parametrize(
    ("brokers", "replicas", "expected"),
    [(1, 1, []), (2, 1, ["1 of 2"]), (2, 2, []), (3, 2, ["2 of 3"]), (3, 3, []), (9, 2, ["2 of 3"]), (9, 3, [])],
)
def test_too_few_replicas_are_a_warning(monkeypatch: pytest.MonkeyPatch, brokers: int, replicas: int, expected: list[str]):
    """S-P9."""
    monkeypatch.setattr(topic_registry, "_policies", lambda cluster, languages: dict.fromkeys(languages, "compact"))
    cluster: Any = Brokers(brokers, java=3, python=replicas) if brokers > 2 else Brokers(brokers, java=brokers, python=replicas)
    findings = check_topics(cluster)
    assert [(finding.rule, finding.severity, finding.path, finding.field) for finding in findings] == [
        ("S-P9", "warning", "plugin-python-topic", "replication.factor") for _ in expected
    ]
    assert [finding.message for finding in findings] == [
        f"plugin-python-topic has {part} possible replicas: the loss of a broker can lose it" for part in expected
    ]
    assert check_topics(cluster, ["java"]) == []


@pytest.mark.parametrize("policy", ["delete", "compact,delete", "delete,compact", ""])
def test_a_topic_that_is_not_compacted_alone_is_an_error(monkeypatch: pytest.MonkeyPatch, policy: str):
    """S-P12."""
    monkeypatch.setattr(topic_registry, "_policies", lambda cluster, languages: {"java": "compact", "python": policy})
    cluster: Any = Brokers(1, java=1, python=1)
    [finding] = check_topics(cluster)
    assert (finding.rule, finding.severity, finding.path, finding.field) == ("S-P12", "error", "plugin-python-topic", "cleanup.policy")
    assert repr(policy) in finding.message
