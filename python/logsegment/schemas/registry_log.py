"""The log of a schema registry: the records of its topic, replayed as the registry does when it starts.

Source: `KafkaStoreMessageHandler` and the key and value classes next to it in Confluent's schema registry; `KafkaSchemaReader` in Karapace.
"""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Unpack, get_args
from uuid import UUID

from logsegment._options import EntryKeywords, Framing, OnError
from logsegment._storage import StorageOptions
from logsegment.log.log import Log
from logsegment.schemas.model import Schema, SchemaReference, SchemaSet, SchemaType, SubjectVersion, VersionState
from logsegment.segment_files.discovery import Paths

#: The topic of a registry, unless it was configured otherwise.
TOPIC = "_schemas"


def from_log(
    path: Paths,
    *,
    topic: str | None = None,
    replica: str | os.PathLike[str] | None = None,
    on_error: OnError = "raise",
    framing: Framing = "auto",
    storage_options: StorageOptions | None = None,
    **options: Unpack[EntryKeywords],
) -> SchemaSet:
    """Read the schemas of a registry from the segments of its topic, without a registry and without a broker.

    Records are replayed in the order of their offsets. Of a compacted log, what compaction removed is not known any more: the ids of
    versions that were deleted for good, unless the log still has them.

    Args:
        path: a segment, the directory `_schemas-0`, or a tree of which only the partitions of the topic are read.
        topic: the topic of the registry; None is `_schemas`, or the only one of the path.
        replica: which directory is read of a partition that is in several; see `Log`.
        on_error: "skip" continues after damage and leaves out records that are not those of a registry.
        framing: see `SchemaSet`.
        storage_options: options of the store of URIs; see `Log`.
        options: options of entries; see `logsegment.decode`.

    Returns:
        A `SchemaSet`. Deleted versions are in it with their state: values may still refer to them.

    Raises:
        RecordBatchError: if bytes are bad.
        ValueError: if a record is not one of a registry, or if the path has several partitions or none of the topic.
        FileNotFoundError: if there is no such path.

    Example:
        >>> import logsegment as ls
        >>> schemas = ls.schemas.from_log("_schemas-0")
        >>> schemas.by_id(29).versions[0].subject
        'noise-a'
    """
    log = Log(path, topic=topic, replica=replica, storage_options=storage_options)
    if topic is None and len({name for name, _ in log.partitions}) > 1:
        log = Log(path, topic=TOPIC, replica=replica, storage_options=storage_options)
    if len(log.partitions) > 1:
        raise ValueError(f"{log!r}: the log of a registry has one partition; name it, or pass topic=")
    replay = _Replay()
    with log.records(columns=["offset", "key", "value"], on_error=on_error, **options) as records:
        for batch in records:
            for row in batch.to_pylist():
                try:
                    replay.apply(row["key"], row["value"])
                except ValueError as error:
                    if on_error == "raise":
                        raise ValueError(f"offset {row['offset']} of {log!r} is not a record of a schema registry: {error}") from None
    return SchemaSet(tuple(replay.schemas()), framing)


@dataclass
class _Stored:
    """A schema under its id, as the last record with the id has it."""

    type: SchemaType
    text: str
    references: tuple[SchemaReference, ...]
    guid: str | None


