"""Paths and URIs of the command line to inputs: files, partition directories, trees of them, standard input."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import click

from logsegment._core import FileSource, Finding, FoundSegments, RecordBatchError, ReplicaChoice, ReplicaError, SegmentFile, SegmentKeyError
from logsegment._log_paths import is_of_0_7
from logsegment._options import EntryKeywords, LogStartOffset, PartitionOptions, ReadOptions
from logsegment._places import directory_of, is_stored, shown
from logsegment._validate import ensure_segment
from logsegment.cli.exit_codes import DamagedInput
from logsegment.cli.messages import say
from logsegment.cli.options import LOG_START
from logsegment.log.reader import PartitionReader, alone, arranged
from logsegment.segment_files.discovery import found_in, is_noted, replica_text, size_of
from logsegment.segment_files.log_start import RULES

STDIN = "-"
#: The keys of --topic and --partition in the context of a command.
SELECTION = ("logsegment.topic", "logsegment.partition")
#: Findings about files that are not read that are shown.
NOTES = 20
#: The key of --replica, which only verbs that read one directory of a partition have.
REPLICA = "logsegment.replica"


@dataclass(frozen=True)
class InputSegment:
    """One input.

    Attributes:
        path: the file, or `-`.
        file: the same with topic, partition and offset of its names; None for standard input.
        is_regular: can be read by position and more than once.
        size: bytes, when it is regular.
        given: topic and partition of standard input, from --topic and --partition.
    """

    path: str
    file: SegmentFile | None = None
    is_regular: bool = False
    size: int = 0
    given: tuple[str | None, int | None] = (None, None)

    @property
    def name(self) -> str:
        """The path as text that can be printed and put into JSON; without the secrets of a URI."""
        return "(stdin)" if self.path == STDIN else shown(self.path)

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


def segments_of(
    paths: Sequence[str],
    left_out: list[Finding] | None = None,
    failed: Callable[[OSError | SegmentKeyError], None] | None = None,
    noted: list[Finding] | None = None,
) -> list[InputSegment]:
    """Return the segments that the paths name, as `found_in` does; standard input has its place among them.

    Args:
        paths: as they were given.
        left_out: gets the findings about files that are not read; without it, those about missing offsets and interrupted work are shown.
        failed: gets the error of each path that cannot be read, instead of raising it.
        noted: gets the findings about partitions, which are shown as well.

    Raises:
        OSError: when a path does not exist, a directory cannot be listed or holds no segments.
        click.UsageError: if no segment is of the topic and partition that --topic and --partition name, or a partition is in several
            directories and --replica, which a verb may have, chooses none of them.
    """
    skipped: list[Finding] = []
    found: list[InputSegment] = []
    for is_piped, group in groupby(paths, lambda path: path == STDIN):
        if is_piped:
            found.append(InputSegment(STDIN))
            continue
        files, findings = found_in(list(group), failed=failed, options=None)
        found += map(input_of, files)
        skipped += findings
    segments = _selected(found, skipped)
    if left_out is None:
        show_notes(skipped)
    else:
        left_out += skipped
    options = partition_options_of()
    notes = list(filter(is_noted, skipped))
    if options is not None:
        segments, of_starts = _from_log_start(segments, options)
        show_log_starts(of_starts)
        notes += of_starts
    if noted is not None:
        noted += notes
    return segments


def partition_options_of() -> PartitionOptions | None:
    """Return the options of the verb that is called for partitions; None for a verb that reads every record of a file."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(LOG_START)


def log_start_offset() -> LogStartOffset:
    """Return what the verb that is called does with log start offsets."""
    return (partition_options_of() or PartitionOptions()).log_start_offset


def below_text(below: int) -> str:
    """Return a remark about records below log start offsets that an output does not have."""
    return f" ({below:,} below the log start offset)" if below else ""


def show_log_starts(findings: Iterable[Finding]) -> None:
    """Show those of the findings that are about log start offsets, unless the verb is quiet."""
    context = click.get_current_context(silent=True)
    if context is None or not context.params.get("quiet"):
        show_gaps(finding for finding in findings if finding.rule in RULES)


def _from_log_start(segments: list[InputSegment], options: PartitionOptions) -> tuple[list[InputSegment], list[Finding]]:
    """Return the inputs with the log start offsets of their partitions, and the findings about these offsets."""
    files, findings = found_of(segments).with_log_starts(options)
    placed = iter(files)
    starting = [segment if segment.file is None else replace(segment, file=next(placed)) for segment in segments]
    return starting, [*findings, *FoundSegments(files).deleted_records()]


