"""Find the schemas of keys and values before a read or a write starts: the column of decoded values has one Arrow type."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args
from uuid import UUID

from logsegment._core import FileSource, ValueSchemas, ValueWriter, json_schema_of, met_schemas
from logsegment._options import PRIMITIVES, ReadOptions, SchemaSource, WrittenValues, ensure_one_of

Part: TypeAlias = Literal["key", "value"]
#: A topic, if it is known, and something to read its records from.
Place: TypeAlias = tuple[str | None, Any]


def planned(options: ReadOptions, places: Sequence[Place], unknown: list[str] | None = None) -> ReadOptions:
    """Return the options of a read with the schemas that its keys and values may have; as they are if none are decoded.

    The versions of the subjects `TOPIC-value` and `TOPIC-key` are those schemas. Where a topic has no such subject, the records are read
    once to see which schemas they name.

    Args:
        options: those of the read.
        places: all that is read.
        unknown: gets the names of schemas in keys and values that are not known, where formats are detected.

    Raises:
        ValueError: if schemas are missing or bad, or if records must be read twice and cannot.
        OSError: if a file cannot be read.
    """
    if not options.is_typed or options.value_schemas is not None or options.key_schemas is not None:
        return options
    kinds: dict[Part, str] = {"value": options.values, "key": options.key_values}
    found = {part: _primitive(kind) for part, kind in kinds.items() if kind in PRIMITIVES}
    planners = {part: _Planner(options, kind, places) for part, kind in kinds.items() if kind in TYPED}
    found |= {part: planner.schemas(part) for part, planner in planners.items()}
    if unknown is not None:
        unknown += sorted({name for planner in planners.values() if planner.kind == "auto" for name in planner.unknown})
    return replace(options, value_schemas=found.get("value"), key_schemas=found.get("key"))


#: The values of `values` and `key_values` that decode with schemas.
TYPED = ("auto", "avro", "json", "protobuf")


class _AnyJson:
    """The schema of JSON values that have none: any value."""

    framing, type, text, id, guid, context = "auto", "JSON", "{}", None, None, ""
    references: Sequence[Any] = ()
    versions: Sequence[Any] = ()
    global_ids: Sequence[int] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter([self])

    def versions_of(self, subject: str, /) -> list[tuple[Any, Any]]:
        return []

    def referenced(self, schema: Any, /) -> list[tuple[str, Any]]:
        return []


class _NoSchemas(_AnyJson):
    """No schemas: each value has its own."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def _primitive(kind: str) -> ValueSchemas:
    """Return what decodes values of Kafka's own serializers."""
    return ValueSchemas([(None, None, "PRIMITIVE", kind, [], [])], "none", "primitive", [0], 0)


