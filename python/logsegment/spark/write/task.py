"""The task of a write: rows go in, staged files and a message that names them come out. A commit ignores the files of failed tasks."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import md5
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from logsegment._core import StagedWriter
from logsegment.spark.write import places
from logsegment.spark.write.options import WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa

#: Spark's properties of the tasks of a stream: its query and the number of the batch.
QUERY = "sql.streaming.queryId"
BATCH = "streaming.sql.batchId"


@dataclass(frozen=True)
class StagedPart:
    """A staged file: the records of one task for one partition, whose offsets count from 0."""

    topic: str
    partition: int
    path: str
    records: int
    bytes: int

    @property
    def log(self) -> str:
        """Return the name of the directory of the partition."""
        return f"{self.topic}-{self.partition}"


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

    def write(self, batches: Iterator[pa.RecordBatch]) -> StagedMessage:
        """Stage the rows of one task."""
        attempt = self.attempt()
        above = places.staging(self.options.path, attempt.job)
        directory = os.path.join(above, attempt.name)
        if self.is_stream:
            os.makedirs(above, exist_ok=True)
        try:
            # The driver of a batch makes the directory above: a task that begins after its job was given up must not make it again.
            os.mkdir(directory)
            return self.write_here(batches, attempt, above)
        except BaseException as error:
            shutil.rmtree(directory, ignore_errors=True)
            if isinstance(error, FileNotFoundError) and not os.path.isdir(above):
                raise _given_up(above) from None
            raise

    def attempt(self) -> Attempt:
        """Return the attempt that runs in this worker."""
        return Attempt.here(self.job, is_stream=self.is_stream)

    def write_here(
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
    text = "what the driver made is not here: the job was given up, or the path leads to another directory on this executor"
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
