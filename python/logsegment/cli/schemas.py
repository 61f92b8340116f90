"""`logsegment schemas`: the schemas in the log of a schema registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

import click

from logsegment._core import ReplicaError
from logsegment._options import OnError, PartitionOptions, ReadOptions, StoreOptions
from logsegment._output import output_directory
from logsegment._text import count
from logsegment.cli.arguments import Argument, VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, handle_exit, replica_text
from logsegment.cli.help import VerbGroup
from logsegment.cli.messages import Console, say, show_json
from logsegment.cli.options import Quiet, Reading, bind_args, examples
from logsegment.schemas import Schema, SchemaSet, SubjectVersion, from_log
from logsegment.schemas.directory import written


@dataclass(frozen=True, kw_only=True)
class SchemasArguments:
    """The arguments of all verbs: the log, and how it is read."""

    path: Annotated[str, Argument("PATH")]
    storage_options: Annotated[Mapping[str, str] | None, StoreOptions]
    replica: Annotated[str | None, PartitionOptions]
    on_error: Annotated[OnError, ReadOptions]
    reading: Reading


@dataclass(frozen=True, kw_only=True)
class ListArguments(SchemasArguments):
    """The arguments of `schemas list`."""

    subject: Annotated[str | None, VerbOption("Only this subject.", "--subject NAME")]
    is_json: Annotated[bool, VerbOption("JSON lines.", "--json")]


@dataclass(frozen=True, kw_only=True)
class ShowArguments(SchemasArguments):
    """The arguments of `schemas show`."""

    name: Annotated[str, Argument("NAME")]
    is_json: Annotated[bool, VerbOption("One line of JSON, with id, GUID, references and versions.", "--json")]


@dataclass(frozen=True, kw_only=True)
class ExportArguments(SchemasArguments):
    """The arguments of `schemas export`."""

    output: Annotated[str, VerbOption("A new directory.", "-o --output DIRECTORY", kind=click.Path())]
    quiet: Quiet


@click.group(
    cls=VerbGroup,
    short_help="List, show and export the schemas of a registry's log.",
    epilog=examples(
        "logsegment schemas list _schemas-0",
        "logsegment schemas show _schemas-0 orders-value",
        "logsegment schemas export _schemas-0 -o schemas",
    ),
)
def schemas() -> None:
    """The schemas in the log of a schema registry (Confluent's or Karapace), without the registry.

    PATH is a segment of the topic `_schemas`, its directory, or a broker's data directory.
    """


@schemas.command(name="list", epilog=examples("logsegment schemas list --json _schemas-0 | jq .subject"))
@handle_exit
@bind_args(ListArguments)
def list_(options: ListArguments) -> int:
    """List the versions of all subjects, deleted versions too."""
    found, subject = _read(options), options.subject
    rows = [(version, schema) for name in found.subjects if subject in (None, name) for version, schema in found.versions_of(name)]
    if options.is_json:
        for version, schema in rows:
            show_json(_row(version, schema))
        return CLEAN
    cells = [
        (version.subject, f"{version.version}", f"{schema.id}", schema.type, version.state, _references(schema), schema.guid or "-")
        for version, schema in rows
    ]
    Console().table(("subject", "version", "id", "type", "state", "references", "guid"), cells)
    return CLEAN


@schemas.command(epilog=examples("logsegment schemas show _schemas-0 17", "logsegment schemas show _schemas-0 orders-value:3"))
@handle_exit
@bind_args(ShowArguments)
def show(options: ShowArguments) -> int:
    """Show the text of one schema.

    NAME is an id, a GUID, a subject (its newest version) or SUBJECT:VERSION. Exit code 1 if there is no such schema.
    """
    schema = _named(_read(options), options.name)
    if schema is None:
        say(f"{options.path} has no schema {options.name}; logsegment schemas list {options.path} lists the schemas")
        return FOUND
    if options.is_json:
        show_json(schema.to_dict())
    else:
        for line in schema.text.splitlines():
            Console().line(line)
    return CLEAN


@schemas.command(epilog=examples("logsegment schemas export _schemas-0 -o schemas"))
@handle_exit
@bind_args(ExportArguments)
def export(options: ExportArguments) -> int:
    """Write each schema to a file of its own, with an index that `logsegment.schemas.from_directory` reads."""
    found = _read(options)
    with output_directory(options.output) as place:
        written(found, place)
    if not options.quiet:
        say(f"wrote {count(len(found), 'schema')} to {options.output}")
    return CLEAN


def _read(options: SchemasArguments) -> SchemaSet:
    try:
        return from_log(
            options.path,
            replica=options.replica,
            on_error=options.on_error,
            storage_options=options.storage_options,
            **options.reading,
        )
    except ReplicaError as error:
        raise click.UsageError(replica_text(error)) from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _named(found: SchemaSet, name: str) -> Schema | None:
    if name.isdecimal() and (schema := found.by_id(int(name))) is not None:
        return schema
    if (schema := found.by_guid(name)) is not None:
        return schema
    if versions := found.versions_of(name):
        return _newest(versions)
    subject, _, number = name.rpartition(":")
    return next((schema for version, schema in found.versions_of(subject) if f"{version.version}" == number), None)


def _newest(versions: Iterable[tuple[SubjectVersion, Schema]]) -> Schema | None:
    """Return the schema of the newest version that is not deleted, or of the newest of all."""
    ordered = sorted(versions, key=lambda pair: (pair[0].state == "live", pair[0].version))
    return ordered[-1][1] if ordered else None


def _row(version: SubjectVersion, schema: Schema) -> dict[str, object]:
    row = schema.to_dict()
    del row["schema"], row["versions"]
    return {"subject": version.subject, "version": version.version, "state": version.state} | row


def _references(schema: Schema) -> str:
    return ", ".join(f"{reference.subject}:{reference.version}" for reference in schema.references) or "-"
