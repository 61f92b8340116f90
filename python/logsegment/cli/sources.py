"""Segments as sources that `logsegment` reads: regular files by position, everything else front to back."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from logsegment._core import FileSource
from logsegment.cli.inputs import STDIN, InputSegment

#: Told how many bytes of the input are behind.
Seen = Callable[[int], None]


class Flow:
    """A pipe or another file that is read front to back, piece by piece as it comes.

    What a signal raises inside of `read` comes out of native code as an OSError; `reraise` brings it back.
    """

    def __init__(self, raw: Any, seen: Seen | None = None) -> None:
        self._raw = raw
        self._seen = seen
        self._raised: BaseException | None = None
        self._position = 0

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; none at the end."""
        try:
            given: bytes = self._raw.read(size) or b""
        except BaseException as raised:
            self._raised = raised
            raise
        self._position += len(given)
        if self._seen:
            self._seen(self._position)
        return given

    @contextlib.contextmanager
    def reraising(self) -> Iterator[Flow]:
        """Inside of it, what `read` raised is raised again as it was."""
        try:
            yield self
        except Exception:
            if self._raised is not None:
                raise self._raised from None
            raise


@contextlib.contextmanager
def opened(
    segment: InputSegment, *, is_read_twice: bool = False, seen: Seen | None = None, bytes_of: tuple[int, int | None] = (0, None)
) -> Iterator[Any]:
    """The source of a segment.

    Args:
        segment: what to read.
        is_read_twice: copy what goes by once to a temporary file.
        seen: read a regular file of this machine front to back too, and tell this how far.
        bytes_of: what is wanted of a file that is read by position: its first byte, and the one behind the last.
    """
    if segment.is_regular and (seen is None or segment.is_stored):
        yield FileSource(segment.path, *bytes_of) if segment.file is None else segment.file.source(*bytes_of)
        return
    with _raw(segment) as raw, Flow(raw, seen).reraising() as flow:
        if not is_read_twice:
            yield flow
            return
        with tempfile.TemporaryDirectory(prefix="logsegment-") as directory:
            spool = Path(directory) / "stream.log"
            with spool.open("xb") as copy:
                shutil.copyfileobj(flow, copy, 1 << 20)
            yield FileSource(str(spool))


@contextlib.contextmanager
def _raw(segment: InputSegment) -> Iterator[BinaryIO]:
    if segment.path == STDIN:
        # The core asks for large pieces; a buffer in between would only copy them.
        yield getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        return
    with open(segment.path, "rb", buffering=0) as file:
        yield file
