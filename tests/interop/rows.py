"""Records as all peers tell them, and the lines in which the Java program takes and gives them."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Headers = tuple[tuple[str, bytes | None], ...]
CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE = 0, 1, -1
NULL = "~"


@dataclass(frozen=True)
class Row:
    """One record. `timestamp` is in milliseconds, -1 for none."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()

    def __repr__(self) -> str:
        def short(data: bytes | None) -> str:
            return repr(data) if data is None or len(data) < 40 else f"<{len(data)} bytes {data[:12]!r}..>"

        return f"Row({self.offset}, {self.timestamp}/{self.timestamp_type}, {short(self.key)}, {short(self.value)}, {self.headers})"


def batches(kind: str) -> list[list[Row]]:
    """What every writer is given: three batches with what is easy to get wrong, as far as this format can hold it."""
    return [[held(row, kind) for row in batch] for batch in RECORDS]


def held(row: Row, kind: str) -> Row:
    """What is left of a record in a format."""
    if kind == "v2":
        return row
    if kind == "v1":
        return replace(row, headers=())
    return replace(row, headers=(), timestamp=-1, timestamp_type=NO_TIMESTAMP_TYPE)


def made_records() -> list[list[Row]]:
    """Nulls and empties, plain text, more than one block of each codec, bytes that do not shrink, late records, odd headers."""
    source = random.Random(20240501)
    start = 1_700_000_000_000
    text = b"the quick brown fox jumps over the lazy dog, offset after offset; "
    odd: Headers = (("a", b"1"), ("a", b"2"), ("", b""), ("h\u00e9", b"\x00\xff"))
    first = [
        (None, b"null key", ()),
        (b"", b"empty key", ()),
        (b"tombstone", None, ()),
        (b"empty value", b"", ()),
        (b"headers", b"with", odd),
        (b"\x00\xff\x80", bytes(range(256)), ()),
    ]
    many = [(f"key {i % 7}".encode(), text[: 10 + i % 50], (("trace", f"{i:08x}".encode()),) if i % 3 else ()) for i in range(60)]
    large = [
        (b"long text", text * 3000, ()),
        (b"noise", source.randbytes(90_000), ()),
        (b"zeros", bytes(70_000), ()),
        (b"last", b"after the large ones", ()),
    ]
    offset, made = 0, []
    for batch in (first, many, large):
        made.append([])
        for key, value, headers in batch:
            late = 5000 if offset % 5 == 4 else 0
            made[-1].append(Row(offset, start + 37 * offset - late, CREATE_TIME, key, value, headers))
            offset += 1
    return made


RECORDS = made_records()


def save_spec(path: Path, parts: Sequence[Sequence[Row]], magic: int, codec: str, log_append_time: int | None = None) -> None:
    """Write what the Java program's `write` and `produce` read: how, then the rows, an empty line between batches."""
    how = [str(magic), codec, "CreateTime" if log_append_time is None else "LogAppendTime"]
    how.append("-1" if log_append_time is None else str(log_append_time))
    blocks = ["".join(f"{line_of(row)}\n" for row in part) for part in parts]
    path.write_text("\t".join(how) + "\n" + "\n".join(blocks))


def load_rows(path: Path) -> list[Row]:
    return [row_of(line) for line in path.read_text().splitlines()]


def line_of(row: Row) -> str:
    headers = ",".join(f"{text(key.encode())}:{text(value)}" for key, value in row.headers)
    return "\t".join([str(row.offset), str(row.timestamp), str(row.timestamp_type), text(row.key), text(row.value), headers])


def row_of(line: str) -> Row:
    offset, timestamp, kind, key, value, headers = line.split("\t")
    pairs = [header.split(":") for header in headers.split(",") if header]
    named = tuple(((plain(name) or b"").decode(), plain(held_value)) for name, held_value in pairs)
    return Row(int(offset), int(timestamp), int(kind), plain(key), plain(value), named)


def text(data: bytes | None) -> str:
    return NULL if data is None else base64.b64encode(data).decode()


def plain(told: str) -> bytes | None:
    return None if told == NULL else base64.b64decode(told)


def difference(found: Sequence[Row], expected: Sequence[Row]) -> str | None:
    """The first row in which two answers differ, in words; None if they are equal."""
    for index, (have, want) in enumerate(zip(found, expected, strict=False)):
        if have != want:
            return f"row {index}: found {have}, expected {want}"
    return None if len(found) == len(expected) else f"found {len(found)} records, expected {len(expected)}"


def rows_of_arrow(tables: Iterable[Any]) -> list[Row]:
    """Rows of our own columns `offset timestampMs timestampType key value headers`."""
    rows = []
    for table in tables:
        for line in table.to_pylist():
            pairs = tuple((header["key"], header["value"]) for header in line["headers"] or ())
            rows.append(Row(line["offset"], line["timestampMs"], line["timestampType"], line["key"], line["value"], pairs))
    return rows
