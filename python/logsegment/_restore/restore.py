"""Give a log directory back as it was before its upload: `restore`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from logsegment._core import Finding, RecordBatchError, rebuild_indexes
from logsegment._log_paths import object_name, place_of, snapshot_offset
from logsegment._options import OnError
from logsegment._output import output_directory
from logsegment._restore.verify_restored import Offsets, damage_of, faults_in, gaps_in
from logsegment.segment_files.discovery import SegmentFile, find_segments, found_in, is_gap
from logsegment.stores.listing import is_directory
from logsegment.stores.uri import shown, uncut_name, untiered
from logsegment.tiered.errors import ChunkError, ManifestError
from logsegment.tiered.filesystem import entries, open_file
from logsegment.tiered.keys import Keys
from logsegment.tiered.uri import ring_of, tiered

#: Bytes that are in memory at a time, and a chunk.
_STEP = 8 << 20
#: What a broker keeps in the directory of a partition. Marks of an uploader (`offset.wm`, `_metadata`) are none of it.
_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
_WHOLE = ("leader-epoch-checkpoint", "partition.metadata")


@dataclass(frozen=True, slots=True)
class Restored:
    """What was given back.

    Attributes:
        partitions (list[str]): the directories, one for each partition.
        segments (int): how many.
        bytes (int): of all files.
        left_out (list[str]): uploads that were passed over, and why: unfinished, duplicate, superseded.
        has_gaps (bool): offsets that an upload alone has, or may have, which was passed over or is gone, are missing.
        made_anew (list[str]): files beside the logs whose uploaded bytes are lost, and why they are: they were made from the log, so that
            they tell what is right, but need not be those bytes.
        missing (list[str]): such files that could not be made from the log either, and why; a broker does without them.
        gone (list[str]): offsets between two segments that no upload holds. Kafka uploads nothing of a compacted topic, so one is gone.
        damaged (list[str]): with `on_error="skip"`, what is wrong with segments that are given back as they lie there.
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


def restore(
    path: str | os.PathLike[str], directory: str | os.PathLike[str], *, decryption_keys: Keys | None = None, on_error: OnError = "raise"
) -> Restored:
    """Write the log directories that were uploaded to a prefix, byte for byte: segments, indexes, snapshots, leader epochs.

    Each partition becomes a directory `<topic>-<partition>` with the names that a broker knows, and `partition.metadata` with the id of
    the topic, which the names of the objects tell. A broker of Kafka starts on it when its cluster knows the topic under that id. A
    segment that cannot be had back whole ends it; a damaged file beside a segment is made anew from the log, and told. Segments are read
    again when they are written: what was uploaded was closed, so that a batch with a wrong checksum, or a log that was cut, is damage.

    Args:
        path: a folder, a prefix in a store, or the folder of one partition.
        directory: it must be new, or empty; what goes wrong leaves nothing there.
        decryption_keys: see `logsegment.Segment`.
        on_error: "raise" at the first damaged segment, or "skip": give damaged ones back as they lie there, and tell. Of a chunk or a
            manifest that cannot be read there are no bytes to give: it ends both.

    Returns:
        A `Restored`: the directories, how many segments and bytes, the uploads that were passed over, and the files that are not those
        that were uploaded, or not whole.

    Raises:
        FileExistsError: when something is in the directory, or two uploads overlap and nothing tells which one counts.
        SegmentKeyError: when a key is missing, or does not fit.
        RecordBatchError: when bytes of a segment cannot be had back (`ChunkError`, `ManifestError`), or are damaged: as a read of the
            segment raises it, and `TruncatedError` where its end was cut off.
        ValueError: when the path is one file, or two partitions have one name: a topic that was made anew, say.
        OSError: when something cannot be read or written.

    Example:
        >>> import logsegment as ls
        >>> restored = ls.restore("payments-0", "restored")
        >>> restored.segments, ls.Log("restored").partitions
        (6, [('payments', 0)])

    Source: TS-43; `RemoteLogManager.buildRemoteLogAuxState` in Kafka.
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f'on_error must be "raise" or "skip", not {on_error!r}')
    source = tiered(path, decryption_keys)
    if not is_directory(source):
        find_segments(source)
        raise ValueError(f"{shown(source)} is one file: a prefix or a folder is given back")
    files, left_out = found_in(source)
    target = os.fspath(directory)
    told = [f"{one.path.rpartition('@')[0]}: {one.message}" for one in left_out]
    done = Restored([], len(files), 0, told, has_gaps=any(map(is_gap, left_out)))
    with output_directory(directory, may_be_empty=True) as hidden:
        owners: dict[str, str] = {}
        for file in files:
            place, name = untiered(tiered(file.directory)), _name(file)
            if owners.get(name) == place:
                continue
            if (other := owners.setdefault(name, place)) is not place:
                raise ValueError(f"{shown(other)} and {shown(place)} would both become {name}: give back one of them at a time")
            offsets = _partition(tiered(place, ring_of(source)), hidden / name, done, on_error)
            if object_name(uncut_name(os.path.basename(file.path))) is not None:
                done.gone.extend(_gone(hidden / name, offsets, [one for one in left_out if one.path.startswith(shown(place))]))
        written = sum(path.stat().st_size for path in hidden.rglob("*") if path.is_file())
    return replace(
        done, has_gaps=done.has_gaps or bool(done.gone), partitions=[os.path.join(target, name) for name in owners], bytes=written
    )


def _partition(folder: str, target: Path, done: Restored, on_error: OnError) -> Offsets:
    """Write the files of one partition, and note in `done` what differs from the upload; return the offsets of the logs."""
    target.mkdir(parents=True)
    names: dict[str, str] = {}
    offsets: dict[str, tuple[int, int | None]] = {}
    lost: dict[str, ChunkError] = {}
    for entry in entries(folder):
        name = _local_name(entry.name)
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
    damaged = (damage_of(target / name, fault, shown(names[name])) for name, fault in faults_in(target, offsets))
    done.damaged.extend(map(str, _raised(damaged) if on_error == "raise" else damaged))
    topic_id = place_of(untiered(folder)[:]).topic_id
    if topic_id is not None and "partition.metadata" not in names:
        (target / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    for name, reason in make_anew(target, lost).items() if lost else ():
        told = f"{target.name}/{name}: {lost[name]}"
        if reason is None:
            done.made_anew.append(told)
        else:
            done.missing.append(f"{told}; {reason}")
    return offsets


def _raised(damaged: Iterator[RecordBatchError]) -> Iterator[RecordBatchError]:
    """Raise the first one."""
    for error in damaged:
        raise error
    return iter(())


def _gone(directory: Path, offsets: Offsets, left_out: list[Finding]) -> Iterator[str]:
    """What is missing, and is not told of an upload that was passed over."""
    for first, last in gaps_in(directory, offsets):
        if not any(is_gap(one, first, last + 1) for one in left_out):
            yield f"{directory.name}: offsets {first:,} to {last:,} are in no upload"


def _local_name(name: str) -> str | None:
    """The name of a file in a broker's directory; None when it has no business there."""
    upload = object_name(uncut_name(name))
    name = name if upload is None else f"{upload.base_offset:020d}.{upload.suffix}"
    stem, suffix = os.path.splitext(name)
    is_numbered = suffix in _SUFFIXES and len(stem) == 20 and stem.isdecimal()
    return name if is_numbered or name in _WHOLE else None


