"""`logsegment stats`: counts, codecs and ratios, sizes, gaps, times, producers, transactions; as text, JSON or a page."""

from __future__ import annotations

import json
import sys

import click

from logsegment.cli.ending import CLEAN, FOUND, ending
from logsegment.cli.files import WholeFile, ensure_output
from logsegment.cli.messages import printable, say
from logsegment.cli.options import examples, format_option, json_option, paths_argument, quiet_option, registry_option
from logsegment.cli.paths import Segment, segments_of
from logsegment.cli.progress import Progress
from logsegment.cli.sources import opened
from logsegment.counting import Collector, Stats
from logsegment.counting.page import page
from logsegment.counting.text import lines
from logsegment.plugins import Registry


@click.command(
    short_help="Counts, codecs and ratios, sizes, gaps, producers, transactions.",
    epilog=examples(
        "logsegment stats orders-0",
        "logsegment stats --html orders.html orders-0",
        "logsegment stats --json /var/lib/kafka/data | jq .codecs",
    ),
)
@paths_argument
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write a page with plots; it needs no network.")
@click.option("--no-ratios", is_flag=True, help="Unpack nothing: no ratios of the codecs.")
@format_option
@registry_option
@json_option("One JSON object.")
@quiet_option
@ending
def stats(
    paths: tuple[str, ...],
    html: str | None,
    no_ratios: bool,
    entry_format: str,
    codecs: Registry | None,
    is_json: bool,
    quiet: bool,
) -> int:
    """Tell what the headers of all batches of every PATH tell, past every damage.

    Headers are read and nothing else, but for the ratios of the codecs, for which some batches of each are unpacked.
    """
    if html is not None and is_json:
        raise click.UsageError("only one of --json and --html can be given")
    segments = segments_of(paths)
    if html is not None:
        ensure_output(html, segments)
    collector = Collector(is_sampling=not no_ratios)
    with Progress(segments, is_wanted=not quiet) as progress:
        for segment in segments:
            progress.begin(segment)
            _collect(collector, segment, entry_format, codecs)
    _write(collector.stats, [printable(path) for path in paths], html, is_json=is_json)
    if html is not None and not quiet:
        say(f"wrote {html}")
    return FOUND if any(found["severity"] == "error" for found in collector.stats.damage) else CLEAN


def _collect(collector: Collector, segment: Segment, entry_format: str, codecs: Registry | None) -> None:
    is_of_0_7 = segment.is_of_0_7 and entry_format == "auto"
    options = {"format": "0.7" if is_of_0_7 else entry_format, "codecs": codecs}
    partition = (segment.directory, segment.topic, segment.partition) if segment.is_listed else segment.path
    with opened(segment) as source:
        collector.add(source, segment.name, partition, is_repeatable=segment.is_regular, **options)


def _write(stats: Stats, paths: list[str], html: str | None, *, is_json: bool) -> None:
    if html is not None:
        with WholeFile(html) as out:
            out.write(page(stats, f"Statistics of {', '.join(paths)}").encode())
    elif is_json:
        json.dump(stats.to_dict(), sys.stdout, ensure_ascii=False, separators=(",", ":"))
        sys.stdout.write("\n")
    else:
        for line in lines(stats):
            sys.stdout.write(printable(line) + "\n")
