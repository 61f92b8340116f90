"""`logsegment split`: segments cut at offsets, times or sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import split as split_source
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import handle_exit, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.number_types import whole
from logsegment.cli.options import Now, Quiet, Reading, bind_args, examples
from logsegment.cli.output.files import OutputProgress
from logsegment.cli.paths import LogPath, PartitionPaths
from logsegment.cli.split_join import ADVICE, ensure_paths, print_account
from logsegment.cli.value_types import InstantType


@dataclass(frozen=True, kw_only=True)
class SplitArguments(LogPath, PartitionPaths):
    """The arguments of `split`."""

    output: Annotated[str, VerbOption("A new directory.", "-o --output DIRECTORY")]
    offsets: Annotated[tuple[int, ...], VerbOption("Begin a segment with the first batch from here on.", "--at-offset", kind=whole(0))]
    times: Annotated[
        tuple[int, ...], VerbOption("Begin a segment with the first batch from this time on.", "--at-time", kind=InstantType())
    ]
    size: Annotated[int | None, VerbOption("Begin a segment before it would have more bytes.", "--bytes", kind=whole(1))]
    now: Now
    reading: Reading
    is_json: Annotated[bool, VerbOption("One JSON line: where every byte went.", "--json")]
    quiet: Quiet


@click.command(
    cls=Verb,
    short_help="Cut segments at offsets, times or sizes.",
    epilog=examples("logsegment split orders-0 --bytes 104857600 --output cut", "logsegment split big.log --at-offset 5000 --output cut"),
)
@handle_exit
@bind_args(SplitArguments)
def split(options: SplitArguments) -> int:
    """Write the segments of PATH cut into more segments. Batches stay byte for byte, so that a cut inside a batch is made after it.

    The output appears when it is complete, and inputs are never changed.

    Exit codes: 0 finished, 1 bad data, 2 usage or unreadable input.
    """
    if not options.offsets and not options.times and options.size is None:
        raise click.UsageError("nothing to do: give --at-offset, --at-time or --bytes")

    ensure_paths(options.paths, options.output)
    with input_errors(ADVICE):
        done = split_source(
            options.path,
            options.output,
            offsets=options.offsets,
            times=options.times,
            bytes=options.size,
            observer=OutputProgress(options.output, quiet=options.quiet),
            **options.selected,
            **options.reading,
        )
    return print_account(done, options.output, is_json=options.is_json, quiet=options.quiet)