def show_notes(findings: Iterable[Finding]) -> None:
    """Show the findings of what is not read that each read reports; with --quiet not those that are only information."""
    context = click.get_current_context(silent=True)
    is_quiet = context is not None and bool(context.params.get("quiet"))
    shown_ones = [one for one in findings if is_noted(one) and not (is_quiet and one.severity == "info")]
    show_gaps(shown_ones[:NOTES])
    if len(shown_ones) > NOTES:
        say(f"and {len(shown_ones) - NOTES:,} more files are not read; `logsegment verify` lists them")


def show_gaps(findings: Iterable[Finding]) -> None:
    """Show findings of files, such as uploads of tiered storage that are not read although no other upload has their offsets."""
    for finding in findings:
        say(f"{finding.path.rpartition('@')[0]}: {finding.severity} [{finding.rule}]: {finding.message}")


def selection() -> tuple[str | None, int | None]:
    """Return what --topic and --partition name."""
    context = click.get_current_context(silent=True)
    topic, partition = (None, None) if context is None else (context.meta.get(name) for name in SELECTION)
    return topic, partition


def replica_options() -> PartitionOptions | None:
    """Return what --replica names; None for a verb that reads all directories of a partition."""
    context = click.get_current_context(silent=True)
    return PartitionOptions(replica=context.meta[REPLICA]) if context is not None and REPLICA in context.meta else None


def replica() -> str | None:
    """Return what --replica names, for functions that take it."""
    options = replica_options()
    return None if options is None or options.replica is None else os.fspath(options.replica)


@contextlib.contextmanager
def choosing_replicas() -> Iterator[None]:
    """Raise a usage error that names --replica for a partition in several directories.

    Raises:
        click.UsageError: for a `ReplicaError`.
    """
    try:
        yield
    except ReplicaError as error:
        raise click.UsageError(replica_text(error, "--replica")) from None


def ensure_segments(segments: Iterable[InputSegment], reading: EntryKeywords) -> None:
    """Fail for a file that was named, has no valid batch and looks like another kind of file; for verbs that go on past damage.

    Raises:
        DamagedInput: for the first such file.
    """
    for segment in segments:
        if segment.is_listed or segment.file is None or not segment.is_regular:
            continue
        try:
            ensure_segment(segment.file, reading)
        except RecordBatchError as error:
            raise DamagedInput(segment.name, error) from None


def in_range(segments: Sequence[InputSegment], start: int | None, end: int | None) -> list[InputSegment]:
    """Return the inputs that may hold offsets from `start` to before `end`.

    Those of a directory are in the order of the offsets that they hold. A file that was named itself is always among them. A segment that
    contradicts its name has a finding.
    """
    found: list[InputSegment] = []
    for directory, group in groupby(segments, lambda one: one.directory if one.is_listed else None):
        inputs = list(group)
        if directory is None:
            found += [
                one if one.file is None else replace(one, file=alone(one.file.replaced(offsets=None), reports=True)) for one in inputs
            ]
            continue
        by_path = {one.path: one for one in inputs}
        files = arranged([one.file for one in inputs if one.file is not None], reports=True)
        wanted = PartitionReader.of(files, ReadOptions(start_offset=start, end_offset=end)).wanted()
        found += [replace(by_path[segment.path], file=segment.file) for segment, _ in wanted]
    return found


def partitions(segments: Iterable[InputSegment]) -> list[list[InputSegment]]:
    """Return the segments of each partition, in the order of the first of each."""
    found: dict[str, list[InputSegment]] = {}
    for one in segments:
        found.setdefault(one.place[:], []).append(one)
    return list(found.values())


def _selected(found: list[InputSegment], left_out: list[Finding]) -> list[InputSegment]:
    """Return the segments of the topic and partition that --topic and --partition name, and of the directories that --replica names.

    Args:
        found: all that the paths name.
        left_out: the findings of what is not read; those of other partitions are removed.

    Raises:
        click.UsageError: if there are none, or --replica is needed.
    """
    topic, partition = selection()
    options = replica_options()
    if topic is None and partition is None and options is None:
        return found
    by_path = {one.path: one for one in found if one.file is not None}
    every = [one.file for one in by_path.values() if one.file is not None]
    try:
        files = FoundSegments(every).of_partition(topic, partition) if by_path else []
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    is_named = any(file.topic is not None for file in every)
    if options is not None:
        with choosing_replicas():
            kept = ReplicaChoice(options).of(files if is_named else every)
        files = kept if is_named else files
    left_out[:] = FoundSegments(files, left_out).findings_among(every if topic is None and partition is None else None)
    if topic is None and partition is None:
        chosen = {file.path for file in files}
        return [one for one in found if one.file is None or one.path in chosen]
    piped = [replace(one, given=(topic, partition)) for one in found if one.file is None]
    return [*piped, *(replace(by_path[file.path], file=file) for file in files)]


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


class Flow:
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
    def reraising(self) -> Iterator[Flow]:
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
    with _raw(segment) as raw, Flow(raw, seen, place).reraising() as flow:
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
