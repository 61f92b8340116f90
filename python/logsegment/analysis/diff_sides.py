"""One side of a comparison: its batches by their headers, one after the other, and the offsets that damage has taken."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

from logsegment._core import ArrowBatch, FileSource, Finding, batch_stream, header_totals
from logsegment._decode import decoded
from logsegment._errors import naming_file
from logsegment._inspect import Field, InspectOptions, inspected
from logsegment._options import ReadOptions
from logsegment._validate import SWALLOWED, TORN, validated
from logsegment.log.reader import arranged
from logsegment.segment_files.discovery import SegmentFile
from logsegment.stores.uri import shown

#: Of two batches for which all this is the same, the records are the same: the checksum is of them.
SAME = ("baseOffset", "lastOffset", "count", "magic", "size", "crc", "isValid")
#: What else batches of the same records may differ in.
BATCHING: tuple[str, ...] = ("attributes", "compression", "timestampType", "baseTimestamp", "maxTimestamp", "producerId")
BATCHING += ("producerEpoch", "baseSequence", "partitionLeaderEpoch", "isTransactional", "isControl", "deleteHorizonMs")
#: Outside of the checksum, and nothing about the records.
UNCOVERED = "partitionLeaderEpoch"
#: What is compared of a record, and its name where that is another one. The offset is first: `Records.offset` counts on it.
RECORD = {"offset": "offset", "timestampMs": "timestamp", "isControl": "isControl", "key": "key", "value": "value", "headersRaw": "headers"}
#: No offset lies beyond.
FIRST, LAST = -(2**63), 2**63 - 1

Row = dict[str, Any]
Piece = tuple[str, int, int]
Which: TypeAlias = Literal["a", "b"]
Kind: TypeAlias = Literal["missing", "changed", "unreadable", "batches", "damage"]


@dataclass(slots=True)
class Difference:
    """Consecutive offsets that differ in the same way, or a damaged place of one side.

    Attributes:
        kind: "missing": only the other side has these records; "changed": both have them, with other content; "unreadable": the other
            side has them, and this side is damaged there; "batches": the same records in other batches (on request); "damage": bytes of
            one side that cannot be read.
        side: which of the two lacks or cannot read them; None for "changed" and "batches".
        first_offset: of the first record; where whole batches are missing, of the first batch; of damage -1 if it is unknown.
        last_offset: of the last one (inclusive).
        records: how many.
        fields: what differs: "key", "value", "timestamp", "headers", "isControl"; of batches the names of their columns.
        path: the damaged file; empty if the kind is not "damage".
        finding: what `validate` reports about the damage; its position counts in the file.
    """

    kind: Kind
    side: Which | None
    first_offset: int
    last_offset: int
    records: int
    fields: tuple[str, ...] = ()
    path: str = ""
    finding: Finding | None = None

    @classmethod
    def damage(cls, side: Which, path: str, finding: Finding) -> Difference:
        """Return the difference of a damaged place."""
        first, last = (-1 if offset is None else offset for offset in (finding.base_offset, finding.last_offset))
        return cls("damage", side, first, last, 0, path=path, finding=finding)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON; those of a finding next to the side and file of damage."""
        if self.finding is not None:
            return {"type": self.kind, "side": self.side, "file": shown(self.path), **self.finding.to_dict()}
        told: dict[str, Any] = {"type": self.kind, "side": self.side, "firstOffset": self.first_offset, "lastOffset": self.last_offset}
        return told | {"records": self.records, "fields": list(self.fields)}


