"""One side of a comparison: its batches by their headers, one after the other, and the offsets that damage has taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from logsegment._core import (
    ArrowBatch,
    BatchHeader,
    FileSource,
    Finding,
    RecordBatchError,
    SegmentFile,
    batch_headers,
    batch_stream,
    torn_offsets,
)
from logsegment._decode import decoded, with_findings
from logsegment._errors import naming_file
from logsegment._options import ReadOptions
from logsegment._places import redacted_uri
from logsegment._report import TORN, is_damage, is_unreadable
from logsegment._validate import validated
from logsegment.analysis.counted_part import counted_part
from logsegment.partition.reader import order_by_offsets

#: Columns of batches. Where two batches are equal in all of them, their records are the same: the checksum covers the records.
SAME = ("baseOffset", "lastOffset", "count", "magic", "size", "crc", "isValid")
#: Other columns in which batches of the same records may differ.
BATCHING: tuple[str, ...] = ("attributes", "compression", "timestampType", "baseTimestamp", "maxTimestamp", "producerId")
BATCHING += ("producerEpoch", "baseSequence", "partitionLeaderEpoch", "isTransactional", "isControl", "deleteHorizonMs")
#: A column that the checksum does not cover, and that is not about the records.
UNCOVERED = "partitionLeaderEpoch"
#: The columns of records that are compared, with their names in a `Difference`.
RECORD = {"offset": "offset", "timestampMs": "timestamp", "isControl": "isControl", "key": "key", "value": "value", "headersRaw": "headers"}
#: The lowest and the highest offset.
FIRST, LAST = -(2**63), 2**63 - 1

#: A file, and the first byte and the end of some batches in it.
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
            return {"type": self.kind, "side": self.side, "file": redacted_uri(self.path), **self.finding.to_dict()}
        place: dict[str, Any] = {"type": self.kind, "side": self.side, "firstOffset": self.first_offset, "lastOffset": self.last_offset}
        return place | {"records": self.records, "fields": list(self.fields)}


@dataclass(slots=True)
class Totals:
    """Counts of a comparison so far.

    Attributes:
        same_records: records that are the same on both sides; without those of compressed messages of magic 0 and 1 that agree by
            their headers, which do not count them.
        same_batches: batches among them whose headers and checksums agree; they were not decompressed.
        missing_a: records that `a` lacks.
        missing_b: records that `b` lacks.
        changed: records with other content.
        unreadable: records that one side has where the other is damaged.
        batches: stretches of the log where batches differ; they are differences with `batches=True`.
        damage: places that cannot be read.
        undecompressed: whole batches whose plugin is missing or failed; they do not count as damage.
    """

    same_records: int = 0
    same_batches: int = 0
    missing_a: int = 0
    missing_b: int = 0
    changed: int = 0
    unreadable: int = 0
    batches: int = 0
    damage: int = 0
    undecompressed: int = 0


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


@dataclass(frozen=True, slots=True)
class Batches:
    """Valid batches of one file that follow each other: their headers, and the same as rows of `batches`."""

    path: str
    headers: list[BatchHeader]
    rows: ArrowBatch

    def part(self, start: int, end: int) -> Batches:
        """Return some of them."""
        return Batches(self.path, self.headers[start:end], self.rows.slice(start, end - start))


class Side:
    """The batches of one side. `batches` and `at` are the place of the next one.

    Attributes:
        lost: first and last offsets (inclusive) of what cannot be read, as far as batches were looked at.
        damage: damaged places that are not reported yet.
    """

    def __init__(self, name: Which, files: Sequence[SegmentFile], options: DiffOptions) -> None:
        self.name = name
        self.lost: deque[tuple[int, int]] = deque()
        self.damage: list[Difference] = []
        self.batches: Batches | None = None
        self.at = 0
        self._options = options
        self._files = order_by_offsets(files, reports=True)
        self._log_start = next((file.log_start for file in files if file.log_start is not None), None)
        self.damage += [Difference.damage(name, file.path, file.finding) for file in self._files if file.finding is not None]
        self._last = FIRST
        self._torn: tuple[str, Finding] | None = None
        self._is_lost = False
        self._is_begun = False
        self._chunks = self._read()
        self._next()

    def close(self) -> None:
        """Read no further."""
        self._chunks.close()

    def header(self) -> BatchHeader | None:
        """Return the header of the next batch, or None at the end."""
        return None if self.batches is None else self.batches.headers[self.at]

    @property
    def has_deleted(self) -> bool:
        """Return True if the next batch has records below the log start offset, or may have: only its records can be compared."""
        header = self.header()
        if header is None or self._log_start is None or self._is_begun:
            return False
        return header.base_offset is None or header.base_offset < self._log_start

    def rows(self, count: int | None = None) -> ArrowBatch:
        """Return the next batches as rows, before the end."""
        assert self.batches is not None
        return self.batches.rows.slice(self.at, count)

    def advance(self, count: int = 1) -> list[BatchHeader]:
        """Go past some of the next batches of the file; return their headers."""
        assert self.batches is not None
        passed = self.batches.headers[self.at : self.at + count]
        self.at += count
        self._is_begun = True
        if self.at >= len(self.batches.headers):
            self._next()
        return passed

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
                self._options.read,
                columns=tuple(RECORD),
                check_crc=not self._options.read.check_crc,
                on_error="skip",
                unreadable="skip",
                control=True,
                start_offset=self._log_start,
            )
            with naming_file(path), decoded(source, read) as stream:
                for rows, findings in with_findings(stream):
                    for finding in filter(_is_damage, findings):
                        self.damage.append(Difference.damage(self.name, path, finding))
                        self._add_lost(*(self._offsets_of(path, finding) or whole))
                    if rows is not None:
                        yield rows

    def _next(self) -> None:
        self.at = 0
        self.batches = next(self._chunks, None)

    def _read(self) -> Generator[Batches]:
        gaps = deque[Finding]()
        read = replace(self._options.read, on_error="skip", unreadable="skip", batch_size=CHUNK, start_offset=self._log_start)
        parts = [(file, part.start) for file in self._files if (part := counted_part(file)) is not None]
        with closing(headers_of(parts, read)) as chunks:
            for chunk in chunks:
                gaps.extend(filter(_is_damage, chunk.findings))
                if chunk.batches is None:
                    self._end_file(chunk.path, gaps)
                elif gaps or self._is_lost or any(header.is_valid is False for header in chunk.batches.headers):
                    yield from self._valid(chunk.batches, gaps)
                else:
                    self._last = max(header.last_offset for header in chunk.batches.headers)
                    yield chunk.batches
        if self._is_lost:
            self._lose(self._end_of_torn())

    def _end_file(self, path: str, gaps: deque[Finding]) -> None:
        """Add the damage that no valid batch of the file follows."""
        while gaps:
            gap = gaps.popleft()
            self._is_lost = True
            self._torn = (path, gap) if gap.rule == TORN else None
            self.damage.append(Difference.damage(self.name, path, gap))

    def _valid(self, batches: Batches, gaps: deque[Finding]) -> Iterator[Batches]:
        """Yield the valid ones of batches with damage among them or before them."""
        begin = 0
        for index, header in enumerate(batches.headers):
            is_after_gap = bool(gaps) and gaps[0].position < header.position
            if index > begin and (is_after_gap or header.is_valid is False):
                yield batches.part(begin, index)
                begin = index
            while gaps and gaps[0].position < header.position:
                self.damage.append(Difference.damage(self.name, batches.path, gaps.popleft()))
                self._is_lost = True
            if header.is_valid is False:
                self._add_invalid(batches.path, header)
                begin = index + 1
                continue
            if self._is_lost:
                self._lose(first_offset_of(header) - 1)
            self._last = header.last_offset
        if begin < len(batches.headers):
            yield batches.part(begin, len(batches.headers))

    def _add_invalid(self, path: str, header: BatchHeader) -> None:
        """Add the damage of a batch whose checksum does not match."""
        source = FileSource(path, header.position, header.position + header.size)
        found = filter(_is_damage, validated(source, "headers", replace(self._options.read, check_crc=True), is_surveyed=False).findings)
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

    def _offsets_of(self, path: str, finding: Finding) -> tuple[int, int] | None:
        """Return the first and last offset in the header of a batch that cannot be decompressed, or None."""
        source = FileSource(path, finding.position, finding.position + finding.length)
        try:
            headers = [
                header for rows in batch_stream(source, replace(self._options.read, check_crc=False)) for header in batch_headers(rows)
            ]
        except ValueError:
            return None
        if len(headers) != 1 or headers[0].base_offset is None:
            return None
        return headers[0].base_offset, headers[0].last_offset

    def _end_of_torn(self) -> int:
        """Return the last offset of the torn batch at the end, or the highest offset if its header does not show it."""
        if self._torn is None:
            return LAST
        path, finding = self._torn
        try:
            offsets = torn_offsets(FileSource(path, finding.position), self._options.read)
        except RecordBatchError:
            return LAST
        return LAST if offsets is None else offsets[1]


def first_offset_of(header: BatchHeader) -> int:
    """Return the first offset of a batch; the last one of a compressed message, whose header does not contain the first."""
    return header.last_offset if header.base_offset is None else header.base_offset


def _is_damage(finding: Finding) -> bool:
    """Return True for a finding about bytes that were skipped, or that the file ends before."""
    return is_damage(finding, has_torn=True) or is_unreadable(finding)


#: About how many headers are read at a time.
CHUNK = 2048


@dataclass(frozen=True, slots=True)
class Headers:
    """Batches of a file that follow each other, and the findings up to their end.

    Attributes:
        path: the file.
        batches: the batches; None at the end of the file.
        findings: the new findings.
    """

    path: str
    batches: Batches | None
    findings: list[Finding]


def headers_of(files: Sequence[tuple[SegmentFile, int]], read: ReadOptions) -> Generator[Headers]:
    """Read the headers of files, one after the other; each file ends with an item without batches.

    Args:
        files: the files, each with the position of its first batch to read.
        read: options of the read.

    Raises:
        RecordBatchError, OSError: if a file cannot be read, where its turn has come.
    """
    chunks = _read(files, read)
    # Before there is much to read, a thread costs more than it gains.
    for chunk in chunks:
        yield chunk
        if chunk.batches is not None and len(chunk.batches.headers) >= CHUNK:
            break
    else:
        return
    with ThreadPoolExecutor(1, thread_name_prefix="logsegment-diff") as pool:
        coming = pool.submit(next, chunks, None)
        while (taken := coming.result()) is not None:
            coming = pool.submit(next, chunks, None)
            yield taken


def _read(files: Sequence[tuple[SegmentFile, int]], read: ReadOptions) -> Iterator[Headers]:
    for file, position in files:
        path = file.path
        source = FileSource(path, position, next_offset=file.next_offset)
        with naming_file(path), batch_stream(source, read) as stream:
            for rows, findings in with_findings(stream):
                yield Headers(path, None if rows is None else Batches(path, batch_headers(rows), rows), findings)


class Records:
    """The records of one side of a stretch. `rows` are the next ones; none at the end."""

    def __init__(self, batches: Iterator[ArrowBatch]) -> None:
        self._batches = batches
        self.rows: ArrowBatch | None = None
        self.skip(0)

    def skip(self, count: int) -> None:
        """Go past some of the next records."""
        self.rows = None if self.rows is None else self.rows.slice(count)
        while not self.rows:
            self.rows = next(self._batches, None)
            if self.rows is None:
                return
