"""Cut and merge the segments of a partition, batch by batch and byte for byte: `split` and `join`."""

from __future__ import annotations

import hashlib
import io
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeAlias, Unpack

from logsegment._core import (
    BatchHeader,
    FileSource,
    PartitionEnd,
    Place,
    SegmentFile,
    batch_headers,
    batch_stream,
)
from logsegment._core import decode as core_decode
from logsegment._options import EntryKeywords, LogStartOffset, PartitionOptions, ReadOptions, Timestamp, ensure_offsets, milliseconds
from logsegment._output import NamedFile, OutputFile, new_file, output_directory
from logsegment._places import absolute, redacted_uri
from logsegment._rewrite.arrangement import Arrangement, SegmentPart
from logsegment._rewrite.partitions import cut_batch, snapshot_before, sources_of, write_sidecars
from logsegment._rewrite.rewrite import new_directory
from logsegment._storage import Keys, StorageOptions
from logsegment._validate import ensure_undamaged
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs, LogSource, inputs_of, is_of_files
from logsegment.segment_files.discovery import Topics
from logsegment.segment_files.log_start import without_log_starts
from logsegment.segment_files.output_directory import ensure_own_directories
from logsegment.segment_files.output_names import directory_name
from logsegment.segment_files.overflow import MOST, first_offset_of

#: Bytes that are copied at once.
_PIECE = 1 << 20


#: Whether a batch begins a new segment; the bytes of the open segment come with it.
Cut: TypeAlias = Callable[[BatchHeader, int], bool]


