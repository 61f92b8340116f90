"""The base of what `find`, `diff` and `transactions` return, and the partitions of their sources."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from logsegment._core import BufferFile, FileSource, Finding, FoundSegments, ReplicaChoice, SegmentFile
from logsegment._options import PartitionOptions
from logsegment._places import absolute
from logsegment._storage import NO_ACCESS, Access, reached
from logsegment._validate import ensure_segment
from logsegment.log.log import Log
from logsegment.segment_files.discovery import ONE_REPLICA, found_in, is_noted
from logsegment.segment_files.log_start import warn_of_log_starts, without_log_starts

if TYPE_CHECKING:
    from typing_extensions import Buffer

T = TypeVar("T")
#: A path or URI of a segment, a partition directory or a tree of them; a `Log`; a whole file; or a buffer with the bytes of a segment.
OneSource: TypeAlias = "str | os.PathLike[str] | Log | FileSource | Buffer"
#: One of these, or several.
LogSource: TypeAlias = "OneSource | Sequence[OneSource]"


class Results(ABC, Generic[T]):
    """Results that are found while they are iterated, and kept for the next iteration.

    The rows of `to_arrow` and of the Arrow stream (`__arrow_c_stream__`) have the names of `to_dict`. Both need pyarrow.
    """

    def __init__(self, found: Iterator[T]) -> None:
        self._found = found
        self._kept: list[T] = []

    def __iter__(self) -> Iterator[T]:
        at = 0
        while at < len(self._kept) or self._has_more():
            yield self._kept[at]
            at += 1

    def once(self) -> Iterator[T]:
        """Return an iterator over the results that were not found yet, which does not keep them."""
        return self._found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._kept):,} found so far; iterate over it, or call to_arrow())"

    def to_arrow(self) -> Any:
        """Return the results as a `pyarrow.Table`.

        Raises:
            ImportError: if pyarrow is not installed.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError("an Arrow table of results needs pyarrow: pip install pyarrow; to_dict() needs nothing") from None
        fields = [(name, getattr(pa, kind)()) if isinstance(kind, str) else (name, kind(pa)) for name, kind in self._columns()]
        return pa.Table.from_pylist(list(self._rows()), pa.schema(fields))

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @abstractmethod
    def _columns(self) -> Sequence[tuple[str, Any]]:
        """Return the name of each Arrow column, and its type: the name of a function of pyarrow, or a function that takes pyarrow."""

    @abstractmethod
    def _rows(self) -> Iterable[dict[str, Any]]:
        """Yield the rows by column name."""

    def _has_more(self) -> bool:
        for match in self._found:
            self._kept.append(match)
            return True
        return False


class Partitions(list[tuple[str, list[SegmentFile]]]):
    """The name and the segments of each partition of a source. The list keeps the buffers of the source readable.

    Attributes:
        findings: about log start offsets that do not count, or are not known.
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
    """Return the name and the segments of each partition of a source, as `by_partition` does.

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
    several: Sequence[OneSource] = source if isinstance(source, (list, tuple)) else [cast(OneSource, source)]
    found: list[list[SegmentFile]] = []
    buffers: list[BufferFile] = []
    findings: list[Finding] = []
    skipped: list[Finding] = []
    for source in several:
        if isinstance(source, Log):
            found.append(without_log_starts(source._files) if options is None else source._files)
            findings += [] if options is None else [*filter(is_noted, source.left_out), *source._log_start_findings]
            continue
        place, held = place_of(source)
        buffers += held
        files, left_out = found_in(place if held or access == NO_ACCESS else absolute(reached(place, *access)), options=None)
        for file in files:
            if not file.is_listed:
                ensure_segment(file)
        found.append(files)
        skipped += left_out
    every = [file for files in FoundSegments.without_links(found) for file in files]
    chosen = ReplicaChoice(options or ONE_REPLICA).of(every)
    if options is not None:
        findings += filter(is_noted, FoundSegments(chosen, skipped).findings_among(every))
        known = {id(file) for source in several if isinstance(source, Log) for file in source._files}
        starting, of_starts = FoundSegments(file for file in chosen if id(file) not in known).with_log_starts(options)
        warn_of_log_starts(of_starts, stacklevel=4)
        findings += of_starts
        others = iter(starting)
        chosen = [file if id(file) in known else next(others) for file in chosen]
    partitions = Partitions(FoundSegments(chosen).by_partition())
    partitions.buffers = buffers
    partitions.findings = findings
    return partitions
