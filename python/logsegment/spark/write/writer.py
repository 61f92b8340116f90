"""The writers of a batch and of a stream, and their commit: staged files, in the order of their tasks, become segments; all or none.

PySpark makes a writer on the driver, runs `write` in a worker process for each task, and `commit` or `abort` in a process on the driver. It
makes a new writer of a stream for each of these, which share data by the messages alone.

A commit makes the segments in the staging directory first, which fails without space or rights. Then the journal makes the moves. One
commit runs at a time, and none while a broker holds the file `.lock` of the directory.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from logsegment._core import Place
from logsegment._log_paths import SEGMENT
from logsegment._places import is_stored, redacted_uri
from logsegment.spark.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage, in_batches
from logsegment.spark.write import journal, places
from logsegment.spark.write.journal import Mark, Move
from logsegment.spark.write.options import WriteOptions, parse_options, written_columns
from logsegment.spark.write.segments import Made, StagedPart, StoredPart, append_point, make_segments
from logsegment.spark.write.task import ADVICE, StagedMessage, Staging, stage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

try:
    import fcntl
except ImportError:  # Windows has no locks of this kind: segments are still created exclusively there.
    fcntl = None  # type: ignore[assignment]
#: A file system that knows no locks.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
_HELD = {errno.EACCES, errno.EAGAIN}
#: Topic and partition, with the files that tasks staged for it.
Logs = dict[tuple[str, int], list[StagedPart]]
#: The file of a broker with the id of the topic, next to the segments.
TOPIC_ID = "partition.metadata"
Messages = Sequence[WriterCommitMessage | None]


class SegmentWriter(DataSourceArrowWriter):
    """Writes a DataFrame to segment directories.

    Args:
        given: the options of the write.
        schema: of the rows.
        overwrite: replace all partition directories of the target; else append to them.

    Raises:
        ValueError: for an invalid option or column, a target that is a log itself, or if the log of the option topic cannot be continued.
        NotADirectoryError: if the target is a file.
        OSError: if the target cannot be made, or its store does not answer.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self.schema = schema
        self.staging = _staging(given, schema, overwrite, is_stream=False)
        self.overwrite = overwrite
        path = self.staging.options.path
        if is_stored(path):
            _finish_interrupted(path)
        else:
            if not overwrite:
                self.staging = replace(self.staging, refused=_refused(self.staging.options))
            os.makedirs(places.staging(path, self.staging.job))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of a task."""
        return stage(self.staging, in_batches(iterator, self.schema))

    def commit(self, messages: Messages) -> None:
        """Commit the staged files of all tasks."""
        _commit(self.staging.options, self.overwrite, self.staging.job, _staged(messages), None)

    def abort(self, messages: Messages) -> None:
        """Remove the staged files."""
        _remove(self.staging.options.path, self.staging.job)


class SegmentStreamWriter(DataSourceStreamArrowWriter):
    """Writes a stream to segment directories, each of its batches once.

    Args:
        given: the options of the write.
        schema: of the rows.
        overwrite: each batch replaces what is there (output mode complete).

    Raises:
        As `SegmentWriter`.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self.schema = schema
        self.staging = _staging(given, schema, overwrite, is_stream=True)
        self.overwrite = overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of a task."""
        return stage(self.staging, in_batches(iterator, self.schema))

    def commit(self, messages: Messages, batchId: int) -> None:
        """Commit the staged files of all tasks of a batch, unless it was committed before."""
        staged = _staged(messages)
        if staged:
            query = staged[0].query
            mark = None if query is None else Mark(query, batchId)
            _commit(self.staging.options, self.overwrite, staged[0].job, staged, mark)

    def abort(self, messages: Messages, batchId: int) -> None:
        """Remove the staged files. If all tasks failed, the files stay until the batch is repeated."""
        for job in {message.job for message in _staged(messages)}:
            _remove(self.staging.options.path, job)


def _staging(given: Mapping[str, str], schema: StructType, overwrite: bool, *, is_stream: bool) -> Staging:
    options = parse_options(given)
    if _is_file(options.path):
        raise NotADirectoryError(f"{redacted_uri(options.path)}: not a directory; segments are written to a directory")
    if overwrite and is_stored(options.path):
        text = "mode overwrite (output mode complete) needs a file system: a store cannot replace a directory atomically"
        raise ValueError(f"{redacted_uri(options.path)}: {text}; remove it first, or write to another directory")
    if _holds_segments(options.path):
        text = "is the directory of a partition, and a write creates such directories below its target"
        raise ValueError(f"{redacted_uri(options.path)} {text}: write to the directory above")
    columns = written_columns(schema, options)
    known = places.known_partitions(options.path)
    return Staging(options, tuple(columns), tuple(sorted(known.items())), places.new_job(), is_stream)


def _is_file(path: str) -> bool:
    if is_stored(path):
        return Place(path).exists() and not Place(path).is_directory()
    return os.path.lexists(path) and not os.path.isdir(path)


def _holds_segments(path: str) -> bool:
    return Place(path).is_directory() and any(SEGMENT.fullmatch(name) for name in Place(path).names())


def _refused(options: WriteOptions) -> tuple[tuple[str, str], ...]:
    """Return directories of logs that cannot be continued, and why, so that tasks refuse their rows early.

    Raises:
        ValueError: for a log of the topic of all rows.
    """
    found = []
    for name, (topic, _) in places.partitions_of(options.path).items():
        try:
            append_point(places.below(options.path, name), is_07=options.is_07, by_index=True)
        except ValueError as error:
            if topic == options.topic:
                raise
            found.append((name, str(error)))
    return tuple(found)


def _staged(messages: Messages) -> list[StagedMessage]:
    return [message for message in messages if isinstance(message, StagedMessage)]


def _remove(target: str, job: str) -> None:
    if not journal.is_pending(target):
        places.remove_staging(target, job)


def _commit(options: WriteOptions, is_overwriting: bool, job: str, messages: Iterable[StagedMessage], mark: Mark | None) -> None:
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
                moves = list(_Placing(options, is_overwriting, job).moves(logs)) if is_local else _stored_moves(options, job, logs)
                journal.commit(target, job, moves, mark)
        finally:
            if not journal.is_pending(target):
                places.remove_leftovers(target, job, recovered)


def _finish_interrupted(target: str) -> None:
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
        end, is_last_empty = append_point(directory, is_07=self.options.is_07)
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
            text = "a broker uses this directory; stop it, or write elsewhere"
            raise BlockingIOError(error.errno, text, os.path.dirname(path)) from None
        if error.errno not in _NO_LOCKS:
            raise


def _stored_moves(options: WriteOptions, job: str, logs: dict[tuple[str, int], list[StagedPart]]) -> list[Move]:
    """Return the moves of a commit.

    Raises:
        ValueError: if two tasks wrote to one partition in spite of their claims, or another writer did meanwhile.
        OSError: if the store does not answer.
    """
    for parts in logs.values():
        if len(parts) > 1:
            raise ValueError(f"{len(parts)} tasks wrote to {parts[0].log}: {ADVICE}")
    return [move for parts in logs.values() for part in parts if isinstance(part, StoredPart) for move in _settled(options, job, part)]


def _settled(options: WriteOptions, job: str, part: StoredPart) -> Sequence[Move]:
    directory = places.below(options.path, part.log)
    end, _ = append_point(directory, is_07=options.is_07)
    if end != part.base_offset:
        text = f"ended at offset {part.base_offset} when its task started, and ends at {end} now: another process writes to it"
        raise ValueError(f"{redacted_uri(directory)} {text}; nothing of this job is visible")
    staged = f"{places.staging_name(job)}/{part.path}"
    return [Move("settle", f"{staged}/{name}", f"{part.log}/{name}") for name in part.files]
