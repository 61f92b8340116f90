"""Schemas from files, and one schema for all values."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

from logsegment._core import ensure_schema
from logsegment._options import Framing
from logsegment._output import write_file
from logsegment._storage import StorageOptions
from logsegment.schemas.local import SUFFIXES, Neighbours, schema_files, text_of
from logsegment.schemas.model import Schema, SchemaReference, SchemaSet, SchemaType, SubjectVersion
from logsegment.schemas.registry import from_registry
from logsegment.schemas.registry_log import from_log

#: The file of a directory that has the names of its schemas.
INDEX = "schemas.json"

StrPath = str | os.PathLike[str]


def single(
    schema: str | os.PathLike[str] | Mapping[str, Any] | list[Any], type: str | None = None, *, framing: Framing = "auto"
) -> SchemaSet:
    """Return the one schema of all values.

    Args:
        schema: the path of a file (an `os.PathLike`, or a text that ends with `.avsc`, `.json` or `.proto`), the text of the schema, or
            parsed JSON. A file sees the files around it: imports are relative to it and to the directories above it, names of Avro are
            those of other files of its directory, `$ref` is relative to the file.
        type: "avro", "json" or "protobuf"; None is that of the suffix of a path, and "avro" for a text.
        framing: see `SchemaSet`. Any id in a value means this schema.

    Returns:
        A `SchemaSet` of one schema without an id.

    Raises:
        ValueError, TypeError: if an argument is invalid, or the schema is not one of the type.
        OSError: if the file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> ls.schemas.single({"type": "array", "items": "long"})
        SchemaSet(1 schema, 0 subjects, framing='auto')
    """
    kind: SchemaType
    if isinstance(schema, str | os.PathLike) and (path := _path_of(schema)) is not None:
        kind = _type_named(type) if type is not None else next((name for name, end in SUFFIXES.items() if path.suffix == end), "AVRO")
        text = text_of(path)
        found = Schema(kind, text, imports=Neighbours(path.parent).imports_of(kind, path, text))
    else:
        kind = "AVRO" if type is None else _type_named(type)
        if not isinstance(schema, str | Mapping | list):
            raise TypeError(f"schema must be a path, a text or parsed JSON, not {schema.__class__.__name__}")
        found = Schema(kind, schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False))
    _ensure_type(found, "the default" if type is None else f"type={type!r}")
    return SchemaSet((found,), framing)


def _path_of(schema: StrPath) -> Path | None:
    """Return the path that is meant; None for the text of a schema."""
    if isinstance(schema, os.PathLike):
        return Path(schema)
    is_name = "\n" not in schema and not set(schema) & set('{}"') and Path(schema).suffix in SUFFIXES.values()
    return Path(schema) if is_name else None


def _ensure_type(schema: Schema, given: str) -> None:
    """Raise a ValueError, which names the argument `type`, for a text that is not a schema of its type."""
    try:
        ensure_schema(schema.type, schema.text, schema.imports)
    except ValueError as error:
        other = next((kind for kind in SUFFIXES if kind != schema.type and _is_of_type(kind, schema)), None)
        # Any other schema is an error of the values that need it.
        if other is not None:
            hint = f'it is one of another type: pass type="{other.lower()}"'
            raise ValueError(f"schema is not of type {schema.type} ({given}): {error}; {hint}") from None


def _is_of_type(kind: str, schema: Schema) -> bool:
    """Return True if a text is certainly of a type: of JSON Schema, any JSON is one."""
    if kind == "JSON" and not any(f'"{word}"' in schema.text for word in ("$schema", "properties", "$ref", "$defs", "definitions")):
        return False
    try:
        ensure_schema(kind, schema.text, schema.imports)
    except ValueError:
        return False
    return True


def from_directory(directory: StrPath, *, ids: Mapping[int | str, StrPath] | None = None, framing: Framing = "auto") -> SchemaSet:
    """Read schema files: `.avsc` is Avro, `.json` is JSON Schema, `.proto` is Protobuf. They see each other, as in `single`.

    Args:
        directory: the directory. Its file `schemas.json`, if there is one, names the schemas: an object of ids and file names, or a list of
            objects as `logsegment schemas export` writes it, with GUIDs, references and subjects too.
        ids: files by id (a number) or GUID (text), instead of `schemas.json`. Paths are relative to the directory.
        framing: see `SchemaSet`.

    Returns:
        A `SchemaSet`. Without `ids` and `schemas.json`, a file named after a number (`7.avsc`) or a GUID has that id. Schemas without
        ids are found by Avro's single objects, by their fingerprint; the one that no other file needs is that of all other values.

    Raises:
        ValueError: if a file or the index is invalid.
        OSError: if a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> ls.schemas.from_directory("schemas", ids={7: "bare.avsc"}).by_id(7).type
        'AVRO'
    """
    root = Path(directory)
    index, around = root / INDEX, Neighbours(root)
    if ids is not None:
        schemas = [_named_schema(around, name, root / path) for name, path in ids.items()]
    elif index.exists():
        schemas = _indexed(around, index)
    else:
        schemas = [_named_schema(around, path.stem, path) for path in schema_files(root)]
    return SchemaSet(tuple(schemas), framing, is_local=not any(schema.versions for schema in schemas))


def from_path(path: StrPath, *, framing: Framing | None = None, storage_options: StorageOptions | None = None) -> SchemaSet:
    """Read schemas from a schema file, a directory of schema files, the log of a registry, or the URL of a registry.

    Args:
        path: the path; a file with the suffix `.avsc`, `.json` or `.proto` is the one schema of all values, as `single` reads it.
            `http://` and `https://` are a registry, which `from_registry` reads; user and password may be in the URL.
        framing: see `SchemaSet`; None is "auto".
        storage_options: options of the store of a log; see `Log`.

    Returns:
        A `SchemaSet`.

    Raises:
        ValueError, OSError: as in `from_log`, `from_directory`, `from_registry` and `single`.

    Example:
        >>> import logsegment as ls
        >>> len(ls.schemas.from_path("_schemas-0")), len(ls.schemas.from_path("schemas"))
        (460, 1)
    """
    if str(path).startswith(("http://", "https://")):
        return from_registry(str(path), framing=framing or "auto")
    place = Path(path)
    if place.suffix in SUFFIXES.values() and place.is_file():
        return single(place, framing=framing or "auto")
    if place.is_dir() and schema_files(place):
        return from_directory(place, framing=framing or "auto")
    return from_log(path, framing=framing or "auto", storage_options=storage_options)


def written(schemas: SchemaSet, directory: Path) -> list[Path]:
    """Write one file for each schema, and the index that `from_directory` reads; return the files.

    Args:
        schemas: those of one or several contexts.
        directory: an existing directory.
    """
    files, entries = [], []
    for number, schema in enumerate(schemas):
        name = f"{schema.id}" if schema.id is not None else schema.guid or f"schema-{number}"
        place = directory / f"{schema.context}{'-' if schema.context else ''}{name}{SUFFIXES[schema.type]}"
        write_file(place, schema.text.encode())
        files.append(place)
        entry = schema.to_dict()
        del entry["schema"]
        entries.append({"file": place.name} | entry)
    index = directory / INDEX
    write_file(index, (json.dumps(entries, ensure_ascii=False, indent=2) + "\n").encode())
    return [*files, index]


def _indexed(around: Neighbours, index: Path) -> list[Schema]:
    try:
        content = json.loads(index.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return [_named_schema(around, name, around.root / path) for name, path in content.items()]
        return [_listed_schema(around, entry) for entry in content]
    except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError(f"{index} is not an index of schemas: {error}") from None


def _listed_schema(around: Neighbours, entry: Mapping[str, Any]) -> Schema:
    references = tuple(SchemaReference(each["name"], each["subject"], each["version"]) for each in entry.get("references", ()))
    versions = tuple(SubjectVersion(each["subject"], each["version"], each.get("state", "live")) for each in entry.get("versions", ()))
    found = _schema_file(around, around.root / entry["file"])
    return Schema(
        entry["schemaType"],
        found.text,
        entry.get("id"),
        entry.get("guid"),
        references,
        versions,
        entry.get("context", ""),
        tuple(entry.get("globalIds", ())),
        # What a registry lists says what is needed.
        () if "references" in entry else found.imports,
    )


def _named_schema(around: Neighbours, name: int | str, path: Path) -> Schema:
    """Return the schema of a file with the id or GUID that a name is; without one for another name."""
    found = _schema_file(around, path)
    text = str(name)
    if text.lstrip("-").isdecimal():
        return replace(found, id=int(text))
    try:
        return replace(found, guid=str(UUID(text)))
    except ValueError:
        return found


def _schema_file(around: Neighbours, path: Path) -> Schema:
    for kind, suffix in SUFFIXES.items():
        if path.suffix == suffix:
            text = text_of(path)
            return Schema(kind, text, imports=around.imports_of(kind, path, text))
    raise ValueError(f"{path} is not a schema file: its name ends with none of {', '.join(SUFFIXES.values())}")


def _type_named(name: str) -> SchemaType:
    for kind in get_args(SchemaType):
        if name.upper() == kind:
            found: SchemaType = kind
            return found
    raise ValueError(f"type must be 'avro', 'json' or 'protobuf', not {name!r}")
