"""What each implementation makes of bytes: whether it reads them to the end, what it says where not, and the records before that.

`ours`, `of_java` and `of_python` give a `Verdict` for each input; `difference` says what two of them do not agree about.
"""

from __future__ import annotations

import hashlib
import json
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import logsegment as ls
from rows import NO_TIMESTAMP_TYPE, Row, line_of

if TYPE_CHECKING:
    # The program that asks the Python clients needs no corpus.
    from inputs import Input
    from peers import Peer

READS = "reads"
FIELDS = ("offset", "timestamp", "timestamp_type", "key", "value", "headers")
COLUMNS = ["offset", "timestampMs", "timestampType", "key", "value", "headers"]
JUDGE = Path(__file__).with_name("python_judge.py")
#: For all inputs; a program that does not end in it hangs.
SECONDS = 300


@dataclass(frozen=True)
class Verdict:
    """`failure` is "reads" or what is wrong; `position` that of the entry, if it is told; `digest` is of the rows before it."""

    failure: str
    records: int
    digest: str
    position: int | None = None
    #: Digest of each field alone, of those that tell it.
    fields: tuple[str, ...] = ()

    @property
    def is_read(self) -> bool:
        return self.failure == READS


def of_rows(failure: str, rows: Sequence[Row], position: int | None = None) -> Verdict:
    columns = tuple(digest(repr([getattr(row, field) for row in rows])) for field in FIELDS)
    return Verdict(failure, len(rows), digest("".join(f"{line_of(row)}\n" for row in rows)), position, columns)


def digest(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "backslashreplace"), usedforsecurity=False).hexdigest()


def ours(data: bytes) -> Verdict:
    return judged(*our_rows(data))


def told(data: bytes, own: Verdict) -> str:
    """What we say, for the list of differences: a compressed batch that says it has no records is read unopened (V2-10)."""
    if own.is_read and any(row["magic"] == 2 and row["count"] == 0 and row["compression"] != "none" for row in headers_of(data)):
        return f"{READS}, one unopened"
    return own.failure


def headers_of(data: bytes) -> list[dict[str, Any]]:
    return ls.batches(data, check_crc=False).to_pylist()


def judged(rows: Sequence[Row], error: ls.RecordBatchError | None) -> Verdict:
    if error is None:
        return of_rows(READS, rows)
    return of_rows(f"{error.rule or error.code} {type(error).__name__}", rows, error.position)


def ours_for_python(data: bytes) -> Verdict:
    """The same as it is compared with Python's clients."""
    rows, error = our_rows(data)
    return judged(untimed(rows), error)


def untimed(rows: Sequence[Row]) -> list[Row]:
    """Without the type of a timestamp that is not there: Python's clients report it inconsistently."""
    return [replace(row, timestamp_type=NO_TIMESTAMP_TYPE) if row.timestamp == -1 else row for row in rows]


def our_rows(data: bytes) -> tuple[list[Row], ls.RecordBatchError | None]:
    rows: list[Row] = []
    try:
        for batch in ls.decode(data, columns=COLUMNS, control=True):
            rows += map(row_of_ours, pa.record_batch(batch).to_pylist())
    except ls.RecordBatchError as error:
        return rows, error
    return rows, None


def row_of_ours(line: dict[str, Any]) -> Row:
    headers = tuple((pair["key"], pair["value"]) for pair in line["headers"] or ())
    return Row(line["offset"], line["timestampMs"], line["timestampType"], line["key"], line["value"], headers)


def of_java(peer: Peer, wanted: Sequence[Input]) -> list[Verdict]:
    """One question for all inputs."""
    packed, out = peer.scratch / f"judge-{peer.name}.in", peer.scratch / f"judge-{peer.name}.out"
    packed.write_bytes(b"".join(struct.pack(">i", len(item.data)) + item.data for item in wanted))
    assert int(peer.ask("judge", str(packed), str(out))) == len(wanted)
    lines = [line.split("\t", 3) for line in out.read_text().splitlines()]
    return [Verdict(plain(failure), int(records), digest, int(position)) for position, records, digest, failure in lines]


def of_python(package: str, wanted: Sequence[Input], scratch: Path) -> list[Verdict]:
    """In a process of its own, which is started again behind an input that it does not survive."""
    packed = scratch / f"judge-{package}.in"
    packed.write_bytes(b"".join(struct.pack(">i", len(item.data)) + item.data for item in wanted))
    found: list[Verdict] = []
    while len(found) < len(wanted):
        command = [sys.executable, str(JUDGE), package, str(packed), str(len(found))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        told = map(json.loads, done.stdout.splitlines())
        fresh = [Verdict(plain(failure), records, whole, None, tuple(fields)) for failure, records, whole, fields in told]
        assert fresh or done.returncode < 0, done.stderr[-2000:]
        found += fresh
        if len(found) < len(wanted):
            assert done.returncode < 0, done.stderr[-2000:]
            found.append(of_rows(f"killed by signal {signal.Signals(-done.returncode).name}", []))
    return found


def plain(failure: str) -> str:
    """A failure without its numbers and names of objects, so that the same one is told in the same words."""
    return re.sub(r"-?\d+(\.\d+)?", "N", re.sub(r"0x[0-9a-f]+|@[0-9a-f]+", "N", failure))[:160].strip()


def difference(mine: Verdict, theirs: Verdict) -> str | None:
    """What they do not agree about: "verdict", "position", "count" of records, fields of them. Which error it is does not count."""
    if mine.is_read != theirs.is_read:
        return "verdict"
    if not mine.is_read and None not in (mine.position, theirs.position) and mine.position != theirs.position:
        return "position"
    if mine.records != theirs.records:
        return "count"
    if mine.digest != theirs.digest:
        differing = [field for field, own, other in zip(FIELDS, mine.fields, theirs.fields, strict=False) if own != other]
        return " ".join(differing) or "records"
    return None
