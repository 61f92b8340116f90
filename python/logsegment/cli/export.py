"""`logsegment export`: logs into tables of Iceberg or Delta, or into partitioned Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import click

from logsegment import Export, Finding
from logsegment import export as export_source
from logsegment._options import Isolation, OnError, ReadOptions, Unreadable
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, LOST, handle_exit, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.messages import Console, count, say, show_json
from logsegment.cli.number_types import SizeType
from logsegment.cli.options import NoCrc, Now, Quiet, Reading, TargetOption, bind_args, ensure_times, examples
from logsegment.cli.output.findings import SHOWN, folded, more_like_it
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import STDIN, PartitionPaths, target_options
from logsegment.cli.value_types import EVERY_OFFSET, InstantType, Offsets, OffsetsType
from logsegment.cli.values import ValueArguments, value_arguments


@dataclass(frozen=True, kw_only=True)
class ExportLogArguments(PartitionPaths):
    """The arguments of `export`."""

    target: Annotated[
        str,
        VerbOption(
            "Write to iceberg:CATALOG/NAMESPACE.TABLE, delta:URI or parquet:DIRECTORY (new); with {topic} a table for each topic.",
            "--to TARGET",
        ),
    ]
    columns: Annotated[list[str] | None, ReadOptions]
    isolation: Annotated[Isolation, VerbOption("Export committed records only, or all records.", "--isolation")] = "read_committed"
    offsets: Annotated[Offsets, VerbOption("Export offsets A..B (B exclusive), A.., ..B, or one.", "--offset", kind=OffsetsType())] = (
        EVERY_OFFSET
    )
    since: Annotated[
        int | None,
        VerbOption("Begin at the first record at or after TIME: ISO 8601, ms since 1970, or -2h.", "--since", kind=InstantType()),
    ]
    until: Annotated[int | None, VerbOption("Export only records before TIME.", "--until", kind=InstantType())]
    now: Now
    decoding: ValueArguments
    partition_by: Annotated[
        tuple[str, ...],
        VerbOption(
            "Partition a new table by a transform of Iceberg or a column; repeatable.", "--partition-by TRANSFORM", default="day(timestamp)"
        ),
    ]
    commit_bytes: Annotated[
        int, VerbOption("Commit after about BYTES of Parquet.", "--commit-bytes", default="512MiB", kind=SizeType())
    ] = 512 << 20
    memory: Annotated[int, VerbOption("Use at most BYTES of memory; at least 320MiB.", "--memory", default="512MiB", kind=SizeType())] = (
        512 << 20
    )
    evolve: Annotated[bool, VerbOption("Add columns that an existing table lacks.", "--evolve")]
    trust_commits_only: Annotated[bool, VerbOption("Never read columns of the table to find what it has.", "--trust-commits-only")]
    clean: Annotated[bool, VerbOption("At the end, remove data files of interrupted exports.", "--clean")]
    clean_hours: Annotated[
        float, VerbOption("Remove files that are older than HOURS.", "--clean-hours HOURS", kind=click.FloatRange(0))
    ] = 24.0
    target_option: TargetOption
    no_crc: NoCrc
    on_error: Annotated[OnError, ReadOptions]
    unreadable: Annotated[Unreadable, ReadOptions]
    reading: Reading
    is_json: Annotated[bool, VerbOption("Print one JSON object: rows, ranges of offsets, commits, and where a live sink starts.", "--json")]
    quiet: Quiet

    @property
    def is_redacted(self) -> bool:
        """Return False: payloads are exported."""
        return False


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
@handle_exit
@bind_args(ExportLogArguments)
def export(options: ExportLogArguments) -> int:
    """Append the records of every PATH to a table: only offsets that the table does not have.

    Each commit carries the offsets that were read so far. An export that was interrupted goes on where it stopped, and an export of a
    log that grew adds the new part. At the end, the offsets are shown at which a live sink must start.

    Exit codes: 0 finished, 1 bad data, 2 usage or unreadable input, 3 finished without some damaged offsets.
    """
    if STDIN in options.paths:
        raise click.UsageError("export reads by position: name files or directories, not -")
    ensure_times(options.since, options.until)
    with input_errors("what was committed before stays; `--on-error skip` exports the rest and reports the lost offsets"):
        done = _exported(options)
    _show_notes(done, quiet=options.quiet)
    if options.is_json:
        show_json(done.to_dict())
    elif not options.quiet:
        _show(done)
    return LOST if done.lost else CLEAN


def _exported(options: ExportLogArguments) -> Export:
    partitioning: dict[str, Any] = {"partition_by": options.partition_by} if options.partition_by else {}
    return export_source(
        options.paths,
        options.target,
        columns=options.columns,
        isolation=options.isolation,
        start_offset=options.offsets.start,
        end_offset=options.offsets.end,
        start_timestamp=options.since,
        end_timestamp=options.until,
        commit_bytes=options.commit_bytes,
        memory=options.memory,
        evolve=options.evolve,
        trust_commits_only=options.trust_commits_only,
        clean=options.clean,
        clean_hours=options.clean_hours,
        target_options=target_options(options.target_option, options.target, options.store),
        check_crc=not options.no_crc,
        on_error=options.on_error,
        unreadable=options.unreadable,
        on_commit=None if options.quiet else lambda commit: say(_committed(commit)),
        observer=Progress(quiet=options.quiet, has_bar=False),
        **partitioning,
        **value_arguments(options),
        **options.selected,
        **options.reading,
    )


def _committed(commit: Any) -> str:
    return f"committed {count(commit.rows, 'row')} in {count(commit.files, 'file')}, {count(commit.size, 'byte')}: {commit.table}"


def _show_notes(done: Export, *, quiet: bool) -> None:
    """Show on stderr what was read besides the log, what was lost, and what was removed."""
    for line in _damage(done.findings):
        say(line)
    for place in done.lost:
        end = "on" if place.end is None else f"to {place.end - 1:,}"
        say(f"{place.topic}-{place.partition}: offsets {place.start:,} {end} are not in the table [{place.rule}]")
    if not quiet:
        for note in done.notes:
            say(note)
        for path in done.removed:
            say(f"removed {path}")


def _damage(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each of the first damaged places."""
    lines = folded([finding for finding in findings if finding.is_damage or finding.is_unreadable])
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
    paper = Console()
    paper.table(("topic", "partition", "rows added", "offsets in the table", "next offset"), rows)
    paper.line("")
    paper.line(f"{count(done.rows, 'row')} added in {count(len(done.commits), 'commit')}")
    paper.line(f"Spark, startingOffsets: {done.starting_offsets}")
    paper.line(f"Kafka Connect, PATCH /connectors/NAME/offsets: {done.connect_offsets}")
