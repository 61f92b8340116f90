"""Entries to other formats and codecs: `convert`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal, TypeAlias, Unpack

from logsegment._core import ArrowArray, FileSource, Finding, LossError, SegmentFile
from logsegment._core import convert as core_convert
from logsegment._core import convert_array as core_convert_array
from logsegment._options import CompressionName, EntryKeywords, OnBadValue, ReadOptions
from logsegment._output import ensure_apart, staged_output
from logsegment._storage import StorageOptions, reached_source
from logsegment.compat import ERRORS, KafkaError

Target: TypeAlias = Literal["0.7", "v0", "v1", "v2", "v3"]
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
    """

    name: str
    count: int
    unit: str
    position: int
    base_offset: int


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
        findings: an input that ended inside an entry or in zeros, or had batches of the experimental format v3 without `experimental`, or
            batches of v3 that became v2 by default.
        offset_map: for Kafka 0.7, if requested: entry position, index in the entry and new offset of each message.
        next_offset: for Kafka 0.7: the offset after the last message, where the next segment starts.
    """

    data: bytes | None = field(repr=False)
    losses: list[ConversionLoss] = field(default_factory=list)
    stopped_at: StoppedAt | None = None
    findings: list[Finding] = field(default_factory=list)
    offset_map: list[tuple[int, int, int]] | None = None
    next_offset: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvertOptions:
    """Target of a conversion; `convert` documents each attribute."""

    to: Target | None = None
    compression: CompressionName | None = None
    level: int | None = None
    allow_loss: bool = False
    metadata_first: bool = False
    first_offset: int | None = None
    offset_map: bool = False
    batch_bytes: int = 16384


def convert(
    source: Any,
    *,
    to: Target | None = None,
    compression: CompressionName | None = None,
    level: int | None = None,
    allow_loss: bool = False,
    metadata_first: bool = False,
    first_offset: int | None = None,
    offset_map: bool | MapTaker = False,
    batch_bytes: int = 16384,
    check_crc: bool = True,
    out: str | os.PathLike[str] | BinaryIO | None = None,
    overwrite: bool = False,
    storage_options: StorageOptions | None = None,
    **options: Unpack[EntryKeywords],
) -> Converted:
    """Convert entries to another format, another codec, or both.

    Entries that already have the target format and codec are copied byte for byte. The GIL is released.

    - Up from magic 0 and 1, every offset stays. A compressed message becomes one batch, and a run of uncompressed messages becomes
      batches of about `batch_bytes`.
    - Down, the conversion is that of brokers up to 3.9 for old consumers: batch by batch, with the same codec and without control
      batches. If the older format does not have the codec of a batch (zstd, a plugin), the conversion stops there, unless `compression`
      names another codec.
    - Between codecs of magic 2, the uncompressed records stay byte for byte, and control batches do not change.

    A malformed record in a rewritten batch raises the error of `decode`. A torn tail is dropped and reported as a finding.

    Args:
        source: as in `decode`. A path is read as a segment of its directory: if another segment follows, it must not end inside a batch.
        to: "v2", "v1", "v0", "0.7", or "v3" (a proposal that no broker reads: KIP-931). None is "v2", with a finding if batches of "v3"
            are converted.
        compression: "none", "gzip", "snappy", "lz4", "zstd" or the alias of a plugin in `codecs`; None keeps the codec of each entry.
        level: level of that codec, as in `encode`; entries of the same codec are then recompressed.
        allow_loss: convert even if the target cannot hold something, and list the losses; otherwise raise LossError.
        metadata_first: with to="v3", write the metadata of all records before their payloads, as in `encode`.
        first_offset: from Kafka 0.7, the offset of the first message, 0 by default. In a down-conversion, drop records of uncompressed
            batches below this offset, as a broker does for a fetch.
        offset_map: from Kafka 0.7, map the position of each message to its new offset. True returns all rows in the result; a function
            gets some thousand rows at a time during the conversion.
        batch_bytes: approximate bytes of uncompressed messages per batch.
        check_crc: verify the checksums of rewritten entries; copied entries are not checked.
        out: see `encode`.
        overwrite: see `encode`.
        storage_options: options of the store of a URI; see `Log`.
        options: options of entries of the source; see `decode`. `codecs` also resolves the alias in `compression`.

    Returns:
        A `Converted`.

    Raises:
        LossError: if something would be lost and `allow_loss` is False; its `losses` list it.
        RecordBatchError: if an entry that must be rewritten is invalid.
        ValueError: if arguments are invalid or contradict each other, or the format does not have the codec.
        UnknownCompressionError: if `compression` is not a codec or the alias of a plugin.
        UnsupportedError: if a registered plugin is not installed (`kafka_error_code` 76).
        FileExistsError: if the file exists and `overwrite` is False.
        OSError: if a file cannot be read or written.

    Example:
        >>> import logsegment as ls
        >>> source = ls.FileSource("00000000000000000000.log")
        >>> smaller = ls.convert(source, compression="zstd", level=19)
        >>> smaller.losses, smaller.stopped_at
        ([], None)
        >>> old = ls.convert(source, to="v1", compression="gzip", allow_loss=True)
        >>> [loss.name for loss in old.losses]
        ['headers', ...]

    Source: `RecordsUtil.downConvert` in Kafka's clients 3.9; KIP-31, KIP-32, KIP-98, KIP-110, KIP-283.
    """
    taker = offset_map if callable(offset_map) else None
    conversion = ConvertOptions(
        to=to,
        compression=compression,
        level=level,
        allow_loss=allow_loss,
        metadata_first=metadata_first,
        first_offset=first_offset,
        offset_map=bool(offset_map),
        batch_bytes=batch_bytes,
    )
    read = ReadOptions.of(EntryKeywords, options, check_crc=check_crc)
    source = reached_source(source, storage_options)
    ensure_apart(source, out=out)
    if isinstance(source, str | os.PathLike):
        source = FileSource(source, next_offset=SegmentFile.at(source).with_neighbours().next_offset)
    with staged_output(out, overwrite=overwrite) as output:
        return converted(source, read, conversion, output.target, taker)


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


def convert_array(
    array: Any,
    *,
    to: Target = "v2",
    compression: CompressionName | None = None,
    level: int | None = None,
    allow_loss: bool = False,
    metadata_first: bool = False,
    first_offset: int | None = None,
    on_error: OnBadValue = "raise",
    batch_bytes: int = 16384,
    check_crc: bool = True,
    **options: Unpack[EntryKeywords],
) -> ArrowArray:
    """Convert the raw entries in every value of a binary column, value by value.

    The other arguments are those of `convert`. Offsets of entries of Kafka 0.7 start again with each value.

    Args:
        array: an Arrow array of type binary, large_binary or binary_view (any object with ``__arrow_c_array__``); borrowed.
        to: as in `convert`. Batches of "v3" become "v2" by default without a finding, since a column of bytes has no findings (S-C2).
        on_error: "raise", or "null" (also "skip") for null in place of a value that is invalid, would lose something, or has a batch that
            stops the conversion.

    Returns:
        An `ArrowArray` of binary as long as `array`; null for null.

    Raises:
        LossError: if something would be lost and `allow_loss` is False.
        UnsupportedError: if the older format does not have the codec of a batch (76); with the row.
        RecordBatchError, ValueError, TypeError: as `convert`.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> raw = open("00000000000000000000.log", "rb").read()
        >>> gzip = pa.array(ls.convert_array(pa.array([raw, None]), compression="gzip"))
        >>> gzip[1].as_py() is None
        True

    Source: `RecordsUtil.downConvert` in Kafka's clients 3.9.
    """
    conversion = ConvertOptions(
        to=to,
        compression=compression,
        level=level,
        allow_loss=allow_loss,
        metadata_first=metadata_first,
        first_offset=first_offset,
        batch_bytes=batch_bytes,
    )
    return core_convert_array(array, ReadOptions.of(EntryKeywords, options, check_crc=check_crc, on_error=on_error), conversion)
