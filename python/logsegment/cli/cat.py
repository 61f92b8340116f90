"""`logsegment cat`: records, as JSON lines or into a file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import click

from logsegment._core import RecordBatchError, Transactions, scan_transactions
from logsegment._decode import decode
from logsegment._options import Format, OnError, ReadOptions, Values, with_values
from logsegment.analysis.redaction import Redactor
from logsegment.cli.decoding import ensure_topics, json_columns, say_others, values_option, with_control
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, Damaged, ending, words_of
from logsegment.cli.inputs import InputSegment, ensure_topic, in_range, segments_of, whole_partition
from logsegment.cli.messages import count, say
from logsegment.cli.options import (
    Base64Type,
    ColumnsType,
    InstantType,
    Offsets,
    OffsetsType,
    examples,
    experimental_option,
    file_options,
    format_option,
    json_option,
    on_error_option,
    output_of,
    paths_argument,
    quiet_option,
    registry_option,
)
from logsegment.cli.output.files import ensure_output
from logsegment.cli.output.findings import tell
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.records import Form, JsonLines, RecordSink, RecordTable, Rows
from logsegment.cli.redact import redact_options, redactor_of
from logsegment.cli.sources import opened
from logsegment.log.neighbours import committed_transactions
from logsegment.log.segment import Segment
from logsegment.segment_files.discovery import SegmentFile
from logsegment.tiered import SegmentKeyError

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: What a record is by default in a table.
TABLE_COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]


@dataclass(frozen=True)
class Wanted:
    """What to decode, the same for every segment."""

    offsets: Offsets
    isolation: str
    control: bool
    check_crc: bool
    on_error: str
    threads: int
    format: str
    experimental: bool
    codecs: Registry | None
    topic: str | None
    redactor: Redactor | None

    @property
    def read(self) -> ReadOptions:
        """The options of the read."""
        return ReadOptions(
            start_offset=self.offsets.start,
            end_offset=self.offsets.end,
            check_crc=self.check_crc,
            on_error=cast(OnError, self.on_error),
            format=cast(Format, self.format),
            experimental=self.experimental,
        )


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
@format_option
@experimental_option
@registry_option
@json_option("JSON lines, as without any of these.")
@file_options
@quiet_option
@ending
def cat(
    paths: tuple[str, ...],
    offsets: Offsets,
    since: int | None,
    until: int | None,
    keys: tuple[str, ...],
    raw_keys: tuple[bytes, ...],
    columns: list[str] | None,
    form: Form | None,
    isolation: str,
    control: bool,
    values: Values,
    topic: str | None,
    limit: int | None,
    no_crc: bool,
    threads: int,
    is_redacted: bool,
    redact_key: str | None,
    on_error: str,
    entry_format: str,
    experimental: bool,
    codecs: Registry | None,
    is_json: bool,
    arrow: str | None,
    parquet: str | None,
    overwrite: bool,
    quiet: bool,
) -> int:
    """Write the records of every PATH, by default as JSON lines."""
    output = output_of(arrow, parquet, overwrite, is_json=is_json)
    if output.kind and form:
        raise click.UsageError("--bytes is about JSON; Arrow and Parquet hold the bytes themselves")
    redactor = redactor_of(is_redacted, redact_key, quiet=quiet)
    if redactor and form:
        raise click.UsageError("--bytes is about bytes, of which --redact shows none")
    wanted_keys = [key.encode("utf-8", "surrogateescape") for key in keys] + list(raw_keys)
    rows = Rows(since, until, wanted_keys or None, limit)
    wanted = Wanted(offsets, isolation, control, not no_crc, on_error, threads, entry_format, experimental, codecs, topic, redactor)
    segments = in_range(segments_of(paths), offsets.start, offsets.end)
    ensure_topic(topic, (segment.topic for segment in segments))
    table = [*with_values(columns or with_control(TABLE_COLUMNS, control), values)]
    shown = table if output.kind else json_columns(columns, control=control, values=values)
    ensure_topics(shown, ((segment.name, segment.topic or topic) for segment in segments), control=control)
    say_others(shown, (segment.topic or topic for segment in segments), control=control, quiet=quiet)
    with ExitStack() as stack:
        sink: RecordSink
        if output.kind:
            ensure_output(output.path, segments, overwrite)
            sink = RecordTable(output, stack, shown, rows, redactor)
        else:
            sink = JsonLines(shown, rows, form or "auto", threads, redactor)
        code = _write_all(segments, wanted, sink, stack, quiet)
    if output.kind and not quiet:
        say(f"wrote {count(sink.written, 'record')} to {output.path}")
    return code


def _write_all(segments: Sequence[InputSegment], wanted: Wanted, sink: RecordSink, stack: ExitStack, quiet: bool) -> int:
    known: dict[str, Transactions] = {}
    code = CLEAN
    progress = stack.enter_context(Progress(segments, is_wanted=not quiet and sink.leaves_terminal))
    for segment in segments:
        if sink.is_full:
            break
        progress.begin(segment)
        try:
            if _write(segment, wanted, sink, progress, known, quiet):
                code = max(code, FOUND)
        except SegmentKeyError as error:
            if wanted.on_error == "raise":
                raise
            with progress.aside():
                say(words_of(error))
            code = UNREADABLE
        except RecordBatchError as error:
            raise Damaged(segment.name, error, redactor=wanted.redactor) from None
    return code


def _write(
    segment: InputSegment, wanted: Wanted, sink: RecordSink, progress: Progress, known: dict[str, Transactions], quiet: bool
) -> bool:
    """Write the records of a segment; true when there were errors that were skipped."""
    is_committed = wanted.isolation == "read_committed"
    with opened(segment, is_read_twice=is_committed, bytes_of=_wanted_bytes(segment, wanted)) as source:
        transactions = _transactions(segment, source, known, wanted, quiet) if is_committed else None
        stream = decode(
            source,
            columns=sink.columns,
            check_crc=wanted.check_crc,
            on_error=wanted.on_error,  # type: ignore[arg-type]
            isolation=wanted.isolation,  # type: ignore[arg-type]
            control=wanted.control,
            start_offset=wanted.offsets.start,
            end_offset=wanted.offsets.end,
            batch_size=sink.batch_size,
            batch_bytes=sink.batch_bytes,
            topic=wanted.topic if segment.topic is None else segment.topic,
            partition=segment.partition,
            threads=wanted.threads,
            format=wanted.format,  # type: ignore[arg-type]
            experimental=wanted.experimental,
            codecs=wanted.codecs,
            transactions=transactions,
        )
        with stream:
            sink.write(stream, lambda: progress.seen(stream.io_stats.bytes_read))
        return tell(stream.findings, segment.name, progress, quiet=quiet, redactor=wanted.redactor)


def _wanted_bytes(segment: InputSegment, wanted: Wanted) -> tuple[int, int | None]:
    """Where the batches are that may hold the wanted offsets, as `logsegment.Log.records` and `find` look them up."""
    start, end = wanted.offsets.start, wanted.offsets.end
    if segment.file is None or not segment.is_regular or start is end is None:
        return 0, None
    looked_up = Segment(segment.file)
    return looked_up.range_to_read(start, end, wanted.read)


def _transactions(segment: InputSegment, source: Any, known: dict[str, Transactions], wanted: Wanted, quiet: bool) -> Transactions:
    """Aborted and open transactions of the partition that the segment belongs to, looked for once."""
    partition = whole_partition(segment) if segment.is_regular and not segment.is_of_0_7 else []
    place = segment.directory if len(partition) > 1 else segment.path
    if place not in known:
        known[place] = _learned(partition, source, wanted)
        stable = known[place].last_stable_offset
        if stable is not None and (wanted.offsets.end is None or stable < wanted.offsets.end) and not quiet:
            say(f"{segment.name}: a transaction is open from offset {stable:,}; nothing from there on is committed yet")
    return known[place]


def _learned(partition: Sequence[SegmentFile], source: Any, wanted: Wanted) -> Transactions:
    """What the markers of a partition tell; of what is no file with a place of its own, those of the source."""
    read = wanted.read
    if partition:
        first = partition[0].base_offset if read.start_offset is None else read.start_offset
        return committed_transactions(partition, replace(read, start_offset=first))
    is_recovering = read.skips_damage and read.check_crc
    return scan_transactions([source], experimental=read.takes_v3, on_error="skip" if is_recovering else "raise")
