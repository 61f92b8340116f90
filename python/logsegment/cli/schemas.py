"""`logsegment schemas`: the schemas in the log of a schema registry."""

from __future__ import annotations

from collections.abc import Iterable

import click

from logsegment._core import Limits
from logsegment._output import output_directory
from logsegment._text import count
from logsegment.cli.exit_codes import CLEAN, FOUND, handle_exit
from logsegment.cli.help import VerbGroup
from logsegment.cli.inputs import choosing_replicas, replica
from logsegment.cli.messages import Console, say, show_json
from logsegment.cli.options import examples, limits_option, on_error_option, quiet_option, replica_option
from logsegment.cli.store_options import keyed_path, storage_option
from logsegment.schemas import Schema, SchemaSet, SubjectVersion, from_log
from logsegment.schemas.directory import written

PATH = click.argument("path", metavar="PATH", callback=keyed_path)


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
@PATH
@storage_option
@replica_option
@click.option("--subject", metavar="NAME", help="Only this subject.")
@click.option("--json", "is_json", is_flag=True, help="JSON lines.")
@on_error_option
@limits_option
@handle_exit
def list_(path: str, subject: str | None, is_json: bool, on_error: str, limits: Limits | None) -> int:
    """List the versions of all subjects, deleted versions too."""
    found = _read(path, on_error, limits)
    rows = [(version, schema) for name in found.subjects if subject in (None, name) for version, schema in found.versions_of(name)]
    if is_json:
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
@PATH
@storage_option
@replica_option
@click.argument("name")
@click.option("--json", "is_json", is_flag=True, help="One line of JSON, with id, GUID, references and versions.")
@on_error_option
@limits_option
@handle_exit
def show(path: str, name: str, is_json: bool, on_error: str, limits: Limits | None) -> int:
    """Show the text of one schema.

    NAME is an id, a GUID, a subject (its newest version) or SUBJECT:VERSION. Exit code 1 if there is no such schema.
    """
    schema = _named(_read(path, on_error, limits), name)
    if schema is None:
        say(f"{path} has no schema {name}; logsegment schemas list {path} lists the schemas")
        return FOUND
    if is_json:
        show_json(schema.to_dict())
    else:
        for line in schema.text.splitlines():
            Console().line(line)
    return CLEAN


@schemas.command(epilog=examples("logsegment schemas export _schemas-0 -o schemas"))
@PATH
@storage_option
@replica_option
@click.option("-o", "--output", required=True, type=click.Path(), metavar="DIRECTORY", help="A new directory.")
@on_error_option
@limits_option
@quiet_option
@handle_exit
def export(path: str, output: str, on_error: str, limits: Limits | None, quiet: bool) -> int:
    """Write each schema to a file of its own, with an index that `logsegment.schemas.from_directory` reads."""
    found = _read(path, on_error, limits)
    with output_directory(output) as place:
        written(found, place)
    if not quiet:
        say(f"wrote {count(len(found), 'schema')} to {output}")
    return CLEAN


def _read(path: str, on_error: str, limits: Limits | None) -> SchemaSet:
    try:
        with choosing_replicas():
            return from_log(path, replica=replica(), on_error="skip" if on_error == "skip" else "raise", limits=limits)
    except FileNotFoundError:
        raise
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
