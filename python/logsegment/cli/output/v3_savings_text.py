"""`V3Savings` in words, for the text and the page of `logsegment stats --what-if v3`."""

from __future__ import annotations

from collections.abc import Iterator

from logsegment._text import count as counted
from logsegment.analysis.v3_savings import V2_HEADER, V3Savings
from logsegment.cli.output import stats_text as text

#: Columns of the table: what is, and the two proposals.
COLUMNS = ("", "magic 2", "v3", "metadata first")
NOTE = "No broker reads v3 (KIP-931). All three are packed by the codecs here, at their default levels; sizes are those of the batches."


def summary(saved: V3Savings) -> str:
    """One sentence: how many, and what headers and records save."""
    told = f"{counted(saved.batches, 'batch')}, {counted(saved.records, 'record')}"
    told += f": a header has {V2_HEADER - saved.per_batch:.1f} bytes instead of {V2_HEADER}, a record {saved.per_record:.2f} less"
    return told + (f"; {text.size(saved.left_out)} left out, damaged or not convertible" if saved.left_out else "")


def rows(saved: V3Savings) -> Iterator[tuple[str, str, str, str]]:
    """The rows of the table."""
    packed = saved.repacked, saved.main, saved.additional
    plain = saved.plain, saved.plain_main, saved.plain_main
    for name, sizes in (("with their codecs", packed), ("without compression", plain)):
        yield (f"bytes {name}", *(_changed(text.size(size), size, sizes[0]) for size in sizes))  # type: ignore[misc]
        for part, count in (("batch", saved.batches), ("record", saved.records)):
            yield (f"  a {part}", *(f"{size / count:,.1f}" if count else "-" for size in sizes))  # type: ignore[misc]
    unpacked = saved.unpacked, saved.unpacked_main, saved.unpacked_additional
    yield ("unpacked to validate offsets, times, lengths", *map(text.size, unpacked))  # type: ignore[misc]
    seconds = saved.seconds, saved.seconds_main, saved.seconds_additional
    yield ("time of that", *(_changed(f"{1000 * one:,.1f} ms", one, seconds[0]) for one in seconds))  # type: ignore[misc]


def lines(saved: V3Savings) -> Iterator[str]:
    """The table as text."""
    yield f"what if v3  {summary(saved)}"
    if not saved.batches:
        return
    table = [COLUMNS, *rows(saved)]
    widths = [max(len(row[column]) for row in table) for column in range(len(COLUMNS))]
    for name, *cells in table:
        padded = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        yield f"  {name.ljust(widths[0])}  {padded}"
    yield f"  ({NOTE})"


def _changed(told: str, now: float, before: float) -> str:
    """With how much more or less it is, where it is another."""
    return told if now == before or not before else f"{told} ({100 * (now / before - 1):+.1f}%)"
