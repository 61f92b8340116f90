"""`logsegment txn`: the transactions of partitions, for people or as JSON lines."""

from __future__ import annotations

import inspect
import time
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

import click

from logsegment import LimitError, PartitionTransactions, Transaction, UnsupportedError
from logsegment import transactions as transactions_of
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, UNREADABLES, DamagedInput, handle_exit, input_errors, words_of, worst
from logsegment.cli.help import Verb
from logsegment.cli.messages import instant, say, show, show_json, with_iso_times
from logsegment.cli.number_types import whole
from logsegment.cli.options import Iso, Reading, bind_args, ensure_iso_of_json, examples
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.stats_text import duration
from logsegment.cli.paths import ReplicaPaths
from logsegment.cli.value_types import InstantType

#: Damaged places of a partition that are listed.
SHOWN = 100
HOUR_MS = 3_600_000
WIDTHS = (("state", 9), ("producer", 10), ("epoch", 5), ("first", 12), ("last", 12), ("marker", 12), ("batches", 7), ("records", 9))
HEAD = "  " + "  ".join(f"{name:>{width}}" for name, width in WIDTHS) + f"  {'bytes':>12}  {'begun':24}  duration"


class NowType(InstantType):
    """A time, or `wall` for that of this machine's clock."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the text."""
        return time.time_ns() // 1_000_000 if value == "wall" else super().convert(value, param, ctx)


@dataclass(frozen=True, kw_only=True)
class TxnArguments(ReplicaPaths):
    """The arguments of `txn`."""

    is_all: Annotated[bool, VerbOption("List committed transactions too.", "--all")]
    hanging_after: Annotated[int, VerbOption("Report transactions as hanging after DURATION.", "--hanging-after MS", kind=whole(0))] = (
        inspect.signature(transactions_of).parameters["hanging_after"].default
    )
    now: Annotated[
        int | None,
        VerbOption(
            "Measure open transactions up to TIME, or `wall` for the current time.",
            "--now TIME",
            default="what the times of the partition show",
            kind=NowType(),
        ),
    ]
    reading: Reading
    iso: Iso
    is_json: Annotated[bool, VerbOption("Print JSON lines.", "--json")]


@click.command(
    cls=Verb,
    short_help="List open, hanging and aborted transactions by producer.",
    epilog=examples(
        "logsegment txn payments-0",
        "logsegment txn --now wall /var/lib/kafka/data",
        "logsegment txn --all --json /var/lib/kafka/data | jq .durationMs",
    ),
)
@handle_exit
@bind_args(TxnArguments)
def txn(options: TxnArguments) -> int:
    """List the open, hanging and aborted transactions of every partition: producer, offsets, size, duration.

    Nothing is decompressed. The end of a transaction that was open at a damaged batch is unknown.

    Exit codes: 0 clean, 1 a hanging transaction or a damaged batch, 2 usage or unreadable input; other partitions are still reported.
    """
    ensure_iso_of_json(options.iso, options.is_json)
    with Progress(quiet=False, has_bar=False) as progress, input_errors():
        found = transactions_of(
            options.sources,
            now=options.now,
            hanging_after=options.hanging_after,
            observer=progress,
            **options.selected,
            **options.reading,
        )
    return worst(*(_write(partition, options, progress) for partition in found.partitions))


def _write(partition: PartitionTransactions, options: TxnArguments, progress: Progress) -> int:
    """Write the transactions of a partition; return the exit code for it."""
    try:
        counts = write_json(partition, options.is_all, iso=options.iso) if options.is_json else write_text(partition, options.is_all)
    except BrokenPipeError:
        raise
    except UNREADABLES as error:
        say(words_of(error))
        return UNREADABLE
    except (LimitError, UnsupportedError) as error:
        refused = DamagedInput(partition.name, error)
        say(f"{refused}; {refused.advice}")
        return refused.code
    for path, finding in partition.damage[:SHOWN]:
        report([finding], path, progress, quiet=False)
    if len(partition.damage) > SHOWN:
        say(f"{partition.name}: and {len(partition.damage) - SHOWN:,} damaged places more; `logsegment verify` lists them")
    return FOUND if partition.damage or counts["hanging"] else CLEAN


def write_text(found: PartitionTransactions, is_all: bool) -> Counter[str]:
    """Write a table, and a line of counts above it."""
    counts: Counter[str] = Counter()
    lines = []
    for transaction in found.once():
        counts[transaction.state] += 1
        if is_all or transaction.state != "committed":
            lines.append(line(transaction))
    states = ("committed", "aborted", "open", "hanging", *(("unknown",) if counts["unknown"] else ()))
    summary = ", ".join(f"{counts[state]:,} {state}" for state in states)
    show(f"{found.name}: {summary}")
    for row in [HEAD, *lines] if lines else []:
        show(row)
    return counts


def write_json(found: PartitionTransactions, is_all: bool, *, iso: bool = False) -> Counter[str]:
    """Write an object for each transaction."""
    counts: Counter[str] = Counter()
    for transaction in found.once():
        counts[transaction.state] += 1
        if is_all or transaction.state != "committed":
            show_json(with_iso_times(transaction.to_dict(), ["firstTimestamp"] if iso else ()))
    return counts


def line(transaction: Transaction) -> str:
    """Return a transaction as a row of the table."""
    marker = "-" if transaction.marker_offset is None else str(transaction.marker_offset)
    cells = (
        transaction.state,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.first_offset,
        transaction.last_offset,
        marker,
        transaction.batches,
        transaction.records,
    )
    row = "  ".join(f"{cell!s:>{width}}" for cell, (_, width) in zip(cells, WIDTHS, strict=True))
    begun = "-" if transaction.first_timestamp < 0 else instant(transaction.first_timestamp)
    return f"  {row}  {transaction.bytes:>12}  {begun:24}  {_lasted(transaction.duration_ms)}"


def _lasted(ms: int) -> str:
    """Return a duration in seconds, and one of an hour or more in a larger unit too."""
    seconds = f"{ms / 1000:,.3f} s"
    return f"{seconds} ({duration(ms)})" if ms >= HOUR_MS else seconds
