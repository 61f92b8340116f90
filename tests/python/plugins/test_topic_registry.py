"""The registry in topics without a broker: topics that are created, their settings, and errors of librdkafka.

tests/interop/test_plugin_topics.py has the same with a broker.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from logsegment.plugins import RegistryError, topic_registry
from logsegment.plugins.catalog import topic_of
from logsegment.plugins.topic_registry import TopicStore

pytest.importorskip("confluent_kafka")


class Admin:
    """A client of brokers with topics of so many replicas; it keeps the topics that are created."""

    def __init__(self, brokers: int, policy: str = "compact", **replicas: int) -> None:
        self.brokers, self.policy, self.replicas = brokers, policy, replicas
        self.created: list[tuple[str, int, int, dict[str, str]]] = []

    def __call__(self, options: dict[str, Any]) -> Admin:
        return self

    def list_topics(self, timeout: float) -> Any:
        topics = {
            topic_of(language): SimpleNamespace(partitions={0: SimpleNamespace(replicas=list(range(number)))})
            for language, number in self.replicas.items()
        }
        return SimpleNamespace(topics=topics | {"orders": SimpleNamespace(partitions={})}, brokers=dict.fromkeys(range(self.brokers)))

    def describe_configs(self, resources: list[Any], request_timeout: float) -> dict[Any, Any]:
        answer = {"cleanup.policy": SimpleNamespace(value=self.policy)}
        return {resource: SimpleNamespace(result=lambda timeout: answer) for resource in resources}

    def create_topics(self, topics: list[Any], **_timeouts: float) -> dict[str, Any]:
        self.created += [(topic.topic, topic.num_partitions, topic.replication_factor, topic.config) for topic in topics]
        return {topic.topic: SimpleNamespace(result=lambda timeout: None) for topic in topics}


def store_of(monkeypatch: pytest.MonkeyPatch, admin: Admin, replication_factor: int | None = None) -> TopicStore:
    monkeypatch.setattr("confluent_kafka.admin.AdminClient", admin)
    return TopicStore("broker:9092", {}, 1.0, replication_factor)


@pytest.mark.parametrize(("brokers", "wanted", "expected"), [(1, None, 1), (2, None, 2), (3, None, 3), (9, None, 3), (3, 1, 1), (9, 5, 5)])
def test_topics_are_made_compacted_with_one_partition_and_three_replicas(
    monkeypatch: pytest.MonkeyPatch, brokers: int, wanted: int | None, expected: int
):
    """S-P9, S-P12: java's first; those that are there stay."""
    admin = Admin(brokers, go=1)
    store_of(monkeypatch, admin, wanted)._prepare({"python", "java", "go"})
    compact = {"cleanup.policy": "compact"}
    assert admin.created == [(topic_of(language), 1, expected, compact) for language in ("java", "python")]
    admin.created.clear()
    store_of(monkeypatch, admin, wanted)._prepare({"go"})
    assert admin.created == []


@pytest.mark.parametrize(("brokers", "expected"), [(1, []), (2, ["python"]), (9, ["python"])])
def test_as_many_replicas_are_expected_as_there_are_brokers_up_to_three(monkeypatch: pytest.MonkeyPatch, brokers: int, expected: list[str]):
    """S-P9."""
    findings = store_of(monkeypatch, Admin(brokers, java=3, python=1)).check()
    assert [(finding.rule, finding.path) for finding in findings] == [("S-P9", topic_of(language)) for language in expected]


def test_every_topic_of_a_registry_is_checked(monkeypatch: pytest.MonkeyPatch):
    """S-P12."""
    findings = store_of(monkeypatch, Admin(1, "delete", python=1, java=1)).check()
    assert [(finding.rule, finding.path) for finding in findings] == [("S-P12", topic_of(language)) for language in ("java", "python")]


class Problem:
    def __init__(self, text: str, *, aborts: bool = False) -> None:
        self._text, self._aborts = text, aborts

    def retriable(self) -> bool:
        return False

    def txn_requires_abort(self) -> bool:
        return self._aborts

    def code(self) -> int:
        return 1

    def str(self) -> str:
        return self._text


class Kafka:
    """The part of confluent_kafka that a registry uses; every call fails."""

    class KafkaException(Exception):
        pass

    class KafkaError:
        _FENCED, PRODUCER_FENCED, INVALID_PRODUCER_EPOCH = -144, 90, 47

    def Producer(self, options: dict[str, Any]) -> Failing:
        return Failing(self)

    def Consumer(self, options: dict[str, Any]) -> Failing:
        return Failing(self)


class Failing:
    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any, **_options: Any) -> None:
            raise self._kafka.KafkaException(Problem(f"{name} failed", aborts=True))

        return fail

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> TopicStore:
    kafka = Kafka()
    monkeypatch.setattr(topic_registry, "library", lambda: kafka)
    return TopicStore("broker:9092", {}, 0.01)


def test_a_failed_poll_hides_no_error_of_a_producer(failing: TopicStore) -> None:
    with pytest.raises(RegistryError, match="init_transactions failed"):
        failing.change(lambda catalog: [])


def test_a_failed_poll_hides_no_error_of_a_consumer(failing: TopicStore) -> None:
    with pytest.raises(RegistryError, match="list_topics failed"):
        failing.read("python")
