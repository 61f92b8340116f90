"""The partitions of the two sides of a comparison, in pairs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from logsegment._core import Finding, FoundSegments, SegmentFile
from logsegment._places import absolute, directory_of, is_tiered, redacted_uri, to_internal_uri, untiered
from logsegment._text import listed
from logsegment.inputs.sources import Inputs
from logsegment.segment_files.log_start import UNREADABLE


@dataclass(slots=True)
class Pair:
    """The segments of one partition on both sides; none where a side lacks it. `left_out` are findings about uploads that are not read."""

    name: str
    topic: str | None = None
    partition: int | None = None
    a: list[SegmentFile] = field(default_factory=list)
    b: list[SegmentFile] = field(default_factory=list)
    left_out: list[Finding] = field(default_factory=list)


def chosen_pairs(pairs: list[Pair], topic: str | None, partition: int | None) -> list[Pair]:
    """Return the pairs of a topic and a partition number; None stands for all.

    Raises:
        ValueError: if there are none.
    """
    if topic is None and partition is None:
        return pairs
    chosen = [pair for pair in pairs if topic in (None, pair.topic) and partition in (None, pair.partition)]
    if not chosen:
        FoundSegments(file for pair in pairs for file in (*pair.a, *pair.b)).of_partition(topic, partition)
        raise ValueError(f"no name contains a topic and a partition: {', '.join(pair.name for pair in pairs)}")
    return chosen


def pairs_of(a: Inputs, b: Inputs) -> list[Pair]:
    """Pair the partitions of two sides, in order. Two files or partition directories are a pair, whatever their names.

    A partition that a side has in several directories is paired by the paths of the directories below the sides, or each of its directories
    with the only one of the other side.

    Raises:
        ValueError: when one is a partition and the other a tree without it, or directories of a partition cannot be paired.
    """
    ours, theirs = _partitions(a), _partitions(b)
    if (not ours.is_tree and not theirs.is_tree) or (len(ours.labels) == len(theirs.labels) == 1 and not (ours.topic and theirs.topic)):
        name = ours.names[0] if ours.topic or not theirs.topic else theirs.names[0]
        return [_pair(name, ours.files, theirs.files, [*ours.left_out, *theirs.left_out])]
    for single, tree in ((ours, theirs), (theirs, ours)):
        if not single.is_tree and single.names[0] not in tree.names:
            raise ValueError(f"{tree.place} holds no {single.names[0]}; name the partition that is meant")
    names = ours.names if not ours.is_tree else theirs.names if not theirs.is_tree else _both(ours.names, theirs.names)
    return [pair for name in names for pair in _pairs_of_partition(name, ours, theirs)]


def _pairs_of_partition(name: str, ours: _Partitions, theirs: _Partitions) -> Iterator[Pair]:
    """Yield the pairs of the directories of a partition; a partition that only one side has is without a counterpart."""
    mine, others = ours.directories_of(name), theirs.directories_of(name)
    labels = _both(list(mine), list(others))
    if len(mine) > 1 and len(others) > 1 and mine.keys() != others.keys():
        places = f"{len(mine)} directories of {ours.place} and in {len(others)} of {theirs.place}"
        raise ValueError(f"{name} is in {places}, whose paths do not pair: {listed(labels, 4)}; pass one directory of each")
    if len(mine) <= 1 and len(others) <= 1:
        labels = [name]
    elif len(others) == 1 or len(mine) == 1:
        labels = list(mine if len(mine) > 1 else others)
    for label in labels:
        a, b = (next(iter(found.values()), "") if len(found) <= 1 else found[label] for found in (mine, others))
        yield _pair(label, ours.of(a), theirs.of(b), [*ours.left_out_of(a), *theirs.left_out_of(b)])


@dataclass(slots=True)
class _Partitions:
    """The partitions of a path: those of a tree, or one.

    Attributes:
        place: the path.
        is_tree: the partitions are below it.
        labels: the name of the partition of each directory, and the path of the directory below the place.
        files: the segments.
        left_out: findings of files that are not read.
    """

    place: str
    is_tree: bool
    labels: dict[str, tuple[str, str]]
    files: list[SegmentFile]
    left_out: list[Finding]

    @property
    def topic(self) -> str | None:
        """Of the first file."""
        return self.files[0].topic

    @property
    def names(self) -> list[str]:
        """The names of the partitions."""
        return list(dict.fromkeys(name for name, _ in self.labels.values()))

    def directories_of(self, name: str) -> dict[str, str]:
        """Return the directories of a partition by their paths below the place."""
        return {label: directory for directory, (own, label) in self.labels.items() if own == name}

    def of(self, directory: str) -> list[SegmentFile]:
        return [file for file in self.files if file.directory[:] == directory]

    def left_out_of(self, directory: str) -> list[Finding]:
        is_first = directory == next(iter(self.labels))
        return [
            finding
            for finding in self.left_out
            # A checkpoint file is about all partitions of its directory.
            if (directory and directory_of(finding.path) == redacted_uri(directory)) or (is_first and finding.rule == UNREADABLE)
        ]


def _partitions(inputs: Inputs) -> _Partitions:
    files = inputs.files
    place = ", ".join(map(to_internal_uri, inputs.paths or [file.path for file in files]))
    left_out = [*inputs.left_out, *inputs.start_findings, *inputs.deleted_records()]
    where = _where(place)
    labels = {file.directory[:]: (_name(file), _where(file.directory).removeprefix(where).lstrip("/") or where) for file in files}
    is_file = len(files) == 1 and _where(files[0].path) == where
    is_tree = not is_file and _where(files[0].directory) != where
    return _Partitions(redacted_uri(place), is_tree, labels, files, left_out)


def _where(path: str) -> str:
    """Return a path that is the same whether or not its uploads are seen as a log directory."""
    return redacted_uri(absolute(untiered(path) if is_tiered(path) else path)).rstrip("/")


def _name(file: SegmentFile) -> str:
    if file.topic is not None:
        return f"{file.topic}-{file.partition}"
    return os.path.basename(os.path.abspath(file.directory)) if os.path.isdir(file.directory) else os.path.basename(file.directory[:])


def _both(ours: list[str], theirs: list[str]) -> list[str]:
    return [*ours, *(name for name in theirs if name not in set(ours))]


def _pair(name: str, a: list[SegmentFile], b: list[SegmentFile], left_out: list[Finding]) -> Pair:
    known = next((file for file in (*a, *b) if file.topic is not None), (a or b)[0])
    return Pair(name, known.topic, known.partition, a, b, left_out)
