"""`logsegment join`: adjacent segments merged."""

from __future__ import annotations

from dataclasses import dataclass

import click

from logsegment._rewrite.split_join import join as join_sources
from logsegment.cli.exit_codes import handle_exit
from logsegment.cli.help import Verb
from logsegment.cli.inputs import log_start_offset, replica
from logsegment.cli.options import (
    Reading,
    bind_args,
    examples,
    json_option,
    overwrite_option,
    partition_options,
    paths_argument,
    quiet_option,
    reading_options,
)
from logsegment.cli.split_join import print_account


@dataclass(frozen=True)
class JoinArguments:
    """The arguments of `join`."""

    paths: tuple[str, ...]
    output: str
    overwrite: bool
    reading: Reading
    is_json: bool
    quiet: bool


@click.command(
    cls=Verb,
    short_help="Merge adjacent segments of a partition.",
    epilog=examples("logsegment join orders-0 --output joined", "logsegment join first.log second.log --output both.log"),
)
@paths_argument
@partition_options
@click.option("-o", "--output", required=True, metavar="PATH", help="A new file for files, a new directory for a directory.")
@overwrite_option
@reading_options
@json_option("One JSON line: where every byte went.")
@quiet_option
@handle_exit
@bind_args(JoinArguments)
def join(options: JoinArguments) -> int:
    """Write adjacent segments of PATH as one. Batches stay byte for byte.

    Files become one file. In a directory a segment begins only where the one before it could not hold more. The output appears when it is
    complete, and inputs are never changed.

    Exit codes: 0 finished, 1 bad data, 2 usage or unreadable input.
    """

    def work() -> object:
        return join_sources(
            options.paths,
            options.output,
            overwrite=options.overwrite,
            log_start_offset=log_start_offset(),
            replica=replica(),
            **options.reading,
        )

    return print_account(work, options.paths, options.output, is_json=options.is_json, quiet=options.quiet)
