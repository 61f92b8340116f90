"""The journal makes a commit atomic: it lists all moves before the first, so that the next commit can finish them after a crash.

It is a file in the target that exists only while a commit makes its moves. Its paths are relative to the target.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from logsegment._core import Place
from logsegment._places import directory_of, redacted_uri
from logsegment.spark.write.places import below

JOURNAL = ".logsegment-commit"
#: The last batch of each stream that was committed.
BATCHES = ".logsegment-batches"

#: link: a file to a free name. replace: an empty file by another one. retire: a directory to another name. install: a new directory to its
#: name. settle: an object of a store to its name.
Verb: TypeAlias = Literal["link", "replace", "retire", "install", "settle"]


@dataclass(frozen=True)
class Move:
    """One move of a commit; to repeat it does nothing."""

    verb: Verb
    source: str
    place: str

    def make(self, target: str) -> None:
        """Make the move, unless it was made.

        Raises:
            FileExistsError: if the place is taken.
            OSError: if it cannot be made.
        """
        source, place = below(target, self.source), below(target, self.place)
        if self.verb == "settle":
            Place(place).settle(Place(source))
        elif self.verb == "link":
            _link(source, place)
        elif self.verb == "replace":
            if os.path.lexists(source):
                os.replace(source, place)
        elif self.verb == "retire":
            if not os.path.lexists(place):
                os.rename(source, place)
        elif os.path.lexists(source):
            _install(source, place)

    def undo(self, target: str) -> None:
        """Take the move back, if it was made."""
        source, place = below(target, self.source), below(target, self.place)
        if self.verb == "settle":
            Place(place).settle(Place(source), undo=True)
        elif self.verb == "link" and os.path.lexists(source):
            if os.path.lexists(place) and os.path.samefile(source, place):
                os.unlink(place)
        elif not os.path.lexists(source):
            os.rename(place, source)
            if self.verb == "replace":
                open(place, "xb").close()


@dataclass(frozen=True)
class Mark:
    """A batch of a stream."""

    query: str
    batch: int


def commit(target: str, job: str, moves: Iterable[Move], mark: Mark | None) -> None:
    """Make the moves of a job, all or none, and remember the batch.

    Raises:
        OSError: if a move cannot be made; the moves before it were taken back.
    """
    moves = list(moves)
    written = {
        "version": 1,
        "job": job,
        "moves": [[move.verb, move.source, move.place] for move in moves],
        "batch": mark and [mark.query, mark.batch],
    }
    Place(below(target, JOURNAL)).put(json.dumps(written).encode())
    try:
        _make(target, moves)
    except OSError:
        for move in reversed(moves):
            move.undo(target)
        Place(below(target, JOURNAL)).remove()
        raise
    _finish(target, mark)


def recover(target: str) -> str | None:
    """Finish a commit that a crash interrupted, and return its job.

    Raises:
        ValueError: if the journal is invalid.
        OSError: if a move cannot be made.
    """
    path = below(target, JOURNAL)
    try:
        written = _read_whole(path)
        if written["version"] != 1:
            raise ValueError(f"version {written['version']}")
        job, moves = str(written["job"]), [Move(*move) for move in written["moves"]]
        mark = Mark(*written["batch"]) if written["batch"] else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{redacted_uri(path)}: the journal of an interrupted commit cannot be read ({error}); inspect it before you remove it"
        ) from None
    _make(target, moves)
    _finish(target, mark)
    return job


def is_pending(target: str) -> bool:
    """Return True if a commit was interrupted, which still needs the staged files."""
    return Place(below(target, JOURNAL)).exists()


def is_committed(target: str, mark: Mark) -> bool:
    """Return True if a batch, or a later one of the same stream, was committed before."""
    return _batches(target).get(mark.query, -1) >= mark.batch


def _make(target: str, moves: list[Move]) -> None:
    for move in moves:
        move.make(target)
    for directory in {directory_of(below(target, move.place)) for move in moves}:
        Place(directory).sync()


def _finish(target: str, mark: Mark | None) -> None:
    if mark is not None:
        Place(below(target, BATCHES)).put(json.dumps(_batches(target) | {mark.query: mark.batch}).encode())
    Place(below(target, JOURNAL)).remove()
    Place(target).sync()


def _batches(target: str) -> dict[str, int]:
    try:
        return dict(_read_whole(below(target, BATCHES)))
    except FileNotFoundError:
        return {}


def _link(source: str, place: str) -> None:
    """Link a file to a name. A link fails if the name is taken, where a rename would overwrite."""
    try:
        os.link(source, place)
    except FileExistsError:
        if not (os.path.lexists(source) and os.path.samefile(source, place)):
            raise FileExistsError(errno.EEXIST, "another writer has written here; nothing was overwritten", place) from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        _rename(source, place)


def _rename(source: str, place: str) -> None:
    """Rename a file, on file systems without links."""
    if os.path.lexists(source):
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, "another writer has written here; nothing was overwritten", place)
        os.rename(source, place)


def _install(source: str, place: str) -> None:
    try:
        os.rename(source, place)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise FileExistsError(errno.EEXIST, "another writer has written here; nothing was overwritten", place) from None
        raise


def _read_whole(path: str) -> Any:
    """Return the JSON value of a small file."""
    data = Place(path).read()
    if data is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), redacted_uri(path))
    return json.loads(bytes(data))
