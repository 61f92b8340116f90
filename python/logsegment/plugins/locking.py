"""A lock of a whole file, which the system frees however its holder ends: `flock` where there is one, else that of Windows."""

from __future__ import annotations

import errno
import sys

if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int) -> None:
        """Wait for the lock. Windows locks bytes, also such as are not there: the first one stands for the file."""
        while True:
            try:
                # Gives up by itself after ten seconds.
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EDEADLK):
                    raise
            else:
                return
else:
    import fcntl

    def lock(descriptor: int) -> None:
        """Wait for the lock."""
        fcntl.flock(descriptor, fcntl.LOCK_EX)
