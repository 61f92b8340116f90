"""Partitions of several segments with their indexes, made from a plan that a test can hold rows against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import logsegment as ls
from logsegment import _core

START = 1_600_000_000_000


@dataclass(frozen=True)
class Made:
    """A record that was written; the whole truth about it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    value: bytes


def make_partition(
    root: Path,
    topic: str,
    partition: int,
    segments: list[list[int]],
    *,
    value_bytes: int = 20,
    batch_bytes: int = 400,
    interval: int = 0,
    **options: Any,
) -> list[Made]:
    """Write `<topic>-<partition>` with a segment for each list of offsets, and the sidecar files. A record's time is START + offset.

    `options` are those of `ls.encode`.
    """
    directory = root / f"{topic}-{partition}"
    directory.mkdir(parents=True)
    made = []
    for offsets in segments:
        records = [Made(topic, partition, offset, START + offset, f"{offset}".zfill(value_bytes).encode()) for offset in offsets]
        table = pa.table(
            {
                "offset": pa.array(offsets, pa.int64()),
                "timestampMs": pa.array([record.timestamp for record in records], pa.int64()),
                "value": pa.array([record.value for record in records], pa.binary()),
            }
        )
        ls.encode(table, batch_bytes=batch_bytes, out=directory / f"{offsets[0]:020}.log", overwrite=True, **options)
        made += records
    index(directory, interval)
    return made


def index(directory: Path, interval: int = 0) -> None:
    """Make the files beside the logs of a partition anew."""
    logs = [(path, int(path.name[:20])) for path in sorted(directory.glob("*.log"))]
    _core.rebuild_indexes(logs, directory, index_interval_bytes=interval or None)