@dataclass(slots=True)
class Totals:
    """Counts of a comparison so far.

    Attributes:
        same_records: records that are the same on both sides; without those of compressed messages of magic 0 and 1 that agree by
            their headers, which do not count them.
        same_batches: batches among them whose headers and checksums agree; they were not unpacked.
        missing_a: records that `a` lacks.
        missing_b: records that `b` lacks.
        changed: records with other content.
        unreadable: records that one side has where the other is damaged.
        batches: stretches of the log where batches differ; told as differences when they are asked for.
        damage: places that cannot be read.
        unopened: batches that are whole and whose plugin is not here, or failed; none of them counts as damage.
    """

    same_records: int = 0
    same_batches: int = 0
    missing_a: int = 0
    missing_b: int = 0
    changed: int = 0
    unreadable: int = 0
    batches: int = 0
    damage: int = 0
    unopened: int = 0


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """How both sides are read and compared.

    Attributes:
        read: options of the read.
        with_batches: other batches of the same records are a difference.
        is_deep: decode every batch.
    """

    read: ReadOptions
    with_batches: bool
    is_deep: bool

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of batches that agree where the records agree."""
        return (*SAME, UNCOVERED) if self.with_batches else SAME


class BatchChunk:
    """Intact batches of one file that follow each other: what is compared of each as a line, and the rest when it is asked for."""

    def __init__(self, path: str, lines: list[bytes], rows: ArrowBatch, start: int = 0) -> None:
        self.path = path
        self.lines = lines
        self._rows = rows
        self._start = start

    @cached_property
    def _all(self) -> list[bytes]:
        return _lines(self._rows, ("position", *SAME, *BATCHING))

    def row(self, index: int) -> Row:
        """Return the header of a batch."""
        row: Row = json.loads(self._all[self._start + index])
        return row


class Side:
    """The batches of one side. `chunk` and `at` tell the next one.

    Attributes:
        lost: first and last offsets (inclusive) of what cannot be read, as far as batches were looked at.
        damage: places that were met and not told yet.
    """

    def __init__(self, name: Which, files: Sequence[SegmentFile], options: DiffOptions) -> None:
        self.name = name
        self.lost: deque[tuple[int, int]] = deque()
        self.damage: list[Difference] = []
        self.chunk: BatchChunk | None = None
        self.at = 0
        self._options = options
        self._files = arranged(files, reports=True)
        self.damage += [Difference.damage(name, file.path, file.finding) for file in self._files if file.finding is not None]
        self._last = FIRST
        self._torn: tuple[str, Finding] | None = None
        self._is_lost = False
        self._chunks = self._read()
        self._next()

    def close(self) -> None:
        """Read no further."""
        self._chunks.close()

    def advance(self) -> None:
        """Go to the next batch."""
        self.at += 1
        self.settle()

    def settle(self) -> None:
        """Go to the next chunk when this one is behind."""
        if self.chunk is not None and self.at >= len(self.chunk.lines):
            self._next()

    def line(self) -> bytes | None:
        """Return the compared fields of the next batch, or None at the end."""
        return None if self.chunk is None else self.chunk.lines[self.at]

    def row(self) -> Row | None:
        """Return the header of a batch."""
        return None if self.chunk is None else self.chunk.row(self.at)

    def is_lost(self, first: int, last: int) -> bool:
        """Return whether damage may have taken one of these offsets. Callers ask in the order of the offsets."""
        while self.lost and self.lost[0][1] < first:
            self.lost.popleft()
        return bool(self.lost) and self.lost[0][0] <= last

    def records(self, pieces: Sequence[Piece], whole: tuple[int, int]) -> Iterator[ArrowBatch]:
        """Yield the records of parts of files; damage in them is added to `lost` and `damage`."""
        for path, start, end in pieces:
            source = FileSource(path, start, end)
            # A batch whose checksum was verified is not verified again.
            read = replace(
                self._options.read, columns=tuple(RECORD), check_crc=not self._options.read.check_crc, on_error="skip", control=True
            )
            with naming_file(path), decoded(source, read) as stream:
                seen = 0
                for rows in stream:
                    seen = self._met(path, stream.findings, seen, whole)
                    yield rows
                self._met(path, stream.findings, seen, whole)

    def _next(self) -> None:
        self.at = 0
        self.chunk = next(self._chunks, None)

    def _read(self) -> Generator[BatchChunk]:
        gaps = deque[Finding]()
        read = replace(self._options.read, on_error="skip", batch_size=CHUNK)
        with closing(headers_of([file.path for file in self._files], self._options.fields, read)) as headers:
            for one in headers:
                gaps.extend(filter(_is_damage, one.findings))
                if one.rows is None:
                    self._end_file(one.path, gaps)
                elif gaps or self._is_lost or one.has_invalid:
                    yield from self._intact(one.path, one.lines, one.rows, gaps)
                else:
                    totals = header_totals(one.rows)
                    self._last = totals[1] if totals else json.loads(one.lines[-1])["lastOffset"]
                    yield BatchChunk(one.path, one.lines, one.rows)
        if self._is_lost:
            self._lose(LAST if self._torn is None else _end_of_torn(*self._torn, self._options.read))

    def _end_file(self, path: str, gaps: deque[Finding]) -> None:
        """Add the damage that no valid batch of the file follows."""
        while gaps:
            gap = gaps.popleft()
            self._is_lost = True
            self._torn = (path, gap) if gap.rule == TORN else None
            self.damage.append(Difference.damage(self.name, path, gap))

    def _intact(self, path: str, lines: list[bytes], rows: ArrowBatch, gaps: deque[Finding]) -> Iterator[BatchChunk]:
        """Yield the valid batches of a chunk that has damage in it or before it."""
        headers, begin = BatchChunk(path, lines, rows), 0
        for index in range(len(lines)):
            row = headers.row(index)
            is_behind_gap = bool(gaps) and gaps[0].position < row["position"]
            if index > begin and (is_behind_gap or row["isValid"] is False):
                yield BatchChunk(path, lines[begin:index], rows, begin)
                begin = index
            while gaps and gaps[0].position < row["position"]:
                self.damage.append(Difference.damage(self.name, path, gaps.popleft()))
                self._is_lost = True
            if row["isValid"] is False:
                self._tell_invalid(path, row)
                begin = index + 1
                continue
            if self._is_lost:
                self._lose((row["lastOffset"] if row["baseOffset"] is None else row["baseOffset"]) - 1)
            self._last = row["lastOffset"]
        if begin < len(lines):
            yield BatchChunk(path, lines[begin:], rows, begin)

    def _tell_invalid(self, path: str, row: Row) -> None:
        source = FileSource(path, row["position"], row["position"] + row["size"])
        found = filter(_is_damage, validated(source, "headers", replace(self._options.read, check_crc=True)).findings)
        self.damage += [Difference.damage(self.name, path, finding) for finding in found]
        self._is_lost = True

    def _lose(self, end: int) -> None:
        """Mark the offsets between the last valid batch and `end` (inclusive) as lost."""
        self._add_lost(self._last if self._last == FIRST else self._last + 1, end)
        self._is_lost, self._torn = False, None

    def _add_lost(self, first: int, last: int) -> None:
        if first > last:
            return
        if self.lost and self.lost[-1] > (first, last):
            self.lost = deque(sorted([*self.lost, (first, last)]))
        else:
            self.lost.append((first, last))

    def _met(self, path: str, findings: Sequence[Finding], seen: int, whole: tuple[int, int]) -> int:
        """Take the findings of a decode from `seen` on; gives how many there are now."""
        for finding in filter(_is_damage, findings[seen:]):
            self.damage.append(Difference.damage(self.name, path, finding))
            self._add_lost(*(_offsets_of(path, finding, self._options.read) or whole))
        return len(findings)


def _lines(rows: ArrowBatch, names: Sequence[str]) -> list[bytes]:
    return rows.to_jsonl(fields=[(name, name) for name in names]).splitlines()


def _is_damage(finding: Finding) -> bool:
    """Return whether a finding is about bytes that were skipped, or that the file ends before."""
    return finding.severity == "error" or finding.rule in (TORN, SWALLOWED)


def _offsets_of(path: str, finding: Finding, read: ReadOptions) -> tuple[int, int] | None:
    """Return the first and last offset in the header of a batch that cannot be decompressed, or None."""
    source = FileSource(path, finding.position, finding.position + finding.length)
    try:
        rows = batch_stream(source, replace(read, check_crc=False)).read_all().to_pylist()
    except ValueError:
        return None
    if len(rows) != 1 or rows[0]["baseOffset"] is None:
        return None
    return rows[0]["baseOffset"], rows[0]["lastOffset"]


def _end_of_torn(path: str, finding: Finding, read: ReadOptions) -> int:
    """Return the last offset of a torn batch, from the part of its header that is there."""
    fields: dict[str, Any] = {}
    try:
        tree = inspected(FileSource(path), InspectOptions(at=finding.position, depth="headers"), read)
    except ValueError:
        return LAST
    _gather(tree, fields)
    base, delta = fields.get("baseOffset"), fields.get("lastOffsetDelta")
    return base + delta if isinstance(base, int) and isinstance(delta, int) else LAST


def _gather(field: Field, fields: dict[str, Any]) -> None:
    fields.setdefault(field.name, field.value)
    for child in field.children:
        _gather(child, fields)


#: About how many headers are looked at in one go.
CHUNK = 2048
INVALID = b'"isValid":false'


@dataclass(frozen=True, slots=True)
class Headers:
    """Headers that follow each other in a file, and what was found on the way to them.

    Attributes:
        path: the file.
        rows: they; None at the end of the file.
        lines: the wanted fields of each.
        has_invalid: a checksum does not match.
        findings: what is new.
    """

    path: str
    rows: ArrowBatch | None
    lines: list[bytes]
    has_invalid: bool
    findings: list[Finding]


def headers_of(paths: Sequence[str], fields: Sequence[str], read: ReadOptions) -> Generator[Headers]:
    """Read the headers of files, one after the other; each file ends with one that has no rows.

    Args:
        paths: the files.
        fields: names of what the lines tell.
        read: options of the read.

    Raises:
        RecordBatchError, OSError: when a file cannot be read, where its turn has come.
    """
    headers = _read(paths, fields, read)
    # Before there is much to read, a thread costs more than it gains.
    for one in headers:
        yield one
        if len(one.lines) >= CHUNK:
            break
    else:
        return
    with ThreadPoolExecutor(1, thread_name_prefix="logsegment-diff") as pool:
        coming = pool.submit(next, headers, None)
        while (taken := coming.result()) is not None:
            coming = pool.submit(next, headers, None)
            yield taken


def _read(paths: Sequence[str], fields: Sequence[str], read: ReadOptions) -> Iterator[Headers]:
    names = [(name, name) for name in fields]
    for path in paths:
        seen = 0
        with naming_file(path), batch_stream(FileSource(path), read) as stream:
            for rows in stream:
                findings = stream.findings[seen:]
                seen += len(findings)
                text = rows.to_jsonl(fields=names)
                yield Headers(path, rows, text.splitlines(), INVALID in text, findings)
            findings = stream.findings[seen:]
        yield Headers(path, None, [], False, findings)


OFFSET_AT = len(b'{"offset":')


class Records:
    """Records one after the other.

    Args:
        batches: they, with the offset as first column.
        is_large: there are so many that columns are worth it.
    """

    def __init__(self, batches: Iterator[ArrowBatch], *, is_large: bool) -> None:
        self._batches = batches
        self._has_columns = is_large and find_spec("pyarrow") is not None
        self._size = self._at = 0
        self._batch: ArrowBatch | None = None
        self._columns: Any = None
        self._lines: list[bytes] | None = None
        self.is_ended = False
        self._settle()

    def offset(self) -> int:
        """Return the offset of the next record; at the end, an offset after all others."""
        if self.is_ended:
            return LAST + 1
        line = self.lines()[self._at]
        return int(line[OFFSET_AT : line.index(b",")])

    def take(self) -> bytes:
        """Return the next record and go to the one after it."""
        line = self.lines()[self._at]
        self._advance(1)
        return line

    def skip_same(self, other: Records) -> int:
        """Go past records that are the same; gives how many."""
        count = min(self._size - self._at, other._size - other._at)
        if not (count and self._is_same(other, count)):
            count = self._common(other, count)
        self._advance(count)
        other._advance(count)
        return count

    def lines(self) -> list[bytes]:
        """Return the records of this batch as lines."""
        if self._lines is None:
            self._lines = self._batch.to_jsonl().splitlines() if self._batch is not None else []
        return self._lines

    def _is_same(self, other: Records, count: int) -> bool:
        """Compare records by their columns. Once there are lines, comparing lines is faster."""
        if self._columns is None or other._columns is None or self._lines is not None or other._lines is not None:
            return False
        same: bool = self._columns.slice(self._at, count).equals(other._columns.slice(other._at, count))
        return same

    def _common(self, other: Records, count: int) -> int:
        if not count:
            return 0
        ours, theirs, at, there = self.lines(), other.lines(), self._at, other._at
        end = at + count
        while at < end and ours[at] == theirs[there]:
            at += 1
            there += 1
        return at - self._at

    def _advance(self, count: int) -> None:
        self._at += count
        self._settle()

    def _settle(self) -> None:
        while self._at >= self._size and not self.is_ended:
            self._batch = next(self._batches, None)
            self._at, self._lines, self._columns = 0, None, None
            self.is_ended = self._batch is None
            self._size = 0 if self._batch is None else self._batch.num_rows
            if self._has_columns and self._batch is not None:
                self._columns = self._batch.to_pyarrow()
