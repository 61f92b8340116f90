"""Values as the serializers of a registry's clients make them, in records and out of them; and a JSON Schema that several clients know."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

import logsegment as ls

OBJECT = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Thing",
    "type": "object",
    "required": ["n"],
    "properties": {"n": {"type": "integer"}, "text": {"type": "string"}, "many": {"type": "array", "items": {"type": "number"}}},
}


def logged(values: Sequence[bytes | None]) -> bytes:
    """Batches with a record for each value."""
    return ls.encode(pa.table({"value": pa.array(values, pa.binary())})) or b""


def bytes_of(data: bytes | None) -> list[bytes]:
    """The values of batches."""
    return [row["value"] for row in ls.decode(data or b"", columns=["value"]).to_pylist()]
