"""Records that may be shown to others: of keys, values and header values only their length and a keyed hash.

Everything that a verb shows under --redact comes from here. What is let through is listed by name; whatever is not listed is held back.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logsegment import ArrowBatch, Field, Finding, Problem, RecordBatchError

#: Columns that say nothing of a payload. A list of its own, not what is left of all columns: a new one is held back until it is named here.
OPEN_COLUMNS = frozenset(
    {
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
        "timestampMs",
        "attributes",
        "producerId",
        "producerEpoch",
        "sequence",
        "partitionLeaderEpoch",
        "isTransactional",
        "isControl",
        "controlType",
        "magic",
        "compression",
        "batchBaseOffset",
        "entryPosition",
        "indexInEntry",
    }
)
#: Bytes of the hash that are kept: two payloads of a billion are given the same one in one of 10^11 cases.
HASH_BYTES = 12
#: A shorter key could be tried out, and with it every payload that can be guessed.
LEAST_KEY_BYTES = 16
#: What stands for words that may have numbers of a payload in them.
WITHHELD = "details hidden by --redact"

Sealed = dict[str, int | str]


class Redactor:
    """Replaces payloads. Under the same key equal bytes have equal hashes, wherever they stand; null stays null.

    Args:
        key: the secret under which hashes are made (HMAC-SHA-256), at least 16 bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < LEAST_KEY_BYTES:
            raise ValueError(f"a key for hashes must have at least {LEAST_KEY_BYTES} bytes, not {len(key)}")
        self._key = key

    def hash(self, payload: bytes) -> str:
        """Return the keyed hash in hexadecimal digits."""
        return hmac.digest(self._key, payload, "sha256")[:HASH_BYTES].hex()

    def sealed(self, payload: bytes | None) -> Sealed | None:
        """Return the length and the hash of a payload."""
        return None if payload is None else {"length": len(payload), "hash": self.hash(payload)}

    def json_lines(self, batch: ArrowBatch, fields: Sequence[tuple[str, str]], *, iso: bool) -> bytes:
        """Return the rows of a batch as JSON lines without their payloads.

        Args:
            batch: records.
            fields: as in `ArrowBatch.to_jsonl`.
            iso: likewise.

        Raises:
            ValueError: for a column that nobody has looked at.
        """
        records = batch.to_pylist()
        parts: list[Iterable[bytes]] = []
        for is_own, group in groupby(fields, lambda field: field[0] == "topic" or not _is_open(field[0])):
            run = list(group)
            if is_own:
                parts.append([_json({name: self._redacted(column, record[column]) for column, name in run}) for record in records])
            else:
                parts.append(batch.to_jsonl(fields=run, iso=iso).splitlines())
        return b"".join(b"{%b}\n" % b",".join(part[1:-1] for part in line) for line in zip(*parts, strict=True))

    def arrow_batch(self, batch: Any) -> Any:
        """Return a `pyarrow.RecordBatch` without its payloads.

        Raises:
            ValueError: for a column that nobody has looked at.
        """
        import pyarrow as pa

        columns = [self._column(pa, field, column) for field, column in zip(batch.schema, batch.columns, strict=True)]
        return pa.RecordBatch.from_arrays(columns, batch.schema.names)

    def error(self, error: RecordBatchError) -> str:
        """Return an error as text: its rule, its place and its kind."""
        record = "" if error.record_index is None else f", record {error.record_index}"
        place = "" if error.position is None else f" at byte {error.position:,}{record}"
        return f"{_rule(error)}{place}: {error.code} ({WITHHELD})"

    def finding(self, finding: Finding) -> str:
        """Return the text for the message of a finding."""
        return WITHHELD

    def finding_fields(self, finding: Finding) -> dict[str, Any]:
        """Return `Finding.to_dict` without the message and the offsets, which come from the header of what is damaged."""
        return finding.to_dict() | {"message": WITHHELD, "baseOffset": None, "lastOffset": None}

    def _redacted(self, name: str, value: Any) -> Any:
        """Return what is shown of a value: of a run of bytes its length and hash, of an internal record its type."""
        if value is None or _is_open(name):
            return value
        if name == "internal":
            return {"type": value["type"]}
        return self.sealed(value) if name in ("key", "value") else [header | {"value": self.sealed(header["value"])} for header in value]

    def _column(self, pa: Any, field: Any, column: Any) -> Any:
        if _is_open(field.name):
            return column
        sealed = pa.struct([("length", pa.int32()), ("hash", pa.string())])
        if field.name == "internal":
            kind = pa.struct([("type", pa.string())])
        elif field.name in ("key", "value"):
            kind = sealed
        else:
            kind = pa.list_(pa.struct([field.type.value_type.field("key"), ("value", sealed)]))
        return pa.array([self._redacted(field.name, value) for value in column.to_pylist()], kind)


