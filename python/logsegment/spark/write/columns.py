"""The columns of a write, as Spark's Kafka sink takes them: checked before any task runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logsegment.spark.options.modes import CORRUPT_RECORD
from logsegment.spark.write.options import WriteOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

BYTES = ("string", "binary")
#: Which Spark types a column may have, by name. Others of a DataFrame are not looked at, as by Spark's Kafka sink.
TYPES = {
    "key": BYTES,
    "value": BYTES,
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
    "timestampMs": ("bigint",),
    "headers": ("array<struct<key:string,value:binary>>",),
}


def written_columns(schema: StructType, options: WriteOptions) -> list[str]:
    """Names of the columns that are written.

    Raises:
        ValueError: without a column `value`, or a topic; for a column of another type, two of times, or one that tells of damage.
    """
    if CORRUPT_RECORD in schema.fieldNames():
        told = f"column {CORRUPT_RECORD} tells of damaged places, whose rows are no records"
        raise ValueError(f'{told}: leave them out, .where("{CORRUPT_RECORD} is null").drop("{CORRUPT_RECORD}")')
    found = {field.name: field.dataType.simpleString() for field in schema.fields if field.name in TYPES}
    if options.topic is not None:
        # Spark's Kafka sink does not look at the column then, whatever it holds.
        found.pop("topic", None)
    if "value" not in found:
        raise ValueError(f"a column value is needed; there are {', '.join(schema.fieldNames()) or 'none'}")
    if "topic" not in found and options.topic is None:
        raise ValueError("a topic is needed: a column topic, or option topic for all rows")
    for name, own in found.items():
        if own not in TYPES[name]:
            raise ValueError(f"column {name} must be {' or '.join(TYPES[name])}, not {own}")
    if {"timestamp", "timestampMs"} <= found.keys():
        raise ValueError("columns timestamp and timestampMs both say the time of a record: drop one of them")
    return list(found)
