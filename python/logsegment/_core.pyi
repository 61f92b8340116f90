"""The native core. Users import its names from `logsegment`, which also fills in every key of the `options` below."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeAlias, final, type_check_only

from logsegment._convert.result import ConvertOptions
from logsegment._inspect import InspectOptions
from logsegment._options import EncodeOptions, PartitionOptions, ReadOptions
from logsegment._options.value_kinds import Integers
from logsegment._registration import IoStats, StoreUri
from logsegment._rewrite.account import RangeRow
from logsegment._rewrite.partitions import RewriteOptions
from logsegment._salvage.result import SalvageOptions

__all__ = [
    "__version__",
    "RecordBatchError",
    "TruncatedError",
    "CorruptError",
    "ChecksumError",
    "InvalidError",
    "UnsupportedError",
    "UnknownCompressionError",
    "LimitError",
    "CodecError",
    "LossError",
    "InternalError",
    "ChangedError",
    "ShortReadError",
    "StorageOptionError",
    "ManifestError",
    "ChunkError",
    "SegmentKeyError",
    "ReplicaError",
    "Place",
    "PlaceEntry",
    "OpenFile",
    "BufferFile",
    "register_package",
    "Limits",
    "FileSource",
    "Finding",
    "Transactions",
    "ValueSchemas",
    "ValueWriter",
    "decode_values_array",
    "met_schemas",
    "json_schema_of",
    "ensure_schema",
    "ArrowBatch",
    "ArrowArray",
    "ArrowTable",
    "RecordStream",
    "decode",
    "batch_stream",
    "encode",
    "EarlierProducers",
    "RecordedLogs",
    "UpcomingFiles",
    "validate_findings",
    "findings_table",
    "header_totals",
    "BatchCounter",
    "BatchHeader",
    "TransactionHistory",
    "CommittedOffsets",
    "ClusterState",
    "KafkaDump",
    "ValidBatches",
    "batch_headers",
    "compare_records",
    "csv_of_lines",
    "different_columns",
    "equal_rows",
    "torn_offsets",
    "RecordSections",
    "first_offset_at",
    "valid_batches",
    "scan_transactions",
    "ensure_log_segment",
    "is_internal_topic",
    "decode_files",
    "batch_files",
    "SegmentRange",
    "PartitionReader",
    "SegmentFile",
    "FoundSegments",
    "ReplicaChoice",
    "SegmentLookup",
    "order_by_offsets",
    "read_txn_index",
    "read_producer_snapshot",
    "read_leader_epochs",
    "without_ended_transactions",
    "committed_transactions",
    "Follower",
    "GrowingLog",
    "LogEnd",
    "validate_log",
    "rebuild_indexes",
    "StagedWriter",
    "place_staged",
    "segment_end",
    "decode_array",
    "batch_info_array",
    "validate_array",
    "explode_array",
    "convert",
    "convert_array",
    "CompactionRound",
    "KeySet",
    "PartitionEnd",
    "PlaceSet",
    "compact",
    "rewrite",
    "salvage",
    "inspect_entry",
    "broker_append",
    "broker_fetch",
    "Lz4Rewriter",
    "lz4_header_checksum",
    "lz4_survey",
    "compat_versions",
    "compat_clients",
    "compat_client",
    "compat_errors",
    "compat_verdict",
    "encode_array",
    "begins_at",
]

__version__: str

#: (producerId, firstOffset, lastOffset), last offset inclusive.
_Aborted: TypeAlias = tuple[int, int, int]
_Path: TypeAlias = str | os.PathLike[str]
#: A number, or no limit.
_Limit: TypeAlias = int | Literal["unlimited"]
#: A capsule of the Arrow C data interface; `types.CapsuleType` needs Python 3.13.
_Capsule: TypeAlias = object
#: An object of pyarrow, Polars or pandas, none of which must be installed.
_Foreign: TypeAlias = Any

@type_check_only
class _ArrowArrayExportable(Protocol):
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[_Capsule, _Capsule]: ...

@type_check_only
class _ArrowStreamExportable(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> _Capsule: ...

#: One array, or the chunks of one.
_ArrowColumn: TypeAlias = _ArrowArrayExportable | _ArrowStreamExportable

class RecordBatchError(ValueError):
    """Base of all errors about record batches."""

    code: str | None
    rule: str | None
    #: A batch without known damage cannot be read here, at which `unreadable` decides.
    is_unreadable: bool
    #: The quirks with which a batch is readable, if that is all that it lacks.
    quirks: Sequence[str]
    kafka_error_code: int | None
    record_indexes: list[int] | None
    path: str | None
    row: int | None
    position: int | None
    base_offset: int | None
    record_index: int | None
    field: str | None

class TruncatedError(RecordBatchError):
    """The input ends inside an entry; more bytes may come."""

class CorruptError(RecordBatchError):
    """Invalid bytes: a length, a count, a variable-length integer."""

class ChecksumError(CorruptError):
    """The stored checksum does not match the bytes."""

class InvalidError(RecordBatchError):
    """Readable bytes that break a rule of their format."""

class UnsupportedError(RecordBatchError):
    """A format or feature that is not supported."""

class UnknownCompressionError(UnsupportedError):
    """An unknown compression type or name."""

class LimitError(RecordBatchError):
    """A size over one of the `Limits`."""

class CodecError(RecordBatchError):
    """A compressed stream is invalid."""

class LossError(RecordBatchError):
    """A conversion would lose something."""

    losses: Any

class InternalError(RecordBatchError):
    """A defect of logsegment itself."""

class ChangedError(OSError):
    """A file was replaced while it was read."""

class StorageOptionError(ValueError):
    """A URI or an option of a store is invalid."""

class ShortReadError(OSError):
    """A file gives fewer bytes than it has at a position."""

class ManifestError(CorruptError):
    """A manifest of an upload is invalid, or contradicts its objects.

    Attributes:
        rule (str): the rule of tiered storage that is broken.
        position, length (int): the bytes of the segment that cannot be read: all of them.
        base_offset, last_offset (int): the first offset of the segment, and the last one before the next segment; None if not known.
    """

    chunk: int | None
    length: int | None
    last_offset: int | None

class ChunkError(CorruptError):
    """The bytes of a chunk cannot be restored. The text has its number, its bytes and its offsets.

    All chunks after the end of a cut object are one error.

    Attributes:
        chunk (int): number of the chunk, or of the first after the end of the object; counted from 0.
        position, length (int): the lost bytes of the segment.
        base_offset (int): the first offset that is not in a valid batch before them; None if not known.
        last_offset (int): the last offset before the next valid batch; None if not known.
    """

    chunk: int | None
    length: int | None
    last_offset: int | None

class ReplicaError(ValueError):
    """A partition in several directories, none of which is chosen.

    Attributes:
        problem (str): the partition and its directories.
        asked (bool): True if an option chose, and its value fits no directory.
    """

    problem: str
    asked: bool

class SegmentKeyError(ValueError):
    """An encrypted segment cannot be decrypted: there is no private key with its id, or the key does not decrypt it.

    The text names the segment and the id. It contains no part of a key, and not why the key is wrong.
    """

@final
class Limits:
    """Set the limits of one entry; an entry over a limit is a LimitError.

    Args:
        max_batch_bytes: stored bytes of an entry.
        max_decompressed_bytes: decompressed bytes of an entry.
        max_ratio: decompressed bytes per compressed byte; at least 512 compressed bytes are counted.
        max_records: records of an entry.
        max_headers: headers of a record.
        max_nesting: levels of compressed sets inside each other.

    To lift a limit, set it to "unlimited".

    Example:
        >>> import logsegment as ls
        >>> ls.Limits(max_records=1000).max_records
        1000
    """

    def __new__(
        cls,
        *,
        max_batch_bytes: _Limit = 268435456,
        max_decompressed_bytes: _Limit = 1073741824,
        max_ratio: _Limit = 40000,
        max_records: _Limit = 16777216,
        max_headers: _Limit = 100000,
        max_nesting: _Limit = 8,
    ) -> Self: ...
    @property
    def max_batch_bytes(self) -> _Limit: ...
    @property
    def max_decompressed_bytes(self) -> _Limit: ...
    @property
    def max_ratio(self) -> _Limit: ...
    @property
    def max_records(self) -> _Limit: ...
    @property
    def max_headers(self) -> _Limit: ...
    @property
    def max_nesting(self) -> _Limit: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    # Equal by value, and so without a hash.
    __hash__: None  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class FileSource:
    """Name a range of bytes of a file. A read opens the file read-only and reads by position, in bounded memory.

    Args:
        path: the file; a path, or a URI of a store (`s3://bucket/orders-0/00000000000000000000.log`), whose ranges are fetched on
            demand. Attribute and text show no option of the store.
        start: first byte of the range, the start of an entry.
        end: end of the range (exclusive), or None for the end of the file.
        offsets: the offsets that the batches may contain: first (inclusive) and end (exclusive, or None). A batch with other offsets is an
            error (SEG-1). None for any offsets.
        finding: a finding that each read of the file reports with its own, or None.
        next_offset: the first offset of the next segment of the partition, by its name; None without one. A segment that another segment
            follows is complete: if the range ends inside an entry, that is an error (SEG-23).
        is_inner: the range ends where another entry of the file begins. If it ends inside an entry, that is an error (L8-14).
        storage_options: options of the store of a URI; see `Log`.

    It can be pickled and used any number of times.

    Example:
        >>> import logsegment as ls
        >>> ls.FileSource("00000000000000000000.log").start
        0
    """

    def __new__(
        cls,
        path: str | os.PathLike[str],
        start: int = 0,
        end: int | None = None,
        offsets: tuple[int, int | None] | None = None,
        finding: Finding | None = None,
        next_offset: int | None = None,
        is_inner: bool = False,
        *,
        storage_options: Mapping[str, str] | None = None,
    ) -> Self: ...
    @property
    def path(self) -> Path | StoreUri: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int | None: ...
    @property
    def offsets(self) -> tuple[int, int | None] | None: ...
    @property
    def finding(self) -> Finding | None: ...
    @property
    def next_offset(self) -> int | None: ...
    @property
    def is_inner(self) -> bool: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Finding:
    """Describe one problem of the bytes: rule, severity, position.

    Attributes:
        rule (str): id of the rule; see docs/reference/findings.md.
        severity (str): "error" (decode would raise), "warning" (readable, but it breaks a rule) or "info".
        message (str): text of the problem.
        path (str): place in the input, from the outside in.
        position (int), length (int): the bytes with the problem.
        base_offset, last_offset, record_index (int or None): the batch and the record.
        field (str or None): the field, in Kafka's spelling.
        is_damage (bool): a read fails here, or ends although valid entries follow.
        is_unreadable (bool): a batch without known damage cannot be read here, at which `unreadable` decides.
        unopened (str or None): why a batch was not decompressed: "missing_plugin", "failed" (the plugin), "limit", "dictionary", "quirk"
            or "format".
        quirks (list[str]): the quirks with which a batch is readable, if that is all that it lacks.

    Example:
        >>> import logsegment as ls
        >>> ls.validate(bytes(20)).findings
        [Finding(info FND-17 at byte 0: the input ends in 20 zero bytes, as a preallocated segment does)]
    """

    def __new__(
        cls,
        rule: str,
        severity: str,
        message: str,
        path: str,
        position: int,
        length: int,
        base_offset: int | None = None,
        last_offset: int | None = None,
        record_index: int | None = None,
        field: str | None = None,
    ) -> Self: ...
    @property
    def rule(self) -> str: ...
    @property
    def severity(self) -> Literal["error", "warning", "info"]: ...
    @property
    def message(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def position(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def base_offset(self) -> int | None: ...
    @property
    def last_offset(self) -> int | None: ...
    @property
    def record_index(self) -> int | None: ...
    @property
    def field(self) -> str | None: ...
    @property
    def is_damage(self) -> bool: ...
    @property
    def is_unreadable(self) -> bool: ...
    @property
    def unopened(self) -> Literal["missing_plugin", "failed", "limit", "dictionary", "quirk", "format"] | None: ...
    @property
    def quirks(self) -> list[str]: ...
    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dict."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...

_SchemaEntry = tuple[int | None, bytes | None, str, str, Sequence[tuple[str, str]], Sequence[int]]
_ReaderSchema = tuple[str, str, Sequence[tuple[str, str]]]
# The number of a schema of Protobuf, and the path of a message in it.
_Message = tuple[int, Sequence[int]]
_Met = tuple[list[int], str | None, list[_Message], list[str], list[str]]

@final
class ValueSchemas:
    """The schemas that keys or values of a read may have, and what is known of them. It can be pickled."""

    def __new__(
        cls,
        entries: Sequence[_SchemaEntry],
        framing: str,
        format: str,
        present: Sequence[int] = ...,
        newest: int | None = None,
        reader: _ReaderSchema | None = None,
        messages: Sequence[_Message] = ...,
        main: int | None = None,
        integers: Integers = "int64",
    ) -> Self: ...
    def expecting(
        self, present: Sequence[int], newest: int | None, reader: _ReaderSchema | None, messages: Sequence[_Message] = ...
    ) -> ValueSchemas:
        """The same schemas, of which these are expected."""

    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class ValueWriter:
    """How the column `valueRecord` or `keyRecord` becomes bytes."""

    def __new__(
        cls, schema: tuple[str, str, Sequence[tuple[str, str]]], framing: str, id: int | None = None, message: str | None = None
    ) -> Self: ...

def decode_values_array(array: _ArrowColumn, headers: Any, schemas: ValueSchemas, columns: Sequence[str], on_error: str) -> ArrowArray:
    """Return the decoded keys or values of a binary column, null for null."""

def met_schemas(sources: Sequence[Any], options: ReadOptions, schemas: ValueSchemas, infers: bool = False) -> tuple[_Met, _Met]:
    """Return the numbers of the schemas that keys, and that values name, with the JSON Schema of JSON ones if `infers`, and messages.

    The last items are texts of Avro schemas that are in keys or values, and names of schemas that are not known. Damage is skipped.
    """

def json_schema_of(schema: Any) -> str:
    """Return the text of a JSON Schema for values of an Arrow schema or type (`__arrow_c_schema__`)."""

def ensure_schema(kind: str, text: str, referenced: Sequence[tuple[str, str]]) -> None:
    """Raise a ValueError if a text is not a schema of a type."""

@final
class Transactions:
    """List the aborted, undecided and open transactions of a partition.

    `scan_transactions` returns it, and `decode_array` takes it. It can be pickled.

    Args:
        aborted: list of (producerId, firstOffset, lastOffset), last offset inclusive.
        last_stable_offset: first offset of the oldest open transaction, or None.
        undecided: transactions with a marker that may be lost, up to the last offset before the damage. A committed read skips and
            reports them (TRX-5).

    Example:
        >>> import logsegment as ls
        >>> ls.Transactions([(7, 100, 120)]).aborted
        [(7, 100, 120)]
    """

    def __new__(cls, aborted: Sequence[_Aborted], last_stable_offset: int | None = None, undecided: Sequence[_Aborted] = ()) -> Self: ...
    @property
    def aborted(self) -> list[_Aborted]: ...
    @property
    def last_stable_offset(self) -> int | None: ...
    @property
    def undecided(self) -> list[_Aborted]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...

# The result of `schema`; the module does not export the class.
@final
@type_check_only
class ArrowSchema:
    @property
    def names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> _Capsule: ...
    def to_pyarrow(self) -> _Foreign: ...

@final
class BatchCounter:
    def __new__(cls) -> BatchCounter: ...
    def enter(self, file: str, is_of_0_7: bool, is_another_partition: bool) -> None: ...
    def add(self, rows: ArrowBatch, log_start: tuple[int, int] | None = None) -> list[tuple[int, str, str]]: ...
    def found_first_time(self, time: int | None) -> None: ...
    def counts(self) -> dict[str, Any]: ...

@final
class ArrowBatch:
    """Hold Arrow columns of the same length: a record batch.

    Any library with the Arrow PyCapsule interface reads it without a copy (`pyarrow.record_batch(batch)`, `polars.DataFrame(batch)`).

    Example:
        >>> import logsegment as ls
        >>> batch = next(ls.decode(ls.FileSource("00000000000000000000.log"), columns=["offset", "key"]))
        >>> batch.column_names
        ['offset', 'key']
    """

    @property
    def num_rows(self) -> int:
        """Return the number of rows."""
    @property
    def column_names(self) -> list[str]:
        """Return the names of the columns, in order."""
    @property
    def schema(self) -> ArrowSchema:
        """Return the schema, an object with `__arrow_c_schema__`."""
    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[_Capsule, _Capsule]: ...
    def __arrow_c_schema__(self) -> _Capsule: ...
    def to_pyarrow(self) -> _Foreign:
        """Return the batch as a `pyarrow.RecordBatch`."""
    def slice(self, offset: int = 0, length: int | None = None) -> ArrowBatch:
        """Return some rows as a batch. Nothing is copied.

        Args:
            offset: index of the first row.
            length: largest number of rows; None for all following rows.
        """
    def select(self, columns: Sequence[str]) -> ArrowBatch:
        """Return a batch with these columns, in this order. Nothing is copied.

        Args:
            columns: names of columns; an unknown name is a KeyError.
        """
    def to_pylist(self, *, rows: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return the rows as dicts. Bytes are copied; a time is a `datetime` in UTC. pyarrow is not needed.

        Args:
            rows: conditions, as in `to_jsonl`.

        Raises:
            OverflowError: if a time is outside the range of `datetime`; select the column `timestampMs`.
            ValueError: if a time of decoded values has parts of a microsecond; use `to_pyarrow()`.
        """
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples, otherwise as `to_pylist` does."""
    def to_jsonl(
        self,
        bytes: str = "auto",
        *,
        fields: Sequence[tuple[str, str]] | None = None,
        constants: Sequence[tuple[str, str]] = ...,
        rows: Mapping[str, Any] | None = None,
        iso: bool = False,
    ) -> bytes:
        """Return the rows as JSON lines, UTF-8.

        Args:
            bytes: "auto" writes text if the bytes are UTF-8 and {"base64": "..."} otherwise; "utf8", "base64" and "hex" write a string.
            fields: (column, name in the object) pairs, in order; None for all columns.
            constants: (name, text) pairs at the start of every object.
            rows: {"since": ..., "until": ..., "keys": ..., "limit": ...}, each may be None: first timestampMs,
                end of timestampMs (exclusive), list of keys, largest number of rows.
            iso: write times in ISO 8601 instead of milliseconds; fields with names that end in `Ms` stay numbers.
        """

@final
class ArrowArray:
    """Hold an Arrow array. Any library with the Arrow PyCapsule interface reads it without a copy (`pyarrow.array(array)`).

    Example:
        >>> import logsegment as ls, pyarrow as pa
        >>> ls.batch_info_array(pa.array([None], pa.binary()))
        ArrowArray(1 value)
    """

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[_Capsule, _Capsule]: ...
    def __arrow_c_schema__(self) -> _Capsule: ...
    def to_pyarrow(self) -> _Foreign:
        """Return the array as a `pyarrow.Array`."""
    def to_pylist(self) -> list[Any]:
        """Return the values as Python objects, as `ArrowBatch.to_pylist` does."""

@final
class ArrowTable:
    """Hold Arrow record batches of one schema in memory.

    Any library with the Arrow PyCapsule interface reads it (`pyarrow.table(table)`, `polars.DataFrame(table)`), any number of times.

    Attributes:
        schema, num_rows, column_names: as in pyarrow.
        findings (list[Finding]): findings of the read.
        io_stats: counters of what was read.

    Example:
        >>> import logsegment as ls
        >>> table = ls.batches(ls.FileSource("00000000000000000000.log"))
        >>> table.num_rows == len(table.to_pylist())
        True
    """

    @property
    def schema(self) -> ArrowSchema: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def findings(self) -> list[Finding]: ...
    @property
    def io_stats(self) -> IoStats: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> _Capsule: ...
    def __arrow_c_schema__(self) -> _Capsule: ...
    def to_batches(self) -> list[ArrowBatch]:
        """Return the batches of the table."""
    def to_pyarrow(self) -> _Foreign:
        """Return the table as a `pyarrow.Table`."""
    def to_polars(self) -> _Foreign:
        """Return the table as a `polars.DataFrame`."""
    def to_pandas(self) -> _Foreign:
        """Return the table as a `pandas.DataFrame`."""
    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dicts, as `ArrowBatch.to_pylist` does. pyarrow is not needed."""
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples, otherwise as `to_pylist` does."""

@final
class RecordStream:
    """Stream Arrow record batches, read on demand.

    It can be read once: iterate over it (`ArrowBatch`), pass it to any library with the Arrow PyCapsule interface
    (`pyarrow.RecordBatchReader.from_stream(stream)`), or collect it with `read_all()`, `to_pyarrow()`, `to_polars()`, `to_pandas()`.
    As a context manager it frees its memory and threads at the end.

    Attributes:
        schema: the Arrow schema (`__arrow_c_schema__`).
        findings (list[Finding]): torn and zero tails, and damage that was skipped; complete once the stream has ended.
        error: the typed exception of an error that another library reported, or None.
        io_stats: counters of what was read, decompressed and copied.
        unknown_schemas (list[str]): with `values="auto"`, the ids, GUIDs and fingerprints that no schema has;
            these values are null.
        framings (dict[str, int]): how many values had each framing that was detected next to a single schema.

    Example:
        >>> import logsegment as ls
        >>> with ls.decode(ls.FileSource("00000000000000000000.log"), columns=["offset"]) as stream:
        ...     rows = sum(batch.num_rows for batch in stream)
        >>> stream.io_stats.records == rows
        True
    """

    @property
    def schema(self) -> ArrowSchema: ...
    @property
    def findings(self) -> list[Finding]: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def io_stats(self) -> IoStats: ...
    @property
    def unknown_schemas(self) -> list[str]: ...
    @property
    def framings(self) -> dict[str, int]: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> ArrowBatch: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> _Capsule: ...
    def __arrow_c_schema__(self) -> _Capsule: ...
    def read_all(self) -> ArrowTable:
        """Collect the remaining batches into one `ArrowTable`. A consumed stream is a ValueError."""
    def to_pyarrow(self) -> _Foreign:
        """Collect the remaining rows into a `pyarrow.Table`."""
    def to_polars(self) -> _Foreign:
        """Collect the remaining rows into a `polars.DataFrame`."""
    def to_pandas(self) -> _Foreign:
        """Collect the remaining rows into a `pandas.DataFrame`."""
    def to_pylist(self) -> list[dict[str, Any]]:
        """Collect the remaining rows into dicts, as `ArrowBatch.to_pylist` does. pyarrow is not needed."""
    def rows(self) -> list[tuple[Any, ...]]:
        """Collect the remaining rows into tuples, otherwise as `to_pylist` does."""
    def close(self) -> None:
        """Stop, and free memory and threads. Collected batches stay valid."""

@final
class SegmentFile:
    @property
    def path(self) -> str: ...
    @property
    def topic(self) -> str | None: ...
    @property
    def partition(self) -> int | None: ...
    @property
    def base_offset(self) -> int | None: ...
    @property
    def known_size(self) -> int | None: ...
    @property
    def offsets(self) -> tuple[int, int | None] | None: ...
    @property
    def actual_offsets(self) -> tuple[int, int] | None: ...
    @property
    def named(self) -> tuple[int, int | None] | None: ...
    @property
    def finding(self) -> Finding | None: ...
    @property
    def next_offset(self) -> int | None: ...
    @property
    def is_listed(self) -> bool: ...
    @property
    def log_start(self) -> int | None: ...
    @property
    def part(self) -> tuple[int, int] | None: ...
    @property
    def place(self) -> str: ...
    @property
    def directory(self) -> str: ...
    @property
    def named_offset(self) -> int | None: ...
    def __new__(
        cls, path: _Path, topic: str | None = None, partition: int | None = None, base_offset: int | None = None, **more: Any
    ) -> SegmentFile: ...
    @staticmethod
    def at(path: _Path) -> SegmentFile: ...
    def siblings(self) -> list[SegmentFile]: ...
    def with_neighbours(self) -> SegmentFile: ...
    def records_of_batch_before(self, position: int, size: int, offset: int) -> int: ...
    def replaced(self, **attributes: Any) -> SegmentFile: ...
    def source(self, start: int = 0, end: int | None = None, *, is_inner: bool = False) -> FileSource: ...
    def __hash__(self) -> int: ...

@final
class FoundSegments:
    @property
    def files(self) -> list[SegmentFile]: ...
    @property
    def findings(self) -> list[Finding]: ...
    def __new__(cls, files: Iterable[SegmentFile], findings: Iterable[Finding] | None = None) -> Self: ...
    @staticmethod
    def search(
        paths: Sequence[_Path],
        topics: str | Sequence[str] | None = None,
        partition: int | None = None,
        *,
        has_patterns: bool = True,
        failed: Callable[[OSError | SegmentKeyError], object] | None = None,
        options: PartitionOptions | None = None,
    ) -> FoundSegments: ...
    @staticmethod
    def below(path: _Path) -> FoundSegments: ...
    @staticmethod
    def expanded(paths: Sequence[_Path], *, must_exist: bool = False) -> list[str]: ...
    @staticmethod
    def without_links(groups: Sequence[Sequence[SegmentFile]]) -> list[list[SegmentFile]]: ...
    def of_partition(self, topics: str | Sequence[str] | None, partition: int | None) -> list[SegmentFile]: ...
    def by_partition(self) -> list[tuple[str, list[SegmentFile]]]: ...
    def findings_among(self, found: Iterable[SegmentFile] | None) -> list[Finding]: ...
    def replicas(self) -> tuple[str, list[Finding]]: ...
    def with_log_starts(self, options: PartitionOptions) -> tuple[list[SegmentFile], list[Finding]]: ...
    def deleted_records(self, start_offset: int | None = None) -> list[Finding]: ...
    def records_before(self, offset: int) -> int: ...
    def log_directories(self, paths: Sequence[_Path]) -> list[str]: ...
    def high_watermarks(self) -> list[tuple[int | None, str | None] | None]: ...

@final
class ReplicaChoice:
    def __new__(cls, options: PartitionOptions) -> Self: ...
    def of(self, files: Sequence[SegmentFile]) -> list[SegmentFile]: ...

_FoundBatch: TypeAlias = tuple[int, tuple[int, int, int] | None]
_Time: TypeAlias = int | None
_Part: TypeAlias = tuple[FileSource, ReadOptions]

@final
class SegmentLookup:
    @property
    def file(self) -> SegmentFile: ...
    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def base_offset(self) -> int | None: ...
    @property
    def bytes_walked(self) -> int: ...
    @property
    def index_bytes(self) -> int | None: ...
    @property
    def end_of_times(self) -> int | None: ...
    @property
    def index_findings(self) -> list[Finding]: ...
    def __new__(cls, file: SegmentFile, *, remembers: bool = False) -> Self: ...
    def of(self, file: SegmentFile) -> SegmentLookup: ...
    def cuts(self, step: int, start: int = 0, end: int | None = None, *, valid: bool = False) -> list[int]: ...
    def offset_index(self) -> list[tuple[int, int]]: ...
    def time_index(self) -> list[tuple[int, int]]: ...
    def findings_of(self, suffix: str) -> list[Finding]: ...
    def range_to_read(self, options: ReadOptions) -> tuple[int, int | None]: ...
    def byte_range(self, start_offset: int | None = None, end_offset: int | None = None) -> tuple[int, int | None]: ...
    def valid_range(self, start_offset: int | None = None, end_offset: int | None = None) -> tuple[int, int | None]: ...
    def hidden_range(self, offset: int) -> tuple[int, int | None] | None: ...
    def find_offset(self, offset: int) -> _FoundBatch: ...
    def find_timestamp(self, timestamp: int) -> _FoundBatch: ...
    def position_for_timestamp(self, timestamp: int) -> int | None: ...
    def next_offset(self) -> int | None: ...
    def end(self) -> tuple[int | None, int]: ...
    def last_batch(self) -> tuple[int, int, int] | None: ...
    def end_before(self, offset: int, *, past_damage: bool) -> int | None: ...
    def entry_around(self, position: int) -> tuple[int, int] | None: ...

@final
class SegmentRange:
    @property
    def segment(self) -> SegmentLookup: ...
    @property
    def begin(self) -> int: ...
    @property
    def stop(self) -> int | None: ...
    @property
    def resumes(self) -> bool: ...
    @property
    def size(self) -> int: ...
    @property
    def has_finding(self) -> bool: ...
    @property
    def options(self) -> ReadOptions: ...
    @property
    def is_looked_up(self) -> bool: ...
    @property
    def end_offset(self) -> int | None: ...
    @property
    def most_offsets(self) -> int | None: ...
    @property
    def index_findings(self) -> list[Finding]: ...
    def offset_within(self, most_bytes: int, *, takes_first: bool) -> int | None: ...
    def without_finding(self) -> SegmentRange: ...
    def part(self, transactions: Transactions | None) -> _Part: ...
    def touching(self, transactions: Transactions) -> Transactions: ...
    def cut_by_bytes(self, step: int) -> list[SegmentRange]: ...
    def cut_before_end(self, step: int) -> tuple[SegmentRange, SegmentRange] | None: ...
    def cut_by_offsets(self, most: int) -> list[SegmentRange]: ...

@final
class PartitionReader:
    @property
    def segments(self) -> list[SegmentLookup]: ...
    @property
    def options(self) -> ReadOptions: ...
    @property
    def transactions(self) -> Transactions | None: ...
    def __new__(cls, segments: Sequence[SegmentLookup], options: ReadOptions, timestamp: int | None = None) -> Self: ...
    @staticmethod
    def plan(
        segments: Sequence[SegmentLookup], options: ReadOptions, times: tuple[_Time, _Time] = ..., timestamp: int | None = None
    ) -> PartitionReader: ...
    @staticmethod
    def of(files: Sequence[SegmentFile], options: ReadOptions, timestamp: int | None = None) -> PartitionReader: ...
    def wanted(self) -> list[tuple[SegmentLookup, int | None]]: ...
    def at(self, offset: int) -> PartitionReader: ...
    def within(self, segment: SegmentLookup) -> PartitionReader: ...
    def offset_at(self, timestamp: int) -> int | None: ...
    def place_at(self, timestamp: int) -> int | None: ...
    def piece(self) -> SegmentRange: ...
    def part(self) -> _Part: ...
    def part_in(self, begin: int | None, stop: int | None) -> _Part: ...
    def pieces(self) -> list[SegmentRange]: ...
    def parts(self) -> list[_Part]: ...
    def read(self, notes: Sequence[Finding] = ...) -> RecordStream: ...

def order_by_offsets(files: Sequence[SegmentFile], *, reports: bool, alone: bool = False) -> list[SegmentFile]: ...
def decode(source: Any, options: ReadOptions, *, file: FileSource | None = None, upcoming: UpcomingFiles | None = None) -> RecordStream: ...
def batch_stream(source: Any, options: ReadOptions, *, file: FileSource | None = None) -> RecordStream: ...
def encode(
    table: Any,
    options: EncodeOptions,
    out: Any = None,
    value_writer: ValueWriter | None = None,
    key_writer: ValueWriter | None = None,
) -> bytes | None: ...
def inspect_entry(source: Any, shown: InspectOptions, options: ReadOptions) -> tuple[Any, ...]: ...

@final
class EarlierProducers:
    def __new__(cls) -> Self: ...

@final
class RecordedLogs:
    def __new__(cls) -> Self: ...

@final
class UpcomingFiles:
    def __new__(cls) -> Self: ...
    def expect(self, files: Sequence[FileSource]) -> None: ...

def validate_findings(
    source: Any,
    depth_name: str,
    options: ReadOptions,
    *,
    file: FileSource | None = None,
    is_followed: bool = False,
    earlier: EarlierProducers | None = None,
    recorded: RecordedLogs | None = None,
    next_files: Sequence[FileSource] = ...,
) -> tuple[list[Finding], IoStats, tuple[int, int, int, int] | None]: ...

@final
class BatchHeader:
    @property
    def position(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def base_offset(self) -> int | None: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def count(self) -> int | None: ...
    @property
    def magic(self) -> int: ...
    @property
    def crc(self) -> int: ...
    @property
    def base_timestamp(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def is_valid(self) -> bool | None: ...
    @property
    def proposed_header_len(self) -> int: ...

@final
class ValidBatches:
    def __iter__(self) -> Self: ...
    def __next__(self) -> BatchHeader: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    @property
    def findings(self) -> list[Finding]: ...

def batch_headers(rows: ArrowBatch) -> list[BatchHeader]: ...
def valid_batches(source: Any, options: ReadOptions) -> ValidBatches: ...
def begins_at(source: FileSource, timestamp: int, options: ReadOptions) -> bool: ...
def first_offset_at(source: FileSource, timestamp: int, options: ReadOptions) -> tuple[int, int] | None: ...
def equal_rows(ours: ArrowBatch, theirs: ArrowBatch) -> int: ...
def csv_of_lines(lines: bytes) -> tuple[bytes, list[int]]: ...
def different_columns(ours: ArrowBatch, theirs: ArrowBatch) -> list[str]: ...
def compare_records(
    ours: ArrowBatch, theirs: ArrowBatch
) -> tuple[list[tuple[Literal["same", "changed", "a", "b"], int, list[int], list[str]]], int, int]: ...
def torn_offsets(source: FileSource, options: ReadOptions) -> tuple[int, int] | None: ...
def header_totals(rows: ArrowBatch) -> tuple[int, int, int] | None: ...
def findings_table(findings: Sequence[Finding]) -> ArrowTable: ...

#: State, producer id, producer epoch, first offset, last offset, offset of the marker, batches, records, bytes, first timestamp, duration.
_TransactionRow: TypeAlias = tuple[str, int, int, int, int, int | None, int, int, int, int, int]

@final
class TransactionHistory:
    def __new__(cls, longest_ms: int) -> Self: ...
    def enter(self, source: Any, options: ReadOptions) -> None: ...
    def add_damage(self, position: int) -> None: ...
    def visit(self, rows: ArrowBatch) -> tuple[int | None, list[_TransactionRow], list[BatchHeader]]: ...
    def open(self, now: int | None) -> list[_TransactionRow]: ...

#: Group, topic, partition, committed offset, leader epoch, metadata, times of the commit and of its expiry, offset of its record, and
#: whether an open transaction has another offset.
_CommittedRow: TypeAlias = tuple[str, str, int, int, int | None, str, int, int | None, int, bool]

@final
class CommittedOffsets:
    def __new__(cls) -> Self: ...
    def add(self, rows: ArrowBatch) -> list[tuple[int, str, str]]: ...
    def add_damage(self, position: int) -> None: ...
    def leave(self) -> None: ...
    def take(self) -> list[_CommittedRow]: ...

@final
class KafkaDump:
    def __new__(cls, source: Any, options: ReadOptions, is_deep: bool) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> bytes: ...
    @property
    def trailing_bytes(self) -> int: ...

@final
class ClusterState:
    @staticmethod
    def read(paths: Sequence[_Path], limits: Limits | None = ...) -> ClusterState: ...
    @staticmethod
    def empty() -> ClusterState: ...
    @staticmethod
    def views() -> list[str]: ...
    def view(self, name: str) -> ArrowTable | None: ...
    def partition_details(self) -> list[tuple[str, int, list[int], list[int], list[int]]]: ...
    @property
    def findings(self) -> list[Finding]: ...
    @property
    def metadata_offset(self) -> int | None: ...
    @property
    def cluster_ids(self) -> list[str]: ...

def scan_transactions(sources: Sequence[Any], options: ReadOptions) -> Transactions: ...
def ensure_log_segment(path: str | os.PathLike[str]) -> None:
    """Raise `InvalidError` for a file or directory that is not a log segment, by its name and first bytes."""

def is_internal_topic(name: str) -> bool: ...
def decode_files(parts: Sequence[tuple[FileSource, ReadOptions]], options: ReadOptions, notes: Sequence[Finding] = ...) -> RecordStream: ...
def batch_files(files: Sequence[FileSource], options: ReadOptions, notes: Sequence[Finding] = ...) -> RecordStream: ...
def read_txn_index(path: _Path) -> tuple[list[tuple[int, int, int, int]], list[Finding]] | None: ...
def read_producer_snapshot(
    path: _Path, end_offset: int
) -> tuple[list[tuple[int, int, int, int, int, int, int, int]], list[Finding]] | None: ...
def read_leader_epochs(path: _Path) -> tuple[list[tuple[int, int]], list[Finding]] | None: ...
def without_ended_transactions(snapshot: bytes, later: bytes) -> bytes: ...
def committed_transactions(files: Sequence[SegmentFile], options: ReadOptions) -> Transactions: ...

#: Position, stored checksum and last offset of a batch.
_Last: TypeAlias = tuple[int, int, int]

@final
class LogEnd:
    """Describe the end of a growing segment.

    Attributes:
        last: the last valid batch, as position, checksum and last offset; None if there is none.
        next_offset: the offset after the last batch; the first offset of the segment if there is none.
        tail: the bytes after the batch. "complete": the batch is the end. "torn": inside an entry that may still be written. "zeros":
            zeros of a preallocated file. "damaged": invalid bytes, or an entry with valid batches after its start.
        position: position of these bytes; None for a complete log.
        stop: position of the zeros at the end, or None.
        finding: the finding of a damaged tail; None if damage is skipped.
        is_cut: True if the last batch of the previous look is gone.
    """

    @property
    def last(self) -> _Last | None: ...
    @property
    def next_offset(self) -> int: ...
    @property
    def tail(self) -> Literal["complete", "torn", "zeros", "damaged"]: ...
    @property
    def position(self) -> int | None: ...
    @property
    def stop(self) -> int | None: ...
    @property
    def finding(self) -> Finding | None: ...
    @property
    def is_cut(self) -> bool: ...

class GrowingLog:
    def __new__(cls, options: ReadOptions) -> Self: ...
    def end(self, segment: SegmentFile, *, is_checked: bool = True) -> LogEnd: ...
    def last_valid(self, segment: SegmentFile) -> LogEnd: ...
    def has(self, segment: SegmentFile, last: _Last) -> bool: ...
    def stable_offset(self, segments: Sequence[SegmentFile], until: int) -> int: ...
    def forget_others(self, segments: Sequence[SegmentFile]) -> None: ...

class Follower:
    @property
    def next_offset(self) -> int | None: ...
    def __new__(cls, start: int | None, options: ReadOptions, wait: float = 0.0) -> Self: ...
    def begin(self, segments: Sequence[SegmentFile]) -> None: ...
    def next_found(self) -> tuple[SegmentFile, _Part, int | None] | tuple[SegmentFile, Finding] | str | SegmentKeyError | None: ...

def validate_log(
    files: Sequence[tuple[_Path, int | None, tuple[int, int | None] | None, int | None]],
    directories: Sequence[_Path],
    depth_name: str | None,
    options: ReadOptions,
    *,
    reports_shared: bool = True,
    previous: FileSource | None = None,
    is_followed: bool = False,
    recorded: RecordedLogs | None = None,
) -> tuple[list[Finding], IoStats, list[tuple[int, int, int, int] | None]]: ...
def rebuild_indexes(
    log_paths: Sequence[tuple[_Path, int]], out_dir: _Path, *, index_interval_bytes: int | None = None
) -> tuple[int, list[str]]: ...

@final
class StagedWriter:
    def __new__(cls, directory: _Path, encode: EncodeOptions, options: Any) -> Self: ...
    def write(self, rows: Any, now: int) -> None: ...
    def partitions(self, known: int) -> list[tuple[str, int]]: ...
    def finish(self) -> list[tuple[str, int, str, int, int]]: ...

def place_staged(
    staged: Sequence[tuple[_Path, int]],
    directory: _Path,
    base_offset: int,
    *,
    format: str,
    level: int | None,
    segment_bytes: int,
) -> tuple[list[tuple[int, list[str]]], int]: ...
def segment_end(path: _Path, base_offset: int) -> tuple[int, int, int]: ...
def decode_array(array: _ArrowColumn, options: ReadOptions) -> ArrowArray: ...
def batch_info_array(array: _ArrowColumn, options: ReadOptions) -> ArrowArray: ...
def validate_array(array: _ArrowColumn, depth_name: str, options: ReadOptions) -> ArrowArray: ...
def explode_array(array: _ArrowColumn, options: ReadOptions) -> tuple[ArrowBatch, ArrowArray]: ...

@final
class Lz4Rewriter:
    def __new__(cls, source: Any, form: str, limits: Limits | None, is_whole: bool) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> bytes: ...

def lz4_header_checksum(frame: Any, form: str) -> int: ...
def lz4_survey(source: Any, limits: Limits | None) -> list[tuple[int, str, bool, int, int]]: ...

_VersionRow: TypeAlias = tuple[int, int | None, str, str | None, str, bool, str, str | None]
_ClientRow: TypeAlias = tuple[str, int | None, int | None, str, list[str], list[str], str, str, str]

def compat_versions(api: str) -> list[_VersionRow]: ...
def compat_clients() -> list[_ClientRow]: ...
def compat_client(release: str) -> int | None: ...
def compat_errors() -> list[tuple[int, str, str]]: ...
def compat_verdict(api: str, version: int, release: str | None, format: str, compression: str) -> tuple[int | None, str | None, str]: ...
def encode_array(array: _ArrowColumn, options: EncodeOptions) -> ArrowArray: ...

_LossRow: TypeAlias = tuple[str, int, str, int, int]
_StoppedRow: TypeAlias = tuple[int, int, int, str]
_MapRow: TypeAlias = tuple[int, int, int]
_ConvertedRow: TypeAlias = tuple[bytes | None, list[_LossRow], _StoppedRow | None, list[Finding], list[_MapRow], int | None]
_ProducerRow: TypeAlias = tuple[int, int, list[tuple[int, int, int, int, int]]]
_AppendedRow: TypeAlias = tuple[bytes, int, int, int, bool, list[_ProducerRow]]

def convert(source: Any, options: ReadOptions, conversion: ConvertOptions, out: Any = None, on_map: Any = None) -> _ConvertedRow: ...
def convert_array(array: _ArrowColumn, options: ReadOptions, conversion: ConvertOptions) -> ArrowArray: ...

#: Position, bytes, first offset, last offset, entries.
_KeptRow: TypeAlias = tuple[int, int, int, int, int]
#: Position, bytes, rule, offset before, offset after.
_LostRow: TypeAlias = tuple[int, int, str, int | None, int | None]
_Totals: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int]
_Digest: TypeAlias = tuple[str, int]
_RewrittenRow: TypeAlias = tuple[bytes | None, list[RangeRow], bool, int, _Digest, _Digest, list[Finding], int]
_FoundRows: TypeAlias = tuple[list[Finding], list[Finding]]
_SalvagedRow: TypeAlias = tuple[bytes | None, bytes | None, list[_KeptRow], list[_LostRow], bool, _FoundRows, _Totals]

@final
class RecordSections:
    def __new__(cls, source: Any, options: ReadOptions) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> list[bytes]: ...

def salvage(source: Any, options: ReadOptions, fit: SalvageOptions, out: Any = None, aside: Any = None) -> _SalvagedRow: ...

@final
class KeySet:
    def __new__(cls, keys: Sequence[Any] = ..., arrays: Sequence[Any] = ..., files: Sequence[str | os.PathLike[str]] = ...) -> Self: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: bytes | None, /) -> bool: ...

@final
class PlaceSet:
    def __new__(cls, arrays: Sequence[Any]) -> Self: ...
    def __len__(self) -> int: ...

@final
class PartitionEnd:
    def __new__(cls, sources: Sequence[Any], options: ReadOptions, snapshot: bytes | None = None, log_start: int | None = None) -> Self: ...
    @property
    def end_offset(self) -> int | None: ...
    @property
    def open_offset(self) -> int | None: ...
    @property
    def snapshots(self) -> list[bytes]: ...

@final
class CompactionRound:
    def __new__(
        cls,
        sources: Sequence[Any],
        options: ReadOptions,
        end: PartitionEnd,
        first_offset: int,
        memory: int,
        deletion: tuple[int, int],
    ) -> Self: ...
    @property
    def latest_offset(self) -> int | None: ...
    @property
    def is_full(self) -> bool: ...
    @property
    def keys(self) -> int: ...

def compact(
    source: Any,
    options: ReadOptions,
    how: RewriteOptions,
    end: PartitionEnd,
    compaction: CompactionRound,
    out: Any = None,
    is_dry: bool = False,
) -> _RewrittenRow: ...
def rewrite(
    source: Any, options: ReadOptions, how: RewriteOptions, end: PartitionEnd, out: Any = None, is_dry: bool = False
) -> _RewrittenRow: ...
def broker_append(source: Any, options: Any, producers: Sequence[_ProducerRow]) -> _AppendedRow: ...
def broker_fetch(source: Any, options: Any) -> bytes: ...

#: Key, whether it is a directory, bytes, the time of the last write in seconds since the epoch, and the tag of the version.
_UploadRow: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]

@final
class Place:
    """A path of this machine, or a URI of a store or of uploads, with its options and keys. Its text shows none of them."""

    def __new__(cls, path: _Path, storage_options: Mapping[str, str] | None = None) -> Place: ...
    @property
    def path(self) -> str:
        """As it is used inside the package: a URI has its options."""

    @property
    def name(self) -> str:
        """The last part."""

    @property
    def scheme(self) -> str:
        """Of a URI, empty for a path."""

    @property
    def host(self) -> str:
        """Bucket, account or name node."""

    @property
    def user(self) -> str:
        """Of HDFS; in Azure the container."""

    @property
    def key(self) -> str:
        """The path in the store."""

    @property
    def is_stored(self) -> bool:
        """True for a URI of a store."""

    @property
    def is_uploaded(self) -> bool:
        """True for a URI of uploads that are read as log directories."""

    @property
    def here(self) -> str | None:
        """The path of a file of this machine, or of the objects of an upload here; None for a file in a store."""

    @property
    def keys(self) -> str:
        """The text of the key ring of uploads."""

    @staticmethod
    def redacted_uri(path: _Path) -> str: ...
    @staticmethod
    def is_uri(path: _Path) -> bool: ...
    def joined(self, name: str) -> Place: ...
    def parent(self) -> Place: ...
    def absolute(self) -> Place: ...
    def objects(self) -> Place: ...
    def uploaded(self, keys: str | None = None, layout: str | None = None) -> Place: ...
    def uploaded_like(self, other: Place) -> Place: ...
    def without_layout(self) -> Place: ...
    def with_data_key(self) -> Place: ...
    def uploaded_name(self) -> tuple[str, str | None] | None: ...
    def entry(self) -> PlaceEntry: ...
    def entries(self) -> list[PlaceEntry]: ...
    def names(self) -> list[str]: ...
    def files_below(self) -> list[PlaceEntry]: ...
    def is_directory(self) -> bool: ...
    def exists(self) -> bool: ...
    def open(self) -> OpenFile: ...
    def read(self) -> bytes | None: ...
    def put(self, data: bytes) -> None: ...
    def put_file(self, source: _Path) -> None: ...
    def settle(self, source: Place, *, undo: bool = False) -> None: ...
    def remove(self, *, tree: bool = False) -> None: ...
    def sync(self) -> None: ...
    def uploads(self) -> list[_UploadRow]: ...
    @staticmethod
    def lost_indexes(logs: Sequence[_Path]) -> list[tuple[str, Finding | None]]: ...
    @staticmethod
    def requests() -> list[tuple[str, int]]: ...
    @staticmethod
    def forget_chunks() -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class PlaceEntry:
    """A file or directory of a listing."""

    @property
    def path(self) -> str:
        """Its path or URI."""

    @property
    def name(self) -> str:
        """The last part of the path."""

    @property
    def is_directory(self) -> bool:
        """True for a directory."""

    @property
    def size(self) -> int:
        """Bytes of a file."""

    @property
    def modified(self) -> float | None:
        """The time of the last write in seconds since the epoch, where it is known."""

    @property
    def tag(self) -> str | None:
        """The tag of the version, where a store has one."""

@final
class OpenFile:
    """A file as it was when it was opened. It may be read from several threads."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def version(self) -> tuple[int, str]:
        """The size, and a text that differs between files of the same size."""

    @property
    def offsets(self) -> tuple[int, int | None] | None:
        """First and last offset of a segment of tiered storage, as far as they are known; None for another file."""

    def read_at(self, position: int, length: int) -> bytes: ...
    def ensure_same(self) -> None: ...

@final
class BufferFile:
    """A buffer that can be read as a file as long as this object is there. A writable buffer is copied a range at a time."""

    def __new__(cls, buffer: Any) -> BufferFile: ...
    @property
    def path(self) -> str:
        """The URI of the file."""

def register_package(
    store_uri: type[str],
    io_stats: type[dict[str, int]],
    registry_error: Callable[[str], BaseException],
    data_key: Callable[[str, str, bytes, str], bytes],
    resolver: Callable[[Any, bool], Any],
) -> None: ...
