"""Every field of one entry: `inspect`, `Field`, `Problem`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from logsegment import _core
from logsegment._core import Limits
from logsegment._options import Depth, Format, entry_options

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: Records that are shown one by one, and bytes of a key, value or packed block.
RECORDS = 10
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
        """This field and all below it in the order of the bytes, each with its depth."""
        waiting = [(0, self)]
        while waiting:
            depth, field = waiting.pop()
            yield depth, field
            waiting += [(depth + 1, child) for child in reversed(field.children)]

    @property
    def ok(self) -> bool:
        """Whether no problem of severity "error" is marked here or below."""
        return not any(problem.severity == "error" for _, field in self.walk() for problem in field.problems)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python, ready for JSON: bytes as hex digits in `raw`, and `children` where there are some."""
        told: dict[str, Any] = {"name": self.name, "start": self.start, "length": self.length}
        if isinstance(self.value, int):
            told["value"] = self.value
        if not self.children:
            told["raw"] = self.raw.hex()
        told |= {"note": self.note} if self.note else {}
        told |= {"inside": self.inside} if self.inside else {}
        told |= {"problems": [problem._asdict() for problem in self.problems]} if self.problems else {}
        if self.children:
            told["children"] = [child.to_dict() for child in self.children]
        return told

    def __repr__(self) -> str:
        from logsegment.inspect_text import lines

        return "\n".join("".join(text for text, _ in line) for line in lines(self))

    def _repr_html_(self) -> str:
        from logsegment.inspect_html import fragment

        return fragment(self)


def inspect(
    source: Any,
    *,
    at: int | None = None,
    offset: int | None = None,
    depth: Depth = "full",
    records: int | None = RECORDS,
    value_bytes: int = VALUE_BYTES,
    format: Format = "auto",
    experimental: bool = False,
    base_position: int | None = None,
    lz4_in_07: bool = False,
    ignore_lz4_header_checksum: bool = False,
    allow_dependent_lz4_blocks: bool = False,
    zstd_dictionaries: Sequence[bytes] | None = None,
    codecs: Registry | None = None,
    limits: Limits | None = None,
) -> Field:
    """Show one entry field by field: bytes, value, meaning, and the damage where it is. Never raises on bad bytes.

    Args:
        source: as in `decode`.
        at: where the entry starts, in bytes from the start of the source; its first byte by default. The bytes there are taken for an
            entry whatever they are.
        offset: the first entry that ends at or behind this offset, from `at` on.
        depth: "headers" shows the header; "metadata" also the frames of the codec, and unpacks nothing; "full" also the records.
        records: records of a batch that are shown one by one, None for all; the others are one field. Of a hostile batch at most 300,000
            fields are shown.
        value_bytes: bytes that are kept of a key, a value or a packed block.
        format: as in `decode`.
        experimental: as in `decode`.
        base_position: as in `decode`.
        lz4_in_07: as in `decode`.
        ignore_lz4_header_checksum: as in `decode`.
        allow_dependent_lz4_blocks: as in `decode`.
        zstd_dictionaries: as in `decode`.
        codecs: as in `decode`.
        limits: as in `decode`; they bound what is unpacked.

    Returns:
        A `Field`, the entry. Compressed records are in a child `decompressed`, whose positions count in the decompressed bytes. Problems
        are the findings of `validate` in the entry. The `repr` is a hex dump with names and meanings; notebooks show a table.

    Raises:
        ValueError: when nothing stands at `at`, or no entry ends at or behind `offset`.
        RecordBatchError: when damage lies on the way to `offset`.
        OSError: when the file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> entry = ls.inspect(ls.FileSource("00000000000000000000.log"))
        >>> entry["magic"].value, entry["magic"].start, entry["magic"].note
        (2, 16, 'record batch, format v2')

    Source: the layouts in docs/formats; RFC 1952, RFC 8878, the LZ4 frame format, snappy-java.
    """
    if at is not None and at < 0:
        raise ValueError(f"at must not be negative, not {at}")
    if records is not None and records < 0:
        raise ValueError(f"records must not be negative, not {records}")
    options = entry_options(
        format=format,
        experimental=experimental,
        base_position=base_position,
        lz4_in_07=lz4_in_07,
        ignore_lz4_header_checksum=ignore_lz4_header_checksum,
        allow_dependent_lz4_blocks=allow_dependent_lz4_blocks,
        zstd_dictionaries=zstd_dictionaries,
        codecs=codecs,
        limits=limits,
    )
    return _field(_core.inspect_entry(source, at or 0, offset, depth, records, value_bytes, options))


def _field(told: tuple[Any, ...]) -> Field:
    name, value, start, length, note, inside, problems, raw, children = told
    marked = tuple(Problem(*problem) for problem in problems)
    return Field(name, value, start, length, note, inside, marked, raw, tuple(map(_field, children)))
