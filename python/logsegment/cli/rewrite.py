"""`logsegment rewrite`: erase, filter or mask records, into a new file or directory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from logsegment._core import LossError, PartitionEnd, RecordBatchError, SegmentFile, SegmentKeyError
from logsegment._options import ReadOptions
from logsegment._rewrite.account import RewrittenFile
from logsegment._rewrite.partitions import RewriteOptions, RewriteWork, rewrite_partitions
from logsegment._rewrite.rewrite import MASKS, ensure_meant, ensure_outside
from logsegment._rewrite.selection import Selection, core_selection, joined_keys
from logsegment.analysis.inputs import InputSegment, opened
from logsegment.analysis.redaction import Redactor
from logsegment.cli.codec_types import CodecType
from logsegment.cli.exit_codes import CLEAN, DamagedInput, handle_exit
from logsegment.cli.help import Verb
from logsegment.cli.inputs import STDIN, below_text, ensure_segments, segments_of
from logsegment.cli.messages import count, say, show_json
from logsegment.cli.options import (
    InstantType,
    OffsetsType,
    ParamType,
    Reading,
    bind_args,
    examples,
    json_option,
    now_option,
    overwrite_option,
    partition_options,
    paths_argument,
    quiet_option,
    reading_options,
    redact_messages_option,
    withholding,
)
from logsegment.cli.output.files import ensure_output, output_file, say_needed, whole_directory
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress

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


@dataclass(frozen=True)
class RewriteArguments:
    """The arguments of `rewrite`."""

    paths: tuple[str, ...]
    output: str | None
    overwrite: bool
    keep: tuple[tuple[str, Any], ...]
    drop: tuple[tuple[str, Any], ...]
    tombstone: tuple[tuple[str, Any], ...]
    mask: tuple[tuple[str, Any], ...]
    mask_with: str
    mask_key_path: str | None
    compression: str | None
    allow_loss: bool
    allow_lower_end: bool
    dry_run: bool
    reading: Reading
    is_json: bool
    is_redacted: bool
    quiet: bool


CONDITION = ConditionType()


@click.command(
    cls=Verb,
    short_help="Erase, filter or mask records, into a new file or directory.",
    epilog=examples(
        "logsegment rewrite /backup/orders-0 --drop keys=erase.txt --output clean",
        "logsegment rewrite /backup --keep header=tenant=acme --output acme --dry-run --json",
        "logsegment rewrite old.log --mask key=user-17 --mask-with hash --mask-key ours.key --output new.log",
    ),
)
@paths_argument
@partition_options
@click.option("-o", "--output", metavar="PATH", help="A new file for one segment (- is stdout), a new directory for directories.")
@overwrite_option
@click.option("--keep", type=CONDITION, multiple=True, help=f"Drop all other records: {KINDS}. May be given more than once.")
@click.option("--drop", type=CONDITION, multiple=True, help="Drop these records, likewise.")
@click.option("--tombstone", type=CONDITION, multiple=True, help="Replace the values of these records by null, likewise.")
@click.option("--mask", type=CONDITION, multiple=True, help="Replace the values of these records by a mask, likewise.")
@click.option("--mask-with", type=click.Choice(MASKS), default="empty", show_default=True, help="The mask; hash needs --mask-key.")
@click.option(
    "--mask-key", "mask_key_path", type=click.Path(), metavar="FILE", help="The secret of the hashes, at least 16 bytes, as for --redact."
)
@click.option("--compression", type=CodecType(), help="Codec of batches that are written anew; each batch's own without it.")
@click.option("--allow-loss", is_flag=True, help="Rewrite logs of Kafka 0.7, where later messages get other offsets.")
@click.option("--allow-lower-end", is_flag=True, help="Let the log end offset fall where v0 and v1 cannot keep an empty last entry.")
@click.option("--dry-run", is_flag=True, help="Report what would become of every byte, and write nothing.")
@now_option
@reading_options
@json_option("JSON lines: an account of each file.")
@redact_messages_option
@quiet_option
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
    work = RewriteWork(ReadOptions(**options.reading), _how(options), options.dry_run)
    segments = segments_of(options.paths)
    ensure_segments(segments, options.reading)
    with Progress(segments, is_wanted=not options.quiet) as progress:
        job = RewriteJob(options, segments, progress, withholding(options.is_redacted))
        job.say_space()
        done = job.to_directory(work) if any(segment.is_listed for segment in segments) else job.to_file(work)
    if not options.quiet:
        say(_summary(done, options))
    return CLEAN


@dataclass
class RewriteJob:
    """Arguments of all segments of a rewrite."""

    options: RewriteArguments
    segments: Sequence[InputSegment]
    progress: Progress
    redactor: Redactor | None
    #: The segment that is read.
    name: str = ""

    def say_space(self) -> None:
        """Say how much space the output may need, before the work starts."""
        output = self.options.output
        if self.options.quiet or self.options.dry_run or output in (None, STDIN):
            return
        say_needed(output or "", sum(segment.size for segment in self.segments))

    def to_file(self, work: RewriteWork) -> list[RewrittenFile]:
        """Rewrite the only segment."""
        output = self.options.output
        if len(self.segments) > 1:
            raise click.UsageError("several files cannot become one; give a directory, or one file at a time")
        segment = self.segments[0]
        if output not in (None, STDIN) and not work.is_dry:
            ensure_output(output or "", self.segments, self.options.overwrite)
        self.begin(segment)
        with self.errors(), opened(segment, is_read_twice=True) as source:
            end = PartitionEnd([source], work.read)
            if work.is_dry:
                return [self.report(work.file(source, end, None, (segment.name, None))[1])]
            if output == STDIN:
                return [self.report(work.file(source, end, sys.stdout.buffer, (segment.name, None))[1])]
            with output_file(output or "", self.options.overwrite) as file:
                account = work.file(source, end, file.target, (segment.name, output))[1]
        return [self.report(account)]

    def to_directory(self, work: RewriteWork) -> list[RewrittenFile]:
        """Rewrite the partitions of all segments."""
        by_path = {segment.path: segment for segment in self.segments}
        files = [segment.file for segment in self.segments if segment.file is not None]
        if len(files) != len(self.segments):
            raise click.UsageError("standard input cannot be read together with directories")

        def begun(file: SegmentFile) -> None:
            self.begin(by_path[file.path])

        told = replace(work, begun=begun, done=self.report)
        output = self.options.output or ""
        with self.errors():
            try:
                if work.is_dry:
                    return rewrite_partitions(files, told, None, None)
                for path in self.options.paths:
                    ensure_outside(output, path)
                with whole_directory(output) as hidden:
                    return rewrite_partitions(files, told, hidden, output)
            except (SegmentKeyError, RecordBatchError):
                raise
            except ValueError as mistake:
                raise click.UsageError(str(mistake)) from None

    def begin(self, segment: InputSegment) -> None:
        """Note which segment is read."""
        self.name = segment.name
        self.progress.begin(segment)

    def report(self, account: RewrittenFile) -> RewrittenFile:
        """Report the account of a file."""
        report(account.findings, self.name, self.progress, quiet=self.options.quiet, redactor=self.redactor)
        if self.options.is_json:
            with self.progress.aside():
                show_json({"type": "rewrite", "file": self.name} | account.to_dict())
        return account

    @contextmanager
    def errors(self) -> Any:
        """Name the segment in errors about its bytes."""
        try:
            yield
        except LossError as refused:
            raise DamagedInput(self.name, refused, "nothing was written", self.redactor) from refused
        except RecordBatchError as error:
            raise DamagedInput(self.name, error, ADVICE, self.redactor) from error


def _how(options: RewriteArguments) -> RewriteOptions:
    try:
        key = None if options.mask_key_path is None else Path(options.mask_key_path).read_bytes().removesuffix(b"\n").removesuffix(b"\r")
    except OSError as error:
        # The path is not shown: it may be the secret itself.
        raise click.UsageError(f"--mask-key must be the path of a file with the secret: {error.strerror}") from None
    try:
        how = RewriteOptions(
            keep=core_selection(_selection(options.keep)),
            drop=core_selection(_selection(options.drop)),
            tombstone=core_selection(_selection(options.tombstone)),
            mask=core_selection(_selection(options.mask)),
            mask_with=options.mask_with,
            mask_key=key,
            compression=options.compression,
            allow_loss=options.allow_loss,
            allow_lower_end=options.allow_lower_end,
        )
        ensure_meant(how)
    except (TypeError, ValueError) as mistake:
        text = str(mistake)
        for name in ("mask_key", "mask_with"):
            text = text.replace(name, f"--{name.replace('_', '-')}")
        raise click.UsageError(text.replace("give keep, drop, tombstone or mask", "give --keep, --drop, --tombstone or --mask")) from None
    return how


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
        record_keys=joined_keys(by_kind.get("key", ()), by_kind.get("keys", ())) if has_keys else None,
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