def _copy(uri: str, path: Path) -> tuple[int, int | None] | None:
    """Copy a file; return the first and last offset of a log."""
    source = open_file(uri)
    with path.open("xb") as file:
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
        return bytes(source.read_at(position, _STEP))
    except (ChunkError, ManifestError) as error:
        # Their text names the object.
        error.path = shown(uri)
        raise


def _name(file: SegmentFile) -> str:
    if file.topic is not None:
        return f"{file.topic}-{file.partition}"
    return os.path.basename(untiered(tiered(file.directory))[:])


def make_anew(directory: Path, names: Iterable[str]) -> dict[str, str | None]:
    """Write files of a partition's directory, by its segments, which are there.

    What a broker finds in such a file is right; its bytes need not be those that were uploaded: an index may have other entries, and a
    snapshot lacks producers of which no segment has a batch.

    Args:
        directory: the segments, and where the files belong.
        names: of the files that are wanted.

    Returns:
        For each name, None when it was written, else why it was not.

    Raises:
        OSError: when something cannot be read or written.
    """
    logs = sorted((path, int(path.stem)) for path in directory.glob("*.log"))
    why = "the batches tell of no transaction that was aborted there"
    with tempfile.TemporaryDirectory(prefix="logsegment-") as place:
        try:
            rebuild_indexes(logs, Path(place))
        except RecordBatchError as error:
            # Of the segments in front of the damage they are there.
            why = f"the log was damaged when it was uploaded: {str(error).removeprefix(f'{directory}{os.sep}')}"
        found = {name: _made(Path(place), name) for name in names}
        for name, path in found.items():
            if path is not None:
                _write(directory / name, path.read_bytes())
    return {name: why if path is None else None for name, path in found.items()}


def _made(place: Path, name: str) -> Path | None:
    """The file of a name, or a snapshot of the same state: nothing is written between an offset and the next segment."""
    offset = snapshot_offset(name)
    if offset is None:
        return path if (path := place / name).is_file() else None
    behind = ((at, path) for path in place.glob("*.snapshot") if (at := snapshot_offset(path.name)) is not None and at >= offset)
    return min(behind, default=(offset, None))[1]


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
