"""The commit of a write on the driver: staged files, in the order of their tasks, become segments after the end of each log; all or none.

The segments are made in the staging directory first, which fails without space or rights. Then the journal makes the moves. One commit runs
at a time, and none while a broker holds the file `.lock` of the directory.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from itertools import count

from logsegment.spark.write import journal, places
from logsegment.spark.write.journal import Mark, Move
from logsegment.spark.write.options import WriteOptions
from logsegment.spark.write.segments import Made, log_end, make_segments
from logsegment.spark.write.stored import stored_moves
from logsegment.spark.write.task import StagedMessage, StagedPart
from logsegment.stores.uri import is_stored

#: Topic and partition, with the files that tasks staged for it.
Logs = dict[tuple[str, int], list[StagedPart]]
#: The file of a broker with the id of the topic, next to the segments.
TOPIC_ID = "partition.metadata"


def commit(options: WriteOptions, is_overwriting: bool, job: str, messages: Iterable[StagedMessage], mark: Mark | None) -> None:
    """Commit the staged files of messages. A batch of a stream that was committed before is dropped.

    Raises:
        OSError: if a file cannot be read, written or moved; nothing is visible then.
        ValueError: if a log cannot be continued.
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
        ValueError: if its journal is invalid.
        OSError: if the store fails.
    """
    job = journal.recover(target)
    if job is not None:
        places.remove_leftovers(target, job)


def _by_log(messages: Iterable[StagedMessage]) -> Logs:
    """Return the parts by topic and partition, in the order of their tasks; of two attempts of a task one counts."""
    by_task: dict[int, StagedMessage] = {}
    for message in messages:
        by_task.setdefault(message.task, message)
    logs: Logs = {}
    for _, message in sorted(by_task.items()):
        for part in message.parts:
            logs.setdefault((part.topic, part.partition), []).append(part)
    return dict(sorted(logs.items()))


class _Placing:
    """Makes segments of staged files, and the moves that put them into their place."""

    def __init__(self, options: WriteOptions, is_overwriting: bool, job: str) -> None:
        self.options = options
        self.is_overwriting = is_overwriting
        self.job = job
        self.staging = places.staging(options.path, job)
        self.number = count()

    def moves(self, logs: Logs) -> Iterator[Move]:
        """Yield the moves in order."""
        if self.is_overwriting:
            for name in places.partitions_of(self.options.path):
                yield Move("retire", name, places.replaced(next(self.number), self.job))
        # The core releases the GIL meanwhile.
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
        end, is_last_empty = log_end(directory, is_07=self.options.is_07)
        for _, files in self._place(parts, made, end):
            for file in files:
                is_taken = is_last_empty and os.path.lexists(os.path.join(directory, file))
                yield Move("replace" if is_taken else "link", self._relative(os.path.join(made, file)), os.path.join(name, file))

    def _place(self, parts: Sequence[StagedPart], made: str, base_offset: int) -> Made:
        return make_segments(self.options, [(os.path.join(self.staging, part.path), part) for part in parts], made, base_offset)

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self.options.path)


def _keep_topic_id(replaced: str, made: str) -> None:
    """Copy the topic id, so that a log that replaces another one is of the same topic."""
    with suppress(FileNotFoundError):
        shutil.copyfile(os.path.join(replaced, TOPIC_ID), os.path.join(made, TOPIC_ID))


try:
    import fcntl
except ImportError:  # Windows has no locks of this kind: segments are still created exclusively there.
    fcntl = None  # type: ignore[assignment]
#: A file system that knows no locks.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
_HELD = {errno.EACCES, errno.EAGAIN}


@contextmanager
def locked(target: str) -> Iterator[None]:
    """Lock the target: wait for another commit, fail if a broker has locked it.

    Raises:
        BlockingIOError: if a broker holds the directory.
        OSError: if the lock file cannot be made.
    """
    path = os.path.join(target, ".lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if fcntl is not None:
            # The lock of the open file excludes other commits, also in this process; the lock of the process is the one of Java.
            _lock(lambda: fcntl.flock(descriptor, fcntl.LOCK_EX), path)
            _lock(lambda: fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB), path)
        yield
    finally:
        os.close(descriptor)


def _lock(take: object, path: str) -> None:
    try:
        take()  # type: ignore[operator]
    except OSError as error:
        if error.errno in _HELD:
            text = "a broker has this directory open; stop it, or write elsewhere"
            raise BlockingIOError(error.errno, text, os.path.dirname(path)) from None
        if error.errno not in _NO_LOCKS:
            raise
