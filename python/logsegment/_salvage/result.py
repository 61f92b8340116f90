"""The valid entries of damaged bytes, and an account of the rest: `salvaged` calls the core, `Salvage` is the result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from logsegment._core import Finding
from logsegment._core import salvage as core_salvage
from logsegment._options import ReadOptions
from logsegment._report import in_named_file
from logsegment._survey import LostRange
from logsegment._text import camel_case
from logsegment.segment_files.discovery import is_gap


@dataclass(frozen=True)
class KeptRange:
    """Run of entries of the input that are in the output.

    Attributes:
        position, length: the bytes in the input.
        first_offset, last_offset: first and last offset by the headers.
        entries: number of entries.
        path: the input, in the account of several files; otherwise None.
    """

    position: int
    length: int
    first_offset: int
    last_offset: int
    entries: int
    path: str | None = None

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return self.position + self.length

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON."""
        return {camel_case(name): value for name, value in asdict(self).items() if name != "path" or value is not None}


@dataclass(frozen=True)
class Salvage:
    """Result of `salvage`.

    Attributes:
        data: the valid entries, byte for byte; None if they were written to `out`.
        kept: ranges of the input that are in the output, in the order of the output.
        lost: the other ranges of the input, in the order of the input. `kept` and `lost` cover the input without gap or overlap.
        findings: the errors of the input, and why bytes were skipped.
        kept_bytes, lost_bytes, entries: bytes and entries kept, bytes lost.
        harmful_bytes: `lost_bytes` without zeros at the end and copies.
        aside: with `aside=True`, the bytes that do not fit into the log; None if they were written to a file or not requested.
        aside_bytes: number of bytes aside.
        records: number of readable records of damaged batches aside.
        doubtful: number of valid entries with misplaced offsets, which are aside; with `order="offset"` only.
        undecodable: findings of kept entries whose records cannot be read, at most 100,000: the checksum matches, so their writer made them
            wrong.
        undecompressed: number of kept entries that cannot be opened here: their plugin or their dictionary is missing, or a limit is
            too low, or they need quirks.
        needing_quirks: number of these entries that `quirks` makes readable; the findings (COD-L8, COD-L12) name the quirks.
        moved: number of entries of swapped blocks that were sorted in; with `order="offset"` only. `kept` has their ranges.
        is_listed: `kept` and `lost` list every range. After 262,144 ranges of a kind no more are listed; the sums stay correct.
        path: the name of the input; None for a source without a name.
        outputs: the paths of the output files.
        left_out: of directories, findings about files that are not read, and about files of completed swaps.
    """

    data: bytes | None = field(repr=False)
    kept: list[KeptRange]
    lost: list[LostRange]
    findings: list[Finding] = field(repr=False)
    kept_bytes: int
    lost_bytes: int
    harmful_bytes: int
    entries: int
    aside: bytes | None = field(default=None, repr=False)
    aside_bytes: int = 0
    records: int = 0
    doubtful: int = 0
    undecodable: list[Finding] = field(default_factory=list, repr=False)
    undecompressed: int = 0
    needing_quirks: int = 0
    moved: int = 0
    is_listed: bool = True
    path: str | None = None
    outputs: list[str] = field(default_factory=list)
    left_out: list[Finding] = field(default_factory=list, repr=False)
    _files: list[Salvage] = field(default_factory=list, repr=False)

    @classmethod
    def of_files(cls, files: Sequence[Salvage], left_out: Iterable[Finding] = ()) -> Self:
        """Return the account of several files: the sum of their accounts, with the name of the file in each range and finding."""
        sums = {
            name: sum(getattr(file, name) for file in files)
            for name in (
                "kept_bytes",
                "lost_bytes",
                "harmful_bytes",
                "entries",
                "aside_bytes",
                "records",
                "doubtful",
                "undecompressed",
                "needing_quirks",
                "moved",
            )
        }
        return cls(
            data=None,
            kept=[replace(kept, path=file.path) for file in files for kept in file.kept],
            lost=[replace(lost, path=file.path) for file in files for lost in file.lost],
            findings=[in_named_file(finding, file.path) for file in files for finding in file.findings],
            undecodable=[in_named_file(finding, file.path) for file in files for finding in file.undecodable],
            is_listed=all(file.is_listed for file in files),
            outputs=[output for file in files for output in file.outputs],
            left_out=list(left_out),
            _files=list(files),
            **sums,
        )

    @property
    def files(self) -> list[Salvage]:
        """Return the accounts of several files, or of one source the account itself."""
        return self._files or [self]

    @property
    def ok(self) -> bool:
        """Return True if nothing was lost and no kept entry is undecodable; zeros at the end and copies do not count.

        Offsets that only files have that are not read are lost.
        """
        return not self.harmful_bytes and not self.undecodable and not any(map(is_gap, self.left_out))

    def to_dict(self) -> dict[str, Any]:
        """Return the account of all bytes by the names in JSON, without the findings."""
        bytes_and_records = ("entries", "kept_bytes", "lost_bytes", "aside_bytes", "records", "doubtful")
        names = ("ok", *bytes_and_records, "undecompressed", "needing_quirks", "moved", "is_listed")
        counts = {camel_case(name): getattr(self, name) for name in names}
        ranges = {"kept": [byte_range.to_dict() for byte_range in self.kept], "lost": [byte_range.to_dict() for byte_range in self.lost]}
        account = counts | ranges | {"undecodable": [finding.to_dict() for finding in self.undecodable]}
        return account | ({"files": [{"path": file.path} | file.to_dict() for file in self._files]} if self._files else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class SalvageOptions:
    """Options of `salvage`, which documents each attribute."""

    is_sorted: bool = False
    is_aside_kept: bool = False
    wants_records: bool = False
    first_offset: int | None = None
    end_offset: int | None = None


def salvaged(source: Any, read: ReadOptions, fit: SalvageOptions | None = None, targets: tuple[Any, Any] = (None, None)) -> Salvage:
    """Copy the valid entries of a source, as `salvage` does, with built options.

    Args:
        source: see `salvage`.
        read: options of entries.
        fit: what is kept; None for the defaults of `salvage`.
        targets: where the valid entries are written, and the bytes that have no place in the log; None to return them.

    Raises:
        OSError: if a file cannot be read or written, or has changed between two readings.
    """
    row = core_salvage(source, read, fit or SalvageOptions(), *targets)
    data, aside_data, kept, lost, is_listed, (findings, undecodable), totals = row
    kept_bytes, lost_bytes, harmful_bytes, entries, aside_bytes, records, doubtful, moved, undecompressed, needing_quirks = totals
    if not kept_bytes and not lost_bytes:
        lost = _unread(findings)
        lost_bytes = harmful_bytes = sum(length for _, length, *_ in lost)
    return Salvage(
        data=data,
        kept=[KeptRange(*row) for row in kept],
        lost=[LostRange(*row) for row in lost],
        findings=findings,
        kept_bytes=kept_bytes,
        lost_bytes=lost_bytes,
        harmful_bytes=harmful_bytes,
        entries=entries,
        aside=aside_data,
        aside_bytes=aside_bytes,
        records=records,
        doubtful=doubtful,
        undecodable=undecodable,
        undecompressed=undecompressed,
        needing_quirks=needing_quirks,
        moved=moved,
        is_listed=is_listed,
    )


def _unread(findings: list[Finding]) -> list[tuple[int, int, str, int | None, int | None]]:
    """Return the lost ranges of a segment without readable bytes, because its manifest is damaged."""
    return [
        (finding.position, finding.length, finding.rule, None, None)
        for finding in findings
        if finding.severity == "error" and finding.length
    ]
