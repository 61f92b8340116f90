"""Makes src/internal_topics/tables: the schemas of the records of Kafka's internal topics, as tables that the core reads messages by.

    python tools/message_tables.py make $(cat target/interop/maven/4.3.1-*/classpath)   write the tables from the jars of a release
    python tools/message_tables.py check $(cat ...)                                     fail when they are not what the jars say

Taken over are facts only: names, types, versions, tags, defaults. Kafka's comments and descriptions stay where they are.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

TABLES = Path(__file__).resolve().parents[1] / "src" / "internal_topics" / "tables"
#: The topics, by the jars (or, of the one that has more than one topic's, the names) that their schemas are in.
COORDINATORS = {
    "consumer_offsets": "kafka-group-coordinator-",
    "share_group_state": "kafka-share-coordinator-",
    "transaction_state": "kafka-transaction-coordinator-",
}
METADATA = {"cluster_metadata": "kafka-metadata-", "remote_log_metadata": "kafka-storage-"}
#: Types of control records and the schemas of their values.
CONTROL = {
    0: ("ABORT", "EndTxnMarker"),
    1: ("COMMIT", "EndTxnMarker"),
    2: ("LEADER_CHANGE", "LeaderChangeMessage"),
    3: ("SNAPSHOT_HEADER", "SnapshotHeaderRecord"),
    4: ("SNAPSHOT_FOOTER", "SnapshotFooterRecord"),
    5: ("KRAFT_VERSION", "KRaftVersionRecord"),
    6: ("KRAFT_VOTERS", "VotersRecord"),
}
CONTROL_KEY = "ControlRecordTypeSchema"
KINDS = {
    "bool": "Bool",
    "int8": "Int8",
    "int16": "Int16",
    "uint16": "Uint16",
    "int32": "Int32",
    "uint32": "Uint32",
    "int64": "Int64",
    "float64": "Float64",
    "uuid": "Uuid",
    "string": "Text",
    "bytes": "Bytes",
}
LAST = 0x7FFF
#: Messages that have a file of their own beside that of their topic, by the first words of their names.
APART = {"ConsumerGroup": "consumer_groups", "ShareGroup": "share_groups", "StreamsGroup": "streams_groups"}
HEAD = "//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand."

Schema = dict[str, Any]


def main() -> int:
    """Make or check the tables; the exit code."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("make", "check"):
        sys.exit(__doc__)
    jars = [Path(jar) for jar in sys.argv[2].split(":")]
    wrong = []
    for name, text in tables(jars):
        place = TABLES / f"{name}.rs"
        if sys.argv[1] == "make":
            place.write_text(text)
        elif not place.exists() or place.read_text() != text:
            wrong.append(place.name)
    if wrong:
        print(f"not what the jars say: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


def tables(jars: list[Path]) -> Iterator[tuple[str, str]]:
    """The name and the text of every table."""
    for name, jar in COORDINATORS.items():
        schemas = schemas_in(jars, jar)
        ids = sorted(schema["apiKey"] for schema in schemas if schema["type"] == "coordinator-key")
        by_id = {(schema["apiKey"], schema["type"]): schema for schema in schemas if schema["type"].startswith("coordinator-")}
        pairs = [(number, by_id[number, "coordinator-key"], by_id[number, "coordinator-value"]) for number in ids]
        yield from written(name, [(number, constant(value["name"].removesuffix("Value")), key, value) for number, key, value in pairs])
    for name, jar in METADATA.items():
        found = sorted((schema for schema in schemas_in(jars, jar) if schema["type"] == "metadata"), key=lambda row: row["apiKey"])
        yield from written(name, [(schema["apiKey"], constant(schema["name"]), None, schema) for schema in found])
    clients = {schema["name"]: schema for schema in schemas_in(jars, "kafka-clients-")}
    yield from written("control", [(number, name, clients[CONTROL_KEY], clients[value]) for number, (name, value) in CONTROL.items()])


def schemas_in(jars: list[Path], prefix: str) -> list[Schema]:
    """The schemas in the jar whose name is this prefix and a version."""
    (jar,) = [jar for jar in jars if re.fullmatch(re.escape(prefix) + r"[\d.]+\.jar", jar.name)]
    with zipfile.ZipFile(jar) as opened:
        names = sorted(name for name in opened.namelist() if re.fullmatch(r"(common/)?(message|metadata)/\w+\.json", name))
        texts = [opened.read(name).decode() for name in names]
    return [json.loads(re.sub(r"(?m)^\s*//.*$", "", text)) for text in texts]


def written(table: str, records: list[tuple[int, str, Schema | None, Schema]]) -> Iterator[tuple[str, str]]:
    """The name and the Rust source of a table, and of the files of those messages that stand apart."""
    schemas = {schema["name"]: schema for _, _, key, value in records for schema in (key, value) if schema}
    places: dict[str, list[Schema]] = {table: []}
    for name, schema in schemas.items():
        place = next((place for start, place in APART.items() if name.startswith(start)), table)
        places.setdefault(place, []).append(schema)
    parts = sorted(place for place in places if place != table)
    lines = ["/// The types of records, by their numbers.", "pub static RECORDS: &[Record] = &["]
    for number, name, key, value in records:
        keyed = f"Some(&{constant(key['name'])})" if key else "None"
        lines.append(f'    record({number}, "{name}", {keyed}, &{constant(value["name"])}),')
    lines += ["];", "", *message_lines(places[table], "")]
    yield table, source(lines, [f"use super::{part}::*;" for part in parts])
    for part in parts:
        yield part, source(message_lines(places[part], "pub(super) "))


def source(lines: list[str], imports: Sequence[str] = ()) -> str:
    """A file of these lines, which imports what they name."""
    text = "\n".join(lines)
    calls = [name for name in ("array", "field", "group", "message", "record") if re.search(rf"\b{name}\(", text)]
    types = [name for name in ("Field", "Message", "Record") if re.search(rf": (&\[)?{name}\b", text)]
    names = ", ".join(["Kind::*", *types, *calls])
    return formatted("\n".join([HEAD, "", *imports, f"use super::{{{names}}};", "", text]))


def message_lines(schemas: list[Schema], visible: str) -> list[str]:
    """The tables of some messages, one after the other."""
    return [line for schema in schemas for line in one_message(schema["name"], schema, visible)]


def one_message(name: str, schema: Schema, visible: str) -> list[str]:
    """The table of one message."""
    first, last = versions(schema["validVersions"])
    flexible, _ = versions(schema["flexibleVersions"])
    lines = []
    for struct in schema.get("commonStructs", []):
        lines += [f"const {shared(schema, struct['name'])}: &[Field] = &[", *field_lines(struct["fields"], schema), "];", ""]
    start = f'{visible}static {constant(name)}: Message = message("{name}", {first}, {last}, {flexible}).of(&['
    return [*lines, start, *field_lines(schema["fields"], schema), "]);", ""]


def field_lines(fields: list[Schema], schema: Schema) -> Iterator[str]:
    """One line a field."""
    for field in fields:
        assert "flexibleVersions" not in field, f"{field['name']} is flexible in versions of its own"
        yield f'field("{camel(field["name"])}", {kind(field["type"], field, schema)}){modifiers(field)},'


def kind(name: str, field: Schema, schema: Schema) -> str:
    """How the bytes of a type are read."""
    if name.startswith("[]"):
        return f"array(&{kind(name[2:], field, schema)})"
    if name in KINDS:
        return KINDS[name]
    if "fields" not in field:
        return f"group({shared(schema, name)})"
    return f"group(&[{''.join(field_lines(field['fields'], schema))}])"


def shared(schema: Schema, struct: str) -> str:
    """The name of a struct that several fields of a message have."""
    return f"{constant(schema['name'])}_{constant(struct)}"


def modifiers(field: Schema) -> str:
    """The versions that have the field, where it may be null, its tag, and what it is when it is not there."""
    tagged = field.get("taggedVersions")
    said = f".since{between(field.get('versions', tagged))}"
    if "nullableVersions" in field:
        said += f".nullable{between(field['nullableVersions'])}"
    if tagged:
        said += f".tagged({field['tag']}, {', '.join(map(str, versions(tagged)))})"
        said += default(field)
    return said.replace(f".since(0, {LAST})", "")


def default(field: Schema) -> str:
    """What a tagged field is when it is not there, unless that is 0, false or empty."""
    # Null that is no text is as good as nothing to Kafka's generator: an empty array, a struct of defaults.
    told = field.get("default") or ""
    if told == "null":
        return ".else_null()"
    if field["type"] in KINDS and told not in ("", "false"):
        return f".otherwise({int(told)})"
    assert told in ("", "false"), f"{field['name']} is {told!r} when it is not there"
    return ""


def between(text: str) -> str:
    """First and last version as arguments."""
    first, last = versions(text)
    return f"({first}, {last})"


def versions(text: str) -> tuple[int, int]:
    """First and last version; none is first behind last."""
    if text == "none":
        return LAST, 0
    first, _, last = text.rstrip("+").partition("-")
    return int(first), LAST if text.endswith("+") else int(last or first)


def camel(name: str) -> str:
    """As Kafka writes a field's name in JSON."""
    return name[0].lower() + name[1:]


def constant(name: str) -> str:
    """As Kafka names the type of a record."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def formatted(source: str) -> str:
    """As `cargo fmt` would leave it."""
    command = ["rustfmt", "--edition", "2024", "--config-path", str(TABLES.parents[2])]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
