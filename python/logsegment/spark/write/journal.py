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
from typing import Any, Literal, TypeAlias

from logsegment import stores
from logsegment.spark.write.places import below
from logsegment.stores.uri import is_stored, shown

JOURNAL = ".logsegment-commit"
#: The last batch of each stream that was committed.
BATCHES = ".logsegment-batches"
#: Bytes of a journal that are read: it names a few files for each segment.
MOST = 1 << 30

#: link: a file to a name that is free. replace: a file in the place of an empty one. retire: a directory to another name.
#: install: a new directory to its name. settle: an object of a store to its name.
Verb: TypeAlias = Literal["link", "replace", "retire", "install", "settle"]


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
        source, place = below(target, self.source), below(target, self.place)
        if self.verb == "settle":
            stores.settle(source, place)
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
            stores.unsettle(source, place)
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
        OSError: when a move cannot be made; those before it were taken back.
    """
    moves = list(moves)
    written = {
        "version": 1,
        "job": job,
        "moves": [[move.verb, move.source, move.place] for move in moves],
        "batch": mark and [mark.query, mark.batch],
    }
    _write_whole(below(target, JOURNAL), written)
    try:
        _make(target, moves)
    except OSError:
        for move in reversed(moves):
            move.undo(target)
        _remove(below(target, JOURNAL))
        raise
    _finish(target, mark)


def recover(target: str) -> str | None:
    """Finish a commit that a crash interrupted, and give the job that it was of.

    Raises:
        ValueError: when the journal cannot be understood.
        OSError: when a move cannot be made.
    """
    path = below(target, JOURNAL)
    try:
        told = _read_whole(path)
        if told["version"] != 1:
            raise ValueError(f"version {told['version']}")
        job, moves = str(told["job"]), [Move(*move) for move in told["moves"]]
        mark = Mark(*told["batch"]) if told["batch"] else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{shown(path)}: the journal of an interrupted commit cannot be read ({error}); look at it before you remove it"
        ) from None
    _make(target, moves)
    _finish(target, mark)
    return job


def is_pending(target: str) -> bool:
    """Whether a commit was interrupted, which still needs what was staged."""
    path = below(target, JOURNAL)
    return stores.exists(path) if is_stored(path) else os.path.lexists(path)


def is_committed(target: str, mark: Mark) -> bool:
    """Whether a batch, or a later one of the same stream, is there already."""
    return _batches(target).get(mark.query, -1) >= mark.batch


def _make(target: str, moves: list[Move]) -> None:
    for move in moves:
        move.make(target)
    if is_stored(target):
        return
    for directory in {os.path.dirname(os.path.join(target, move.place)) for move in moves}:
        _sync(directory)


def _finish(target: str, mark: Mark | None) -> None:
    if mark is not None:
        _write_whole(below(target, BATCHES), _batches(target) | {mark.query: mark.batch})
    _remove(below(target, JOURNAL))
    _sync(target)


def _batches(target: str) -> dict[str, int]:
    try:
        return dict(_read_whole(below(target, BATCHES)))
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


def _read_whole(path: str) -> Any:
    """What a small file holds."""
    if is_stored(path):
        data = stores.read_file(path, MOST)
        if data is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown(path))
        return json.loads(bytes(data))
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _remove(path: str) -> None:
    if is_stored(path):
        stores.remove(path)
    else:
        os.unlink(path)


def _write_whole(path: str, value: object) -> None:
    if is_stored(path):
        # An object is replaced as a whole.
        stores.put_bytes(path, json.dumps(value).encode())
        return
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
