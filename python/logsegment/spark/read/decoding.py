"""Decoded keys and values of a query: their schemas are found on the driver, once, and the columns become columns of Spark.

The types of the columns are fixed when the query is planned. A record whose schema is not known then is an error, or null with a finding.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from logsegment._options import ReadOptions
from logsegment._text import listed
from logsegment._typed_values import planned
from logsegment.spark.arrow_types import as_spark_array
from logsegment.spark.options.read import parse_decoding
from logsegment.spark.options.topics import discover

if TYPE_CHECKING:
    import pyarrow as pa

    from logsegment.spark.read.damage import Shape


def find_schemas(options: Mapping[str, str]) -> ReadOptions:
    """Return options of a read that have the schemas of keys and values and nothing else.

    Args:
        options: Spark's options, names in lower case.

    Raises:
        ValueError: if an option is invalid, or schemas are missing or bad.
        OSError: if a file cannot be read.
    """
    asked = parse_decoding(options)
    if asked is None or not asked.read.is_typed:
        return ReadOptions()
    found = discover(asked.paths, asked.selection, partition=asked.partitions, reports=asked.read.skips_damage)
    places = [(name.topic, file.source()) for name, files in found.logs.items() for file in files]
    unknown: list[str] = []
    try:
        found_schemas = with_schemas(ReadOptions(), planned(asked.read, places, unknown))
    except ValueError as error:
        if asked.read.schemas is None and asked.read.reader_schema is None:
            hint = "the log of a registry (_schemas-0), a directory of schema files, or the file of one schema"
            raise ValueError(f"option values or keyValues needs the option schemas.path: {hint} ({error})") from None
        raise
    if unknown:
        # Once, on the driver: the values are null.
        warnings.warn(f"values of unknown schemas are not decoded: no schema for {listed(unknown, 10)}", UserWarning, stacklevel=2)
    return found_schemas


def with_schemas(read: ReadOptions, decoding: ReadOptions) -> ReadOptions:
    """Return options of a read with the schemas of keys and values of other ones."""
    return replace(read, value_schemas=decoding.value_schemas, key_schemas=decoding.key_schemas)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a query.

    Attributes:
        names: those that Spark gets, in order.
        decoded: those that the records are decoded into; the offset is among them where findings about values need it.
        is_typed: keys or values are decoded.
    """

    names: tuple[str, ...]
    decoded: tuple[str, ...]
    is_typed: bool

    @classmethod
    def of(cls, names: Sequence[str], read: ReadOptions) -> Self:
        """Return the columns of a read."""
        is_typed = read.value_schemas is not None or read.key_schemas is not None
        needs_offset = is_typed and read.skips_damage and "offset" not in names
        return cls(tuple(names), (*names, "offset") if needs_offset else tuple(names), is_typed)

    @property
    def shape(self) -> Shape | None:
        """Make the columns of Spark out of the decoded ones; None if they are the same."""
        return self._shaped if self.is_typed else None

    def _shaped(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        return pa.RecordBatch.from_arrays([as_spark_array(rows.column(name)) for name in self.names], list(self.names))