@dataclass
class _Replay:
    """The state of a registry between two records of its log."""

    stored: dict[tuple[str, int], _Stored] = field(default_factory=dict)
    versions: dict[tuple[str, int], tuple[int, VersionState]] = field(default_factory=dict)

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        """Apply one record.

        Raises:
            ValueError: if it is not one of a registry.
        """
        keys = _parsed(key or b"")
        # Karapace writes a tombstone as a value of no bytes.
        values = _parsed(value) if value else None
        match keys.get("keytype"):
            case "SCHEMA":
                place = _text(keys, "subject"), _number(keys, "version")
                self._delete(place) if values is None else self._register(place, values)
            case "DELETE_SUBJECT" if values is not None:
                self._delete_softly(_text(keys, "subject"), _number(values, "version"))
            case "CLEAR_SUBJECT":
                self._clear(_text(keys, "subject"))
            case None:
                raise ValueError("the key has no keytype")

    def schemas(self) -> Iterator[Schema]:
        """Yield the schemas by context and id, each with its versions."""
        found: dict[tuple[str, int], list[SubjectVersion]] = {}
        for (subject, version), (schema_id, state) in self.versions.items():
            found.setdefault((context_of(subject), schema_id), []).append(SubjectVersion(subject, version, state))
        for (context, schema_id), schema in sorted(self.stored.items()):
            versions = tuple(sorted(found.get((context, schema_id), ())))
            yield Schema(schema.type, schema.text, schema_id, schema.guid, schema.references, versions, context)

    def _register(self, place: tuple[str, int], values: dict[str, Any]) -> None:
        subject, _ = place
        schema_id, text = _number(values, "id"), _text(values, "schema")
        references = tuple(
            SchemaReference(_text(value, "name"), _text(value, "subject"), _number(value, "version"))
            for value in values.get("references") or ()
        )
        kind: SchemaType = values.get("schemaType") or "AVRO"
        if kind not in get_args(SchemaType):
            raise ValueError(f"schemaType is {kind!r}")
        self.stored[context_of(subject), schema_id] = _Stored(kind, text, references, guid_of(text, references, values))
        self.versions[place] = schema_id, "deleted" if values.get("deleted") else "live"

    def _delete(self, place: tuple[str, int]) -> None:
        if place in self.versions:
            self.versions[place] = self.versions[place][0], "hard-deleted"

    def _delete_softly(self, subject: str, last: int) -> None:
        for place, (schema_id, state) in self.versions.items():
            if place[0] == subject and place[1] <= last and state == "live":
                self.versions[place] = schema_id, "deleted"

    def _clear(self, subject: str) -> None:
        self.versions = {place: version for place, version in self.versions.items() if place[0] != subject or version[1] == "live"}


def context_of(subject: str) -> str:
    """Return the context of a subject: `.lab` of `:.lab:orders-value`, and no name for the default one."""
    return subject[1:].split(":", 1)[0] if subject.startswith(":.") and ":" in subject[1:] else ""


def guid_of(text: str, references: tuple[SchemaReference, ...], values: dict[str, Any]) -> str | None:
    """Return the GUID of a schema, which no registry stores; None if the schema has rules, since only a registry can compute it then.

    Args:
        text: the schema.
        references: what it refers to.
        values: the stored value, whose fields `md5`, `metadata` and `ruleSet` count.

    Source: `Schema.updateHash` in Confluent's client.
    """
    if isinstance(stored := values.get("md5"), str) and len(digest := b64decode(stored)) == 16:
        return str(UUID(bytes=digest))
    if values.get("ruleSet"):
        return None
    md5 = hashlib.md5(text.encode(), usedforsecurity=False)
    for reference in references:
        md5.update(reference.name.encode() + reference.subject.encode() + reference.version.to_bytes(4, "big", signed=True))
    if metadata := values.get("metadata"):
        md5.update(b"\x01" + "".join(_metadata_parts(metadata)).encode())
    return str(UUID(bytes=md5.digest()))


def _metadata_parts(metadata: dict[str, Any]) -> Iterator[str]:
    for name, tags in sorted((metadata.get("tags") or {}).items()):
        yield name
        yield from sorted(tags)
    for name, value in sorted((metadata.get("properties") or {}).items()):
        yield name
        yield value
    yield from sorted(metadata.get("sensitive") or ())


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is too deep") from None
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _text(values: dict[str, Any], name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value


def _number(values: dict[str, Any], name: str) -> int:
    value = values.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
        raise ValueError(f"{name} is not a number of 32 bits")
    return value
