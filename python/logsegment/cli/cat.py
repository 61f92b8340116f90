"""`logsegment cat`: records, as JSON lines or into a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Annotated, Any

import click

from logsegment._core import RecordBatchError, RecordStream, SegmentKeyError, Transactions, UpcomingFiles, scan_transactions
from logsegment._decode import decoded
from logsegment._options import (
    COLUMNS,
    Isolation,
    OnError,
    ReadOptions,
    Unreadable,
    declared,
    with_values,
)
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, UNREADABLE, DamagedInput, handle_exit, words_of, worst
from logsegment.cli.help import Verb
from logsegment.cli.inputs import begun, segments_of
from logsegment.cli.messages import count, say
from logsegment.cli.number_types import whole
from logsegment.cli.options import (
    Arrow,
    Iso,
    IsRedacted,
    NoCrc,
    Now,
    Overwrite,
    Parquet,
    Quiet,
    Reading,
    RedactKey,
    bind_args,
    ensure_times,
    examples,
    output_of,
    redactor_of,
)
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.records import (
    CsvLines,
    JsonBytes,
    JsonForm,
    JsonLines,
    RecordSink,
    RecordTable,
    RecordTarget,
    RowFilter,
    Tail,
    ensure_topics,
    json_columns,
    say_others,
    with_control,
)
from logsegment.cli.paths import PartitionPaths
from logsegment.cli.redaction import Redactor
from logsegment.cli.value_types import EVERY_OFFSET, Base64Type, InstantType, Offsets, OffsetsType
from logsegment.cli.values import MetValues, ValueArguments, typed
from logsegment.inputs.input_segment import InputSegment, in_range, opened, partitions
from logsegment.partition.reader import Part, PartitionReader


@dataclass(frozen=True, kw_only=True)
class CatArguments(PartitionPaths):
    """The arguments of `cat`."""

    offsets: Annotated[Offsets, VerbOption("Keep offsets A..B (B exclusive), A.., ..B, or one.", "--offset", kind=OffsetsType())] = (
        EVERY_OFFSET
    )
    since: Annotated[
        int | None,
        VerbOption("Keep records at or after TIME: ISO 8601 (UTC without a zone), ms since 1970, or -2h.", "--since", kind=InstantType()),
    ]
    until: Annotated[int | None, VerbOption("Keep records before TIME.", "--until", kind=InstantType())]
    now: Now
    keys: Annotated[tuple[str, ...], VerbOption(declared(ReadOptions)["key"].shown.help, "--key TEXT")]
    raw_keys: Annotated[
        tuple[bytes, ...], VerbOption("Keep records with these bytes as the key; repeatable.", "--key-base64", kind=Base64Type())
    ]
    columns: Annotated[list[str] | None, ReadOptions]
    form: JsonBytes
    isolation: Annotated[Isolation, ReadOptions]
    control: Annotated[bool, ReadOptions]
    decoding: ValueArguments
    limit: Annotated[int | None, VerbOption("Stop after N records.", "-n --limit N", kind=whole(0))]
    tail: Annotated[
        int | None,
        VerbOption("Keep the last N matching records of each partition, read from the end of the log.", "--tail N", kind=whole(0)),
    ]
    no_crc: NoCrc
    threads: Annotated[int, ReadOptions]
    iso: Iso
    is_redacted: IsRedacted
    redact_key: RedactKey
    on_error: Annotated[OnError, ReadOptions]
    unreadable: Annotated[Unreadable, ReadOptions]
    reading: Reading
    is_json: Annotated[bool, VerbOption("Print JSON lines, the default.", "--json")]
    is_csv: Annotated[bool, VerbOption("Write CSV with a header line: bytes as in JSON, headers as JSON.", "--csv")]
    arrow: Arrow
    parquet: Parquet
    overwrite: Overwrite
    quiet: Quiet


@click.command(
    cls=Verb,
    short_help="Print records as JSON lines, or write them to a file.",
    epilog=examples(
        "logsegment cat orders-0 | head",
        "logsegment cat orders-0 --offset 100..200 --columns offset,key,value",
        "logsegment cat orders-0 --tail 10",
        "logsegment cat orders-0 --since 2026-01-31T12:00:00Z --key user-7",
        "logsegment cat orders-0 --isolation read_committed --parquet orders.parquet",
        "zstdcat old.log.zst | logsegment cat -",
        "logsegment cat __consumer_offsets-0 --values internal",
        "logsegment cat orders-0 --values auto --schemas _schemas-0",
        "logsegment cat orders-0 --redact-key ours.key",
        "logsegment cat orders-0 --csv --columns offset,timestamp,key,value --iso > orders.csv",
    ),
)
@handle_exit
@bind_args(CatArguments)
def cat(options: CatArguments) -> int:
    """Print the records of every PATH, by default as JSON lines."""
    output = output_of(options.arrow, options.parquet, options.overwrite, is_json=options.is_json)
    if options.is_csv and (output.kind or options.is_json):
        raise click.UsageError("only one of --csv, --json, --arrow and --parquet can be given")
    if output.kind and options.form:
        raise click.UsageError("--bytes needs JSON output; Arrow and Parquet contain the bytes themselves")
    if output.kind and options.iso:
        raise click.UsageError("--iso needs JSON output; Arrow and Parquet contain timestamps")
    ensure_times(options.since, options.until)
    redactor = redactor_of(options.is_redacted, options.redact_key, quiet=options.quiet)
    if redactor and options.form:
        raise click.UsageError("--bytes and --redact cannot be combined: redacted records have no bytes")
    if options.tail is not None and options.limit is not None:
        raise click.UsageError("only one of --limit (first records) and --tail (last records) can be given")
    keys = [key.encode("utf-8", "surrogateescape") for key in options.keys] + list(options.raw_keys)
    rows = RowFilter(options.since, options.until, keys or None, options.limit)
    segments = in_range(segments_of(options, quiet=options.quiet), options.offsets.start, options.offsets.end)
    columns = _columns(segments, options, is_table=output.kind is not None)
    places = [(segment.topic, segment.path if segment.file is None else segment.file.source()) for segment in segments]
    begun(Progress(quiet=True, output=output.path if output.kind else None, overwrite=options.overwrite), segments)
    with ExitStack() as stack:
        sink: RecordSink[Any]
        if output.kind:
            sink = RecordTable(output, stack, columns, rows, redactor)
        else:
            kind = CsvLines if options.is_csv else JsonLines
            sink = kind(columns, rows, JsonForm(options.form or "auto", options.iso), options.threads, redactor)
        progress = begun(stack.enter_context(Progress(quiet=options.quiet, has_bar=sink.leaves_terminal)), segments)
        code = _Records(options, sink, progress, redactor, typed(options, sink.columns, places)).write(segments)
    if output.kind and not options.quiet:
        say(f"wrote {count(sink.written, 'record')} to {output.path}")
    return code


def _columns(segments: Sequence[InputSegment], options: CatArguments, *, is_table: bool) -> list[str]:
    """Return the columns to show; fail if records are to be decoded and no topic is known."""
    control, decoding = options.control, options.decoding
    if is_table:
        columns = [*with_values(options.columns or with_control(COLUMNS, control), decoding.values, decoding.key_values)]
    else:
        columns = json_columns(options.columns, decoding, control=control)
    ensure_topics(columns, ((segment.name, segment.topic) for segment in segments), control=control)
    say_others(columns, (segment.topic for segment in segments), control=control, quiet=options.quiet)
    return columns


#: Segments that the core may open before they are read.
MOST_AHEAD = 4
#: The bytes of a segment that --tail reads first.
TAIL_BYTES = 1 << 20


@dataclass(frozen=True)
class _Records:
    """Writes the records of segments; `known` has the transactions of each partition."""

    options: CatArguments
    sink: RecordSink[Any]
    progress: Progress
    redactor: Redactor | None
    typed: ReadOptions
    known: dict[str, Transactions] = field(default_factory=dict)
    met: MetValues = field(default_factory=MetValues)
    upcoming: UpcomingFiles = field(default_factory=UpcomingFiles)

    @cached_property
    def read(self) -> ReadOptions:
        """The options of the read, the same for every segment but for its place."""
        return replace(
            self.typed,
            check_crc=not self.options.no_crc,
            on_error=self.options.on_error,
            unreadable=self.options.unreadable,
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
        # A file has its columns even if no segment is read.
        with decoded(b"", self.typed) as nothing:
            self.sink.write(nothing, lambda: None)
        if self.options.tail is None:
            code = self._read(segments, self.sink)
        else:
            code = CLEAN
            for partition in partitions(segments):
                tail = Tail(self.sink, self.options.tail)
                code = worst(code, self._read(partition[::-1], tail))
                tail.finish()
        decoding = self.options.decoding
        if not self.options.quiet:
            for line in self.met.lines(detects="auto" in (decoding.values, decoding.key_values)):
                say(line)
        return code

    def _read(self, segments: Sequence[InputSegment], target: RecordTarget) -> int:
        """Read segments in this order until the target is full; return the exit code."""
        code = CLEAN
        for number, segment in enumerate(segments):
            if target.is_full:
                break
            self.progress.begin(segment.name, segment.size)
            # A reader of lines that looks at the first segment may want no more.
            if self._reads_all and (number > 0 or isinstance(self.sink, RecordTable)):
                self._expect(segments[number : number + MOST_AHEAD])
            try:
                code = worst(code, self._read_one(segment, target))
            except SegmentKeyError as error:
                if self.options.on_error == "raise":
                    raise
                with self.progress.aside():
                    say(words_of(error))
                code = UNREADABLE
            except RecordBatchError as error:
                raise DamagedInput(segment.name, error, redactor=self.redactor) from None
        return code

    @cached_property
    def _reads_all(self) -> bool:
        """Every byte of the segments is read."""
        options = self.options
        bounds = options.offsets.start, options.offsets.end, options.since, options.until, options.limit, options.tail
        return all(bound is None for bound in bounds)

    def _expect(self, segments: Sequence[InputSegment]) -> None:
        """Let the core open segments of stores while others are read."""
        files = [segment.file.source() for segment in segments if segment.file is not None and segment.is_regular and segment.part is None]
        self.upcoming.expect(files)

    def _read_one(self, segment: InputSegment, target: RecordTarget) -> int:
        """Read the parts of a segment until the target is full; return the exit code of what was skipped."""
        code = CLEAN
        with self._opened(segment) as parts:
            for part in parts:
                with decoded(*part, upcoming=self.upcoming) as stream:
                    target.write(stream, partial(self._seen, stream))
                    self.met.add(stream, segment.topic or segment.name)
                    found = report(stream.findings, segment.name, self.progress, quiet=self.options.quiet, redactor=self.redactor)
                    code = worst(code, found)
                if target.is_full:
                    break
        return code

    def _seen(self, stream: RecordStream) -> None:
        self.progress.read(stream.io_stats.bytes_read)

    @contextmanager
    def _opened(self, segment: InputSegment) -> Iterator[Iterable[tuple[Any, ReadOptions]]]:
        """Open the wanted bytes of a segment; yield them with the options of their decode, for --tail in pieces from the last one on."""
        # A directory has the segments of one partition, but those of Kafka 0.7 have no transactions.
        is_alone = segment.base_offset is None or segment.is_of_0_7
        place = segment.path if is_alone else segment.directory
        read = replace(self.read, topic=segment.topic, partition=segment.partition, transactions=self.known.get(place))
        if segment.file is not None and segment.is_regular:
            # Headers show which batches end before --since; the others are filtered by record.
            reader = PartitionReader.of([segment.file], read, self.options.since)
            self._add_known(place, segment.name, reader.transactions)
            yield [reader.part()] if self.options.tail is None else parts_from_end(reader, TAIL_BYTES)
            return
        is_committed = read.isolation == "read_committed"
        with opened(segment, is_read_twice=is_committed) as source:
            known = scan_transactions([source], read) if is_committed else None
            self._add_known(place, segment.name, known)
            yield [(source, replace(read, transactions=known))]

    def _add_known(self, place: str, name: str, known: Transactions | None) -> None:
        """Remember the transactions of a partition, and say once from where on nothing is committed."""
        if known is None or place in self.known:
            return
        self.known[place] = known
        stable, end = known.last_stable_offset, self.options.offsets.end
        if stable is not None and (end is None or stable < end) and not self.options.quiet:
            say(f"{name}: a transaction is open from offset {stable:,}; no later record is committed yet")


def parts_from_end(reader: PartitionReader, step: int) -> Iterator[Part]:
    """Yield the bytes of the only segment of a reader from the last ones to the first ones, each with its options.

    Args:
        reader: the reader.
        step: about the bytes of the last part; each part is about twice as long as the one after it.

    Raises:
        OSError: if a file cannot be read.
    """
    piece = reader.piece()
    while (cut := piece.cut_before_end(step)) is not None:
        piece, last = cut
        yield last.part(reader.transactions)
        step *= 2
    yield piece.part(reader.transactions)
