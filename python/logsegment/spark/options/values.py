"""Options of decoded keys and values: `values`, `keyValues`, `schemas.path`, `schemas.framing`, `readerSchema`, `integers`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from logsegment._options import INTERNAL, PRIMITIVES, Framing, Integers, KeyValues, Values, ensure_values, with_values
from logsegment._places import to_internal_uri
from logsegment.schemas import SchemaSet, from_path
from logsegment.spark.options.storage import storage_options

T = TypeVar("T", bound=str)
#: Options that mean nothing if neither keys nor values are decoded.
OF_SCHEMAS = ("schemas.path", "schemas.framing", "readerSchema", "integers")


def values_option(options: Mapping[str, str]) -> Values:
    """Parse the option `values`.

    Raises:
        ValueError: if it is not a known name.
    """
    return _kind(options, "values", get_args(Values))


def key_values_option(options: Mapping[str, str]) -> KeyValues:
    """Parse the option `keyValues`.

    Raises:
        ValueError: if it is not a known name.
    """
    return _kind(options, "keyValues", get_args(KeyValues))


def with_decoded(columns: list[str] | tuple[str, ...], options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns of a read, with those that `values` and `keyValues` add."""
    return with_values(columns, values_option(options), key_values_option(options))


def schemas_options(options: Mapping[str, str]) -> dict[str, Any]:
    """Parse the options of decoded keys and values into those of `ReadOptions`; none if nothing is decoded with schemas.

    Raises:
        ValueError: if an option is invalid, or needs another one.
        OSError: if the schemas cannot be read.
    """
    values, keys = values_option(options), key_values_option(options)
    if {values, keys} <= PRIMITIVES | {"raw", INTERNAL}:
        useless = next((name for name in OF_SCHEMAS if name.lower() in options), None)
        if useless is not None:
            raise ValueError(f"option {useless} needs the option values or keyValues, such as values=avro")
        return {} if {values, keys} <= {"raw", INTERNAL} else {"values": values, "key_values": keys}
    framing = _choice(options, "schemas.framing", get_args(Framing)) if "schemas.framing" in options else None
    integers = _choice(options, "integers", get_args(Integers))
    read = {"values": values, "key_values": keys, "schemas": _schemas(options), "framing": framing, "integers": integers}
    text = options.get("readerschema")
    return read if text is None else read | {"reader_schema": _reader_schema(text)}


def _schemas(options: Mapping[str, str]) -> SchemaSet | None:
    path = options.get("schemas.path", "")
    if not path:
        return None
    place = path if path.startswith(("http://", "https://")) else to_internal_uri(path)
    return from_path(place, storage_options=storage_options(options))


def _reader_schema(text: str) -> str | Path:
    """Return the text of a schema, or its file."""
    return Path(to_internal_uri(text)) if "\n" not in text and os.path.isfile(to_internal_uri(text)) else text


def _kind(options: Mapping[str, str], name: str, known: tuple[T, ...]) -> T:
    text = options.get(name.lower(), known[0]).strip().lower()
    ensure_values(f"option {name}", text, known)
    return next(name for name in known if name == text)


def _choice(options: Mapping[str, str], name: str, known: tuple[T, ...]) -> T:
    text = options.get(name.lower(), known[0])
    found = next((name for name in known if name == text.strip().lower()), None)
    if found is None:
        raise ValueError(f"option {name} must be {', '.join(known[:-1])} or {known[-1]}, not {text!r}")
    return found
