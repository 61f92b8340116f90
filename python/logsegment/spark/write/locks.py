"""One commit at a time, and none below a broker that runs: by the file `.lock`, which a broker holds in its log directories."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import fcntl
except ImportError:  # Windows has no locks of this kind: segments are still created exclusively there.
    fcntl = None  # type: ignore[assignment]

#: A file system that knows no locks.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
_HELD = {errno.EACCES, errno.EAGAIN}


@contextmanager
def locked(target: str) -> Iterator[None]:
    """Hold the target: wait for another commit, refuse when a broker has it.

    Raises:
        BlockingIOError: when a broker holds the directory.
        OSError: when the lock file cannot be made.
    """
    path = os.path.join(target, ".lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if fcntl is not None:
            # The lock of the open file keeps other commits out, also those of this process; the lock of the process is that of Java.
            _lock(lambda: fcntl.flock(descriptor, fcntl.LOCK_EX), path)
            _lock(lambda: fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB), path)
        yield
    finally:
        os.close(descriptor)


def _lock(take: object, path: str) -> None:
    try:
        take()  # type: ignore[operator]
    except OSError as error:
        if error.errno in _HELD:
            told = "a broker has this directory open; stop it, or write elsewhere"
            raise BlockingIOError(error.errno, told, os.path.dirname(path)) from None
        if error.errno not in _NO_LOCKS:
            raise
