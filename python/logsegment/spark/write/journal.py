"""All of a commit or nothing: the moves are written down before the first, so that whoever comes after a crash can finish them.

The journal is one file in the target, there only while a commit makes its moves. Paths in it are relative to the target.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

JOURNAL = ".logsegment-commit"
#: The last batch of each stream that was committed.
BATCHES = ".logsegment-batches"

#: link: a file to a name that is free. replace: a file in the place of an empty one. retire: a directory to another name.
#: install: a new directory to its name.
Verb: TypeAlias = Literal["link", "replace", "retire", "install"]


@dataclass(frozen=True)
class Move:
    """One move of a commit; made again it does nothing."""

    verb: Verb
    source: str
    place: str

    def make(self, target: str) -> None:
        """Make the move, unless it was made.

        Raises:
            FileExistsError: when something else has the place.
            OSError: when it cannot be made.
        """
        source, place = os.path.join(target, self.source), os.path.join(target, self.place)
        if self.verb == "link":
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
        source, place = os.path.join(target, self.source), os.path.join(target, self.place)
        if self.verb == "link" and os.path.lexists(source):
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
        OSError: when a move cannot be made; those before it were taken back.
    """
    moves = list(moves)
    written = {
        "version": 1,
        "job": job,
        "moves": [[move.verb, move.source, move.place] for move in moves],
        "batch": mark and [mark.query, mark.batch],
    }
    _write_whole(os.path.join(target, JOURNAL), written)
    try:
        _make(target, moves)
    except OSError:
        for move in reversed(moves):
            move.undo(target)
        os.unlink(os.path.join(target, JOURNAL))
        raise
    _finish(target, mark)


def recover(target: str) -> str | None:
    """Finish a commit that a crash interrupted, and give the job that it was of.

    Raises:
        ValueError: when the journal cannot be understood.
        OSError: when a move cannot be made.
    """
    path = os.path.join(target, JOURNAL)
    try:
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        if told["version"] != 1:
            raise ValueError(f"version {told['version']}")
        job, moves = str(told["job"]), [Move(*move) for move in told["moves"]]
        mark = Mark(*told["batch"]) if told["batch"] else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}: the journal of an interrupted commit cannot be read ({error}); look at it before you remove it"
        ) from None
    _make(target, moves)
    _finish(target, mark)
    return job


def is_pending(target: str) -> bool:
    """Whether a commit was interrupted, which still needs what was staged."""
    return os.path.lexists(os.path.join(target, JOURNAL))


def is_committed(target: str, mark: Mark) -> bool:
    """Whether a batch, or a later one of the same stream, is there already."""
    return _batches(target).get(mark.query, -1) >= mark.batch


def _make(target: str, moves: list[Move]) -> None:
    for move in moves:
        move.make(target)
    for directory in {os.path.dirname(os.path.join(target, move.place)) for move in moves}:
        _sync(directory)


def _finish(target: str, mark: Mark | None) -> None:
    if mark is not None:
        _write_whole(os.path.join(target, BATCHES), _batches(target) | {mark.query: mark.batch})
    os.unlink(os.path.join(target, JOURNAL))
    _sync(target)


def _batches(target: str) -> dict[str, int]:
    try:
        with open(os.path.join(target, BATCHES), encoding="utf-8") as file:
            return dict(json.load(file))
    except FileNotFoundError:
        return {}


def _link(source: str, place: str) -> None:
    """A link fails where a rename would overwrite."""
    try:
        os.link(source, place)
    except FileExistsError:
        if not (os.path.lexists(source) and os.path.samefile(source, place)):
            raise FileExistsError(errno.EEXIST, "another writer was here first; nothing was overwritten", place) from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        _rename(source, place)


def _rename(source: str, place: str) -> None:
    """For file systems without links."""
    if os.path.lexists(source):
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, "another writer was here first; nothing was overwritten", place)
        os.rename(source, place)


def _install(source: str, place: str) -> None:
    try:
        os.rename(source, place)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise FileExistsError(errno.EEXIST, "another writer was here first; nothing was overwritten", place) from None
        raise


def _write_whole(path: str, value: object) -> None:
    temporary = f"{path}.part"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync(os.path.dirname(path))


def _sync(directory: str) -> None:
    """Names are on disk; not every file system lets a directory be opened."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
