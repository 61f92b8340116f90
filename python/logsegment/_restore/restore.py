"""Restore log directories from tiered storage: `restore`. A segment is closed before its upload, so a restored log must be whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from logsegment._core import ChunkError, FileSource, Finding, ManifestError, Place, RecordBatchError, rebuild_indexes
from logsegment._errors import renamed
from logsegment._log_paths import snapshot_offset
from logsegment._options import EVERY_FORMAT, OnError
from logsegment._output import new_file, write_file
from logsegment._places import redacted_uri
from logsegment._report import TORN
from logsegment._resume import resumable_directory
from logsegment._storage import Keys, StorageOptions, reached
from logsegment._validate import damage_in, error_of, validated
from logsegment.log.segment import Segment
from logsegment.segment_files.discovery import find_segments, found_in, is_gap

#: First and last offset of each log, by file name; None for a last offset that no manifest has.
Offsets: TypeAlias = Mapping[str, tuple[int, int | None]]
#: Bytes that are copied at once, apart from a chunk.
_STEP_BYTES = 8 << 20
#: The files of a broker in the directory of a partition. Files of an uploader (`offset.wm`, `_metadata`) are not restored.
_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
_OTHERS = ("leader-epoch-checkpoint", "partition.metadata")
#: Reads all of a log; bytes after its last entry are an error.
_STRICT = replace(EVERY_FORMAT, strict_tail=True, unreadable="skip")


@dataclass(frozen=True, slots=True)
class Restored:
    """Result of `restore`.

    Attributes:
        partitions (list[str]): the directories, one for each partition.
        segments (int): number of segments.
        bytes (int): bytes of all files.
        left_out (list[str]): uploads that were skipped, and why: unfinished, duplicate, superseded.
        has_gaps (bool): offsets are missing which only a skipped or missing upload has, or may have.
        made_anew (list[str]): sidecar files with lost uploaded bytes, and why. They were rebuilt from the log: the content is right, but
            the bytes may differ.
        missing (list[str]): sidecar files that could not be rebuilt either, and why; a broker works without them.
        gone (list[str]): offsets between two segments that no upload has. Kafka does not upload compacted topics, so an upload is
            missing.
        damaged (list[str]): with `on_error="skip"`, the errors of segments that were restored as they are.
        resumed (int): with `resume`, number of partitions that an earlier run had finished.
    """

    partitions: list[str]
    segments: int
    bytes: int
    left_out: list[str]
    has_gaps: bool = False
    made_anew: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    resumed: int = 0


def restore(
    path: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    topic: str | None = None,
    partition: int | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    on_error: OnError = "raise",
    resume: bool = False,
) -> Restored:
    """Restore the log directories of a prefix, byte for byte: segments, indexes, snapshots, leader epochs.

    Each partition becomes a directory `<topic>-<partition>` with the file names of a broker, and with `partition.metadata`, which has the
    id of the topic from the names of the objects. A broker starts on it if its cluster has the topic with that id. A segment that cannot
    be restored whole is an error; a damaged sidecar file is rebuilt from the log and reported. Each written segment is verified: an upload
    was closed, so a batch with a wrong checksum and a truncated log are damage.

    Args:
        path: a directory, a prefix in a store, or the directory of one partition.
        directory: a new or empty directory; after an error it is empty.
        topic: restore only the partitions of this topic.
        partition: restore only partitions of this number.
        decryption_keys: see `logsegment.Segment`.
        storage_options: options of the store; see `logsegment.Log`.
        layout: template of the names of objects; see `logsegment.Log`.
        on_error: "raise" at the first damaged segment, or "skip": restore damaged segments as they are, and report them. A chunk or a
            manifest that cannot be read is always an error.
        resume: at an error or an interruption, keep the partitions that are finished in a hidden directory next to the output, with a
            journal; and take those of an earlier run whose uploads are still the same.

    Returns:
        A `Restored`: the directories, the numbers of segments and bytes, the uploads that were skipped, and the files that differ from
        the uploaded ones or are damaged.

    Raises:
        FileExistsError: if the directory is not empty, or two uploads overlap and have different records.
        SegmentKeyError: if a key is missing or wrong.
        RecordBatchError: if bytes of a segment cannot be read (`ChunkError`, `ManifestError`), or are damaged: the error of a read of the
            segment, and `TruncatedError` if its end is missing.
        ValueError: if the path is one file, the layout is invalid, no partition has the topic and the number, or two partitions have one
            name, such as those of a topic that was deleted and created again.
        OSError: if a file cannot be read or written.

    Example:
        >>> import logsegment as ls
        >>> restored = ls.restore("payments-0", "restored")
        >>> restored.segments, ls.Log("restored").partitions
        (6, [('payments', 0)])

    Source: TS-43; `RemoteLogManager.buildRemoteLogAuxState` in Kafka.
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f'on_error must be "raise" or "skip", not {on_error!r}')
    source = Place(reached(path, storage_options, decryption_keys, layout)).uploaded()
    if not source.is_directory():
        find_segments(source.path)
        raise ValueError(f"{source} is one file; pass a prefix or a directory of uploads")
    files, left_out = found_in(source.path, selection=(topic, partition), has_patterns=False, options=None)
    target = os.fspath(directory)
    skipped = [f"{finding.path.rpartition('@')[0]}: {finding.message}" for finding in left_out]
    done = Restored([], len(files), 0, skipped, has_gaps=any(map(is_gap, left_out)))
    task = {"restore": redacted_uri(source.path), "onError": on_error}
    with resumable_directory(directory, task, resumes=resume, may_be_empty=True) as journal:
        hidden = journal.parts
        owners: dict[str, Place] = {}
        for file in files:
            place = Place(file.directory).uploaded().objects()
            name = place.name if file.topic is None else f"{file.topic}-{file.partition}"
            if owners.get(name) == place:
                continue
            if (other := owners.setdefault(name, place)) is not place:
                raise ValueError(f"{other} and {place} would both become {name}; restore one of them at a time")
            folder = place.uploaded_like(source)
            inputs = _inputs(folder) if resume else []
            if (known := journal.entry(name, inputs)) is not None:
                done = _with_earlier(done, known)
                continue
            before = {kind: len(getattr(done, kind)) for kind in _REPORTED}
            offsets = _partition(folder, hidden / name, done, on_error)
            if Place(file.path).uploaded_name() is not None:
                done.gone.extend(_gone(hidden / name, offsets, [finding for finding in left_out if finding.path.startswith(str(place))]))
            journal.add(name, inputs, **{kind: getattr(done, kind)[count:] for kind, count in before.items()})
        written = sum(path.stat().st_size for path in hidden.rglob("*") if path.is_file())
    return replace(
        done, has_gaps=done.has_gaps or bool(done.gone), partitions=[os.path.join(target, name) for name in owners], bytes=written
    )


