"""Which partition of one side is held against which of the other."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from logsegment._core import Finding
from logsegment.segment_files.discovery import SegmentFile, found_in
from logsegment.stores.uri import absolute, directory_of, is_tiered, placed, shown, untiered


@dataclass(slots=True)
class Pair:
    """The segments of one partition on both sides; none where a side lacks it. `left_out` is told of uploads that are not read."""

    name: str
    topic: str | None = None
    partition: int | None = None
    a: list[SegmentFile] = field(default_factory=list)
    b: list[SegmentFile] = field(default_factory=list)
    left_out: list[Finding] = field(default_factory=list)


def pairs_of(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> list[Pair]:
    """Pair the partitions of two paths, in order. Two files or partition directories are a pair, whatever their names.

    Raises:
        ValueError: when one is a partition and the other a tree without it, or two directories of a tree are the same partition.
        OSError: when there is no such path, or no segment in it.
    """
    ours, theirs = _partitions(a), _partitions(b)
    if (not ours.is_tree and not theirs.is_tree) or (len(ours.names) == len(theirs.names) == 1 and not (ours.topic and theirs.topic)):
        name = ours.names[0] if ours.topic or not theirs.topic else theirs.names[0]
        return [_pair(name, ours.files, theirs.files, [*ours.left_out, *theirs.left_out])]
    for single, tree in ((ours, theirs), (theirs, ours)):
        if not single.is_tree and single.names[0] not in tree.names:
            raise ValueError(f"{tree.place} holds no {single.names[0]}; name the partition that is meant")
    names = ours.names if not ours.is_tree else theirs.names if not theirs.is_tree else _both(ours.names, theirs.names)
    return [_pair(name, ours.of(name), theirs.of(name), [*ours.left_out_of(name), *theirs.left_out_of(name)]) for name in names]


@dataclass(slots=True)
class _Partitions:
    """What lies below a path: a tree of partitions, or one."""

    place: str
    is_tree: bool
    names: list[str]
    files: list[SegmentFile]
    left_out: list[Finding]

    @property
    def topic(self) -> str | None:
        """Of the first file."""
        return self.files[0].topic

    def of(self, name: str) -> list[SegmentFile]:
        return [file for file in self.files if _name(file) == name]

    def left_out_of(self, name: str) -> list[Finding]:
        directories = {shown(file.directory) for file in self.of(name)}
        return [finding for finding in self.left_out if directory_of(finding.path) in directories]


def _partitions(path: str | os.PathLike[str]) -> _Partitions:
    place, (files, left_out) = placed(path), found_in(path)
    directories: dict[str, str] = {}
    for file in files:
        if directories.setdefault(_name(file), file.directory[:]) != file.directory[:]:
            both = f"{shown(directories[_name(file)])} and {shown(file.directory)}"
            raise ValueError(f"{shown(place)} holds {_name(file)} twice: {both}")
    is_file = len(files) == 1 and _where(files[0].path) == _where(place)
    is_tree = not is_file and _where(files[0].directory) != _where(place)
    return _Partitions(shown(place), is_tree, [*directories], files, left_out)


def _where(path: str) -> str:
    """A path that names the same place whether uploads are seen there as a log directory or not."""
    return shown(absolute(untiered(path) if is_tiered(path) else path)).rstrip("/")


def _name(file: SegmentFile) -> str:
    if file.topic is not None:
        return f"{file.topic}-{file.partition}"
    return os.path.basename(os.path.abspath(file.directory)) if os.path.isdir(file.directory) else os.path.basename(file.directory[:])


def _both(ours: list[str], theirs: list[str]) -> list[str]:
    return [*ours, *(name for name in theirs if name not in set(ours))]


def _pair(name: str, a: list[SegmentFile], b: list[SegmentFile], left_out: list[Finding]) -> Pair:
    known = next((file for file in (*a, *b) if file.topic is not None), (a or b)[0])
    return Pair(name, known.topic, known.partition, a, b, left_out)
