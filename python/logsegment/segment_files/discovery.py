"""Find log segments: paths go in, segment files with their topic, partition and base offset come out, in reading order.

Nothing is opened here. A path is one of this machine, a `file:` URI or a URI of a store (`logsegment.stores`). Names are Kafka's:
`<topic>-<partition>` for the directory of a partition, twenty digits and `.log` for a segment (`.kafka` before Kafka 0.8), or those of its
tiered storage (SEG-12), which `logsegment.tiered` tells.
"""

from __future__ import annotations

import errno
import glob
import os
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from logsegment._core import FileSource
from logsegment._log_paths import PARTITION, SEGMENT, WATERMARK, Partition, is_upload, object_name, partition_of, place_of
from logsegment.stores.directories import Listing, list_directory
from logsegment.stores.uri import StoreUri, cut_of, is_stored, is_tiered, placed, settled, shown, untiered

if TYPE_CHECKING:
    from logsegment._core import Finding
    from logsegment.stores import Entry
    from logsegment.tiered.objects import Info


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A file of log entries.

    Attributes:
        path: as it was reached; links are not resolved. In a store a `StoreUri`, which shows no secret when it is printed.
        topic: from the name of its directory; None when that is no partition's.
        partition: as `topic`.
        base_offset: from its own name; None when that is no segment's.
        known_size: bytes, where the listing of a store told them; see `size_of`.
        offsets: the offsets that its batches may hold, from its name and that of the next segment in the directory (SEG-1): first
            (inclusive) and end (exclusive, None for the last segment). None if the names do not say: uploads of tiered storage may overlap
            after a change of leaders, and Kafka 0.7 has positions instead of offsets.
        held: the first and last offset of its batches, if they contradict its name; see `logsegment.log.reader`.
        finding: a finding that each read of the file reports, or None.
    """

    path: str
    topic: str | None
    partition: int | None
    base_offset: int | None
    known_size: int | None = field(default=None, compare=False, repr=False)
    offsets: tuple[int, int | None] | None = field(default=None, compare=False, repr=False)
    held: tuple[int, int] | None = field(default=None, compare=False, repr=False)
    finding: Finding | None = field(default=None, compare=False, repr=False)

    @property
    def directory(self) -> str:
        """Path of the directory that it lies in."""
        return directory_of(self.path)

    @property
    def named_offset(self) -> int | None:
        """The first offset that its name says; `base_offset` is another one if a segment of the partition contradicts its name."""
        return self.base_offset if self.offsets is self.held is None else _segment(self.path).base_offset

    def source(self, start: int = 0, end: int | None = None) -> FileSource:
        """Return a range of its bytes, with the offsets that they may hold."""
        return FileSource(self.path, start, end, self.offsets, self.finding)


def find_segments(path: str | os.PathLike[str]) -> list[SegmentFile]:
    """Find the segments of a path.

    Directories below `path` that Kafka marked as deleted, stray or future copies are passed over; as `path` itself they are read.
    So is `lost+found`. Links to directories are followed.

    Args:
        path: a file (of any name), a partition directory, or a tree of them; here or in a store (`s3://bucket/orders-0`).

    Returns:
        The segments, partition by partition, in the order of their offsets.

    Raises:
        FileNotFoundError: when there is no such path, or no segment in the directory and below.
        FileExistsError: when tiered storage holds two uploads of the same offsets, and nothing tells which one counts.
        OSError: when a directory cannot be listed.

    Example:
        >>> from logsegment.segment_files.discovery import find_segments
        >>> find_segments("00000000000000000000.log")[0].base_offset
        0

    Source: `LogManager.loadLogs` and `LocalLog` in Kafka.
    """
    return found_in(path)[0]


def found_in(path: str | os.PathLike[str]) -> tuple[list[SegmentFile], list[Finding]]:
    """Find the segments of a path, and report the files that are not read.

    Returns:
        The segments, and findings: of uploads in tiered storage that are not read, or not to their end; of entries named as a segment that
        are not regular files; and of links that cannot be followed.

    Raises:
        As `find_segments`.
    """
    place = placed(path)
    base = untiered(place) if is_tiered(place) else place
    uploads = _Uploads(place if is_tiered(place) else None)
    if is_stored(base):
        found = _stored(base, uploads)
    elif os.path.isdir(base):
        found = _walk(base, frozenset(), uploads)
    else:
        os.stat(base)
        return [uploads.file(base) or _segment(base)], []
    if not found:
        text = "no log segments (twenty digits and .log or .kafka) in this directory or below"
        reasons = [f"{one.path.rpartition('@')[0]}: {one.message}" for one in uploads.findings[:1]]
        raise FileNotFoundError(errno.ENOENT, "; ".join([text, *reasons]), shown(place))
    return _with_offsets(_single_uploads(sorted(found, key=_reading_order))), uploads.findings


def is_gap(finding: Finding, start: int | None = None, end: int | None = None) -> bool:
    """Return True for a finding of an upload or a file that is not read and that alone has offsets of a range, or may have them.

    Args:
        finding: as `found_in` tells it: with the first of those offsets, and the last one where it is known.
        start: first offset of the range.
        end: behind its last.
    """
    first, last = finding.base_offset, finding.last_offset
    if finding.severity != "warning" or first is None:
        return False
    return (start is None or last is None or last >= start) and (end is None or first < end)


def segments_beside(segment: SegmentFile) -> list[SegmentFile]:
    """All segments of the partition directory in which `segment` lies; itself alone when its name is no segment's.

    Raises:
        OSError: when the directory cannot be listed.
    """
    if segment.base_offset is None:
        return [segment]
    if is_stored(segment.path):
        from logsegment.stores import entries

        files = [entry for entry in entries(segment.directory) if not entry.is_directory]
        found = sorted((_segment(file.uri, file.size) for file in files if SEGMENT.fullmatch(file.name)), key=_reading_order)
        return _with_offsets(found)
    listing = list_directory(segment.directory)
    # A link that leads nowhere is a segment of which nothing is known: whoever opens it raises the error.
    entries_beside = [*listing.files, *(entry for entry, _ in listing.broken)]
    names = [entry.name for entry in entries_beside if SEGMENT.fullmatch(entry.name)]
    above = os.path.dirname(segment.path)
    return _with_offsets(sorted((_segment(os.path.join(above, name)) for name in names), key=_reading_order))


def segment_at(path: str | os.PathLike[str]) -> SegmentFile:
    """A file as a segment, whatever its name; nothing is looked at."""
    return _segment(placed(path))


def directory_of(path: str) -> str:
    """Path of the directory that a file lies in."""
    above = os.path.dirname(path[:])
    return StoreUri(above) if is_stored(path) else above or "."


def absolute(path: str | os.PathLike[str]) -> str:
    """The path from the root of this machine on, or the URI in a store."""
    place = placed(path)
    if is_tiered(place):
        return settled(place)
    return place if is_stored(place) else os.path.abspath(place)


def is_directory(path: str | os.PathLike[str]) -> bool:
    """True for a directory, here or in a store.

    Raises:
        OSError: when a store does not answer.
    """
    place = placed(path)
    if is_stored(place):
        from logsegment.stores import is_directory

        return is_directory(place)
    return os.path.isdir(place)


def names_in(directory: str) -> list[str]:
    """Names of what lies in a directory, in order.

    Raises:
        OSError: when it cannot be listed.
    """
    if is_stored(directory):
        from logsegment.stores import entries

        return [entry.name for entry in entries(directory)]
    return sorted(os.listdir(directory))


def size_of(segment: SegmentFile) -> int:
    """Bytes of a segment file.

    Raises:
        OSError: when there is no such file.
    """
    if segment.known_size is not None:
        return segment.known_size
    if is_stored(segment.path):
        from logsegment.stores import entry_of

        return entry_of(segment.path).size
    return os.stat(segment.path).st_size


def matching(pattern: str | os.PathLike[str]) -> list[str]:
    """The paths that a pattern (`orders-*`) means, by name; a path that exists as it is written means itself.

    Raises:
        FileNotFoundError: when there is none.
        OSError: when a store does not answer.
    """
    place = placed(pattern)
    if is_stored(place):
        from logsegment import stores

        if stores.has_magic(place):
            return [*stores.glob(place)]
        stores.entry_of(place)
        return [place]
    if not os.path.lexists(place) and glob.has_magic(place):
        if found := sorted(glob.glob(place)):
            return found
        raise FileNotFoundError(errno.ENOENT, "no file or directory matches", place)
    os.stat(place)
    return [place]


class _Uploads:
    """Uploads of tiered storage on the way, and what is told of those that are not read. `keys_of` is the URI that brings keys."""

    def __init__(self, keys_of: str | None) -> None:
        self.keys_of = keys_of
        self.findings: list[Finding] = []

    def file(self, path: str) -> SegmentFile | None:
        """The upload whose log this is."""
        match = SEGMENT.fullmatch(os.path.basename(path[:]))
        if match is None or match[2] is None:
            return None
        from logsegment.tiered.catalog import uploaded_at

        found = uploaded_at(path, self.keys_of)
        return None if found is None else SegmentFile(*found)

    def plain(self, segment: SegmentFile) -> SegmentFile:
        """The same as one that was uploaded as it is."""
        from logsegment.tiered.uri import ring_of, tiered

        return replace(segment, path=tiered(segment.path, ring_of(self.keys_of or "")))

    def directory(self, path: str, infos: list[Info] | None = None) -> list[SegmentFile]:
        """All that are read of a directory."""
        from logsegment.tiered.catalog import uploaded_in

        found, findings = uploaded_in(path, self.keys_of, infos)
        self.findings += findings
        return [SegmentFile(*one) for one in found]


def _stored(place: str, uploads: _Uploads) -> list[SegmentFile]:
    """Segments of a URI. One listing tells all of a tree, also the size of each file."""
    from logsegment.stores import entry_of, walk

    entry = entry_of(place)
    if not entry.is_directory:
        return [uploads.file(place) or _segment(place, entry.size)]
    directories: dict[str, list[Entry]] = {}
    for file in walk(place):
        is_known = SEGMENT.fullmatch(file.name) or object_name(file.name) or file.name == WATERMARK
        if is_known and not any(map(_is_left_out, _between(place, file.uri))):
            directories.setdefault(os.path.dirname(file.uri[:]), []).append(file)
    found = []
    for directory, files in directories.items():
        if any(is_upload(file.name) for file in files):
            from logsegment.tiered.objects import info_of_entry

            found += uploads.directory(StoreUri(directory), [info_of_entry(file) for file in files])
            files = [file for file in files if not is_upload(file.name)]
        plain = [_segment(file.uri, file.size) for file in files if SEGMENT.fullmatch(file.name)]
        found += map(uploads.plain, plain) if any(file.name == WATERMARK for file in files) else plain
    return found


def _between(place: str, file: str) -> list[str]:
    """Names of the directories below `place` on the way to a file."""
    return os.path.dirname(file[:].removeprefix(place[:])).split("/")


def _walk(directory: str, above: frozenset[tuple[int, int]], uploads: _Uploads) -> list[SegmentFile]:
    """Segments in a directory and below; `above` holds the directories on the way here, so that a link cannot go in circles."""
    status = os.stat(directory)
    here = above | {(status.st_dev, status.st_ino)}
    if here == above:
        return []
    listing = list_directory(directory)
    files = listing.files
    uploads.findings += _skipped(listing)
    found = [_segment(entry.path) for entry in files if SEGMENT.fullmatch(entry.name) and not is_upload(entry.name)]
    if any(entry.name == WATERMARK for entry in files):
        found = [*map(uploads.plain, found)]
    if any(is_upload(entry.name) for entry in files):
        found += uploads.directory(directory)
    for entry in listing.directories:
        if not _is_left_out(entry.name):
            found += _walk(entry.path, here, uploads)
    return found


def _skipped(listing: Listing) -> Iterator[Finding]:
    """Return a finding for each entry that is named as a segment and cannot be read, and for each link that may lead to one."""
    for entry in listing.special:
        if match := SEGMENT.fullmatch(entry.name):
            yield _skipped_entry(entry, "not a regular file", int(match[1]))
    for entry, reason in listing.broken:
        match = SEGMENT.fullmatch(entry.name)
        yield _skipped_entry(entry, f"link cannot be followed: {reason}", int(match[1]) if match else None)


def _skipped_entry(entry: os.DirEntry[str], reason: str, base_offset: int | None) -> Finding:
    from logsegment._core import Finding

    return Finding("SEG-15", "warning", f"skipped, {reason}", f"{shown(entry.path)}@0", 0, 0, base_offset)


def _is_left_out(name: str) -> bool:
    match = PARTITION.fullmatch(name)
    return name == "lost+found" or (match is not None and match[3] is not None)


def _segment(path: str, size: int | None = None) -> SegmentFile:
    directory, name = os.path.split(path[:])
    match = SEGMENT.fullmatch(name)
    above = directory if is_stored(path) else os.path.abspath(directory)
    topic, partition = _tiered(above) if match and match[2] else (None, None)
    if topic is None:
        topic, partition = partition_of(above)
    return SegmentFile(path, topic, partition, int(match[1]) if match else None, size)


def _tiered(directory: str) -> Partition:
    """Topic and partition that the directory of an uploaded segment tells."""
    place = place_of(directory[:])
    return (place.topic, place.partition) if place.topic is not None and place.partition is not None else (None, None)


def _single_uploads(segments: list[SegmentFile]) -> list[SegmentFile]:
    """The segments, when no two of a directory begin with the same offset: reading both would give records twice."""
    for one, other in pairwise(segments):
        is_same = (one.directory[:], one.base_offset) == (other.directory[:], other.base_offset)
        if is_same and _is_uploaded(one) and _is_uploaded(other):
            text = f"uploaded a second time as {os.path.basename(other.path)}: name the segments that are to be read"
            raise FileExistsError(errno.EEXIST, text, shown(one.path))
    return segments


def _is_uploaded(segment: SegmentFile) -> bool:
    match = SEGMENT.fullmatch(os.path.basename(segment.path))
    # One that needs a key to be chosen or left out is in nobody's way: no read of it gives anything.
    return match is not None and match[2] is not None and cut_of(segment.path) != segment.base_offset


def _with_offsets(files: list[SegmentFile]) -> list[SegmentFile]:
    """Add the offsets that the names of the segments of each directory say."""
    starts: dict[str, list[int]] = {}
    for file in files:
        if (start := _named_start(file)) is not None:
            starts.setdefault(file.directory[:], []).append(start)

    def placed(file: SegmentFile) -> SegmentFile:
        start = _named_start(file)
        if start is None:
            return file
        own = starts[file.directory[:]]
        behind = bisect_right(own, start)
        return replace(file, offsets=(start, own[behind] if behind < len(own) else None))

    return [placed(file) for file in files]


def _named_start(file: SegmentFile) -> int | None:
    """The offset in the name of a segment; None where names do not say which offsets are in it."""
    match = SEGMENT.fullmatch(os.path.basename(file.path[:]))
    is_plain = match is not None and match[2] is None and not is_tiered(file.path) and not file.path.endswith(".kafka")
    return file.base_offset if is_plain else None


def _reading_order(segment: SegmentFile) -> tuple[str, str, int, str]:
    """Partitions of a topic by number, not by the letters of their names."""
    directory = untiered(segment.directory) if is_tiered(segment.path) else segment.directory
    above, name = os.path.split(directory[:])
    partition = -1 if segment.partition is None else segment.partition
    return above, segment.topic or name, partition, segment.path[:]
