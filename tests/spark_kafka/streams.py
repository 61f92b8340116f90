"""One stream by both sources: where each micro-batch ended, and all rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

import frames
from differential import Differential

#: Topic -> partition -> the offset to go on with.
Ends = dict[str, dict[str, int]]


def difference(differential: Differential, options: dict[str, Any], place: Path) -> str | None:
    """What is different; None for nothing."""
    frame, answer = stream_of(differential, options), theirs(differential, options, place)
    if frame.schema != answer:
        return f"schema: ours {frame.schema}, Kafka's source {answer}"
    rows = read(frame, place / "ours")
    found, wanted = ends(place / "ours"), ends(place / "theirs")
    if found != wanted:
        return f"ends of micro-batches: ours {found}, Kafka's source {wanted}"
    return frames.difference(rows, frames.of_parquet(place / "answer", rows.schema))


def taken_over(differential: Differential, options: dict[str, Any], place: Path, after: int) -> str | None:
    """What is different when theirs stops after so many micro-batches and ours goes on with its checkpoint; None for nothing."""
    theirs(differential, options, place)
    checkpoint = place / "theirs"
    done = ends(checkpoint)[after - 1]
    forget(checkpoint, after)
    rows = read(stream_of(differential, options), checkpoint)
    whole = frames.of_parquet(place / "answer", rows.schema)
    places = zip(whole["topic"].to_pylist(), whole["partition"].to_pylist(), whole["offset"].to_pylist(), strict=True)
    rest = pa.array([offset >= done[topic][str(partition)] for topic, partition, offset in places])
    assert 0 < pc.sum(rest).as_py() < whole.num_rows
    return frames.difference(rows, whole.filter(rest))


def stream_of(differential: Differential, options: dict[str, Any]) -> DataFrame:
    """Ours."""
    reader = differential.spark.readStream.format("logsegment").options(**differential.with_servers(options))
    return reader.load(str(differential.broker.logs))


def theirs(differential: Differential, options: dict[str, Any], place: Path) -> StructType:
    """Let theirs read to `answer`, with a checkpoint `theirs`; gives its schema."""
    answer = differential.kafka_source.stream(differential.with_servers(options), place / "answer", place / "theirs")
    return StructType.fromJson(answer["schema"])


def read(frame: DataFrame, checkpoint: Path) -> pa.Table:
    """What a stream reads of what is there now."""
    tables: list[pa.Table] = []

    def keep(batch: DataFrame, number: int) -> None:
        tables.append(batch.toArrow())

    writing = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    writing.trigger(availableNow=True).start().awaitTermination()
    return frames.in_order(pa.concat_tables(tables))


def ends(checkpoint: Path) -> list[Ends]:
    """Where each micro-batch ended."""
    return [json.loads(file.read_text().splitlines()[-1]) for file in batches(checkpoint / "offsets")]


def forget(checkpoint: Path, after: int) -> None:
    """As if the query had been stopped after so many micro-batches."""
    for file in [*batches(checkpoint / "offsets")[after:], *batches(checkpoint / "commits")[after:]]:
        file.unlink()
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def batches(log: Path) -> list[Path]:
    return sorted((file for file in log.iterdir() if file.name.isdecimal()), key=lambda file: int(file.name))
