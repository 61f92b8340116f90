"""`logsegment restore`: the log directories that were uploaded to tiered storage, as they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import RecordBatchError
from logsegment import restore as restored
from logsegment._options import OnError, ReadOptions, StoreOptions
from logsegment.cli.arguments import Argument, VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, LOST, handle_exit
from logsegment.cli.help import Verb
from logsegment.cli.messages import count, say
from logsegment.cli.options import Quiet, Resume, bind_args, examples
from logsegment.cli.paths import store_arguments
from logsegment.tiered import ChunkError, ManifestError


@dataclass(frozen=True, kw_only=True)
class RestoreArguments:
    """The arguments of `restore`."""

    prefix: Annotated[str, Argument("PREFIX")]
    directory: Annotated[str, Argument("DIRECTORY")]
    store: StoreOptions
    topic: Annotated[str | None, ReadOptions]
    partition: Annotated[int | None, ReadOptions]
    on_error: Annotated[
        OnError,
        VerbOption("At a damaged segment, write nothing (raise), or restore it unchanged and report it (skip).", "--on-error"),
    ] = "raise"
    resume: Resume
    quiet: Quiet


@click.command(
    cls=Verb,
    short_help="Restore log directories from an upload to tiered storage.",
    epilog=examples(
        "logsegment restore s3://bucket/prefix restored",
        "logsegment restore bucket/prefix restored --key-file key1=key1.pem",
    ),
)
@handle_exit
@bind_args(RestoreArguments)
def restore(options: RestoreArguments) -> int:
    """Restore the log directories of the uploads in PREFIX, byte for byte, into a new or empty DIRECTORY.

    Each partition becomes TOPIC-PARTITION with its segments, indexes, snapshots and leader epochs under the names that a broker uses.
    If a segment is damaged, nothing is written. A damaged index, snapshot or checkpoint is rebuilt from the log and reported.
    """
    try:
        done = restored(
            options.prefix,
            options.directory,
            topic=options.topic,
            partition=options.partition,
            on_error=options.on_error,
            resume=options.resume,
            **store_arguments(options.store),
        )
    except RecordBatchError as error:
        say(str(error))
        is_there = not isinstance(error, (ChunkError, ManifestError))
        skipping = "`--on-error skip` restores it unchanged, " if is_there else ""
        say(f"nothing was written; {skipping}`logsegment salvage` makes a log of the valid entries")
        return FOUND
    for reason in done.left_out:
        say(f"left out: {reason}")
    for what, reasons in (
        ("gone", done.gone),
        ("damaged", done.damaged),
        ("rebuilt from the log", done.made_anew),
        ("missing", done.missing),
    ):
        for reason in reasons:
            say(f"{what}: {reason}")
    if done.resumed:
        say(f"{count(done.resumed, 'partition')} finished by an earlier run")
    if not options.quiet:
        directories = count(len(done.partitions), "directory")
        say(f"wrote {count(done.segments, 'segment')} of {directories}, {count(done.bytes, 'byte')}, to {options.directory}")
    return LOST if done.has_gaps or done.damaged or done.made_anew or done.missing else CLEAN
