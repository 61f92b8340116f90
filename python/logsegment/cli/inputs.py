"""Paths and URIs of the command line to inputs: files, partition directories, trees of them, standard input."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import click

from logsegment._core import Finding
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
        return self.path.endswith(".kafka")

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
    """All segments that the paths name, in their order; of a directory in the order of topic, partition and offset.

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
    """The segments of the partition that a segment belongs to: its neighbours if its directory is a partition's, else itself."""
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
    """Bytes of a stored file; 0 of one that nobody can open without a key: who reads it is told."""
    try:
        return size_of(file)
    except SegmentKeyError:
        return 0
