"""One side of a comparison: its batches by their headers, one after the other, and the offsets that damage has taken."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from logsegment._core import ArrowBatch, FileSource, Finding, header_totals
from logsegment._decode import batches, decode
from logsegment._errors import naming_file
from logsegment._inspect import Field, inspect
from logsegment._validate import validate
from logsegment.analysis.diff.differences import Damage, Which
from logsegment.analysis.diff.headers import headers_of
from logsegment.log.faults import SWALLOWED, TORN
from logsegment.log.reader import arranged
from logsegment.segment_files.discovery import SegmentFile

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


@dataclass(slots=True)
class Options:
    """How both sides are read: those of `logsegment.decode` that tell how, and whether checksums are verified."""

    reading: dict[str, Any]
    check_crc: bool
    fields: tuple[str, ...]


class Chunk:
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
        """All of the header of a batch."""
        row: Row = json.loads(self._all[self._start + index])
        return row


class Side:
    """The batches of one side. `chunk` and `at` tell the next one.

    Attributes:
        lost: first and last offsets (inclusive) of what cannot be read, as far as batches were looked at.
        damage: places that were met and not told yet.
    """

    def __init__(self, name: Which, files: Sequence[SegmentFile], options: Options) -> None:
        self.name = name
        self.lost: deque[tuple[int, int]] = deque()
        self.damage: list[Damage] = []
        self.chunk: Chunk | None = None
        self.at = 0
        self._options = options
        self._files = arranged(files, reports=True)
        self.damage += [Damage(name, file.path, file.finding) for file in self._files if file.finding is not None]
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
        """What is compared of the next batch; None at the end."""
        return None if self.chunk is None else self.chunk.lines[self.at]

    def row(self) -> Row | None:
        """The header of the next batch; None at the end."""
        return None if self.chunk is None else self.chunk.row(self.at)

    def is_lost(self, first: int, last: int) -> bool:
        """Whether damage has taken one of these offsets, or may have. They are asked for in their order."""
        while self.lost and self.lost[0][1] < first:
            self.lost.popleft()
        return bool(self.lost) and self.lost[0][0] <= last

    def records(self, pieces: Sequence[Piece], whole: tuple[int, int]) -> Iterator[ArrowBatch]:
        """The records of parts of files. What is damaged in them goes to `lost` and `damage`."""
        for path, start, end in pieces:
            source = FileSource(path, start, end)
            # A batch whose checksum was verified is not verified again.
            how: dict[str, Any] = {"check_crc": not self._options.check_crc, "on_error": "skip", "control": True, "columns": list(RECORD)}
            with naming_file(path), decode(source, **how, **self._options.reading) as stream:
                seen = 0
                for rows in stream:
                    seen = self._met(path, stream.findings, seen, whole)
                    yield rows
                self._met(path, stream.findings, seen, whole)

    def _next(self) -> None:
        self.at = 0
        self.chunk = next(self._chunks, None)

    def _read(self) -> Generator[Chunk]:
        gaps = deque[Finding]()
        how = dict(self._options.reading, check_crc=self._options.check_crc, on_error="skip")
        with closing(headers_of([file.path for file in self._files], self._options.fields, how)) as headers:
            for one in headers:
                gaps.extend(filter(_is_damage, one.findings))
                if one.rows is None:
                    self._end_file(one.path, gaps)
                elif gaps or self._is_lost or one.has_invalid:
                    yield from self._intact(one.path, one.lines, one.rows, gaps)
                else:
                    totals = header_totals(one.rows)
                    self._last = totals[1] if totals else json.loads(one.lines[-1])["lastOffset"]
                    yield Chunk(one.path, one.lines, one.rows)
        if self._is_lost:
            self._lose(LAST if self._torn is None else _end_of_torn(*self._torn, self._options.reading))

    def _end_file(self, path: str, gaps: deque[Finding]) -> None:
        """Damage with no intact batch of the file behind it."""
        while gaps:
            gap = gaps.popleft()
            self._is_lost = True
            self._torn = (path, gap) if gap.rule == TORN else None
            self.damage.append(Damage(self.name, path, gap))

    def _intact(self, path: str, lines: list[bytes], rows: ArrowBatch, gaps: deque[Finding]) -> Iterator[Chunk]:
        """The intact batches of a chunk that has damage in it or before it."""
        headers, begin = Chunk(path, lines, rows), 0
        for index in range(len(lines)):
            row = headers.row(index)
            is_behind_gap = bool(gaps) and gaps[0].position < row["position"]
            if index > begin and (is_behind_gap or row["isValid"] is False):
                yield Chunk(path, lines[begin:index], rows, begin)
                begin = index
            while gaps and gaps[0].position < row["position"]:
                self.damage.append(Damage(self.name, path, gaps.popleft()))
                self._is_lost = True
            if row["isValid"] is False:
                self._tell_invalid(path, row)
                begin = index + 1
                continue
            if self._is_lost:
                self._lose((row["lastOffset"] if row["baseOffset"] is None else row["baseOffset"]) - 1)
            self._last = row["lastOffset"]
        if begin < len(lines):
            yield Chunk(path, lines[begin:], rows, begin)

    def _tell_invalid(self, path: str, row: Row) -> None:
        source = FileSource(path, row["position"], row["position"] + row["size"])
        found = filter(_is_damage, validate(source, depth="headers", **self._options.reading).findings)
        self.damage += [Damage(self.name, path, finding) for finding in found]
        self._is_lost = True

    def _lose(self, end: int) -> None:
        """What stood between the last intact batch and `end` (inclusive) cannot be read."""
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
            self.damage.append(Damage(self.name, path, finding))
            self._add_lost(*(_offsets_of(path, finding, self._options.reading) or whole))
        return len(findings)


def _lines(rows: ArrowBatch, names: Sequence[str]) -> list[bytes]:
    return rows.to_jsonl(fields=[(name, name) for name in names]).splitlines()


def _is_damage(finding: Finding) -> bool:
    """Bytes that were stepped over, or that the file ends before; what else there is to say about a log is no matter of a comparison."""
    return finding.severity == "error" or finding.rule in (TORN, SWALLOWED)


def _offsets_of(path: str, finding: Finding, reading: dict[str, Any]) -> tuple[int, int] | None:
    """The offsets of a batch that cannot be unpacked, by its header; None when that tells nothing."""
    source = FileSource(path, finding.position, finding.position + finding.length)
    try:
        rows = batches(source, check_crc=False, **reading).to_pylist()
    except ValueError:
        return None
    if len(rows) != 1 or rows[0]["baseOffset"] is None:
        return None
    return rows[0]["baseOffset"], rows[0]["lastOffset"]


def _end_of_torn(path: str, finding: Finding, reading: dict[str, Any]) -> int:
    """The last offset of a batch at which a file ends, by as much of its header as is there."""
    fields: dict[str, Any] = {}
    try:
        tree = inspect(FileSource(path), at=finding.position, depth="headers", **reading)
    except ValueError:
        return LAST
    _gather(tree, fields)
    base, delta = fields.get("baseOffset"), fields.get("lastOffsetDelta")
    return base + delta if isinstance(base, int) and isinstance(delta, int) else LAST


def _gather(field: Field, fields: dict[str, Any]) -> None:
    fields.setdefault(field.name, field.value)
    for child in field.children:
        _gather(child, fields)
