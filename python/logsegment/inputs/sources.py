"""Sources of verbs: paths, URIs, patterns, logs, files, buffers and streams go in, their segments come out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from logsegment._core import (
    BufferFile,
    FileSource,
    Finding,
    FoundSegments,
    Place,
    RecordBatchError,
    ReplicaChoice,
    SegmentFile,
    SegmentKeyError,
)
from logsegment._options import EntryKeywords, LogStartOffset, PartitionOptions
from logsegment._storage import NO_ACCESS, Access, reached
from logsegment._validate import ensure_segment
from logsegment.inputs.input_segment import STREAM, InputSegment, input_of
from logsegment.inputs.observer import Observer
from logsegment.partition.log_files import LogFiles
from logsegment.segment_files.discovery import Topics, found_in, is_noted
from logsegment.segment_files.log_start import warn_of_log_starts, without_log_starts

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: A path or URI of a segment, a partition directory or a tree of them; a pattern; a `Log` or `Segment`; a whole file; or a buffer with
#: the bytes of a segment.
OneSource: TypeAlias = "str | os.PathLike[str] | LogFiles | FileSource | Buffer"
#: One of these, or several.
LogSource: TypeAlias = "OneSource | Sequence[OneSource]"


@dataclass
class Inputs:
    """The segments of the sources of a verb.

    Attributes:
        segments: in the order of the sources, those of a partition in the order of their names.
        left_out: findings about files that are not read.
        start_findings: findings about log start offsets that do not count, or are not known.
        paths: the paths among the sources.
        buffers: the buffers among the sources, which can be read as long as these files exist.
    """

    segments: list[InputSegment] = field(default_factory=list)
    left_out: list[Finding] = field(default_factory=list)
    start_findings: list[Finding] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    buffers: list[BufferFile] = field(default_factory=list)

    @property
    def files(self) -> list[SegmentFile]:
        """The files of the segments, without streams."""
        return [segment.file for segment in self.segments if segment.file is not None]

    @property
    def findings(self) -> list[Finding]:
        """Findings that each read of a partition reports: missing offsets, interrupted work, and log start offsets."""
        return [*filter(is_noted, self.left_out), *self.start_findings]

    def observed(self, observer: Observer | None, *, warns: bool = False) -> list[Finding]:
        """Give an observer the files and the findings of partitions, and return these findings.

        Args:
            observer: the observer.
            warns: without an observer, warn of the findings about log start offsets, in the name of the caller of the caller.
        """
        findings = [*self.findings, *self.deleted_records()]
        if observer is None and warns:
            warn_of_log_starts(self.start_findings, stacklevel=4)
        if observer is not None:
            observer.noted(findings)
            observer.planned([(segment.name, segment.size) for segment in self.segments])
        return findings

    def deleted_records(self) -> list[Finding]:
        """Return findings about records below the log start offsets of partitions, which are not read (SEG-19)."""
        return FoundSegments(self.files).deleted_records()

    @property
    def is_directory(self) -> bool:
        """Return True if a segment was found in a directory or opened log, so that outputs of all segments are a directory."""
        return any(segment.is_listed for segment in self.segments)

    def ensure_segments(self, options: EntryKeywords | None = None, observer: Observer | None = None) -> None:
        """Raise an error for a file that was named, has no valid batch and looks like another kind of file.

        Args:
            options: options of entries.
            observer: is asked about each of these files, which is then left out; None to raise the error.

        Raises:
            InvalidError: for the first of these files.
        """
        kept: list[InputSegment] = []
        for segment in self.segments:
            try:
                if segment.file is not None and segment.is_regular and not segment.is_listed:
                    ensure_segment(segment.file, options)
            except RecordBatchError as error:
                if observer is None or not observer.failed(segment.name, error):
                    raise
            else:
                kept.append(segment)
        self.segments = kept

    def ensure_positions(self, verb: str) -> None:
        """Raise a ValueError for a stream or a pipe, for a function of this name that reads by position, and more than once."""
        for segment in self.segments:
            if segment.file is None or not segment.is_regular:
                raise ValueError(f"{segment.name} can be read only once; {verb} needs a file")

    def partitions(self) -> Partitions:
        """Return the name and the segments of each partition, as `by_partition` does."""
        partitions = Partitions(FoundSegments(self.files).by_partition())
        partitions.buffers, partitions.findings = self.buffers, self.findings
        return partitions

    def _with(self, files: Sequence[SegmentFile]) -> list[InputSegment]:
        """Return the inputs with other files, one for each of theirs."""
        placed = iter(files)
        return [segment if segment.file is None else replace(segment, file=next(placed)) for segment in self.segments]

    def _select(self, selection: tuple[Topics, int | None], options: PartitionOptions | None) -> None:
        """Keep the segments of a topic and a partition, and of the directories that the options choose.

        Raises:
            ValueError: if there are none, or a partition is in several directories and the options choose none of them.
        """
        topic, partition = selection
        if topic is None and partition is None and options is None:
            return
        by_path = {segment.path: segment for segment in self.segments if segment.file is not None}
        every = self.files
        files = FoundSegments(every).of_partition(topic, partition) if by_path else []
        if options is not None:
            is_named = any(file.topic is not None for file in every)
            chosen = ReplicaChoice(options).of(files if is_named else every)
            files = chosen if is_named else files
        is_selected = topic is not None or partition is not None
        self.left_out = FoundSegments(files, self.left_out).findings_among(None if is_selected else every)
        if not is_selected:
            chosen_paths = {file.path for file in files}
            self.segments = [segment for segment in self.segments if segment.file is None or segment.path in chosen_paths]
            return
        named = topic if isinstance(topic, str) else None
        streams = [replace(segment, given=(named, partition)) for segment in self.segments if segment.file is None]
        self.segments = [*streams, *(replace(by_path[file.path], file=file) for file in files)]


def inputs_of(
    source: Any,
    access: Access = NO_ACCESS,
    *,
    selection: tuple[Topics, int | None] = (None, None),
    options: PartitionOptions | LogStartOffset | None = None,
    observer: Observer | None = None,
) -> Inputs:
    """Return the segments of one source or a list of them.

    Args:
        source: paths, URIs, patterns, logs, whole files, buffers, and binary file objects that are read front to back.
        access: options of the store of URIs, and keys and layout of tiered storage.
        selection: a topic, or several, and the number of a partition; None for all.
        options: which directory is read of a partition in several directories, and where partitions start. The latter alone to read all
            directories, and None to read all directories and all records. A `Log` has its own log start offsets.
        observer: is asked about each path that cannot be read; None to raise its error.

    Raises:
        FileNotFoundError: if a path does not exist, or contains no segments.
        OSError: if a directory cannot be listed.
        ValueError: if there is no such topic or partition, a partition is in several directories and the options choose none of them, or
            a `FileSource` is a part of a file.
        TypeError: if it is not a source.
    """
    several = list(source) if isinstance(source, (list, tuple)) else [source]
    if any(option is not None for option in access[1:]) and not any(isinstance(source, (str, os.PathLike)) for source in several):
        raise TypeError(f"decryption_keys and layout belong to paths, not to {type(source).__name__}")
    found = Inputs()
    logs = [log for log in several if isinstance(log, LogFiles)]
    groups = [_added(found, kind, list(group), (access, observer)) for kind, group in groupby(several, _kind)]
    if len(groups) > 1:
        known = FoundSegments.without_links([[file for file in group if file is not None] for group in groups])
        kept = {id(file) for files in known for file in files}
        found.segments = [segment for segment in found.segments if segment.file is None or id(segment.file) in kept]
    choice = options if isinstance(options, PartitionOptions) else None
    found._select(selection, choice)
    found.start_findings = [finding for log in logs for finding in log._log_start_findings]
    if options is None:
        found.start_findings += [finding for log in logs for finding in FoundSegments(log._files).deleted_records()]
        found.segments = found._with(without_log_starts(found.files))
        return found
    own = {file.path for log in logs for file in log._files}
    starts = PartitionOptions(log_start_offset=options) if isinstance(options, str) else options
    others, findings = FoundSegments(file for file in found.files if file.path not in own).with_log_starts(starts)
    starting = iter(others)
    found.segments = found._with([file if file.path in own else next(starting) for file in found.files])
    found.start_findings += findings
    return found


def is_of_files(source: Any, access: Access, *, is_selected: bool) -> bool:
    """Return True for an opened log, a list, the path or URI of a directory, a pattern, and a path with options of partitions."""
    if isinstance(source, LogFiles | list | tuple):
        return True
    if not isinstance(source, str | os.PathLike):
        return False
    place = Place(source, access[0])
    return is_selected or place.is_directory() or (any(sign in os.fspath(source) for sign in "*?[") and not place.exists())


def _failed(observer: Observer, error: OSError | SegmentKeyError) -> None:
    path = getattr(error, "filename", None)
    if not observer.failed("" if path is None else os.fsdecode(path), error):
        raise error


def _kind(source: Any) -> type:
    if isinstance(source, (str, os.PathLike)):
        return str
    return LogFiles if isinstance(source, LogFiles) else object


def _added(found: Inputs, kind: type, group: list[Any], how: tuple[Access, Observer | None]) -> list[SegmentFile | None]:
    """Add the segments of sources of the same kind; return their files."""
    access, observer = how
    before = len(found.segments)
    if kind is str:
        places = [os.fspath(reached(path, *access)) for path in group]
        files, findings = found_in(places, failed=None if observer is None else partial(_failed, observer), options=None)
        found.paths += places
        found.segments += map(input_of, files)
        found.left_out += findings
    for source in group if kind is not str else ():
        if isinstance(source, LogFiles):
            found.segments += [replace(input_of(file), has_sidecars=True) for file in source._files]
            found.left_out += source.left_out
            found.paths += source._paths
        elif callable(getattr(source, "read", None)):
            found.segments.append(InputSegment(STREAM, stream=source))
        else:
            place, held = place_of(source)
            found.buffers += held
            found.segments += map(input_of, found_in(place, options=None)[0])
    return [segment.file for segment in found.segments[before:]]


class Partitions(list[tuple[str, list[SegmentFile]]]):
    """The name and the segments of each partition of a source. The list keeps the buffers of the source readable.

    Attributes:
        findings: see `Inputs`.
    """

    buffers: Sequence[BufferFile] = ()
    findings: Sequence[Finding] = ()


def place_of(source: str | os.PathLike[str] | FileSource | Buffer) -> tuple[str | os.PathLike[str], list[BufferFile]]:
    """Return the path or URI of one source, and the file that must be kept while it is read, if the source is a buffer.

    Raises:
        TypeError: if it is not a source.
        ValueError: if it is a part of a file.
    """
    if isinstance(source, (str, os.PathLike)):
        return source, []
    if isinstance(source, FileSource):
        if source.start or source.end is not None:
            raise ValueError(f"{source.path} is to be read whole: pass a FileSource without start and end")
        return source.path, []
    try:
        file = BufferFile(source)
    except TypeError:
        raise TypeError(f"a source must be a path, a URI, a Log, a FileSource or a buffer, not {type(source).__name__}") from None
    return file.path, [file]


def partitions_of(source: LogSource, access: Access = NO_ACCESS, options: PartitionOptions | None = None) -> Partitions:
    """Return the name and the segments of each partition of a source, which must be segments.

    Args:
        source: paths, URIs, patterns, logs, files and buffers.
        access: options of the store of URIs, and keys and layout of tiered storage.
        options: how partitions are read; None to read also records below a log start offset. A `Log` has its own options.

    Raises:
        FileNotFoundError: if a path does not exist, or contains no segments.
        OSError: if a directory cannot be listed.
        ValueError: if a partition is in several directories and the options choose none of them.
        InvalidError: if a file that was named is not a log segment.
    """
    inputs = inputs_of(source, access, options=options or PartitionOptions(log_start_offset="ignore"))
    inputs.ensure_segments()
    warn_of_log_starts(inputs.start_findings, stacklevel=4)
    return inputs.partitions()
