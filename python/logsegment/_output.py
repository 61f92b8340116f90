"""Output files and directories: complete or absent, and never replaced unless the caller allows it.

Every writer of the package stages and places its output here. Bytes go to a hidden name in the same directory, so that the move to the name
of the output is atomic.
"""

from __future__ import annotations

import atexit
import errno
import io
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeAlias

from logsegment._core import FileSource
from logsegment._places import here, is_stored, redacted_uri, to_internal_uri

StrPath: TypeAlias = str | os.PathLike[str]
#: Files that every process has open, by their descriptors.
_STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
#: Types of a path; any other output is a file object, which its owner opened.
PATHS = (str, os.PathLike)

#: How a caller of the Python API allows to replace an existing file.
HINT = "pass overwrite=True to replace it"


class NamedFile(io.FileIO):
    """A file whose errors of writing name it.

    Args:
        file: a path or an open descriptor.
        mode: see `io.FileIO`.
        name: the name in errors; that of the file by default.
        closefd: see `io.FileIO`.
    """

    def __init__(self, file: StrPath | int, mode: str, *, name: str | None = None, closefd: bool = True) -> None:
        super().__init__(file, mode, closefd=closefd)
        self._shown = os.fspath(file) if name is None and not isinstance(file, int) else name

    def write(self, data: Any, /) -> int:
        """Write bytes.

        Raises:
            OSError: with the name of the file.
        """
        with naming(self._shown):
            return super().write(data) or 0


def new_file(path: StrPath) -> BinaryIO:
    """Open a new file of an output, whose errors of writing name it.

    Raises:
        FileExistsError: if the file exists.
    """
    return io.BufferedWriter(NamedFile(path, "x"))


def write_file(path: StrPath, data: bytes) -> None:
    """Write a small file of an output directory.

    Raises:
        OSError: with the name of the file.
    """
    with naming(path):
        Path(path).write_bytes(data)


