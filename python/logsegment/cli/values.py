"""Options for what keys and values say: --values, --key-values, --schemas, --reader-schema, --framing, --integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args

import click

from logsegment._core import RecordStream
from logsegment._decode import decoded
from logsegment._options import (
    PRIMITIVES,
    Framing,
    Integers,
    KeyValues,
    ReadOptions,
    Values,
    ensure_values,
    is_of_keys,
    is_of_values,
)
from logsegment._text import count, listed
from logsegment._typed_values import Place, planned
from logsegment.cli.store_options import storage_options
from logsegment.schemas import from_path

F = TypeVar("F", bound=Callable[..., Any])


#: The counters of a stream that say which formats were detected.
VALUE_FORMATS = ("avro_values", "json_values", "protobuf_values", "raw_values")


class ValueArguments(Protocol):
    """The arguments of a verb with these options."""

    @property
    def values(self) -> Values:
        """How values are shown."""

    @property
    def key_values(self) -> KeyValues:
        """How keys are shown."""

    @property
    def schemas(self) -> str | None:
        """Where the schemas are."""

    @property
    def reader_schema(self) -> str | None:
        """The file of the schema as which values are read."""

    @property
    def framing(self) -> Framing | None:
        """How values name their schemas."""

    @property
    def integers(self) -> Integers | None:
        """The column of an integer of JSON without bounds."""

    @property
    def is_redacted(self) -> bool:
        """Payloads are not shown."""


class _KindType(click.Choice[Any]):
    """A kind of values; the error does not list each type of a window."""

    def __init__(self, known: tuple[str, ...]) -> None:
        super().__init__(known)
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            ensure_values("the kind", value, self.known)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


def values_options(function: F) -> F:
    """Add the options; the verb gets `values`, `key_values`, `schemas`, `reader_schema`, `framing` and `integers`."""
    text = (
        "Show values as raw bytes, as fields (auto, avro, json, protobuf), by Kafka's serializers (string, long, int, short, float, "
        "double, uuid), or the fields of Kafka's internal topics.  [default: raw]"
    )
    values = click.option("--values", type=_KindType(get_args(Values)), default="raw", metavar="KIND", help=text)
    text = "The same for keys, and windowed(TYPE) or session(TYPE) for keys of Kafka Streams.  [default: raw]"
    keys = click.option("--key-values", type=_KindType(get_args(KeyValues)), default="raw", metavar="KIND", help=text)
    text = "Schemas: a registry's log (_schemas-0) or URL, a directory of schema files, or the one schema of all values."
    schemas = click.option("--schemas", metavar="PATH", help=text)
    text = "Read all values as this schema (default: the newest version, or each as its own)."
    reader = click.option("--reader-schema", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help=text)
    text = f"How a value names its schema: {', '.join(get_args(Framing))}.  [default: detected]"
    framing = click.option("--framing", type=click.Choice(get_args(Framing)), metavar="NAME", help=text)
    text = "Show an integer of JSON whose schema has no bounds as 64 bits, or as a decimal of 38 digits.  [default: int64]"
    integers = click.option("--integers", type=click.Choice(get_args(Integers)), help=text)
    return values(keys(schemas(reader(framing(integers(function))))))


def typed(options: ValueArguments, columns: Iterable[str], places: Iterable[Place]) -> ReadOptions:
    """Return the options of a read of these columns, with the schemas of keys and values.

    Args:
        options: the arguments of the verb.
        columns: those of the output.
        places: all that is read.

    Raises:
        click.UsageError: if schemas are missing or bad.
        OSError: if a file cannot be read.
    """
    names = tuple(columns)
    for is_of, kind, option in ((is_of_values, options.values, "--values"), (is_of_keys, options.key_values, "--key-values")):
        named = next(filter(is_of, names), None)
        if named is not None and kind in ("raw", "internal"):
            raise click.UsageError(f"the column {named} needs {option} auto, avro, json or protobuf")
    read = ReadOptions(columns=names)
    without = PRIMITIVES | {"raw", "internal"}
    if {options.values, options.key_values} <= without:
        given = (
            ("--schemas", options.schemas),
            ("--reader-schema", options.reader_schema),
            ("--framing", options.framing),
            ("--integers", options.integers),
        )
        useless = next((option for option, value in given if value is not None), None)
        if useless is not None:
            raise click.UsageError(f"{useless} needs --values auto, avro, json or protobuf (or --key-values)")
        if {options.values, options.key_values} <= {"raw", "internal"}:
            return read
    if options.is_redacted:
        raise click.UsageError("--redact shows no payloads, so that nothing is decoded: leave out --values and --key-values")
    may_lack = without | {"auto", "json"} | ({"avro"} if options.framing == "container" else set())
    if options.schemas is None and not {options.values, options.key_values} <= may_lack:
        raise click.UsageError("--schemas is missing: a registry's log, a directory of schema files, or one schema")
    reader = None if options.reader_schema is None else Path(options.reader_schema)
    try:
        schemas = None if options.schemas is None else from_path(options.schemas, storage_options=storage_options())
        wanted = replace(
            read,
            values=options.values,
            key_values=options.key_values,
            schemas=schemas,
            reader_schema=reader,
            framing=options.framing,
            integers=options.integers or "int64",
        )
        found = replace(planned(wanted, list(places)), columns=names, values="raw", key_values="raw", schemas=None, reader_schema=None)
        # A field that the schemas do not have is told before anything is read.
        with decoded(b"", found):
            return found
    except OSError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from None


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
