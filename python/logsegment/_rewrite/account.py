"""The account of a rewrite: what became of every byte of its input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from logsegment._core import Finding
from logsegment._text import camel_case

Action: TypeAlias = Literal["copied", "rewritten", "dropped"]
#: A range as the core gives it: the attributes of `RewriteRange`.
RangeRow: TypeAlias = tuple[Action, int, int, int, int, int | None, int | None, int, int, int, int, int]


@dataclass(frozen=True)
class RewriteRange:
    """Entries that follow each other in an input file and have the same fate.

    Attributes:
        action: "copied" byte for byte, "rewritten" with fewer records or other values, or "dropped".
        position, length: their bytes in the input.
        output_position, output_length: their bytes in the output; no bytes for dropped entries.
        first_offset, last_offset: their offsets; None for bytes after the last whole entry, which are dropped.
        entries: their number.
        records: records in the input.
        dropped, tombstoned, masked: records among them that are gone, whose value became null, and whose value is masked.
    """

    action: Action
    position: int
    length: int
    output_position: int
    output_length: int
    first_offset: int | None
    last_offset: int | None
    entries: int
    records: int
    dropped: int
    tombstoned: int
    masked: int

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON."""
        return {camel_case(name): value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class RewrittenFile:
    """The account of one file. The ranges follow each other and are all of the input.

    Attributes:
        source: the path of the input; None for a buffer.
        output: the path of the output, below that of the rewrite; None for bytes, and for a segment that lost all its entries.
        input_bytes, input_sha256: of the input.
        output_bytes, output_sha256: of the output.
        emptied: entries that lost all their records and stay without any, as a broker's cleaner keeps them.
        is_listed: False if there were more than 1,048,576 ranges, of which the last are listed as one that is "rewritten".
        findings: of the end of the input, which is left out if it is torn or zeros.
        below_log_start: records below the log start offset of the partition, which are among the dropped ones.
    """

    source: str | None
    output: str | None
    input_bytes: int
    input_sha256: str
    output_bytes: int
    output_sha256: str
    emptied: int
    is_listed: bool
    findings: list[Finding]
    rows: Sequence[RangeRow] = field(repr=False)
    below_log_start: int = 0

    @cached_property
    def ranges(self) -> list[RewriteRange]:
        """The ranges of the input."""
        return [RewriteRange(*row) for row in self.rows]

    @property
    def is_unchanged(self) -> bool:
        """True if the output has the bytes of the input."""
        return self.input_sha256 == self.output_sha256

    @property
    def records(self) -> int:
        """Records in the input."""
        return sum(row[8] for row in self.rows)

    @property
    def dropped(self) -> int:
        """Records that are gone."""
        return sum(row[9] for row in self.rows)

    @property
    def tombstoned(self) -> int:
        """Records whose value became null."""
        return sum(row[10] for row in self.rows)

    @property
    def masked(self) -> int:
        """Records whose value is masked."""
        return sum(row[11] for row in self.rows)

    def to_dict(self, *, has_ranges: bool = True) -> dict[str, Any]:
        """Return the account by the names in JSON; it has no keys, values or header values of records."""
        names = ("source", "output", "input_bytes", "input_sha256", "output_bytes", "output_sha256")
        counts = ("records", "dropped", "tombstoned", "masked", "below_log_start", "emptied", "is_listed")
        account = {camel_case(name): getattr(self, name) for name in (*names, *counts)}
        return account | ({"ranges": [byte_range.to_dict() for byte_range in self.ranges]} if has_ranges else {})


@dataclass(frozen=True)
class Rewrite:
    """The result of `rewrite`: an account of every file.

    Attributes:
        files: in the order of partitions and offsets.
        output: the path of the output; None for memory and with `dry_run`.
        dry_run: nothing was written.
        data: the output, if it was not written to `out`.
        partition_findings: files of interrupted work that are read or not (SEG-17), missing uploads (SEG-15), and log start offsets
            that do not count, or are not known (SEG-20, SEG-21).
    """

    files: list[RewrittenFile]
    output: str | None
    dry_run: bool
    data: bytes | None = field(default=None, repr=False)
    partition_findings: list[Finding] = field(default_factory=list, repr=False)

    @property
    def records(self) -> int:
        """Records in the input."""
        return sum(file.records for file in self.files)

    @property
    def dropped(self) -> int:
        """Records that are gone."""
        return sum(file.dropped for file in self.files)

    @property
    def below_log_start(self) -> int:
        """Records below log start offsets, which are among the dropped ones."""
        return sum(file.below_log_start for file in self.files)

    @property
    def tombstoned(self) -> int:
        """Records whose value became null."""
        return sum(file.tombstoned for file in self.files)

    @property
    def masked(self) -> int:
        """Records whose value is masked."""
        return sum(file.masked for file in self.files)

    @property
    def findings(self) -> list[Finding]:
        """The findings of all files and partitions."""
        return [*self.partition_findings, *(finding for file in self.files for finding in file.findings)]

    def to_dict(self) -> dict[str, Any]:
        """Return the account by the names in JSON; it has no keys, values or header values of records."""
        names = ("records", "dropped", "tombstoned", "masked", "below_log_start")
        counts = {camel_case(name): getattr(self, name) for name in names}
        return {"output": self.output, "dryRun": self.dry_run, **counts, "files": [file.to_dict() for file in self.files]}
