"""Values that Apache Avro for Java reads and writes, of random schemas, and its resolution of schemas."""

from __future__ import annotations

import base64
import io
import json
import subprocess
from random import Random
from typing import Any

import fastavro
import pyarrow as pa
import pytest

import eras
import logsegment as ls
import short_lived_java
from made_schemas import Maker, evolved

pytestmark = pytest.mark.interop
AVRO = eras.Era("avro-1.12.1", ("org.apache.avro:avro:1.12.1",), ())
PAIRS = 400


def resolved(pairs: list[tuple[Any, Any, list[bytes]]]) -> list[list[bytes | None]]:
    """What Avro for Java writes of values that it reads as those of another schema; None for a value that it refuses."""
    command = ["java", *short_lived_java.OPTIONS, "-cp", eras.resolved(AVRO), str(eras.JAVA_SOURCES / "AvroResolve.java")]
    lines = [
        {"writer": json.dumps(writer), "reader": json.dumps(reader), "values": [base64.b64encode(value).decode() for value in values]}
        for writer, reader, values in pairs
    ]
    done = subprocess.run(command, input="\n".join(map(json.dumps, lines)), capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [[None if value is None else base64.b64decode(value) for value in values] for values in found]


def records(schema: Any, values: list[bytes | None], reader: Any = None) -> list[Any]:
    """The values as they are decoded; None for a value that is refused."""
    schemas = ls.schemas.SchemaSet((ls.schemas.Schema("AVRO", json.dumps(schema), 1),))
    framed = [None if value is None else b"\0\0\0\0\1" + value for value in values]
    data = ls.encode(pa.table({"value": pa.array(framed, pa.binary())}))
    options = {} if reader is None else {"reader_schema": reader}
    found = ls.decode(data, values="avro", schemas=schemas, columns=["valueRecord"], on_error="skip", **options)
    return found.to_pyarrow()["valueRecord"].to_pylist(maps_as_pydicts="strict")


def written(schema: Any, values: list[Any]) -> list[bytes]:
    parsed, payloads = fastavro.parse_schema(schema), []
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        payloads.append(out.getvalue())
    return payloads


def test_schemas_are_resolved_as_avro_for_java_resolves_them() -> None:
    maker = Maker(Random(28))
    pairs = []
    while len(pairs) < PAIRS:
        writer = maker.record(2)
        # Recursive types are JSON text, of the writer's fields and in its order.
        if '"again"' in json.dumps(writer):
            continue
        reader = evolved(maker, writer) if len(pairs) % 2 else writer
        pairs.append((writer, reader, written(writer, [maker.value(writer)[0] for _ in range(4)])))
    for (writer, reader, values), expected in zip(pairs, resolved(pairs), strict=True):
        found = records(writer, list(values), reader)
        assert [item is None for item in found] == [item is None for item in expected], (writer, reader)
        assert plain(found) == plain(records(reader, expected)), (writer, reader)


def plain(value: Any) -> Any:
    """A value in which zeros with and without a sign differ; maps have no order in Java."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else repr(value)
