"""`logsegment follow`: new records of growing logs, as JSON lines, until Ctrl-C."""

from __future__ import annotations

import inspect
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import FileRead
from logsegment import follow as follow_logs
from logsegment._options import OnError, ReadOptions, Unreadable
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, UNREADABLE, handle_exit, input_errors, with_flags, words_of, worst
from logsegment.cli.help import Verb
from logsegment.cli.messages import say
from logsegment.cli.number_types import whole
from logsegment.cli.options import Iso, IsRedacted, Quiet, Reading, RedactKey, bind_args, examples, redactor_of
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.records import JsonBytes, JsonForm, JsonLines, json_columns
from logsegment.cli.paths import STDIN, PartitionPaths
from logsegment.cli.redaction import Redactor
from logsegment.cli.values import ValueArguments, ensure_columns, unknown_schemas, value_arguments

BETWEEN = "Look for new records every SECONDS; 0.5 by default, 10 if a PATH is in a store."
WAITING = "Wait this long for a file or directory that is gone or cut, and go on if it comes back unchanged."


@dataclass(frozen=True, kw_only=True)
class FollowArguments(PartitionPaths):
    """The arguments of `follow`."""

    offset: Annotated[int | None, VerbOption("Start at this offset.", "--offset N", default="the end of the log", kind=whole(0))]
    columns: Annotated[list[str] | None, ReadOptions]
    form: JsonBytes
    control: Annotated[bool, ReadOptions]
    decoding: ValueArguments
    interval: Annotated[float | None, VerbOption(BETWEEN, "--interval", kind=click.FloatRange(min=0.01))]
    idle_exit: Annotated[
        float | None,
        VerbOption("Exit after this many seconds without a new record.", "--idle-exit SECONDS", kind=click.FloatRange(min=0)),
    ]
    wait: Annotated[float, VerbOption(WAITING, "--wait SECONDS", kind=click.FloatRange(min=0))] = (
        inspect.signature(follow_logs).parameters["wait"].default
    )
    iso: Iso
    is_redacted: IsRedacted
    redact_key: RedactKey
    on_error: Annotated[OnError, ReadOptions]
    unreadable: Annotated[Unreadable, ReadOptions]
    reading: Reading
    quiet: Quiet


class FollowProgress(Progress):
    """Prints the findings and the changes of followed logs, the same text once.

    Attributes:
        code: exit code, as far as it is known.
    """

    def __init__(self, *, quiet: bool, redactor: Redactor | None = None) -> None:
        super().__init__(quiet=quiet, has_bar=False)
        self._redactor = redactor
        self._reported: set[str] = set()
        self.code = CLEAN

    def changed(self, path: str, text: str) -> None:
        """Print the change."""
        if not self._is_quiet:
            say(f"{path}: {text}")

    def failed(self, path: str, error: Exception) -> bool:
        """Print the error of an upload whose key is missing, and go on."""
        self._say_once(words_of(error))
        self.code = UNREADABLE
        return True

    def done(self, path: str, result: FileRead) -> None:
        """Print the findings of a part of a file."""
        if (unknown := result.stream.unknown_schemas) and not self._is_quiet:
            self._say_once(f"values of {result.topic or path} were not decoded: no schema for {unknown_schemas(unknown)}")
        found = report(result.findings, path, self, quiet=self._is_quiet, redactor=self._redactor)
        self.code = worst(self.code, found)

    def _say_once(self, text: str) -> None:
        if text not in self._reported:
            say(text)
        self._reported.add(text)


@click.command(
    cls=Verb,
    short_help="Print new records of growing logs as JSON lines.",
    epilog=examples(
        "logsegment follow /var/lib/kafka/data/orders-0",
        "logsegment follow orders-0 --offset 1042 --columns offset,key,value",
        "logsegment follow orders-0 --idle-exit 10 | wc -l",
        "logsegment follow __consumer_offsets-1 --values internal",
    ),
)
@handle_exit
@bind_args(FollowArguments)
def follow(options: FollowArguments) -> int:
    """Print new records of the logs of every PATH until Ctrl-C.

    PATH is a partition directory, a tree of them, or a segment, here or in a store. A record is shown when
    its batch is complete. After a roll, the next segment is followed. If a log is truncated below the last shown record, stderr reports
    it, and the new records are shown. A file or directory that is gone or cut for a moment is waited for (--wait). In tiered storage
    and in stores, a record is shown once its segment is uploaded.
    """
    if STDIN in options.paths:
        raise click.UsageError(f"{STDIN}: a pipe does not grow; `logsegment cat` reads it")
    columns = json_columns(options.columns, options.decoding, control=options.control)
    ensure_columns(options.decoding, columns)
    redactor = redactor_of(options.is_redacted, options.redact_key, quiet=options.quiet)
    if redactor and options.form:
        raise click.UsageError("--bytes and --redact cannot be combined: redacted records have no bytes")
    sink = JsonLines(columns, JsonForm(options.form or "auto", options.iso), 1, redactor)
    progress = FollowProgress(quiet=options.quiet, redactor=redactor)
    with suppress(KeyboardInterrupt), input_errors(redactor=redactor):
        records = follow_logs(
            options.paths,
            columns=sink.columns,
            offset=options.offset,
            interval=options.interval,
            idle_exit=options.idle_exit,
            wait=options.wait,
            control=options.control,
            on_error=options.on_error,
            unreadable=options.unreadable,
            observer=progress,
            **value_arguments(options),
            **options.selected,
            **options.reading,
        )
        for note in () if options.quiet else records.notes:
            say(with_flags(note))
        for batch in records:
            sink.write([batch])
            sys.stdout.buffer.flush()
    return progress.code
