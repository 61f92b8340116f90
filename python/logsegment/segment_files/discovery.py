"""Find log segments: paths go in, segment files with their topic, partition and base offset come out, in reading order.

No file is opened here. A path is a path of this machine, a `file:` URI or a URI of a store (`logsegment.stores`). Names are Kafka's:
`<topic>-<partition>` for the directory of a partition, twenty digits and `.log` for a segment (`.kafka` before Kafka 0.8), or those of its
tiered storage (SEG-12), which `logsegment.tiered` reads.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TypeAlias

from logsegment._core import Finding, SegmentFile, SegmentKeyError
from logsegment._log_paths import (
    PARTITION,
    READ_SEGMENT,
    SEGMENT,
    WATERMARK,
    Partition,
    is_of_0_7,
    is_upload,
    object_name,
    partition_of,
    place_of,
)
from logsegment._options import PartitionOptions
from logsegment._text import listed
from logsegment.segment_files.interrupted import RULE as WORK
from logsegment.segment_files.interrupted import with_swaps
from logsegment.segment_files.replicas import one_replica, without_links
from logsegment.stores.listing import DirectoryEntry, Listing, entry_of, is_pattern, list_directory, matching, walk_directories
from logsegment.stores.uri import cut_of, is_stored, is_tiered, placed, shown, untiered
from logsegment.tiered.listing import UploadedSegment, uploaded_at, uploaded_in
from logsegment.tiered.uri import ring_of, tiered

#: The options of a reader to which nothing was said: a partition in several directories is an error.
ONE_REPLICA = PartitionOptions()
#: A path, or several.
Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
#: A topic, or several; None for all.
Topics: TypeAlias = str | Sequence[str] | None


def find_segments(path: str | os.PathLike[str]) -> list[SegmentFile]:
    """Find the segments of a path.

    Directories below `path` that Kafka marked as deleted, stray or future copies are skipped; as `path` itself they are read.
    `lost+found` is skipped as well. Links to directories are followed.

    Args:
        path: a file (of any name), a partition directory, or a tree of them; here or in a store (`s3://bucket/orders-0`).

    Returns:
        The segments, partition by partition, in the order of their offsets.

    Raises:
        FileNotFoundError: if there is no such path, or no segment in the directory and below.
        FileExistsError: if two uploads overlap and have different records.
        OSError: if a directory cannot be listed.

    Example:
        >>> from logsegment.segment_files.discovery import find_segments
        >>> find_segments("00000000000000000000.log")[0].base_offset
        0

    Source: `LogManager.loadLogs` and `LocalLog` in Kafka.
    """
    return _found_at(path)[0]


def expanded(paths: Paths) -> list[str | os.PathLike[str]]:
    """Return each path, and instead of a pattern (`orders-*`) the paths that match it.

    Raises:
        FileNotFoundError: if nothing matches a pattern.
        OSError: if a store does not answer.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    return [one for path in given for one in _expanded(path)]


