"""`logsegment split`: segments cut at offsets, times or sizes."""

from __future__ import annotations

from dataclasses import dataclass

import click

from logsegment._rewrite.split_join import split as split_source
from logsegment.cli.exit_codes import handle_exit
from logsegment.cli.help import Verb
from logsegment.cli.inputs import log_start_offset, replica
from logsegment.cli.number_types import whole
from logsegment.cli.options import (
    InstantType,
    Reading,
    bind_args,
    examples,
    json_option,
    now_option,
    partition_options,
    path_argument,
    quiet_option,
    reading_options,
)
from logsegment.cli.split_join import print_account


@dataclass(frozen=True)
class SplitArguments:
    """The arguments of `split`."""

    path: str
    output: str
    offsets: tuple[int, ...]
    times: tuple[int, ...]
    size: int | None
    reading: Reading
    is_json: bool
    quiet: bool


@click.command(
    cls=Verb,
    short_help="Cut segments at offsets, times or sizes.",
    epilog=examples("logsegment split orders-0 --bytes 104857600 --output cut", "logsegment split big.log --at-offset 5000 --output cut"),
)
@path_argument
@partition_options
@click.option("-o", "--output", required=True, metavar="DIRECTORY", help="A new directory.")
@click.option("--at-offset", "offsets", type=whole(0), multiple=True, help="Begin a segment with the first batch from here on.")
@click.option("--at-time", "times", type=InstantType(), multiple=True, help="Begin a segment with the first batch from this time on.")
@click.option("--bytes", "size", type=whole(1), help="Begin a segment before it would have more bytes.")
@now_option
@reading_options
@json_option("One JSON line: where every byte went.")
@quiet_option
@handle_exit
@bind_args(SplitArguments)
def split(options: SplitArguments) -> int:
    """Write the segments of PATH cut into more segments. Batches stay byte for byte, so that a cut inside a batch is made after it.

    The output appears when it is complete, and inputs are never changed.

    Exit codes: 0 finished, 1 bad data, 2 usage or unreadable input.
    """
    if not options.offsets and not options.times and options.size is None:
        raise click.UsageError("nothing to do: give --at-offset, --at-time or --bytes")

    def work() -> object:
        return split_source(
            options.path,
            options.output,
            offsets=options.offsets,
            times=options.times,
            bytes=options.size,
            log_start_offset=log_start_offset(),
            replica=replica(),
            **options.reading,
        )

    return print_account(work, [options.path], options.output, is_json=options.is_json, quiet=options.quiet)