@contextmanager
def naming(path: StrPath | None) -> Iterator[None]:
    """Add the name of a file to an error of the operating system that has none, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None and path is not None:
            error.filename = os.fspath(path)
        raise


class OutputFile:
    """A file that is complete or absent: it gets its name when the `with` block ends without an error.

    A symbolic link is followed, and a replaced file keeps its mode and its owner. A FIFO, a character device or an open file of this
    process (`/dev/stdout`) is never replaced: the bytes are written to it directly. Any other kind of file is an error.

    Args:
        path: the output.
        overwrite: replace an existing file. Without it an existing file is an error, also a file that appears while the output is written.

    Attributes:
        file: what is open for writing.
        target: what the core writes to: the path of the hidden file, or `file` where the bytes are written directly.
    """

    file: BinaryIO
    target: str | BinaryIO

    def __init__(self, path: StrPath, *, overwrite: bool) -> None:
        self._path = local_path(path)
        self._overwrite = overwrite
        self._hidden: str | None = None
        self._is_wanted = True

    def __enter__(self) -> Self:
        """Open the output.

        Raises:
            FileExistsError: if the file exists and `overwrite` is False.
            OSError: if the output cannot be written, or the owner of the replaced file cannot be kept.
        """
        status = ensure_writable(self._path, overwrite=self._overwrite)
        if status is not None and (_is_direct(status) or _descriptor_of(self._path) is not None):
            self.file = self.target = _opened_directly(self._path)
            return self
        # A link that leads nowhere has no status, and is followed too.
        self._place = os.path.realpath(self._path, strict=status is not None)
        self._replaced = status
        self._hidden = self.target = _hidden_name(self._place)
        _unfinished[self._hidden] = os.getpid()
        try:
            descriptor = os.open(self._hidden, _NEW, 0o666 if status is None else 0o600)
        except OSError as error:
            _unfinished.pop(self._hidden, None)
            raise OSError(error.errno, error.strerror, self._path) from None
        self.file = io.BufferedWriter(NamedFile(descriptor, "w", name=self._path))
        try:
            if status is not None:
                _keep_owner(descriptor, status, self._path)
        except OSError:
            self._remove()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(raised, OSError) and raised.filename == self._hidden is not None:
            raised.filename = self._path
        if kind is not None:
            with suppress(OSError):
                self.file.close()
            self._remove()
            return
        try:
            with naming(self._path):
                self._finish()
        finally:
            self._remove()

    def discard(self) -> None:
        """Make no file when the `with` block ends."""
        self._is_wanted = False

    def _finish(self) -> None:
        self.file.flush()
        if self._hidden is None or not self._is_wanted:
            self.file.close()
            return
        if self._replaced is not None and hasattr(os, "fchmod"):
            # Last, since a write clears the bits of set-user-id and set-group-id.
            os.fchmod(self.file.fileno(), stat.S_IMODE(self._replaced.st_mode))
        os.fsync(self.file.fileno())
        self.file.close()
        if self._overwrite:
            os.replace(self._hidden, self._place)
        else:
            try:
                _place_new(self._hidden, self._place)
            except FileExistsError:
                raise _exists(self._path) from None

    def _remove(self) -> None:
        with suppress(OSError):
            self.file.close()
        if self._hidden is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._hidden)
            _unfinished.pop(self._hidden, None)


class _Opened:
    """An output that the caller opened, or memory: nothing is staged."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        """Leave the output to its owner."""

    def discard(self) -> None:
        """Do nothing."""


def staged_output(out: Any, *, overwrite: bool) -> OutputFile | _Opened:
    """Return the output of an argument `out`: a path, a binary file object, or None for memory."""
    return OutputFile(out, overwrite=overwrite) if isinstance(out, PATHS) else _Opened(out)


def ensure_writable(path: StrPath, *, overwrite: bool) -> os.stat_result | None:
    """Raise an error if a file cannot be an output; nothing is opened.

    Returns:
        The status of the existing file, or None.

    Raises:
        FileExistsError: if the file exists and `overwrite` is False.
        OSError: if the output is a directory, a socket or a block device, or its path cannot be followed.
        ValueError: if the path is a URI of an object store.
    """
    place = local_path(path)
    try:
        status = os.stat(place)
    except FileNotFoundError:
        status = None
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place)
    if _descriptor_of(place) is not None:
        return status
    if status is not None and not stat.S_ISREG(status.st_mode):
        if _is_direct(status):
            return status
        raise OSError(errno.EINVAL, "output is not a regular file, a FIFO or a character device", place)
    if status is None and place and not os.path.basename(place):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place)
    if not overwrite and os.path.lexists(place):
        raise _exists(place)
    return status


def ensure_apart(source: Any, **outputs: Any) -> None:
    """Raise an error if an output is the file that is read, under any name, or if two outputs are one file.

    Args:
        source: what is read.
        outputs: what is written, by the names of the arguments.

    Raises:
        ValueError: with the name of the argument.
    """
    paths = {name: local_path(out) for name, out in outputs.items() if isinstance(out, PATHS)}
    real = {name: os.path.realpath(path) for name, path in paths.items()}
    read = source.path if isinstance(source, FileSource) else source if isinstance(source, PATHS) else None
    own = None if read is None else here(os.fspath(read))
    for name, path in paths.items():
        if own is not None and is_same(path, own):
            raise ValueError(f"{name}: {path} is the source; a source is never overwritten")
        if [*real.values()].count(real[name]) > 1:
            raise ValueError(f"{' and '.join(real)}: {path} cannot be both")


def is_same(one: str, other: str) -> bool:
    """Return True if two paths lead to one existing file. Devices do not count: writing to one replaces nothing."""
    with suppress(OSError):
        return os.path.samefile(one, other) and not _is_direct(os.stat(one))
    return False


@contextmanager
def output_directory(path: StrPath, *, may_be_empty: bool = False) -> Iterator[Path]:
    """Yield a hidden directory, which gets the name of the output when the `with` block ends without an error.

    A directory is never replaced. An empty directory that is allowed keeps its mode and its owner.

    Args:
        path: the output.
        may_be_empty: accept an existing empty directory.

    Raises:
        FileExistsError: if the output exists, also if it appears while its content is written.
        ValueError: if the path is a URI of an object store.
    """
    place = local_path(path)
    is_reserved = may_be_empty and os.path.isdir(place)
    if is_reserved:
        place = os.path.realpath(place)
    if os.listdir(place) if is_reserved else os.path.lexists(place):
        raise _directory_exists(path, may_be_empty)
    target = Path(os.path.abspath(place))
    hidden = Path(_hidden_name(str(target)))
    _unfinished[str(hidden)] = os.getpid()
    try:
        hidden.mkdir(parents=True)
        yield hidden
        if is_reserved:
            shutil.copymode(target, hidden)
            _keep_owner(hidden, target.stat(), str(target))
        else:
            # The name is reserved before the move: a rename replaces an empty directory of another writer, and mkdir does not.
            target.mkdir()
        _place_directory(hidden, target, is_reserved=is_reserved)
    except FileExistsError as error:
        if error.filename == str(target):
            raise _directory_exists(path, may_be_empty) from None
        raise
    except OSError as error:
        inside = isinstance(error.filename, str) and error.filename.startswith(f"{hidden}{os.sep}")
        if inside:
            error.filename = os.path.join(place, os.path.relpath(error.filename, hidden))
        raise
    finally:
        _remove_tree(str(hidden))
        _unfinished.pop(str(hidden), None)


def local_path(path: StrPath) -> str:
    """Return the path of an output on this machine.

    Raises:
        ValueError: if it is a URI of an object store.
    """
    place = to_internal_uri(path)
    if is_stored(place):
        raise ValueError(f"{redacted_uri(place)} is in an object store, which is read-only; write to a local file and copy it")
    return place


#: Hidden files and directories that this process has made or is about to make, by their paths, with the process. A signal may be noticed
#: between the making and the `try` that removes them.
_unfinished: dict[str, int] = {}


@atexit.register
def _remove_unfinished() -> None:
    """Remove at the end of the process what a signal has left."""
    for hidden, process in [*_unfinished.items()]:
        # A forked child has the list of its parent.
        if process != os.getpid():
            continue
        with suppress(OSError):
            if os.path.isdir(hidden):
                _remove_tree(hidden)
            elif os.path.lexists(hidden):
                os.unlink(hidden)


def _remove_tree(path: str) -> None:
    """Remove a directory, also while threads that are about to end still add files to it or remove some."""
    for attempt in range(_ATTEMPTS):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            # Of the directory, or of a file in it that is gone already.
            pass
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or attempt + 1 == _ATTEMPTS:
                raise
            time.sleep(_BETWEEN)
        if not os.path.lexists(path):
            return


#: Attempts to remove a directory, and the seconds between them.
_ATTEMPTS = 50
_BETWEEN = 0.02
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
#: Errors of a file system without hard links.
_UNLINKABLE = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class _DirectFile(NamedFile):
    """A FIFO or a character device. It has no position of its own; writers of tables ask for it."""

    _written = 0

    def write(self, data: Any, /) -> int:
        written = super().write(data)
        self._written += written
        return written

    def tell(self) -> int:
        return self._written


def _opened_directly(path: str) -> BinaryIO:
    own = _descriptor_of(path)
    # Without O_CREAT: a FIFO that was removed meanwhile is an error, not a new file.
    descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)) if own is None else os.dup(own)
    return io.BufferedWriter(_DirectFile(descriptor, "w", name=path))


def _descriptor_of(path: str) -> int | None:
    """Return the open file of this process that a path names, such as `/dev/stdout`: its owner keeps what is in it, and its position."""
    name = os.path.abspath(path)
    if name in _STREAMS:
        return _STREAMS.index(name)
    match = re.fullmatch(r"(?:/dev|/proc/self)/fd/(\d+)", name)
    return None if match is None else int(match[1])


def _is_direct(status: os.stat_result) -> bool:
    return stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)


def _hidden_name(place: str) -> str:
    """Return a name that no other process takes, in the directory of the output; its length does not depend on that of the output."""
    return os.path.join(os.path.dirname(place), f".logsegment-{secrets.token_hex(8)}.part")


def _keep_owner(hidden: int | Path, replaced: os.stat_result, path: str) -> None:
    status = os.stat(hidden)
    if (status.st_uid, status.st_gid) == (replaced.st_uid, replaced.st_gid) or not hasattr(os, "chown"):
        return
    try:
        os.chown(hidden, replaced.st_uid, replaced.st_gid)
    except PermissionError:
        text = f"the owner of the replaced file cannot be kept: user {replaced.st_uid}, group {replaced.st_gid}"
        raise PermissionError(errno.EPERM, text, path) from None


def _place_new(hidden: str, place: str) -> None:
    """Give a file its name, unless the name is taken.

    Raises:
        FileExistsError: if the name is taken.
    """
    if os.name == "nt":
        os.rename(hidden, place)
        return
    try:
        os.link(hidden, place)
    except OSError as error:
        if error.errno not in _UNLINKABLE:
            raise
        # Without links, the name is reserved by an empty file, which the move replaces.
        os.close(os.open(place, _NEW, 0o600))
        try:
            os.replace(hidden, place)
        except BaseException:
            with suppress(OSError):
                os.unlink(place)
            raise


def _place_directory(hidden: Path, target: Path, *, is_reserved: bool) -> None:
    """Move a directory to a name that an empty directory holds.

    Raises:
        FileExistsError: if the directory is not empty any more.
    """
    try:
        if os.name == "nt":
            target.rmdir()
        hidden.rename(target)
    except OSError as error:
        if not is_reserved:
            with suppress(OSError):
                target.rmdir()
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        raise


def _exists(path: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"file exists ({HINT})", path)


def _directory_exists(path: StrPath, may_be_empty: bool) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"output must be a new{' or empty' if may_be_empty else ''} directory", os.fspath(path))