def found_in(
    paths: Paths,
    *,
    selection: tuple[Topics, int | None] = (None, None),
    has_patterns: bool = True,
    failed: Callable[[OSError | SegmentKeyError], None] | None = None,
    options: PartitionOptions | None = ONE_REPLICA,
) -> tuple[list[SegmentFile], list[Finding]]:
    """Find the segments of paths, and report the files that are not read.

    Args:
        paths: one path as in `find_segments`, or several.
        selection: only partitions of this topic, or of these, and of this number; None for all. If no directory names a topic, these
            name it.
        has_patterns: a path that does not exist may be a pattern (`orders-*`). False for paths that `expanded` returned.
        failed: gets the error of each path without segments, instead of raising it.
        options: which directory is read of a partition that is in several; None for all of them.

    Returns:
        The segments, those of a directory that several paths lead to once, and findings: of uploads in tiered storage that are not read,
        or not to their end; of entries named as a segment that are not regular files; and of links that cannot be followed. Those of
        several paths are in the order of `by_partition`.

    Raises:
        FileNotFoundError, FileExistsError, OSError: as `find_segments`.
        ValueError: if no partition has the topic and the number.
        ReplicaError: a ValueError, if a partition is in several directories and the options choose none of them.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    looked = list(_looked_at(given, has_patterns, failed))
    files = [file for found in without_links([found for found, _ in looked]) for file in found]
    findings = list({finding.path: finding for _, found in looked for finding in found}.values())
    several = [file for _, group in by_partition(files) for file in _single_uploads(group)] if len(looked) > 1 else files
    files = _with_offsets(several)
    chosen = of_partition(files, *selection)
    if options is not None:
        # A name that the arguments give to directories is not that of a replica.
        has_names = any(file.topic is not None for file in files)
        kept = one_replica(chosen if has_names else files, options)
        chosen = kept if has_names else chosen
    # Without a topic and a partition, the findings of directories without any segment stay.
    return chosen, findings_of(findings, chosen, files if selection == (None, None) else None)


def findings_of(findings: Iterable[Finding], chosen: Iterable[SegmentFile], found: Iterable[SegmentFile] | None) -> list[Finding]:
    """Return the findings of files that are not read, without those in directories of segments that are not chosen.

    Args:
        findings: of all that was found.
        chosen: the segments that are read.
        found: all segments. The findings of directories without any of them stay; None for the findings of chosen segments alone.
    """
    directories = {shown(file.directory) for file in chosen}
    others = None if found is None else {shown(file.directory) for file in found} - directories

    def counts(directory: str) -> bool:
        return directory in directories if others is None else directory not in others

    return [one for one in findings if counts(os.path.dirname(one.path))]


def by_partition(files: Iterable[SegmentFile]) -> list[tuple[str, list[SegmentFile]]]:
    """Group segments by partition, each group in the order of the offsets. A file of two paths is in it once.

    Args:
        files: segments in any order.

    Returns:
        The path of each partition as `SegmentFile.place` has it, to be shown, and its segments; in the order of the first segment of each.
    """
    unique: dict[str, SegmentFile] = {}
    for file in files:
        if file.is_listed or file.path[:] not in unique:
            unique[file.path[:]] = file
    groups: dict[str, list[SegmentFile]] = {}
    for file in unique.values():
        groups.setdefault(shown(file.place), []).append(file)
    return [(name, sorted(group, key=lambda file: file.base_offset or 0)) for name, group in groups.items()]


def of_partition(files: Sequence[SegmentFile], topic: Topics, partition: int | None) -> list[SegmentFile]:
    """Return the segments of a topic, or of several, and a partition number; None stands for all.

    If no directory names a topic, the segments get these names.

    Raises:
        ValueError: if there are none.
    """
    if topic is None and partition is None:
        return list(files)
    if topic is not None and not isinstance(topic, str):
        return [file for one in dict.fromkeys(topic) for file in of_partition(files, one, partition)]
    has_topics = any(file.topic is not None for file in files)
    chosen = [named for file in files if (named := _named(file, topic, partition, has_topics)) is not None]
    if not chosen:
        raise ValueError(_no_partition(files, topic, partition))
    return chosen


def is_gap(finding: Finding, start: int | None = None, end: int | None = None) -> bool:
    """Return True for a finding of a file or an upload that is not read, and that alone has offsets of a range or may have them.

    Args:
        finding: from `found_in`, with the first of those offsets, and the last one if it is known.
        start: first offset of the range.
        end: the offset after the range.
    """
    first, last = finding.base_offset, finding.last_offset
    if finding.severity != "warning" or first is None:
        return False
    return (start is None or last is None or last >= start) and (end is None or first < end)


def is_noted(finding: Finding, start: int | None = None, end: int | None = None) -> bool:
    """Return True for a finding that each read reports: of a gap as `is_gap` finds it, or of interrupted work (SEG-17).

    Args:
        finding, start, end: as in `is_gap`.
    """
    return finding.rule == WORK or is_gap(finding, start, end)


def segments_of_directory(segment: SegmentFile) -> list[SegmentFile]:
    """Return all segments of the directory of a segment; the segment alone if its name is not a segment's name.

    Raises:
        OSError: if the directory cannot be listed.
    """
    if segment.base_offset is None:
        return [segment]
    above = os.path.dirname(segment.path)

    def named(listing: Listing) -> list[SegmentFile]:
        # A link without a target is a segment: whoever opens it raises the error.
        entries = [*listing.files, *(entry for entry, _ in listing.broken)]
        return [_listed_segment(entry) for entry in entries if SEGMENT.fullmatch(entry.name)]

    found = with_swaps(segment.directory, list_directory(segment.directory), named, _file_of_work)
    here = (one if is_stored(one.path) else one.replaced(path=os.path.join(above, os.path.basename(one.path))) for one in found)
    return _with_offsets(sorted(here, key=_reading_order))


def with_neighbours(segment: SegmentFile) -> SegmentFile:
    """Return a segment that was named itself with the offsets that the names in its directory allow, and with the next segment.

    The segment stays as it is if its directory cannot be listed, or does not have it.
    """
    with suppress(OSError):
        for one in segments_of_directory(segment):
            if one.path == segment.path:
                return segment.replaced(offsets=one.offsets, next_offset=one.next_offset)
    return segment


def segment_at(path: str | os.PathLike[str]) -> SegmentFile:
    """Return a file as a segment, whatever its name. The file is not read."""
    return _segment(placed(path))


def size_of(segment: SegmentFile) -> int:
    """Return the bytes of a segment file.

    Raises:
        OSError: if there is no such file.
    """
    return entry_of(segment.path).size if segment.known_size is None else segment.known_size


def _expanded(path: str | os.PathLike[str]) -> Sequence[str | os.PathLike[str]]:
    return matching(path) if is_pattern(path) else [path]


def _looked_at(
    paths: Sequence[str | os.PathLike[str]], has_patterns: bool, failed: Callable[[OSError | SegmentKeyError], None] | None
) -> Iterator[tuple[list[SegmentFile], list[Finding]]]:
    for path in paths:
        try:
            yield from map(_found_at, _expanded(path) if has_patterns else [path])
        except (OSError, SegmentKeyError) as error:
            if failed is None:
                raise
            failed(error)


def _found_at(path: str | os.PathLike[str]) -> tuple[list[SegmentFile], list[Finding]]:
    place = placed(path)
    keys_of = place if is_tiered(place) else None
    base = entry_of(untiered(place) if is_tiered(place) else place)
    if not base.is_directory:
        return [_upload_at(base.path, keys_of) or _listed_segment(base)], []
    listed: list[SegmentFile] = []
    findings: list[Finding] = []
    for directory, listing in walk_directories(base.path, _is_skipped):
        findings += _skipped(listing)
        segments, others = _segments_of(directory, listing, keys_of)
        listed += segments
        findings += others
    if not listed:
        text = "no log segments (twenty digits and .log or .kafka) in this directory or below"
        reasons = [f"{one.path.rpartition('@')[0]}: {one.message}" for one in findings[:1]]
        raise FileNotFoundError(errno.ENOENT, "; ".join([text, *reasons]), shown(place))
    found = [file.replaced(is_listed=True) for file in sorted(listed, key=_reading_order)]
    return _with_offsets(_single_uploads(found)), findings


def _named(file: SegmentFile, topic: str | None, partition: int | None, has_topics: bool) -> SegmentFile | None:
    """Return a segment of a chosen topic and partition, or None if it is of another one."""
    if file.topic is None:
        return None if has_topics else file.replaced(topic=topic, partition=partition)
    is_chosen = topic in (None, file.topic) and partition in (None, file.partition)
    return file if is_chosen else None


def _no_partition(files: Sequence[SegmentFile], topic: str | None, partition: int | None) -> str:
    topics = sorted({file.topic for file in files if file.topic is not None})
    if topic is not None and topic not in topics:
        return f"no such topic: {topic}; there are {listed(topics, 5)}"
    numbers = sorted({file.partition for file in files if file.topic == topic or topic is None if file.partition is not None})
    return f"no such partition: {partition}; there are {listed(list(map(str, numbers)), 5)}"


def _segments_of(directory: str, listing: Listing, keys_of: str | None) -> tuple[list[SegmentFile], list[Finding]]:
    """Return the segments of one directory and findings of its uploads; `keys_of` is a URI with keys."""
    findings: list[Finding] = []
    found = with_swaps(directory, listing, _plain_segments, _file_of_work, findings)
    if any(file.name == WATERMARK for file in listing.files):
        # Pinterest's uploader keeps the names of the broker, and closes a segment before the upload.
        found = [one.replaced(path=tiered(one.path, ring_of(keys_of or ""))) for one in found]
    if not any(is_upload(file.name) for file in listing.files):
        return found, findings
    uploaded, unread = uploaded_in(directory, keys_of, [file for file in listing.files if object_name(file.name)])
    return [*found, *(_uploaded(one) for one in uploaded)], [*findings, *unread]


def _plain_segments(listing: Listing) -> list[SegmentFile]:
    """Return the segments of a listing that have the names of a broker."""
    return [_listed_segment(file) for file in listing.files if SEGMENT.fullmatch(file.name) and not is_upload(file.name)]


def _upload_at(path: str, keys_of: str | None) -> SegmentFile | None:
    """Return the upload with its log at a path; None for any other file."""
    match = SEGMENT.fullmatch(os.path.basename(path[:]))
    if match is None or match[2] is None:
        return None
    found = uploaded_at(path, keys_of)
    return None if found is None else _uploaded(found)


def _skipped(listing: Listing) -> Iterator[Finding]:
    """Return a finding for each entry that is named as a segment and cannot be read, and for each link that may lead to one."""
    for entry in listing.special:
        if match := SEGMENT.fullmatch(entry.name):
            yield _skipped_entry(entry, "not a regular file", int(match[1]))
    for entry, reason in listing.broken:
        match = SEGMENT.fullmatch(entry.name)
        yield _skipped_entry(entry, f"link cannot be followed: {reason}", int(match[1]) if match else None)


def _skipped_entry(entry: DirectoryEntry, reason: str, base_offset: int | None) -> Finding:
    return Finding("SEG-15", "warning", f"skipped, {reason}", f"{shown(entry.path)}@0", 0, 0, base_offset)


def _is_skipped(directory_name: str) -> bool:
    match = PARTITION.fullmatch(directory_name)
    return directory_name == "lost+found" or (match is not None and match[3] is not None)


def _listed_segment(entry: DirectoryEntry) -> SegmentFile:
    """Return a file of a listing as a segment. The size of a local file may change, and is asked for when it is needed."""
    return _segment(entry.path, entry.size if is_stored(entry.path) else None)


def _file_of_work(entry: DirectoryEntry) -> SegmentFile:
    """Return a file of interrupted work as a segment. Only that of a swap has the name of a segment that is read."""
    return _listed_segment(entry).replaced(base_offset=int(entry.name[:20]))


def _segment(path: str, size: int | None = None) -> SegmentFile:
    directory, name = os.path.split(path[:])
    match = READ_SEGMENT.fullmatch(name)
    above = directory if is_stored(path) else os.path.abspath(directory)
    topic, partition = _uploaded_partition(above) if match and match[2] else (None, None)
    if topic is None:
        topic, partition = partition_of(above)
    return SegmentFile(path, topic, partition, int(match[1]) if match else None, known_size=size)


def _uploaded(segment: UploadedSegment) -> SegmentFile:
    return SegmentFile(*segment[:4], known_size=segment.size)


def _uploaded_partition(directory: str) -> Partition:
    """Return topic and partition from the directory of an uploaded segment."""
    place = place_of(directory[:])
    return (place.topic, place.partition) if place.topic is not None and place.partition is not None else (None, None)


def _single_uploads(segments: list[SegmentFile]) -> list[SegmentFile]:
    """Return the segments, if no two uploads of a directory begin with the same offset: reading both would give records twice."""
    for one, other in pairwise(segments):
        is_same = (one.directory[:], one.base_offset) == (other.directory[:], other.base_offset)
        if is_same and _is_uploaded(one) and _is_uploaded(other):
            text = f"uploaded a second time as {os.path.basename(other.path)}; pass the segments to read by name"
            raise FileExistsError(errno.EEXIST, text, shown(one.path))
    return segments


def _is_uploaded(segment: SegmentFile) -> bool:
    match = SEGMENT.fullmatch(os.path.basename(segment.path))
    # An upload whose choice needs a missing key gives no records, so it may begin with the same offset.
    return match is not None and match[2] is not None and cut_of(segment.path) != segment.base_offset


def _with_offsets(files: list[SegmentFile]) -> list[SegmentFile]:
    """Add the offsets from the names of the segments of each directory."""
    starts: dict[tuple[str, bool], list[int]] = {}
    for file in files:
        if (start := _named_start(file)) is not None:
            starts.setdefault(_group_of(file), []).append(start)
    for own in starts.values():
        own.sort()

    def with_offsets(file: SegmentFile) -> SegmentFile:
        start = _named_start(file)
        if start is None:
            return file
        own = starts[_group_of(file)]
        following = bisect_right(own, start)
        end = own[following] if following < len(own) else None
        return file.replaced(offsets=None if is_of_0_7(file.path) else (start, end), next_offset=end)

    return [with_offsets(file) for file in files]


def _named_start(file: SegmentFile) -> int | None:
    """Return the offset in the name of a segment, a position for Kafka 0.7; None if names do not say which offsets are in it."""
    match = READ_SEGMENT.fullmatch(os.path.basename(file.path[:]))
    return file.base_offset if match is not None and match[2] is None and not is_tiered(file.path) else None


def _group_of(file: SegmentFile) -> tuple[str, bool]:
    """Return the key of the segments that follow each other: those of a directory, and of one family of formats."""
    return file.directory[:], is_of_0_7(file.path)


def _reading_order(segment: SegmentFile) -> tuple[str, str, int, str]:
    """Return the key by which segments are sorted: partitions of a topic by number."""
    directory = untiered(segment.directory) if is_tiered(segment.path) else segment.directory
    above, name = os.path.split(directory[:])
    partition = -1 if segment.partition is None else segment.partition
    return above, segment.topic or name, partition, segment.path[:]