def _is_open(name: str) -> bool:
    if name in OPEN_COLUMNS:
        return True
    if name not in ("key", "value", "headers", "headersRaw", "internal"):
        raise ValueError(f"the column {name} cannot be redacted")
    return False


def _json(fields: Mapping[str, Any]) -> bytes:
    # In ASCII no name of a topic or a header commands a terminal.
    return json.dumps(fields, separators=(",", ":"), default=_named).encode()


def _named(name: bytes) -> str | dict[str, str]:
    """Return the name of a header as JSON lines have it: as text if it is UTF-8."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(name).decode()}


def _rule(error: RecordBatchError) -> str:
    return "damaged" if error.rule is None else f"[{error.rule}]"


#: Fields of a batch and of a message that stand at a fixed place, in front of keys and values.
HEADER = frozenset(
    {
        "baseOffset",
        "batchLength",
        "partitionLeaderEpoch",
        "magic",
        "crc",
        "attributes",
        "lastOffsetDelta",
        "baseTimestamp",
        "maxTimestamp",
        "maxTimestampDelta",
        "producerId",
        "producerEpoch",
        "baseSequence",
        "recordsCount",
        "offset",
        "size",
        "timestamp",
        "length",
    }
)
#: Fields whose bytes are shown where the entry is valid.
OPEN_FIELDS = HEADER | frozenset(
    {
        "timestampDelta",
        "offsetDelta",
        "keyLength",
        "valueLength",
        "headersCount",
        "headerKeyLength",
        "headerValueLength",
        "headerKey",
    }
)
#: Fields that are payloads.
PAYLOADS = ("key", "value", "payload", "headerValue")
CHECKSUM = "crc"


def redacted(root: Field, redactor: Redactor) -> Field:
    """Return the entry without its payloads; of a damaged entry, at most the header."""
    return _shown(root, redactor) if is_valid_entry(root) else _header_of(root)


def is_valid_entry(root: Field) -> bool:
    """Return whether the entry has no errors and a checksum that matches. A torn entry has no checksum."""
    return root.ok and root.is_proven


def _shown(field: Field, redactor: Redactor) -> Field:
    problems, note = _withheld(field.problems), _note(field)
    if field.children:
        children = tuple(_shown(child, redactor) for child in field.children)
        return replace(field, value=None, raw=b"", note=note, problems=problems, children=children)
    if field.name in PAYLOADS and isinstance(field.value, bytes):
        note = f"hash {redactor.hash(field.raw)}" if len(field.raw) == field.length else note
        return replace(field, value=None, raw=b"", note=note, problems=problems)
    return _number(field)


def _header_of(root: Field) -> Field:
    # Without a checksum that matches, any field may hold what was cut or written to this place.
    proven = root.children if root.is_proven else ()
    header = [_number(field) for field in takewhile(lambda field: field.name in HEADER and not field.children, proven)]
    rest = root.children[len(header) :]
    if rest:
        problems = [problem for field in rest for _, below in field.walk() for problem in below.problems]
        length = root.start + root.length - rest[0].start
        note = "not shown by --redact: the entry is damaged"
        header.append(
            replace(rest[0], name="notShown", value=None, length=length, note=note, problems=_withheld(problems), raw=b"", children=())
        )
    return replace(root, note=root.note if proven else "", problems=_withheld(root.problems), children=tuple(header))


def _number(field: Field) -> Field:
    """Return a field without children, with its bytes if they are no payload."""
    redacted = replace(field, note=_note(field), problems=_withheld(field.problems))
    return redacted if field.name in OPEN_FIELDS and field.name != CHECKSUM else replace(redacted, value=None, raw=b"")


def _note(field: Field) -> str:
    """Return the note of a field without checksums that do not match."""
    return field.note.partition(", stored")[0]


def _withheld(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    return tuple(problem._replace(message=WITHHELD) for problem in problems)