def split(
    source: LogSource,
    out: str | os.PathLike[str],
    *,
    offsets: Sequence[int] | int | None = None,
    times: Sequence[Timestamp] | Timestamp | None = None,
    bytes: int | None = None,
    log_start_offset: LogStartOffset = "honour",
    topic: Topics = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Arrangement:
    """Cut segments at offsets, times or sizes. Batches stay byte for byte, so that a cut inside a batch is made after it.

    The borders of segments stay too. A new segment has the name of the first offset that it may hold. A segment also begins where an
    offset is more than 2^31 - 1 above the name of the segment before (SEG-22), as a broker cuts such a segment when it loads the log.

    Args:
        source: a segment file, a partition directory or a tree of them, also in tiered storage; a pattern (`orders-*`), a `Log` or a
            `Segment`; or a list of these.
        out: a new directory. A file becomes segments in it; a directory becomes a directory for each partition. Both have indexes,
            snapshots and a leader epoch checkpoint.
        offsets: a segment begins with the first batch at or after each offset.
        times: a segment begins with the first batch whose largest timestamp is at or after each time.
        bytes: a segment begins before it would have more bytes; the broker's `log.segment.bytes`.
        log_start_offset: "honour" leaves out the records of directories below their log start offsets, as `Log` does; then the batch
            around such an offset is written anew. "ignore" keeps them.
        topic: of directories, only the partitions of this topic, or of these.
        partition: of directories, only partitions of this number.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects of tiered storage; see `Log`.
        observer: see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        An `Arrangement`.

    Raises:
        ValueError, TypeError: if an argument is invalid, or none of offsets, times and bytes is given.
        RecordBatchError: if the source is damaged; nothing is written.
        FileExistsError: if the output exists.
        OSError: if a file cannot be read or written.

    Example:
        >>> import logsegment as ls
        >>> done = ls.split("00000000000000000000.log", "cut", offsets=[100])
        >>> len(done.sha256)
        2

    Source: `LocalLog.roll` in Kafka.
    """
    size = bytes
    if offsets is None and times is None and size is None:
        raise ValueError("nothing to do: give offsets, times or bytes")
    if size is not None and size < 1:
        raise ValueError("bytes must be at least 1")
    for offset in [offsets] if isinstance(offsets, int) else offsets or ():
        ensure_offsets(offset, None, ("offsets", "offsets"))
    by_offset = sorted([offsets] if isinstance(offsets, int) else offsets or ())
    given = times if isinstance(times, Sequence) else () if times is None else (times,)
    by_time = sorted(milliseconds(time, "times") for time in given)

    def cut_of_partition() -> Cut:
        reached = {"offset": 0, "time": 0}

        def is_cut(header: BatchHeader, held: int) -> bool:
            first = header.last_offset if header.base_offset is None else header.base_offset
            counts = {"offset": bisect_right(by_offset, first), "time": bisect_right(by_time, header.max_timestamp)}
            has_passed = any(counts[name] > reached[name] for name in counts)
            reached.update({name: max(reached[name], number) for name, number in counts.items()})
            return has_passed or (size is not None and held + header.size > size)

        return is_cut

    inputs = inputs_of(
        source,
        (storage_options, decryption_keys, layout),
        selection=(topic, None if partition is None else int(partition)),
        options=PartitionOptions(log_start_offset=log_start_offset, replica=replica),
        observer=observer,
    )
    return _cut_and_join(inputs, out, (ReadOptions.of(EntryKeywords, options), observer), (cut_of_partition, True))


def join(
    sources: LogSource,
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    log_start_offset: LogStartOffset = "honour",
    topic: Topics = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Arrangement:
    """Merge adjacent segments of a partition. Batches stay byte for byte.

    Args:
        sources: segment files of one partition, which become one file; or a partition directory or a tree of them, where a segment begins
            only where the one before it could not hold more: 2^31 - 1 bytes or offsets.
        out: a file for files, without sidecar files; a new directory for directories, as in `split`.
        overwrite: replace an existing file. A directory is never replaced.
        log_start_offset: as in `split`.
        topic: of directories, only the partitions of this topic, or of these.
        partition: of directories, only partitions of this number.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects of tiered storage; see `Log`.
        observer: see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        An `Arrangement`.

    Raises:
        ValueError: if offsets of the segments overlap, or one file cannot hold them.
        RecordBatchError, FileExistsError, OSError: as `split`.

    Example:
        >>> import logsegment as ls
        >>> done = ls.join("orders-0", "joined")
        >>> [part.entries for part in done.parts]
        [20]
    """
    read = ReadOptions.of(EntryKeywords, options)
    several = list(sources) if isinstance(sources, (list, tuple)) else [sources]
    access = (storage_options, decryption_keys, layout)
    has_directories = any(is_of_files(source, access, is_selected=False) for source in several)
    inputs = inputs_of(
        several,
        access,
        selection=(topic, None if partition is None else int(partition)),
        options=PartitionOptions(log_start_offset=log_start_offset, replica=replica) if has_directories else None,
        observer=observer,
    )
    if len(several) == 1 and inputs.is_directory:
        return _cut_and_join(inputs, out, (read, observer), (lambda: lambda header, held: held + header.size > MOST, False))
    findings = inputs.observed(observer)
    files = sorted(without_log_starts(_files_of(inputs)), key=lambda file: file.base_offset or 0)
    place = os.fspath(out)
    writer = _Writer(lambda header, held: False, False, lambda base: place, read)
    with OutputFile(place, overwrite=overwrite) as output:
        writer.open_file = lambda path: _Shared(output.file, place)
        for file, source in zip(files, sources_of(files), strict=True):
            writer.add(file, _headers(source, read), source.end or 0)
        if len(writer.made) > 1:
            raise ValueError(f"{place}: one segment cannot hold all offsets of these files")
        writer.close()
    return Arrangement(writer.parts, writer.digests, writer.input_digests, writer.below, findings)


@dataclass
class _Writer:
    """Writes the batches of one partition to segments, one after the other."""

    is_cut: Cut
    keeps_borders: bool
    path_of: Callable[[int], str]
    read: ReadOptions
    parts: list[SegmentPart] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    input_digests: dict[str, str] = field(default_factory=dict)
    #: Base offset of each segment.
    made: list[int] = field(default_factory=list)
    #: Records below the log start offset, and the bytes of the files with nothing but these.
    below: int = 0
    deleted: list[FileSource] = field(default_factory=list)
    open_file: Callable[[str], BinaryIO] = field(default=new_file)
    _file: BinaryIO | None = None
    _hash: Any = None
    _input_hash: Any = None
    _held: int = 0
    _last: int = -1

    def add(self, file: SegmentFile, headers: Iterator[BatchHeader], size: int) -> None:
        """Write the batches of an input segment, in runs that go to the same segment."""
        raw = Place(file.path).open()
        self._input_hash = hashlib.sha256()
        headers, at, is_begun = self._past_deleted(raw, file, headers)
        begins = self.keeps_borders and not is_begun
        start, first, last = at, 0, 0
        entries, last_batch = 0, 0
        for header in headers:
            base = first_offset_of(header, self._last)
            if base <= self._last:
                raise ValueError(f"{redacted_uri(file.path)}: offset {base} follows offset {self._last}; the segments overlap")
            is_far = bool(self.made) and header.last_offset - self.made[-1] > MOST
            if self._file is None or begins or is_far or self.is_cut(header, self._held):
                self._copy(raw, file, (start, at - start), (first, last, entries))
                start, entries = at, 0
                # The first segment keeps its name, and so does one whose border stays, unless the name is too low (SEG-22).
                name = file.base_offset if at == 0 and (begins or not self.made) else None
                keeps_name = name is not None and header.last_offset - name <= MOST
                self._begin(name or 0 if keeps_name else self._name_of(file, base))
            first = first if entries else base
            last, entries, begins = header.last_offset, entries + 1, False
            last_batch, at = header.position, header.position + header.size
            self._held += header.size
            self._last = header.last_offset
        self._copy(raw, file, (start, at - start), (first, last, entries))
        if at < size:
            # From the last batch on: its offsets show that none is missing before the next segment.
            ensure_undamaged(file.path, file.source(last_batch), self.read)
            self._leave_out(raw, file, (at, size - at), (None, None, 0))
        self.input_digests[redacted_uri(file.path)] = self._input_hash.hexdigest()

    def close(self) -> None:
        """End the open segment."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self.digests[self.path_of(self.made[-1])] = self._hash.hexdigest()
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        if self._file is not None:
            self._file.close()

    def _past_deleted(self, raw: Any, file: SegmentFile, headers: Iterator[BatchHeader]) -> tuple[Iterator[BatchHeader], int, bool]:
        """Leave out the batches below the log start offset, and write the batch around it without the records below.

        Returns:
            The headers of the batches that follow, the position of the first of them, and whether a segment begins before it.
        """
        log_start, end, entries = file.log_start, 0, 0
        if log_start is None or self.made:
            return headers, 0, False
        found: BatchHeader | None = None
        offsets: tuple[int | None, int | None] = (None, None)
        for header in headers:
            if header.last_offset >= log_start:
                found = header
                break
            self.below += file.records_of_batch_before(header.position, header.size, log_start)
            offsets = header.base_offset if offsets[0] is None else offsets[0], header.last_offset
            end, entries = header.position + header.size, entries + 1
        if end:
            self._leave_out(raw, file, (0, end), (*offsets, entries))
            self.deleted.append(FileSource(file.path, 0, end))
            self._last = max(self._last, offsets[1] or 0)
        if found is None:
            return headers, end, False
        if found.base_offset is not None and found.base_offset >= log_start:
            return chain([found], headers), found.position, False
        self._begin(file.base_offset if end == 0 and file.base_offset is not None else self._name_of(file, found.base_offset or log_start))
        self._write_cut(raw, file, found)
        return headers, found.position + found.size, True

    def _name_of(self, file: SegmentFile, base: int) -> int:
        """Return the name of a segment that a batch begins: the first segment of a partition begins at the log start offset."""
        return base if file.log_start is None or self.made else min(base, file.log_start)

    def _leave_out(self, raw: Any, file: SegmentFile, place: tuple[int, int], batches: tuple[int | None, int | None, int]) -> None:
        """Account for bytes that are not written."""
        (position, length), (first, last, entries) = place, batches
        self.parts.append(SegmentPart(redacted_uri(file.path), position, length, None, 0, first, last, entries))
        for data in _pieces(raw, position, position + length):
            self._input_hash.update(data)

    def _write_cut(self, raw: Any, file: SegmentFile, header: BatchHeader) -> None:
        """Write the batch around the log start offset without the records below."""
        assert self._file is not None
        log_start, end = file.log_start or 0, header.position + header.size
        data, below = cut_batch(FileSource(file.path, header.position, end), log_start, self.read)
        output_position = self._file.tell()
        self._file.write(data)
        self._hash.update(data)
        for piece in _pieces(raw, header.position, end):
            self._input_hash.update(piece)
        path, place = self.path_of(self.made[-1]), (redacted_uri(file.path), header.position, header.size)
        first = log_start if below or header.base_offset is None else header.base_offset
        self.parts.append(SegmentPart(*place, path, output_position, first, header.last_offset, 1, len(data) if below else None))
        self.below += below
        self._held, self._last = header.size, header.last_offset

    def begin_empty(self, base_offset: int) -> None:
        """Begin a segment without batches, which names the offset after the deleted ones."""
        self._begin(base_offset)

    def _begin(self, base_offset: int) -> None:
        self.close()
        self.made.append(base_offset)
        self._file, self._hash, self._held = self.open_file(self.path_of(base_offset)), hashlib.sha256(), 0

    def _copy(self, raw: Any, file: SegmentFile, run: tuple[int, int], batches: tuple[int, int, int]) -> None:
        (position, length), (first, last, entries) = run, batches
        if not entries or self._file is None:
            return
        output_position = self._file.tell()
        for data in _pieces(raw, position, position + length):
            self._file.write(data)
            self._hash.update(data)
            self._input_hash.update(data)
        path = self.path_of(self.made[-1])
        self.parts.append(SegmentPart(redacted_uri(file.path), position, length, path, output_position, first, last, entries))


def _pieces(raw: Any, start: int, end: int) -> Iterator[bytes | bytearray]:
    for at in range(start, end, _PIECE):
        yield raw.read_at(at, min(_PIECE, end - at))


class _Shared(io.BufferedWriter):
    """A file that its owner closes."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__(NamedFile(file.fileno(), "w", closefd=False, name=name))


def _headers(source: FileSource, read: ReadOptions) -> Iterator[BatchHeader]:
    """Yield the headers of the batches of a segment.

    Raises:
        RecordBatchError: if bytes cannot be framed, or the checksum of a batch does not match.
    """
    for rows in batch_stream(source, read):
        for header in batch_headers(rows):
            if header.is_valid is False:
                # Decoding the batch raises the error with all that is known of it.
                part = FileSource(source.path, header.position, header.position + header.size, source.offsets)
                core_decode(part, read).read_all()
            yield header


def _files_of(inputs: Inputs) -> list[SegmentFile]:
    """Return the files of inputs.

    Raises:
        ValueError: if a stream is among them.
    """
    if len(inputs.files) != len(inputs.segments):
        raise ValueError("segments are read by position: a stream cannot be read")
    return inputs.files


def _cut_and_join(
    inputs: Inputs, out: Any, how: tuple[ReadOptions, Observer | None], cutting: tuple[Callable[[], Cut], bool]
) -> Arrangement:
    """Write the partitions of a source to a new directory.

    Args:
        inputs: the segments.
        out: the new directory.
        how: how entries are read; and the observer.
        cutting: makes what decides where a segment of a partition begins; and whether the borders of the source stay.
    """
    read, observer = how
    files = _files_of(inputs)
    if inputs.is_directory:
        ensure_own_directories(files)
    place = new_directory(out, inputs)
    done, below = Arrangement([], {}, {}, 0, inputs.observed(observer)), 0
    with output_directory(place) as hidden:
        for _, group in groupby(files, lambda file: absolute(file.directory)):
            segments = list(group)
            name = directory_name(segments[0]) if inputs.is_directory else ""
            made = _arrange_partition(segments, read, cutting, hidden / name)
            below += made.below_log_start
            final = os.path.join(place, name)
            done.parts.extend(_moved(part, final) for part in made.parts)
            done.input_sha256.update(made.input_sha256)
            done.sha256.update({os.path.join(final, os.path.basename(path)): digest for path, digest in made.sha256.items()})
    return replace(done, below_log_start=below)


def _moved(part: SegmentPart, directory: str) -> SegmentPart:
    output = None if part.output is None else os.path.join(directory, os.path.basename(part.output))
    return SegmentPart(**(asdict(part) | {"output": output}))


def _arrange_partition(
    files: Sequence[SegmentFile], read: ReadOptions, how: tuple[Callable[[], Cut], bool], directory: Path
) -> Arrangement:
    directory.mkdir(parents=True, exist_ok=True)
    make_cut, keeps_borders = how
    writer = _Writer(make_cut(), keeps_borders, lambda base: os.fspath(directory / f"{base:020d}.log"), read)
    with writer:
        for file, source in zip(files, sources_of(files), strict=True):
            writer.add(file, _headers(source, read), source.end or 0)
        if not writer.made and files[0].log_start is not None:
            # An empty segment keeps the log end offset.
            writer.begin_empty(files[0].log_start)
        writer.close()
    before = snapshot_before(files[0])
    if writer.deleted:
        # The state of the producers of batches that are left out is in the snapshot before the first segment.
        before = PartitionEnd(writer.deleted, read, before).snapshots[-1]
    paths = [directory / f"{base:020d}.log" for base in writer.made]
    end = PartitionEnd([os.fspath(path) for path in paths], read, before)
    kept = [(path, base, snapshot) for path, base, snapshot in zip(paths, writer.made, end.snapshots, strict=False)]
    if kept:
        write_sidecars(files[0], directory, kept, (before, end))
    return Arrangement(writer.parts, writer.digests, writer.input_digests, writer.below)
