"""Counters of tasks in files: the option `ioStats`.

Each task leaves a file of JSON lines, one line for each segment that it read. Spark has no metric for a Python data source, and an
accumulator does not reach one.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark import TaskContext

from logsegment._core import RecordStream
from logsegment._places import redacted_uri


class TaskStats:
    """The counters of one task, written when it ends, also by an error.

    Args:
        directory: of the files; None for none.
    """

    def __init__(self, directory: str | None) -> None:
        self._directory = directory
        self._lines: list[dict[str, Any]] = []

    @contextmanager
    def written(self) -> Iterator[TaskStats]:
        """Write the file at the end of the block.

        Raises:
            OSError: if it cannot be written.
        """
        try:
            yield self
        finally:
            self._write()

    @contextmanager
    def counting(self, stream: RecordStream, place: Mapping[str, Any]) -> Iterator[RecordStream]:
        """Note the counters of a stream at the end of the block."""
        try:
            yield stream
        finally:
            self.note(stream.io_stats, place)

    def note(self, counters: Mapping[str, int], place: Mapping[str, Any]) -> None:
        """Note the counters of a segment with its `path`, `topic` and `partition`."""
        self._lines.append({**place, "path": redacted_uri(place["path"]), **counters})

    def _write(self) -> None:
        if self._directory is None:
            return
        os.makedirs(self._directory, exist_ok=True)
        task = _task()
        # Sessions count stages from 0, and a task may be tried again: no other file has this name.
        name = f"task-{uuid.uuid4().hex}.json"
        staged, lines = os.path.join(self._directory, f".{name}"), [json.dumps(task | line) for line in self._lines]
        with open(staged, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        os.rename(staged, os.path.join(self._directory, name))


def _task() -> dict[str, int | None]:
    """Return the numbers of the running task."""
    context = TaskContext.get()
    if context is None:
        return {"stage": None, "task": None, "attempt": None}
    return {"stage": context.stageId(), "task": context.partitionId(), "attempt": context.attemptNumber()}
