"""The output of `kafka-dump-log` of Kafka 4.3, for `batches --as` and `cat --as`."""

from __future__ import annotations

import sys
from typing import Annotated, Literal, TypeAlias

import click
from click.core import ParameterSource

from logsegment._core import KafkaDump, RecordBatchError
from logsegment._options import EntryKeywords, ReadOptions
from logsegment._places import redacted_uri
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, DamagedInput, input_errors
from logsegment.cli.messages import printable, show
from logsegment.cli.paths import LogPaths
from logsegment.cli.plugin_registries import code_after
from logsegment.inputs.input_segment import InputSegment, opened
from logsegment.inputs.sources import inputs_of

#: The option of a verb that prints what a tool of Kafka prints.
AsTool: TypeAlias = Annotated[
    Literal["kafka-dump-log"] | None,
    VerbOption("Print what this tool of Kafka prints about the same files.", "--as", default="a form of its own"),
]
#: The name of the snapshot with which a cluster begins.
BOOTSTRAP = "bootstrap.checkpoint"
#: Parameters that go together with `--as`: the paths, how they are reached, and how entries are read.
_COMMON = frozenset(
    {"as_tool", "paths", "topic", "partition", "format", "quirks", "limits", "registry", "bootstrap_servers"}
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


def dump(paths: LogPaths, reading: EntryKeywords, *, is_deep: bool) -> int:
    """Print the entries of segments, and with `is_deep` their records; return the exit code.

    The tool prints each file that it is given, also of several copies of a partition.

    Raises:
        DamagedInput: at bytes that are not entries, after the lines before them.
    """
    read = ReadOptions.of(EntryKeywords, reading)
    access = paths.store.storage_options, paths.store.decryption_keys, paths.store.layout
    with input_errors():
        segments = inputs_of(paths.sources, access, selection=(paths.topic, paths.partition)).segments
    for segment in segments:
        name = redacted_uri(segment.path).rpartition("/")[2]
        show(f"Dumping {segment.name}")
        _show_head(name, segment)
        with opened(segment) as source:
            found = KafkaDump(source, read, is_deep)
            try:
                for lines in found:
                    _show_lines(lines)
            except RecordBatchError as error:
                raise DamagedInput(segment.name, error) from None
        if found.trailing_bytes:
            show(f"Found {found.trailing_bytes} invalid bytes at the end of {name}")
    return code_after(reading, CLEAN)


def _show_head(name: str, segment: InputSegment) -> None:
    stem, _, suffix = name.rpartition(".")
    if name == BOOTSTRAP:
        show("KRaft bootstrap snapshot")
    elif suffix == "checkpoint" and all(part.isdecimal() for part in stem.split("-")):
        end, _, epoch = stem.partition("-")
        show(f"Snapshot end offset: {int(end)}, epoch: {int(epoch)}")
    elif segment.base_offset is not None:
        show(f"Log starting offset: {segment.base_offset}")


def _show_lines(lines: bytes) -> None:
    """Write lines as they are; to a terminal with an escape for each character that is not printable."""
    if sys.stdout.isatty():
        lines = "".join(f"{printable(line)}\n" for line in lines.decode().split("\n")[:-1]).encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(lines)
