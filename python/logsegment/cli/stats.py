"""`logsegment stats`: counts, codecs and ratios, sizes, gaps, times, producers, transactions; as text, JSON or a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import click

from logsegment._core import Finding, UnsupportedError
from logsegment._places import redacted_uri
from logsegment.analysis.counted_part import counted_part
from logsegment.analysis.stats import Collector, Stats, WhatIf
from logsegment.cli.arguments import VerbOption
from logsegment.cli.codec_types import WhatIfType
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, DamagedInput, handle_exit
from logsegment.cli.help import Verb
from logsegment.cli.inputs import ensure_segments, segments_of
from logsegment.cli.messages import count, printable, say, show, show_json, with_iso_times
from logsegment.cli.options import Iso, Overwrite, Quiet, Reading, bind_args, ensure_iso_of_json, examples
from logsegment.cli.output.files import ensure_output, whole_file
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.stats_page import page
from logsegment.cli.output.stats_text import lines
from logsegment.cli.paths import PartitionPaths
from logsegment.cli.plugin_registries import code_after
from logsegment.cli.value_types import ShareType
from logsegment.inputs.input_segment import InputSegment, in_range, opened


@dataclass(frozen=True, kw_only=True)
class StatsArguments(PartitionPaths):
    """The arguments of `stats`."""

    html: Annotated[
        str | None, VerbOption("Write an HTML page with plots; it needs no network.", "--html FILE", kind=click.Path(dir_okay=False))
    ]
    overwrite: Overwrite
    no_ratios: Annotated[bool, VerbOption("Decompress nothing, and show no ratios.", "--no-ratios")]
    what_if: Annotated[
        tuple[list[WhatIf], ...],
        VerbOption(
            "Recompress in memory, and show the bytes and seconds of each codec; v3 is the format of KIP-931.",
            "--what-if",
            kind=WhatIfType(),
        ),
    ]
    sample: Annotated[float, VerbOption("Recompress only this share of the log.", "--sample PERCENT", default="100%", kind=ShareType())] = (
        1.0
    )
    reading: Reading
    iso: Iso
    is_json: Annotated[bool, VerbOption("Print one JSON object.", "--json")]
    quiet: Quiet

    def __post_init__(self) -> None:
        super().__post_init__()
        WhatIfType.ensure([name for several in self.what_if for name in several], self.reading["codecs"])


@click.command(
    cls=Verb,
    short_help="Show counts, codecs and ratios, sizes, gaps, producers and transactions.",
    epilog=examples(
        "logsegment stats orders-0",
        "logsegment stats --html orders.html orders-0",
        "logsegment stats --json /var/lib/kafka/data | jq .codecs",
        "logsegment stats --what-if zstd:3 --what-if lz4 --sample 5% orders-0",
    ),
)
@handle_exit
@bind_args(StatsArguments)
def stats(options: StatsArguments) -> int:
    """Count batches, records and bytes of every PATH from the batch headers, past damage.

    Only headers are read, except that codec ratios decompress some batches of each codec, and --what-if recompresses everything.
    """
    if options.html is not None and options.is_json:
        raise click.UsageError("only one of --json and --html can be given")
    ensure_iso_of_json(options.iso, options.is_json)
    noted: list[Finding] = []
    segments = in_range(segments_of(options, noted=noted, quiet=options.quiet), None, None)
    if options.html is not None:
        ensure_output(options.html, segments, options.overwrite)
    ensure_segments(segments, options.reading)
    collector = _collector(options)
    collector.partition_findings += noted
    with Progress(segments, is_wanted=not options.quiet) as progress:
        for segment in segments:
            progress.begin(segment.name, segment.size)
            _collect(collector, segment, options.reading, is_read_twice=bool(options.what_if))
    counted = collector.stats
    if options.html is not None:
        title = f"Statistics of {', '.join(printable(redacted_uri(path)) for path in options.paths)}"
        with whole_file(options.html, options.overwrite) as out:
            out.write(page(counted, title).encode(errors="backslashreplace"))
        if not options.quiet:
            say(f"wrote {options.html}")
    elif options.is_json:
        show_json(_json(counted, iso=options.iso))
    else:
        for line in lines(counted):
            show(line)
    errors = counted.damage_counts.get("error", 0)
    if options.html is not None and errors:
        say(f"{count(errors, 'finding')} of severity error, shown in the page; `logsegment verify` lists all")
    return code_after(options.reading, UNREADABLE if collector.unread else FOUND if errors else CLEAN)


def _json(counted: Stats, *, iso: bool) -> dict[str, Any]:
    values = counted.to_dict()
    if not iso:
        return values
    over_time = with_iso_times(values["byTime"], ("start", "first", "last"))
    return {**with_iso_times(values, ("firstTime", "lastTime")), "byTime": over_time}


def _collector(options: StatsArguments) -> Collector:
    if options.sample < 1 and not options.what_if:
        raise click.UsageError("--sample needs --what-if")
    what_if = [codec for several in options.what_if for codec in several]
    try:
        return Collector(is_sampling=not options.no_ratios, what_if=what_if, sample=options.sample, codecs=options.reading["codecs"])
    except ValueError as error:
        raise click.UsageError(f"--what-if: {error}") from None


def _collect(collector: Collector, segment: InputSegment, reading: Reading, *, is_read_twice: bool) -> None:
    if segment.file is not None and segment.file.log_start is not None:
        part = counted_part(segment.file)
        if part is not None:
            _add(collector, part, segment, reading, is_repeatable=True)
        return
    with opened(segment, is_read_twice=is_read_twice) as source:
        _add(collector, source, segment, reading, is_repeatable=segment.is_regular or is_read_twice)


def _add(collector: Collector, source: Any, segment: InputSegment, reading: Reading, *, is_repeatable: bool) -> None:
    place = segment.name if segment.file is None else redacted_uri(segment.place), segment.topic, segment.partition
    log_start = None if segment.file is None else segment.file.log_start
    try:
        collector.add(source, segment.name, place, is_repeatable=is_repeatable, log_start=log_start, **reading)
    except UnsupportedError as error:
        raise DamagedInput(segment.name, error) from error
