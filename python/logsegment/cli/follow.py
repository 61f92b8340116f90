"""`logsegment follow`: new records of growing logs, as JSON lines, until Ctrl-C."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import click

from logsegment._core import Finding, RecordBatchError
from logsegment._decode import decode
from logsegment._options import OnError, Values
from logsegment.analysis.redaction import Redactor
from logsegment.cli.exit_codes import CLEAN, FOUND, UNREADABLE, DamagedInput, ending, words_of
from logsegment.cli.inputs import STDIN, ensure_topic, tell_gaps
from logsegment.cli.messages import say
from logsegment.cli.options import (
    ColumnsType,
    examples,
    experimental_option,
    on_error_option,
    paths_argument,
    quiet_option,
    redact_options,
    redactor_of,
    registry_option,
    taking,
    values_option,
)
from logsegment.cli.output.findings import tell
from logsegment.cli.output.progress import Progress
from logsegment.cli.output.records import Form, JsonLines, RowFilter, ensure_topics, json_columns, say_others
from logsegment.log.follow import Follower, Piece
from logsegment.segment_files.discovery import SegmentFile, find_segments, found_in, is_gap
from logsegment.stores.uri import directory_of, here, is_stored, shown
from logsegment.tiered import SegmentKeyError

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: Seconds between two looks: at files of this machine, and at a store, which is asked for a listing.
INTERVAL = 0.5
STORE_INTERVAL = 10.0
BETWEEN = f"Seconds between two looks; {INTERVAL} by default, {STORE_INTERVAL:g} where a PATH is in a store."


@dataclass(frozen=True)
class FollowArguments:
    """The arguments of `follow`."""

    paths: tuple[str, ...]
    offset: int | None
    columns: list[str] | None
    form: Form | None
    control: bool
    values: Values
    topic: str | None
    interval: float | None
    idle_exit: float | None
    is_redacted: bool
    redact_key: str | None
    on_error: OnError
    experimental: bool
    codecs: Registry | None
    quiet: bool


@dataclass
class Following:
    """What is followed, and how it is written.

    Attributes:
        code: exit code, as far as it is known.
    """

    options: FollowArguments
    sink: JsonLines
    redactor: Redactor | None = None
    code: int = CLEAN
    followers: dict[str, Follower] = field(default_factory=dict)
    uploaded: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    def look(self, paths: Sequence[str]) -> bool:
        """Write what is new; true when there was something."""
        is_first = not self.followers
        # A partition that comes later is new from its first record on.
        start = self.options.offset if is_first else self.options.offset or 0
        found = [self._look_at(path, start) for path in paths]
        return any(found)

    def _look_at(self, path: str, start: int | None) -> bool:
        try:
            files, left_out = found_in(path)
        except FileNotFoundError:
            # Retention may leave nothing of what was uploaded until the next segment comes.
            if path not in self.uploaded:
                raise
            return False
        self.uploaded |= {path} if any(is_stored(one.path) for one in files) else set()
        found = [self._look(directory, segments, start, left_out) for directory, segments in by_partition(path, files)]
        return any(found)

    def _look(self, directory: str, segments: Sequence[SegmentFile], start: int | None, left_out: Sequence[Finding]) -> bool:
        ensure_topics(self.sink.columns, [(directory, segments[0].topic or self.options.topic)], control=self.options.control)
        follower = self.followers.setdefault(
            directory, Follower(start, experimental=self.options.experimental, on_error=self.options.on_error)
        )
        self._tell_gaps([one for one in left_out if directory_of(one.path) == shown(segments[0].directory)], follower)
        found = False
        try:
            for one in follower.look(segments):
                found |= self._tell(directory, one)
        except RecordBatchError as error:
            raise self._damaged(directory, error) from None
        except FileNotFoundError:
            return found  # renamed or deleted since it was listed; the next look lists it again
        except SegmentKeyError as error:
            if self.options.on_error == "raise":
                raise
            self._tell(directory, error)
        return found

    def _tell_gaps(self, left_out: Sequence[Finding], follower: Follower) -> None:
        """Say once of each upload that is not read what will be missing among what is shown."""
        if follower.next_offset is not None:
            new = [one for one in left_out if one.path not in self.told and is_gap(one, follower.next_offset)]
            tell_gaps(new)
            self.told.update(one.path for one in new)

    def _say_once(self, text: str) -> None:
        if text not in self.told:
            say(text)
        self.told.add(text)

    def _tell(self, directory: str, one: Piece | str | SegmentKeyError) -> bool:
        if isinstance(one, Piece):
            self._write(one)
            return True
        if isinstance(one, SegmentKeyError):
            self._say_once(words_of(one))
            self.code = UNREADABLE
            return False
        if not self.options.quiet:
            say(f"{directory}: {one}")
        return False

    def _damaged(self, name: str, error: RecordBatchError) -> DamagedInput:
        return DamagedInput(error.path or shown(name), error, redactor=self.redactor)

    def _write(self, piece: Piece) -> None:
        stream = decode(
            piece.segment.source(piece.position, piece.stop),
            columns=self.sink.columns,
            on_error=self.options.on_error,
            control=self.options.control,
            start_offset=piece.start,
            end_offset=piece.end,
            topic=self.options.topic if piece.segment.topic is None else piece.segment.topic,
            partition=piece.segment.partition,
            experimental=self.options.experimental,
            codecs=self.options.codecs,
        )
        try:
            with stream:
                self.sink.write(stream, lambda: None)
        except RecordBatchError as error:
            raise self._damaged(piece.segment.path, error) from None
        finally:
            sys.stdout.buffer.flush()
        own = [one for one in stream.findings if piece.known is None or one.position <= piece.known]
        if tell(own, shown(piece.segment.path), Progress([], is_wanted=False), quiet=self.options.quiet, redactor=self.redactor):
            self.code = max(self.code, FOUND)


@click.command(
    short_help="New records of growing logs, as JSON lines.",
    epilog=examples(
        "logsegment follow /var/lib/kafka/data/orders-0",
        "logsegment follow orders-0 --offset 1042 --columns offset,key,value",
        "logsegment follow orders-0 --idle-exit 10 | wc -l",
        "logsegment follow __consumer_offsets-1 --values internal",
    ),
)
@paths_argument
@click.option("--offset", type=click.IntRange(min=0), metavar="N", help="From this offset on; without it, what comes from now on.")
@click.option("--columns", type=ColumnsType(), help="Record columns, in this order; see the guide for all names.")
@click.option("--bytes", "form", type=click.Choice(["auto", "utf8", "base64", "hex"]), help="Bytes in JSON; auto: text or {base64}.")
@click.option("--control", is_flag=True, help="Transaction markers and other control records too.")
@values_option
@click.option("--topic", metavar="NAME", help="The topic, where no directory tells it.")
@click.option("--interval", type=click.FloatRange(min=0.01), help=BETWEEN)
@click.option("--idle-exit", type=click.FloatRange(min=0), metavar="SECONDS", help="End when nothing new came for so long.")
@redact_options
@on_error_option
@experimental_option
@registry_option
@quiet_option
@ending
@taking(FollowArguments)
def follow(options: FollowArguments) -> int:
    """Write the records that come to the logs of every PATH, as soon as their batches are complete, until Ctrl-C.

    PATH is a partition directory, a tree of them, or a segment, here or in a store. Rolled segments are followed into the next one. That a
    log was cut below what was shown is told on stderr, and what stands there now is shown. Of tiered storage, and of what is copied to a
    store, whole segments come: a record is shown once its segment was closed and uploaded.
    """
    if STDIN in options.paths:
        raise click.UsageError(f"{STDIN}: a pipe is read once, and does not grow; `logsegment cat` reads it")
    listed = [segment for path in options.paths for segment in find_segments(path)]
    ensure_topic(options.topic, (segment.topic for segment in listed))
    chosen = json_columns(options.columns, control=options.control, values=options.values)
    ensure_topics(chosen, ((segment.path, segment.topic or options.topic) for segment in listed), control=options.control)
    say_others(chosen, (segment.topic or options.topic for segment in listed), control=options.control, quiet=options.quiet)
    redactor = redactor_of(options.is_redacted, options.redact_key, quiet=options.quiet)
    if redactor and options.form:
        raise click.UsageError("--bytes is about bytes, of which --redact shows none")
    sink = JsonLines(chosen, RowFilter(None, None, None, None), options.form or "auto", 1, redactor)
    following = Following(options, sink, redactor)
    usual = STORE_INTERVAL if any(here(path) is None for path in options.paths) else INTERVAL
    with suppress(KeyboardInterrupt):
        _until_idle(following, options.paths, options.interval or usual, options.idle_exit)
    return following.code


def _until_idle(following: Following, paths: Sequence[str], interval: float, idle_exit: float | None) -> None:
    since = time.monotonic()
    while True:
        if following.look(paths):
            since = time.monotonic()
        left = math.inf if idle_exit is None else since + idle_exit - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(interval, left))


def by_partition(path: str, files: Sequence[SegmentFile]) -> Iterator[tuple[str, list[SegmentFile]]]:
    """Yield the partitions of a path with their segments; a file that is named is a partition of its own."""
    for directory, group in groupby(files, key=lambda segment: segment.directory):
        segments = list(group)
        is_named = len(segments) == 1 and segments[0].path == path
        yield (path if is_named else directory), segments
