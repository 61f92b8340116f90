"""The output of `kafka-dump-log` of Kafka 4.3, for `batches --as` and `cat --as`."""

from __future__ import annotations

import sys
from typing import Annotated, Literal, TypeAlias

import click
from click.core import ParameterSource

from logsegment import kafka_dump
from logsegment._options import EntryKeywords
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, input_errors
from logsegment.cli.messages import printable
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import LogPaths
from logsegment.cli.plugin_registries import code_after

#: The option of a verb that prints what a tool of Kafka prints.
AsTool: TypeAlias = Annotated[
    Literal["kafka-dump-log"] | None,
    VerbOption("Print what this tool of Kafka prints about the same files.", "--as", default="a form of its own"),
]
#: Parameters that go together with `--as`: the paths, how they are reached, and how entries are read.
_COMMON = frozenset(
    {"as_tool", "paths", "topic", "partition", "format", "limits", "quirks", "zstd_dictionaries", "registry", "bootstrap_servers"}
    | {"allow_plugin", "storage_options", "decryption_keys", "layout", "quiet", "traceback"}
)


def ensure_alone() -> None:
    """Fail for options that do not go together with `--as`.

    Raises:
        click.UsageError: for the first of them.
    """
    context = click.get_current_context()
    for param in context.command.params:
        is_given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if is_given and param.name not in _COMMON:
            raise click.UsageError(f"--as prints whole files as the tool does; {max(param.opts, key=len)} does not go together with it")


def dump(logs: LogPaths, *, reading: EntryKeywords, quiet: bool, is_deep: bool) -> int:
    """Print the entries of segments, and with `is_deep` their records; return the exit code.

    Raises:
        DamagedInput: at bytes that are not entries, after the lines before them.
    """
    selected = {name: value for name, value in logs.selected.items() if name not in ("replica", "log_start_offset")}
    with Progress(quiet=quiet, has_bar=False) as progress, input_errors(""):
        for lines in kafka_dump(logs.sources, deep=is_deep, observer=progress, **selected, **reading):
            _show_lines(lines)
    return code_after(reading, CLEAN)


def _show_lines(lines: bytes) -> None:
    """Write lines as they are; to a terminal with an escape for each character that is not printable."""
    if sys.stdout.isatty():
        lines = "".join(f"{printable(line)}\n" for line in lines.decode(errors="surrogateescape").split("\n")[:-1]).encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(lines)
