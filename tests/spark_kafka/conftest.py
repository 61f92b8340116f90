"""A broker with all topics, Spark's own Kafka source beside it, and our Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import eras
import topics
from differential import Differential
from kafka_source import KafkaSource
from kraft import Broker
from spark_session import spark_session


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    return spark_session()


@pytest.fixture(scope="session")
def kafka_source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaSource]:
    started = KafkaSource(tmp_path_factory.mktemp("kafka-source"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Running, with all topics, until a test stops it."""
    eras.need(*eras.NEEDED_COMMANDS)
    started = Broker(tmp_path_factory.mktemp("spark-kafka") / "broker", topics.PROPERTIES)
    held = topics.fill(started, tmp_path_factory.mktemp("planted"))
    yield started
    started.stop()
    held.clear()


@pytest.fixture(scope="session")
def differential(spark: SparkSession, broker: Broker, kafka_source: KafkaSource, tmp_path_factory: pytest.TempPathFactory) -> Differential:
    return Differential(spark, broker, kafka_source, tmp_path_factory.mktemp("answers"))
