"""What tasks read, told in files: the option `ioStats`.

Counters of streams go in; each task leaves one file of JSON lines, one line for each segment that it read. Spark has no metric for what a
Python data source does, and an accumulator does not reach one.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from logsegment._core import RecordStream
from logsegment.stores.uri import is_stored, placed, shown

#: Name of the option.
IO_STATS = "ioStats"


def io_stats_option(options: Mapping[str, str]) -> str | None:
    """The directory for the files; None when the option is not given.

    Args:
        options: Spark's options, names in lower case.

    Raises:
        ValueError: when it is no directory of a mounted file system.
    """
    text = options.get(IO_STATS.lower())
    if text is None:
        return None
    if not text:
        raise ValueError(f"option {IO_STATS} must be a directory, not ''")
    place = placed(text)
    if is_stored(place):
        raise ValueError(f"option {IO_STATS} must be a directory of a mounted file system, not {shown(place)}")
    return os.path.abspath(place)


class TaskStats:
    """The counters of one task, written when it ends, also by an error.

    Args:
        directory: where; None for nowhere.
    """

    def __init__(self, directory: str | None) -> None:
        self._directory = directory
        self._lines: list[dict[str, Any]] = []

    @contextmanager
    def written(self) -> Iterator[TaskStats]:
        """Write the file at the end of the block.

        Raises:
            OSError: when it cannot be written.
        """
        try:
            yield self
        finally:
            self._write()

    @contextmanager
    def counting(self, stream: RecordStream, path: str, topic: str | None, partition: int | None) -> Iterator[RecordStream]:
        """Note what the stream has done by the end of the block."""
        try:
            yield stream
        finally:
            self.note(stream.io_stats, path, topic, partition)

    def note(self, counters: Mapping[str, int], path: str, topic: str | None, partition: int | None) -> None:
        """Note what was done to a segment."""
        self._lines.append({"path": shown(path), "topic": topic, "partition": partition, **counters})

    def _write(self) -> None:
        if self._directory is None:
            return
        os.makedirs(self._directory, exist_ok=True)
        told = _task()
        # Stages are counted anew in each session, and a task may be tried again: the name is never there yet.
        name = f"task-{uuid.uuid4().hex}.json"
        staged, lines = os.path.join(self._directory, f".{name}"), [json.dumps(told | line) for line in self._lines]
        with open(staged, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        os.rename(staged, os.path.join(self._directory, name))


def _task() -> dict[str, int | None]:
    """Which task of Spark's this is."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return {"stage": None, "task": None, "attempt": None}
    return {"stage": context.stageId(), "task": context.partitionId(), "attempt": context.attemptNumber()}
