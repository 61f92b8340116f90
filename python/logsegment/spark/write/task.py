"""The task of a write: rows go in, staged files and a message that names them come out. A commit ignores the files of failed tasks.

A store cannot patch or lock files. There each topic-partition belongs to one task, which claims it before it sends any segment. A claim is
an empty object below the staging directory of the job. A task that made one lists all, so that of two tasks at least the second sees the
other. The task finds where the log ends, makes whole segments here, and puts them below the staging directory. The commit checks that the
log still ends there, and lets the store copy them into their place.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import md5
from typing import TYPE_CHECKING

from pyspark import TaskContext

from logsegment._core import Place, StagedWriter
from logsegment._places import is_stored, redacted_uri
from logsegment.spark.datasource import WriterCommitMessage
from logsegment.spark.write import places
from logsegment.spark.write.options import WriteOptions
from logsegment.spark.write.segments import StagedPart, StoredPart, append_point, make_segments

if TYPE_CHECKING:
    import pyarrow as pa

#: Spark's properties of the tasks of a stream: its query and the number of the batch.
QUERY = "sql.streaming.queryId"
BATCH = "streaming.sql.batchId"
#: Claims that are sent at the same time: a task may have rows of very many partitions.
THREADS = 8
#: Seconds after which a claim is renewed, far below `places.ABANDONED_AFTER`: a task may make segments for longer than that before it sends
#: the first.
RENEWED_AFTER = 60 * 60
ADVICE = (
    'offsets cannot be changed in a store, so one task must write all rows of a partition, as after df.repartition("topic", "partition"), '
    "or df.coalesce(1) if rows have no partition; nothing of this job is visible"
)


@dataclass(frozen=True)
class StagedMessage(WriterCommitMessage):
    """The message of a task to the driver.

    Attributes:
        job: name of the job, and of its staging directory.
        query: of the stream; None for a batch.
        task: number of the task, which orders the records.
        parts: the files; their paths are relative to the staging directory.
    """

    job: str
    query: str | None
    task: int
    parts: tuple[StagedPart, ...]


@dataclass(frozen=True)
class Staging:
    """The data of a write that its tasks share."""

    options: WriteOptions
    columns: tuple[str, ...]
    known_partitions: tuple[tuple[str, int], ...]
    job: str
    is_stream: bool
    refused: tuple[tuple[str, str], ...] = ()

    def attempt(self) -> Attempt:
        """Return the attempt that runs in this worker."""
        return Attempt.here(self.job, is_stream=self.is_stream)

    def write(
        self, batches: Iterator[pa.RecordBatch], attempt: Attempt, above: str, claim: Callable[[Sequence[str]], None] | None = None
    ) -> StagedMessage:
        """Stage the rows of one task in the directory of its attempt, below `above`. `claim` gets the new partitions of each batch."""
        refused = dict(self.refused)
        writer, claimed = StagedWriter(os.path.join(above, attempt.name), self.options.encode, self._stage_options(attempt)), 0
        for batch in batches:
            with _naming_task(attempt.task):
                writer.write(batch.select(list(self.columns)), time.time_ns() // 1_000_000)
            if claim is not None or refused:
                met = [f"{topic}-{number}" for topic, number in writer.partitions(claimed)]
                for log in met:
                    if log in refused:
                        raise ValueError(refused[log])
                if claim is not None:
                    claim(met)
                claimed += len(met)
        rows = writer.finish()
        parts = [StagedPart(topic, number, os.path.join(attempt.name, name), records, size) for topic, number, name, records, size in rows]
        return StagedMessage(attempt.job, attempt.query, attempt.task, tuple(parts))

    def _stage_options(self, attempt: Attempt) -> StageOptions:
        return StageOptions(
            topic=self.options.topic,
            partitions=self.options.partitions,
            compressed_topics=sorted(self.options.compressed_topics),
            known_partitions=dict(self.known_partitions),
            start=attempt.task,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class StageOptions:
    """Where the rows of a task go.

    Attributes:
        topic: topic of all rows; None for that of their column.
        partitions: number of partitions of each topic; None for those that it has.
        compressed_topics: the topics that are compressed; none for all.
        known_partitions: number of partitions by topic.
        start: the number of the task, from which keys without a partition are spread.
    """

    topic: str | None
    partitions: int | None
    compressed_topics: list[str]
    known_partitions: dict[str, int]
    start: int


@contextmanager
def _naming_task(number: int) -> Iterator[None]:
    """Add the number of the task to an error, which counts rows within a task."""
    try:
        yield
    except ValueError as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (f"task {number}: {error.args[0]}", *error.args[1:])
        raise


def _given_up(staging: str) -> FileNotFoundError:
    text = "the staging directory is missing: the job was aborted, or the path is another directory on this executor"
    return FileNotFoundError(errno.ENOENT, text, staging)


@dataclass(frozen=True)
class Attempt:
    """One attempt of one task."""

    job: str
    query: str | None
    task: int
    name: str

    @classmethod
    def here(cls, job: str, *, is_stream: bool) -> Attempt:
        """Return the attempt that runs in this worker.

        All attempts of a batch of a stream have the same job, so that the next one cleans up. A batch that `foreachBatch` of a stream
        writes keeps the job of its writer.
        """
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        number = context.taskAttemptId() if context is not None else 0
        query = context.getLocalProperty(QUERY) if context is not None and is_stream else None
        batch = context.getLocalProperty(BATCH) if context is not None and is_stream else None
        if query is not None and batch is not None:
            job = md5(f"{query}/{batch}".encode(), usedforsecurity=False).hexdigest()
        return cls(job, query, task, f"task-{task:05d}-{number}-{places.new_job()}")


class Claims:
    """The claims of one attempt of a task.

    Args:
        above: the directory of the claims of all tasks of a job.
        attempt: name of the attempt, which begins with `task-<number>-`.
        clock: returns seconds.
    """

    def __init__(self, above: str, attempt: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._above = above
        self._attempt = attempt
        self._clock = clock
        self._own: list[str] = []
        self._put_at = clock()

    def claim(self, logs: Sequence[str]) -> None:
        """Claim partitions, by the names of their directories. Without any, only show that the job lives.

        Raises:
            ValueError: if another task has one of them.
            FileNotFoundError: if the job was aborted.
            OSError: if the store does not answer.
        """
        if not logs:
            self._renew()
            return
        self._own += logs
        self._put_at = self._clock()
        with ThreadPoolExecutor(min(THREADS, len(logs)), "logsegment-claims") as threads:
            for _ in threads.map(self._put, logs):
                pass
        tasks: dict[str, set[int]] = {}
        for entry in Place(self._above).files_below():
            log = os.path.basename(os.path.dirname(entry.path[:]))
            tasks.setdefault(log, set()).add(_task(entry.name))
        for log in self._own:
            if len(tasks.get(log, ())) > 1:
                first, second, *_ = sorted(tasks[log])
                raise ValueError(f"tasks {first} and {second} both have rows of {log}: {ADVICE}")

    def ensure_kept(self) -> None:
        """Raise if the claims are gone: the commit that gave the job up would not remove what is sent now.

        Raises:
            FileNotFoundError: if the first claim is gone.
            OSError: if the store does not answer.
        """
        if self._own and not Place(self._place(self._own[0])).exists():
            raise FileNotFoundError(errno.ENOENT, "the job was aborted", redacted_uri(self._above))

    def withdraw(self) -> None:
        """Remove the claims, as far as the store does it: the next attempt may have other rows."""
        for log in self._own:
            with suppress(OSError):
                Place(self._place(log)).remove()

    def _renew(self) -> None:
        if self._own and self._clock() - self._put_at >= RENEWED_AFTER:
            self._put_at = self._clock()
            try:
                # A claim that is renewed after the job was given up would hide that.
                self.ensure_kept()
                self._put(self._own[0])
            except OSError as error:
                # The next renewal asks a store that does not answer now.
                if isinstance(error, FileNotFoundError):
                    raise

    def _put(self, log: str) -> None:
        Place(self._place(log)).put(b"")

    def _place(self, log: str) -> str:
        return places.below(self._above, log, self._attempt)


def _task(attempt: str) -> int:
    return int(attempt.split("-")[1])


def stage(staging: Staging, batches: Iterator[pa.RecordBatch]) -> StagedMessage:
    """Stage the rows of one task, in the directory of the job or in a store.

    Raises:
        ValueError: for an invalid row, or if another task has rows of the same partition in a store.
        FileNotFoundError: if the job was aborted.
        OSError: if a file cannot be written, or the store does not answer.
    """
    attempt = staging.attempt()
    above = places.staging(staging.options.path, attempt.job)
    stage_below = _stage_in_store if is_stored(above) else _stage_here
    return stage_below(above, attempt, staging, batches)


def _stage_here(above: str, attempt: Attempt, staging: Staging, batches: Iterator[pa.RecordBatch]) -> StagedMessage:
    directory = os.path.join(above, attempt.name)
    if staging.is_stream:
        os.makedirs(above, exist_ok=True)
    try:
        # The driver of a batch makes the directory above: a task that begins after its job was given up must not make it again.
        os.mkdir(directory)
        return staging.write(batches, attempt, above)
    except BaseException as error:
        shutil.rmtree(directory, ignore_errors=True)
        if isinstance(error, FileNotFoundError) and not os.path.isdir(above):
            raise _given_up(above) from None
        raise


def _stage_in_store(above: str, attempt: Attempt, staging: Staging, batches: Iterator[pa.RecordBatch]) -> StagedMessage:
    claims = Claims(places.claims(above, staging.job), attempt.name)
    with tempfile.TemporaryDirectory(prefix="logsegment-") as here:
        os.mkdir(os.path.join(here, attempt.name))
        try:
            message = staging.write(batches, attempt, here, claims.claim)
            parts = tuple(_uploaded(staging.options, attempt, part, here) for part in message.parts)
            claims.ensure_kept()
            return replace(message, parts=parts)
        except BaseException:
            with suppress(OSError):
                Place(places.below(above, attempt.name)).remove(tree=True)
            claims.withdraw()
            raise


def _uploaded(options: WriteOptions, attempt: Attempt, part: StagedPart, here: str) -> StoredPart:
    staged, made = os.path.join(here, part.path), os.path.join(here, "made")
    base_offset, _ = append_point(places.below(options.path, part.log), is_07=options.is_07)
    segments = make_segments(options, [(staged, part)], made, base_offset)
    os.unlink(staged)
    names = tuple(name for _, names in segments for name in names)
    target = places.below(places.staging(options.path, attempt.job), part.path)
    for name in names:
        Place(places.below(target, name)).put_file(os.path.join(made, name))
        os.unlink(os.path.join(made, name))
    os.rmdir(made)
    return StoredPart(part.topic, part.partition, part.path, part.records, part.bytes, base_offset, names)
