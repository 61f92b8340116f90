"""Partition directories without some of their records, with the files that Kafka keeps next to segments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from logsegment._core import (
    CompactionRound,
    FileSource,
    FoundSegments,
    PartitionEnd,
    Place,
    RecordBatchError,
    SegmentFile,
    SegmentLookup,
    rebuild_indexes,
    without_ended_transactions,
)
from logsegment._core import compact as core_compact
from logsegment._core import rewrite as core_rewrite
from logsegment._log_paths import snapshot_offset
from logsegment._options import CompressionName, ReadOptions
from logsegment._output import write_file
from logsegment._places import absolute, is_tiered, join_path, redacted_uri
from logsegment._rewrite.account import RewrittenFile
from logsegment._rewrite.predicate import Predicate
from logsegment._rewrite.selection import CoreSelection
from logsegment.segment_files.discovery import size_of
from logsegment.segment_files.output_directory import ensure_own_directories
from logsegment.segment_files.output_names import directory_name, file_name
from logsegment.segment_files.overflow import parts_of

#: Files of a partition directory that say the same of the output: offsets, producers and epochs stay.
KEPT_FILES = ("partition.metadata", "leader-epoch-checkpoint")
#: Bytes of a sidecar file that are read; no broker writes larger ones.
MOST_SIDECAR_BYTES = 256 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class RewriteOptions:
    """Options of a rewrite; `rewrite` documents each attribute.

    Attributes:
        is_threaded: hash and write in a thread of their own.
        log_start: records below this offset are deleted, with the batches that hold no others; None for no such offset.
    """

    keep: CoreSelection | Predicate | None = None
    drop: CoreSelection | Predicate | None = None
    tombstone: CoreSelection | Predicate | None = None
    mask: CoreSelection | Predicate | None = None
    mask_with: str = "empty"
    mask_key: bytes | None = None
    compression: CompressionName | None = None
    allow_loss: bool = False
    allow_lower_end: bool = False
    is_threaded: bool = True
    log_start: int | None = None

    def of_file(self, source: Any, read: ReadOptions) -> RewriteOptions:
        """Return the options for one file, where an expression means the places of the records that it selects.

        Raises:
            RecordBatchError, OSError: if the file cannot be decoded.
        """
        given = {name: getattr(self, name) for name in ("keep", "drop", "tombstone", "mask")}
        predicates = {name: predicate for name, predicate in given.items() if isinstance(predicate, Predicate)}
        found: dict[str, Any] = {name: CoreSelection(places=predicate.places(source, read)) for name, predicate in predicates.items()}
        return replace(self, **found) if found else self


@dataclass(frozen=True)
class RewriteWork:
    """A rewrite of several files.

    Attributes:
        read: how entries are read.
        options: what becomes of records.
        is_dry: write nothing.
        begun: is called with each file before it is read.
        done: is called with the account of each file.
        round: of a compaction, whose offset map says what stays.
    """

    read: ReadOptions
    options: RewriteOptions
    is_dry: bool = False
    round: CompactionRound | None = None
    begun: Callable[[SegmentFile], object] = field(default=lambda file: None)
    done: Callable[[RewrittenFile], object] = field(default=lambda file: None)

    def file(
        self, source: Any, end: PartitionEnd, out: Any = None, names: tuple[str | None, str | None] = (None, None)
    ) -> tuple[bytes | None, RewrittenFile]:
        """Rewrite one file.

        Args:
            source: what `rewrite` reads.
            end: of its partition.
            out: where the entries go; None to return them.
            names: of the source and of the output, for the account.

        Raises:
            RecordBatchError, OSError: as `rewrite`.
        """
        if self.round is None:
            row = core_rewrite(source, self.read, self.options.of_file(source, self.read), end, out, self.is_dry)
        else:
            row = core_compact(source, self.read, self.options, end, self.round, out, self.is_dry)
        data, rows, is_listed, emptied, (sha_in, bytes_in), (sha_out, bytes_out), findings, below = row
        account = RewrittenFile(*names, bytes_in, sha_in, bytes_out, sha_out, emptied, is_listed, findings, rows, below)
        self.done(account)
        return data, account


def rewrite_partitions(files: Sequence[SegmentFile], work: RewriteWork, target: Path | None, output: str | None) -> list[RewrittenFile]:
    """Rewrite the segments of partitions.

    Args:
        files: partition by partition, in the order of their offsets.
        work: what is done.
        target: an existing directory, below which each partition gets its own; None with `is_dry`.
        output: the name that the directory will have, for the account.

    Raises:
        ValueError: if a file has no name of a segment, or two partitions would share a directory.
        RecordBatchError, OSError: as `rewrite`.
    """
    ensure_own_directories(files)
    done: list[RewrittenFile] = []
    for _, group in groupby(files, lambda file: absolute(file.directory)):
        done += rewrite_partition(list(group), work, target, output)
    return done


def sources_of(files: Sequence[SegmentFile]) -> list[FileSource]:
    """Return the segments as they are now: what is appended meanwhile is not read."""
    return [file.source(0, None if is_tiered(file.path) else size_of(file)) for file in files]


def cut_batch(source: FileSource, log_start: int, read: ReadOptions) -> tuple[bytes, int]:
    """Return a batch without its records below a log start offset, and the number of these records.

    Args:
        source: the bytes of the batch.
        log_start: the offset; the batch ends at or after it.
        read: how entries are read.

    Raises:
        RecordBatchError, OSError: if the batch cannot be decoded.
    """
    data, account = RewriteWork(read, RewriteOptions(log_start=log_start)).file(source, PartitionEnd([source], read))
    return data or b"", account.below_log_start


def parts_from_log_start(file: SegmentFile, read: ReadOptions) -> tuple[list[bytes | FileSource], int]:
    """Return the sources of a segment without the records below the log start offset of its partition, and the number of these records.

    Args:
        file: a segment of a partition with a log start offset.
        read: how entries are read.

    Raises:
        RecordBatchError: if headers before the log start offset cannot be read, or the batch around it cannot be decoded.
        OSError: if the file cannot be read.
    """
    log_start = file.log_start or 0
    below = FoundSegments([file]).records_before(log_start)
    position, batch = SegmentLookup(file).find_offset(log_start)
    if batch is None:
        return [], below
    end = position + batch[0]
    data, cut = cut_batch(FileSource(file.path, position, end), log_start, read)
    if not cut:
        return [file.source(position)], below
    return ([data] if data else []) + [file.source(end)], below


def snapshot_before(file: SegmentFile) -> bytes | None:
    """Return the bytes of the `.snapshot` file of the state before a segment; None if there is none.

    It has no transactions that had ended at the latest snapshot: a cleaner may have removed their markers.
    """
    if is_tiered(file.path) or file.base_offset is None:
        return None
    before = _snapshot(file.directory, file.base_offset)
    latest = None if before is None else _latest_snapshot(file, file.base_offset)
    return before if before is None or latest is None else without_ended_transactions(before, latest)


def _snapshot(directory: str, offset: int) -> bytes | None:
    return Place(join_path(directory, f"{offset:020d}.snapshot")).read()


def _latest_snapshot(file: SegmentFile, after: int) -> bytes | None:
    """Return the bytes of the latest `.snapshot` file of a log after an offset; those after the end of the log are stale."""
    *_, last = file.siblings()
    found = None
    with suppress(RecordBatchError):
        found = SegmentLookup(last).last_batch()
    end = last.base_offset or 0 if found is None else found[2] + 1
    offsets = [offset for name in Place(file.directory).names() if (offset := snapshot_offset(name)) is not None and after < offset <= end]
    return _snapshot(file.directory, max(offsets)) if offsets else None


def rewrite_partition(files: Sequence[SegmentFile], work: RewriteWork, target: Path | None, output: str | None) -> Iterator[RewrittenFile]:
    """Rewrite the segments of one partition; see `rewrite_partitions`.

    Records below its log start offset are deleted, and a segment whose offsets are too far above its name is split.
    """
    log_start = files[0].log_start
    work = replace(work, options=replace(work.options, log_start=log_start))
    before = snapshot_before(files[0])
    files = parts_of(files, work.read)
    sources = sources_of(files)
    end = PartitionEnd(sources, work.read, before, log_start)
    name = directory_name(files[0])
    directory = None if target is None else target / name
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
    kept: list[tuple[Path, int, bytes]] = []
    for number, (file, source) in enumerate(zip(files, sources, strict=True)):
        work.begun(file)
        place = None if output is None else os.path.join(output, name, file_name(file))
        path = None if directory is None else directory / file_name(file)
        account = _written(work, source, end, path, (redacted_uri(file.path), place))
        is_last = number == len(files) - 1
        if log_start is not None and _is_deleted(account, log_start):
            account, path = _named_end(account, path, log_start) if is_last and not kept else (_without_output(account, path), None)
            if path is not None:
                kept.append((path, log_start, end.snapshots[-1]))
        # Between other segments an empty one says nothing; at the ends its name is the log start offset, or the next offset.
        elif not account.output_bytes and account.input_bytes and number and not is_last:
            account = _without_output(account, path)
        elif path is not None:
            kept.append((path, file.base_offset or 0, end.snapshots[number]))
        yield account
    if directory is not None:
        write_sidecars(files[0], directory, kept, (before, end))


def _written(work: RewriteWork, source: FileSource, end: PartitionEnd, path: Path | None, names: tuple[str, str | None]) -> RewrittenFile:
    if path is None:
        return work.file(source, end, None, names)[1]
    with path.open("xb") as file:
        account = work.file(source, end, os.fspath(path), names)[1]
        os.fsync(file.fileno())
    return account


def _is_deleted(account: RewrittenFile, log_start: int) -> bool:
    """Return True if all entries of a segment are below the log start offset."""
    last_offsets = [row[6] for row in account.rows if row[6] is not None]
    return bool(last_offsets) and not account.output_bytes and max(last_offsets) < log_start


def _named_end(account: RewrittenFile, path: Path | None, log_start: int) -> tuple[RewrittenFile, Path | None]:
    """Rename the empty segment of a partition without records to its log end offset, so that a broker goes on from there."""
    name = f"{log_start:020d}.log"
    output = None if account.output is None else os.path.join(os.path.dirname(account.output), name)
    return replace(account, output=output), None if path is None else path.rename(path.with_name(name))


def _without_output(account: RewrittenFile, path: Path | None) -> RewrittenFile:
    if path is not None:
        path.unlink()
    return replace(account, output=None)


def write_sidecars(
    first: SegmentFile, directory: Path, kept: Sequence[tuple[Path, int, bytes]], state: tuple[bytes | None, PartitionEnd]
) -> None:
    """Write indexes of the new segments, and the producers and epochs of the old ones: a cleaned log has these as they were.

    Args:
        first: the first segment that was read.
        directory: that of the new segments.
        kept: their paths, base offsets and the bytes of the `.snapshot` file before each.
        state: the bytes of the `.snapshot` file before the first segment, and the end of the partition.
    """
    before, end = state
    if any(path.suffix != ".log" for path, _, _ in kept):
        return
    rebuild_indexes([(path, base_offset) for path, base_offset, _ in kept], directory)
    for number, (_, base_offset, snapshot) in enumerate(kept):
        if number or before is not None or snapshot != end.snapshots[0]:
            write_file(directory / f"{base_offset:020d}.snapshot", snapshot)
    if end.end_offset is not None:
        for stale in directory.glob("*.snapshot"):
            if int(stale.stem) > kept[-1][1]:
                stale.unlink()
        write_file(directory / f"{end.end_offset:020d}.snapshot", end.snapshots[-1])
    for name in KEPT_FILES:
        with suppress(FileNotFoundError):
            data = None if is_tiered(first.path) else Place(join_path(first.directory, name)).read()
            if data is not None:
                write_file(directory / name, data)
