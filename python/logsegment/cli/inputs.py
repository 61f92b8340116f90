"""Paths and URIs of the command line to inputs: files, partition directories, trees of them, standard input."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import click

from logsegment._core import FileSource, Finding
from logsegment._log_paths import is_of_0_7
from logsegment.cli.messages import say
from logsegment.log import reader
from logsegment.log.reader import alone, arranged
from logsegment.segment_files.discovery import SegmentFile, found_in, is_gap, segments_beside, size_of
from logsegment.stores.listing import is_directory
from logsegment.stores.uri import directory_of, is_stored, shown
from logsegment.tiered.errors import SegmentKeyError

STDIN = "-"


@dataclass(frozen=True)
class InputSegment:
    """One input.

    Attributes:
        path: the file, or `-`.
        file: the same with what its names tell; None for standard input.
        is_listed: found in a directory that was named, not named itself.
        is_regular: can be read by position and more than once.
        size: bytes, when it is regular.
    """

    path: str
    file: SegmentFile | None = None
    is_listed: bool = False
    is_regular: bool = False
    size: int = 0

    @property
    def name(self) -> str:
        """The path as text that can be printed and put into JSON; without the secrets of a URI."""
        return "(stdin)" if self.path == STDIN else shown(self.path)

    @property
    def is_stored(self) -> bool:
        """It lies in a store."""
        return is_stored(self.path)

    @property
    def is_of_0_7(self) -> bool:
        """Named as a segment of Kafka 0.7 is."""
        return is_of_0_7(self.path)

    @property
    def directory(self) -> str:
        """Where it lies."""
        return directory_of(self.path)

    @property
    def topic(self) -> str | None:
        """Told by the directory's name."""
        return self.file.topic if self.file else None

    @property
    def partition(self) -> int | None:
        """Told by the directory's name."""
        return self.file.partition if self.file else None

    @property
    def base_offset(self) -> int | None:
        """Told by the file's name."""
        return self.file.base_offset if self.file else None


def segments_of(paths: Iterable[str], left_out: list[Finding] | None = None) -> list[InputSegment]:
    """Return the segments that the paths name; those of a directory in the order of topic, partition and offset.

    Args:
        paths: as they were given.
        left_out: gets what is told of uploads in tiered storage that are not read; without it, offsets that none of them has are told.

    Raises:
        OSError: when a path does not exist, a directory cannot be listed or holds no segments.
    """
    told: list[Finding] = []
    segments = [segment for path in paths for segment in _named(path, told)]
    if left_out is None:
        tell_gaps(filter(is_gap, told))
    else:
        left_out += told
    return segments


def tell_gaps(findings: Iterable[Finding]) -> None:
    """Say which uploads of tiered storage are not read that alone have offsets."""
    for finding in findings:
        say(f"{finding.path.rpartition('@')[0]}: {finding.severity} [{finding.rule}]: {finding.message}")


def ensure_topic(topic: str | None, told: Iterable[str | None]) -> None:
    """Fail where --topic names a topic and directories tell others: it would neither choose among them nor give them another name.

    Raises:
        click.UsageError: then.
    """
    others = [] if topic is None else sorted({name for name in told if name is not None} - {topic})
    if others:
        known = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
        raise click.UsageError(f"--topic {topic}: the directories tell the topic ({known}); name those that are to be read")


def whole_partition(segment: InputSegment) -> list[SegmentFile]:
    """Return the segments of the partition that a segment belongs to, or only itself if its directory is no partition's."""
    if segment.file is None:
        return []
    if segment.partition is None or not segment.is_regular or segment.base_offset is None:
        return [segment.file]
    return segments_beside(segment.file)


def in_range(segments: Sequence[InputSegment], start: int | None, end: int | None) -> list[InputSegment]:
    """Return the inputs that may hold offsets from `start` to before `end`.

    Those of a directory are in the order of the offsets that they hold. A file that was named itself is always among them. A segment that
    contradicts its name has a finding.
    """
    found: list[InputSegment] = []
    for directory, group in groupby(segments, lambda one: one.directory if one.is_listed else None):
        inputs = list(group)
        if directory is None:
            found += [one if one.file is None else replace(one, file=alone(one.file, reports=True)) for one in inputs]
            continue
        by_path = {one.path: one for one in inputs}
        files = arranged([one.file for one in inputs if one.file is not None], reports=True)
        found += [replace(by_path[file.path], file=file) for file in reader.in_range(files, start, end)]
    return found


def _named(path: str, left_out: list[Finding]) -> list[InputSegment]:
    if path == STDIN:
        return [InputSegment(STDIN)]
    is_listed = is_directory(path)
    files, told = found_in(path)
    left_out += told
    return [_input(file, is_listed) for file in files]


def _input(file: SegmentFile, is_listed: bool) -> InputSegment:
    if is_stored(file.path):
        return InputSegment(file.path, file, is_listed, is_regular=True, size=_size(file))
    status = os.stat(file.path)
    return InputSegment(file.path, file, is_listed, is_regular=stat.S_ISREG(status.st_mode), size=status.st_size)


def _size(file: SegmentFile) -> int:
    """Return the bytes of a stored file; 0 if its key is missing, which its reader reports."""
    try:
        return size_of(file)
    except SegmentKeyError:
        return 0


#: Told how many bytes of the input are behind.
Seen = Callable[[int], None]


class Flow:
    """A pipe or another file that is read front to back, piece by piece as it comes.

    What a signal raises inside of `read` comes out of native code as an OSError; `reraise` brings it back.
    """

    def __init__(self, raw: Any, seen: Seen | None = None) -> None:
        self._raw = raw
        self._seen = seen
        self._raised: BaseException | None = None
        self._position = 0

    def read(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes; none at the end."""
        try:
            given: bytes = self._raw.read(size) or b""
        except BaseException as raised:
            self._raised = raised
            raise
        self._position += len(given)
        if self._seen:
            self._seen(self._position)
        return given

    @contextlib.contextmanager
    def reraising(self) -> Iterator[Flow]:
        """Raise again what `read` raised, as it was."""
        try:
            yield self
        except Exception:
            if self._raised is not None:
                raise self._raised from None
            raise


@contextlib.contextmanager
def opened(
    segment: InputSegment, *, is_read_twice: bool = False, seen: Seen | None = None, bytes_of: tuple[int, int | None] = (0, None)
) -> Iterator[Any]:
    """Open the source of a segment.

    Args:
        segment: what to read.
        is_read_twice: copy what goes by once to a temporary file.
        seen: read a regular file of this machine front to back too, and tell this how far.
        bytes_of: what is wanted of a file that is read by position: its first byte, and the one behind the last.
    """
    if segment.is_regular and (seen is None or segment.is_stored):
        yield FileSource(segment.path, *bytes_of) if segment.file is None else segment.file.source(*bytes_of)
        return
    with _raw(segment) as raw, Flow(raw, seen).reraising() as flow:
        if not is_read_twice:
            yield flow
            return
        with tempfile.TemporaryDirectory(prefix="logsegment-") as directory:
            spool = Path(directory) / "stream.log"
            with spool.open("xb") as copy:
                shutil.copyfileobj(flow, copy, 1 << 20)
            yield FileSource(str(spool))


@contextlib.contextmanager
def _raw(segment: InputSegment) -> Iterator[BinaryIO]:
    if segment.path == STDIN:
        # The core asks for large pieces; a buffer in between would only copy them.
        yield getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        return
    with open(segment.path, "rb", buffering=0) as file:
        yield file