class _Planner:
    """Finds the schemas of the keys or the values of one read."""

    def __init__(self, options: ReadOptions, kind: str, places: Sequence[Place]) -> None:
        self.options = options
        self.places = places
        self.source = self._source(kind)
        self.framing = options.framing or self.source.framing
        # Of two schemas with one GUID the last counts, which is the one of the default context.
        self.ordered = sorted(self.source, key=lambda schema: schema.context == "")
        self.main = getattr(self.source, "main", None)
        if kind == "auto" and self.main is not None:
            if self.main.id is None and self.main.guid is None:
                kind = self.main.type.lower()
            else:
                self.main = None
        self.kind = kind
        if kind == "auto" and options.schemas is not None:
            # Values that name no schema.
            self.ordered.append(_AnyJson())
        #: The names of schemas in keys or values that are not known.
        self.unknown: list[str] = []
        self.core = self._core()

    def _source(self, kind: str) -> Any:
        """Return the schemas of the options, or what they are if there are none."""
        if self.options.schemas is not None:
            return self.options.schemas
        if kind == "avro" and self.options.framing == "container":
            return _NoSchemas()
        if kind in ("auto", "json"):
            return _AnyJson()
        raise ValueError("values: schemas are needed; pass schemas=logsegment.schemas.from_log(path), for example")

    def schemas(self, part: Part) -> ValueSchemas:
        """Return the schemas of the keys or the values."""
        if part == "value" and self.options.reader_schema is not None:
            reader = self.options.reader_schema
            if self._may_have_texts():
                self._met(part)
            return self.core.expecting([], None, (self._kind_of(reader), *reader_of(reader, self.source)))
        if self.main is not None:
            return self._of_main(part)
        if self.kind == "auto" or (self.kind == "protobuf" and self.framing != "none") or self._may_have_texts():
            # A value names one of the messages of its schema, or has its schema in itself.
            return self._of_records(part)
        if self.options.schemas is None:
            _, text, _ = self._met(part)
            return self.core.expecting([], None, ("JSON", text or "{}", []))
        if len(self.ordered) == 1:
            return self.core.expecting([0], 0, None)
        return self._of_subjects(part) or self._of_records(part)

    def _may_have_texts(self) -> bool:
        """Return True if values may have their schemas in themselves."""
        return self.framing == "container" or (self.kind == "auto" and self.framing == "auto")

    def _of_main(self, part: Part) -> ValueSchemas:
        """Return the schemas of values that all have one schema."""
        main = self.main
        assert main is not None
        if self.framing == "container":
            self._met(part)
            return self.core.expecting([], None, (main.type, *reader_of(main, self.source)))
        number = self._number(main)
        has_messages = self.kind == "protobuf" and self.framing not in ("none", "confluent-no-index")
        if (has_messages or len(self.ordered) > 1) and all(_is_read_twice(source) for _, source in self.places):
            present, _, messages = self._met(part)
            return self.core.expecting(present or [number], number, None, messages)
        return self.core.expecting([number], number, None)

    def _number(self, schema: Any) -> int:
        return next(number for number, known in enumerate(self.ordered) if known is schema)

    def _core(self, bare: str = "{}") -> ValueSchemas:
        """Return the schemas; `bare` is that of values that name none."""
        entries = [
            (
                schema.id if schema.context == "" else None,
                None if schema.guid is None else UUID(schema.guid).bytes,
                schema.type,
                bare if isinstance(schema, _AnyJson) else schema.text,
                self._referenced(schema),
                list(schema.global_ids),
            )
            for schema in self.ordered
        ]
        main = None if self.main is None else self._number(self.main)
        return ValueSchemas(entries, self.framing, self.kind, main=main, integers=self.options.integers)

    def _kind_of(self, reader: Any) -> str:
        """Return the type of a reader's schema."""
        named = getattr(reader, "type", None) if hasattr(reader, "references") else None
        if named is None and hasattr(reader, "__arrow_c_schema__"):
            return "JSON"
        return named or ("AVRO" if self.kind == "auto" else self.kind.upper())

    def _of_subjects(self, part: Part) -> ValueSchemas | None:
        topics = dict.fromkeys(topic for topic, _ in self.places)
        versions = [self.source.versions_of(f"{topic}-{part}") for topic in topics if topic is not None]
        kept = [[(version, schema) for version, schema in subject if version.state != "hard-deleted"] for subject in versions]
        if not kept or len(kept) < len(topics) or not all(kept):
            return None
        present = [self._number(schema) for subject in kept for _, schema in subject]
        return self.core.expecting(present, self._newest(kept[0]) if len(kept) == 1 else None, None)

    def _of_records(self, part: Part) -> ValueSchemas:
        present, bare, messages = self._met(part)
        schemas = [self.ordered[number] for number in present]
        shared = set.intersection(*({version.subject for version in schema.versions} for schema in schemas)) if schemas else set()
        if shared:
            newest = self._newest(self.source.versions_of(min(shared)))
        else:
            newest = max(present, key=lambda number: (self.ordered[number].id or -1, number), default=None)
        core = self.core if bare is None else self._core(bare)
        return core.expecting(present, newest, None, messages)

    def _met(self, part: Part) -> tuple[list[int], str | None, list[tuple[int, Sequence[int]]]]:
        """Read the records once for the schemas that they name, or that their texts have.

        Schemas that are in values become schemas of the read; then the records are read again.
        """
        for _, source in self.places:
            if not _is_read_twice(source):
                raise ValueError(
                    "values: the schemas of a file object are not known before it is read; "
                    'pass reader_schema=, or topic= with a subject "TOPIC-value" among the schemas'
                )
        read = replace(self.options, columns=(), values="raw", key_values="raw", isolation="read_uncommitted", transactions=None)
        sources = [source for _, source in self.places]
        present, text, messages, texts, self.unknown = met_schemas(sources, read, self.core, self._infers())[part == "value"]
        if texts:
            # The schema of values that name none comes last.
            end = len(self.ordered) - sum(isinstance(schema, _AnyJson) for schema in self.ordered[-1:])
            self.ordered[end:end] = [_Text("AVRO", text) for text in texts]
            self.core = self._core()
            present, text, messages, _, self.unknown = met_schemas(sources, read, self.core, self._infers())[part == "value"]
        return present, text, messages

    def _infers(self) -> bool:
        """Return True if the schema of JSON texts is wanted that name none."""
        return self.kind == "auto" or self.options.schemas is None

    def _newest(self, versions: Iterable[tuple[Any, Any]]) -> int | None:
        """Return the number of the newest version that is not deleted, or of the newest of all."""
        ordered = sorted(versions, key=lambda pair: (pair[0].state == "live", pair[0].version))
        return self._number(ordered[-1][1]) if ordered else None

    def _referenced(self, schema: Any) -> list[tuple[str, str]]:
        try:
            return [(name, meant.text) for name, meant in self.source.referenced(schema)]
        except ValueError:
            # A value that needs the schema reports what is missing.
            return []


