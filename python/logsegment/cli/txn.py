"""`logsegment txn`: the transactions of partitions, for people or as JSON lines."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import click

from logsegment._core import Finding, UnsupportedError
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, UNREADABLES, Damaged, ending, words_of
from logsegment.cli.inputs import InputSegment, segments_of
from logsegment.cli.messages import say, show, show_json
from logsegment.cli.options import InstantType, examples, experimental_option, json_option, paths_argument
from logsegment.cli.output.batch_rows import instant
from logsegment.cli.output.findings import tell
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.stats_text import duration
from logsegment.log.transactions import LONGEST_MS, Transaction, transactions_of
from logsegment.segment_files.discovery import SegmentFile
from logsegment.stores.uri import directory_of, shown

#: Damaged places of a partition that are told one by one.
SHOWN = 100
HOUR_MS = 3_600_000
WIDTHS = (("state", 9), ("producer", 10), ("epoch", 5), ("first", 12), ("last", 12), ("marker", 12), ("batches", 7), ("records", 9))
HEAD = "  " + "  ".join(f"{name:>{width}}" for name, width in WIDTHS) + f"  {'bytes':>12}  {'begun':24}  duration"


class NowType(InstantType):
    """A time, or `wall` for that of this machine's clock."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the text."""
        return time.time_ns() // 1_000_000 if value == "wall" else super().convert(value, param, ctx)


@click.command(
    short_help="Open, hanging and aborted transactions, by producer.",
    epilog=examples(
        "logsegment txn payments-0",
        "logsegment txn --now wall /var/lib/kafka/data",
        "logsegment txn --all --json /var/lib/kafka/data | jq .durationMs",
    ),
)
@paths_argument
@click.option("--all", "is_all", is_flag=True, help="Committed ones too.")
@click.option(
    "--hanging-after",
    "longest_ms",
    type=click.IntRange(min=0),
    default=LONGEST_MS,
    show_default=True,
    metavar="MS",
    help="What is open for longer hangs.",
)
@click.option(
    "--now",
    type=NowType(),
    metavar="TIME",
    help="Measure open transactions up to TIME, or `wall` for the current time (default: newest timestamp of the partition).",
)
@experimental_option
@json_option("JSON lines.")
@ending
def txn(paths: tuple[str, ...], is_all: bool, longest_ms: int, now: int | None, experimental: bool, is_json: bool) -> int:
    """Tell which transactions of every partition of PATH are open, hang or were aborted: producer, offsets, size, duration.

    Nothing is decompressed. The exit code is 1 when a transaction hangs, or something is damaged: how transactions ended that were open
    there, nobody knows. It is 2 when a partition cannot be read; the others are told all the same.
    """
    segments = segments_of(paths)
    for segment in segments:
        if segment.file is None or not segment.is_regular:
            raise click.UsageError(f"txn reads its input twice: {segment.name} can be read only once")
    is_sound = is_read = True
    for name, files in partitions(segments):
        damage = _Damage()
        found = transactions_of(files, longest_ms=longest_ms, now=now, experimental=experimental, told=damage.add)
        try:
            counts = write_json(found, name, files, is_all) if is_json else write_text(found, name, is_all)
        except BrokenPipeError:
            raise
        except UNREADABLES as error:
            say(words_of(error))
            is_read = False
            continue
        except UnsupportedError as error:
            refused = Damaged(name, error)
            say(f"{refused}; {refused.advice}")
            is_sound = False
            continue
        with Progress(segments, is_wanted=False) as progress:
            damage.tell(name, progress)
        is_sound &= not counts["hanging"] and not damage.count
    return UNREADABLE if not is_read else CLEAN if is_sound else FOUND


class _Damage:
    """What is damaged in a partition: the first of it, and how much there is."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[tuple[SegmentFile, Finding]] = []

    def add(self, file: SegmentFile, finding: Finding) -> None:
        self.count += 1
        if len(self._first) < SHOWN:
            self._first.append((file, finding))

    def tell(self, name: str, progress: Progress) -> None:
        for file, finding in self._first:
            tell([finding], shown(file.path), progress, quiet=False)
        if self.count > len(self._first):
            say(f"{name}: and {self.count - len(self._first):,} damaged places more; `logsegment verify` lists them")


def partitions(segments: Sequence[InputSegment]) -> Iterator[tuple[str, list[SegmentFile]]]:
    """The segments that belong together in the order of their offsets, with the name of what holds them: a directory or a file.

    They may be given in any order; who comes first is first.
    """
    places: dict[str, dict[str, SegmentFile]] = {}
    for segment in segments:
        if segment.file is not None:
            places.setdefault(_place(segment), {})[segment.file.path] = segment.file
    for name, files in places.items():
        yield name, sorted(files.values(), key=lambda file: file.base_offset or 0)


def _place(segment: InputSegment) -> str:
    return segment.name if segment.partition is None and not segment.is_listed else directory_of(segment.name)


def write_text(found: Iterator[Transaction], name: str, is_all: bool) -> Counter[str]:
    """Write a table, and a line of counts above it."""
    counts: Counter[str] = Counter()
    lines = []
    for one in found:
        counts[one.state] += 1
        if is_all or one.state != "committed":
            lines.append(line(one))
    states = ("committed", "aborted", "open", "hanging", *(("unknown",) if counts["unknown"] else ()))
    told = ", ".join(f"{counts[state]:,} {state}" for state in states)
    show(f"{name}: {told}")
    for row in [HEAD, *lines] if lines else []:
        show(row)
    return counts


def write_json(found: Iterator[Transaction], name: str, files: Sequence[SegmentFile], is_all: bool) -> Counter[str]:
    """Write an object for each transaction."""
    counts: Counter[str] = Counter()
    place = {"path": name, "topic": files[0].topic, "partition": files[0].partition}
    for one in found:
        counts[one.state] += 1
        if is_all or one.state != "committed":
            show_json(place | one.to_dict())
    return counts


def line(one: Transaction) -> str:
    """A transaction as a row of the table."""
    marker = "-" if one.marker_offset is None else str(one.marker_offset)
    cells = (one.state, one.producer_id, one.producer_epoch, one.first_offset, one.last_offset, marker, one.batches, one.records)
    row = "  ".join(f"{cell!s:>{width}}" for cell, (_, width) in zip(cells, WIDTHS, strict=True))
    begun = "-" if one.first_timestamp < 0 else instant(one.first_timestamp)
    return f"  {row}  {one.bytes:>12}  {begun:24}  {_lasted(one.duration_ms)}"


def _lasted(ms: int) -> str:
    """Seconds, exactly; of an hour and more also in the unit in which people count it."""
    seconds = f"{ms / 1000:,.3f} s"
    return f"{seconds} ({duration(ms)})" if ms >= HOUR_MS else seconds
