"""`logsegment plugins train`: a zstd dictionary out of segments, for the plugin codec that takes one."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import TrainedDictionary, train_dictionary
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, handle_exit, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.messages import Console, count, say
from logsegment.cli.number_types import whole
from logsegment.cli.options import Overwrite, Quiet, Reading, bind_args, examples
from logsegment.cli.output.files import whole_file
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import STDIN, ReplicaPaths
from logsegment.cli.plugin_registries import reported_rules
from logsegment.plugins import Catalog, Plugin
from logsegment.plugins.rules import registration

ADVICE = "pass other segments: a dictionary needs valid ones"


@dataclass(frozen=True, kw_only=True)
class TrainArguments(ReplicaPaths):
    """The arguments of `train`."""

    output: Annotated[
        str, VerbOption("Write the dictionary to FILE; - is stdout.", "-o --output FILE", kind=click.Path(dir_okay=False, allow_dash=True))
    ]
    overwrite: Overwrite
    size: Annotated[
        int | None,
        VerbOption(
            "Limit the size.", "--size BYTES", default="112640, or a tenth of the samples", kind=whole(TrainedDictionary.LEAST_SIZE)
        ),
    ]
    samples: Annotated[int, VerbOption("Sample N batches.", "--samples N", kind=whole(TrainedDictionary.LEAST_SAMPLES))] = 1000
    level: Annotated[int, VerbOption("Compress samples at this level of zstd.", "--level", kind=click.IntRange(-100, 22))] = 3
    alias: Annotated[str | None, VerbOption("Write a list for `plugins register` instead, with a plugin of this alias.", "--alias")]
    java_class: Annotated[str | None, VerbOption("Name the plugin's class in brokers and Java clients.", "--java-class CLASS")]
    reading: Reading
    quiet: Quiet


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
@handle_exit
@bind_args(TrainArguments)
def train_(options: TrainArguments) -> int:
    """Make a zstd dictionary from the batches of every PATH, and measure it on other batches.

    FILE is the dictionary, or with --alias a list for `logsegment plugins register`. FILE appears when it is complete. The same input
    makes the same dictionary. The exit code is 1 if a batch is invalid, or the alias breaks a rule.
    """
    if options.output == STDIN and options.alias is None and sys.stdout.isatty():
        raise click.UsageError("standard output is a terminal, and a dictionary is binary; write to a file or a pipe")
    _ensure_plugin(options.alias, options.java_class)
    target = None if options.output == STDIN else options.output
    try:
        with Progress(quiet=options.quiet, output=target, overwrite=options.overwrite) as progress, input_errors(ADVICE):
            trained = train_dictionary(
                options.sources,
                size=options.size,
                samples=options.samples,
                level=options.level,
                observer=progress,
                **options.selected,
                **options.reading,
            )
            content = trained.dictionary if options.alias is None else _listed(trained, options.alias, str(options.java_class))
    except ModuleNotFoundError as missing:
        if missing.name != "zstandard":
            raise
        raise click.UsageError("training needs zstandard: pip install 'logsegment[codecs]'") from None
    _write(content, options.output, options.overwrite)
    if not options.quiet:
        _report(trained, options.output)
    return CLEAN


def _ensure_plugin(alias: str | None, java_class: str | None) -> None:
    """Refuse before it is trained what `plugins register` would refuse of any registry."""
    if (alias is None) != (java_class is None):
        raise click.UsageError("--alias and --java-class must be given together: brokers need a Java class (S-P13)")
    if alias is not None and java_class is not None:
        with input_errors(), reported_rules():
            registration(Catalog(), [Plugin(alias, {"java": java_class}, "v1.0")])


def _write(content: bytes, output: str, overwrite: bool) -> None:
    if output == STDIN:
        sys.stdout.buffer.write(content)
        return
    with whole_file(output, overwrite) as file:
        file.write(content)


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