def reader_of(given: Any, source: SchemaSource) -> tuple[str, list[tuple[str, str]]]:
    """Return the text of a reader's schema, and the names and texts of the schemas that it needs.

    Args:
        given: a text, parsed JSON, the path of a file (as `os.PathLike`), a schema of the set, or an Arrow schema (for JSON).
        source: the set.

    Raises:
        TypeError: if it is none of these.
        OSError: if the file cannot be read.
    """
    if isinstance(given, str):
        return given, []
    if isinstance(given, os.PathLike):
        return Path(given).read_text(encoding="utf-8"), []
    if isinstance(given, Mapping | list):
        return json.dumps(given, ensure_ascii=False), []
    if hasattr(given, "text") and hasattr(given, "references"):
        return given.text, [(name, meant.text) for name, meant in source.referenced(given)]
    if hasattr(given, "__arrow_c_schema__"):
        return json_schema_of(given), []
    raise TypeError(f"reader_schema must be a text, parsed JSON, a path, a Schema or an Arrow schema, not {type(given).__name__}")


def _is_read_twice(source: Any) -> bool:
    """Return False for a file object, which is read once."""
    return isinstance(source, str | os.PathLike | FileSource) or not (hasattr(source, "read") and hasattr(source, "readable"))


class WrittenSchemas:
    """Finds the schemas that keys and values are written with.

    Args:
        schemas: those that ids, subjects and references mean; None if there are none.
        topic: names the subjects.
        is_registering: register schemas that the subject does not have.
    """

    def __init__(self, schemas: SchemaSource | None, topic: str | None, *, is_registering: bool) -> None:
        if isinstance(schemas, str | os.PathLike):
            raise TypeError(
                f"schemas must be a set of schemas, not a path; write schemas=logsegment.schemas.from_path({os.fspath(schemas)!r})"
            )
        if is_registering and topic is None:
            raise ValueError("register: pass topic=, whose subject is TOPIC-value (TOPIC-key of keys)")
        if is_registering and not hasattr(schemas, "register"):
            raise ValueError("register: pass schemas=logsegment.schemas.from_registry(url)")
        self.schemas = schemas
        self.topic = topic
        self.is_registering = is_registering

    def writer(self, part: Part, values: WrittenValues, given: Any, message: str | None = None) -> ValueWriter | None:
        """Return what writes the typed column of a part; None if its bytes are written as they are.

        Raises:
            ValueError, TypeError: if a schema is missing or bad.
            OSError: if a file cannot be read, or the registry refuses the schema.
        """
        prefix = "" if part == "value" else "key_"
        ensure_one_of(f"{prefix}values", values, get_args(WrittenValues))
        if values == "raw":
            if given is not None:
                raise ValueError(f'{prefix}schema is given, but {prefix}values is "raw"; pass {prefix}values="avro", for example')
            return None
        kind, framing = values.upper(), "auto" if self.schemas is None else self.schemas.framing
        if given is None and self.schemas is None and kind == "JSON":
            return ValueWriter(("JSON", "{}", []), "none", None)
        schema = self._schema(part, kind, given)
        if schema.type != kind:
            raise ValueError(f"{prefix}schema is of type {schema.type}, but {prefix}values is {values!r}")
        if schema.id is None and framing == "auto" and getattr(self.schemas, "main", None) is not None:
            framing = "none"
        if schema.id is None and framing not in ("none", "single-object"):
            raise ValueError(
                f"{prefix}schema has no id for the bytes before each value; pass logsegment.schemas.Schema({kind!r}, text, id), "
                "register=True, or schemas=logsegment.schemas.single(schema) for values without these bytes"
            )
        referenced = [] if self.schemas is None else [(name, meant.text) for name, meant in self.schemas.referenced(schema)]
        return ValueWriter((kind, schema.text, referenced), framing, schema.id, message)

    def _schema(self, part: Part, kind: str, given: Any) -> Any:
        """Return the schema that the caller means."""
        subject = f"{self.topic}-{part}"
        versions = [] if self.schemas is None or self.topic is None else self.schemas.versions_of(subject)
        live = [schema for version, schema in versions if version.state == "live"]
        if given is None:
            return self._only(part, live)
        if isinstance(given, int):
            found = [schema for schema in self.schemas or () if schema.id == given and schema.context == ""]
            if not found:
                raise ValueError(f"{part}: no schema of schemas= has the id {given}")
            return found[0]
        schema = given if hasattr(given, "references") else _Text(kind, reader_of(given, _AnyJson())[0])
        known = [candidate for candidate in live if (candidate.type, candidate.text) == (schema.type, schema.text)]
        if known:
            return known[-1]
        if self.is_registering:
            return self.schemas.register(subject, schema)  # type: ignore[union-attr]
        same = [
            candidate
            for candidate in self.schemas or ()
            if (candidate.type, candidate.text, candidate.context) == (schema.type, schema.text, "")
        ]
        return schema if schema.id is not None or not same else same[0]

    def _only(self, part: Part, live: Sequence[Any]) -> Any:
        """Return the newest version of the subject, or the only schema."""
        if live:
            return live[-1]
        everything = list(self.schemas or ())
        if len(everything) != 1:
            wanted = "schema" if part == "value" else "key_schema"
            hint = f"; the schemas have no live version of the subject {self.topic}-{part}" if self.topic and everything else ""
            raise ValueError(f"{wanted} is missing; pass {wanted}=, or topic= with schemas={hint}")
        return everything[0]


class _Text:
    """A schema that is nothing but its text."""

    id, guid, context = None, None, ""
    references: Sequence[Any] = ()
    versions: Sequence[Any] = ()
    global_ids: Sequence[int] = ()

    def __init__(self, kind: str, text: str) -> None:
        self.type = kind
        self.text = text
