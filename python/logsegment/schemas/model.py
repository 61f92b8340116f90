"""Schemas with the names by which values refer to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

from logsegment._options import Framing
from logsegment._text import count

SchemaType: TypeAlias = Literal["AVRO", "JSON", "PROTOBUF"]
#: "live", "deleted" (softly: the registry still gives it by id), "hard-deleted" (the registry forgot it, the log has not).
VersionState: TypeAlias = Literal["live", "deleted", "hard-deleted"]
#: Most schemas that refer to each other in a chain.
_MOST_DEPTH = 500


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A schema that another one names.

    Attributes:
        name: the name in the schema: a full name in Avro, a URI in JSON Schema, an import in Protobuf.
        subject: the subject of the schema that is meant.
        version: its version in the subject; -1 is the newest.
    """

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True, order=True)
class SubjectVersion:
    """A version of a subject.

    Attributes:
        subject: its name, with the context before it (`:.lab:orders-value`) unless that is the default one.
        version: its number, from 1 on; numbers may be missing.
        state: "live", "deleted" or "hard-deleted".
    """

    subject: str
    version: int
    state: VersionState = "live"


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema with its names.

    Attributes:
        type: "AVRO", "JSON" or "PROTOBUF".
        text: as it is stored.
        id: of the registry; None if no registry gave one.
        guid: of the registry, as text; None if it is not known.
        references: the schemas that this one names.
        versions: where it is registered, in the order of subjects and versions.
        context: of the registry; the default one has no name.
        global_ids: of its versions, in Apicurio Registry, where `id` is the id of the content.
        imports: names and texts of local files that this one needs, each after those that it needs itself.
    """

    type: SchemaType
    text: str
    id: int | None = None
    guid: str | None = None
    references: tuple[SchemaReference, ...] = ()
    versions: tuple[SubjectVersion, ...] = ()
    context: str = ""
    global_ids: tuple[int, ...] = ()
    imports: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.type not in get_args(SchemaType):
            raise ValueError(f"type must be {', '.join(get_args(SchemaType))}, not {self.type!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes in the spelling of a registry's JSON."""
        global_ids = {"globalIds": list(self.global_ids)} if self.global_ids else {}
        return {
            "context": self.context,
            "id": self.id,
            "guid": self.guid,
            "schemaType": self.type,
            "references": [
                {"name": reference.name, "subject": reference.subject, "version": reference.version} for reference in self.references
            ],
            "schema": self.text,
            "versions": [{"subject": version.subject, "version": version.version, "state": version.state} for version in self.versions],
        } | global_ids


