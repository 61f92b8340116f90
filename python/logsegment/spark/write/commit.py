"""What the driver does: staged files, in the order of their tasks, become segments behind the end of each log; all of them or none.

Whatever can fail for want of room or of rights happens in the staging directory first. Then the journal makes the moves.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from itertools import count

from logsegment.spark.write import journal, places
from logsegment.spark.write.journal import Mark, Move
from logsegment.spark.write.locks import locked
from logsegment.spark.write.log_end import log_end
from logsegment.spark.write.options import WriteOptions
from logsegment.spark.write.segments import Made, make_segments
from logsegment.spark.write.stored import stored_moves
from logsegment.spark.write.task import StagedMessage, StagedPart
from logsegment.stores.uri import is_stored

#: Topic and partition, with the files that tasks staged for it.
Logs = dict[tuple[str, int], list[StagedPart]]
#: Where a broker keeps the id of the topic, beside the segments.
TOPIC_ID = "partition.metadata"


def commit(options: WriteOptions, is_overwriting: bool, job: str, messages: Iterable[StagedMessage], mark: Mark | None) -> None:
    """Put what the messages name into the target. A batch of a stream that is there already is dropped.

    Raises:
        OSError: when something cannot be read, written or moved; nothing is visible then.
        ValueError: when a log cannot be continued.
    """
    target = options.path
    is_local = not is_stored(target)
    if is_local:
        os.makedirs(target, exist_ok=True)
    with locked(target) if is_local else nullcontext():
        recovered = journal.recover(target)
        try:
            if mark is None or not journal.is_committed(target, mark):
                logs = _by_log(messages)
                moves = list(_Placing(options, is_overwriting, job).moves(logs)) if is_local else stored_moves(options, job, logs)
                journal.commit(target, job, moves, mark)
        finally:
            if not journal.is_pending(target):
                places.remove_leftovers(target, job, recovered)


def finish_interrupted(target: str) -> None:
    """Finish the commit that a crash interrupted in a store, before tasks look where logs end.

    Raises:
        ValueError: when its journal cannot be understood.
        OSError: when the store does not do it.
    """
    job = journal.recover(target)
    if job is not None:
        places.remove_leftovers(target, job)


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
        # The work is the core's, which leaves the interpreter to others meanwhile.
        with ThreadPoolExecutor(min(os.cpu_count() or 1, len(logs)) or 1, "logsegment-commit") as threads:
            for moves in threads.map(self._log, logs.values()):
                yield from moves

    def _log(self, parts: Sequence[StagedPart]) -> list[Move]:
        return list(self._log_moves(parts[0].log, parts))

    def _log_moves(self, name: str, parts: Sequence[StagedPart]) -> Iterator[Move]:
        directory = os.path.join(self.options.path, name)
        made = os.path.join(self.staging, f"log-{next(self.number)}-{places.new_job()}")
        if self.is_overwriting or not os.path.isdir(directory):
            self._place(parts, made, 0)
            _keep_topic_id(directory, made)
            yield Move("install", self._relative(made), name)
            return
        end, is_last_empty = log_end(directory, is_07=self.options.format == "0.7")
        for _, files in self._place(parts, made, end):
            for file in files:
                is_taken = is_last_empty and os.path.lexists(os.path.join(directory, file))
                yield Move("replace" if is_taken else "link", self._relative(os.path.join(made, file)), os.path.join(name, file))

    def _place(self, parts: Sequence[StagedPart], made: str, base_offset: int) -> Made:
        return make_segments(self.options, [(os.path.join(self.staging, part.path), part) for part in parts], made, base_offset)

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self.options.path)


def _keep_topic_id(replaced: str, made: str) -> None:
    """A log that takes the place of another is of the same topic, by its id too."""
    with suppress(FileNotFoundError):
        shutil.copyfile(os.path.join(replaced, TOPIC_ID), os.path.join(made, TOPIC_ID))
