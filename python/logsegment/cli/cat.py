"""`logsegment cat`: records, as JSON lines or into a file."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import FileRead, Transactions, read_records
from logsegment._options import (
    COLUMNS,
    Isolation,
    KeyValues,
    OnError,
    ReadOptions,
    Unreadable,
    Values,
    declared,
    with_values,
)
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, UNREADABLE, handle_exit, input_errors, with_flags, words_of, worst
from logsegment.cli.help import Verb
from logsegment.cli.messages import count, say
from logsegment.cli.number_types import whole
from logsegment.cli.options import (
    Arrow,
    Iso,
    IsRedacted,
    NoCrc,
    Now,
    Output,
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
from logsegment.cli.output.kafka_dump_log import AsTool, dump, ensure_alone
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.records import (
    CsvLines,
    JsonBytes,
    JsonForm,
    JsonLines,
    RecordSink,
    RecordTable,
    json_columns,
    with_control,
)
from logsegment.cli.paths import PartitionPaths
from logsegment.cli.redaction import Redactor
from logsegment.cli.value_types import EVERY_OFFSET, Base64Type, InstantType, Offsets, OffsetsType
from logsegment.cli.values import MetValues, ValueArguments, ensure_columns, value_arguments


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
    as_tool: AsTool = None
    is_json: Annotated[bool, VerbOption("Print JSON lines, the default.", "--json")]
    is_csv: Annotated[bool, VerbOption("Write CSV with a header line: bytes as in JSON, headers as JSON.", "--csv")]
    arrow: Arrow
    parquet: Parquet
    overwrite: Overwrite
    quiet: Quiet

    @property
    def kinds(self) -> tuple[Values, KeyValues]:
        """How values and keys are decoded."""
        return self.decoding.values, self.decoding.key_values


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
        "logsegment cat --as kafka-dump-log orders-0",
        "logsegment cat orders-0 --values auto --schemas _schemas-0",
        "logsegment cat orders-0 --redact-key ours.key",
        "logsegment cat orders-0 --csv --columns offset,timestamp,key,value --iso > orders.csv",
    ),
)
@handle_exit
@bind_args(CatArguments)
def cat(options: CatArguments) -> int:
    """Print the records of every PATH, by default as JSON lines."""
    if options.as_tool is not None:
        ensure_alone()
        return dump(options, reading=options.reading, quiet=options.quiet, is_deep=True)
    output, redactor = _output(options)
    if output.kind:
        columns = [*with_values(options.columns or with_control(COLUMNS, options.control), *options.kinds)]
    else:
        columns = json_columns(options.columns, options.decoding, control=options.control)
    ensure_columns(options.decoding, columns)
    with ExitStack() as stack:
        sink: RecordSink
        if output.kind:
            sink = RecordTable(output, stack, columns, redactor)
        else:
            kind = CsvLines if options.is_csv else JsonLines
            sink = kind(columns, JsonForm(options.form or "auto", options.iso), options.threads, redactor)
        progress = stack.enter_context(CatProgress(options, output, sink, redactor))
        stack.enter_context(input_errors(redactor=redactor))
        records = read_records(
            options.sources,
            columns=sink.columns,
            start_offset=options.offsets.start,
            end_offset=options.offsets.end,
            start_timestamp=options.since,
            end_timestamp=options.until,
            key=[key.encode("utf-8", "surrogateescape") for key in options.keys] + list(options.raw_keys) or None,
            limit=options.limit,
            tail=options.tail,
            isolation=options.isolation,
            control=options.control,
            check_crc=not options.no_crc,
            on_error=options.on_error,
            unreadable=options.unreadable,
            batch_bytes=sink.batch_bytes,
            threads=options.threads,
            observer=progress,
            **value_arguments(options),
            **options.selected,
            **options.reading,
        )
        for note in () if options.quiet else records.notes:
            say(with_flags(note))
        sink.open(records.schema)
        sink.write(records)
    if not options.quiet:
        for line in progress.met.lines(detects="auto" in options.kinds):
            say(line)
        if output.kind:
            say(f"wrote {count(sink.written, 'record')} to {output.path}")
    return progress.code


class CatProgress(Progress):
    """Prints the findings of each file, and where records are not committed yet.

    Attributes:
        code: the exit code of the findings.
        met: formats, framings and unknown schemas of the values.
    """

    def __init__(self, options: CatArguments, output: Output, sink: RecordSink, redactor: Redactor | None) -> None:
        path = output.path if output.kind else None
        super().__init__(quiet=options.quiet, has_bar=sink.leaves_terminal, output=path, overwrite=options.overwrite)
        self._redactor = redactor
        self._end = options.offsets.end
        self._known: list[Transactions] = []
        self.code = CLEAN
        self.met = MetValues()

    def failed(self, path: str, error: Exception) -> bool:
        """Print the error of a file whose key is missing, and go on."""
        with self.aside():
            say(words_of(error))
        self.code = UNREADABLE
        return True

    def done(self, path: str, result: FileRead) -> None:
        """Print the findings of a part of a file."""
        self.met.add(result.stream, result.topic or path)
        self._add_known(path, result.transactions)
        found = report(result.findings, path, self, quiet=self._is_quiet, redactor=self._redactor)
        self.code = worst(self.code, found)

    def _add_known(self, path: str, known: Transactions | None) -> None:
        """Print once for each partition from where on nothing is committed."""
        if known is None or any(known is other for other in self._known):
            return
        self._known.append(known)
        stable = known.last_stable_offset
        if stable is not None and (self._end is None or stable < self._end) and not self._is_quiet:
            say(f"{path}: a transaction is open from offset {stable:,}; no later record is committed yet")


def _output(options: CatArguments) -> tuple[Output, Redactor | None]:
    """Return the output, and what replaces payloads in it.

    Raises:
        click.UsageError: for options that contradict each other.
    """
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
    return output, redactor
