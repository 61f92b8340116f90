"""Inputs of verbs: the segments of files, partition directories and trees, and streams."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from logsegment._core import FileSource, FoundSegments, SegmentFile, SegmentKeyError
from logsegment._log_paths import is_of_0_7
from logsegment._options import ReadOptions
from logsegment._places import directory_of, is_stored, redacted_uri
from logsegment.partition.reader import PartitionReader, order_by_offsets, with_neighbour_bounds
from logsegment.segment_files.discovery import size_of

#: The path of a stream, and its name in texts.
STREAM = "-"
STREAM_NAME = "(stdin)"


@dataclass(frozen=True)
class InputSegment:
    """One input.

    Attributes:
        path: the file, or `-` for a stream.
        file: the same with topic, partition and offset of its names; None for a stream.
        is_regular: can be read by position and more than once.
        size: bytes, when it is regular.
        given: topic and partition of a stream.
        has_sidecars: the files next to it are read too, although it was not found in a directory: it is of an opened log.
        stream: a binary file object that is read front to back, such as standard input.
    """

    path: str
    file: SegmentFile | None = None
    is_regular: bool = False
    size: int = 0
    given: tuple[str | None, int | None] = (None, None)
    stream: Any = None
    has_sidecars: bool = False

    @property
    def name(self) -> str:
        """The path as text that can be printed and put into JSON; without the secrets of a URI."""
        return STREAM_NAME if self.path == STREAM else redacted_uri(self.path)

    @property
    def is_of_0_7(self) -> bool:
        """Named as a segment of Kafka 0.7 is."""
        return is_of_0_7(self.path)

    @property
    def directory(self) -> str:
        """Where it lies."""
        return directory_of(self.path)

    @property
    def topic(self) -> str | None:
        """From the name of the directory."""
        return self.file.topic if self.file else self.given[0]

    @property
    def partition(self) -> int | None:
        """From the name of the directory."""
        return self.file.partition if self.file else self.given[1]

    @property
    def is_listed(self) -> bool:
        """Found in a directory that was named, not named itself."""
        return self.file is not None and self.file.is_listed

    @property
    def place(self) -> str:
        """The path of its partition, as `SegmentFile.place`."""
        return self.path if self.file is None else self.file.place

    @property
    def base_offset(self) -> int | None:
        """From the name of the file, or the first offset of a part of it."""
        return self.file.base_offset if self.file else None

    @property
    def part(self) -> tuple[int, int] | None:
        """The bytes of a part of the file."""
        return self.file.part if self.file else None


def in_range(segments: Sequence[InputSegment], start: int | None, end: int | None) -> list[InputSegment]:
    """Return the inputs that may hold offsets from `start` to before `end`.

    Those of a directory are in the order of the offsets that they hold. A file that was named itself is always among them. A segment that
    contradicts its name has a finding.
    """
    found: list[InputSegment] = []
    for directory, group in groupby(segments, lambda segment: segment.directory if segment.is_listed else None):
        inputs = list(group)
        if directory is None:
            found += [
                segment
                if segment.file is None
                else replace(segment, file=with_neighbour_bounds(segment.file.replaced(offsets=None), reports=True))
                for segment in inputs
            ]
            continue
        by_path = {segment.path: segment for segment in inputs}
        files = order_by_offsets([segment.file for segment in inputs if segment.file is not None], reports=True)
        wanted = PartitionReader.of(files, ReadOptions(start_offset=start, end_offset=end)).wanted()
        found += [replace(by_path[lookup.path], file=lookup.file) for lookup, _ in wanted]
    return found


def partitions(segments: Iterable[InputSegment]) -> list[list[InputSegment]]:
    """Return the segments of each partition, in the order of the first of each."""
    found: dict[str, list[InputSegment]] = {}
    for segment in segments:
        found.setdefault(segment.place[:], []).append(segment)
    return list(found.values())


def found_of(segments: Iterable[InputSegment]) -> FoundSegments:
    """Return the files of inputs, without standard input."""
    return FoundSegments([segment.file for segment in segments if segment.file is not None])


def input_of(file: SegmentFile) -> InputSegment:
    """Return the input of a segment that was found."""
    if is_stored(file.path):
        return InputSegment(file.path, file, is_regular=True, size=_size(file))
    status = os.stat(file.path)
    return InputSegment(file.path, file, is_regular=stat.S_ISREG(status.st_mode), size=status.st_size)


def _size(file: SegmentFile) -> int:
    """Return the bytes of a stored file; 0 if its key is missing, which its reader reports."""
    try:
        return size_of(file)
    except SegmentKeyError:
        return 0


#: Called with how many bytes of the input were read.
Seen = Callable[[int], None]


class StreamingInput:
    """A pipe or another file that is read front to back, piece by piece as it comes.

    What a signal raises inside of `read` comes out of native code as an OSError; `reraise` brings it back.

    Attributes:
        file_source: the file that is read, with its place in a partition, for the core; None for a pipe.
    """

    def __init__(self, raw: Any, seen: Seen | None = None, file_source: FileSource | None = None) -> None:
        self.file_source = file_source
        self._raw = raw
        self._seen = seen
        self._raised: BaseException | None = None
        self._position = 0

    def read(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes; none at the end."""
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
    def reraising(self) -> Iterator[StreamingInput]:
        """Raise again what `read` raised, as it was."""
        try:
            yield self
        except Exception:
            if self._raised is not None:
                raise self._raised from None
            raise


@contextlib.contextmanager
def opened(segment: InputSegment, *, is_read_twice: bool = False, seen: Seen | None = None) -> Iterator[Any]:
    """Open the source of a segment.

    Args:
        segment: what to read.
        is_read_twice: copy what goes by once to a temporary file.
        seen: read a regular file of this machine front to back too, and call this with how far.
    """
    if segment.is_regular and (seen is None or segment.part is not None or is_stored(segment.path)):
        yield FileSource(segment.path) if segment.file is None else segment.file.source()
        return
    place = segment.file.source() if segment.file is not None and segment.is_regular else None
    with _raw(segment) as raw, StreamingInput(raw, seen, place).reraising() as flow:
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
    if segment.stream is not None:
        # The core asks for large pieces; a buffer in between would only copy them.
        yield getattr(segment.stream, "raw", segment.stream)
        return
    with open(segment.path, "rb", buffering=0) as file:
        yield file
