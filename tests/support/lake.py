"""Tables of a data lake that tests export to, and what is in them: the same digest of rows for every reader."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import logsegment as ls
from logsegment._core import FoundSegments

#: The columns of an export by default.
EIGHT = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = dict[str, Any]


def decoded_rows(paths: Any, isolation: str = "read_committed", **options: Any) -> list[Row]:
    """The records of logs, partition by partition."""
    return [row for log in logs(paths) for row in log.records(isolation=isolation, columns=EIGHT, **options).to_pyarrow().to_pylist()]


def logs(paths: Any) -> list[ls.Log]:
    """A log for each partition of the paths: a committed read goes by partition."""
    log = ls.Log(paths)
    return [ls.Log([file.path for file in files]) for _, files in FoundSegments(log._files).by_partition()]


def iceberg(directory: Path, name: str) -> Any:
    """A table of the catalog in a directory."""
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("default", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}")
    return catalog.load_table(name)


def iceberg_rows(directory: Path, name: str) -> list[Row]:
    """The rows of a table of the catalog in a directory."""
    return iceberg(directory, name).scan(selected_fields=tuple(EIGHT)).to_arrow().to_pylist()


def delta_rows(directory: Path) -> list[Row]:
    """The rows of a Delta table."""
    from deltalake import DeltaTable

    return DeltaTable(directory).to_pyarrow_table(columns=EIGHT).to_pylist()


def parquet_rows(directory: Path) -> list[Row]:
    """The rows of a dataset of Parquet files in directories named as Hive names them."""
    import pyarrow as pa
    from pyarrow import dataset

    partitioning = dataset.partitioning(pa.schema([("topic", pa.string()), ("timestamp_day", pa.string())]), flavor="hive")
    return dataset.dataset(directory, partitioning=partitioning).to_table(columns=EIGHT).to_pylist()


def offsets_of(rows: Iterable[Row]) -> list[tuple[str, int, int]]:
    """Topic, partition and offset of each row, in order."""
    return sorted((row["topic"], row["partition"], row["offset"]) for row in rows)


def digest(rows: Iterable[Row]) -> str:
    """A hash of all rows in the order of their offsets, the same for every reader that returns the same values."""
    lines = sorted((row["topic"], row["partition"], row["offset"], _canonical(row)) for row in rows)
    return hashlib.sha256("\n".join(line for *_, line in lines).encode()).hexdigest()


def _canonical(row: Row) -> str:
    headers = [[header["key"], _hex(header["value"])] for header in row["headers"] or []]
    time = None if row["timestamp"] is None else _utc(row["timestamp"]) // timedelta(microseconds=1)
    plain = [row["topic"], row["partition"], row["offset"], time, row["timestampType"]]
    return json.dumps([*plain, _hex(row["key"]), _hex(row["value"]), headers])


def _utc(moment: datetime) -> timedelta:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH


def _hex(data: Any) -> str | None:
    return None if data is None else bytes(data).hex()
