"""The vectors of the corpus by what they are about: inputs, and what Kafka's code and its clients made of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import corpus
from every import every

Vector = dict[str, Any]
VECTORS: list[Vector] = json.loads((corpus.CORPUS / "vectors.json").read_text())["vectors"]


def units(*names: str) -> list[Vector]:
    return [vector for vector in VECTORS if vector["unit"] in names]


def decoded_outputs() -> list[Vector]:
    """Vectors of conversions, compactions and produce requests, their outputs as entries."""
    outputs = []
    for vector in units("convert", "compact", "produce"):
        decoded = vector["expected"].get("decoded", {"batches": []})
        if decoded["batches"]:
            outputs.append({"name": vector["name"], "data": vector["expected"]["output"], "expected": decoded})
    return outputs


def of(vectors: list[Vector]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return every("vector", vectors, named=lambda vector: vector["name"])


def bare_messages() -> list[Vector]:
    """Messages without offset and size, which get those of a message alone at offset 0."""
    found = []
    for vector in units("message"):
        data = bytes.fromhex(vector["data"])
        found.append(vector | {"data": (bytes(8) + len(data).to_bytes(4, "big") + data).hex()})
    return found


LEGACY = ("v0", "v1")
ENTRIES = [vector for vector in units("entries") + bare_messages() if vector["format"] in (*LEGACY, "v2")]
OUTPUTS = decoded_outputs()
INPUTS = units("convert", "compact", "produce")
CONVERTED = [vector for vector in INPUTS if vector["unit"] != "compact" and "error" not in vector["expected"]]
REFUSED = [vector for vector in INPUTS if "error" in vector["expected"]]
PAYLOADS = [vector for vector in units("payload") if vector["magic"] == 2]
#: LZ4 frames with either header checksum, which the magic of their wrapper judges (COD-L8).
FRAMES = [vector for vector in units("payload") if vector["magic"] < 2]
SETS_0_7 = units("entries07")
KEYS = units("control-key")
VALUES = units("control-value")
TABLES = units("varint-table")
PLUGINS = units("plugin")
PROPOSALS = units("convert_v3")
FORMATS = [vector for vector in units("entries", "message") if vector["format"] in ("v3", "v2-bare-legacy-header")]


def stored(holder: Vector, field: str) -> bytes:
    """Bytes that stand as hex, or as parts when they are long."""
    if field in holder:
        return bytes.fromhex(holder[field])
    return b"".join(bytes.fromhex(part[1]) * (part[2] if part[0] == "repeat" else 1) for part in holder[f"{field}_parts"])


def with_lz4_head(head: bytes, payload: bytes) -> bytes:
    """A stored block before the blocks; a content checksum then is wrong, which nobody checks (COD-L11)."""
    start = 15 if payload[4] & 0x08 else 7
    return payload[:start] + (len(head) | 0x80000000).to_bytes(4, "little") + head + payload[start:]
