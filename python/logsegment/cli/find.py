"""`logsegment find`: the places of records, by offset, time, key and header."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Annotated, Any

import click

from logsegment._core import RecordBatchError
from logsegment._options import OnError, ReadOptions, Unreadable
from logsegment.analysis.find import Conditions, Counters, RecordPlace, Search
from logsegment.analysis.redaction import Redactor
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, UNREADABLE, UNREADABLES, DamagedInput, handle_exit, words_of
from logsegment.cli.help import Verb
from logsegment.cli.inputs import segments_of
from logsegment.cli.messages import count, instant, say, show_json, show_wrapped, with_iso_times
from logsegment.cli.number_types import whole
from logsegment.cli.options import (
    HidesMessages,
    Iso,
    Now,
    ParamType,
    Quiet,
    Reading,
    bind_args,
    ensure_iso_of_json,
    ensure_times,
    examples,
    withholding,
)
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import PartitionPaths
from logsegment.cli.value_types import Base64Type, InstantType, Offsets, OffsetsType
from logsegment.inputs.input_segment import InputSegment, found_of

#: As grep has it.
NOT_FOUND = 1


class HeaderType(ParamType):
    """`NAME`, or `NAME=VALUE`."""

    name = "NAME[=VALUE]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, bytes | None]:
        """Parse the text."""
        if isinstance(value, tuple):
            return value
        name, equals, wanted = value.partition("=")
        return name, wanted.encode("utf-8", "surrogateescape") if equals else None


@dataclass(frozen=True, kw_only=True)
class FindArguments(PartitionPaths):
    """The arguments of `find`."""

    offsets: Annotated[
        Offsets | None,
        VerbOption("Find the record of this offset; or A..B (B exclusive), A.., ..B.", "--offset", kind=OffsetsType()),
    ]
    at: Annotated[
        int | None,
        VerbOption("Find each partition's first record at or after TIME: ISO 8601, or ms since 1970.", "--time", kind=InstantType()),
    ]
    since: Annotated[int | None, VerbOption("Keep records at or after TIME; also -2h.", "--since", kind=InstantType())]
    until: Annotated[int | None, VerbOption("Keep records before TIME, wherever they are.", "--until", kind=InstantType())]
    now: Now
    keys: Annotated[tuple[str, ...], VerbOption("Find records with this text as the key; repeatable.", "--key TEXT")]
    raw_keys: Annotated[
        tuple[bytes, ...], VerbOption("Find records with these bytes as the key; repeatable.", "--key-base64", kind=Base64Type())
    ]
    headers: Annotated[
        tuple[tuple[str, bytes | None], ...],
        VerbOption("Find records with this header; several must all match.", "--header", kind=HeaderType()),
    ]
    limit: Annotated[int | None, VerbOption("Stop after N records.", "-n --limit N", kind=whole(1))]
    is_redacted: HidesMessages
    on_error: Annotated[OnError, ReadOptions]
    unreadable: Annotated[Unreadable, ReadOptions]
    reading: Reading
    iso: Iso
    is_json: Annotated[bool, VerbOption("Print JSON lines.", "--json")]
    quiet: Quiet


@click.command(
    cls=Verb,
    short_help="Find records, with their segment and batch, by offset, time, key or header.",
    epilog=examples(
        "logsegment find /var/lib/kafka/data --offset 1234567",
        "logsegment find orders-0 --time 2026-01-31T12:00:00Z",
        "logsegment find orders-0 --since 2026-01-31T12:00:00Z --key user-7 --json",
        "logsegment find orders-0 --header trace-id=4bf92f35 --limit 1",
    ),
)
@handle_exit
@bind_args(FindArguments)
def find(options: FindArguments) -> int:
    """Find the records that meet all conditions, with partition, segment and batch.

    The indexes find offsets and times. For keys and headers, all batches in the range are read. Stderr shows how much was read.

    Exit codes: 0 a record was found, 1 no record was found, 2 usage or unreadable input.
    """
    ensure_iso_of_json(options.iso, options.is_json)
    begun = time.perf_counter()
    ensure_times(options.since, options.until)
    bounds = options.offsets or Offsets()
    wanted_keys = [key.encode("utf-8", "surrogateescape") for key in options.keys] + list(options.raw_keys)
    wanted = Conditions(bounds.start, bounds.end, options.at, options.since, options.until, wanted_keys or None, options.headers)
    _ensure_wanted(wanted)
    segments = segments_of(options, quiet=options.quiet)
    for segment in segments:
        if segment.file is None or not segment.is_regular:
            raise click.UsageError(f"find reads by position; {segment.name} can be read only once; `logsegment cat` reads it")
    search = Search(wanted, ReadOptions(on_error=options.on_error, unreadable=options.unreadable, **options.reading))
    lines = Lines(segments, options)
    is_whole = _search(search, segments, lines, withholding(options.is_redacted), quiet=options.quiet)
    if not options.quiet:
        say(counted(search.counters, lines.written, time.perf_counter() - begun))
    return UNREADABLE if not is_whole else CLEAN if lines.written else NOT_FOUND


class Lines:
    """Writes places, at most `limit` of them."""

    def __init__(self, segments: list[InputSegment], options: FindArguments) -> None:
        self.names = {segment.path: segment.name for segment in segments}
        self.written = 0
        self._limit = options.limit
        self._show: Callable[[RecordPlace, str], None] = partial(show_object, iso=options.iso) if options.is_json else show_text

    @property
    def is_full(self) -> bool:
        """No more are wanted."""
        return self._limit is not None and self.written >= self._limit

    def write(self, place: RecordPlace) -> None:
        """Write one."""
        self._show(place, self.names[place.path])
        self.written += 1


def show_text(place: RecordPlace, name: str) -> None:
    """Write a place for people."""
    what = f"{place.control_type} marker" if place.control_type else f"record {place.index_in_entry:,}"
    batch = f"the batch at byte {place.entry_position:,} (base offset {place.batch_base_offset:,})"
    show_wrapped(f"{name}: offset {place.offset:,}, {instant(place.timestamp)}, {what} of {batch}")


def show_object(place: RecordPlace, name: str, *, iso: bool = False) -> None:
    """Write a place as an object, with the names that `cat` and `batches` have."""
    row = place.to_dict()
    del row["path"]
    show_json(with_iso_times({"file": name} | row, ["timestamp"] if iso else ()))


def counted(counters: Counters, found: int, seconds: float) -> str:
    """Return a line about what was found and what was read for it."""
    where = f"{counters.segments_read:,} of {count(counters.segments, 'segment')} in {count(counters.partitions, 'partition')}"
    read = f"read {count(counters.batch_bytes, 'byte')} of batches and {counters.index_bytes:,} of indexes"
    walked = f", walked {count(counters.bytes_walked, 'byte')} by headers" if counters.bytes_walked else ""
    return f"{count(found, 'place')}; searched {where}, {read}{walked}, in {seconds * 1000:,.1f} ms"


def _ensure_wanted(wanted: Conditions) -> None:
    if wanted == Conditions():
        raise click.UsageError("no condition; pass --offset, --time, --since, --until, --key or --header")
    if wanted.at is not None and wanted != Conditions(at=wanted.at):
        raise click.UsageError("--time cannot be combined with other conditions; pass --since")


def _search(search: Search, segments: list[InputSegment], lines: Lines, redactor: Redactor | None, *, quiet: bool) -> bool:
    """Write the places of every partition; return False if an input could not be read. Damage of one does not hide the others."""
    is_whole = True
    for _, files in found_of(segments).by_partition():
        try:
            with closing(search.places(files)) as places:
                for place in places:
                    lines.write(place)
                    if lines.is_full:
                        break
        except BrokenPipeError:
            raise
        except UNREADABLES as error:
            say(words_of(error))
            is_whole = False
        except RecordBatchError as error:
            damaged = DamagedInput(lines.names[search.path], error, redactor=redactor)
            say(str(damaged))
            if damaged.advice:
                say(damaged.advice)
            is_whole = False
        if lines.is_full:
            break
    with Progress(segments, is_wanted=False) as progress:
        for path, finding in search.misnamed:
            report([finding], lines.names[path], progress, quiet=quiet, redactor=redactor)
        skipped = [
            report([finding for _, finding in found], lines.names[path], progress, quiet=quiet, redactor=redactor)
            for path, found in groupby(search.findings, lambda found: found[0])
        ]
    return is_whole and not any(skipped)
