"""Intact entries out of damaged bytes, and an account of the rest: `salvage`."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO, Literal, TypeAlias, Unpack

from logsegment._core import Finding
from logsegment._core import salvage as core_salvage
from logsegment._options import EntryKeywords, ReadOptions
from logsegment._output import ensure_apart, staged_output
from logsegment._text import camel_case

Order: TypeAlias = Literal["input", "offset"]
#: Rules of bytes that were left out although nothing is lost with them: zeros behind the log, copies of entries.
HARMLESS = frozenset({"FND-17", "SAL-1"})


@dataclass(frozen=True)
class KeptRange:
    """Entries that follow each other in the input and are in the output.

    Attributes:
        position, length: their bytes in the input.
        first_offset, last_offset: their offsets, as their headers tell.
        entries: how many.
    """

    position: int
    length: int
    first_offset: int
    last_offset: int
    entries: int

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return self.position + self.length

    def to_dict(self) -> dict[str, int]:
        """Return the attributes by their names in JSON."""
        return {camel_case(name): value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class LostRange:
    """Name the bytes of an input that could not be read or kept, and the offsets around them.

    Attributes:
        position, length: the bytes in the input.
        rule: why; each has its line in docs/findings. FND-17 (zeros behind the log) and SAL-1 (a copy of an entry that is there) lose
            nothing.
        after_offset: last offset of the intact entry before them, None when there is none.
        before_offset: first offset of the intact entry behind them, None when there is none. Both are None where entries that stand
            elsewhere hold offsets in between: then what is missing cannot be told.
    """

    position: int
    length: int
    rule: str
    after_offset: int | None
    before_offset: int | None

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return self.position + self.length

    @property
    def is_harmless(self) -> bool:
        """Nothing is lost with these bytes."""
        return self.rule in HARMLESS

    @property
    def missing(self) -> range:
        """The offsets that are missing between the entries before and behind; empty where one of these is not there, or none is missing."""
        if self.after_offset is None or self.before_offset is None:
            return range(0)
        return range(self.after_offset + 1, self.before_offset)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON."""
        return {camel_case(name): value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Salvage:
    """What `salvage` gives.

    Attributes:
        data: the intact entries, byte for byte; None when they were written to `out`.
        kept: ranges of the input that are in the output, in its order: put together they are the output.
        lost: ranges of the input that are not, in the order of the input. Both together are the input, without gap or overlap.
        findings: what is wrong with the input, and why bytes were left out.
        kept_bytes, lost_bytes, entries: how much was kept and lost.
        harmful_bytes: those of `lost_bytes` with which something is lost; zeros behind the log and copies are left out of it.
        aside: with `aside=True`, the bytes that have no place in the log; None when they were written elsewhere or not asked for.
        aside_bytes: how many these are.
        records: readable records of damaged batches among them.
        doubtful: intact entries whose offsets fit nowhere among them; with `order="offset"` only.
        is_listed: `kept` and `lost` list every range. After 262,144 ranges of a kind no more are listed; the sums are right all the same.
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
    is_listed: bool = True

    @property
    def ok(self) -> bool:
        """Nothing was lost; zeros behind the log and copies are no loss."""
        return not self.harmful_bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class SalvageOptions:
    """What `salvage` keeps; it documents each attribute."""

    is_sorted: bool
    is_aside_kept: bool
    wants_records: bool
    first_offset: int | None
    end_offset: int | None


def salvage(
    source: Any,
    *,
    out: str | os.PathLike[str] | BinaryIO | None = None,
    aside: str | os.PathLike[str] | BinaryIO | bool | None = None,
    overwrite: bool = False,
    order: Order = "input",
    first_offset: int | None = None,
    end_offset: int | None = None,
    **options: Unpack[EntryKeywords],
) -> Salvage:
    """Take every intact entry out of damaged bytes, byte for byte, and account for every other byte.

    An entry is intact when its header can be parsed and its checksum is right; of Kafka 0.7, when its messages' checksum is. What is in
    it is not looked into: `validate` tells what a writer did wrong. Past damage the next intact entry is searched for at every byte. The
    source is only read, memory is bounded, and the GIL is released.

    No checksum covers the offset of an entry, and blocks of a disk come back swapped or twice. `order="offset"` makes a log of what is
    intact: sorted, each entry once, and without entries whose offsets fit nowhere. A broker would delete a segment whose offsets
    decrease.

    Args:
        source: as in `decode`. `order="offset"` reads it two to five times, so it must be no file object.
        out: as in `encode`.
        aside: where to write what has no place in the log: the records of damaged batches that can still be read, and with
            `order="offset"` the intact entries whose offsets fit nowhere, byte for byte. True gives the bytes. A path is not made when
            there is nothing. Records of damaged batches stand in batches of their own, of magic 2, at the offsets that the damaged
            batch says, and each has one more header, `logsegment.salvaged`, with the rule that the batch breaks. No checksum vouches
            for them: any byte may be wrong.
        overwrite: as in `encode`, for both paths. An earlier output may be the only copy of what it saved.
        order: "input" keeps all intact entries as they stand in the source, "offset" makes a log. Entries that are out of order can be
            sorted when there are 4,194,304 of them at most in the source; those in order may be any number.
        first_offset: with `order="offset"`: the segment's base offset, which no entry may lie before.
        end_offset: with `order="offset"`: the base offset of the next segment, which no entry may reach.
        options: options of entries; see `decode`. Without `experimental` a valid batch of magic 3 is refused, and nothing is written to a
            path. `codecs` decompress records of damaged batches. An entry that is larger than `limits` allow counts as damage.

    Returns:
        A `Salvage`.

    Raises:
        UnsupportedError: for an intact batch of magic 3 without `experimental` (MAP-3): left out, it would be lost.
        ValueError, TypeError: for arguments that are none or contradict each other; for more entries out of order than can be sorted.
        FileExistsError: if a file exists and `overwrite` is False.
        OSError: when a file cannot be read or written, or has changed between two readings.

    Example:
        >>> import logsegment as ls
        >>> from pathlib import Path
        >>> good = Path("00000000000000000000.log").read_bytes()
        >>> found = ls.salvage(b"some noise" + good)
        >>> found.data == good, [(lost.position, lost.length) for lost in found.lost]
        (True, [(0, 10)])

    Source: `LogSegment.recover` in Kafka, which cuts a log at the first damage.
    """
    if order not in ("input", "offset"):
        raise ValueError(f'order must be "input" or "offset", not {order!r}')
    if order == "input" and (first_offset is not None or end_offset is not None):
        raise ValueError('first_offset and end_offset say what fits into a log: they need order="offset"')
    ensure_apart(source, out=out, aside=aside)
    fit = SalvageOptions(
        is_sorted=order == "offset",
        is_aside_kept=aside is True,
        wants_records=aside not in (None, False),
        first_offset=first_offset,
        end_offset=end_offset,
    )
    read = ReadOptions.of(EntryKeywords, options)
    place = None if isinstance(aside, bool) else aside
    with staged_output(out, overwrite=overwrite) as output, staged_output(place, overwrite=overwrite) as rest:
        data, aside_data, kept, lost, is_listed, findings, totals = core_salvage(source, read, fit, output.target, rest.target)
        kept_bytes, lost_bytes, harmful_bytes, entries, aside_bytes, records, doubtful = totals
        if not aside_bytes:
            rest.discard()
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
        is_listed=is_listed,
    )


def _unread(findings: list[Finding]) -> list[tuple[int, int, str, int | None, int | None]]:
    """What is lost of a segment of which no byte can be had, since its manifest is damaged."""
    return [(one.position, one.length, one.rule, None, None) for one in findings if one.severity == "error" and one.length]
