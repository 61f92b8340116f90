"""Read, count, search, validate, save and convert segments, alone or in order: `Entries`, the base of `Segment` and `Log`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack

from logsegment._convert.convert import convert
from logsegment._convert.result import Converted, MapTaker
from logsegment._core import RecordStream, decode
from logsegment._decode import BatchTable
from logsegment._options import (
    CompressionName,
    Depth,
    EntryKeywords,
    OnError,
    Order,
    ReadOptions,
    SkippingKeywords,
    Timestamp,
    WrittenFormat,
)
from logsegment._report import Report
from logsegment._salvage.result import Salvage
from logsegment._salvage.salvage import salvage
from logsegment.analysis.find import Header, Key, Places, find
from logsegment.analysis.stats import WhatIf, stats
from logsegment.analysis.stats_result import Stats
from logsegment.analysis.validation import validate
from logsegment.inputs.observer import Observer
from logsegment.partition.log_files import LogFiles

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class Entries(LogFiles, ABC):
    """Read records and batch headers of segments, and call the functions about logs with them."""

    def batches(
        self,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
        check_crc: bool = True,
        on_error: OnError = "raise",
        strict_tail: bool = False,
        **options: Unpack[SkippingKeywords],
    ) -> BatchTable:
        """Read the headers of batches with these offsets, as `logsegment.batches` does.

        Args:
            start_offset: first offset to return (inclusive), in each partition.
            end_offset: end of the offsets to return (exclusive), in each partition.
            check_crc, on_error, strict_tail: see `batches`.
            options: options of entries; see `decode`.

        Returns:
            A `BatchTable`; `position` is in the file of the batch. Offsets of an unreadable upload of tiered storage are a finding.

        Raises:
            RecordBatchError: if the length of an entry is invalid.

        Example:
            >>> import logsegment as ls
            >>> ls.Segment("payments-0/00000000000000000000.log").batches(start_offset=10, end_offset=13).num_rows
            2
            >>> ls.Log("orders-0").batches().num_rows
            20
        """
        own = {"check_crc": check_crc, "on_error": on_error, "strict_tail": strict_tail}
        read = ReadOptions.of(SkippingKeywords, options, **own, start_offset=start_offset, end_offset=end_offset)
        return self._batch_stream(read).read_all()

    def validate(
        self,
        *,
        depth: Depth = "full",
        check_crc: bool = True,
        strict_tail: bool = False,
        **options: Unpack[SkippingKeywords],
    ) -> Report:
        """Validate all segments and their sidecar files. Never raises on invalid bytes.

        Args:
            depth, check_crc, strict_tail: see `logsegment.validate`.
            options: options of entries; see `decode`.

        Returns:
            A `Report`; the `path` of a finding starts with its file.

        Raises:
            OSError: if a file cannot be read.

        Example:
            >>> import logsegment as ls
            >>> ls.Segment("payments-0/00000000000000000000.log").validate().ok, ls.Log("payments-0").validate().ok
            (True, True)
        """
        return validate(self, depth=depth, check_crc=check_crc, strict_tail=strict_tail, **options)

    def salvage(
        self,
        out: str | os.PathLike[str] | BinaryIO | None = None,
        *,
        aside: str | os.PathLike[str] | BinaryIO | bool | None = None,
        overwrite: bool = False,
        order: Order | None = None,
        observer: Observer | None = None,
        **options: Unpack[EntryKeywords],
    ) -> Salvage:
        """Copy the valid entries byte for byte, and account for every other byte; see `logsegment.salvage`.

        Args:
            out: of a `Segment`, a new file, a file object, or None for the bytes in the result; of a log of directories, a new directory.
            aside, overwrite, order, observer: see `logsegment.salvage`.
            options: options of entries; see `decode`.

        Returns:
            A `Salvage`; of a log with an account of each segment in `files`.

        Raises:
            OSError, RecordBatchError, ValueError, TypeError: see `logsegment.salvage`.

        Example:
            >>> import logsegment as ls
            >>> saved = ls.Log("orders-0").salvage("saved")
            >>> saved.ok, saved.outputs
            (True, ['saved/orders-0/00000000000000000000.log'])
        """
        return salvage(self, out=out, aside=aside, overwrite=overwrite, order=order, observer=observer, **options)

    def convert(
        self,
        out: str | os.PathLike[str] | BinaryIO | None = None,
        *,
        to: WrittenFormat | None = None,
        compression: CompressionName | None = None,
        level: int | None = None,
        allow_loss: bool = False,
        metadata_first: bool = False,
        first_offset: int | None = None,
        offset_map: bool | str | os.PathLike[str] | MapTaker = False,
        batch_bytes: int = 16384,
        check_crc: bool = True,
        overwrite: bool = False,
        observer: Observer | None = None,
        **options: Unpack[EntryKeywords],
    ) -> Converted:
        """Convert the entries to another format, another codec, or both; see `logsegment.convert`.

        Args:
            out: of a `Segment`, a new file, a file object, or None for the bytes in the result; of a log of directories, a new directory.
            to, compression, level, allow_loss, metadata_first, first_offset, offset_map, batch_bytes, check_crc: see `logsegment.convert`.
            overwrite, observer: see `logsegment.convert`.
            options: options of entries; see `decode`.

        Returns:
            A `Converted`; of a log with a result for each segment in `files`.

        Raises:
            LossError, RecordBatchError, OSError, ValueError, TypeError: see `logsegment.convert`.

        Example:
            >>> import logsegment as ls
            >>> done = ls.Log("orders-0").convert("smaller", compression="zstd")
            >>> len(done.outputs), done.losses
            (1, [])
        """
        return convert(
            self,
            to=to,
            compression=compression,
            level=level,
            allow_loss=allow_loss,
            metadata_first=metadata_first,
            first_offset=first_offset,
            offset_map=offset_map,
            batch_bytes=batch_bytes,
            check_crc=check_crc,
            out=out,
            overwrite=overwrite,
            observer=observer,
            **options,
        )

    def stats(
        self,
        *,
        what_if: WhatIf | Sequence[WhatIf] | None = None,
        sample: float = 1.0,
        ratios: bool = True,
        observer: Observer | None = None,
        **options: Unpack[EntryKeywords],
    ) -> Stats:
        """Count batches, records and bytes by the headers of all batches; see `logsegment.stats`.

        Args:
            what_if, sample, ratios, observer: see `logsegment.stats`.
            options: options of entries; see `decode`.

        Raises:
            OSError, RecordBatchError, ValueError: see `logsegment.stats`.

        Example:
            >>> import logsegment as ls
            >>> ls.Log("orders-0").stats().records
            240
        """
        return stats(self, what_if=what_if, sample=sample, ratios=ratios, observer=observer, **options)

    def find(
        self,
        *,
        offset: int | None = None,
        start_offset: int | None = None,
        end_offset: int | None = None,
        timestamp: Timestamp | None = None,
        start_timestamp: Timestamp | None = None,
        end_timestamp: Timestamp | None = None,
        key: Key | Sequence[Key] | None = None,
        header: Header | Sequence[Header] | None = None,
        limit: int | None = None,
        on_error: OnError = "raise",
        observer: Observer | None = None,
        **options: Unpack[SkippingKeywords],
    ) -> Places:
        """Find the places of the records that meet all conditions; see `logsegment.find`.

        Args:
            offset, start_offset, end_offset, timestamp, start_timestamp, end_timestamp, key, header: see `logsegment.find`.
            limit, on_error, observer: see `logsegment.find`.
            options: options of entries; see `decode`.

        Raises:
            OSError, RecordBatchError, ValueError: see `logsegment.find`.

        Example:
            >>> import logsegment as ls
            >>> [place.offset for place in ls.Log("orders-0").find(offset=100)]
            [100]
        """
        return find(
            self,
            offset=offset,
            start_offset=start_offset,
            end_offset=end_offset,
            timestamp=timestamp,
            start_timestamp=start_timestamp,
            end_timestamp=end_timestamp,
            key=key,
            header=header,
            limit=limit,
            on_error=on_error,
            observer=observer,
            **options,
        )

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the records as a dict each, as `RecordStream.to_pylist` does, with the default options of `records`."""
        return self.records().to_pylist()

    def to_pyarrow(self) -> pa.Table:
        """Return the records as a `pyarrow.Table`."""
        return self.records().to_pyarrow()

    def to_polars(self) -> pl.DataFrame:
        """Return the records as a `polars.DataFrame`; `logsegment.polars.scan` reads only what a query wants."""
        frame: pl.DataFrame = self.records().to_polars()
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Return the records as a `pandas.DataFrame`."""
        return self.records().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.records().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        # The schema does not depend on what is read.
        return decode(b"", ReadOptions()).__arrow_c_schema__()

    @abstractmethod
    def records(self, *args: Any, **options: Any) -> RecordStream:
        """Return the records."""

    @abstractmethod
    def _batch_stream(self, options: ReadOptions) -> RecordStream:
        """Return the headers of the batches that may hold the wanted offsets."""
