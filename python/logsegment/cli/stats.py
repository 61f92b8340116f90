"""`logsegment stats`: counts, codecs and ratios, sizes, gaps, times, producers, transactions; as text, JSON or a page."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from logsegment._core import UnsupportedError
from logsegment.analysis.stats import Collector, Stats
from logsegment.analysis.v3_savings import V3Savings, v3_savings
from logsegment.cli.exit_codes import CLEAN, FOUND, Damaged, ending
from logsegment.cli.inputs import InputSegment, in_range, opened, segments_of
from logsegment.cli.messages import count, printable, say, show, show_json
from logsegment.cli.options import (
    examples,
    experimental_option,
    format_option,
    json_option,
    overwrite_option,
    paths_argument,
    quiet_option,
    registry_option,
)
from logsegment.cli.output.files import ensure_output, whole_file
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.stats_page import page
from logsegment.cli.output.stats_text import lines, v3_lines
from logsegment.cli.plugin_registries import noted, told
from logsegment.stores.uri import shown

if TYPE_CHECKING:
    from logsegment.plugins import Registry


@click.command(
    short_help="Counts, codecs and ratios, sizes, gaps, producers, transactions.",
    epilog=examples(
        "logsegment stats orders-0",
        "logsegment stats --html orders.html orders-0",
        "logsegment stats --json /var/lib/kafka/data | jq .codecs",
        "logsegment stats --what-if v3 orders-0",
    ),
)
@paths_argument
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write a page with plots; it needs no network.")
@overwrite_option
@click.option("--no-ratios", is_flag=True, help="Unpack nothing: no ratios of the codecs.")
@click.option(
    "--what-if",
    type=click.Choice(["v3"]),
    help="Also what the batches would be in the proposed format v3 (KIP-931): everything is packed anew, in memory.",
)
@format_option
@experimental_option
@registry_option
@json_option("One JSON object.")
@quiet_option
@ending
def stats(
    paths: tuple[str, ...],
    html: str | None,
    overwrite: bool,
    no_ratios: bool,
    what_if: str | None,
    entry_format: str,
    experimental: bool,
    codecs: Registry | None,
    is_json: bool,
    quiet: bool,
) -> int:
    """Tell what the headers of all batches of every PATH tell, past every damage.

    Headers are read and nothing else, but for the ratios of the codecs, for which some batches of each are unpacked, and for --what-if,
    which reads and packs everything.
    """
    if html is not None and is_json:
        raise click.UsageError("only one of --json and --html can be given")
    segments = in_range(segments_of(paths), None, None)
    if html is not None:
        ensure_output(html, segments, overwrite)
    noting = noted(codecs)
    collector = Collector(is_sampling=not no_ratios)
    reading = {"format": entry_format, "experimental": experimental, "codecs": noting}
    saved = V3Savings() if what_if else None
    with Progress(segments, is_wanted=not quiet) as progress:
        for segment in segments:
            progress.begin(segment)
            saved = _collect(collector, segment, reading, saved)
    if html is not None:
        title = f"Statistics of {', '.join(printable(shown(path)) for path in paths)}"
        with whole_file(html, overwrite) as out:
            out.write(page(collector.stats, title, saved).encode())
    else:
        _print(collector.stats, saved, is_json=is_json)
    if html is not None and not quiet:
        say(f"wrote {html}")
    errors = collector.stats.damage_counts.get("error", 0)
    if html is not None and errors:
        say(f"{count(errors, 'finding')} of severity error, told in the page; `logsegment verify` lists all")
    return told(noting, FOUND if errors else CLEAN)


def _collect(collector: Collector, segment: InputSegment, reading: dict[str, Any], saved: V3Savings | None) -> V3Savings | None:
    is_of_0_7 = segment.is_of_0_7 and reading["format"] == "auto"
    options = reading | ({"format": "0.7"} if is_of_0_7 else {})
    partition = (segment.directory, segment.topic, segment.partition) if segment.is_listed else segment.path
    with opened(segment, is_read_twice=saved is not None) as source:
        collector.add(source, segment.name, partition, is_repeatable=segment.is_regular or saved is not None, **options)
        try:
            return None if saved is None else saved + v3_savings(source, **options)
        except UnsupportedError as error:
            raise Damaged(segment.name, error) from error


def _print(stats: Stats, saved: V3Savings | None, *, is_json: bool) -> None:
    if is_json:
        everything = stats.to_dict() | ({} if saved is None else {"what_if_v3": saved.to_dict()})
        show_json(everything)
    else:
        for line in chain(lines(stats), v3_lines(saved) if saved is not None else ()):
            show(line)
