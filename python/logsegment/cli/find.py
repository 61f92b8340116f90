"""`logsegment find`: the places of records, by offset, time, key and header."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import click

from logsegment import Finding, Places, RecordBatchError, RecordPlace
from logsegment import find as find_records
from logsegment._options import OnError, ReadOptions, Unreadable
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, UNREADABLE, DamagedInput, handle_exit, input_errors, words_of
from logsegment.cli.help import Verb
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
from logsegment.cli.value_types import EVERY_OFFSET, Base64Type, InstantType, Offsets, OffsetsType

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


#: The rule of a segment with the name of another one.
MISNAMED = "SEG-1"


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
    conditions = _conditions(options)
    with FindProgress(options) as progress, input_errors(redactor=progress.redactor):
        places = find_records(
            options.sources,
            **conditions,
            limit=options.limit,
            on_error=options.on_error,
            unreadable=options.unreadable,
            observer=progress,
            **options.selected,
            **options.reading,
        )
        show: Callable[[RecordPlace], None] = partial(show_object, iso=options.iso) if options.is_json else show_text
        written = 0
        for place in places.once():
            show(place)
            written += 1
    if not options.quiet:
        say(counted(places, written, time.perf_counter() - begun))
    return UNREADABLE if not progress.is_whole else CLEAN if written else NOT_FOUND


class FindProgress(Progress):
    """Prints the errors and the findings of a search.

    Attributes:
        is_whole: everything was read.
        redactor: hides messages.
    """

    def __init__(self, options: FindArguments) -> None:
        super().__init__(quiet=options.quiet, has_bar=False)
        self.is_whole = True
        self.redactor = withholding(options.is_redacted)

    def failed(self, path: str, error: Exception) -> bool:
        """Print the error and go on: damage of one partition does not hide the others."""
        self.is_whole = False
        damaged = DamagedInput(path, error, redactor=self.redactor) if isinstance(error, RecordBatchError) else None
        say(words_of(error) if damaged is None else str(damaged))
        if damaged is not None and damaged.advice:
            say(damaged.advice)
        return True

    def done(self, path: str, findings: Sequence[Finding]) -> None:
        """Print the findings of a file."""
        code = report(findings, path, self, quiet=self._is_quiet, redactor=self.redactor)
        # The records of a segment with the name of another one are found all the same.
        self.is_whole &= not code or all(finding.rule == MISNAMED for finding in findings)


def show_text(place: RecordPlace) -> None:
    """Write a place for people."""
    what = f"{place.control_type} marker" if place.control_type else f"record {place.index_in_entry:,}"
    batch = f"the batch at byte {place.entry_position:,} (base offset {place.batch_base_offset:,})"
    show_wrapped(f"{place.to_dict()['path']}: offset {place.offset:,}, {instant(place.timestamp)}, {what} of {batch}")


def show_object(place: RecordPlace, *, iso: bool = False) -> None:
    """Write a place as an object, with the names that `cat` and `batches` have."""
    row = place.to_dict()
    show_json(with_iso_times({"file": row.pop("path")} | row, ["timestamp"] if iso else ()))


def counted(places: Places, found: int, seconds: float) -> str:
    """Return a line about what was found and what was read for it."""
    counters = places.counters
    where = f"{counters.segments_read:,} of {count(counters.segments, 'segment')} in {count(counters.partitions, 'partition')}"
    read = f"read {count(counters.batch_bytes, 'byte')} of batches and {counters.index_bytes:,} of indexes"
    walked = f", walked {count(counters.bytes_walked, 'byte')} by headers" if counters.bytes_walked else ""
    return f"{count(found, 'place')}; searched {where}, {read}{walked}, in {seconds * 1000:,.1f} ms"


def _conditions(options: FindArguments) -> dict[str, Any]:
    """Return the conditions as `logsegment.find` takes them.

    Raises:
        click.UsageError: if there are none, or --time is not alone.
    """
    keys = [key.encode("utf-8", "surrogateescape") for key in options.keys] + list(options.raw_keys)
    bounds = options.offsets or EVERY_OFFSET
    found = {
        "start_offset": bounds.start,
        "end_offset": bounds.end,
        "timestamp": options.at,
        "start_timestamp": options.since,
        "end_timestamp": options.until,
        "key": keys or None,
        "header": list(options.headers) or None,
    }
    given = {name for name, value in found.items() if value is not None}
    if not given:
        raise click.UsageError("no condition; pass --offset, --time, --since, --until, --key or --header")
    if "timestamp" in given and len(given) > 1:
        raise click.UsageError("--time cannot be combined with other conditions; pass --since")
    return found
