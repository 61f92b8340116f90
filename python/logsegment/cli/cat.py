"""`logsegment cat`: records, as JSON lines or into a file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from logsegment._core import RecordBatchError, Transactions, scan_transactions
from logsegment._decode import decoded
from logsegment._options import COLUMNS, Isolation, OnError, ReadOptions, Values, with_values
from logsegment.analysis.redaction import Redactor
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, DamagedInput, ending, words_of
from logsegment.cli.inputs import InputSegment, ensure_topic, in_range, opened, segments_of, whole_partition
from logsegment.cli.messages import count, say
from logsegment.cli.options import (
    Base64Type,
    ColumnsType,
    InstantType,
    Offsets,
    OffsetsType,
    Reading,
    examples,
    file_options,
    json_option,
    on_error_option,
    output_of,
    paths_argument,
    quiet_option,
    reading_options,
    redact_options,
    redactor_of,
    taking,
    values_option,
)
from logsegment.cli.output.files import ensure_output
from logsegment.cli.output.findings import tell
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.records import (
    Form,
    JsonLines,
    RecordSink,
    RecordTable,
    RowFilter,
    ensure_topics,
    json_columns,
    say_others,
    with_control,
)
from logsegment.log.reader import committed_transactions
from logsegment.log.segment_lookup import SegmentLookup
from logsegment.segment_files.discovery import SegmentFile
from logsegment.tiered import SegmentKeyError

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class CatArguments:
    """The arguments of `cat`."""

    paths: tuple[str, ...]
    offsets: Offsets
    since: int | None
    until: int | None
    keys: tuple[str, ...]
    raw_keys: tuple[bytes, ...]
    columns: list[str] | None
    form: Form | None
    isolation: Isolation
    control: bool
    values: Values
    topic: str | None
    limit: int | None
    no_crc: bool
    threads: int
    is_redacted: bool
    redact_key: str | None
    on_error: OnError
    reading: Reading
    is_json: bool
    arrow: str | None
    parquet: str | None
    overwrite: bool
    quiet: bool


@click.command(
    short_help="Records, as JSON lines or into a file.",
    epilog=examples(
        "logsegment cat orders-0 | head",
        "logsegment cat orders-0 --offset 100..200 --columns offset,key,value",
        "logsegment cat orders-0 --since 2026-01-31T12:00:00Z --key user-7",
        "logsegment cat orders-0 --isolation read_committed --parquet orders.parquet",
        "zstdcat old.log.zst | logsegment cat -",
        "logsegment cat __consumer_offsets-0 --values internal",
        "logsegment cat orders-0 --redact-key ours.key",
    ),
)
@paths_argument
@click.option("--offset", "offsets", type=OffsetsType(), default=Offsets(), help="Offsets; the end is exclusive: A..B, A.., ..B, or one.")
@click.option("--since", type=InstantType(), help="Timestamp at or after; ISO 8601 (UTC if it names no zone) or ms since 1970.")
@click.option("--until", type=InstantType(), help="Timestamp before.")
@click.option("--key", "keys", multiple=True, metavar="TEXT", help="The key is this text; may be given more than once.")
@click.option("--key-base64", "raw_keys", multiple=True, type=Base64Type(), help="The key is these bytes.")
@click.option("--columns", type=ColumnsType(), help="Record columns, in this order; see the guide for all names.")
@click.option("--bytes", "form", type=click.Choice(["auto", "utf8", "base64", "hex"]), help="Bytes in JSON; auto: text or {base64}.")
@click.option("--isolation", type=click.Choice(["read_uncommitted", "read_committed"]), default="read_uncommitted", show_default=True)
@click.option("--control", is_flag=True, help="Transaction markers and other control records too.")
@values_option
@click.option("--topic", metavar="NAME", help="The topic, where no directory tells it.")
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="Stop after N records.")
@click.option("--no-crc", is_flag=True, help="Do not compare checksums.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads that decode and write.")
@redact_options
@on_error_option
@reading_options
@json_option("JSON lines, as without any of these.")
@file_options
@quiet_option
@ending
@taking(CatArguments)
def cat(options: CatArguments) -> int:
    """Write the records of every PATH, by default as JSON lines."""
    output = output_of(options.arrow, options.parquet, options.overwrite, is_json=options.is_json)
    if output.kind and options.form:
        raise click.UsageError("--bytes is about JSON; Arrow and Parquet hold the bytes themselves")
    redactor = redactor_of(options.is_redacted, options.redact_key, quiet=options.quiet)
    if redactor and options.form:
        raise click.UsageError("--bytes is about bytes, of which --redact shows none")
    keys = [key.encode("utf-8", "surrogateescape") for key in options.keys] + list(options.raw_keys)
    rows = RowFilter(options.since, options.until, keys or None, options.limit)
    segments = in_range(segments_of(options.paths), options.offsets.start, options.offsets.end)
    ensure_topic(options.topic, (segment.topic for segment in segments))
    columns = _columns(segments, options, is_table=output.kind is not None)
    with ExitStack() as stack:
        sink: RecordSink
        if output.kind:
            ensure_output(output.path, segments, options.overwrite)
            sink = RecordTable(output, stack, columns, rows, redactor)
        else:
            sink = JsonLines(columns, rows, options.form or "auto", options.threads, redactor)
        progress = stack.enter_context(Progress(segments, is_wanted=not options.quiet and sink.leaves_terminal))
        code = _Records(options, sink, progress, redactor).write(segments)
    if output.kind and not options.quiet:
        say(f"wrote {count(sink.written, 'record')} to {output.path}")
    return code


def _columns(segments: Sequence[InputSegment], options: CatArguments, *, is_table: bool) -> list[str]:
    """Return the columns to show; fail if records are to be decoded and no topic is known."""
    control, values = options.control, options.values
    if is_table:
        columns = [*with_values(options.columns or with_control(COLUMNS, control), values)]
    else:
        columns = json_columns(options.columns, control=control, values=values)
    ensure_topics(columns, ((segment.name, segment.topic or options.topic) for segment in segments), control=control)
    say_others(columns, (segment.topic or options.topic for segment in segments), control=control, quiet=options.quiet)
    return columns


@dataclass(frozen=True)
class _Records:
    """Writes the records of segments; `known` has the transactions of each partition."""

    options: CatArguments
    sink: RecordSink
    progress: Progress
    redactor: Redactor | None
    known: dict[str, Transactions] = field(default_factory=dict)

    @cached_property
    def read(self) -> ReadOptions:
        """The options of the read, the same for every segment but for its place."""
        return ReadOptions(
            columns=self.sink.columns,
            check_crc=not self.options.no_crc,
            on_error=self.options.on_error,
            isolation=self.options.isolation,
            control=self.options.control,
            start_offset=self.options.offsets.start,
            end_offset=self.options.offsets.end,
            batch_size=self.sink.batch_size,
            batch_bytes=self.sink.batch_bytes,
            threads=self.options.threads,
            **self.options.reading,
        )

    def write(self, segments: Sequence[InputSegment]) -> int:
        """Write the records until no more are wanted; return the exit code."""
        code = CLEAN
        for segment in segments:
            if self.sink.is_full:
                break
            self.progress.begin(segment)
            try:
                if self._write(segment):
                    code = max(code, FOUND)
            except SegmentKeyError as error:
                if self.options.on_error == "raise":
                    raise
                with self.progress.aside():
                    say(words_of(error))
                code = UNREADABLE
            except RecordBatchError as error:
                raise DamagedInput(segment.name, error, redactor=self.redactor) from None
        return code

    def _write(self, segment: InputSegment) -> bool:
        """Write the records of a segment; return whether errors were skipped."""
        options = self.options
        is_committed = options.isolation == "read_committed"
        with opened(segment, is_read_twice=is_committed, bytes_of=self._wanted_bytes(segment)) as source:
            transactions = self._transactions(segment, source) if is_committed else None
            topic = options.topic if segment.topic is None else segment.topic
            stream = decoded(source, replace(self.read, topic=topic, partition=segment.partition, transactions=transactions))
            with stream:
                self.sink.write(stream, lambda: self.progress.seen(stream.io_stats.bytes_read))
            return tell(stream.findings, segment.name, self.progress, quiet=options.quiet, redactor=self.redactor)

    def _wanted_bytes(self, segment: InputSegment) -> tuple[int, int | None]:
        """Return the range of the batches that may contain the wanted offsets."""
        start, end = self.options.offsets
        if segment.file is None or not segment.is_regular or start is end is None:
            return 0, None
        return SegmentLookup(segment.file).range_to_read(self.read)

    def _transactions(self, segment: InputSegment, source: Any) -> Transactions:
        """Return the transactions of the segment's partition, which are looked for once."""
        partition = whole_partition(segment) if segment.is_regular and not segment.is_of_0_7 else []
        place = segment.directory if len(partition) > 1 else segment.path
        if place not in self.known:
            self.known[place] = self._read_transactions(partition, source)
            stable, end = self.known[place].last_stable_offset, self.options.offsets.end
            if stable is not None and (end is None or stable < end) and not self.options.quiet:
                say(f"{segment.name}: a transaction is open from offset {stable:,}; nothing from there on is committed yet")
        return self.known[place]

    def _read_transactions(self, partition: Sequence[SegmentFile], source: Any) -> Transactions:
        """Read the markers of a partition, or of a source that is not a file."""
        read = self.read
        if partition:
            first = partition[0].base_offset if read.start_offset is None else read.start_offset
            return committed_transactions(partition, replace(read, start_offset=first))
        is_recovering = read.skips_damage and read.check_crc
        return scan_transactions([source], experimental=read.takes_v3, on_error="skip" if is_recovering else "raise")
