"""Entries in the values of Arrow columns, in another format or codec: `convert_array`."""

from __future__ import annotations

from typing import Any, Unpack

from logsegment._convert.result import ConvertOptions
from logsegment._core import ArrowArray
from logsegment._core import convert_array as core_convert_array
from logsegment._options import CompressionName, EntryKeywords, OnBadValue, ReadOptions, WrittenFormat


def convert_array(
    array: Any,
    *,
    to: WrittenFormat = "v2",
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
        to: as in `convert`. Batches of magic 3 become "v2" by default without a finding, since a column of bytes has no findings (S-C2).
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
