"""Headers and findings of segments: `Entries`, which `Segment` and `Log` are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from logsegment._core import Finding, Limits, RecordStream, validate_log
from logsegment._decode import BatchTable, entry_options
from logsegment._options import Depth, Format, OnError
from logsegment._validate import Report
from logsegment.log.neighbours import named, with_lost_indexes
from logsegment.segment_files.discovery import SegmentFile

if TYPE_CHECKING:
    from logsegment.plugins import Registry


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
        format: Format = "auto",
        experimental: bool = False,
        codecs: Registry | None = None,
        limits: Limits | None = None,
    ) -> BatchTable:
        """Read the headers of the batches that may hold the wanted offsets, as `logsegment.batches` does.

        Args:
            start_offset: first offset wanted (inclusive), in each partition.
            end_offset: first offset not wanted (exclusive), in each partition.
            check_crc: as in `batches`.
            on_error: as in `batches`.
            strict_tail: as in `batches`.
            format: as in `batches`.
            experimental: as in `batches`.
            codecs: as in `batches`.
            limits: as in `batches`.

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
        options = entry_options(
            check_crc=check_crc,
            on_error=on_error,
            strict_tail=strict_tail,
            format=format,
            experimental=experimental,
            codecs=codecs,
            limits=limits,
        )
        return self._batch_stream(start_offset, end_offset, options).read_all()

    def validate(
        self,
        *,
        depth: Depth = "full",
        check_crc: bool = True,
        strict_tail: bool = False,
        format: Format = "auto",
        experimental: bool = False,
        codecs: Registry | None = None,
        limits: Limits | None = None,
    ) -> Report:
        """Validate all segments, and hold the files beside them against them. Never raises on bad bytes.

        Args:
            depth: as in `logsegment.validate`.
            check_crc: as in `logsegment.validate`.
            strict_tail: as in `logsegment.validate`.
            format: as in `logsegment.validate`.
            experimental: as in `logsegment.validate`.
            codecs: as in `logsegment.validate`.
            limits: as in `logsegment.validate`.

        Returns:
            A `Report`; the `path` of a finding begins with its file.

        Raises:
            OSError: when a file cannot be read.

        Example:
            >>> import logsegment as ls
            >>> ls.Segment("payments-0/00000000000000000000.log").validate().ok, ls.Log("payments-0").validate().ok
            (True, True)
        """
        options = entry_options(
            check_crc=check_crc, strict_tail=strict_tail, format=format, experimental=experimental, codecs=codecs, limits=limits
        )
        files, above = self._validated()
        findings, stats = validate_log(list(map(named, files)), above, depth, options)
        misnamed = [file.finding for file in files if file.finding is not None]
        found = with_lost_indexes([*findings, *misnamed], [file.path for file in files])
        return Report([*found, *self._left_out()], stats, has_checksums=check_crc)

    @abstractmethod
    def _batch_stream(self, start: int | None, end: int | None, options: dict[str, Any]) -> RecordStream:
        """The headers of what may hold the wanted offsets."""

    @abstractmethod
    def _validated(self) -> tuple[list[SegmentFile], list[str]]:
        """Return the files with the offsets that they may hold, and directories above whose checkpoints are validated too."""

    def _left_out(self) -> list[Finding]:
        """What is told of files that belong to the log and are not read."""
        return []
