"""Names of the record columns, and the columns that decoded keys and values add."""

from __future__ import annotations

from collections.abc import Sequence

from logsegment._options.value_kinds import PRIMITIVES, KeyValues, Values

#: The record columns that `decode` builds by default.
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
#: All columns with what is stored.
RAW_COLUMNS = (
    *COLUMNS,
    "headersRaw",
    "timestampMs",
    "attributes",
    "producerId",
    "producerEpoch",
    "sequence",
    "partitionLeaderEpoch",
    "isTransactional",
    "isControl",
    "controlType",
    "magic",
    "compression",
    "batchBaseOffset",
    "entryPosition",
    "indexInEntry",
)
#: The column that `values="internal"` adds.
INTERNAL = "internal"
#: The columns that decoded values and keys add: what they say, and the ids of their schemas.
VALUE_COLUMNS = ("valueRecord", "valueSchemaId")
KEY_COLUMNS = ("keyRecord", "keySchemaId")


def with_values(columns: Sequence[str], values: Values, key_values: KeyValues = "raw") -> tuple[str, ...]:
    """Return the columns of a read, with the columns that `values` and `key_values` add last unless one of them is among the columns."""
    added: list[str] = []
    if values == INTERNAL:
        added += [INTERNAL]
    elif values != "raw" and not any(map(is_of_values, columns)):
        added += VALUE_COLUMNS[:1] if values in PRIMITIVES else VALUE_COLUMNS
    if key_values != "raw" and not any(map(is_of_keys, columns)):
        added += KEY_COLUMNS[:1] if key_values in PRIMITIVES else KEY_COLUMNS
    return (*columns, *(name for name in added if name not in columns))


def is_of_values(column: str) -> bool:
    """Return True for a column of decoded values."""
    return column in VALUE_COLUMNS or column.startswith(f"{VALUE_COLUMNS[0]}.")


def is_of_keys(column: str) -> bool:
    """Return True for a column of decoded keys."""
    return column in KEY_COLUMNS or column.startswith(f"{KEY_COLUMNS[0]}.")
