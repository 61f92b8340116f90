"""The local files that a schema file needs: imports of Protobuf, names of Avro, `$ref` of JSON Schema."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from logsegment.schemas.model import SchemaType

#: The suffixes of schema files.
SUFFIXES: dict[SchemaType, str] = {"AVRO": ".avsc", "JSON": ".json", "PROTOBUF": ".proto"}
#: Names and texts of files.
Files = tuple[tuple[str, str], ...]

#: Most files that one schema needs, and most files that are looked at for names.
_MOST_FILES, _MOST_NEIGHBOURS = 1_000, 2_000
#: Most bytes of a schema file.
_MOST_BYTES = 16 << 20
#: Directories above a file that imports may be relative to.
_MOST_ROOTS = 16
_PARTITION = re.compile(r".+-\d+")
_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_PROTO_TOKENS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[\w.]+|\S", re.DOTALL)


def schema_files(directory: Path, depth: int = 4) -> list[Path]:
    """Return the schema files of a directory; without any, those of the directories in it.

    Directories of partitions and hidden ones are left out.
    """
    places = sorted(directory.iterdir())
    files = [place for place in places if place.suffix in SUFFIXES.values() and place.is_file()]
    if files or depth == 0:
        return files
    inner = [place for place in places if place.is_dir() and not place.name.startswith(".") and not _PARTITION.fullmatch(place.name)]
    return [file for directory in inner for file in schema_files(directory, depth - 1)]


def text_of(path: Path) -> str:
    """Return the text of a schema file.

    Raises:
        ValueError: if it is not UTF-8, or too long to be a schema.
        OSError: if it cannot be read.
    """
    if os.path.getsize(path) > _MOST_BYTES:
        raise ValueError(f"{path} is not a schema file: it has more than {_MOST_BYTES} bytes")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a schema file: {error}") from None


@dataclass
class Neighbours:
    """The files around schema files; each is read once.

    Args:
        root: the directory that the caller named; files below it are searched for names.
    """

    root: Path
    texts: dict[Path, str | None] = field(default_factory=dict)

    def imports_of(self, kind: SchemaType, path: Path, text: str) -> Files:
        """Return names and texts of the files that a schema needs, each after those that it needs itself."""
        found: dict[str, str] = {}
        if kind == "PROTOBUF":
            self._add_imports(path.absolute(), text, _roots(path), found)
        elif kind == "AVRO":
            self._add_names(text, {path.absolute()}, found)
        else:
            self._add_references(path.absolute(), text, found)
        return tuple(found.items())

    def _text(self, path: Path) -> str | None:
        """Return the text of a file; None if it is not there or is not a text."""
        if path not in self.texts:
            try:
                self.texts[path] = text_of(path) if path.is_file() else None
            except (OSError, ValueError):
                self.texts[path] = None
        return self.texts[path]

    def _first(self, places: Iterator[Path]) -> tuple[Path, str] | None:
        return next(((place, text) for place in places if (text := self._text(place)) is not None), None)

    def _add_imports(self, path: Path, text: str, roots: list[Path], found: dict[str, str]) -> None:
        for name in imported(text):
            if name in found or len(found) >= _MOST_FILES or not _is_relative(name):
                continue
            # As for the compiler, the roots come before the directory of the importing file.
            file = self._first(root / name for root in [*roots, path.parent])
            if file is not None:
                found[name] = file[1]
                self._add_imports(*file, roots, found)

    def _add_names(self, text: str, seen: set[Path], found: dict[str, str]) -> None:
        for name in _missing_names(text):
            place = self._by_name.get(name)
            if place is None or place in seen or len(found) >= _MOST_FILES:
                continue
            seen.add(place)
            inner = self._text(place) or ""
            self._add_names(inner, seen, found)
            found[f"{place}"] = inner

    def _add_references(self, path: Path, text: str, found: dict[str, str]) -> None:
        for name in _references(text):
            if name in found or len(found) >= _MOST_FILES:
                continue
            file = self._referenced(path, name)
            if file is not None and file[0] != path:
                found[name] = file[1]
                self._add_references(*file, found)

    def _referenced(self, path: Path, name: str) -> tuple[Path, str] | None:
        """Return the file of a reference: a relative path, the `$id` of a file, or the name of a file in a URL."""
        if "://" not in name and (file := self._first(iter([path.parent / name, self.root / name]))) is not None:
            return file
        place = self._by_id.get(name) or self._by_id.get(name.rsplit("/", 1)[-1])
        if place is not None:
            return place, self._text(place) or ""
        return self._first(iter([path.parent / name.rsplit("/", 1)[-1]]))

    @cached_property
    def _by_name(self) -> dict[str, Path]:
        """The files of Avro by the names that they define; the first file of a name."""
        return self._places(".avsc", lambda parsed: _Names().walked(parsed).defined)

    @cached_property
    def _by_id(self) -> dict[str, Path]:
        """The files of JSON Schema by their ids."""
        return self._places(".json", _ids)

    def _places(self, suffix: str, names: Any) -> dict[str, Path]:
        places: dict[str, Path] = {}
        for path in sorted(_files_below(self.root, suffix)):
            for name in names(_parsed(self._text(path) or "")):
                places.setdefault(name, path)
        return places


def imported(text: str) -> list[str]:
    """Return the names of the files that a text of Protobuf imports."""
    tokens = [match for match in _PROTO_TOKENS.findall(text) if not match.startswith(("//", "/*"))]
    names, start = [], 0
    for index, token in enumerate(tokens):
        if token != ";" and token not in ("{", "}"):
            continue
        statement, start = tokens[start:index], index + 1
        if token == ";" and statement[:1] == ["import"] and statement[-1][0] in "\"'":
            names.append(statement[-1][1:-1])
    return names


def _roots(path: Path) -> list[Path]:
    """Return the directories that imports may be relative to: that of the file, and those above it."""
    return list(path.absolute().parents)[:_MOST_ROOTS]


def _is_relative(name: str) -> bool:
    place = PurePosixPath(name)
    return not place.is_absolute() and ".." not in place.parts


def _files_below(root: Path, suffix: str) -> list[Path]:
    """Return the files with a suffix in a directory and the directories in it, as far as there are not too many."""
    files: list[Path] = []
    for directory, names, found in os.walk(root.absolute()):
        names[:] = sorted(name for name in names if not name.startswith(".") and not _PARTITION.fullmatch(name))
        files += [Path(directory, name) for name in sorted(found) if name.endswith(suffix)]
        if len(files) > _MOST_NEIGHBOURS or directory.count(os.sep) - f"{root.absolute()}".count(os.sep) > _MOST_ROOTS:
            break
    return files[:_MOST_NEIGHBOURS]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _missing_names(text: str) -> list[str]:
    """Return the names that a schema of Avro uses and does not define."""
    names = _Names().walked(_parsed(text))
    return [name for name in names.used if name not in names.defined]


@dataclass
class _Names:
    """The names that a schema of Avro defines and uses."""

    defined: dict[str, None] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)

    def walked(self, schema: Any) -> _Names:
        with suppress(RecursionError):
            self._walk(schema, "")
        return self

    def _walk(self, schema: Any, namespace: str) -> None:
        if isinstance(schema, str):
            if schema not in _PRIMITIVES:
                self.used[_full(schema, namespace)] = None
        elif isinstance(schema, list):
            for branch in schema:
                self._walk(branch, namespace)
        elif isinstance(schema, dict):
            self._walk_object(schema, namespace)

    def _walk_object(self, schema: dict[str, Any], namespace: str) -> None:
        kind = schema.get("type")
        if kind in ("record", "error", "enum", "fixed"):
            name, own = schema.get("name"), schema.get("namespace")
            if not isinstance(name, str):
                return
            full = _full(name, own if isinstance(own, str) else namespace)
            self.defined[full] = None
            fields = schema.get("fields")
            for field in fields if isinstance(fields, list) else ():
                if isinstance(field, dict):
                    self._walk(field.get("type"), full.rpartition(".")[0])
        elif kind == "array":
            self._walk(schema.get("items"), namespace)
        elif kind == "map":
            self._walk(schema.get("values"), namespace)
        else:
            self._walk(kind, namespace)


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _references(text: str) -> list[str]:
    """Return the files that a JSON Schema refers to."""
    names: dict[str, None] = {}
    waiting = [_parsed(text)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str) and (name := reference.split("#", 1)[0]):
                names[name] = None
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return list(names)


def _ids(schema: Any) -> list[str]:
    found = [schema.get(key) for key in ("$id", "id")] if isinstance(schema, dict) else []
    return [reference.rstrip("#") for reference in found if isinstance(reference, str) and reference]
