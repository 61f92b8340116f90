"""A registry in a topic never raises an error of librdkafka itself: a poll in a handler may fail as well."""

from __future__ import annotations

from typing import Any

import pytest

from logsegment.plugins import RegistryError, topic_registry


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
    """The part of confluent_kafka that a registration uses; every call fails."""

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
def cluster(monkeypatch: pytest.MonkeyPatch) -> topic_registry.Cluster:
    kafka = Kafka()
    monkeypatch.setattr(topic_registry, "library", lambda: kafka)
    return topic_registry.Cluster("broker:9092", {}, 0.01)


def test_a_failed_poll_hides_no_error_of_a_producer(cluster: topic_registry.Cluster) -> None:
    with pytest.raises(RegistryError, match="init_transactions failed"):
        topic_registry._Transaction(cluster)


def test_a_failed_poll_hides_no_error_of_a_consumer(cluster: topic_registry.Cluster) -> None:
    with pytest.raises(RegistryError, match="list_topics failed"):
        cluster.topics()
