"""`logsegment diff`: are the same records at the same offsets, and if not, which?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import Comparison, Difference
from logsegment import diff as compare
from logsegment._options import LogStartOffset, PartitionOptions, ReadOptions, StoreOptions
from logsegment.cli.arguments import Argument, VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, handle_exit, input_errors, worst
from logsegment.cli.help import Verb
from logsegment.cli.messages import count, say, show_json, show_wrapped
from logsegment.cli.number_types import whole
from logsegment.cli.options import HidesMessages, Quiet, Reading, TargetOption, bind_args, examples, withholding
from logsegment.cli.output.findings import more_like_it
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import STDIN, store_arguments, target_options
from logsegment.cli.redaction import Redactor

PATH = click.Path(exists=False, allow_dash=True)
VERDICTS = {
    "same": "the same",
    "different": "DIFFERENT",
    "undecompressed": "NOT DECOMPRESSED, otherwise the same",
    "damaged": "DAMAGED, otherwise the same",
}


@dataclass(frozen=True, kw_only=True)
class DiffArguments:
    """The arguments of `diff`."""

    a: Annotated[str, Argument("A", PATH)]
    b: Annotated[str, Argument("B", PATH)]
    store: StoreOptions
    topic: Annotated[str | None, ReadOptions]
    partition: Annotated[int | None, ReadOptions]
    log_start_offset: Annotated[LogStartOffset, PartitionOptions]
    with_batches: Annotated[bool, VerbOption("Report different batches or batch headers of the same records too.", "--batches")]
    deep: Annotated[bool, VerbOption("Decode batches with equal headers and checksums too.", "--deep")]
    no_crc: Annotated[bool, VerbOption("Trust stored checksums; where they agree, read headers only.", "--no-crc")]
    target_option: TargetOption
    limit: Annotated[int | None, VerbOption("Show at most N differences of a partition, and count all.", "-n --limit N", kind=whole(0))]
    is_redacted: HidesMessages
    reading: Reading
    is_json: Annotated[bool, VerbOption("Print JSON lines: differences, damage, and a summary of each partition.", "--json")]
    quiet: Quiet


@click.command(
    cls=Verb,
    short_help="Compare the records of two replicas, or of a backup and its source.",
    epilog=examples(
        "logsegment diff broker-1/orders-0 broker-2/orders-0",
        "logsegment diff --json /var/lib/kafka/data /backup/data > differences.jsonl",
        "logsegment diff --batches orders-0/00000000000000000000.log copy.log",
        "logsegment diff orders-0 iceberg:./lake/kafka.orders",
    ),
)
@handle_exit
@bind_args(DiffArguments)
def diff(options: DiffArguments) -> int:
    """Compare the records of A with those of B: segments, partition directories, or trees of them. B may be a table (iceberg:, delta:).

    Different segments, batches, codecs and formats are not differences. With --quiet, only partitions that differ are reported.
    """
    if STDIN in (options.a, options.b):
        raise click.UsageError("diff reads its inputs twice; standard input can be read only once")
    redactor = withholding(options.is_redacted)
    advice = "`logsegment verify` reports the lost ranges"
    with Progress(quiet=options.quiet, has_bar=False) as progress, input_errors(advice, redactor, f"{options.a} or {options.b}"):
        comparisons = compare(
            options.a,
            options.b,
            topic=options.topic,
            partition=options.partition,
            log_start_offset=options.log_start_offset,
            batches=options.with_batches,
            deep=options.deep,
            check_crc=not options.no_crc,
            target_options=target_options(options.target_option, options.b, options.store),
            observer=progress,
            **store_arguments(options.store),
            **options.reading,
        )
        written = [_written(comparison, options, redactor) for comparison in comparisons]
    states = [state for state, _ in written]
    if len(states) > 1 and not options.quiet:
        say(f"{count(len(states), 'partition')}: " + ", ".join(f"{states.count(state)} {state}" for state in VERDICTS))
    return worst(*(CLEAN if state == "same" else UNREADABLE if is_unread else FOUND for state, is_unread in written))


def _written(partition: Comparison, options: DiffArguments, redactor: Redactor | None) -> tuple[str, bool]:
    """Write a partition; return its state, and whether batches could not be read here."""
    is_unread = False
    shown_differences = 0
    lines = JsonDifferences(partition, redactor) if options.is_json else TextDifferences(partition, redactor)
    for found in partition.once():
        if found.kind == "damage":
            lines.damage(found)
            is_unread |= found.finding is not None and found.finding.is_unreadable
            continue
        shown_differences += 1
        if options.limit is None or shown_differences <= options.limit:
            lines.difference(found)
    lines.end(0 if options.limit is None else shown_differences - options.limit)
    if not (options.quiet and partition.state == "same"):
        lines.summary()
    return partition.state, is_unread


class JsonDifferences:
    """Writes the differences of a partition as JSON lines."""

    def __init__(self, partition: Comparison, redactor: Redactor | None) -> None:
        self._partition = partition
        self._place = {"topic": partition.topic, "partition": partition.partition}
        self._redactor = redactor

    def difference(self, found: Difference) -> None:
        """Write a difference."""
        fields = found.to_dict()
        show_json({"type": fields.pop("type"), **self._place, **fields})

    def damage(self, found: Difference) -> None:
        """Write a damaged place."""
        fields = found.to_dict()
        if self._redactor is not None and found.finding is not None:
            fields |= self._redactor.finding_fields(found.finding)
        show_json({"type": fields.pop("type"), **self._place, **fields})

    def end(self, hidden: int) -> None:
        """Write nothing: the summary has the counts."""

    def summary(self) -> None:
        """Write the counts."""
        show_json({"type": "summary"} | self._partition.summary())


class TextDifferences:
    """Writes the differences of a partition as text."""

    def __init__(self, partition: Comparison, redactor: Redactor | None) -> None:
        self._partition = partition
        self._redactor = redactor
        self._first: dict[tuple[str, str, str], str] = {}
        self._alike: Counter[tuple[str, str, str]] = Counter()

    def difference(self, found: Difference) -> None:
        """Write a difference."""
        show_wrapped(f"{self._partition.name}: {_line(found)}")

    def damage(self, found: Difference) -> None:
        """Write a damaged place; batches that a plugin could not decompress are counted and written once, at the end."""
        if (finding := found.finding) is None:
            return
        words = finding.message if self._redactor is None else self._redactor.finding(finding)
        side = (found.side or "").upper()
        line = f"{side} {found.to_dict()['file']}: {finding.severity} [{finding.rule}] at byte {finding.position:,}: {words}"
        if finding.unopened is not None:
            key = (side, finding.rule, finding.message)
            self._first.setdefault(key, line)
            self._alike[key] += 1
        else:
            show_wrapped(f"{self._partition.name}: {line}")

    def end(self, hidden: int) -> None:
        """Write what was counted."""
        for key, batches in self._alike.items():
            show_wrapped(f"{self._partition.name}: {self._first[key]}{more_like_it(batches)}")
        if hidden > 0:
            show_wrapped(f"{self._partition.name}: and {hidden:,} more")

    def summary(self) -> None:
        """Write the verdict and the counts."""
        show_wrapped(f"{self._partition.name}: {VERDICTS[self._partition.state]}. {_summary(self._partition)}")


def _line(found: Difference) -> str:
    side = (found.side or "").upper()
    is_one = found.first_offset == found.last_offset
    offsets = f"offset {found.first_offset:,}" if is_one else f"offsets {found.first_offset:,} to {found.last_offset:,}"
    where = f"{offsets}, {count(found.records, 'record')}"
    if found.kind == "missing":
        return f"missing in {side}: {where}"
    if found.kind == "doubled":
        return f"doubled in {side}: {where} too many"
    if found.kind == "unreadable":
        return f"unreadable in {side}: {where} of the other"
    kind = "changed" if found.kind == "changed" else "other batches"
    return f"{kind}: {where} ({', '.join(found.fields)})"


def _summary(partition: Comparison) -> str:
    totals = partition.totals
    for side, files in (("A", partition.a), ("B", partition.b)):
        if not files:
            return f"{side} has no such partition"
    parts = [f"{count(totals.same_records, 'record')} the same ({count(totals.same_batches, 'batch')} by checksum)"]
    counts = [(totals.missing_a, "missing in A"), (totals.missing_b, "missing in B"), (totals.doubled, "doubled in B")]
    counts += [(totals.changed, "changed"), (totals.unreadable, "unreadable on one side")]
    parts += [f"{number:,} {what}" for number, what in counts if number]
    if totals.batches:
        parts.append(f"other batches in {count(totals.batches, 'stretch')}")
    if totals.undecompressed:
        parts.append(f"{count(totals.undecompressed, 'batch')} not decompressed")
    return ", ".join([*parts, count(totals.damage, "damaged place")] if totals.damage else parts)
