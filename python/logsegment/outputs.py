"""Where output may go: not where input is read, not twice to one place, and over what stands there only when that is allowed."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Any

from logsegment._core import FileSource
from logsegment.stores.uri import here

#: Names of paths; what else an output may be, an open file for one, is its owner's business.
PATHS = (str, os.PathLike)


def ensure_apart(source: Any, **outputs: Any) -> None:
    """Refuse to write over the file that is read, under whatever name, or two outputs to one path.

    Args:
        source: what is read.
        outputs: what is written, by the names of the arguments.

    Raises:
        ValueError: naming the argument.
    """
    paths = {name: os.fspath(out) for name, out in outputs.items() if isinstance(out, PATHS)}
    real = {name: os.path.realpath(path) for name, path in paths.items()}
    for name, path in paths.items():
        own = here(os.fspath(source.path)) if isinstance(source, FileSource) else None
        if own is not None and _is_same(path, own):
            raise ValueError(f"{name}: {path} is the source; it is never overwritten")
        if [*real.values()].count(real[name]) > 1:
            raise ValueError(f"{' and '.join(real)}: {path} cannot be both")


def ensure_new(overwrite: bool, *outputs: Any) -> None:
    """Refuse to replace what stands at a path, be it a link that leads nowhere, unless that is allowed.

    Raises:
        FileExistsError: naming the path.
    """
    for path in outputs:
        if not overwrite and isinstance(path, PATHS) and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "something stands there, which overwrite=False keeps", os.fspath(path))


def _is_same(one: str, other: str) -> bool:
    with suppress(OSError):
        return os.path.samefile(one, other)
    return False
