"""Entries in another format or codec: `converted` calls the core, `Converted` is the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

from logsegment._core import Finding, LossError
from logsegment._core import convert as core_convert
from logsegment._options import CompressionName, ReadOptions, WrittenFormat
from logsegment._report import in_named_file
from logsegment.compat import ERRORS, KafkaError

#: Takes rows of an offset map: position of the entry, index in it, new offset.
MapTaker: TypeAlias = Callable[[list[tuple[int, int, int]]], object]


@dataclass(frozen=True)
class ConversionLoss:
    """Name what the target format of a conversion cannot hold.

    Attributes:
        name: "headers", "producer", "transaction", "control_batch", "empty_batch", "batch_bounds", "leader_epoch", "delete_horizon",
            "record_attributes", "unused_bits", "timestamp", "timestamp_type", "key", "null_value" or "offset".
        count: how often.
        unit: what is counted: "record" or "entry".
        position: of the first entry that loses it, in bytes.
        base_offset: of that entry.
        path: the input, in the result of several files; otherwise None.
    """

    name: str
    count: int
    unit: str
    position: int
    base_offset: int
    path: str | None = None


@dataclass(frozen=True)
class StoppedAt:
    """Batch that stopped a down-conversion, because the older format does not have its codec.

    Attributes:
        position: byte position of the batch.
        base_offset, last_offset: of the batch; a consumer continues there.
        compression: its codec.
    """

    position: int
    base_offset: int
    last_offset: int
    compression: str

    @property
    def error(self) -> KafkaError:
        """Return the error of a broker for a fetch from this batch."""
        return ERRORS[76]


@dataclass(frozen=True)
class Converted:
    """Result of `convert`.

    Attributes:
        data: the converted entries; None if they were written to `out`.
        losses: parts of the input that the target cannot hold; empty if nothing was lost.
        stopped_at: the batch before which the conversion ended, or None.
        findings: an input that ended inside an entry or in zeros, or had batches of magic 3 that became magic 2 by default.
        offset_map: for Kafka 0.7, if requested: entry position, index in the entry and new offset of each message.
        next_offset: for Kafka 0.7: the offset after the last message, where the next segment starts.
        path: the name of the input; None for a source without a name.
        outputs: the paths of the output files.
        input_bytes, output_bytes: the bytes of files before and after the conversion; None if they are not known, as of a pipe.
        below_log_start: records below log start offsets, which the output does not have.
        left_out: of directories, findings about files that are not read, and about log start offsets.
        resumed: with `resume`, number of partitions that an earlier run had finished.
    """

    data: bytes | None = field(repr=False)
    losses: list[ConversionLoss] = field(default_factory=list)
    stopped_at: StoppedAt | None = None
    findings: list[Finding] = field(default_factory=list)
    offset_map: list[tuple[int, int, int]] | None = None
    next_offset: int | None = None
    path: str | None = None
    outputs: list[str] = field(default_factory=list)
    input_bytes: int | None = None
    output_bytes: int | None = None
    below_log_start: int = 0
    left_out: list[Finding] = field(default_factory=list, repr=False)
    resumed: int = 0
    _files: list[Converted] = field(default_factory=list, repr=False)

    @classmethod
    def of_files(cls, files: Sequence[Converted], left_out: Iterable[Finding] = ()) -> Self:
        """Return the result of several files: their losses and findings, each with the name of its file, and their sums."""
        sizes = [(file.input_bytes, file.output_bytes) for file in files]
        known = [(before, after) for before, after in sizes if before is not None and after is not None]
        before, after = (sum(size) for size in zip(*known, strict=True)) if known and len(known) == len(sizes) else (None, None)
        return cls(
            data=None,
            losses=[replace(loss, path=file.path) for file in files for loss in file.losses],
            stopped_at=next((file.stopped_at for file in files if file.stopped_at is not None), None),
            findings=[in_named_file(finding, file.path) for file in files for finding in file.findings],
            outputs=[output for file in files for output in file.outputs],
            input_bytes=before,
            output_bytes=after,
            below_log_start=sum(file.below_log_start for file in files),
            left_out=list(left_out),
            _files=list(files),
        )

    @property
    def files(self) -> list[Converted]:
        """Return the results of several files, or of one source the result itself."""
        return self._files or [self]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvertOptions:
    """Target of a conversion; `convert` documents each attribute."""

    to: WrittenFormat | None = None
    compression: CompressionName | None = None
    level: int | None = None
    allow_loss: bool = False
    metadata_first: bool = False
    first_offset: int | None = None
    offset_map: bool = False
    batch_bytes: int = 16384


def converted(source: Any, read: ReadOptions, conversion: ConvertOptions, target: Any = None, taker: MapTaker | None = None) -> Converted:
    """Convert entries, as `convert` does, with options that were built already.

    Args:
        source: see `convert`.
        read: options of entries of the source.
        conversion: what they are converted to.
        target: where the converted entries are written; None to return them.
        taker: gets the rows of the offset map; None to return them, if the conversion has an offset map.

    Raises:
        LossError: if something would be lost and `allow_loss` is False.
        RecordBatchError: if entries that must be rewritten are invalid.
        OSError: if a file cannot be read or written.
    """
    try:
        data, losses, stopped, findings, rows, next_offset = core_convert(source, read, conversion, target, taker)
    except LossError as refused:
        refused.losses = [ConversionLoss(*row) for row in refused.losses]
        raise
    return Converted(
        data,
        [ConversionLoss(*row) for row in losses],
        StoppedAt(*stopped) if stopped else None,
        findings,
        rows if conversion.offset_map and taker is None else None,
        next_offset,
    )
