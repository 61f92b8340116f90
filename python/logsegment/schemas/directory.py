"""Schemas from files, and one schema for all values."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from logsegment._output import write_file
from logsegment.schemas.model import Framing, Schema, SchemaReference, SchemaSet, SchemaType, SubjectVersion
from logsegment.schemas.registry import from_registry
from logsegment.schemas.registry_log import from_log

#: The suffixes of schema files.
SUFFIXES: dict[SchemaType, str] = {"AVRO": ".avsc", "JSON": ".json", "PROTOBUF": ".proto"}
#: The file of a directory that has the names of its schemas.
INDEX = "schemas.json"

StrPath = str | os.PathLike[str]


def single(schema: str | os.PathLike[str] | Mapping[str, Any] | list[Any], type: str = "avro", *, framing: Framing = "none") -> SchemaSet:
    """Return the one schema of all values.

    Args:
        schema: the text of the schema, or parsed JSON, or the path of a file (as `os.PathLike`).
        type: "avro", "json" or "protobuf".
        framing: see `SchemaSet`. Any id in a value means this schema.

    Returns:
        A `SchemaSet` of one schema without an id.

    Raises:
        ValueError, TypeError: if an argument is invalid.
        OSError: if the file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> ls.schemas.single({"type": "array", "items": "long"})
        SchemaSet(1 schema, 0 subjects, framing='none')
    """
    if isinstance(schema, os.PathLike):
        text = Path(schema).read_text(encoding="utf-8")
    else:
        text = schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False)
    return SchemaSet((Schema(_type_named(type), text),), framing)


def from_directory(directory: StrPath, *, ids: Mapping[int | str, StrPath] | None = None, framing: Framing = "auto") -> SchemaSet:
    """Read schema files: `.avsc` is Avro, `.json` is JSON Schema, `.proto` is Protobuf.

    Args:
        directory: the directory. Its file `schemas.json`, if there is one, names the schemas: an object of ids and file names, or a list of
            objects as `logsegment schemas export` writes it, with GUIDs, references and subjects too.
        ids: files by id (a number) or GUID (text), instead of `schemas.json`. Paths are relative to the directory.
        framing: see `SchemaSet`.

    Returns:
        A `SchemaSet`. Without `ids` and `schemas.json` the schemas have no ids; Avro's single objects find them by their fingerprint.

    Raises:
        ValueError: if a file or the index is invalid.
        OSError: if a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> ls.schemas.from_directory("schemas", ids={7: "bare.avsc"}).by_id(7).type
        'AVRO'
    """
    root = Path(directory)
    index = root / INDEX
    if ids is not None:
        schemas = [_named_schema(root, name, path) for name, path in ids.items()]
    elif index.exists():
        schemas = _indexed(root, index)
    else:
        known = tuple(SUFFIXES.values())
        schemas = [_schema_file(path) for path in sorted(root.iterdir()) if path.suffix in known]
    return SchemaSet(tuple(schemas), framing)


def from_path(path: StrPath, *, framing: Framing | None = None) -> SchemaSet:
    """Read schemas from a schema file, a directory of schema files, the log of a registry, or the URL of a registry.

    Args:
        path: the path; a file with the suffix `.avsc`, `.json` or `.proto` is the one schema of all values, as `single` reads it.
            `http://` and `https://` are a registry, which `from_registry` reads; user and password may be in the URL.
        framing: see `SchemaSet`; None is "none" for a file, and "auto" otherwise.

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
    for kind, suffix in SUFFIXES.items():
        if place.suffix == suffix and place.is_file():
            return single(place, kind.lower(), framing=framing or "none")
    if place.is_dir() and any(one.suffix in SUFFIXES.values() for one in place.iterdir()):
        return from_directory(place, framing=framing or "auto")
    return from_log(str(path), framing=framing or "auto")


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


def _indexed(root: Path, index: Path) -> list[Schema]:
    content = json.loads(index.read_text(encoding="utf-8"))
    try:
        if isinstance(content, dict):
            return [_named_schema(root, name, path) for name, path in content.items()]
        return [_listed_schema(root, one) for one in content]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{index} is not an index of schemas: {error}") from None


def _listed_schema(root: Path, one: Mapping[str, Any]) -> Schema:
    references = tuple(SchemaReference(each["name"], each["subject"], each["version"]) for each in one.get("references", ()))
    versions = tuple(SubjectVersion(each["subject"], each["version"], each.get("state", "live")) for each in one.get("versions", ()))
    text = _schema_file(root / one["file"]).text
    return Schema(
        one["schemaType"],
        text,
        one.get("id"),
        one.get("guid"),
        references,
        versions,
        one.get("context", ""),
        tuple(one.get("globalIds", ())),
    )


def _named_schema(root: Path, name: int | str, path: StrPath) -> Schema:
    found = _schema_file(root / path)
    text = str(name)
    if text.lstrip("-").isdecimal():
        return Schema(found.type, found.text, int(text))
    return Schema(found.type, found.text, guid=text)


def _schema_file(path: Path) -> Schema:
    for kind, suffix in SUFFIXES.items():
        if path.suffix == suffix:
            return Schema(kind, path.read_bytes().decode("utf-8"))
    raise ValueError(f"{path} is not a schema file: its name ends with none of {', '.join(SUFFIXES.values())}")


def _type_named(name: str) -> SchemaType:
    for kind in get_args(SchemaType):
        if name.upper() == kind:
            found: SchemaType = kind
            return found
    raise ValueError(f"type must be 'avro', 'json' or 'protobuf', not {name!r}")
