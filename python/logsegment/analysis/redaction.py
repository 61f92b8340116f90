"""Records that may be shown to others: of keys, values and header values only their length and a keyed hash.

Everything that a verb shows under --redact comes from here. What is let through is listed by name; whatever is not listed is held back.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logsegment._core import Finding, RecordBatchError
    from logsegment._inspect import Field, Problem

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
WITHHELD = "details held back by --redact"

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
        self._replaced: dict[str, Callable[[Any], Any]] = {
            "key": self._text,
            "value": self._text,
            "headers": lambda headers: [{"key": one["key"], "value": self._text(one["value"])} for one in headers],
            "headersRaw": lambda headers: [{"key": _named(one["key"]), "value": self._text(one["value"])} for one in headers],
            "internal": lambda told: {"type": told["type"]},
        }

    def hash(self, payload: bytes) -> str:
        """Return the keyed hash in hexadecimal digits."""
        return hmac.digest(self._key, payload, "sha256")[:HASH_BYTES].hex()

    def sealed(self, payload: bytes | None) -> Sealed | None:
        """Return the length and the hash of a payload."""
        return None if payload is None else {"length": len(payload), "hash": self.hash(payload)}

    def json_lines(self, lines: bytes) -> bytes:
        """Return JSON lines of records, with bytes in base64, without their payloads.

        Raises:
            ValueError: for a column that nobody has looked at.
        """
        return b"".join(self._line(json.loads(line)) for line in lines.splitlines())

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

    def _line(self, record: Mapping[str, Any]) -> bytes:
        told = {name: self._told(name, value) for name, value in record.items()}
        # Names of headers are anybody's text: in ASCII none of them commands a terminal.
        return json.dumps(told, separators=(",", ":")).encode() + b"\n"

    def _told(self, name: str, value: Any) -> Any:
        if _is_open(name) or value is None:
            return value
        return self._replaced[name](value)

    def _text(self, encoded: str | None) -> Sealed | None:
        return self.sealed(None if encoded is None else base64.b64decode(encoded))

    def _column(self, pa: Any, field: Any, column: Any) -> Any:
        if _is_open(field.name):
            return column
        sealed = pa.struct([("length", pa.int32()), ("hash", pa.string())])
        if field.name == "internal":
            return pa.array([told and {"type": told["type"]} for told in column.to_pylist()], pa.struct([("type", pa.string())]))
        if field.name in ("key", "value"):
            return pa.array(map(self.sealed, column.to_pylist()), sealed)
        header = field.type.value_type
        rows = [headers and [one | {"value": self.sealed(one["value"])} for one in headers] for headers in column.to_pylist()]
        return pa.array(rows, pa.list_(pa.struct([header.field("key"), ("value", sealed)])))


def _is_open(name: str) -> bool:
    if name in OPEN_COLUMNS:
        return True
    if name not in ("key", "value", "headers", "headersRaw", "internal"):
        raise ValueError(f"the column {name} cannot be redacted")
    return False


def _named(encoded: str | None) -> str | dict[str, str] | None:
    """Return the name of a header as JSON lines have it: as text if it is UTF-8."""
    try:
        return None if encoded is None else base64.b64decode(encoded).decode()
    except UnicodeDecodeError:
        return {"base64": str(encoded)}


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
#: Fields whose bytes are shown where the entry is intact.
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
    return _shown(root, redactor) if is_intact(root) else _header_of(root)


def is_intact(root: Field) -> bool:
    """Return whether the entry has no errors and a checksum that matches. A torn entry has no checksum."""
    return root.ok and is_proven(root)


def is_proven(root: Field) -> bool:
    """Return whether a checksum matches, so that the fields of the header are what the writer wrote."""
    return any(field.name == CHECKSUM and field.note.endswith(": matches") for field in root.children)


def begins_entry(rows: Iterable[dict[str, Any]], position: int) -> bool:
    """Return whether an entry starts here: at the start of the source, or at the end of a batch whose checksum matches."""
    return position == 0 or any(row["isValid"] and row["position"] + row["size"] == position for row in rows)


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
    proven = root.children if is_proven(root) else ()
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
    told = replace(field, note=_note(field), problems=_withheld(field.problems))
    return told if field.name in OPEN_FIELDS and field.name != CHECKSUM else replace(told, value=None, raw=b"")


def _note(field: Field) -> str:
    """Return the note of a field without checksums that do not match."""
    return field.note.partition(", stored")[0]


def _withheld(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    return tuple(problem._replace(message=WITHHELD) for problem in problems)
