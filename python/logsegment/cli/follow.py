"""`logsegment follow`: new records of growing logs, as JSON lines, until Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import click

import logsegment as ls
from logsegment.cli.decoding import decode_option, ensure_topics, json_columns
from logsegment.cli.ending import CLEAN, Damaged, ending
from logsegment.cli.findings import tell
from logsegment.cli.messages import printable, say
from logsegment.cli.options import (
    ColumnsType,
    examples,
    experimental_option,
    paths_argument,
    quiet_option,
    registry_option,
)
from logsegment.cli.paths import STDIN, ensure_topic, tell_gaps
from logsegment.cli.progress import Progress
from logsegment.cli.records import Form, JsonLines, Rows
from logsegment.cli.redact import redact_options, redactor_of
from logsegment.following import Follower, Piece
from logsegment.redacting import Redactor
from logsegment.segments import SegmentFile, directory_of, found_in, is_gap
from logsegment.stores.uri import is_stored, shown

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: Seconds between two looks.
INTERVAL = 0.5


@dataclass
class Following:
    """What is followed, and how it is written."""

    sink: JsonLines
    control: bool
    topic: str | None
    experimental: bool
    codecs: Registry | None
    redactor: Redactor | None
    quiet: bool
    start: int | None
    followers: dict[str, Follower] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)

    def look(self, paths: Sequence[str]) -> bool:
        """Write what is new; true when there was something."""
        found = False
        is_first = not self.followers
        left_out: list[ls.Finding] = []
        for directory, segments in partitions(paths, left_out):
            ensure_topics(self.sink.columns, [(directory, segments[0].topic or self.topic)], control=self.control)
            # A partition that comes later is new from its first record on.
            start = self.start if is_first else self.start or 0
            follower = self.followers.setdefault(directory, Follower(start, experimental=self.experimental))
            self._tell_gaps([one for one in left_out if directory_of(one.path) == shown(segments[0].directory)], follower)
            try:
                for one in follower.look(segments):
                    found |= self._tell(directory, one)
            except ls.RecordBatchError as error:
                raise Damaged(printable(directory), error, "`logsegment verify` tells what is lost", self.redactor) from None
            except FileNotFoundError:
                continue  # renamed or deleted since it was listed; the next look lists it again
        return found

    def _tell_gaps(self, left_out: Sequence[ls.Finding], follower: Follower) -> None:
        """Say once of each upload that is not read what will be missing among what is shown."""
        if follower.next_offset is not None:
            new = [one for one in left_out if one.path not in self.told and is_gap(one, follower.next_offset)]
            tell_gaps(new)
            self.told.update(one.path for one in new)

    def _tell(self, directory: str, one: Piece | str) -> bool:
        if isinstance(one, Piece):
            self._write(one)
            return True
        if not self.quiet:
            say(f"{directory}: {one}")
        return False

    def _write(self, piece: Piece) -> None:
        stream = ls.decode(
            ls.FileSource(piece.segment.path, piece.position),
            columns=self.sink.columns,
            control=self.control,
            start_offset=piece.start,
            end_offset=piece.end,
            topic=self.topic if piece.segment.topic is None else piece.segment.topic,
            partition=piece.segment.partition,
            experimental=self.experimental,
            codecs=self.codecs,
        )
        with stream:
            self.sink.write(stream, lambda: None)
        sys.stdout.buffer.flush()
        # What stands behind the piece is for a later look.
        own = [one for one in stream.findings if one.baseOffset is not None and one.baseOffset < piece.end]
        tell(own, printable(piece.segment.path), Progress([], is_wanted=False), quiet=self.quiet, redactor=self.redactor)


@click.command(
    short_help="New records of growing logs, as JSON lines.",
    epilog=examples(
        "logsegment follow /var/lib/kafka/data/orders-0",
        "logsegment follow orders-0 --offset 1042 --columns offset,key,value",
        "logsegment follow orders-0 --idle-exit 10 | wc -l",
        "logsegment follow __consumer_offsets-1 --decode",
    ),
)
@paths_argument
@click.option("--offset", type=click.IntRange(min=0), metavar="N", help="From this offset on; without it, what comes from now on.")
@click.option("--columns", type=ColumnsType(), help="Record columns, in this order; see the guide for all names.")
@click.option("--bytes", "form", type=click.Choice(["auto", "utf8", "base64", "hex"]), help="Bytes in JSON; auto: text or {base64}.")
@click.option("--control", is_flag=True, help="Transaction markers and other control records too.")
@decode_option
@click.option("--topic", metavar="NAME", help="The topic, where no directory tells it.")
@click.option("--interval", type=click.FloatRange(min=0.01), default=INTERVAL, show_default=True, help="Seconds between two looks.")
@click.option("--idle-exit", type=click.FloatRange(min=0), metavar="SECONDS", help="End when nothing new came for so long.")
@redact_options
@experimental_option
@registry_option
@quiet_option
@ending
def follow(
    paths: tuple[str, ...],
    offset: int | None,
    columns: list[str] | None,
    form: Form | None,
    control: bool,
    is_decoded: bool,
    topic: str | None,
    interval: float,
    idle_exit: float | None,
    is_redacted: bool,
    redact_key: str | None,
    experimental: bool,
    codecs: Registry | None,
    quiet: bool,
) -> int:
    """Write the records that come to the logs of every PATH, as soon as their batches are complete, until Ctrl-C.

    PATH is a partition directory, a tree of them, or a segment, on this machine. Rolled segments are followed into the next one. That a
    log was cut below what was shown is told on stderr, and what stands there now is shown.
    """
    for path in paths:
        if path == STDIN or is_stored(path):
            raise click.UsageError(f"{path}: only directories and files of this machine grow; `logsegment cat` reads the rest")
    listed = [segment for _, segments in partitions(paths) for segment in segments]
    ensure_topic(topic, (segment.topic for segment in listed))
    chosen = json_columns(columns, control=control, is_decoded=is_decoded)
    ensure_topics(chosen, ((segment.path, segment.topic or topic) for segment in listed), control=control)
    redactor = redactor_of(is_redacted, redact_key, quiet=quiet)
    if redactor and form:
        raise click.UsageError("--bytes is about bytes, of which --redact shows none")
    sink = JsonLines(chosen, Rows(None, None, None, None), form or "auto", 1, redactor)
    following = Following(sink, control, topic, experimental, codecs, redactor, quiet, offset)
    try:
        _until_idle(following, paths, interval, idle_exit)
    except KeyboardInterrupt:
        return CLEAN
    return CLEAN


def _until_idle(following: Following, paths: Sequence[str], interval: float, idle_exit: float | None) -> None:
    since = time.monotonic()
    while True:
        if following.look(paths):
            since = time.monotonic()
        if idle_exit is not None and time.monotonic() - since >= idle_exit:
            return
        time.sleep(interval)


def partitions(paths: Sequence[str], left_out: list[ls.Finding] | None = None) -> Iterator[tuple[str, list[SegmentFile]]]:
    """The partitions below the paths, each once, with their segments; a file that is named is one of its own.

    Args:
        paths: as they were given.
        left_out: gets what is told of uploads in tiered storage that are not read, before the first partition of their path.
    """
    for path in paths:
        found, told = found_in(path)
        if left_out is not None:
            left_out += told
        for directory, group in groupby(found, key=lambda segment: segment.directory):
            segments = list(group)
            is_named = len(segments) == 1 and segments[0].path == path
            yield (path if is_named else directory), segments
