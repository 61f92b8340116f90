"""The rights of a user who is not root, to whom files can be refused."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The user `nobody`, who owns nothing.
NOBODY = 65534


@contextmanager
def closed(path: Path, mode: int = 0) -> Iterator[None]:
    """Within it `path` has this mode, and it holds: to root nothing is refused, so another user's rights are taken where tests run as root.

    To get as far as `path`, that user may pass through the temporary directories above it.
    """
    is_root = os.geteuid() == 0
    before = path.stat().st_mode
    for above in path.parents:
        if is_root and above.is_relative_to(tempfile.gettempdir()) and above.stat().st_mode & 0o001 == 0:
            above.chmod(above.stat().st_mode | 0o001)
    path.chmod(mode)
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        path.chmod(before)
