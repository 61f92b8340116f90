"""The writers of a batch and of a stream.

PySpark makes a writer on the driver, runs `write` in a worker process for each task, and `commit` or `abort` in a process on the driver. It
makes a new writer of a stream for each of these, which share data by the messages alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from logsegment import stores
from logsegment._log_paths import SEGMENT
from logsegment.spark.write import journal, places
from logsegment.spark.write.commit import commit, finish_interrupted
from logsegment.spark.write.journal import Mark
from logsegment.spark.write.options import WriteOptions, parse_options, written_columns
from logsegment.spark.write.segments import log_end
from logsegment.spark.write.stored import stage
from logsegment.spark.write.task import StagedMessage, Staging
from logsegment.stores.listing import is_directory, names_in
from logsegment.stores.uri import is_stored, shown

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

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
        self.staging = _staging(given, schema, overwrite, is_stream=False)
        self.overwrite = overwrite
        path = self.staging.options.path
        if is_stored(path):
            finish_interrupted(path)
        else:
            if not overwrite:
                self.staging = replace(self.staging, refused=_refused(self.staging.options))
            os.makedirs(places.staging(path, self.staging.job))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of a task."""
        return _written(self.staging, iterator)

    def commit(self, messages: Messages) -> None:
        """Commit the staged files of all tasks."""
        commit(self.staging.options, self.overwrite, self.staging.job, _staged(messages), None)

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
        self.staging = _staging(given, schema, overwrite, is_stream=True)
        self.overwrite = overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of a task."""
        return _written(self.staging, iterator)

    def commit(self, messages: Messages, batchId: int) -> None:
        """Commit the staged files of all tasks of a batch, unless it was committed before."""
        staged = _staged(messages)
        if staged:
            query = staged[0].query
            mark = None if query is None else Mark(query, batchId)
            commit(self.staging.options, self.overwrite, staged[0].job, staged, mark)

    def abort(self, messages: Messages, batchId: int) -> None:
        """Remove the staged files. If all tasks failed, the files stay until the batch is repeated."""
        for job in {message.job for message in _staged(messages)}:
            _remove(self.staging.options.path, job)


def _written(staging: Staging, batches: Iterator[pa.RecordBatch]) -> StagedMessage:
    return stage(staging, batches) if is_stored(staging.options.path) else staging.write(batches)


def _staging(given: Mapping[str, str], schema: StructType, overwrite: bool, *, is_stream: bool) -> Staging:
    options = parse_options(given)
    if _is_file(options.path):
        raise NotADirectoryError(f"{shown(options.path)}: segments are written to a directory, and this is none")
    if overwrite and is_stored(options.path):
        text = "a store cannot replace directories as a whole, so that mode overwrite (output mode complete) would show half of its work"
        raise ValueError(f"{shown(options.path)}: {text}; remove what is there first, or append to another place")
    if _holds_segments(options.path):
        text = "holds segments itself, as the directory of a partition does, and a write makes such directories below its target"
        raise ValueError(f"{shown(options.path)} {text}: write to the directory above")
    columns = written_columns(schema, options)
    known = places.known_partitions(options.path)
    return Staging(options, tuple(columns), tuple(sorted(known.items())), places.new_job(), is_stream)


def _is_file(path: str) -> bool:
    if is_stored(path):
        return stores.exists(path) and not stores.is_directory(path)
    return os.path.lexists(path) and not os.path.isdir(path)


def _holds_segments(path: str) -> bool:
    return is_directory(path) and any(SEGMENT.fullmatch(name) for name in names_in(path))


def _refused(options: WriteOptions) -> tuple[tuple[str, str], ...]:
    """Return directories of logs that cannot be continued, and why, so that tasks refuse their rows early.

    Raises:
        ValueError: for a log of the topic of all rows.
    """
    found = []
    for name, (topic, _) in places.partitions_of(options.path).items():
        try:
            log_end(places.below(options.path, name), is_07=options.is_07, by_index=True)
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