#: What is reported of a partition, also of one that an earlier run restored.
_REPORTED = ("made_anew", "missing", "gone", "damaged")


def _inputs(folder: Place) -> list[list[str | float | None]]:
    """Return the names, sizes and versions of the objects of a partition."""
    return sorted([entry.name, entry.size, entry.tag or entry.modified] for entry in folder.entries())


def _with_earlier(done: Restored, entry: Mapping[str, Any]) -> Restored:
    """Return the result with what an earlier run has reported about a partition."""
    for kind in _REPORTED:
        getattr(done, kind).extend(entry[kind])
    return replace(done, resumed=done.resumed + 1)


def _partition(folder: Place, target: Path, done: Restored, on_error: OnError) -> Offsets:
    """Write the files of one partition, and add to `done` what differs from the upload; return the offsets of the logs."""
    target.mkdir(parents=True)
    names: dict[str, str] = {}
    topic_ids: set[str] = set()
    offsets: dict[str, tuple[int, int | None]] = {}
    lost: dict[str, ChunkError] = {}
    for entry in folder.entries():
        upload = Place(entry.path).uploaded_name()
        name = _local_name(entry.name if upload is None else upload[0])
        if upload is not None and upload[1] is not None:
            topic_ids.add(upload[1])
        if not entry.is_directory and name is not None and name not in names:
            names[name] = entry.path
            try:
                known = _copy(entry.path, target / name)
                if known is not None:
                    offsets[name] = known
            except ChunkError as error:
                if name.endswith(".log"):
                    raise
                lost[name] = error
    damaged = (_damage_of(target / name, finding, redacted_uri(names[name])) for name, finding in _errors_in(target, offsets))
    done.damaged.extend(map(str, _raised(damaged) if on_error == "raise" else damaged))
    if topic_ids and "partition.metadata" not in names:
        write_file(target / "partition.metadata", f"version: 0\ntopic_id: {topic_ids.pop()}".encode())
    for name, reason in _rebuild_sidecars(target, lost).items() if lost else ():
        text = f"{target.name}/{name}: {lost[name]}"
        if reason is None:
            done.made_anew.append(text)
        else:
            done.missing.append(f"{text}; {reason}")
    return offsets


def _raised(damaged: Iterator[RecordBatchError]) -> Iterator[RecordBatchError]:
    """Raise the first error."""
    for error in damaged:
        raise error
    return iter(())


def _gone(directory: Path, offsets: Offsets, left_out: list[Finding]) -> Iterator[str]:
    """Return the missing offsets that no finding of a skipped upload has."""
    for first, last in _gaps_in(directory, offsets):
        if not any(is_gap(finding, first, last + 1) for finding in left_out):
            yield f"{directory.name}: offsets {first:,} to {last:,} are in no upload"


