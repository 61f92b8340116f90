"""`logsegment plugins train`: a zstd dictionary out of segments, for the plugin codec that takes one."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import closing, redirect_stdout
from dataclasses import dataclass
from typing import Any

import click

from logsegment._core import Limits, RecordBatchError, SegmentKeyError
from logsegment.analysis.inputs import InputSegment, opened
from logsegment.analysis.train_dictionary import LEAST_SAMPLES, LEAST_SIZE, TrainedDictionary, train_dictionary
from logsegment.cli.exit_codes import CLEAN, DamagedInput, handle_exit
from logsegment.cli.help import Verb
from logsegment.cli.inputs import STDIN, segments_of
from logsegment.cli.messages import Console, count, say
from logsegment.cli.number_types import whole
from logsegment.cli.options import (
    bind_args,
    examples,
    limits_option,
    overwrite_option,
    paths_argument,
    quiet_option,
    registry_option,
    replica_option,
)
from logsegment.cli.output.files import ensure_output, whole_file
from logsegment.cli.output.progress import Progress
from logsegment.cli.plugin_registries import refusing
from logsegment.plugins import Catalog, Plugin, Registry
from logsegment.plugins.rules import registration

ADVICE = "pass other segments: a dictionary needs valid ones"


@dataclass(frozen=True)
class TrainArguments:
    """The arguments of `train`."""

    paths: tuple[str, ...]
    output: str
    overwrite: bool
    size: int | None
    samples: int
    level: int
    alias: str | None
    java_class: str | None
    codecs: Registry | None
    limits: Limits | None
    quiet: bool


@click.command(
    cls=Verb,
    name="train",
    short_help="Make a zstd dictionary from segments.",
    epilog=examples(
        "logsegment plugins train orders-0 -o orders.dict",
        "logsegment plugins train orders-0 --alias orders --java-class org.example.OrdersZstd -o orders.json",
        "logsegment plugins register --registry plugins.json orders.json",
    ),
)
@paths_argument
@replica_option
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write the dictionary to FILE; - is stdout.",
)
@overwrite_option
@click.option("--size", type=whole(LEAST_SIZE), metavar="BYTES", help="Limit the size. (default: 112640, or a tenth of the samples)")
@click.option("--samples", type=whole(LEAST_SAMPLES), default=1000, show_default=True, metavar="N", help="Sample N batches.")
@click.option("--level", type=click.IntRange(-100, 22), default=3, show_default=True, help="Compress samples at this level of zstd.")
@click.option("--alias", help="Write a list for `plugins register` instead, with a plugin of this alias.")
@click.option("--java-class", metavar="CLASS", help="Name the plugin's class in brokers and Java clients.")
@registry_option
@limits_option
@quiet_option
@handle_exit
@bind_args(TrainArguments)
def train_(options: TrainArguments) -> int:
    """Make a zstd dictionary from the batches of every PATH, and measure it on other batches.

    FILE is the dictionary, or with --alias a list for `logsegment plugins register`. FILE appears when it is complete. The same input
    makes the same dictionary. The exit code is 1 if a batch is invalid, or the alias breaks a rule.
    """
    segments = segments_of(options.paths)
    _ensure_output(options.output, segments, options.overwrite, is_text=options.alias is not None)
    try:
        _ensure_plugin(options.alias, options.java_class)
        trained = _trained(segments, options)
        content = trained.dictionary if options.alias is None else _listed(trained, options.alias, str(options.java_class))
    except SegmentKeyError:
        raise
    except ValueError as mistake:
        raise click.UsageError(str(mistake)) from None
    except ModuleNotFoundError as missing:
        if missing.name != "zstandard":
            raise
        raise click.UsageError("training needs zstandard: pip install 'logsegment[codecs]'") from None
    _write(content, options.output, options.overwrite)
    if not options.quiet:
        _report(trained, options.output)
    return CLEAN


def _ensure_output(output: str, segments: list[InputSegment], overwrite: bool, *, is_text: bool) -> None:
    if output != STDIN:
        ensure_output(output, segments, overwrite)
    elif sys.stdout.isatty() and not is_text:
        raise click.UsageError("standard output is a terminal, and a dictionary is binary; write to a file or a pipe")


def _ensure_plugin(alias: str | None, java_class: str | None) -> None:
    """Refuse before it is trained what `plugins register` would refuse of any registry."""
    if (alias is None) != (java_class is None):
        raise click.UsageError("--alias and --java-class must be given together: brokers need a Java class (S-P13)")
    if alias is not None and java_class is not None:
        with refusing():
            registration(Catalog(), [Plugin(alias, {"java": java_class}, "v1.0")])


def _write(content: bytes, output: str, overwrite: bool) -> None:
    if output == STDIN:
        sys.stdout.buffer.write(content)
        return
    with whole_file(output, overwrite) as file:
        file.write(content)


def _trained(segments: list[InputSegment], options: TrainArguments) -> TrainedDictionary:
    read: list[InputSegment] = []
    with Progress(segments, is_wanted=not options.quiet) as progress:

        def sources() -> Generator[Any]:
            for segment in segments:
                progress.begin(segment)
                read.append(segment)
                with opened(segment, seen=progress.seen if progress.is_shown else None) as source:
                    yield source

        with closing(sources()) as each:
            try:
                return train_dictionary(
                    each, size=options.size, samples=options.samples, level=options.level, codecs=options.codecs, limits=options.limits
                )
            except RecordBatchError as error:
                raise DamagedInput(read[-1].name, error, ADVICE) from error


def _listed(trained: TrainedDictionary, alias: str, java_class: str) -> bytes:
    plugin = trained.plugin(alias, java_class)
    fields = {"pluginAlias": alias, "pluginVersion": plugin.version, "pluginClassName": plugin.class_names, **plugin.extra}
    return (json.dumps([fields], indent=2) + "\n").encode()


def _report(trained: TrainedDictionary, output: str) -> None:
    """Write the sizes to stdout, unless the dictionary is written there."""
    if output != STDIN:
        _show(trained)
    elif sys.stderr is not None:
        with redirect_stdout(sys.stderr):
            _show(trained)
    if trained.dictionary_bytes >= trained.zstd_bytes:
        say("these batches gain nothing from it: they are large enough for zstd alone, or have nothing in common")


def _show(trained: TrainedDictionary) -> None:
    paper = Console()
    paper.line(f"dictionary: {count(len(trained.dictionary), 'byte')} from {count(trained.samples, 'batch')}")
    sizes = (("records", trained.record_bytes), ("zstd", trained.zstd_bytes), ("with the dictionary", trained.dictionary_bytes))
    rows = [(name, f"{size:,}", f"{trained.record_bytes / max(1, size):.2f}") for name, size in sizes]
    paper.table((count(trained.held_out, "other batch"), "bytes", "ratio"), rows)
