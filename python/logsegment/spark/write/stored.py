"""Writing to a store, where nothing can be patched and nothing is locked.

Each topic-partition belongs to one task, which claims it before anything of it is sent. It finds where the log ends, makes whole segments
here, and puts them below the staging directory of the store. The commit looks whether the log still ends there, and lets the store copy
them into their place.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logsegment import stores
from logsegment.spark.write import places
from logsegment.spark.write.claims import ADVICE, Claims
from logsegment.spark.write.journal import Move
from logsegment.spark.write.log_end import log_end
from logsegment.spark.write.options import WriteOptions
from logsegment.spark.write.segments import make_segments
from logsegment.spark.write.task import Attempt, StagedMessage, StagedPart, Staging

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class StoredPart(StagedPart):
    """Segments of one task for one partition, below `path`, with the offsets that they have in the log.

    Attributes:
        base_offset: where the log ended when the task looked.
        files: names, in the order in which they become visible.
    """

    base_offset: int
    files: tuple[str, ...]


def stage(staging: Staging, batches: Iterator[pa.RecordBatch]) -> StagedMessage:
    """Put the rows of one task into the store, where no reader sees them.

    Raises:
        ValueError: when another task has rows of the same partition.
        FileNotFoundError: when the job was given up meanwhile.
        OSError: when the store does not answer.
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
    base_offset, _ = log_end(places.below(options.path, part.log), is_07=options.format == "0.7")
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
    """The moves of a commit.

    Raises:
        ValueError: when two tasks wrote to one partition, which their claims should have told, or somebody else wrote to it meanwhile.
        OSError: when the store does not answer.
    """
    for parts in logs.values():
        if len(parts) > 1:
            raise ValueError(f"{len(parts)} tasks wrote to {parts[0].log}: {ADVICE}")
    return [move for parts in logs.values() for part in parts if isinstance(part, StoredPart) for move in _moves(options, job, part)]


def _moves(options: WriteOptions, job: str, part: StoredPart) -> Sequence[Move]:
    directory = places.below(options.path, part.log)
    end, _ = log_end(directory, is_07=options.format == "0.7")
    if end != part.base_offset:
        told = f"ended at offset {part.base_offset} when its task looked, and ends at {end} now: somebody else writes to it"
        raise ValueError(f"{stores.shown(directory)} {told}; nothing of this job is visible")
    staged = f"{places.staging_name(job)}/{part.path}"
    return [Move("settle", f"{staged}/{name}", f"{part.log}/{name}") for name in part.files]
