"""`logsegment explain`: one batch field by field, with its bytes, their meaning, and the damage where it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, cast

import click

from logsegment._core import BatchHeader, FileSource, Finding, RecordBatchError, SegmentKeyError, valid_batches
from logsegment._inspect import RECORDS, VALUE_BYTES, Field, html_page, inspect, text_lines
from logsegment._options import Depth, EntryKeywords, ReadOptions
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, FOUND, DamagedInput, handle_exit
from logsegment.cli.help import Verb
from logsegment.cli.inputs import begun, ensure_segments, segments_of
from logsegment.cli.messages import Console, count, say, show_json
from logsegment.cli.number_types import whole
from logsegment.cli.options import IsRedacted, Overwrite, ParamType, Reading, RedactKey, bind_args, examples, redactor_of
from logsegment.cli.output.files import whole_file
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import STDIN, LogPath
from logsegment.cli.plugin_registries import code_after
from logsegment.cli.redaction import Redactor, begins_entry, is_proven, is_valid_entry, redacted
from logsegment.inputs.input_segment import InputSegment, opened
from logsegment.log.segment import Segment

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
    records: Annotated[int, VerbOption("Show N records one by one, or all.", "--records N|all", kind=CountType())] = RECORDS
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
    redactor = redactor_of(options.is_redacted, options.redact_key)
    segment = _segment(options)
    begun(Progress(quiet=True, output=options.html, overwrite=options.overwrite), [segment])
    if options.at is None:
        ensure_segments([segment], options.reading)
    explaining = Explaining(segment, options, options.reading, redactor)
    try:
        root = explaining.batch_of(options.offset) if options.offset is not None else explaining.shown(options.at)
        next_one = explaining.next_one(root) if options.at is None and options.offset is None else None
    except RecordBatchError as error:
        raise DamagedInput(segment.name, error, ADVICE, redactor) from None
    except SegmentKeyError:
        # It names the segment by itself.
        raise
    except ValueError as mistake:
        raise click.UsageError(f"{segment.name}: {mistake}") from None
    if options.html is not None:
        with whole_file(options.html, options.overwrite) as out:
            out.write(html_page(root, f"{segment.name}, byte {root.start}", next_one).encode())
    elif options.is_json:
        tree = {"file": segment.name, **root.to_dict()} | ({"next": next_one.to_dict()} if next_one else {})
        show_json(tree)
    else:
        _print(segment.name, root, next_one)
    return code_after(options.reading, CLEAN if root.ok and not explaining.is_damaged else FOUND)


def _print(name: str, root: Field, next_one: Field | None) -> None:
    paper = Console()
    for tree, words in [(root, ""), *([(next_one, ", the next valid batch")] if next_one else [])]:
        paper.line(f"{name}: {tree.name} at byte {tree.start:,}, {count(tree.length, 'byte')}{words}")
        for line in text_lines(tree):
            paper.pieces([(text, STYLES.get(style)) for text, style in line])


@dataclass
class Explaining:
    """The batches of one file, as they are shown.

    Attributes:
        is_damaged: what was asked for may have stood in damage before what is shown.
    """

    segment: InputSegment
    options: ExplainArguments
    reading: Reading
    redactor: Redactor | None
    is_damaged: bool = False

    def shown(self, at: int | None, offset: int | None = None) -> Field:
        """Return the fields at a position, or of the batch of an offset."""
        if self.redactor is None:
            return self._inspected(at, offset)
        # The hash of a payload covers all its bytes.
        root = self._inspected(at, offset, value_bytes=sys.maxsize)
        if not is_valid_entry(root) and not begins_entry(self._batches(), root.start):
            raise click.UsageError(
                f"{self.segment.name}: byte {root.start:,} is not at or directly after a valid batch, "
                "so its bytes may be part of a value; not shown with --redact"
            )
        return redacted(root, self.redactor)

    def batch_of(self, offset: int) -> Field:
        """Return the batch of an offset, or the first one after it; report damage that may have contained the offset."""
        try:
            root = self.shown(None, offset)
        except SegmentKeyError:
            raise
        except ValueError:
            if (found := self._holder(offset)) is None:
                raise
            return self.shown(found)
        if _claims_to_hold(root, offset):
            return root
        found = self._holder(offset)
        return root if found is None else self.shown(found)

    def _holder(self, offset: int) -> int | None:
        """Return the position of the valid batch of an offset, or of the first one after it; report the damage before it."""
        found = self._next(lambda batch: batch.last_offset >= offset)
        if found is None:
            return None
        self.is_damaged = bool(found.damage)
        report(found.damage, self.segment.name, Progress(quiet=True), quiet=False, redactor=self.redactor)
        return found.position

    def next_one(self, root: Field) -> Field | None:
        """Return the next valid batch, if no checksum proves the batch that is shown."""
        if is_proven(root) or not self._is_read_again:
            return None
        found = self._next(lambda batch: batch.position > root.start)
        if found is None:
            say(f"{self.segment.name}: no valid batch follows")
            return None
        say(f"{self.segment.name}: bytes {root.start:,} to {found.position - 1:,} have no valid batch; the next batch is shown")
        self.is_damaged = True
        return self.shown(found.position)

    @property
    def _is_read_again(self) -> bool:
        return self.segment.file is not None and self.segment.is_regular

    def _next(self, is_wanted: Callable[[BatchHeader], bool]) -> NextBatch | None:
        if not self._is_read_again:
            return None
        return next_valid(self.segment, is_wanted, self.reading)

    def _inspected(self, at: int | None, offset: int | None, value_bytes: int = VALUE_BYTES) -> Field:
        how = {"depth": self.options.depth, "records": self.options.records, "value_bytes": value_bytes, **self.reading}
        if self.segment.file is not None and self.segment.is_regular:
            return Segment(self.segment.file).inspect(at=at, offset=offset, **how)
        with opened(self.segment) as source:
            return inspect(source, at=at, offset=offset, **cast(Any, how))

    def _batches(self) -> list[dict[str, Any]]:
        """Return the rows of all valid batches; none of a stream, which was read already."""
        if self.segment.file is None or not self._is_read_again:
            return []
        return Segment(self.segment.file).batches(on_error="skip", unreadable="skip", **self.reading).to_pylist()


def _claims_to_hold(root: Field, offset: int) -> bool:
    """Return whether the first offset of a batch or message is at or before `offset`."""
    first = next((field.value for field in root.children if field.name in ("baseOffset", "offset")), None)
    return isinstance(first, int) and first <= offset


def _segment(options: ExplainArguments) -> InputSegment:
    """Return the one segment to explain."""
    path, offset = options.path, options.offset
    if path == STDIN and sys.stdin.isatty():
        raise click.BadParameter("standard input is a terminal; - needs a pipe or a file")
    found = segments_of(options)
    if len(found) == 1:
        return found[0]
    partitions = {(segment.topic, segment.partition, segment.directory) for segment in found}
    before = [segment for segment in found if offset is not None and segment.base_offset is not None and segment.base_offset <= offset]
    if len(partitions) > 1 or offset is None:
        raise click.UsageError(
            f"{path} holds {count(len(found), 'segment')}; pass one file, or one partition (--topic, --partition) and --offset"
        )
    return max(before or found[:1], key=lambda segment: segment.base_offset or 0)


#: Headers that are looked at together: one of the first few is what is searched for, or none.
_BATCH_SIZE = 64


class NextBatch(NamedTuple):
    """Where a batch begins whose checksum matches, and what is wrong before it."""

    position: int
    damage: list[Finding]


def next_valid(segment: InputSegment, is_wanted: Callable[[BatchHeader], bool], options: Reading) -> NextBatch | None:
    """Return the first valid batch of a file that is wanted.

    Args:
        segment: the file, which can be read more than once.
        is_wanted: asked with each valid batch.
        options: options of entries.

    Raises:
        RecordBatchError: when the format is none that is read.
        OSError: when the file cannot be read.
    """
    read = ReadOptions.of(EntryKeywords, options, on_error="skip", unreadable="skip", batch_size=_BATCH_SIZE)
    with valid_batches(FileSource(segment.path), read) as batches:
        for batch in batches:
            if is_wanted(batch):
                return NextBatch(batch.position, [finding for finding in batches.findings if finding.position < batch.position])
    return None
