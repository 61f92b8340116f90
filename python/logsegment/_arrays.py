"""The same verbs over an Arrow binary column: one result per value, null in, null out. Spark's UDFs only wrap these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from logsegment._core import ArrowArray, ArrowBatch, Limits, Transactions
from logsegment._core import batch_info_array as core_batch_info_array
from logsegment._core import decode_array as core_decode_array
from logsegment._core import explode_array as core_explode_array
from logsegment._core import validate_array as core_validate_array
from logsegment._decode import entry_options
from logsegment._options import Binary, Depth, Format, Isolation, OnBadValue, names

if TYPE_CHECKING:
    from logsegment.plugins import Registry


def decode_array(
    array: Any,
    *,
    columns: Sequence[str] | None = None,
    binary: Binary = "binary",
    check_crc: bool = True,
    on_error: OnBadValue = "raise",
    strict_tail: bool = False,
    isolation: Isolation = "read_uncommitted",
    control: bool = False,
    start_offset: int | None = None,
    end_offset: int | None = None,
    topic: str | None = None,
    partition: int | None = None,
    format: Format = "auto",
    experimental: bool = False,
    lz4_in_07: bool = False,
    ignore_lz4_header_checksum: bool = False,
    allow_dependent_lz4_blocks: bool = False,
    zstd_dictionaries: Sequence[bytes] | None = None,
    codecs: Registry | None = None,
    limits: Limits | None = None,
    null_headers: bool = False,
    transactions: Transactions | None = None,
) -> ArrowArray:
    """Decode the raw batches in every value of a binary column.

    Args:
        array: an Arrow array of type binary, large_binary or binary_view, whole or in chunks: any object with ``__arrow_c_array__`` or
            ``__arrow_c_stream__``, such as a pyarrow.Array, a pyarrow.ChunkedArray, a polars.Series or a pandas.Series; borrowed.
        on_error: "raise"; "skip" leaves out what is damaged in a value; "null" gives null for a value that cannot be decoded.

        The others are those of `decode`; read_committed needs `transactions`.

    Returns:
        An `ArrowArray` of list<struct> as long as `array`, one struct per record; null for null.

    Raises:
        RecordBatchError: when a value is bad and `on_error` is "raise".
        TypeError, ValueError: when `array` is no binary column.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> raw = open("00000000000000000000.log", "rb").read()
        >>> lists = pa.array(ls.decode_array(pa.array([raw, None]), columns=["offset"]))
        >>> lists[1].as_py() is None
        True

    Source: KIP-98.
    """
    return core_decode_array(array, _record_options(locals()))


def explode_array(
    array: Any,
    *,
    columns: Sequence[str] | None = None,
    binary: Binary = "binary",
    check_crc: bool = True,
    on_error: OnBadValue = "raise",
    strict_tail: bool = False,
    isolation: Isolation = "read_uncommitted",
    control: bool = False,
    start_offset: int | None = None,
    end_offset: int | None = None,
    topic: str | None = None,
    partition: int | None = None,
    format: Format = "auto",
    experimental: bool = False,
    lz4_in_07: bool = False,
    ignore_lz4_header_checksum: bool = False,
    allow_dependent_lz4_blocks: bool = False,
    zstd_dictionaries: Sequence[bytes] | None = None,
    codecs: Registry | None = None,
    limits: Limits | None = None,
    null_headers: bool = False,
    transactions: Transactions | None = None,
) -> tuple[ArrowBatch, ArrowArray]:
    """Decode the raw batches in every value of a binary column into one batch of record rows.

    Args: those of `decode_array`.

    Returns:
        The record rows, and an int64 array that tells for each row the index of the value that it came from.

    Raises: as `decode_array`.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> raw = open("00000000000000000000.log", "rb").read()
        >>> rows, parents = ls.explode_array(pa.array([raw]), columns=["offset"])
        >>> len(rows) == len(parents)
        True

    Source: KIP-98.
    """
    return core_explode_array(array, _record_options(locals()))


def batch_info_array(
    array: Any,
    *,
    check_crc: bool = True,
    on_error: OnBadValue = "raise",
    format: Format = "auto",
    experimental: bool = False,
    codecs: Registry | None = None,
    limits: Limits | None = None,
) -> ArrowArray:
    """Read the header of the first entry in every value of a binary column. Nothing is decompressed.

    Args:
        array: as in `decode_array`.
        check_crc: fill the field `isValid`; otherwise it is null.
        on_error: "raise" when a value does not begin with a whole entry; "null" (or "skip") gives null for it.
        format: as in `decode`.
        experimental: as in `decode`.
        codecs: as in `batches`.
        limits: as in `decode`.

    Returns:
        An `ArrowArray` of struct with the columns of `batches`, as long as `array`; null for null.

    Raises: as `decode_array`.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> raw = open("00000000000000000000.log", "rb").read()
        >>> pa.array(ls.batch_info_array(pa.array([raw])))[0]["magic"].as_py()
        2

    Source: `DumpLogSegments` in Kafka's tools.
    """
    options = entry_options(check_crc=check_crc, on_error=on_error, format=format, experimental=experimental, codecs=codecs, limits=limits)
    return core_batch_info_array(array, options)


def validate_array(
    array: Any,
    *,
    depth: Depth = "full",
    check_crc: bool = True,
    format: Format = "auto",
    experimental: bool = False,
    lz4_in_07: bool = False,
    ignore_lz4_header_checksum: bool = False,
    allow_dependent_lz4_blocks: bool = False,
    zstd_dictionaries: Sequence[bytes] | None = None,
    codecs: Registry | None = None,
    limits: Limits | None = None,
) -> ArrowArray:
    """Validate the raw batches in every value of a binary column. Never raises on bad bytes.

    Args:
        array: as in `decode_array`.
        depth: as in `validate`.

        The others are those of `validate`.

    Returns:
        An `ArrowArray` of struct<ok: bool, errors: int32, warnings: int32, findings: list<struct>>, as long as `array`.

    Raises:
        TypeError, ValueError: when `array` is no binary column.

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> raw = open("00000000000000000000.log", "rb").read()
        >>> pa.array(ls.validate_array(pa.array([raw, raw[61:]])))[0]["ok"].as_py()
        True

    Source: docs/findings in this project.
    """
    options = {name: value for name, value in locals().items() if name not in ("array", "depth")}
    return core_validate_array(array, depth, entry_options(**options))


def _record_options(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a verb as the core's options; a column is never cut into batches or given to threads."""
    options = {name: value for name, value in arguments.items() if name != "array"}
    options["columns"] = names(options["columns"])
    return entry_options(**options) | {"batch_size": 65536, "batch_bytes": 1 << 20, "threads": 1}