@dataclass(frozen=True)
class SchemaSet:
    """Schemas, and how values name them. Immutable; it can be pickled.

    Attributes:
        schemas: all of them, by context and id.
        framing: how a value names its schema; `framing=` of a read comes before it. "auto" looks at each value, and accepts:
            byte 0 and a 4-byte id, byte 1 and a 16-byte GUID, a GUID in the headers `__key_schema_id` and `__value_schema_id`
            ("confluent"; "guid" accepts GUIDs alone); byte 0 and an 8-byte id, or an id in a header of Apicurio's ("apicurio");
            byte 3, a byte that names a compression, and a GUID (AWS's "glue"); C3 01 and a fingerprint (Avro's "single-object");
            a container file of Avro with one value ("container"). Next to a schema of all values, "auto" accepts a value without
            any of these too: the form is the one that gives a value of the schema.
            "confluent-no-index" is "confluent" for Protobuf values without message indexes, as kafkajs writes them. "apicurio-global" is
            "apicurio" for values with global ids. "none": a value is nothing but the payload.
        registrar: registers a schema under a subject and returns its id, if the set is that of a registry. It is not pickled.
        is_local: the schemas are files that were not exported from a registry.

    Example:
        >>> import logsegment as ls
        >>> schemas = ls.schemas.single('"string"')
        >>> schemas.framing, schemas.by_id(7)
        ('auto', None)
    """

    schemas: tuple[Schema, ...]
    framing: Framing = "auto"
    registrar: Callable[[str, Any], int] | None = field(default=None, repr=False, compare=False)
    is_local: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schemas", tuple(self.schemas))
        if self.framing not in get_args(Framing):
            raise ValueError(f"framing must be {', '.join(get_args(Framing))}, not {self.framing!r}")

    @cached_property
    def main(self) -> Schema | None:
        """The schema of values that name none, and of all values if it has no id; None if several may be it.

        It is the only one that no other schema imports. A schema with an id is it only among local files.
        """
        if not self.is_local and any(schema.id is not None or schema.guid is not None for schema in self.schemas):
            return None
        imported = {text for schema in self.schemas for _, text in schema.imports}
        found = [schema for schema in self.schemas if schema.text not in imported]
        return found[0] if len(found) == 1 else None

    def by_id(self, schema_id: int, *, context: str = "") -> Schema | None:
        """Return the schema with an id, or None.

        Args:
            schema_id: the id; each context counts from 1 on.
            context: the context; ids in values mean the default one.
        """
        return self._by_id.get((context, schema_id))

    def by_guid(self, guid: str) -> Schema | None:
        """Return the schema with a GUID, or None."""
        return self._by_guid.get(guid.lower())

    def versions_of(self, subject: str) -> list[tuple[SubjectVersion, Schema]]:
        """Return the versions of a subject with their schemas, oldest first, deleted versions among them."""
        return list(self._by_subject.get(subject, ()))

    @property
    def subjects(self) -> list[str]:
        """The names of all subjects, in order."""
        return sorted(self._by_subject)

    def referenced(self, schema: Schema) -> list[tuple[str, Schema]]:
        """Return the schemas that a schema needs, with the names by which they are meant; a schema comes after those that it needs.

        Raises:
            ValueError: if a referenced schema is not in the set, or refers to itself.
        """
        found: list[tuple[str, Schema]] = []
        self._collect(schema, found, ())
        return [*found, *((name, Schema(schema.type, text)) for name, text in getattr(schema, "imports", ()))]

    def register(self, subject: str, schema: Schema) -> Schema:
        """Register a schema with the registry that the set was read from, and return it with its id. The set does not change.

        Args:
            subject: usually `TOPIC-value` or `TOPIC-key`.
            schema: type, text and references count. A registry gives a schema that it has already the same id.

        Raises:
            ValueError: if the set was not read from a registry in this process, or the answer is not one of a registry.
            OSError: if the registry cannot be reached, or refuses the schema, with its reason.
        """
        if self.registrar is None:
            raise ValueError("register: the schemas were not read from a registry; pass schemas=logsegment.schemas.from_registry(url)")
        found = self.registrar(subject, schema)
        return Schema(schema.type, schema.text, found, references=tuple(schema.references))

    def __len__(self) -> int:
        return len(self.schemas)

    def __iter__(self) -> Iterator[Schema]:
        return iter(self.schemas)

    def __repr__(self) -> str:
        sizes = f"{count(len(self.schemas), 'schema')}, {count(len(self._by_subject), 'subject')}"
        return f"SchemaSet({sizes}, framing={self.framing!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"schemas": self.schemas, "framing": self.framing, "is_local": self.is_local}

    @cached_property
    def _by_id(self) -> dict[tuple[str, int], Schema]:
        return {(schema.context, schema.id): schema for schema in self.schemas if schema.id is not None}

    @cached_property
    def _by_guid(self) -> dict[str, Schema]:
        # The same text may be in several contexts; the default one is what values mean.
        ordered = sorted((schema for schema in self.schemas if schema.guid is not None), key=lambda schema: schema.context == "")
        return {schema.guid.lower(): schema for schema in ordered if schema.guid is not None}

    @cached_property
    def _by_subject(self) -> dict[str, list[tuple[SubjectVersion, Schema]]]:
        subjects: dict[str, list[tuple[SubjectVersion, Schema]]] = {}
        for schema in self.schemas:
            for version in schema.versions:
                subjects.setdefault(version.subject, []).append((version, schema))
        for versions in subjects.values():
            versions.sort(key=lambda version: version[0])
        return subjects

    def _collect(self, schema: Schema, found: list[tuple[str, Schema]], above: Sequence[SchemaReference]) -> None:
        if len(above) > _MOST_DEPTH:
            raise ValueError(f"schema {above[0].subject} version {above[0].version} has references that are more than {_MOST_DEPTH} deep")
        for reference in schema.references:
            if reference in above:
                raise ValueError(f"schema {reference.subject} version {reference.version} refers to itself")
            meant = self._meant(reference)
            if (reference.name, meant) not in found:
                self._collect(meant, found, (*above, reference))
                found.append((reference.name, meant))

    def _meant(self, reference: SchemaReference) -> Schema:
        versions = self._by_subject.get(reference.subject, ())
        wanted = [schema for version, schema in versions if reference.version in (version.version, -1)]
        if not wanted:
            raise ValueError(f"reference {reference.name!r}: version {reference.version} of subject {reference.subject!r} is not known")
        return wanted[-1]