def _local_name(name: str) -> str | None:
    """Return the name of a file in the directory of a broker; None if it does not belong there."""
    stem, suffix = os.path.splitext(name)
    is_numbered = suffix in _SUFFIXES and len(stem) == 20 and stem.isdecimal()
    return name if is_numbered or name in _OTHERS else None


def _copy(uri: str, path: Path) -> tuple[int, int | None] | None:
    """Copy a file; return the first and last offset of a log."""
    source = Place(uri).open()
    with new_file(path) as file:
        at = 0
        while at < source.size:
            at += file.write(_read(source, at, uri))
        source.ensure_same()
        file.flush()
        os.fsync(file.fileno())
    offsets: tuple[int, int | None] | None = getattr(source, "offsets", None)
    return offsets


def _read(source: Any, position: int, uri: str) -> bytes:
    try:
        return bytes(source.read_at(position, _STEP_BYTES))
    except (ChunkError, ManifestError) as error:
        # The text has the name of the object.
        error.path = redacted_uri(uri)
        raise


def _rebuild_sidecars(directory: Path, names: Iterable[str]) -> dict[str, str | None]:
    """Rebuild sidecar files of a partition from its logs.

    The content is right, but the bytes may differ from the uploaded ones: an index may have other entries, and a snapshot lacks producers
    without a batch in any segment.

    Args:
        directory: with the logs.
        names: of the files.

    Returns:
        For each name None, or why the file was not written.

    Raises:
        OSError: if a file cannot be read or written.
    """
    logs = sorted((path, int(path.stem)) for path in directory.glob("*.log"))
    why = "the segment has no aborted transaction"
    with tempfile.TemporaryDirectory(prefix="logsegment-") as place:
        try:
            rebuild_indexes(logs, Path(place))
        except RecordBatchError as error:
            # The files of the segments before the damage exist.
            why = f"the uploaded log is damaged: {str(error).removeprefix(f'{directory}{os.sep}')}"
        found = {name: _rebuilt(Path(place), name) for name in names}
        for name, path in found.items():
            if path is not None:
                _write(directory / name, path.read_bytes())
    return {name: why if path is None else None for name, path in found.items()}


def _rebuilt(place: Path, name: str) -> Path | None:
    """Return the file of a name, or a snapshot of the same state, if no batch is between the two offsets."""
    offset = snapshot_offset(name)
    if offset is None:
        return path if (path := place / name).is_file() else None
    following = ((at, path) for path in place.glob("*.snapshot") if (at := snapshot_offset(path.name)) is not None and at >= offset)
    return min(following, default=(offset, None))[1]


def _write(path: Path, data: bytes) -> None:
    with new_file(path) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _errors_in(directory: Path, offsets: Offsets) -> Iterator[tuple[str, Finding]]:
    """Yield findings of the logs of a partition, with their file names: damaged and truncated batches, and missing ends.

    Framing, checksums and offsets of all batches are checked; no batch is decompressed. A log is truncated between two batches if an index
    has an entry after its end and the next segment does not begin there.

    Args:
        directory: the logs, with their indexes.
        offsets: of the logs.

    Raises:
        OSError: if a file cannot be read.
    """
    logs = sorted(directory.glob("*.log"))
    for log, following in zip(logs, [*logs[1:], None], strict=True):
        options = replace(_STRICT, upload=offsets[log.name])
        found = damage_in(validated(FileSource(log), "headers", options, is_surveyed=False))
        yield from ((log.name, problem) for problem in found or _missing_end(log, following))


def _gaps_in(directory: Path, offsets: Offsets) -> Iterator[tuple[int, int]]:
    """Return the first and last offsets that are missing between two logs of a directory, or at the end of the last log.

    Raises:
        OSError: if a file cannot be read.
    """
    logs = sorted(directory.glob("*.log"))
    for log, following in zip(logs, [*logs[1:], None], strict=True):
        end = Segment(log).next_offset()
        last = int(following.stem) - 1 if following else offsets[log.name][1]
        if end is not None and last is not None and end <= last:
            yield end, last


def _damage_of(log: Path, finding: Finding, name: str) -> RecordBatchError:
    """Return the error of a read at a finding, with the name of the object of the log.

    Args:
        log: the file.
        finding: from `_errors_in`.
        name: of the object, without secrets.

    Raises:
        OSError: if the file cannot be read.
    """
    return renamed(error_of(str(log), finding, _STRICT), name)


def _missing_end(log: Path, following: Path | None) -> list[Finding]:
    segment = Segment(log)
    end = segment.next_offset()
    if end is None or (following is not None and int(following.stem) <= end):
        return []
    indexed = [rows[-1].offset for rows in (segment.offset_index, segment.time_index) if rows and not rows.findings]
    last = max(indexed, default=-1)
    if last < end:
        return []
    text = f"the log ends before offset {end}, and its indexes have offset {last}: it was truncated"
    return [Finding(TORN, "error", text, f"{log}@{segment.size}", segment.size, 0, end, last)]
