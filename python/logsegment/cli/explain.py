"""`logsegment explain`: one batch field by field, with its bytes, their meaning, and the damage where it is."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, replace
from typing import Annotated, Any

import click

from logsegment import Explanation, Field
from logsegment import explain as explain_entry
from logsegment._options import Depth
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, handle_exit, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.messages import Console, count, say, show_json
from logsegment.cli.number_types import whole
from logsegment.cli.options import IsRedacted, Overwrite, ParamType, Reading, RedactKey, bind_args, examples, redactor_of
from logsegment.cli.output.files import whole_file
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import STDIN, LogPath
from logsegment.cli.plugin_registries import code_after
from logsegment.cli.redaction import Redactor, is_valid_entry, redacted

#: How the pieces of a line look on a terminal.
STYLES = {
    "dim": "dim",
    "name": "cyan",
    "group": "bold cyan",
    "problem-error": "bold red",
    "problem-warning": "yellow",
    "problem-info": "magenta",
}

ADVICE = "--at POSITION shows the bytes at a position, `logsegment verify` reports damage"


class CountType(ParamType):
    """A number, or `all`."""

    name = "N|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the text; `all` is more than there can be."""
        if isinstance(value, int):
            return value
        if value == "all":
            return sys.maxsize
        if not value.isascii() or not value.isdigit() or len(value) > 18:
            self.fail(f"{value!r} is not a number or all")
        return int(value)


@dataclass(frozen=True, kw_only=True)
class ExplainArguments(LogPath):
    """The arguments of `explain`."""

    at: Annotated[
        int | None, VerbOption("Show the batch at this byte, or the bytes if they are not a batch.", "--at POSITION", kind=whole(0))
    ]
    offset: Annotated[int | None, VerbOption("Show the batch with this offset, or the next batch.", "--offset N", kind=whole(0))]
    depth: Annotated[Depth, VerbOption("Show the header, also the codec's frames, or also the records.", "--depth")] = "full"
    records: Annotated[int, VerbOption("Show N records one by one, or all.", "--records N|all", kind=CountType())] = (
        inspect.signature(explain_entry).parameters["records"].default
    )
    html: Annotated[str | None, VerbOption("Write an HTML page; it needs no network.", "--html FILE", kind=click.Path(dir_okay=False))]
    overwrite: Overwrite
    is_redacted: IsRedacted
    redact_key: RedactKey
    reading: Reading
    is_json: Annotated[bool, VerbOption("Print one JSON object, a tree of fields.", "--json")]


@click.command(
    cls=Verb,
    short_help="Show one batch field by field: bytes, value, meaning, damage.",
    epilog=examples(
        "logsegment explain 00000000000000000000.log",
        "logsegment explain orders-0 --offset 1042 --records all",
        "logsegment explain copy.log --at 73216",
        "logsegment explain copy.log --at 73216 --html batch.html",
    ),
)
@handle_exit
@bind_args(ExplainArguments)
def explain(options: ExplainArguments) -> int:
    """Show one batch field by field: position, bytes, name, value, meaning and damage.

    PATH is a log segment, - for standard input, or with --offset a partition directory. Without --at and --offset, the first batch is
    shown; if it is damaged, the next valid batch is shown too. Fields have Kafka's names. Compressed records are shown decompressed,
    with positions in the decompressed bytes.

    Exit codes: 0 valid, 1 the batch is damaged or the offset may be in damage before it, 2 usage or unreadable input.
    """
    if options.at is not None and options.offset is not None:
        raise click.UsageError("only one of --at and --offset can be given")
    if options.html is not None and options.is_json:
        raise click.UsageError("only one of --json and --html can be given")
    if options.path == STDIN and sys.stdin.isatty():
        raise click.BadParameter("standard input is a terminal; - needs a pipe or a file")
    redactor = redactor_of(options.is_redacted, options.redact_key)
    # The hash of a payload covers all its bytes.
    size: dict[str, Any] = {} if redactor is None else {"value_bytes": sys.maxsize}
    progress = Progress(quiet=False, has_bar=False, output=options.html, overwrite=options.overwrite)
    with input_errors(ADVICE, redactor, options.path):
        found = explain_entry(
            options.sources[0],
            at=options.at,
            offset=options.offset,
            depth=options.depth,
            records=options.records,
            observer=progress,
            **size,
            **options.selected,
            **options.reading,
        )
        shown = found if redactor is None else _redacted(found, redactor)
    _say_around(found, progress, redactor)
    root, next_entry = shown.entry, shown.next_entry
    if options.html is not None:
        with whole_file(options.html, options.overwrite) as out:
            out.write(root.to_html(f"{found.path}, byte {root.start}", next_entry).encode())
    elif options.is_json:
        show_json({"file": found.path, **root.to_dict()} | ({"next": next_entry.to_dict()} if next_entry else {}))
    else:
        _print(found.path, root, next_entry)
    return code_after(options.reading, CLEAN if shown.ok else FOUND)


def _redacted(found: Explanation, redactor: Redactor) -> Explanation:
    """Return an explanation without payloads.

    Raises:
        click.UsageError: if the bytes may be a part of a payload.
    """
    root = found.entry
    if not is_valid_entry(root) and not found.begins_entry:
        raise click.UsageError(
            f"{found.path}: byte {root.start:,} is not at or directly after a valid batch, "
            "so its bytes may be part of a value; not shown with --redact"
        )
    next_entry = found.next_entry
    return replace(found, entry=redacted(root, redactor), next_entry=None if next_entry is None else redacted(next_entry, redactor))


def _say_around(found: Explanation, progress: Progress, redactor: Redactor | None) -> None:
    """Print the damage before an entry, and where the next valid one is."""
    report(found.damage, found.path, progress, quiet=False, redactor=redactor)
    if found.next_entry is not None:
        bytes_ = f"bytes {found.entry.start:,} to {found.next_entry.start - 1:,}"
        say(f"{found.path}: {bytes_} have no valid batch; the next batch is shown")
    elif not found.is_followed:
        say(f"{found.path}: no valid batch follows")


def _print(name: str, root: Field, next_one: Field | None) -> None:
    paper = Console()
    for tree, words in [(root, ""), *([(next_one, ", the next valid batch")] if next_one else [])]:
        paper.line(f"{name}: {tree.name} at byte {tree.start:,}, {count(tree.length, 'byte')}{words}")
        for line in tree.to_lines():
            paper.pieces([(text, STYLES.get(style)) for text, style in line])
