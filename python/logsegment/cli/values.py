"""Options for what keys and values say: --values, --key-values, --schemas, --reader-schema, --framing, --integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import click

from logsegment import RecordStream
from logsegment._options import (
    PRIMITIVES,
    Framing,
    Integers,
    KeyValues,
    ReadOptions,
    StoreOptions,
    Values,
    is_of_keys,
    is_of_values,
)
from logsegment._text import count, listed
from logsegment.schemas import from_path

F = TypeVar("F", bound=Callable[..., Any])


#: The counters of a stream that say which formats were detected.
VALUE_FORMATS = ("avro_values", "json_values", "protobuf_values", "raw_values")


@dataclass(frozen=True, kw_only=True)
class ValueArguments:
    """The options of decoded keys and values."""

    values: Annotated[Values, ReadOptions] = "raw"
    key_values: Annotated[KeyValues, ReadOptions] = "raw"
    schemas: Annotated[str | None, ReadOptions] = None
    reader_schema: Annotated[str | None, ReadOptions] = None
    framing: Annotated[Framing | None, ReadOptions] = None
    integers: Annotated[Integers | None, ReadOptions] = None


class ReadingValues(Protocol):
    """The arguments of a verb with these options."""

    @property
    def decoding(self) -> ValueArguments:
        """Return the options of decoded keys and values."""

    @property
    def store(self) -> StoreOptions:
        """Return how the schemas are reached."""

    @property
    def is_redacted(self) -> bool:
        """Return True if payloads are not shown."""


def ensure_columns(options: ValueArguments, columns: Iterable[str]) -> None:
    """Fail for a column of decoded keys or values that are not decoded.

    Raises:
        click.UsageError: for the first of them.
    """
    names = list(columns)
    for is_of, kind, option in ((is_of_values, options.values, "--values"), (is_of_keys, options.key_values, "--key-values")):
        named = next(filter(is_of, names), None)
        if named is not None and kind in ("raw", "internal"):
            raise click.UsageError(f"the column {named} needs {option} auto, avro, json or protobuf")


def value_arguments(arguments: ReadingValues) -> dict[str, Any]:
    """Return the arguments of `logsegment.decode` for keys and values.

    Raises:
        click.UsageError: if schemas are missing, or options need others.
        OSError, ValueError: if the schemas cannot be read.
    """
    options = arguments.decoding
    ensure_useful(options)
    kinds = {options.values, options.key_values}
    if arguments.is_redacted and not kinds <= {"raw", "internal"}:
        raise click.UsageError("--redact shows no payloads, so that nothing is decoded: leave out --values and --key-values")
    may_lack = _WITHOUT | {"auto", "json"} | ({"avro"} if options.framing == "container" else set())
    if options.schemas is None and not kinds <= may_lack:
        raise click.UsageError("--schemas is missing: a registry's log, a directory of schema files, or one schema")
    schemas = None if options.schemas is None else from_path(options.schemas, storage_options=arguments.store.storage_options)
    return {
        "values": options.values,
        "key_values": options.key_values,
        "schemas": schemas,
        "reader_schema": None if options.reader_schema is None else Path(options.reader_schema),
        "framing": options.framing,
        "integers": options.integers or "int64",
    }


def ensure_useful(options: ValueArguments) -> None:
    """Fail for options about schemas if no keys and values are decoded with schemas."""
    if not {options.values, options.key_values} <= _WITHOUT:
        return
    given = (
        ("--schemas", options.schemas),
        ("--reader-schema", options.reader_schema),
        ("--framing", options.framing),
        ("--integers", options.integers),
    )
    useless = next((option for option, value in given if value is not None), None)
    if useless is not None:
        raise click.UsageError(f"{useless} needs --values auto, avro, json or protobuf (or --key-values)")


#: Kinds of values that need no schemas.
_WITHOUT = PRIMITIVES | {"raw", "internal"}


@dataclass
class MetValues:
    """Formats, framings and unknown schemas of the values of a read, for the lines at its end."""

    formats: Counter[str] = field(default_factory=Counter)
    framings: Counter[str] = field(default_factory=Counter)
    unknown: set[str] = field(default_factory=set)
    #: Topics with values of unknown schemas; the name of a file that is in no directory of a topic.
    topics: set[str] = field(default_factory=set)

    def add(self, stream: RecordStream, topic: str) -> None:
        """Add what a stream read of a topic."""
        self.formats.update({name: stream.io_stats.get(name, 0) for name in VALUE_FORMATS})
        self.framings.update(stream.framings)
        if unknown := stream.unknown_schemas:
            self.unknown.update(unknown)
            self.topics.add(topic)

    def lines(self, *, detects: bool) -> Iterator[str]:
        """Yield the lines; `detects` if formats were detected."""
        if detects:
            found = [f"{self.formats[name]:,} {name.removesuffix('_values')}" for name in VALUE_FORMATS if self.formats[name]]
            yield f"detected values: {', '.join(found) or 'none'}"
        if self.framings:
            found = [f"{name} ({count(number, 'value')})" for name, number in sorted(self.framings.items())]
            yield f"detected framing: {', '.join(found)}; --framing names it"
        if self.unknown:
            yield f"values of {count(len(self.topics), 'topic')} were not decoded: no schema for {unknown_schemas(self.unknown)}"


def unknown_schemas(names: Iterable[str]) -> str:
    """Return the names of schemas in one text: `ids 0, 7`."""
    ids = sorted(int(name.removeprefix("the id ")) for name in names if name.startswith("the id "))
    others = sorted(name for name in names if not name.startswith("the id "))
    shown = [f"{'id' if len(ids) == 1 else 'ids'} {listed([f'{schema_id}' for schema_id in ids], 10)}"] if ids else []
    return " and ".join([*shown, *([listed(others, 5)] if others else [])])
