"""Records of internal topics: where the corpus has some, how tests make some, and what `decode` says of them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

import corpus
import logsegment as ls

DATA = corpus.CORPUS / "modern-4.1.0" / "data"
OFFSETS = DATA / "__consumer_offsets-1" / "00000000000000000000.log"


def entry(*records: tuple[bytes | None, bytes | None]) -> bytes:
    keys, values = ([record[at] for record in records] for at in (0, 1))
    return ls.encode(pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())})) or b""


def said(source: Any, **options: Any) -> tuple[list[Any], list[ls.Finding]]:
    stream = ls.decode(source, columns=[], values="internal", **options)
    return stream.to_pyarrow()["internal"].to_pylist(), stream.findings


def loaded(internal: dict[str, Any]) -> dict[str, Any]:
    return internal | {name: None if internal[name] is None else json.loads(internal[name]) for name in ("key", "value")}
