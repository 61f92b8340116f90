"""The verbs over an Arrow binary column: one result per value, null in, null out. Spark's UDFs only wrap these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from logsegment._core import ArrowArray, ArrowBatch, ValueSchemas
from logsegment._core import batch_info_array as core_batch_info_array
from logsegment._core import decode_array as core_decode_array
from logsegment._core import decode_values_array as core_decode_values_array
from logsegment._core import explode_array as core_explode_array
from logsegment._core import validate_array as core_validate_array
from logsegment._options import ArrayKeywords, Depth, EntryKeywords, OnBadValue, ReadOptions, SkippingKeywords


def decode_array(array: Any, *, on_error: OnBadValue = "raise", **options: Unpack[ArrayKeywords]) -> ArrowArray:
    """Decode the raw batches in every value of a binary column.

    Args:
        array: an Arrow array of type binary, large_binary or binary_view, whole or in chunks: any object with ``__arrow_c_array__`` or
            ``__arrow_c_stream__``, such as a pyarrow.Array, a pyarrow.ChunkedArray, a polars.Series or a pandas.Series; borrowed.
        on_error: "raise"; "skip" leaves out what is damaged in a value; "null" gives null for a value that cannot be decoded. A valid batch
            that cannot be read here raises unless `unreadable` is "skip".
        options: options of records; see `decode`. A committed read needs `transactions`.

    Returns:
        An `ArrowArray` of list<struct> as long as `array`, one struct per record; null for null.

    Raises:
        RecordBatchError: if a value is bad and `on_error` is "raise".
        TypeError, ValueError: if `array` is not a binary column, or an option is invalid.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> raw = open("00000000000000000000.log", "rb").read()
        >>> lists = pa.array(ls.decode_array(pa.array([raw, None]), columns=["offset"]))
        >>> lists[1].as_py() is None
        True

    Source: KIP-98.
    """
    return core_decode_array(array, ReadOptions.of(ArrayKeywords, options, on_error=on_error))


def explode_array(array: Any, *, on_error: OnBadValue = "raise", **options: Unpack[ArrayKeywords]) -> tuple[ArrowBatch, ArrowArray]:
    """Decode the raw batches in every value of a binary column into rows, one per record of all values.

    Args:
        array: as in `decode_array`.
        on_error: "raise"; "skip" leaves out what is damaged in a value; "null" leaves out a value that cannot be decoded.
        options: options of records; see `decode`. A committed read needs `transactions`.

    Returns:
        The record rows, and an int64 array with the index of the value of each row.

    Raises:
        RecordBatchError, TypeError, ValueError: as `decode_array`.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> raw = open("00000000000000000000.log", "rb").read()
        >>> rows, parents = ls.explode_array(pa.array([raw]), columns=["offset"])
        >>> len(rows) == len(parents)
        True

    Source: KIP-98.
    """
    return core_explode_array(array, ReadOptions.of(ArrayKeywords, options, on_error=on_error))


def batch_info_array(array: Any, *, check_crc: bool = True, on_error: OnBadValue = "raise", **options: Unpack[EntryKeywords]) -> ArrowArray:
    """Read the header of the first entry in every value of a binary column. Nothing is decompressed.

    Args:
        array: as in `decode_array`.
        check_crc: fill the field `isValid`; otherwise it is null.
        on_error: "raise" if a value does not begin with a whole entry; "null" (or "skip") gives null for it.
        options: options of entries; see `decode`.

    Returns:
        An `ArrowArray` of struct with the columns of `batches`, as long as `array`; null for null.

    Raises:
        RecordBatchError, TypeError, ValueError: as `decode_array`.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> raw = open("00000000000000000000.log", "rb").read()
        >>> pa.array(ls.batch_info_array(pa.array([raw])))[0]["magic"].as_py()
        2

    Source: `DumpLogSegments` in Kafka's tools.
    """
    return core_batch_info_array(array, ReadOptions.of(EntryKeywords, options, check_crc=check_crc, on_error=on_error))


def validate_array(array: Any, *, depth: Depth = "full", check_crc: bool = True, **options: Unpack[SkippingKeywords]) -> ArrowArray:
    """Validate the raw batches in every value of a binary column. Bad bytes never raise.

    Args:
        array: as in `decode_array`.
        depth: see `validate`.
        check_crc: compare the checksum of every entry.
        options: options of entries; see `decode`.

    Returns:
        An `ArrowArray` of struct<ok: bool, errors: int32, warnings: int32, findings: list<struct>>, as long as `array`.

    Raises:
        TypeError, ValueError: if `array` is not a binary column, or an option is invalid.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> raw = open("00000000000000000000.log", "rb").read()
        >>> pa.array(ls.validate_array(pa.array([raw, raw[61:]])))[0]["ok"].as_py()
        True

    Source: docs/reference/findings.md.
    """
    return core_validate_array(array, depth, ReadOptions.of(SkippingKeywords, options, check_crc=check_crc))


def decode_values_array(
    array: Any, headers: Any = None, *, schemas: ValueSchemas, columns: Sequence[str] = ("valueRecord",), on_error: OnBadValue = "raise"
) -> ArrowArray:
    """Decode every value of a binary column with schemas.

    Args:
        array: as in `decode_array`.
        headers: an array of list<struct<key: binary, value: binary>> as long as `array`, which may name schemas; None for none.
        schemas: from `_typed_values.planned`.
        columns: `valueRecord` or `keyRecord`, or fields of one of them, as in `decode`.
        on_error: "raise", or "null" for null in place of a value that cannot be decoded.

    Returns:
        An `ArrowArray` as long as `array`; null for null.

    Raises:
        RecordBatchError: if a value is bad and `on_error` is "raise"; `row` is its index.
        TypeError, ValueError: if an array is of another type, or a field is unknown.
    """
    return core_decode_values_array(array, headers, schemas, list(columns), on_error)
