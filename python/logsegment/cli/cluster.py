"""`logsegment cluster`: what the log directories of a cluster show, for people, as JSON, as a table in a file, or as a plan."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias, get_args

import click

from logsegment import ArrowTable, Cluster, Finding, Limits
from logsegment import cluster as read
from logsegment._options import ClusterView, EntryOptions, StoreOptions
from logsegment.cli.arguments import Argument, VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, handle_exit, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.messages import Console, count, instant, printable, say, show, show_json, with_iso_times
from logsegment.cli.options import Arrow, FailOn, Iso, Overwrite, Parquet, Quiet, bind_args, ensure_iso_of_json, examples, output_of
from logsegment.cli.output.files import TableFile, pyarrow_for
from logsegment.cli.output.kafka_topics import topic_lines
from logsegment.cli.paths import store_arguments

PlanFormat: TypeAlias = Literal["json", "sh"]
#: Findings that are listed.
SHOWN = 50
#: Columns with times, ms.
TIMES = ("commitTimestamp", "expireTimestamp", "startTimestamp", "lastUpdateTimestamp", "lastTimestamp")
#: Columns that only JSON and files have, since a line would be too long.
WIDE = frozenset({"incarnationId", "logDirs", "leaderEpoch", "metadata", "expireTimestamp"})


def _ensure_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    if not paths:
        raise click.UsageError("Missing argument 'DIR...': the log directories of brokers and controllers")
    return paths


@dataclass(frozen=True, kw_only=True)
class ClusterArguments:
    """The arguments of `cluster`."""

    paths: Annotated[tuple[str, ...], Argument("DIR...", click.Path(), is_many=True, is_optional=True, change=_ensure_paths)]
    view: Annotated[ClusterView | None, VerbOption("Show this table.", "--view", default="a summary; with --json all tables")] = None
    as_tool: Annotated[
        Literal["kafka-topics"] | None,
        VerbOption("Print what this tool of Kafka prints with --describe.", "--as", default="a form of its own"),
    ] = None
    is_plan: Annotated[bool, VerbOption("Print what creates topics, configurations, ACLs, quotas and offsets again.", "--plan")]
    plan_format: Annotated[
        PlanFormat | None, VerbOption("Print the plan as JSON, or as commands of Kafka's tools.", "--format", default="json")
    ] = None
    limits: Annotated[Limits | None, EntryOptions]
    store: StoreOptions = field(default_factory=StoreOptions)
    is_json: Annotated[bool, VerbOption("Print JSON lines of the table, or one JSON object.", "--json")]
    iso: Iso
    arrow: Arrow
    parquet: Parquet
    overwrite: Overwrite
    fail_on: FailOn = "error"
    quiet: Quiet

    def __post_init__(self) -> None:
        if self.plan_format is not None and not self.is_plan:
            raise click.UsageError("--format is about --plan, which is not given")
        if self.is_plan and (self.view is not None or self.arrow or self.parquet):
            raise click.UsageError("--plan prints a document: --view, --arrow and --parquet do not belong to it")
        if self.as_tool is not None and (self.is_plan or self.view is not None or self.is_json or self.arrow or self.parquet):
            raise click.UsageError("--as prints lines of its own: --plan, --view, --json, --arrow and --parquet do not belong to it")
        if (self.arrow or self.parquet) and self.view is None:
            raise click.UsageError("--arrow and --parquet need --view: a file has one table")


@click.command(
    cls=Verb,
    short_help="Show what a cluster knew from its log directories: topics, groups, lag, configurations.",
    epilog=examples(
        "logsegment cluster /var/lib/kafka/data",
        "logsegment cluster --view lag broker-1 broker-2 broker-3",
        "logsegment cluster --as kafka-topics backup",
        "logsegment cluster --json backup | jq .findings",
        "logsegment cluster --plan --format sh backup > plan.sh",
    ),
)
@handle_exit
@bind_args(ClusterArguments)
def cluster(options: ClusterArguments) -> int:
    """Show topics, configurations, groups and their lag from the log directories of brokers and controllers, without any of them running.

    Nothing is written. Values of configurations are hidden unless their names are known to be harmless.

    Exit codes: 0 clean, 1 findings of the severity of --fail-on, 2 usage or unreadable input.
    """
    ensure_iso_of_json(options.iso, options.is_json)
    output = output_of(options.arrow, options.parquet, options.overwrite, is_json=options.is_json)
    with input_errors():
        found = read(*options.paths, limits=options.limits, **store_arguments(options.store))
    times = TIMES if options.iso else ()
    if options.is_plan:
        plan = found.plan()
        show_lines(plan.to_sh()) if options.plan_format == "sh" else show_json(plan.to_dict())
    elif options.as_tool is not None:
        for line in topic_lines(found):
            show_tabs(line)
    elif output.kind is not None and options.view is not None:
        pyarrow_for(output)
        with ExitStack() as stack:
            file = TableFile(output, stack)
            for batch in found.view(options.view).to_batches():
                file.write(batch.to_pyarrow())
    elif options.view is None:
        show_json(with_iso_times(found.to_dict(), times)) if options.is_json else summary(found)
    elif options.is_json:
        for row in found.view(options.view).to_pylist():
            show_json(with_iso_times(row, times))
    else:
        write_table(found.view(options.view))
    return _report(found.findings, options)


def show_lines(text: str) -> None:
    """Write lines of text to stdout."""
    for line in text.splitlines():
        show(line)


def show_tabs(line: str) -> None:
    """Write a line whose fields are separated by tabs."""
    sys.stdout.write("\t".join(map(printable, line.split("\t"))) + "\n")


def summary(found: Cluster) -> None:
    """Write the number of rows of each table, and the lag of each group."""
    names = ", ".join(found.cluster_ids) or "unknown"
    offset = "none" if found.metadata_offset is None else f"up to offset {found.metadata_offset:,}"
    show(f"cluster {names}, metadata {offset}")
    topics = [row for row in found.topics.to_pylist() if not row["deleted"]]
    counts = [("topics", f"{len({row['topic'] for row in topics}):,} with {count(len(topics), 'partition')}")]
    counts += [(name, f"{found.view(name).num_rows:,}") for name in get_args(ClusterView) if name not in ("topics", "groups", "lag")]
    groups = {row["group"]: (row["type"], row["state"]) for row in found.groups.to_pylist()}
    counts.append(("groups", f"{len(groups):,}"))
    Console().table(("view", "rows"), counts)
    behind: dict[str, int] = {}
    for row in found.lag.to_pylist():
        behind[row["group"]] = behind.get(row["group"], 0) + max(row["lag"] or 0, 0)
    if groups:
        rows = [(name, kind, state, f"{behind[name]:,}" if name in behind else "-") for name, (kind, state) in groups.items()]
        Console().table(("group", "type", "state", "lag"), rows)


def write_table(table: ArrowTable) -> None:
    """Write a table for people."""
    names = [name for name in table.column_names if name not in WIDE]
    rows = [[_cell(name, row[name]) for name in names] for row in table.to_pylist()]
    Console().table(names, rows)


def _cell(name: str, value: Any) -> str:
    if value is None or value == []:
        return "-"
    if name in TIMES:
        return instant(value)
    if isinstance(value, list):
        return ",".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _report(findings: Sequence[Finding], options: ClusterArguments) -> int:
    """Write the findings to stderr; return the exit code."""
    shown = [finding for finding in findings if finding.severity != "info" or not options.quiet]
    for finding in shown[:SHOWN]:
        place = finding.path.rpartition("@")[0]
        say(f"{place + ': ' if place and place != 'entry' else ''}{finding.severity} [{finding.rule}] {finding.message}")
    if len(shown) > SHOWN:
        say(f"and {count(len(shown) - SHOWN, 'finding')} more; --json has all of them")
    failing = ("error",) if options.fail_on == "error" else ("error", "warning")
    return FOUND if any(finding.severity in failing for finding in findings) else CLEAN
