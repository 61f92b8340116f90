"""Headers and findings of segments: `Entries`, which `Segment` and `Log` are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Unpack

from logsegment._core import Finding, RecordStream, validate_log
from logsegment._decode import BatchTable
from logsegment._options import Depth, EntryKeywords, OnError, ReadOptions
from logsegment._validate import Report
from logsegment.log.neighbours import named, with_lost_indexes
from logsegment.segment_files.discovery import SegmentFile


class Entries(ABC):
    """Whoever has segments reads their batch headers and validates them."""

    def batches(
        self,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
        check_crc: bool = True,
        on_error: OnError = "raise",
        strict_tail: bool = False,
        **options: Unpack[EntryKeywords],
    ) -> BatchTable:
        """Read the headers of the batches that may hold the wanted offsets, as `logsegment.batches` does.

        Args:
            start_offset: first offset wanted (inclusive), in each partition.
            end_offset: first offset not wanted (exclusive), in each partition.
            check_crc: as in `batches`.
            on_error: as in `batches`.
            strict_tail: as in `batches`.
            options: options of entries; see `decode`.

        Returns:
            A `BatchTable`; `position` counts in the file of the batch. Offsets that only an upload of tiered storage has that cannot be
            read are a finding of it.

        Raises:
            RecordBatchError: when bytes cannot be framed.

        Example:
            >>> import logsegment as ls
            >>> ls.Segment("payments-0/00000000000000000000.log").batches(start_offset=10, end_offset=13).num_rows
            2
            >>> ls.Log("orders-0").batches().num_rows
            20
        """
        read = ReadOptions.of(EntryKeywords, options, check_crc=check_crc, on_error=on_error, strict_tail=strict_tail)
        return self._batch_stream(start_offset, end_offset, read).read_all()

    def validate(
        self,
        *,
        depth: Depth = "full",
        check_crc: bool = True,
        strict_tail: bool = False,
        **options: Unpack[EntryKeywords],
    ) -> Report:
        """Validate all segments, and hold the files beside them against them. Never raises on bad bytes.

        Args:
            depth: as in `logsegment.validate`.
            check_crc: as in `logsegment.validate`.
            strict_tail: as in `logsegment.validate`.
            options: options of entries; see `decode`.

        Returns:
            A `Report`; the `path` of a finding begins with its file.

        Raises:
            OSError: when a file cannot be read.

        Example:
            >>> import logsegment as ls
            >>> ls.Segment("payments-0/00000000000000000000.log").validate().ok, ls.Log("payments-0").validate().ok
            (True, True)
        """
        read = ReadOptions.of(EntryKeywords, options, check_crc=check_crc, strict_tail=strict_tail)
        files, above = self._validated()
        findings, stats = validate_log(list(map(named, files)), above, depth, read)
        misnamed = [file.finding for file in files if file.finding is not None]
        found = with_lost_indexes([*findings, *misnamed], [file.path for file in files])
        return Report([*found, *self._left_out()], stats, has_checksums=check_crc)

    @abstractmethod
    def _batch_stream(self, start: int | None, end: int | None, options: ReadOptions) -> RecordStream:
        """The headers of what may hold the wanted offsets."""

    @abstractmethod
    def _validated(self) -> tuple[list[SegmentFile], list[str]]:
        """Return the files with the offsets that they may hold, and directories above whose checkpoints are validated too."""

    def _left_out(self) -> list[Finding]:
        """What is told of files that belong to the log and are not read."""
        return []
