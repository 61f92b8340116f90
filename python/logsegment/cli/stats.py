"""`logsegment stats`: counts, codecs and ratios, sizes, gaps, times, producers, transactions; as text, JSON or a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import click

from logsegment import Log, Stats
from logsegment import stats as stats_of
from logsegment._options import Isolation, ReadOptions
from logsegment.cli.arguments import VerbOption
from logsegment.cli.codec_types import WhatIfType
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, handle_exit, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.messages import count, printable, say, show, show_json, with_iso_times
from logsegment.cli.options import Iso, Overwrite, Quiet, Reading, bind_args, ensure_iso_of_json, examples
from logsegment.cli.output.files import whole_file
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.stats_page import page
from logsegment.cli.output.stats_text import lines
from logsegment.cli.paths import STDIN, PartitionPaths
from logsegment.cli.plugin_registries import code_after
from logsegment.cli.value_types import ShareType


@dataclass(frozen=True, kw_only=True)
class StatsArguments(PartitionPaths):
    """The arguments of `stats`."""

    html: Annotated[
        str | None, VerbOption("Write an HTML page with plots; it needs no network.", "--html FILE", kind=click.Path(dir_okay=False))
    ]
    overwrite: Overwrite
    no_ratios: Annotated[bool, VerbOption("Decompress nothing, and show no ratios.", "--no-ratios")]
    what_if: Annotated[
        tuple[list[str], ...],
        VerbOption(
            "Recompress in memory, and show the bytes and seconds of each codec; v3 is the format of KIP-931.",
            "--what-if",
            kind=WhatIfType(),
        ),
    ]
    sample: Annotated[float, VerbOption("Recompress only this share of the log.", "--sample PERCENT", default="100%", kind=ShareType())] = (
        1.0
    )
    next_offsets: Annotated[
        bool, VerbOption("Print only the next offset of each partition, as JSON of Spark's startingOffsets.", "--next-offsets")
    ]
    isolation: Annotated[Isolation | None, ReadOptions] = None
    reading: Reading
    iso: Iso
    is_json: Annotated[bool, VerbOption("Print one JSON object.", "--json")]
    quiet: Quiet

    def __post_init__(self) -> None:
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
    if options.next_offsets:
        return _show_next_offsets(options)
    if options.isolation is not None:
        raise click.UsageError("--isolation needs --next-offsets")
    with Progress(quiet=options.quiet, output=options.html, overwrite=options.overwrite) as progress, input_errors():
        counted = stats_of(
            options.sources,
            what_if=[codec for several in options.what_if for codec in several],
            sample=options.sample,
            ratios=not options.no_ratios,
            observer=progress,
            **options.selected,
            **options.reading,
        )
    if options.html is not None:
        title = f"Statistics of {', '.join(map(printable, options.paths))}"
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
    return code_after(options.reading, UNREADABLE if counted.unread else FOUND if errors else CLEAN)


def _show_next_offsets(options: StatsArguments) -> int:
    """Print where a read of the log goes on."""
    if options.is_json or options.html is not None:
        raise click.UsageError("--next-offsets prints JSON of its own, without --json and --html")
    if STDIN in options.paths:
        raise click.UsageError("--next-offsets needs the names of segments, which standard input does not have")
    with input_errors("`logsegment verify` reports the lost ranges"):
        log = Log(list(options.paths), **options.selected)
        show_json(log.next_offsets(isolation=options.isolation or "read_uncommitted", **options.reading))
    return CLEAN


def _json(counted: Stats, *, iso: bool) -> dict[str, Any]:
    values = counted.to_dict()
    if not iso:
        return values
    over_time = with_iso_times(values["byTime"], ("start", "first", "last"))
    return {**with_iso_times(values, ("firstTime", "lastTime")), "byTime": over_time}
