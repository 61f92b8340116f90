"""One entry as a tree of fields, with its text and its HTML: `inspect`, `Field`, `Problem`."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple, Unpack

from logsegment._core import inspect_entry
from logsegment._options import Depth, EntryKeywords, ReadOptions, ensure_offsets
from logsegment._storage import StorageOptions, reached_source
from logsegment._text import count

#: Records that are shown one by one, and bytes of a key, value or packed block.
RECORDS = 10
#: The field with the checksum of an entry.
CHECKSUM = "crc"
VALUE_BYTES = 256


class Problem(NamedTuple):
    """Something wrong with a field.

    Attributes:
        rule (str): id of the rule, as in a `Finding`; empty where only the fields end too early.
        severity (str): "error", "warning" or "info".
        message (str): what is wrong, in words.
    """

    rule: str
    severity: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity} {self.rule}: {self.message}" if self.rule else f"{self.severity}: {self.message}"


@dataclass(frozen=True, slots=True, repr=False)
class Field:
    """A field of an entry, or a group of fields, with the bytes that it takes.

    Attributes:
        name (str): Kafka's name, or that of the codec's own format; `record[3]` and so on where there are several.
        value (int, bytes or None): what the bytes say; None for groups, nulls and fields that are cut short. Of long bytes the first
            `value_bytes`.
        start (int): position of its first byte: in the source, or in the decompressed bytes when `inside` says so.
        length (int): bytes, those of its children included.
        note (str): what the value means.
        inside (str or None): the decompressed bytes that `start` counts in; None for the source.
        problems (tuple[Problem, ...]): what is wrong here.
        raw (bytes): the bytes of a field without children; of many the first `value_bytes`.
        children (tuple[Field, ...]): what it is made of.

    Children are found by name (`entry["crc"]`) and by index (`entry["records"][0]`). The fields without children cover every byte of
    an entry, and every decompressed byte, exactly once.
    """

    name: str
    value: int | bytes | None
    start: int
    length: int
    note: str
    inside: str | None
    problems: tuple[Problem, ...]
    raw: bytes
    children: tuple[Field, ...]

    def __getitem__(self, key: str | int) -> Field:
        if isinstance(key, int):
            return self.children[key]
        for child in self.children:
            if child.name == key:
                return child
        raise KeyError(key)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.children)

    def __len__(self) -> int:
        return len(self.children)

    def __bool__(self) -> bool:
        return True

    def walk(self) -> Iterator[tuple[int, Field]]:
        """Yield this field and all fields below it in the order of the bytes, each with its depth."""
        waiting = [(0, self)]
        while waiting:
            depth, field = waiting.pop()
            yield depth, field
            waiting += [(depth + 1, child) for child in reversed(field.children)]

    @property
    def ok(self) -> bool:
        """Return True if no problem of severity "error" is in this field or below it."""
        return not any(problem.severity == "error" for _, field in self.walk() for problem in field.problems)

    @property
    def is_proven(self) -> bool:
        """Return True if a checksum of the entry matches, so that the fields of its header are what the writer wrote."""
        return any(field.name == CHECKSUM and field.note.endswith(": matches") for field in self.children)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python, ready for JSON: bytes as hex digits in `raw`, and `children` if there are any."""
        found: dict[str, Any] = {"name": self.name, "start": self.start, "length": self.length}
        if isinstance(self.value, int):
            found["value"] = self.value
        if not self.children:
            found["raw"] = self.raw.hex()
        found |= {"note": self.note} if self.note else {}
        found |= {"inside": self.inside} if self.inside else {}
        found |= {"problems": [problem._asdict() for problem in self.problems]} if self.problems else {}
        if self.children:
            found["children"] = [child.to_dict() for child in self.children]
        return found

    def to_lines(self) -> Iterator[list[Piece]]:
        """Yield the lines of the hex dump, each as texts with a style for a terminal: "problem-error", "dim", "name" and so on."""
        return text_lines(self)

    def to_html(self, title: str, next_entry: Field | None = None) -> str:
        """Return a page without requests or scripts, with another entry after this one if it is given."""
        return html_page(self, title, next_entry)

    def __repr__(self) -> str:
        return "\n".join("".join(text for text, _ in line) for line in self.to_lines())

    def _repr_html_(self) -> str:
        return html_fragment(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class InspectOptions:
    """Selection of fields; `inspect` documents each attribute."""

    at: int = 0
    offset: int | None = None
    depth: Depth = "full"
    records: int | None = RECORDS
    value_bytes: int = VALUE_BYTES


def inspect(
    source: Any,
    *,
    at: int | None = None,
    offset: int | None = None,
    depth: Depth = "full",
    records: int | None = RECORDS,
    value_bytes: int = VALUE_BYTES,
    storage_options: StorageOptions | None = None,
    **options: Unpack[EntryKeywords],
) -> Field:
    """Show one entry field by field: bytes, value, meaning and damage. Never raises on invalid bytes.

    Args:
        source: see `decode`.
        at: position of the entry in the source, in bytes; the first byte by default. Any bytes are shown as an entry.
        offset: show the first entry, from `at` on, that ends at or after this offset.
        depth: "headers" shows the header; "metadata" also the frames of the codec, without decompression; "full" also the records.
        records: number of records shown one by one, None for all; the others are one field. At most 300,000 fields are shown of a hostile
            batch.
        value_bytes: number of bytes kept of a key, a value or a compressed block.
        storage_options: options of the store of a URI; see `Log`.
        options: options of entries; see `decode`. `limits` bound the decompressed bytes.

    Returns:
        A `Field`, the entry. Compressed records are in a child `decompressed`, with positions in the decompressed bytes. Problems
        are the findings of `validate` in the entry. The `repr` is a hex dump with names and meanings; notebooks show a table.

    Raises:
        ValueError: if the input ends at `at`, or no entry ends at or after `offset`.
        RecordBatchError: if an entry before `offset` is damaged.
        OSError: if the file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> entry = ls.inspect(ls.FileSource("00000000000000000000.log"))
        >>> entry["magic"].value, entry["magic"].start, entry["magic"].note
        (2, 16, 'record batch, format v2')

    Source: the layouts in docs/reference/formats; RFC 1952, RFC 8878, the LZ4 frame format, snappy-java.
    """
    if at is not None and at < 0:
        raise ValueError(f"at must not be negative, not {at}")
    ensure_offsets(offset, None, ("offset", "offset"))
    if records is not None and records < 0:
        raise ValueError(f"records must not be negative, not {records}")
    shown = InspectOptions(at=at or 0, offset=offset, depth=depth, records=records, value_bytes=value_bytes)
    return inspected(reached_source(source, storage_options), shown, ReadOptions.of(EntryKeywords, options))


def inspected(source: Any, shown: InspectOptions, options: ReadOptions) -> Field:
    """Return the fields of one entry, as `inspect` does, with built options."""
    return _field(inspect_entry(source, shown, options))


def _field(found: tuple[Any, ...]) -> Field:
    name, value, start, length, note, inside, problems, raw, children = found
    marked = tuple(Problem(*problem) for problem in problems)
    return Field(name, value, start, length, note, inside, marked, raw, tuple(map(_field, children)))


#: Bytes on a line, and lines of bytes of one field; what is left is counted.
WIDTH = 8
HEIGHT = 4
#: Letters of a text that are shown as the value of bytes.
LETTERS = 40
#: A piece of a line and how it is coloured: "problem-error", "problem-warning", "problem-info", "dim", "name", "group", or nothing.
Piece = tuple[str, str]


def text_lines(root: Field) -> Iterator[list[Piece]]:
    """Yield the lines of the dump, each a list of pieces that a terminal may color."""
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
    """Return the bytes of a field without children as lines of hex digits; the last line counts the bytes that are left out."""
    if field.children or (field.length and not field.raw):
        return [f"({count(field.length, 'byte')})"]
    shown = field.raw[: WIDTH * HEIGHT]
    rows = [shown[at : at + WIDTH].hex(" ") for at in range(0, len(shown), WIDTH)]
    left = field.length - len(shown)
    return [*rows, f"... {count(left, 'more byte')}"] if left > 0 else rows


def value_text(field: Field) -> str:
    """Return the value as text: numbers, checksums in hex, and bytes if they are printable UTF-8."""
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


STYLE = """
.ls-inspect{--line:#8884;--dim:#667;--mark:#b3261e;--warn:#8a5a00;--back:#b3261e14;color:inherit;font:13px/1.5 system-ui,sans-serif}
@media(prefers-color-scheme:dark){.ls-inspect{--dim:#9aa;--mark:#ff8a80;--warn:#ffc46b;--back:#ff8a8022}}
[data-theme=dark] .ls-inspect,[data-jp-theme-light=false] .ls-inspect{--dim:#9aa;--mark:#ff8a80;--warn:#ffc46b;--back:#ff8a8022}
.ls-inspect details{margin-left:1.2em}.ls-inspect summary{cursor:pointer}
.ls-inspect summary,.ls-inspect .f{border-top:1px solid var(--line);padding:1px 0}
.ls-inspect .f{margin-left:1.2em;padding-left:1.1em}
.ls-inspect code{font:12px ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;background:none;color:inherit}
.ls-inspect .p,.ls-inspect .n,.ls-inspect .b{color:var(--dim)}.ls-inspect .v{margin:0 .6em}
.ls-inspect .error{color:var(--mark)}.ls-inspect .warning{color:var(--warn)}
.ls-inspect .hurt{background:var(--back)}
"""


def html_fragment(root: Field) -> str:
    """Return the tree as a piece of HTML without requests or scripts."""
    return f'<div class="ls-inspect"><style>{STYLE}</style>{"".join(_html_field(root, is_open=True))}</div>'


def html_page(root: Field, title: str, next_one: Field | None = None) -> str:
    """Return the tree as a page, with another tree after it if one is given."""
    head = f'<meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
    rest = f"<h2>the next valid batch, byte {next_one.start}</h2>{html_fragment(next_one)}" if next_one else ""
    return f"<!doctype html><html lang=en><head>{head}</head><body><h1>{escape(title)}</h1>{html_fragment(root)}{rest}</body></html>\n"


def _html_field(field: Field, *, is_open: bool = False) -> list[str]:
    hurt = " hurt" if field.problems else ""
    row = _html_row(field)
    if not field.children:
        return [f'<div class="f{hurt}">{row}</div>']
    inside = "".join("".join(_html_field(child, is_open=_is_opened(child))) for child in field.children)
    return [f"<details{' open' if is_open else ''}><summary class='{hurt.strip()}'>{row}</summary>{inside}</details>"]


def _is_opened(field: Field) -> bool:
    """Open what is damaged, and what holds the records."""
    return field.name in ("records", "decompressed") or any(below.problems for _, below in field.walk())


def _html_row(field: Field) -> str:
    raw_bytes = "" if field.children else f' <code class="b">{escape(" ".join(hex_rows(field)))}</code>'
    value = value_text(field)
    parts = [
        f'<span class="p">{field.start}+{field.length}</span> <b>{escape(field.name)}</b>{raw_bytes}',
        f' <code class="v">{escape(value)}</code>' if value else "",
        f' <span class="n">{escape(field.note)}</span>' if field.note else "",
        "".join(f'<div class="{escape(problem.severity)}">{escape(str(problem))}</div>' for problem in field.problems),
    ]
    return "".join(parts)
