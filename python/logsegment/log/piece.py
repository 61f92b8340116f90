"""A piece of a segment: the bytes that hold wanted records, with the options of their read. Large pieces can be cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from logsegment._core import FileSource, Finding, Transactions
from logsegment._options import ReadOptions
from logsegment.log.segment_lookup import SegmentLookup

#: Bytes of a file and the options with which they are read: what `decode_files` takes.
Part: TypeAlias = tuple[FileSource, ReadOptions]


@dataclass(frozen=True)
class PartitionPiece:
    """Bytes of a segment with wanted records.

    Attributes:
        segment: the segment.
        options: those of the read, with the offsets that are wanted of the piece.
        begin: position of the first byte.
        stop: position after the last byte; None for the end of the file at the time of the read.
        follower: first offset after the segment; None if it is not known.
        has_finding: the read of the piece reports the finding of the segment; of several pieces only one does.
        resumes: another piece has the offsets of the segment before the first one of this piece.
        least: the least offset of wanted records, also where the name of the segment shows that all batches are wanted: records may have
            other offsets than their batches.
        is_inner: another batch begins at `stop`, unless the segment ends there. False if a broker may write there.
    """

    segment: SegmentLookup
    options: ReadOptions
    begin: int
    stop: int | None
    follower: int | None = None
    has_finding: bool = True
    resumes: bool = False
    least: int | None = None
    is_inner: bool = True

    @cached_property
    def size(self) -> int:
        """The number of bytes, as far as it is known. 0 if the file is gone, which the read reports."""
        if self.stop is not None:
            return max(self.stop - self.begin, 0)
        try:
            return max(self.segment.size - self.begin, 0)
        except FileNotFoundError:
            return 0

    @property
    def is_looked_up(self) -> bool:
        """True if the piece is not the whole segment."""
        return self.begin > 0 or self.stop is not None

    @property
    def end_offset(self) -> int | None:
        """The first offset after the piece; None if only the file shows it."""
        return min((end for end in (self.options.bounds[1], self.follower) if end is not None), default=None)

    @property
    def most_offsets(self) -> int | None:
        """The most offsets that the piece may hold; None if only the file shows it."""
        end = self.end_offset
        return None if end is None else max(end - self._first_offset, 0)

    @property
    def index_findings(self) -> list[Finding]:
        """The findings of the `.index`, also those of the look-up of the first and the last offset."""
        if self.options.skips_damage:
            # The bytes of such a read are found without it.
            self.segment.byte_range(*self.options.bounds)
        return self.segment.index_findings

    def offset_within(self, most_bytes: int, *, takes_first: bool) -> int | None:
        """Return the offset after the last batch of the piece that ends within `most_bytes`; None if there is none.

        Args:
            most_bytes: counted from the beginning of the piece.
            takes_first: the first batch is within them, however large it is.

        Raises:
            RecordBatchError: if headers cannot be read.
            OSError: if the file cannot be read.
        """
        return self.segment.index.offset_within(self.begin, self.begin + most_bytes, takes_first=takes_first)

    def part(self, transactions: Transactions | None) -> Part:
        """Return the bytes and the options of the read. One piece of a segment reports the finding of the segment.

        Args:
            transactions: those that a committed read must know.
        """
        file = self.segment.file if self.has_finding else self.segment.file.replaced(finding=None)
        start = self.least if self.options.start_offset is None else self.options.start_offset
        source = file.source(self.begin, self.stop, is_inner=self.is_inner and self.stop is not None and not self._ends_segment)
        return source, replace(self.options, start_offset=start, transactions=transactions)

    def touching(self, transactions: Transactions) -> Transactions:
        """Return the transactions with offsets of the piece, of which a partition may have very many."""
        first, end, stable = self._first_offset, self.options.bounds[1], transactions.last_stable_offset

        def touching(ranges: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
            # A read also reports an undecided transaction that may still be open before its first batch (TRX-5).
            return [one for one in ranges if one[1] == stable or (one[2] >= first and (end is None or one[1] < end))]

        return Transactions(touching(transactions.aborted), stable, touching(transactions.undecided))

    def cut_by_bytes(self, step: int) -> list[PartitionPiece]:
        """Return pieces of about `step` bytes; each batch is in one of them.

        Raises:
            OSError: if the file cannot be read.
        """
        # A cut shortly before the end would make a tiny piece.
        last = self.begin + self.size - step // 2
        cuts = self.segment.cuts(step, self.begin, last, valid=self.options.skips_damage) if last > self.begin else []
        begins, stops = [self.begin, *cuts], [*cuts, self.stop]
        return [
            replace(self, begin=begin, stop=stop, has_finding=self.has_finding and number == 0)
            for number, (begin, stop) in enumerate(zip(begins, stops, strict=True))
        ]

    def from_end(self, step: int) -> Iterator[PartitionPiece]:
        """Yield pieces from the last one to the first one; each batch is in one of them.

        Args:
            step: about the bytes of the last piece; each piece is about twice as long as the one after it.

        Raises:
            OSError: if the file cannot be read.
        """
        piece = self
        while (cut := piece._cut_before_end(step)) is not None:
            yield replace(piece, begin=cut)
            piece, step = replace(piece, stop=cut, has_finding=False), 2 * step
        yield piece

    def cut_by_offsets(self, most: int) -> list[PartitionPiece]:
        """Return pieces of at most `most` offsets. A batch may be among the bytes of two of them, each of which reads its own records.

        Raises:
            OSError: if the file cannot be read.
        """
        start, end = self.options.bounds
        cuts = self.segment.offset_cuts(most, self._first_offset, end)
        starts, begins = [start, *(cut[0] for cut in cuts)], [self.begin, *(cut[1] for cut in cuts)]
        ends, stops = [*(cut[0] for cut in cuts), end], [*(cut[2] for cut in cuts), self.stop]
        options = [self.options.sharing(first, last) for first, last in zip(starts, ends, strict=True)]
        if self.options.skips_damage:
            # Headers lead to the cuts, and a damaged one may claim the offsets of valid batches.
            ranges = [self.segment.range_to_read(own) for own in options]
        else:
            ranges = [(max(begin, self.begin), stop) for begin, stop in zip(begins, stops, strict=True)]
        return [
            replace(self, options=own, begin=begin, stop=stop, has_finding=self.has_finding and number == 0, resumes=number > 0)
            for number, (own, (begin, stop)) in enumerate(zip(options, ranges, strict=True))
            if self.options.skips_damage or stop is None or stop > self.begin
        ]

    def _cut_before_end(self, step: int) -> int | None:
        """Return where a batch begins about `step` bytes before the end; None if the piece is too short to be cut."""
        while self.size > 2 * step:
            # The cuts are multiples of the bytes before the last `step` ones, and so one at most.
            if cuts := self.segment.cuts(self.size - step, self.begin, self.begin + self.size, valid=self.options.skips_damage):
                return cuts[0]
            step *= 2
        return None

    @property
    def _ends_segment(self) -> bool:
        """True if the next segment of the partition follows the last byte, and no other batch."""
        try:
            return self.stop is not None and self.segment.file.next_offset is not None and self.stop >= self.segment.size
        except FileNotFoundError:
            return False

    @property
    def _first_offset(self) -> int:
        return max(self.options.bounds[0] or 0, self.segment.base_offset or 0)
