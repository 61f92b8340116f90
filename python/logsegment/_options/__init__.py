"""Options of calls: their names, types, values, defaults and help, declared once for all APIs.

A public function builds one `ReadOptions` or `EncodeOptions` and hands it on whole, down to the core. Each field of these dataclasses is an
option (`table`): the command line, Spark and the site make their options and tables of it. `decode` and `encode` document each option.
"""

from logsegment._options.columns import COLUMNS, INTERNAL, KEY_COLUMNS, RAW_COLUMNS, VALUE_COLUMNS, is_of_keys, is_of_values, with_values
from logsegment._options.encode import EncodeOptions
from logsegment._options.keywords import ArrayKeywords, EncodeKeywords, EntryKeywords, ReadKeywords, SkippingKeywords
from logsegment._options.read import EVERY_FORMAT, EntryOptions, PartitionOptions, ReadOptions, StoreOptions
from logsegment._options.table import DeclaredOption, Option, declared
from logsegment._options.times import Timestamp, ensure_ordered, milliseconds, parsed_time, time_bounds
from logsegment._options.types import (
    LIMIT_NAMES,
    Binary,
    CodecRegistry,
    Compression,
    CompressionName,
    Depth,
    Format,
    Isolation,
    LogStartOffset,
    LZ4HeaderChecksum,
    OnBadValue,
    OnError,
    Quirk,
    SchemaSource,
    TimestampType,
    Unreadable,
    WrittenFormat,
    ensure_offsets,
    ensure_one_of,
    ensure_quirks,
    partition_number,
)
from logsegment._options.value_kinds import PRIMITIVES, Framing, Integers, KeyValues, Values, WrittenValues, ensure_values

__all__ = [
    "ArrayKeywords",
    "Binary",
    "COLUMNS",
    "CodecRegistry",
    "Compression",
    "CompressionName",
    "DeclaredOption",
    "Depth",
    "EVERY_FORMAT",
    "EncodeKeywords",
    "EncodeOptions",
    "EntryKeywords",
    "EntryOptions",
    "Format",
    "Framing",
    "INTERNAL",
    "Integers",
    "Isolation",
    "KEY_COLUMNS",
    "KeyValues",
    "LIMIT_NAMES",
    "LZ4HeaderChecksum",
    "LogStartOffset",
    "OnBadValue",
    "OnError",
    "Option",
    "PRIMITIVES",
    "PartitionOptions",
    "RAW_COLUMNS",
    "Quirk",
    "ReadKeywords",
    "ReadOptions",
    "SchemaSource",
    "SkippingKeywords",
    "StoreOptions",
    "Timestamp",
    "TimestampType",
    "Unreadable",
    "VALUE_COLUMNS",
    "Values",
    "WrittenFormat",
    "WrittenValues",
    "declared",
    "ensure_offsets",
    "ensure_one_of",
    "ensure_ordered",
    "ensure_quirks",
    "ensure_values",
    "is_of_keys",
    "is_of_values",
    "milliseconds",
    "parsed_time",
    "partition_number",
    "time_bounds",
    "with_values",
]
