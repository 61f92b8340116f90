"""A `Field` as lines of text: positions and bytes on the left, names, values and meanings on the right."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import TYPE_CHECKING

from logsegment._text import count

if TYPE_CHECKING:
    from logsegment._inspect.inspect import Field

#: Bytes on a line, and lines of bytes of one field; what is left is counted.
WIDTH = 8
HEIGHT = 4
#: Letters of a text that are shown as the value of bytes.
LETTERS = 40
#: A piece of a line and how it is coloured: "problem-error", "problem-warning", "problem-info", "dim", "name", "group", or nothing.
Piece = tuple[str, str]


def lines(root: Field) -> Iterator[list[Piece]]:
    """All lines of the dump; each is a list of pieces, which a terminal may colour."""
    fields = list(root.walk())
    name_width = min(max((2 * depth + len(field.name) for depth, field in fields), default=0), 44)
    place_width = max(len(str(field.start + field.length)) for _, field in fields)
    hex_width = 3 * WIDTH - 1
    inside: str | None = None
    for depth, field in fields:
        if field.inside != inside and field.inside is not None:
            yield [(f"{'':{place_width}}  positions from here on count in: {field.inside}", "dim")]
        inside = field.inside
        label = "  " * depth + field.name
        style = "group" if field.children or depth == 0 else "name"
        rows = hex_rows(field)
        first = rows[0] if rows else ""
        right = "  ".join(part for part in (value_text(field), field.note) if part)
        place = f"{field.start:>{place_width}}"
        named = f"{label:{name_width}}" if right else label
        yield [(place, "dim"), (f"  {first:{hex_width}}  ", ""), (named, style), (f"  {right}".rstrip(), "")]
        for number, row in enumerate(rows[1:], 1):
            is_count = not row[:2].strip() or row.startswith("...")
            at = "" if is_count else str(field.start + number * WIDTH)
            yield [(f"{at:>{place_width}}", "dim"), (f"  {row}", "")]
        for problem in field.problems:
            indent = f"{'':{place_width}}  {'^' * min(hex_width, max(2, 3 * field.length - 1)):{hex_width}}  {'  ' * depth}"
            yield [(f"{indent}{problem}", f"problem-{problem.severity}")]


def hex_rows(field: Field) -> list[str]:
    """The bytes of a field without children, a few on a line; the last line counts those that are left out."""
    if field.children or (field.length and not field.raw):
        return [f"({count(field.length, 'byte')})"]
    shown = field.raw[: WIDTH * HEIGHT]
    rows = [shown[at : at + WIDTH].hex(" ") for at in range(0, len(shown), WIDTH)]
    left = field.length - len(shown)
    return [*rows, f"... {count(left, 'more byte')}"] if left > 0 else rows


def value_text(field: Field) -> str:
    """The value as people read it: numbers, checksums in hex, bytes as text where they are some."""
    if isinstance(field.value, int):
        return f"{field.value:#010x}" if field.name in ("crc", "CRC32", "magic") and field.length == 4 else str(field.value)
    if not isinstance(field.value, bytes) or not field.value:
        return ""
    head = field.value[: 4 * LETTERS]
    is_part = len(head) < field.length
    try:
        # A part may end inside of a character, the whole may not.
        text = getincrementaldecoder("utf-8")().decode(head, final=not is_part)
    except UnicodeDecodeError:
        return ""
    if not text.isprintable():
        return ""
    is_cut = len(text) > LETTERS or is_part
    return repr(text[:LETTERS]) + ("..." if is_cut else "")
