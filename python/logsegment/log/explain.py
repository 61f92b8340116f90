"""Show one entry of a log field by field, with the damage around it: `explain`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from logsegment._core import BatchHeader, FileSource, Finding, SegmentFile, SegmentKeyError, valid_batches
from logsegment._errors import naming_file
from logsegment._inspect import RECORDS, VALUE_BYTES, Field, inspect
from logsegment._options import Depth, EntryKeywords, ReadOptions
from logsegment._storage import Keys, StorageOptions
from logsegment._text import count
from logsegment.inputs.input_segment import InputSegment, opened
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import inputs_of
from logsegment.log.segment import Segment
from logsegment.segment_files.discovery import Topics

#: Headers that are looked at together: one of the first few is what is searched for, or none.
_BATCH_SIZE = 64


@dataclass(frozen=True)
class Explanation:
    """One entry of a log field by field, and what is around it.

    Attributes:
        path: the name of the file.
        entry: the fields of the entry.
        next_entry: the fields of the next valid entry, if no checksum proves that `entry` is one; None if there is none.
        damage: the damage before `entry` that may have contained the offset.
        is_followed: False if no valid entry follows an entry that no checksum proves; then `next_entry` is None.
    """

    path: str
    entry: Field
    next_entry: Field | None = None
    damage: list[Finding] = field(default_factory=list)
    is_followed: bool = True
    _file: SegmentFile | None = field(default=None, repr=False)
    _options: EntryKeywords = field(default_factory=EntryKeywords, repr=False)

    @property
    def ok(self) -> bool:
        """Return True if the entry is valid, and damage before it cannot have contained the offset."""
        return self.entry.ok and not self.damage and self.next_entry is None

    @property
    def begins_entry(self) -> bool:
        """Return True if `entry` starts where an entry does: at the start of the file, or directly after a valid batch."""
        start = self.entry.start
        if start == 0 or self._file is None:
            return start == 0
        rows = Segment(self._file).batches(on_error="skip", unreadable="skip", **self._options).to_pylist()
        return any(row["isValid"] and row["position"] + row["size"] == start for row in rows)


def explain(
    source: Any,
    *,
    at: int | None = None,
    offset: int | None = None,
    depth: Depth = "full",
    records: int | None = RECORDS,
    value_bytes: int = VALUE_BYTES,
    topic: Topics = None,
    partition: int | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Explanation:
    """Show one entry of a log field by field, and the next valid entry if this one is damaged.

    `inspect` shows the bytes at a position. This function also finds an offset past damage, and in a partition directory.

    Args:
        source: a file, here or in a store; a `Segment`; a buffer; a binary file object; or with `offset` a partition directory or a `Log`.
        at: position of the entry in the file, in bytes. Any bytes are shown as an entry. Without `at` and `offset`, the first entry.
        offset: show the entry with this offset, or the next one.
        depth, records, value_bytes: see `inspect`.
        topic: of a tree, the topic of the partition.
        partition: of a tree, the number of the partition.
        decryption_keys: see `Segment`.
        storage_options: options of the store of a URI; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        observer: gets the file before it is read; see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        An `Explanation`.

    Raises:
        FileNotFoundError: if there is no such path, or no segment in it.
        OSError: if the file cannot be read.
        InvalidError: if the first entry is requested of a file that is not a log segment.
        RecordBatchError: if damage may hide the offset, and no valid entry follows.
        ValueError: if the source has several segments and `offset` is not given, the input ends at `at`, or no entry ends at or after
            `offset`.

    Example:
        >>> import logsegment as ls
        >>> shown = ls.explain("payments-0", offset=12)
        >>> shown.ok, shown.entry["baseOffset"].value
        (True, 12)
    """
    if at is not None and offset is not None:
        raise ValueError("only one of at and offset can be given")
    inputs = inputs_of(source, (storage_options, decryption_keys, layout), selection=(topic, partition))
    if observer is not None:
        observer.noted(inputs.findings)
    segment = _chosen(inputs.segments, offset)
    inputs.segments = [segment]
    if observer is not None:
        observer.planned([(segment.name, segment.size)])
    if at is None:
        inputs.ensure_segments(options)
    shown = {"depth": depth, "records": records, "value_bytes": value_bytes}
    with naming_file(segment.name):
        return _Explaining(segment, shown, options).explanation(at, offset)


def _chosen(segments: list[InputSegment], offset: int | None) -> InputSegment:
    """Return the only segment, or that of an offset in a partition.

    Raises:
        ValueError: if there are several, and the offset does not choose one.
    """
    if len(segments) == 1:
        return segments[0]
    partitions = {(segment.topic, segment.partition, segment.directory) for segment in segments}
    if len(partitions) > 1 or offset is None:
        raise ValueError(f"{count(len(segments), 'segment')} found; pass one file, or one partition and an offset")
    before = [segment for segment in segments if segment.base_offset is not None and segment.base_offset <= offset]
    return max(before or segments[:1], key=lambda segment: segment.base_offset or 0)


@dataclass
class _Explaining:
    """The work on one file."""

    segment: InputSegment
    shown: dict[str, Any]
    options: EntryKeywords

    def explanation(self, at: int | None, offset: int | None) -> Explanation:
        found = self._entry_of(offset) if offset is not None else Explanation(self.segment.name, self._inspected(at))
        if at is None and offset is None and not found.entry.is_proven and self._file is not None:
            start = found.entry.start
            following = self._next(lambda batch: batch.position > start)
            following_entry = None if following is None else self._inspected(following[0])
            found = replace(found, next_entry=following_entry, is_followed=following is not None)
        return replace(found, _file=self._file, _options=self.options)

    @property
    def _file(self) -> SegmentFile | None:
        """The file, if it can be read more than once."""
        return self.segment.file if self.segment.is_regular else None

    def _entry_of(self, offset: int) -> Explanation:
        """Return the entry of an offset, or the first one after it, with the damage that may have contained the offset."""
        try:
            entry = self._inspected(None, offset)
        except SegmentKeyError:
            raise
        except ValueError:
            if (found := self._holder(offset)) is None:
                raise
            return found
        if _claims_to_hold(entry, offset):
            return Explanation(self.segment.name, entry)
        return self._holder(offset) or Explanation(self.segment.name, entry)

    def _holder(self, offset: int) -> Explanation | None:
        """Return the valid entry of an offset, or the first one after it."""
        found = self._next(lambda batch: batch.last_offset >= offset)
        return None if found is None else Explanation(self.segment.name, self._inspected(found[0]), damage=found[1])

    def _next(self, is_wanted: Callable[[BatchHeader], bool]) -> tuple[int, list[Finding]] | None:
        """Return the position of the first valid batch that is wanted, and the damage before it."""
        if self._file is None:
            return None
        read = ReadOptions.of(EntryKeywords, self.options, on_error="skip", unreadable="skip", batch_size=_BATCH_SIZE)
        with valid_batches(FileSource(self.segment.path), read) as batches:
            for batch in batches:
                if is_wanted(batch):
                    return batch.position, [finding for finding in batches.findings if finding.position < batch.position]
        return None

    def _inspected(self, at: int | None, offset: int | None = None) -> Field:
        if self._file is not None:
            return Segment(self._file).inspect(at=at, offset=offset, **self.shown, **self.options)
        with opened(self.segment) as source:
            return inspect(source, at=at, offset=offset, **self.shown, **self.options)


def _claims_to_hold(root: Field, offset: int) -> bool:
    """Return whether the first offset of a batch or message is at or before `offset`."""
    first = next((field.value for field in root.children if field.name in ("baseOffset", "offset")), None)
    return isinstance(first, int) and first <= offset
