"""One question to both sources: Spark's own over the broker, ours over the broker's directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import frames
from cases import as_text
from kafka_source import KafkaSource
from kraft import Broker


class Differential:
    """Asks Spark's source once a question, also if ours is asked again when the broker has stopped."""

    def __init__(self, spark: SparkSession, broker: Broker, kafka_source: KafkaSource, directory: Path) -> None:
        self.spark = spark
        self.broker = broker
        self.kafka_source = kafka_source
        self.directory = directory
        self.asked: dict[str, dict[str, Any]] = {}

    def difference(self, name: str, options: dict[str, Any], *, directories: str = "", more: dict[str, Any] | None = None) -> str | None:
        """What is different in the answers; None for nothing.

        Args:
            name: of the question.
            options: for both.
            directories: what ours loads below the log directory.
            more: for theirs alone.
        """
        frame = self.ours(options, directories)
        answer = self.theirs(name, options | (more or {}))
        schema = StructType.fromJson(answer["schema"])
        if frame.schema != schema:
            return f"schema: ours {frame.schema}, Kafka's source {schema}"
        ours = frames.of_frame(frame)
        if ours.num_rows == 0:
            return "no rows: the question is none"
        return frames.difference(ours, frames.of_parquet(self.directory / name, ours.schema))

    def refusals(self, options: dict[str, Any]) -> tuple[str, str]:
        """What ours and theirs say; an empty text from who reads on."""
        return self.own_refusal(options), self.kafka_source.refusal(self.with_servers(options))

    def own_refusal(self, options: dict[str, Any]) -> str:
        try:
            self.ours(options).count()
        except PySparkException as error:
            return str(error)
        return ""

    def ours(self, options: dict[str, Any], directories: str = "") -> DataFrame:
        return self.spark.read.format("logsegment").options(**self.with_servers(options)).load(str(self.broker.logs / directories))

    def theirs(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        if name not in self.asked:
            self.asked[name] = self.kafka_source.read(self.with_servers(options), self.directory / name)
        return self.asked[name]

    def with_servers(self, options: dict[str, Any]) -> dict[str, str]:
        """The servers mean nothing to us, and stay where a query over Kafka had them."""
        return as_text(options | {"kafka.bootstrap.servers": self.broker.servers})
