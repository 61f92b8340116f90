"""The fields of one entry without its payloads, for `explain --redact`.

Of an intact entry every field keeps its name, place and meaning; bytes are kept of numbers of the headers and of names of headers alone.
Checksums over payloads are held back too, for a guess could be tried on them. Of a damaged one whose checksum matches the header is told,
which the checksum proves. Of any other, payloads may stand where the header was: its place, size and the rules of its damage are told, and
that only where it is proven that an entry begins there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from logsegment.analysis.redaction import WITHHELD

if TYPE_CHECKING:
    from logsegment._inspect import Field, Problem
    from logsegment.analysis.redaction import Redactor

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
OPEN = HEADER | frozenset(
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
    """The entry without its payloads; of a damaged one, whose place must be proven, the header at most."""
    return _shown(root, redactor) if is_intact(root) else _header_of(root)


def is_intact(root: Field) -> bool:
    """Whether the bytes prove themselves to be an entry: all is well, and a checksum was there that matches. A torn one has none."""
    return root.ok and is_proven(root)


def is_proven(root: Field) -> bool:
    """Whether a checksum was there that matches, so that the fields of the header are what the writer wrote."""
    return any(field.name == CHECKSUM and field.note.endswith(": matches") for field in root.children)


def begins_entry(rows: Iterable[dict[str, Any]], position: int) -> bool:
    """Whether an entry is proven to begin here: at the start of the source, or where one of the batches ends whose checksum matches."""
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
    """A field without children; its bytes where they are no payload."""
    told = replace(field, note=_note(field), problems=_withheld(field.problems))
    return told if field.name in OPEN and field.name != CHECKSUM else replace(told, value=None, raw=b"")


def _note(field: Field) -> str:
    """What a field means; without the checksums that do not match."""
    return field.note.partition(", stored")[0]


def _withheld(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    return tuple(problem._replace(message=WITHHELD) for problem in problems)
