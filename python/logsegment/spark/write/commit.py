"""What the driver does: staged files, in the order of their tasks, become segments behind the end of each log; all of them or none.

Whatever can fail for want of room or of rights happens in the staging directory first. Then the journal makes the moves.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from logsegment import _core
from logsegment.segments import SegmentFile, find_segments
from logsegment.spark.errors import located
from logsegment.spark.write import journal, places
from logsegment.spark.write.journal import Mark, Move
from logsegment.spark.write.locks import locked
from logsegment.spark.write.options import WriteOptions
from logsegment.spark.write.task import StagedMessage, StagedPart

#: Topic and partition, with the files that tasks staged for it.
Logs = dict[tuple[str, int], list[StagedPart]]


def commit(options: WriteOptions, is_overwriting: bool, job: str, messages: Iterable[StagedMessage], mark: Mark | None) -> None:
    """Put what the messages name into the target. A batch of a stream that is there already is dropped.

    Raises:
        OSError: when something cannot be read, written or moved; nothing is visible then.
        ValueError: when a log cannot be continued.
    """
    target = options.path
    os.makedirs(target, exist_ok=True)
    with locked(target):
        recovered = journal.recover(target)
        try:
            if mark is None or not journal.is_committed(target, mark):
                moves = list(_Placing(options, is_overwriting, job).moves(_by_log(messages)))
                journal.commit(target, job, moves, mark)
        finally:
            if not journal.is_pending(target):
                places.remove_leftovers(target, job, recovered)


def _by_log(messages: Iterable[StagedMessage]) -> Logs:
    """Parts by topic and partition, in the order of their tasks; of two attempts of a task one counts."""
    by_task: dict[int, StagedMessage] = {}
    for message in messages:
        by_task.setdefault(message.task, message)
    logs: Logs = {}
    for _, message in sorted(by_task.items()):
        for part in message.parts:
            logs.setdefault((part.topic, part.partition), []).append(part)
    return dict(sorted(logs.items()))


class _Placing:
    """Makes segments of staged files, and tells the moves that put them into their place."""

    def __init__(self, options: WriteOptions, is_overwriting: bool, job: str) -> None:
        self.options = options
        self.is_overwriting = is_overwriting
        self.job = job
        self.staging = places.staging(options.path, job)
        self.number = count()

    def moves(self, logs: Logs) -> Iterator[Move]:
        """The moves, in their order."""
        if self.is_overwriting:
            for name in places.partitions_of(self.options.path):
                yield Move("retire", name, places.replaced(next(self.number), self.job))
        for (topic, partition), parts in logs.items():
            yield from self._log(f"{topic}-{partition}", parts)

    def _log(self, name: str, parts: Sequence[StagedPart]) -> Iterator[Move]:
        directory = os.path.join(self.options.path, name)
        made = os.path.join(self.staging, f"log-{next(self.number)}-{places.new_job()}")
        if self.is_overwriting or not os.path.isdir(directory):
            self._place(parts, made, 0)
            yield Move("install", self._relative(made), name)
            return
        end, is_last_empty = self._end(directory)
        for _, files in self._place(parts, made, end):
            for file in files:
                is_taken = is_last_empty and os.path.lexists(os.path.join(directory, file))
                yield Move("replace" if is_taken else "link", self._relative(os.path.join(made, file)), os.path.join(name, file))

    def _place(self, parts: Sequence[StagedPart], made: str, base_offset: int) -> list[tuple[int, list[str]]]:
        os.makedirs(made)
        staged = [(os.path.join(self.staging, part.path), part.bytes) for part in parts]
        for path, _ in staged:
            if not os.path.exists(path):
                told = "what a task staged is not here: the path must lead to one directory on the driver and on all executors"
                raise FileNotFoundError(errno.ENOENT, told, path)
        options = self.options
        segments, end = _core.place_staged(
            staged, made, base_offset, format=options.format, level=options.level, segment_bytes=options.segment_bytes
        )
        expected = sum(part.bytes if options.format == "0.7" else part.records for part in parts)
        if end != base_offset + expected:
            raise ValueError(f"{made}: {end - base_offset} of {expected} staged records were found; nothing was committed")
        return segments

    def _end(self, directory: str) -> tuple[int, bool]:
        """Where a log goes on, and whether its last segment is empty, so that the next one takes its name."""
        segments = [one for one in _segments(directory) if one.base_offset is not None]
        if not segments:
            return 0, False
        _ensure_same_kind(segments, self.options.format == "0.7")
        last = segments[-1]
        base = last.base_offset or 0
        if self.options.format == "0.7":
            size = os.path.getsize(last.path)
            return base + size, size == 0
        try:
            end, valid, size = _core.segment_end(last.path, base)
        except _core.RecordBatchError as error:
            raise located(error, last.path) from None
        if valid != size:
            raise ValueError(
                f"{last.path}: the log ends inside an entry at byte {valid} of {size}; cut it there, or salvage it, before more is written"
            )
        return end, size == 0

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self.options.path)


def _segments(directory: str) -> list[SegmentFile]:
    try:
        return [one for one in find_segments(directory) if os.path.dirname(one.path) == directory]
    except FileNotFoundError:
        return []


def _ensure_same_kind(segments: Sequence[SegmentFile], is_07: bool) -> None:
    """Positions of Kafka 0.7 and offsets of later versions cannot go on in each other."""
    for one in segments:
        if one.path.endswith(".kafka") != is_07:
            kinds = ("a log of Kafka 0.8 or later", "a log of Kafka 0.7")
            raise ValueError(f"{one.path} belongs to {kinds[not is_07]}; option format says {kinds[is_07]}")
