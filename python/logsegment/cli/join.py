"""`logsegment join`: adjacent segments merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import join as join_sources
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import handle_exit, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.options import Overwrite, Quiet, Reading, bind_args, examples
from logsegment.cli.output.files import OutputProgress
from logsegment.cli.paths import PartitionPaths
from logsegment.cli.split_join import ADVICE, ensure_paths, print_account


@dataclass(frozen=True, kw_only=True)
class JoinArguments(PartitionPaths):
    """The arguments of `join`."""

    output: Annotated[str, VerbOption("A new file for files, a new directory for a directory.", "-o --output PATH")]
    overwrite: Overwrite
    reading: Reading
    is_json: Annotated[bool, VerbOption("One JSON line: where every byte went.", "--json")]
    quiet: Quiet


@click.command(
    cls=Verb,
    short_help="Merge adjacent segments of a partition.",
    epilog=examples("logsegment join orders-0 --output joined", "logsegment join first.log second.log --output both.log"),
)
@handle_exit
@bind_args(JoinArguments)
def join(options: JoinArguments) -> int:
    """Write adjacent segments of PATH as one. Batches stay byte for byte.

    Files become one file. In a directory a segment begins only where the one before it could not hold more. The output appears when it is
    complete, and inputs are never changed.

    Exit codes: 0 finished, 1 bad data, 2 usage or unreadable input.
    """
    ensure_paths(options.paths, options.output)
    with input_errors(ADVICE):
        done = join_sources(
            options.paths,
            options.output,
            overwrite=options.overwrite,
            observer=OutputProgress(options.output, quiet=options.quiet),
            **options.selected,
            **options.reading,
        )
    return print_account(done, options.output, is_json=options.is_json, quiet=options.quiet)
