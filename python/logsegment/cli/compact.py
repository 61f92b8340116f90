"""`logsegment compact`: partitions compacted by key, into a new directory."""

from __future__ import annotations

import os
from dataclasses import dataclass

import click

from logsegment._core import RecordBatchError, SegmentKeyError
from logsegment._places import redacted_uri
from logsegment._rewrite.compact import DELETE_RETENTION_MS, MEMORY
from logsegment._rewrite.compact import compact as compact_source
from logsegment.cli.codec_types import CodecType
from logsegment.cli.exit_codes import CLEAN, DamagedInput, handle_exit
from logsegment.cli.help import Verb
from logsegment.cli.inputs import below_text, choosing_replicas, log_start_offset, replica, show_log_starts
from logsegment.cli.messages import count, say, show_json
from logsegment.cli.number_types import whole
from logsegment.cli.options import (
    InstantType,
    Reading,
    bind_args,
    examples,
    json_option,
    partition_options,
    path_argument,
    quiet_option,
    reading_options,
)
from logsegment.cli.output.files import say_inputs

ADVICE = "nothing was written; `logsegment salvage` saves the valid batches, which can be compacted"


@dataclass(frozen=True)
class CompactArguments:
    """The arguments of `compact`."""

    path: str
    output: str | None
    memory_mib: int
    delete_retention_ms: int
    now: int | None
    compression: str | None
    allow_lower_end: bool
    dry_run: bool
    reading: Reading
    is_json: bool
    quiet: bool


@click.command(
    cls=Verb,
    short_help="Compact partitions by key, as the log cleaner of a broker does.",
    epilog=examples("logsegment compact /backup/users-0 --output compacted", "logsegment compact /backup --dry-run --json"),
)
@path_argument
@partition_options
@click.option("-o", "--output", metavar="DIRECTORY", help="A new directory, with a directory for each partition.")
@click.option(
    "--memory", "memory_mib", type=whole(1, 2**40), default=MEMORY >> 20, show_default=True, metavar="MIB", help="For the offset map."
)
@click.option(
    "--delete-retention-ms",
    type=whole(0),
    default=DELETE_RETENTION_MS,
    show_default=True,
    help="How long tombstones stay, as the topic's delete.retention.ms.",
)
@click.option("--now", type=InstantType(), help="The time of the compaction; the clock's by default.")
@click.option("--compression", type=CodecType(), help="Codec of batches that are written anew; each batch's own without it.")
@click.option("--allow-lower-end", is_flag=True, help="Let the log end offset fall where v0 and v1 cannot keep an empty last entry.")
@click.option("--dry-run", is_flag=True, help="Report what would become of every byte, and write nothing.")
@reading_options
@json_option("JSON lines: an account of each file.")
@quiet_option
@handle_exit
@bind_args(CompactArguments)
def compact(options: CompactArguments) -> int:
    """Write the partitions of PATH with the latest record of each key alone, as the log cleaner of a broker would.

    Records without a key are dropped. Tombstones stay until their delete horizon, and everything stays from the first open transaction
    on. The output appears when it is complete, and inputs are never changed.

    Exit codes: 0 finished, 1 bad data or a loss that is not allowed, 2 usage or unreadable input.
    """
    if options.output is None and not options.dry_run:
        raise click.UsageError("Missing option '--output'; --dry-run needs none")
    say_inputs(options.output, [options.path], quiet=options.quiet)
    try:
        with choosing_replicas():
            done = compact_source(
                options.path,
                options.output,
                memory=options.memory_mib << 20,
                delete_retention_ms=options.delete_retention_ms,
                now=options.now,
                compression=options.compression,
                allow_lower_end=options.allow_lower_end,
                dry_run=options.dry_run,
                log_start_offset=log_start_offset(),
                replica=replica(),
                **options.reading,
            )
    except RecordBatchError as error:
        raise DamagedInput(error.path or redacted_uri(options.path), error, ADVICE) from error
    except SegmentKeyError:
        raise
    except (TypeError, ValueError) as mistake:
        raise click.UsageError(str(mistake)) from None
    if options.is_json:
        for file in done.files:
            show_json({"type": "compact", "file": file.source} | file.to_dict())
    show_log_starts(done.partition_findings)
    if not options.quiet:
        before, after = sum(file.input_bytes for file in done.files), sum(file.output_bytes for file in done.files)
        place = "" if options.output is None else f" to {os.fspath(options.output)}"
        sizes = f"{before:,} bytes before, {after:,} bytes after"
        verb = "would compact" if options.dry_run else "compacted"
        dropped = f"{done.dropped:,} of {done.records:,} records dropped{below_text(done.below_log_start)}"
        say(f"{verb} {count(len(done.files), 'segment')}{place}: {dropped}; {sizes}")
    return CLEAN
