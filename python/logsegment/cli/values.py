"""Options for what keys and values say: --values, --key-values, --schemas, --reader-schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args

import click

from logsegment._decode import decoded
from logsegment._options import KeyValues, ReadOptions, Values, is_of_keys, is_of_values
from logsegment._typed_values import Place, planned
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
    def is_redacted(self) -> bool:
        """Payloads are not shown."""


def values_options(function: F) -> F:
    """Add the options; the verb gets `values`, `key_values`, `schemas` and `reader_schema`."""
    text = "Show values as raw bytes, as fields (auto, avro, json, protobuf), or the fields of Kafka's internal topics.  [default: raw]"
    values = click.option("--values", type=click.Choice(get_args(Values)), default="raw", metavar="KIND", help=text)
    text = "The same for keys: raw, auto, avro, json or protobuf.  [default: raw]"
    keys = click.option("--key-values", type=click.Choice(get_args(KeyValues)), default="raw", metavar="KIND", help=text)
    text = "Schemas: a registry's log (_schemas-0), a directory of schema files, or the one schema of all values."
    schemas = click.option("--schemas", metavar="PATH", help=text)
    text = "Read all values as this schema (default: the newest version, or each as its own)."
    reader = click.option("--reader-schema", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help=text)
    return values(keys(schemas(reader(function))))


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
    if options.values in ("raw", "internal") and options.key_values == "raw":
        for option, given in (("--schemas", options.schemas), ("--reader-schema", options.reader_schema)):
            if given is not None:
                raise click.UsageError(f"{option} needs --values auto, avro, json or protobuf (or --key-values)")
        return read
    if options.is_redacted:
        raise click.UsageError("--redact shows no payloads, so that nothing is decoded: leave out --values and --key-values")
    if options.schemas is None and not {options.values, options.key_values} <= {"raw", "internal", "auto", "json"}:
        raise click.UsageError("--schemas is missing: a registry's log, a directory of schema files, or one schema")
    reader = None if options.reader_schema is None else Path(options.reader_schema)
    try:
        schemas = None if options.schemas is None else from_path(options.schemas)
        wanted = replace(read, values=options.values, key_values=options.key_values, schemas=schemas, reader_schema=reader)
        found = replace(planned(wanted, list(places)), columns=names, values="raw", key_values="raw", schemas=None, reader_schema=None)
        # A field that the schemas do not have is told before anything is read.
        with decoded(b"", found):
            return found
    except OSError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def met_formats(counts: Mapping[str, int]) -> str:
    """Return the sentence on the formats that `--values auto` detected.

    Args:
        counts: the counters `VALUE_FORMATS`.
    """
    found = [f"{counts[name]:,} {name.removesuffix('_values')}" for name in VALUE_FORMATS if counts.get(name)]
    return f"detected values: {', '.join(found) or 'none'}"
