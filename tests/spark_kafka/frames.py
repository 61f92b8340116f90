"""Two readings as sorted Arrow tables, and where they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

ORDER = [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]


def of_frame(frame: DataFrame) -> pa.Table:
    return in_order(frame.toArrow())


def of_parquet(directory: Path, like: pa.Schema) -> pa.Table:
    return in_order(pq.read_table(directory).cast(like))


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by(ORDER).combine_chunks()


def difference(ours: pa.Table, theirs: pa.Table) -> str | None:
    """The first row that only one has, or has in another way; None when all are equal."""
    if ours.equals(theirs):
        return None
    mine, other = by_place(ours), by_place(theirs)
    for place in sorted(mine.keys() | other.keys()):
        if mine.get(place) != other.get(place):
            counts = f"{len(mine)} rows, Kafka's source {len(other)}"
            return f"{place}: ours {mine.get(place)}, Kafka's source {other.get(place)}; {counts}"
    return f"rows more than once: {ours.num_rows} and {theirs.num_rows}"


def by_place(table: pa.Table) -> dict[tuple[str, int, int], dict[str, Any]]:
    return {(row["topic"], row["partition"], row["offset"]): row for row in table.to_pylist()}
