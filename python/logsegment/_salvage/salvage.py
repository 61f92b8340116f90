"""Save the valid entries of damaged bytes, files, partitions and trees, and account for the rest: `salvage`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, BinaryIO, Unpack

from logsegment._core import FileSource, Finding, SegmentFile, ensure_log_segment
from logsegment._errors import naming_file
from logsegment._options import EntryKeywords, Order, ReadOptions
from logsegment._output import ensure_apart, naming, new_file, output_directory, staged_output
from logsegment._salvage.places import OutputPlace, output_places
from logsegment._salvage.result import Salvage, SalvageOptions, salvaged
from logsegment._storage import Keys, StorageOptions, reached_source
from logsegment.inputs.input_segment import InputSegment, opened
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs, inputs_of, is_of_files
from logsegment.segment_files.discovery import Topics
from logsegment.segment_files.output_directory import begun_directory, ensure_offset_names, rebuild_sidecars
from logsegment.segment_files.output_names import file_name, output_directories
from logsegment.segment_files.overflow import MOST, split_file
from logsegment.segment_files.overflow import RULE as OVERFLOW_RULE


def salvage(
    source: Any,
    *,
    out: str | os.PathLike[str] | BinaryIO | None = None,
    aside: str | os.PathLike[str] | BinaryIO | bool | None = None,
    overwrite: bool = False,
    order: Order | None = None,
    first_offset: int | None = None,
    end_offset: int | None = None,
    topic: Topics = None,
    partition: int | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Salvage:
    """Copy every valid entry of damaged bytes, files or directories, byte for byte, and account for every other byte.

    An entry is valid if its header can be parsed and its checksum matches; of Kafka 0.7, if the checksum of its messages does. An entry
    whose records cannot be read stays, and is reported as `undecodable`. Past damage the next valid entry is searched for at every byte,
    but not inside an entry whose length leads to another entry or to the end: what looks like an entry there is a value. So the output has
    only records that `decode` with `on_error="skip"` reads from the source. The exception are swapped entries of uploads in tiered storage,
    which are counted as `moved`. The source is only read, memory is bounded, and the GIL is released.

    No checksum covers the offset of an entry, and blocks of a disk come back swapped or twice. `order="offset"` makes a log of the valid
    entries: sorted, each entry once, and without entries with misplaced offsets. Entries that were searched for are also misplaced if the
    entries around them do not support their offsets. A broker would delete a segment whose offsets decrease.

    A directory becomes a directory with the same names, with rebuilt indexes, snapshots and epochs, on which a broker starts. If a
    segment's name contradicts its offsets, the segment is renamed. Of a partition in several directories each is saved, under its own
    path.

    Args:
        source: one source as `decode` takes it, a `Segment`, or what the command `salvage` takes: the directory of a partition, a tree, a
            pattern (`orders-*`), a `Log`, or a list of these and of one file. `order="offset"` reads a source two to five times, so a file
            object is not allowed, except in a list, where it is copied to a temporary file.
        out: see `encode`; of directories, a new directory, which is required.
        aside: a path or file object for bytes that do not fit into the log: readable records of damaged batches, and with
            `order="offset"` the valid entries with misplaced offsets, byte for byte. True returns the bytes. Without such bytes, no file
            is created. Records of damaged batches are written as batches of magic 2, at the offsets of the damaged batch. Each record
            gets a header `logsegment.salvaged` with the broken rule of its batch. No checksum covers these records: any byte may be
            wrong.
            Of directories, a new directory.
        overwrite: see `encode`; for both paths of files. An earlier output may be the only copy of its entries.
        order: "input" keeps all valid entries in the order of the source, "offset" makes a log. At most 4,194,304 entries that are out of
            order can be sorted; entries in order may be any number. None is "input" for one source, and "offset" for a `Segment`, a list
            and directories.
        first_offset: of one source with `order="offset"`: the segment's base offset, before which no entry may be.
        end_offset: of one source with `order="offset"`: the base offset of the next segment, which no entry may reach.
        topic: of directories, only the partitions of this topic, or of these.
        partition: of directories, only partitions of this number.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects of tiered storage; see `Log`.
        observer: gets the `Salvage` of each file as soon as it is written; see `Observer`.
        options: options of entries; see `decode`. Unless `format` is "v3", a valid batch of magic 3 is an error, and no file is written.
            `codecs` decompress the records of batches. A valid entry over `limits` is kept.

    Returns:
        A `Salvage`; of several files with an account of each in `files`.

    Raises:
        InvalidError: if the source is a file without a valid entry that looks like another kind of file (SEG-16).
        UnsupportedError: for a valid batch of magic 3 unless `format` is "v3" (MAP-3), which would be lost.
        ValueError, TypeError: if an argument is invalid or contradicts another one; for more entries out of order than can be sorted.
        FileExistsError: if a file exists and `overwrite` is False.
        OSError: if a file cannot be read or written, or has changed between two readings.

    Example:
        >>> import logsegment as ls
        >>> from pathlib import Path
        >>> good = Path("00000000000000000000.log").read_bytes()
        >>> found = ls.salvage(b"some noise" + good)
        >>> found.data == good, [(lost.position, lost.length) for lost in found.lost]
        (True, [(0, 10)])

    Source: `LogSegment.recover` in Kafka, which cuts a log at the first damage.
    """
    if order not in (None, "input", "offset"):
        raise ValueError(f'order must be "input" or "offset", not {order!r}')
    access = (storage_options, decryption_keys, layout)
    is_selected = any(option is not None for option in (topic, partition, *access[1:]))
    if is_of_files(source, access, is_selected=is_selected):
        if first_offset is not None or end_offset is not None:
            raise ValueError("first_offset and end_offset belong to one source without a directory")
        inputs = inputs_of(source, access, selection=(topic, None if partition is None else int(partition)), observer=observer)
        inputs.ensure_segments(options)
        work = _SalvageWork(ReadOptions.of(EntryKeywords, options), order or "offset", observer or Observer())
        return work.run(inputs, (out, aside), overwrite=overwrite)
    if is_selected:
        raise TypeError(f"topic, partition, decryption_keys and layout belong to paths, not to {type(source).__name__}")
    order = order or "input"
    if order == "input" and (first_offset is not None or end_offset is not None):
        raise ValueError('first_offset and end_offset need order="offset"')
    source = reached_source(source, storage_options)
    ensure_apart(source, out=out, aside=aside)
    fit = SalvageOptions(
        is_sorted=order == "offset",
        is_aside_kept=aside is True,
        wants_records=aside not in (None, False),
        first_offset=first_offset,
        end_offset=end_offset,
    )
    read = ReadOptions.of(EntryKeywords, options)
    place = None if isinstance(aside, bool) else aside
    with staged_output(out, overwrite=overwrite) as output, staged_output(place, overwrite=overwrite) as rest:
        found = salvaged(source, read, fit, (output.target, rest.target))
        if not found.entries and not found.records:
            _ensure_segment(source)
        if not found.aside_bytes:
            rest.discard()
    return found


def _ensure_segment(source: Any) -> None:
    """Raise InvalidError for a path, or a file from its first byte on, that looks like another kind of file."""
    if isinstance(source, FileSource) and not source.start:
        ensure_log_segment(source.path)
    elif isinstance(source, (str, os.PathLike)):
        ensure_log_segment(source)


@dataclass(frozen=True)
class _SalvageWork:
    """A salvage of the segments of files and directories."""

    read: ReadOptions
    order: Order
    observer: Observer

    def run(self, inputs: Inputs, outputs: tuple[Any, Any], *, overwrite: bool) -> Salvage:
        """Write the outputs of all inputs."""
        self.observer.planned([(segment.name, segment.size) for segment in inputs.segments])
        self.observer.noted(inputs.left_out)
        if inputs.is_directory:
            return Salvage.of_files(self._to_directory(inputs.segments, *outputs), inputs.left_out)
        if len(inputs.segments) > 1:
            raise ValueError("several files cannot become one file; pass a directory, or one file at a time")
        (segment,) = inputs.segments
        if segment.is_regular:
            ensure_apart(FileSource(segment.path), out=outputs[0], aside=outputs[1])
        return self._to_file(segment, *outputs, overwrite=overwrite)

    def _to_file(self, segment: InputSegment, out: Any, aside: Any, *, overwrite: bool) -> Salvage:
        place = OutputPlace(segment.base_offset or 0)
        rest_path = None if isinstance(aside, bool) else aside
        with staged_output(rest_path, overwrite=overwrite) as rest, staged_output(out, overwrite=overwrite) as log:
            found = self._salvaged(segment, place, (log.target, aside if isinstance(aside, bool) else rest.target))
            if not _is_written(found, place):
                log.discard()
            if not found.aside_bytes:
                rest.discard()
        if isinstance(out, str | os.PathLike) and _is_written(found, place):
            found = replace(found, outputs=[os.fspath(out)])
        self.observer.done(segment.name, found)
        return found

    def _to_directory(self, segments: Sequence[InputSegment], out: Any, aside: Any) -> list[Salvage]:
        ensure_offset_names(segments)
        for path in (out, aside):
            if not isinstance(path, str | os.PathLike) and (path is not None or path is out):
                raise TypeError(f"the outputs of directories must be new directories, not {type(path).__name__}")
        places = [os.path.realpath(path) for path in (out, aside) if path is not None]
        if len(places) > 1 and os.path.commonpath(places) in places:
            raise ValueError(f"{out} and {aside} must not be inside each other")
        with ExitStack() as stack:
            hidden = stack.enter_context(output_directory(out))
            hidden_aside = None if aside is None else stack.enter_context(output_directory(aside))
            names = output_directories(segments)
            done = []
            for segment, place in self._placed(segments):
                name = names[segment.directory[:]]
                found = self._to_partition(segment, place, begun_directory(segment, hidden, name), hidden_aside and hidden_aside / name)
                done.append(replace(found, outputs=[os.path.join(out, os.path.relpath(path, hidden)) for path in found.outputs]))
                self.observer.done(segment.name, done[-1])
            if self.order == "offset":
                rebuild_sidecars(hidden)
        return done

    def _to_partition(self, segment: InputSegment, place: OutputPlace, directory: Path, aside: Path | None) -> Salvage:
        """Write a segment into the directory of its partition; `outputs` has its paths in the hidden directory."""
        rest = None
        if aside is not None:
            aside.mkdir(parents=True, exist_ok=True)
            rest = str(aside / file_name(segment))
        with _new_segment(directory, segment, place) as file, staged_output(rest, overwrite=False) as rest_file:
            found = self._salvaged(segment, place, (file, rest_file.target))
            if not found.aside_bytes:
                rest_file.discard()
        path = Path(file.name)
        if not _is_written(found, place):
            path.unlink()
            with suppress(OSError):
                # Only an empty one goes.
                directory.rmdir()
            return found
        made = split_file(path, self.read) if self.order == "offset" else [path]
        if made != [path]:
            names = ", ".join(part.name for part in made)
            text = f"offsets are more than {MOST:,} above the name of the segment; written as {names}"
            found.findings.append(Finding(OVERFLOW_RULE, "warning", text, f"{segment.name}@0", 0, 0, segment.base_offset))
        return replace(found, outputs=[os.fspath(part) for part in made])

    def _placed(self, segments: Sequence[InputSegment]) -> Iterator[tuple[InputSegment, OutputPlace]]:
        """Return the segments with their places: as named if every entry is kept, else as their offsets prove."""
        if self.order == "input":
            return ((segment, OutputPlace(segment.base_offset)) for segment in segments)
        return zip(segments, output_places([_file_of(segment) for segment in segments], self.read), strict=True)

    def _salvaged(self, segment: InputSegment, place: OutputPlace, targets: tuple[Any, Any]) -> Salvage:
        """Write the valid entries of a segment to the first target, and other bytes to the second."""
        self.observer.begin(segment.name, segment.size)
        is_sorted = self.order == "offset"
        log, rest = targets
        fit = SalvageOptions(
            is_sorted=is_sorted,
            is_aside_kept=rest is True,
            wants_records=rest not in (None, False),
            first_offset=place.first_offset,
            end_offset=place.end_offset,
        )
        # Sorted, a source is read more than once.
        seen = self.observer.read if self.observer.wants_position and not is_sorted else None
        with opened(segment, is_read_twice=is_sorted, seen=seen) as source, naming_file(segment.name):
            found = salvaged(source, self.read, fit, (log, None if isinstance(rest, bool) else rest))
            if not found.entries and not found.records:
                _ensure_segment(source)
        if place.finding is not None:
            found.findings.insert(0, place.finding)
        return replace(found, path=segment.name)


def _file_of(segment: InputSegment) -> SegmentFile:
    """Return the file of a segment of a directory.

    Raises:
        ValueError: for a stream.
    """
    if segment.file is None:
        raise ValueError("a stream cannot be saved together with directories; pass it alone")
    return segment.file


def _is_written(found: Salvage, place: OutputPlace) -> bool:
    """Return False for a segment without valid entries that was not empty, and for one without a place."""
    return place.base_offset is not None and (bool(found.entries) or found.ok)


@contextmanager
def _new_segment(directory: Path, segment: InputSegment, place: OutputPlace) -> Iterator[IO[bytes]]:
    """Open the file of a segment in the output; a hidden file for a segment without a place there."""
    name = file_name(segment)
    if place.base_offset is None:
        name = f".{name}"
    elif place.finding is not None:
        name = f"{place.base_offset:020d}.log"
    with new_file(directory / name) as file:
        yield file
        file.flush()
        with naming(file.name):
            os.fsync(file.fileno())
