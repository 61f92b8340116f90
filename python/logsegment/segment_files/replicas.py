"""Replicas: one partition in several directories, such as two disks or the trees of three brokers.

Reading all of them would give each record several times. So every API that returns or writes the records of a partition asks `one_replica`
for the directory that is read. `verify`, `batches`, `salvage` and `diff` take all directories.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from logsegment._core import Finding, log_end
from logsegment._log_paths import is_of_0_7
from logsegment._options import PartitionOptions, ReadOptions
from logsegment._text import listed
from logsegment.segment_files.output_names import NamedSegment
from logsegment.stores.listing import entry_of
from logsegment.stores.uri import absolute, here, is_stored, is_tiered, shown, untiered


class PlacedFile(NamedSegment, Protocol):
    """A segment with its place, as `logsegment.segment_files.discovery.SegmentFile` has it."""

    @property
    def is_listed(self) -> bool:
        """True if it was found in a directory."""


F = TypeVar("F", bound=PlacedFile)
#: Topic and number of a partition.
Name: TypeAlias = tuple[str, int]
#: The rule of a partition in several directories.
RULE = "SEG-18"
#: Directories that a message names.
_NAMED = 3


class ReplicaError(ValueError):
    """A partition in several directories, none of which is chosen.

    Args:
        problem: the partition and its directories.
        asked: True if an option chose, and its value fits no directory.
    """

    def __init__(self, problem: str, asked: bool = False) -> None:
        super().__init__(problem, asked)
        self.problem = problem
        self.asked = asked

    def text_for(self, option: str) -> str:
        """Return the text with the option as the caller has to write it, such as `--replica`."""
        if self.asked:
            return f"{option.rstrip('=')}: {self.problem}"
        return f'{self.problem}; choose one with {option} ("longest", "first" or the path of a directory)'

    def __str__(self) -> str:
        return self.text_for("replica=")


def directories_of(files: Iterable[F]) -> dict[Name, dict[str, list[F]]]:
    """Return the segments of the partitions that are in several directories, by directory in the order of the segments."""
    found: dict[Name, dict[str, list[F]]] = {}
    for file in files:
        if file.topic is not None and file.partition is not None:
            found.setdefault((file.topic, file.partition), {}).setdefault(_place(file), []).append(file)
    return {name: directories for name, directories in found.items() if len(directories) > 1}


def one_replica(files: Sequence[F], options: PartitionOptions) -> list[F]:
    """Return the segments without those of replicas that are not read.

    Args:
        files: of all arguments, in their order, and in the order of the paths below each.
        options: `replica` chooses among the directories of a partition.

    Raises:
        ReplicaError: if a partition is in several directories and `replica` does not choose one of them, or is a path without segments.
        OSError: if a segment cannot be read to find the longest replica.
    """
    replicas = directories_of(files)
    if options.replica is not None and options.replica not in ("longest", "first"):
        _ensure_known(options.replica, files)
    dropped: set[str] = set()
    for name, directories in replicas.items():
        dropped |= directories.keys() - {_chosen(name, directories, options.replica)}
    return [file for file in files if _place(file) not in dropped] if dropped else list(files)


class ReplicaChoice:
    """The directory of each partition that is read, for readers that look again and again: it stays the same.

    Args:
        options: `replica` chooses among the directories of a partition.
    """

    def __init__(self, options: PartitionOptions) -> None:
        self._options = options
        self._chosen: dict[Name, str] = {}

    def of(self, files: Sequence[F]) -> list[F]:
        """Return the segments without those of other replicas.

        Args:
            files: of all paths at first, later also of some of them.

        Raises:
            ReplicaError, OSError: as `one_replica`, also if another directory of a known partition has come.
        """
        kept = one_replica(files, self._options) if not self._chosen else list(files)
        found: list[F] = []
        for file in kept:
            if file.topic is None or file.partition is None:
                found.append(file)
                continue
            name, place = (file.topic, file.partition), _place(file)
            chosen = self._chosen.setdefault(name, place)
            if chosen == place:
                found.append(file)
            elif self._options.replica is None and _identity(chosen) != _identity(place):
                raise ReplicaError(_where(name, [chosen, place]))
        return found


def without_links(found: Sequence[Sequence[F]]) -> list[list[F]]:
    """Return the segments of each argument, those of a directory that several paths lead to only once.

    A directory that was listed counts before files that were named, an earlier argument before a later one, and a path before one with
    more links.
    """
    ranks: dict[object, dict[str, tuple[bool, int]]] = {}
    for number, files in enumerate(found):
        for file in files:
            own = ranks.setdefault(_identity(_place(file)), {})
            own[_place(file)] = min(own.get(_place(file), (True, number)), (not file.is_listed, number))
    if all(len(own) == 1 for own in ranks.values()):
        return [list(files) for files in found]
    kept = {place: min(own, key=lambda one: (*own[one], _links_in(one))) for own in ranks.values() for place in own}
    names = {(_place(file), _name(file)) for files in found for file in files if kept[_place(file)] == _place(file)}

    def counts(file: PlacedFile) -> bool:
        """Return True for the first file of a name in a directory, whatever the path of the directory."""
        name = kept[_place(file)], _name(file)
        is_new = name not in names
        names.add(name)
        return is_new or name[0] == _place(file)

    return [list(filter(counts, files)) for files in found]


def replica_findings(files: Iterable[PlacedFile]) -> tuple[str, list[Finding]]:
    """Return a finding (SEG-18) for each partition in several directories, and the path that is above these directories."""
    found = directories_of(files)
    findings = [
        Finding(RULE, "info", f"{_where(name, directories)}; readers of records need the option replica", f"{shown(first)}@0", 0, 0)
        for name, directories in found.items()
        for first in list(directories)[:1]
    ]
    places = [shown(place) for directories in found.values() for place in directories]
    # Of a URI too, whose parts `commonpath` would join.
    above = os.path.commonprefix([f"{place}/" for place in places])  # noqa: RUF071
    return above.rpartition("/")[0] or "/", findings


def _chosen(name: Name, directories: dict[str, list[F]], replica: str | os.PathLike[str] | None) -> str:
    """Return the directory of a partition that is read."""
    if replica is None:
        raise ReplicaError(_where(name, directories))
    if replica == "first":
        return next(iter(directories))
    if replica == "longest":
        # The first of several that are equally long.
        return max(directories, key=lambda directory: max(map(_end_of, directories[directory])))
    inside = [directory for directory in directories if _is_in(directory, replica)]
    if len(inside) != 1:
        have = "no directory" if not inside else "several directories"
        raise ReplicaError(f"{_where(name, directories)}, and {shown(os.fspath(replica))} has {have} of them", asked=True)
    return inside[0]


def _ensure_known(replica: str | os.PathLike[str], files: Sequence[PlacedFile]) -> None:
    """Raise an error for a path that has none of the segments, such as a misspelt one."""
    if files and not any(_is_in(directory, replica) for directory in dict.fromkeys(map(_place, files))):
        raise ReplicaError(f"{shown(os.fspath(replica))} is not a directory of the segments, nor one above them", asked=True)


def _is_in(directory: str, place: str | os.PathLike[str]) -> bool:
    """Return True if a directory is a place or below it. Links are followed."""
    inside, outside = here(directory), here(absolute(place))
    if inside is None or outside is None:
        end = shown(absolute(place)).rstrip("/")
        return inside is outside is None and f"{shown(directory).rstrip('/')}/".startswith(f"{end}/")
    real, above = os.path.realpath(inside), os.path.realpath(outside)
    return os.path.commonpath([real, above]) == above


def _end_of(file: PlacedFile) -> int:
    """Return the offset after the last valid batch of a segment; 0 if there is none."""
    if is_of_0_7(file.path):
        # An offset of Kafka 0.7 is a position.
        return (file.base_offset or 0) + entry_of(file.path).size
    end = log_end(file.path, file.base_offset or 0, _SKIPPING)
    return 0 if end.last is None else end.next_offset


def _where(name: Name, directories: Iterable[str]) -> str:
    places = list(map(shown, directories))
    return f"{name[0]}-{name[1]} is in {len(places):,} directories: {listed(places, _NAMED)}"


def _place(file: PlacedFile) -> str:
    """Return the path of the directory of a segment, also of uploads."""
    directory = file.directory
    return untiered(directory)[:] if is_tiered(directory) else directory[:]


def _name(file: PlacedFile) -> str:
    return os.path.basename(file.path[:])


def _identity(place: str) -> object:
    """Return a value that all paths of a directory share."""
    if is_stored(place):
        return absolute(place)[:]
    try:
        status = os.stat(place)
    except OSError:
        # The read reports a directory that is gone.
        return os.path.abspath(place)
    return status.st_dev, status.st_ino


def _links_in(directory: str) -> int:
    """Return how many parts of a path are links."""
    place = os.path.abspath(directory)
    links = 0
    while (above := os.path.dirname(place)) != place:
        links += os.path.islink(place)
        place = above
    return links


_SKIPPING = ReadOptions(on_error="skip", unreadable="skip", experimental=True)
