"""`logsegment explain`: one batch field by field, with its bytes, their meaning, and the damage where it is."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, cast

import click

import logsegment as ls
from logsegment.cli.ending import CLEAN, FOUND, Damaged, ending
from logsegment.cli.files import WholeFile, ensure_output
from logsegment.cli.messages import printable
from logsegment.cli.options import (
    ParamType,
    examples,
    experimental_option,
    format_option,
    json_option,
    path_argument,
    registry_option,
)
from logsegment.cli.paper import Paper
from logsegment.cli.paths import STDIN, Segment, segments_of
from logsegment.cli.plugin_registries import noted, told
from logsegment.cli.redact import redact_options, redactor_of
from logsegment.cli.sources import opened
from logsegment.inspect_html import page
from logsegment.inspect_text import lines
from logsegment.inspecting import RECORDS
from logsegment.redacted_fields import begins_entry, is_intact, redacted
from logsegment.redacting import Redactor
from logsegment.tiered import SegmentKeyError

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: How the pieces of a line look on a terminal.
STYLES = {
    "dim": "dim",
    "name": "cyan",
    "group": "bold cyan",
    "problem-error": "bold red",
    "problem-warning": "yellow",
    "problem-info": "magenta",
}

ADVICE = "--at POSITION shows what stands at a byte, `logsegment verify` what is damaged"


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
            self.fail(f"{value!r} is neither a number nor all")
        return int(value)


@click.command(
    short_help="Show one batch field by field: bytes, value, meaning, damage.",
    epilog=examples(
        "logsegment explain 00000000000000000000.log",
        "logsegment explain orders-0 --offset 1042 --records all",
        "logsegment explain copy.log --at 73216",
        "logsegment explain copy.log --at 73216 --html batch.html",
    ),
)
@path_argument
@click.option("--at", type=click.IntRange(min=0), metavar="POSITION", help="The batch at this byte; whatever stands there is shown.")
@click.option("--offset", type=click.IntRange(min=0), metavar="N", help="The batch that holds this offset, or the first one behind it.")
@click.option(
    "--depth",
    type=click.Choice(["headers", "metadata", "full"]),
    default="full",
    show_default=True,
    help="headers: the header; metadata: also the frames of the codec; full: also the records, unpacked.",
)
@click.option("--records", type=CountType(), default=RECORDS, show_default=True, metavar="N|all", help="Records that are shown one by one.")
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write a page instead: it folds, and needs no network.")
@redact_options
@format_option
@experimental_option
@registry_option
@json_option("One JSON object: a tree of fields.")
@ending
def explain(
    path: str,
    at: int | None,
    offset: int | None,
    depth: str,
    records: int,
    html: str | None,
    is_redacted: bool,
    redact_key: str | None,
    entry_format: str,
    experimental: bool,
    codecs: Registry | None,
    is_json: bool,
) -> int:
    """Show one batch of PATH field by field: position, bytes, name, value and what it means, the damage marked where it is.

    PATH is a log segment, - for standard input, or a partition directory when --offset tells the segment. Without --at and --offset the
    first batch is shown. Fields have Kafka's names; packed records follow unpacked, and their positions count in the unpacked bytes.

    The exit code is 1 when the batch is damaged.
    """
    if at is not None and offset is not None:
        raise click.UsageError("only one of --at and --offset can be given")
    if html is not None and is_json:
        raise click.UsageError("only one of --json and --html can be given")
    redactor = redactor_of(is_redacted, redact_key)
    segment = _segment(path, offset)
    if html is not None:
        ensure_output(html, [segment])
    noting = noted(codecs)
    options = {"depth": depth, "records": records, "format": entry_format, "experimental": experimental, "codecs": noting}
    try:
        root = _inspected(segment, at, offset, options) if redactor is None else _redacted(segment, at, offset, options, redactor)
    except ls.RecordBatchError as error:
        raise Damaged(segment.name, error, ADVICE, redactor) from None
    except SegmentKeyError:
        # It names the segment by itself.
        raise
    except ValueError as mistake:
        raise click.UsageError(f"{segment.name}: {mistake}") from None
    if html is not None:
        with WholeFile(html) as out:
            out.write(page(root, f"{segment.name}, byte {root.start}").encode())
    elif is_json:
        json.dump({"file": segment.name, **root.to_dict()}, sys.stdout, ensure_ascii=False, separators=(",", ":"))
        sys.stdout.write("\n")
    else:
        paper = Paper()
        paper.line(f"{printable(segment.name)}: {root.name} at byte {root.start:,}, {root.length:,} bytes")
        for line in lines(root):
            paper.pieces([(text, STYLES.get(style)) for text, style in line])
    return told(noting, CLEAN if root.ok else FOUND)


def _inspected(segment: Segment, at: int | None, offset: int | None, options: dict[str, Any]) -> ls.Field:
    if segment.file is not None and segment.is_regular:
        return ls.Segment(segment.file).inspect(at=at, offset=offset, **options)
    with opened(segment) as source:
        return ls.inspect(source, at=at, offset=offset, **cast(Any, options))


def _redacted(segment: Segment, at: int | None, offset: int | None, options: dict[str, Any], redactor: Redactor) -> ls.Field:
    """The batch without its payloads, which are hashed whole."""
    root = _inspected(segment, at, offset, options | {"value_bytes": sys.maxsize})
    if not is_intact(root) and not begins_entry(_batches(segment, options), root.start):
        raise click.UsageError(
            f"{segment.name}: byte {root.start:,} holds no intact batch, and none that is intact ends there, so that what stands there "
            "may be a piece of a value: not shown with --redact"
        )
    return redacted(root, redactor)


def _batches(segment: Segment, options: dict[str, Any]) -> list[dict[str, Any]]:
    """All batches that are intact; none of a stream, which is behind."""
    if segment.file is None or not segment.is_regular:
        return []
    reading = {name: options[name] for name in ("format", "experimental", "codecs")}
    return ls.Segment(segment.file).batches(on_error="skip", **reading).to_pylist()


def _segment(path: str, offset: int | None) -> Segment:
    """The one segment that is meant."""
    if path == STDIN and sys.stdin.isatty():
        raise click.BadParameter("standard input is no pipe and no file; - reads a log segment from one")
    found = segments_of([path])
    if len(found) == 1:
        return found[0]
    partitions = {(segment.topic, segment.partition, segment.directory) for segment in found}
    before = [segment for segment in found if offset is not None and segment.base_offset is not None and segment.base_offset <= offset]
    if len(partitions) > 1 or offset is None:
        raise click.UsageError(f"{path} holds {len(found)} segments: name one file, or a partition directory and --offset")
    return max(before or found[:1], key=lambda segment: segment.base_offset or 0)
