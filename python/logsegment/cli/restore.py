"""`logsegment restore`: the log directories that were uploaded to tiered storage, as they were."""

from __future__ import annotations

from typing import Literal

import click

from logsegment._core import ChunkError, ManifestError, RecordBatchError
from logsegment._restore.restore import restore as restored
from logsegment.cli.exit_codes import CLEAN, FOUND, LOST, handle_exit
from logsegment.cli.help import Verb
from logsegment.cli.inputs import selection
from logsegment.cli.messages import count, say
from logsegment.cli.options import examples, quiet_option, selection_options
from logsegment.cli.store_options import key_file_option, keyed


@click.command(
    cls=Verb,
    short_help="Restore log directories from an upload to tiered storage.",
    epilog=examples(
        "logsegment restore s3://bucket/prefix restored",
        "logsegment restore bucket/prefix restored --key-file key1=key1.pem",
    ),
)
@click.argument("prefix", metavar="PREFIX")
@click.argument("directory", metavar="DIRECTORY")
@key_file_option
@selection_options
@click.option(
    "--on-error",
    type=click.Choice(["raise", "skip"]),
    default="raise",
    show_default=True,
    help="At a damaged segment, write nothing (raise), or restore it unchanged and report it (skip).",
)
@quiet_option
@click.pass_context
@handle_exit
def restore(context: click.Context, prefix: str, directory: str, on_error: Literal["raise", "skip"], quiet: bool) -> int:
    """Restore the log directories of the uploads in PREFIX, byte for byte, into a new or empty DIRECTORY.

    Each partition becomes TOPIC-PARTITION with its segments, indexes, snapshots and leader epochs under the names that a broker uses.
    If a segment is damaged, nothing is written. A damaged index, snapshot or checkpoint is rebuilt from the log and reported.
    """
    try:
        topic, partition = selection()
        done = restored(keyed(context, prefix), directory, topic=topic, partition=partition, on_error=on_error)
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
    if not quiet:
        directories = count(len(done.partitions), "directory")
        say(f"wrote {count(done.segments, 'segment')} of {directories}, {count(done.bytes, 'byte')}, to {directory}")
    return LOST if done.has_gaps or done.damaged or done.made_anew or done.missing else CLEAN
