"""`logsegment rewrite`: erase, filter or mask records, into a new file or directory."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import click

from logsegment import LossError, RecordBatchError, RewrittenFile, Selection
from logsegment import rewrite as rewrite_source
from logsegment._core import ReplicaError
from logsegment._options import MaskWith
from logsegment.cli.arguments import VerbOption
from logsegment.cli.codec_types import CodecType, ensure_codec
from logsegment.cli.exit_codes import CLEAN, handle_exit, input_errors
from logsegment.cli.help import Verb
from logsegment.cli.messages import count, say, show_json
from logsegment.cli.notes import below_text
from logsegment.cli.options import HidesMessages, Now, Overwrite, ParamType, Quiet, Reading, bind_args, examples, withholding
from logsegment.cli.output.files import OutputProgress
from logsegment.cli.output.findings import report
from logsegment.cli.paths import STDIN, PartitionPaths
from logsegment.cli.redaction import Redactor
from logsegment.cli.value_types import InstantType, OffsetsType
from logsegment.tiered import SegmentKeyError

ADVICE = "nothing was written; `logsegment salvage` saves the valid batches, which can be rewritten"
KINDS = "key=TEXT, keys=FILE, header=NAME[=VALUE], offsets=A..B or times=A..B"


class ConditionType(ParamType):
    """A condition of a selection: its kind and its value."""

    name = "CONDITION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        """Parse the text."""
        if isinstance(value, tuple):
            return value
        kind, equals, text = value.partition("=")
        if not equals:
            self.fail(f"{value!r} is not {KINDS}", param, ctx)
        if kind in ("key", "keys"):
            return kind, text
        if kind == "header":
            name, has_value, wanted = text.partition("=")
            return kind, (name, wanted if has_value else None)
        if kind == "offsets":
            return kind, tuple(OffsetsType().convert(text, param, ctx))
        if kind != "times":
            self.fail(f"there is no condition {kind!r}; there are {KINDS}", param, ctx)
        first, dots, end = text.partition("..")
        if not dots:
            self.fail(f"{text!r} is not A..B, A.. or ..B", param, ctx)
        return kind, tuple(InstantType().convert(bound, param, ctx) if bound else None for bound in (first, end))


@dataclass(frozen=True, kw_only=True)
class RewriteArguments(PartitionPaths):
    """The arguments of `rewrite`."""

    output: Annotated[
        str | None, VerbOption("A new file for one segment (- is stdout), a new directory for directories.", "-o --output PATH")
    ]
    overwrite: Overwrite
    keep: Annotated[
        tuple[tuple[str, Any], ...],
        VerbOption(f"Drop all other records: {KINDS}; repeatable.", "--keep", kind=ConditionType()),
    ]
    drop: Annotated[tuple[tuple[str, Any], ...], VerbOption("Drop matching records; repeatable.", "--drop", kind=ConditionType())]
    tombstone: Annotated[
        tuple[tuple[str, Any], ...],
        VerbOption("Replace the values of matching records by null; repeatable.", "--tombstone", kind=ConditionType()),
    ]
    mask: Annotated[
        tuple[tuple[str, Any], ...],
        VerbOption("Replace the values of matching records by a mask; repeatable.", "--mask", kind=ConditionType()),
    ]
    mask_with: Annotated[MaskWith, VerbOption("The mask; hash needs --mask-key.", "--mask-with")] = "empty"
    mask_key_path: Annotated[
        str | None, VerbOption("The secret of the hashes, at least 16 bytes, as for --redact.", "--mask-key FILE", kind=click.Path())
    ]
    compression: Annotated[
        str | None, VerbOption("Codec of batches that are written anew; each batch's own without it.", "--compression", kind=CodecType())
    ]
    allow_loss: Annotated[bool, VerbOption("Rewrite logs of Kafka 0.7, where later messages get other offsets.", "--allow-loss")]
    allow_lower_end: Annotated[
        bool, VerbOption("Let the log end offset fall where v0 and v1 cannot keep an empty last entry.", "--allow-lower-end")
    ]
    dry_run: Annotated[bool, VerbOption("Report what would become of every byte, and write nothing.", "--dry-run")]
    now: Now
    reading: Reading
    is_json: Annotated[bool, VerbOption("JSON lines: an account of each file.", "--json")]
    is_redacted: HidesMessages
    quiet: Quiet

    def __post_init__(self) -> None:
        ensure_codec(self.compression, self.reading["codecs"])


@click.command(
    cls=Verb,
    short_help="Erase, filter or mask records, into a new file or directory.",
    epilog=examples(
        "logsegment rewrite /backup/orders-0 --drop keys=erase.txt --output clean",
        "logsegment rewrite /backup --keep header=tenant=acme --output acme --dry-run --json",
        "logsegment rewrite old.log --mask key=user-17 --mask-with hash --mask-key ours.key --output new.log",
    ),
)
@handle_exit
@bind_args(RewriteArguments)
def rewrite(options: RewriteArguments) -> int:
    """Write the segments of PATH without some of their records or values, as the log cleaner of a broker would.

    Conditions of one kind add up, and conditions of different kinds must all hold: --drop key=a --drop key=b --drop offsets=0..100 drops
    the records with key a or b below offset 100. Batches that keep all their records are copied byte for byte; offsets, producers and
    transactions stay. A directory becomes a directory with indexes, snapshots and epochs. The output appears when it is complete, and
    inputs are never changed.

    Exit codes: 0 finished, 1 bad data or a loss that is not allowed, 2 usage or unreadable input.
    """
    if options.output is None and not options.dry_run:
        raise click.UsageError("Missing option '--output'; --dry-run needs none")
    if options.is_json and options.output == STDIN:
        raise click.UsageError("--json writes to standard output, which is the output already")
    redactor = withholding(options.is_redacted)
    with RewriteProgress(options, redactor) as progress, input_errors(_advice, redactor), _argument_names():
        done = rewrite_source(
            options.sources,
            sys.stdout.buffer if options.output == STDIN else options.output,
            keep=_selection(options.keep),
            drop=_selection(options.drop),
            tombstone=_selection(options.tombstone),
            mask=_selection(options.mask),
            mask_with=options.mask_with,
            mask_key=_mask_key(options.mask_key_path),
            compression=options.compression,
            allow_loss=options.allow_loss,
            allow_lower_end=options.allow_lower_end,
            overwrite=options.overwrite,
            dry_run=options.dry_run,
            observer=progress,
            **options.selected,
            **options.reading,
        )
    if not options.quiet:
        say(_summary(done.files, options))
    return CLEAN


class RewriteProgress(OutputProgress):
    """Prints the account of each file."""

    def __init__(self, options: RewriteArguments, redactor: Redactor | None) -> None:
        super().__init__(None if options.dry_run else options.output, quiet=options.quiet, has_bar=True)
        self._options = options
        self._redactor = redactor

    def done(self, path: str, result: RewrittenFile) -> None:
        """Print the findings, and with --json the account."""
        report(result.findings, path, self, quiet=self._options.quiet, redactor=self._redactor)
        if self._options.is_json:
            with self.aside():
                show_json({"type": "rewrite", "file": path} | result.to_dict())


def _advice(error: RecordBatchError) -> str:
    return "nothing was written" if isinstance(error, LossError) else ADVICE


def _mask_key(path: str | None) -> bytes | None:
    try:
        return None if path is None else Path(path).read_bytes().removesuffix(b"\n").removesuffix(b"\r")
    except OSError as error:
        # The path is not shown: it may be the secret itself.
        raise click.UsageError(f"--mask-key must be the path of a file with the secret: {error.strerror}") from None


@contextmanager
def _argument_names() -> Iterator[None]:
    """Name the options of the command line in errors about arguments."""
    try:
        yield
    except (RecordBatchError, ReplicaError, SegmentKeyError):
        raise
    except (TypeError, ValueError) as mistake:
        text = str(mistake)
        for name in ("mask_key", "mask_with"):
            text = text.replace(name, f"--{name.replace('_', '-')}")
        raise click.UsageError(text.replace("give keep, drop, tombstone or mask", "give --keep, --drop, --tombstone or --mask")) from None


def _selection(conditions: Sequence[tuple[str, Any]]) -> Selection | None:
    """Return the selection of conditions: those of one kind add up."""
    if not conditions:
        return None
    by_kind: dict[str, list[Any]] = {}
    for kind, value in conditions:
        by_kind.setdefault(kind, []).append(value)
    headers: dict[str, list[str] | None] = {}
    for name, value in by_kind.get("header", ()):
        values = headers.setdefault(name, [])
        if value is None or values is None:
            headers[name] = None
        else:
            values.append(value)
    has_keys = "key" in by_kind or "keys" in by_kind
    return Selection(
        record_keys=Selection.joined_keys(by_kind.get("key", ()), by_kind.get("keys", ())) if has_keys else None,
        headers=list(headers.items()) or None,
        offsets=by_kind.get("offsets"),
        times=by_kind.get("times"),
    )


def _summary(done: Sequence[RewrittenFile], options: RewriteArguments) -> str:
    records = sum(file.records for file in done)
    counts = {name: sum(getattr(file, name) for file in done) for name in ("dropped", "tombstoned", "masked")}
    changes = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
    changes = changes or ("none changed" if options.keep else "no record matched")
    changes += below_text(sum(file.below_log_start for file in done))
    before, after = sum(file.input_bytes for file in done), sum(file.output_bytes for file in done)
    verb = "would write" if options.dry_run else "wrote"
    place = "" if options.output is None else f" to {options.output}"
    written = sum(file.output is not None or options.dry_run or options.output == STDIN for file in done)
    return f"{verb} {count(written, 'segment')}{place}: {records:,} records, {changes}; {before:,} bytes before, {after:,} bytes after"
