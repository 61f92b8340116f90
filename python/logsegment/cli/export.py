"""`logsegment export`: logs into tables of Iceberg or Delta, or into partitioned Parquet."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from logsegment._core import Finding, RecordBatchError, SegmentKeyError
from logsegment._export.commits import Commit
from logsegment._export.export import export as export_source
from logsegment._export.result import Export
from logsegment._export.transforms import BY_DAY
from logsegment._options import Framing, Integers, Isolation, KeyValues, OnError, Unreadable, Values
from logsegment._places import shown
from logsegment._report import is_damage, is_unreadable
from logsegment.cli.exit_codes import CLEAN, LOST, DamagedInput, ending
from logsegment.cli.help import Verb
from logsegment.cli.inputs import STDIN, choosing_replicas, log_start_offset, replica, selection, show_log_starts, show_notes
from logsegment.cli.messages import Paper, count, say, show_json
from logsegment.cli.number_types import SizeType
from logsegment.cli.options import (
    ColumnsType,
    InstantType,
    Offsets,
    OffsetsType,
    Reading,
    ensure_times,
    examples,
    json_option,
    now_option,
    on_error_option,
    partition_options,
    paths_argument,
    quiet_option,
    reading_options,
    taking,
    unreadable_option,
)
from logsegment.cli.output.findings import SHOWN, folded, more_like_it
from logsegment.cli.store_options import settings_of, storage_options, target_option
from logsegment.cli.values import value_arguments, values_options


@dataclass(frozen=True)
class ExportArguments:
    """The arguments of `export`."""

    paths: tuple[str, ...]
    target: str
    columns: list[str] | None
    isolation: Isolation
    offsets: Offsets
    since: int | None
    until: int | None
    values: Values
    key_values: KeyValues
    schemas: str | None
    reader_schema: str | None
    framing: Framing | None
    integers: Integers | None
    partition_by: tuple[str, ...]
    commit_bytes: int
    memory: int
    evolve: bool
    trust_commits_only: bool
    clean: bool
    clean_hours: float
    target_option: tuple[str, ...]
    no_crc: bool
    on_error: OnError
    unreadable: Unreadable
    reading: Reading
    is_json: bool
    quiet: bool

    #: Payloads are what is exported.
    is_redacted = False


@click.command(
    cls=Verb,
    short_help="Append logs to tables of Iceberg or Delta, each offset once, or write partitioned Parquet.",
    epilog=examples(
        "logsegment export /var/lib/kafka/data --topic orders --to iceberg:./lake/kafka.orders",
        "logsegment export s3://backup/topics --to 'delta:s3://lake/{topic}'",
        "logsegment export orders-0 orders-1 --to parquet:orders",
        "logsegment export orders-0 --values avro --schemas _schemas-0 --to iceberg:prod/kafka.orders --partition-by 'hour(timestamp)'",
        "logsegment export orders-0 --to iceberg:./lake/kafka.orders --on-error skip --clean",
    ),
)
@paths_argument
@partition_options
@click.option(
    "--to",
    "target",
    required=True,
    metavar="TARGET",
    help="Write to iceberg:CATALOG/NAMESPACE.TABLE, delta:URI or parquet:DIRECTORY (new); with {topic} a table for each topic.",
)
@click.option("--columns", type=ColumnsType(), help="Select record columns, in this order.")
@click.option(
    "--isolation",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    default="read_committed",
    show_default=True,
    help="Export committed records only, or all records.",
)
@click.option("--offset", "offsets", type=OffsetsType(), default=Offsets(), help="Export offsets A..B (B exclusive), A.., ..B, or one.")
@click.option("--since", type=InstantType(), help="Begin at the first record at or after TIME: ISO 8601, ms since 1970, or -2h.")
@click.option("--until", type=InstantType(), help="Export only records before TIME.")
@now_option
@values_options
@click.option(
    "--partition-by",
    multiple=True,
    metavar="TRANSFORM",
    help="Partition a new table by a transform of Iceberg or a column; repeatable.  [default: day(timestamp)]",
)
@click.option("--commit-bytes", type=SizeType(), default="512MiB", show_default=True, help="Commit after about BYTES of Parquet.")
@click.option("--memory", type=SizeType(), default="512MiB", show_default=True, help="Use at most BYTES of memory; at least 256MiB.")
@click.option("--evolve", is_flag=True, help="Add columns that an existing table lacks.")
@click.option("--trust-commits-only", is_flag=True, help="Never read columns of the table to find what it has.")
@click.option("--clean", is_flag=True, help="At the end, remove data files of interrupted exports.")
@click.option("--clean-hours", type=click.FloatRange(0), default=24, show_default=True, help="Remove files that are older than HOURS.")
@target_option
@click.option("--no-crc", is_flag=True, help="Skip checksums.")
@on_error_option
@unreadable_option
@reading_options
@json_option("Print one JSON object: rows, ranges of offsets, commits, and where a live sink starts.")
@quiet_option
@ending
@taking(ExportArguments)
def export(options: ExportArguments) -> int:
    """Append the records of every PATH to a table: only offsets that the table does not have.

    Each commit carries the offsets that were read so far. An export that was interrupted goes on where it stopped, and an export of a
    log that grew adds the new part. At the end, the offsets are shown at which a live sink must start.

    Exit codes: 0 finished, 1 bad data, 2 usage or unreadable input, 3 finished without some damaged offsets.
    """
    if STDIN in options.paths:
        raise click.UsageError("export reads by position: name files or directories, not -")
    ensure_times(options.since, options.until)
    try:
        with choosing_replicas(), warnings.catch_warnings():
            # The findings about log start offsets are shown at the end.
            warnings.simplefilter("ignore", UserWarning)
            done = _exported(options)
    except RecordBatchError as error:
        advice = "what was committed before stays; `--on-error skip` exports the rest and reports the lost offsets"
        raise DamagedInput(error.path or shown(options.paths[0]), error, advice) from None
    except SegmentKeyError:
        raise
    except (TypeError, ValueError) as mistake:
        raise click.UsageError(str(mistake)) from None
    _show_notes(done, quiet=options.quiet)
    if options.is_json:
        show_json(done.to_dict())
    elif not options.quiet:
        _show(done)
    return LOST if done.lost else CLEAN


def _exported(options: ExportArguments) -> Export:
    topic, partition = selection()

    def committed(commit: Commit) -> None:
        if not options.quiet:
            say(f"committed {count(commit.rows, 'row')} in {count(commit.files, 'file')}, {count(commit.size, 'byte')}: {commit.table}")

    return export_source(
        list(options.paths),
        options.target,
        columns=options.columns,
        isolation=options.isolation,
        start_offset=options.offsets.start,
        end_offset=options.offsets.end,
        start_timestamp=options.since,
        end_timestamp=options.until,
        topic=topic,
        partition=partition,
        replica=replica(),
        log_start_offset=log_start_offset(),
        partition_by=options.partition_by or BY_DAY,
        commit_bytes=options.commit_bytes,
        memory=options.memory,
        evolve=options.evolve,
        trust_commits_only=options.trust_commits_only,
        clean=options.clean,
        clean_hours=options.clean_hours,
        target_options=settings_of(options.target_option) or (storage_options() if options.target.startswith("delta:") else None),
        check_crc=not options.no_crc,
        on_error=options.on_error,
        unreadable=options.unreadable,
        on_commit=committed,
        **value_arguments(options),
        **options.reading,
    )


def _show_notes(done: Export, *, quiet: bool) -> None:
    """Show on stderr what was read besides the log, what was lost, and what was removed."""
    show_notes(done.findings)
    show_log_starts(done.findings)
    for line in _damage(done.findings):
        say(line)
    for place in done.lost:
        end = "on" if place.end is None else f"to {place.end - 1:,}"
        say(f"{place.topic}-{place.partition}: offsets {place.start:,} {end} are not in the table [{place.rule}]")
    if not quiet:
        for note in done.notes:
            say(note)
        for path in done.removed:
            say(f"removed {shown(path)}")


def _damage(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each of the first damaged places."""
    lines = folded([finding for finding in findings if is_damage(finding) or is_unreadable(finding)])
    for finding, batches in lines[:SHOWN]:
        yield f"{finding.path}: {finding.severity} [{finding.rule}] at byte {finding.position:,}: {finding.message}{more_like_it(batches)}"
    if len(lines) > SHOWN:
        yield f"and {count(len(lines) - SHOWN, 'more finding')}; `logsegment verify` lists them"


def _show(done: Export) -> None:
    """Show the partitions, and where a live sink starts."""
    rows: list[tuple[Any, ...]] = []
    for topic, partitions in done.next_offsets.items():
        for partition, offset in partitions.items():
            ranges = done.ranges.get(topic, {}).get(partition, [])
            shown_ranges = ", ".join(f"{start:,} to {end - 1:,}" for start, end in ranges[:3]) + (", ..." if len(ranges) > 3 else "")
            added = done.rows_by_partition.get(topic, {}).get(partition, 0)
            rows.append((topic, f"{partition}", f"{added:,}", shown_ranges or "none", f"{offset:,}"))
    paper = Paper()
    paper.table(("topic", "partition", "rows added", "offsets in the table", "next offset"), rows)
    paper.line("")
    paper.line(f"{count(done.rows, 'row')} added in {count(len(done.commits), 'commit')}")
    paper.line(f"Spark, startingOffsets: {done.starting_offsets}")
    paper.line(f"Kafka Connect, PATCH /connectors/NAME/offsets: {done.connect_offsets}")
