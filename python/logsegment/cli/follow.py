"""`logsegment follow`: new records of growing logs, as JSON lines, until Ctrl-C."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Annotated

import click

from logsegment._core import Finding, FoundSegments, RecordBatchError, ReplicaChoice, SegmentFile, SegmentKeyError
from logsegment._decode import decoded
from logsegment._options import OnError, PartitionOptions, ReadOptions, Unreadable
from logsegment._places import directory_of, here, is_stored, redacted_uri
from logsegment._storage import reached
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, UNREADABLE, DamagedInput, handle_exit, input_errors, words_of, worst
from logsegment.cli.help import Verb
from logsegment.cli.inputs import ensure_segments
from logsegment.cli.messages import say
from logsegment.cli.notes import show_note, show_notes
from logsegment.cli.number_types import whole
from logsegment.cli.options import Iso, IsRedacted, Quiet, Reading, RedactKey, bind_args, examples, redactor_of
from logsegment.cli.output.findings import report
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.records import JsonBytes, JsonForm, JsonLines, RowFilter, ensure_topics, json_columns, say_others
from logsegment.cli.paths import STDIN, PartitionPaths
from logsegment.cli.redaction import Redactor
from logsegment.cli.values import ValueArguments, typed, unknown_schemas
from logsegment.inputs.input_segment import input_of
from logsegment.partition.follow import Follower, Piece
from logsegment.segment_files.discovery import found_in, is_gap, is_taken

#: Seconds between two looks: at files of this machine, and at a store, which is asked for a listing.
INTERVAL = 0.5
STORE_INTERVAL = 10.0
BETWEEN = f"Look for new records every SECONDS; {INTERVAL} by default, {STORE_INTERVAL:g} if a PATH is in a store."

#: Seconds for which what is gone may come back.
WAIT = 10.0
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
    wait: Annotated[float, VerbOption(WAITING, "--wait SECONDS", kind=click.FloatRange(min=0))] = WAIT
    iso: Iso
    is_redacted: IsRedacted
    redact_key: RedactKey
    on_error: Annotated[OnError, ReadOptions]
    unreadable: Annotated[Unreadable, ReadOptions]
    reading: Reading
    quiet: Quiet


@dataclass
class Following:
    """The followed logs, and the form of the output.

    Attributes:
        code: exit code, as far as it is known.
        replicas: the directory that is followed of each partition.
    """

    options: FollowArguments
    sink: JsonLines
    redactor: Redactor | None = None
    typed: ReadOptions = field(default_factory=ReadOptions)
    code: int = CLEAN
    followers: dict[str, Follower] = field(default_factory=dict)
    replicas: ReplicaChoice = field(default_factory=lambda: ReplicaChoice(PartitionOptions()))
    uploaded: set[str] = field(default_factory=set)
    #: Paths that are gone, and since when by the clock.
    gone: dict[str, tuple[float, FileNotFoundError]] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)

    def look(self, paths: Sequence[str]) -> bool:
        """Write what is new; true when there was something."""
        is_first = not self.followers
        # A partition that comes later is new from its first record on.
        start = self.options.offset if is_first else self.options.offset or 0
        found = [self._look_at(path, start) for path in paths]
        return any(found)

    def _look_at(self, path: str, start: int | None) -> bool:
        try:
            files, left_out = found_in(path, has_patterns=False, options=None)
        except FileNotFoundError as error:
            # Retention may leave nothing of what was uploaded until the next segment comes.
            if path not in self.uploaded:
                since, _ = self.gone.setdefault(path, (time.monotonic(), error))
                if time.monotonic() - since >= self.options.wait:
                    raise
            return False
        self.gone.pop(path, None)
        try:
            chosen = FoundSegments(files).of_partition(self.options.topic, self.options.partition)
        except ValueError:
            # The partition is in another path, or comes later.
            return False
        with input_errors():
            chosen = self.replicas.of(chosen)
        self.uploaded |= {path} if any(is_stored(file.path) for file in files) else set()
        if not any(is_stored(file.path) for file in files):
            # In a store the checkpoint would cost a request with each look, and uploads begin where the log begins.
            chosen, findings = FoundSegments(chosen).with_log_starts(PartitionOptions(log_start_offset=self.options.log_start_offset))
            show_notes([finding for finding in findings if finding.path not in self.reported], quiet=self.options.quiet)
            self.reported.update(finding.path for finding in findings)
        found = [self._look(directory, segments, start, left_out) for directory, segments in by_partition(path, chosen)]
        return any(found)

    def _look(self, directory: str, segments: Sequence[SegmentFile], start: int | None, left_out: Sequence[Finding]) -> bool:
        ensure_topics(self.sink.columns, [(directory, segments[0].topic)], control=self.options.control)
        if directory not in self.followers:
            ensure_segments([input_of(segment) for segment in segments if not segment.is_listed], self.options.reading)
        follower = self.followers.setdefault(directory, Follower(start, self._read(segments[0]), self.options.wait))
        self._note_swaps(left_out)
        self._report_gaps([finding for finding in left_out if directory_of(finding.path) == redacted_uri(segments[0].directory)], follower)
        found = False
        try:
            for look in follower.look(segments):
                found |= self._report(directory, look)
        except RecordBatchError as error:
            raise self._damaged(directory, error) from None
        except FileNotFoundError:
            return found  # renamed or deleted since it was listed; the next look lists it again
        except SegmentKeyError as error:
            if self.options.on_error == "raise":
                raise
            self._report(directory, error)
        return found

    def _read(self, segment: SegmentFile) -> ReadOptions:
        """Return the options of the reads of a segment's partition."""
        return replace(
            self.typed,
            on_error=self.options.on_error,
            unreadable=self.options.unreadable,
            control=self.options.control,
            topic=segment.topic,
            partition=segment.partition,
            **self.options.reading,
        )

    def _note_swaps(self, left_out: Sequence[Finding]) -> None:
        """Say once which files of completed swaps are read."""
        new = [finding for finding in left_out if is_taken(finding) and finding.path not in self.reported]
        if not self.options.quiet:
            for finding in new:
                show_note(finding)
        self.reported.update(finding.path for finding in new)

    def _report_gaps(self, left_out: Sequence[Finding], follower: Follower) -> None:
        """Say once of each upload that is not read what will be missing among what is shown."""
        if follower.next_offset is not None:
            new = [finding for finding in left_out if finding.path not in self.reported and is_gap(finding, follower.next_offset)]
            for finding in new:
                show_note(finding)
            self.reported.update(finding.path for finding in new)

    def _say_once(self, text: str) -> None:
        if text not in self.reported:
            say(text)
        self.reported.add(text)

    def _report(self, directory: str, look: Piece | str | SegmentKeyError) -> bool:
        if isinstance(look, Piece):
            self._write(look)
            return True
        if isinstance(look, SegmentKeyError):
            self._say_once(words_of(look))
            self.code = UNREADABLE
            return False
        if not self.options.quiet:
            say(f"{directory}: {look}")
        return False

    def _damaged(self, name: str, error: RecordBatchError) -> DamagedInput:
        return DamagedInput(error.path or redacted_uri(name), error, redactor=self.redactor)

    def _write(self, piece: Piece) -> None:
        stream = decoded(*piece.part)
        try:
            with stream:
                self.sink.write(stream, lambda: None)
        except RecordBatchError as error:
            raise self._damaged(piece.segment.path, error) from None
        finally:
            sys.stdout.buffer.flush()
        if (unknown := stream.unknown_schemas) and not self.options.quiet:
            topic = piece.segment.topic or redacted_uri(piece.segment.path)
            self._say_once(f"values of {topic} were not decoded: no schema for {unknown_schemas(unknown)}")
        own = [finding for finding in stream.findings if piece.known is None or finding.position <= piece.known]
        found = report(own, redacted_uri(piece.segment.path), Progress(quiet=True), quiet=self.options.quiet, redactor=self.redactor)
        self.code = worst(self.code, found)


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
    access = options.store.storage_options, options.store.decryption_keys, options.store.layout
    paths = FoundSegments.expanded([reached(path, *access) for path in options.paths])
    listed, _ = found_in(paths, has_patterns=False, options=None)
    try:
        listed = FoundSegments(listed).of_partition(options.topic, options.partition)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    replicas = ReplicaChoice(PartitionOptions(replica=options.replica))
    with input_errors():
        listed = replicas.of(listed)
    chosen = json_columns(options.columns, options.decoding, control=options.control)
    ensure_topics(chosen, ((segment.path, segment.topic) for segment in listed), control=options.control)
    say_others(chosen, (segment.topic for segment in listed), control=options.control, quiet=options.quiet)
    redactor = redactor_of(options.is_redacted, options.redact_key, quiet=options.quiet)
    if redactor and options.form:
        raise click.UsageError("--bytes and --redact cannot be combined: redacted records have no bytes")
    sink = JsonLines(chosen, RowFilter(None, None, None, None), JsonForm(options.form or "auto", options.iso), 1, redactor)
    places = [(segment.topic, segment.source()) for segment in listed]
    following = Following(options, sink, redactor, typed(options, sink.columns, places), replicas=replicas)
    usual = STORE_INTERVAL if any(here(path) is None for path in paths) else INTERVAL
    with suppress(KeyboardInterrupt):
        _until_idle(following, paths, options.interval or usual, options.idle_exit)
    return following.code


def _until_idle(following: Following, paths: Sequence[str], interval: float, idle_exit: float | None) -> None:
    since = time.monotonic()
    while True:
        if following.look(paths):
            since = time.monotonic()
        left = math.inf if idle_exit is None else since + idle_exit - time.monotonic()
        if left <= 0:
            for _, error in following.gone.values():
                raise error
            return
        time.sleep(min(interval, left))


def by_partition(path: str, files: Sequence[SegmentFile]) -> Iterator[tuple[str, list[SegmentFile]]]:
    """Yield the partitions of a path with their segments; a file that is named is a partition of its own."""
    for directory, group in groupby(files, key=lambda segment: segment.directory):
        segments = list(group)
        is_named = len(segments) == 1 and segments[0].path == path
        yield (path if is_named else directory), segments
