"""`logsegment compact`: partitions compacted by key, into a new directory."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import compact as compact_source
from logsegment.cli.arguments import VerbOption
from logsegment.cli.codec_types import CodecType, ensure_codec
from logsegment.cli.exit_codes import CLEAN, handle_exit, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.messages import count, say, show_json
from logsegment.cli.notes import below_text
from logsegment.cli.number_types import whole
from logsegment.cli.options import Quiet, Reading, bind_args, examples
from logsegment.cli.output.files import OutputProgress
from logsegment.cli.paths import LogPath, PartitionPaths
from logsegment.cli.value_types import InstantType

DEFAULTS = inspect.signature(compact_source).parameters
ADVICE = "nothing was written; `logsegment salvage` saves the valid batches, which can be compacted"


@dataclass(frozen=True, kw_only=True)
class CompactArguments(LogPath, PartitionPaths):
    """The arguments of `compact`."""

    output: Annotated[str | None, VerbOption("A new directory, with a directory for each partition.", "-o --output DIRECTORY")]
    memory_mib: Annotated[int, VerbOption("For the offset map.", "--memory MIB", kind=whole(1, 2**40))] = DEFAULTS["memory"].default >> 20
    delete_retention_ms: Annotated[
        int,
        VerbOption("How long tombstones stay, as the topic's delete.retention.ms.", "--delete-retention-ms", kind=whole(0)),
    ] = DEFAULTS["delete_retention_ms"].default
    now: Annotated[int | None, VerbOption("The time of the compaction.", "--now", default="the clock's", kind=InstantType())]
    compression: Annotated[
        str | None, VerbOption("Codec of batches that are written anew; each batch's own without it.", "--compression", kind=CodecType())
    ]
    allow_lower_end: Annotated[
        bool, VerbOption("Let the log end offset fall where v0 and v1 cannot keep an empty last entry.", "--allow-lower-end")
    ]
    dry_run: Annotated[bool, VerbOption("Report what would become of every byte, and write nothing.", "--dry-run")]
    reading: Reading
    is_json: Annotated[bool, VerbOption("JSON lines: an account of each file.", "--json")]
    quiet: Quiet

    def __post_init__(self) -> None:
        ensure_codec(self.compression, self.reading["codecs"])


@click.command(
    cls=Verb,
    short_help="Compact partitions by key, as the log cleaner of a broker does.",
    epilog=examples("logsegment compact /backup/users-0 --output compacted", "logsegment compact /backup --dry-run --json"),
)
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
    with input_errors(ADVICE):
        done = compact_source(
            options.path,
            options.output,
            memory=options.memory_mib << 20,
            delete_retention_ms=options.delete_retention_ms,
            now=options.now,
            compression=options.compression,
            allow_lower_end=options.allow_lower_end,
            dry_run=options.dry_run,
            observer=OutputProgress(options.output, quiet=options.quiet),
            **options.selected,
            **options.reading,
        )
    if options.is_json:
        for file in done.files:
            show_json({"type": "compact", "file": file.source} | file.to_dict())
    if not options.quiet:
        before, after = sum(file.input_bytes for file in done.files), sum(file.output_bytes for file in done.files)
        place = "" if options.output is None else f" to {os.fspath(options.output)}"
        sizes = f"{before:,} bytes before, {after:,} bytes after"
        verb = "would compact" if options.dry_run else "compacted"
        dropped = f"{done.dropped:,} of {done.records:,} records dropped{below_text(done.below_log_start)}"
        say(f"{verb} {count(len(done.files), 'segment')}{place}: {dropped}; {sizes}")
    return CLEAN
