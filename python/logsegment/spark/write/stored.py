"""Writes to a store, which cannot patch or lock files.

Each topic-partition belongs to one task, which claims it before it sends any segment. A claim is an empty object below the staging
directory of the job. A task that made one lists all, so that of two tasks at least the second sees the other. The task finds where the log
ends, makes whole segments here, and puts them below the staging directory. The commit checks that the log still ends there, and lets the
store copy them into their place.
"""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logsegment import stores
from logsegment.spark.write import places
from logsegment.spark.write.journal import Move
from logsegment.spark.write.options import WriteOptions
from logsegment.spark.write.segments import log_end, make_segments
from logsegment.spark.write.task import Attempt, StagedMessage, StagedPart, Staging
from logsegment.stores.uri import shown

if TYPE_CHECKING:
    import pyarrow as pa

#: Claims that are sent at the same time: a task may have rows of very many partitions.
THREADS = 8
#: Seconds after which a claim is renewed, far below `places.ABANDONED_AFTER`: a task may make segments for longer than that before it sends
#: the first.
RENEWED_AFTER = 60 * 60
ADVICE = (
    'offsets cannot be patched in a store, so one task must write all rows of a partition, as after df.repartition("topic", "partition"), '
    "or df.coalesce(1) where rows name no partition; nothing of this job is visible"
)


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
            FileNotFoundError: if the job was given up meanwhile.
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
        for entry in stores.walk(self._above):
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
        if self._own and not stores.exists(self._place(self._own[0])):
            raise FileNotFoundError(errno.ENOENT, "the job was given up meanwhile", shown(self._above))

    def withdraw(self) -> None:
        """Remove the claims, as far as the store does it: the next attempt may have other rows."""
        for log in self._own:
            with suppress(OSError):
                stores.remove(self._place(log))

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
        stores.put_bytes(self._place(log), b"")

    def _place(self, log: str) -> str:
        return places.below(self._above, log, self._attempt)


def _task(attempt: str) -> int:
    return int(attempt.split("-")[1])


@dataclass(frozen=True)
class StoredPart(StagedPart):
    """Segments of one task for one partition, below `path`, with their offsets in the log.

    Attributes:
        base_offset: log end offset when the task looked.
        files: names, in the order in which they become visible.
    """

    base_offset: int
    files: tuple[str, ...]


def stage(staging: Staging, batches: Iterator[pa.RecordBatch]) -> StagedMessage:
    """Send the rows of one task to the staging directory of the store.

    Raises:
        ValueError: if another task has rows of the same partition.
        FileNotFoundError: if the job was given up meanwhile.
        OSError: if the store does not answer.
    """
    attempt = staging.attempt()
    above = places.staging(staging.options.path, attempt.job)
    claims = Claims(places.claims(above, staging.job), attempt.name)
    with tempfile.TemporaryDirectory(prefix="logsegment-") as here:
        os.mkdir(os.path.join(here, attempt.name))
        try:
            message = staging.write_here(batches, attempt, here, claims.claim)
            parts = tuple(_uploaded(staging.options, attempt, part, here) for part in message.parts)
            claims.ensure_kept()
            return replace(message, parts=parts)
        except BaseException:
            with suppress(OSError):
                stores.remove_directory(places.below(above, attempt.name))
            claims.withdraw()
            raise


def _uploaded(options: WriteOptions, attempt: Attempt, part: StagedPart, here: str) -> StoredPart:
    staged, made = os.path.join(here, part.path), os.path.join(here, "made")
    base_offset, _ = log_end(places.below(options.path, part.log), is_07=options.is_07)
    segments = make_segments(options, [(staged, part)], made, base_offset)
    os.unlink(staged)
    names = tuple(name for _, names in segments for name in names)
    target = places.below(places.staging(options.path, attempt.job), part.path)
    for name in names:
        stores.put_file(os.path.join(made, name), places.below(target, name))
        os.unlink(os.path.join(made, name))
    os.rmdir(made)
    return StoredPart(part.topic, part.partition, part.path, part.records, part.bytes, base_offset, names)


def stored_moves(options: WriteOptions, job: str, logs: dict[tuple[str, int], list[StagedPart]]) -> list[Move]:
    """Return the moves of a commit.

    Raises:
        ValueError: if two tasks wrote to one partition in spite of their claims, or another writer did meanwhile.
        OSError: if the store does not answer.
    """
    for parts in logs.values():
        if len(parts) > 1:
            raise ValueError(f"{len(parts)} tasks wrote to {parts[0].log}: {ADVICE}")
    return [move for parts in logs.values() for part in parts if isinstance(part, StoredPart) for move in _moves(options, job, part)]


def _moves(options: WriteOptions, job: str, part: StoredPart) -> Sequence[Move]:
    directory = places.below(options.path, part.log)
    end, _ = log_end(directory, is_07=options.is_07)
    if end != part.base_offset:
        text = f"ended at offset {part.base_offset} when its task looked, and ends at {end} now: somebody else writes to it"
        raise ValueError(f"{stores.shown(directory)} {text}; nothing of this job is visible")
    staged = f"{places.staging_name(job)}/{part.path}"
    return [Move("settle", f"{staged}/{name}", f"{part.log}/{name}") for name in part.files]
