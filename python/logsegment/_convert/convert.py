"""Convert bytes, files, partitions and trees to another format or codec: `convert`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Unpack

from logsegment._convert.offset_map import OffsetMap, staged_map
from logsegment._convert.result import ConversionLoss, Converted, ConvertOptions, MapTaker, converted
from logsegment._core import FileSource, Place, SegmentFile
from logsegment._errors import naming_file
from logsegment._options import EVERY_FORMAT, CompressionName, EntryKeywords, LogStartOffset, PartitionOptions, ReadOptions, WrittenFormat
from logsegment._output import ensure_apart, naming, new_file, staged_output
from logsegment._resume import resumable_directory
from logsegment._rewrite.partitions import parts_from_log_start
from logsegment._storage import Keys, StorageOptions, reached_source
from logsegment.inputs.input_segment import InputSegment, opened
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs, inputs_of, is_of_files
from logsegment.partition.reader import ensure_named
from logsegment.segment_files.discovery import Topics
from logsegment.segment_files.output_directory import begun_directory, ensure_own_directories, rebuild_sidecars
from logsegment.segment_files.output_names import directory_name, file_name
from logsegment.segment_files.overflow import split_file


def convert(
    source: Any,
    *,
    to: WrittenFormat | None = None,
    compression: CompressionName | None = None,
    level: int | None = None,
    allow_loss: bool = False,
    metadata_first: bool = False,
    first_offset: int | None = None,
    offset_map: bool | str | os.PathLike[str] | MapTaker = False,
    base_position: int | None = None,
    batch_bytes: int = 16384,
    check_crc: bool = True,
    out: str | os.PathLike[str] | BinaryIO | None = None,
    overwrite: bool = False,
    resume: bool = False,
    topic: Topics = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    log_start_offset: LogStartOffset = "honour",
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Converted:
    """Convert entries, files or directories to another format, another codec, or both.

    Entries that already have the target format and codec are copied byte for byte. The GIL is released.

    - Up from magic 0 and 1, every offset stays. A compressed message becomes one batch, and a run of uncompressed messages becomes
      batches of about `batch_bytes`.
    - Down, the conversion is that of brokers up to 3.9 for old consumers: batch by batch, with the same codec and without control
      batches. If the older format does not have the codec of a batch (zstd, a plugin), the conversion stops there, unless `compression`
      names another codec.
    - Between codecs of magic 2, the uncompressed records stay byte for byte, and control batches do not change.

    A malformed record in a rewritten batch raises the error of `decode`. A torn tail is dropped and reported as a finding.

    A directory becomes a directory with the same names, with rebuilt indexes, snapshots and epochs.

    Args:
        source: one source as `decode` takes it, a `Segment`, or what the command `convert` takes: the directory of a partition, a tree, a
            pattern (`orders-*`), a `Log`, or a list of these and of one file. A path is read as a segment of its directory: if another
            segment follows, it must not end inside a batch.
        to: "v2", "v1", "v0", "0.7", or "v3" (a proposal that no broker reads: KIP-931). None is "v2", with a finding if batches of "v3"
            are converted.
        compression: "none", "gzip", "snappy", "lz4", "zstd" or the alias of a plugin in `codecs`; None keeps the codec of each entry.
        level: level of that codec, as in `encode`; entries of the same codec are then recompressed.
        allow_loss: convert even if the target cannot hold something, and list the losses; otherwise raise LossError.
        metadata_first: with to="v3", write the metadata of all records before their payloads, as in `encode`.
        first_offset: from Kafka 0.7, the offset of the first message, 0 by default. In a down-conversion, drop records of uncompressed
            batches below this offset, as a broker does for a fetch.
        offset_map: from Kafka 0.7, map the position of each message to its new offset. True returns all rows in the result of one source;
            a function gets some thousand rows at a time during the conversion; the path of a new file gets them as CSV, with the columns
            file, position, index and offset.
        batch_bytes: approximate bytes of uncompressed messages per batch.
        check_crc: verify the checksums of rewritten entries; copied entries are not checked.
        out: see `encode`; of directories, a new directory, which is required.
        overwrite: see `encode`; for files.
        resume: of directories, keep the partitions that are finished at an error or an interruption, in a hidden directory next to `out`
            with a journal; and take those of an earlier run with the same options whose segments are still the same.
        topic: of directories, only the partitions of this topic, or of these.
        partition: of directories, only partitions of this number.
        replica: which directory is read of a partition that is in several; see `Log`.
        log_start_offset: of directories, "honour" leaves out the records below log start offsets; see `Log`. "ignore" keeps them.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects of tiered storage; see `Log`.
        base_position: from Kafka 0.7, the position of the first byte in its partition; None is that of the name of a file, or 0 for bytes.
        observer: gets the `Converted` of each file as soon as it is written; see `Observer`.
        options: options of entries of the source; see `decode`. `codecs` also resolves the alias in `compression`.

    Returns:
        A `Converted`; of several files with a result of each in `files`.

    Raises:
        LossError: if something would be lost and `allow_loss` is False; its `losses` list it.
        RecordBatchError: if an entry that must be rewritten is invalid.
        ValueError: if arguments are invalid or contradict each other, or the format does not have the codec.
        UnknownCompressionError: if `compression` is not a codec or the alias of a plugin.
        UnsupportedError: if a registered plugin is not installed (`kafka_error_code` 76).
        FileExistsError: if the file exists and `overwrite` is False.
        OSError: if a file cannot be read or written.

    Example:
        >>> import logsegment as ls
        >>> source = ls.FileSource("00000000000000000000.log")
        >>> smaller = ls.convert(source, compression="zstd", level=19)
        >>> smaller.losses, smaller.stopped_at
        ([], None)
        >>> old = ls.convert(source, to="v1", compression="gzip", allow_loss=True)
        >>> [loss.name for loss in old.losses]
        ['headers', ...]

    Source: `RecordsUtil.downConvert` in Kafka's clients 3.9; KIP-31, KIP-32, KIP-98, KIP-110, KIP-283.
    """
    conversion = ConvertOptions(
        to=to,
        compression=compression,
        level=level,
        allow_loss=allow_loss,
        metadata_first=metadata_first,
        first_offset=first_offset,
        offset_map=bool(offset_map),
        batch_bytes=batch_bytes,
    )
    read = ReadOptions.of(EntryKeywords, options, base_position=base_position, check_crc=check_crc)
    access = (storage_options, decryption_keys, layout)
    choice = (topic, partition, replica, *access[1:])
    is_selected = any(option is not None for option in choice)
    map_path = offset_map if isinstance(offset_map, str | os.PathLike) else None
    if is_of_files(source, access, is_selected=is_selected) or map_path is not None:
        if offset_map is True:
            raise ValueError("offset_map: pass the path of a file, or a function, for the map of files and directories")
        inputs = inputs_of(
            source,
            access,
            selection=(topic, None if partition is None else int(partition)),
            options=PartitionOptions(log_start_offset=log_start_offset, replica=replica),
            observer=observer,
        )
        if resume and (offset_map or not inputs.is_directory):
            raise ValueError("resume is about directories, and not with offset_map, whose earlier rows would be missing")
        if map_path is None:
            taker = offset_map if callable(offset_map) else None
            work = _ConvertWork(read, conversion, observer or Observer(), taker, resumes=resume)
            return work.run(inputs, out, overwrite=overwrite)
        for segment in inputs.segments:
            ensure_apart(FileSource(segment.path) if segment.is_regular else None, out=out, offset_map=map_path)
        with staged_map(map_path, overwrite=overwrite) as rows:
            return _ConvertWork(read, conversion, observer or Observer(), rows).run(inputs, out, overwrite=overwrite)
    if resume:
        raise ValueError("resume is about directories")
    if is_selected:
        raise TypeError(f"topic, partition, replica, decryption_keys and layout belong to paths, not to {type(source).__name__}")
    source = reached_source(source, storage_options)
    ensure_apart(source, out=out)
    if isinstance(source, str | os.PathLike):
        source = FileSource(source, next_offset=SegmentFile.at(source).with_neighbours().next_offset)
    with staged_output(out, overwrite=overwrite) as output:
        return converted(source, read, conversion, output.target, offset_map if callable(offset_map) else None)


@dataclass
class _ConvertWork:
    """A conversion of the segments of files and directories.

    Attributes:
        read: options of entries.
        conversion: the target.
        observer: follows the work.
        taker: gets the rows of the offset map; None without a map.
        next_offset: from Kafka 0.7, the offset of the first message of the next segment of the partition; None for that of the options.
        resumes: keep and take finished partitions.
        resumed: number of partitions that an earlier run has finished.
    """

    read: ReadOptions
    conversion: ConvertOptions
    observer: Observer
    taker: OffsetMap | MapTaker | None = None
    next_offset: int | None = field(default=None)
    resumes: bool = False
    resumed: int = 0

    def run(self, inputs: Inputs, out: Any, *, overwrite: bool) -> Converted:
        """Write the outputs of all inputs."""
        segments = list(map(_with_next, inputs.segments))
        ensure_named([segment.file for segment in segments if segment.file and segment.is_listed])
        if isinstance(self.taker, OffsetMap) and not any(map(self._is_of_0_7, segments)):
            raise ValueError("offset_map: no input is of Kafka 0.7 (*.kafka files, or the format 0.7); other offsets do not change")
        findings = inputs.observed(self.observer)
        if inputs.is_directory:
            return replace(Converted.of_files(self._to_directory(segments, out), findings), resumed=self.resumed)
        if len(segments) > 1:
            raise ValueError("several files cannot become one file; pass a directory, or one file at a time")
        return self._to_file(segments[0], out, overwrite=overwrite)

    def _to_file(self, segment: InputSegment, out: Any, *, overwrite: bool) -> Converted:
        if segment.is_regular:
            ensure_apart(FileSource(segment.path), out=out)
        self.observer.begin(segment.name, segment.size)
        seen = self.observer.read if self.observer.wants_position else None
        with staged_output(out, overwrite=overwrite) as output, opened(segment, seen=seen) as source:
            done = self._converted(segment, source, output.target)
            done = replace(done, **_sizes(segment, output.target))
        if isinstance(out, str | os.PathLike):
            done = replace(done, outputs=[os.fspath(out)])
        self.observer.done(segment.name, done)
        return done

    def _to_directory(self, segments: Sequence[InputSegment], out: Any) -> list[Converted]:
        if not isinstance(out, str | os.PathLike):
            raise TypeError(f"the output of directories must be a new directory, not {type(out).__name__}")
        ensure_own_directories(segments)
        done: list[Converted] = []
        groups: dict[str, list[InputSegment]] = {}
        for segment in segments:
            groups.setdefault(segment.directory, []).append(segment)
        read = {name: getattr(self.read, name) for name in ("format", "check_crc", "base_position")}
        task = asdict(self.conversion) | read | {"quirks": sorted(self.read.quirks)}
        with resumable_directory(out, task, resumes=self.resumes) as journal:
            for group in groups.values():
                name = directory_name(group[0])
                inputs = _inputs(group) if self.resumes else []
                if (known := journal.entry(name, inputs)) is not None:
                    self.resumed += 1
                    done += [_earlier(entry) for entry in known["results"]]
                    continue
                found = list(self._of_directory(group, journal.parts, out))
                done += found
                # The result of a conversion that stopped is more than a journal has.
                if all(file.stopped_at is None for file in found):
                    journal.add(name, inputs, results=list(map(_entry, found)))
            rebuild_sidecars(journal.parts)
        return done

    def _of_directory(self, segments: Sequence[InputSegment], hidden: Path, out: str | os.PathLike[str]) -> Iterator[Converted]:
        """Convert the segments of one directory."""
        # Each partition begins anew.
        self.next_offset = None
        for number, segment in enumerate(segments):
            if segment.is_of_0_7 and not segment.size:
                continue
            is_last = not any(later.place == segment.place for later in segments[number + 1 :])
            found = self._to_partition(segment, begun_directory(segment, hidden), is_last=is_last)
            done = replace(found, outputs=[os.path.join(out, os.path.relpath(path, hidden)) for path in found.outputs])
            self.observer.done(segment.name, done)
            yield done

    def _to_partition(self, segment: InputSegment, directory: Path, *, is_last: bool) -> Converted:
        """Convert a segment into the directory of its partition, without the records below the log start offset of the partition."""
        self.observer.begin(segment.name, segment.size)
        path = directory / self._name_of(segment)
        log_start = None if segment.file is None else segment.file.log_start
        with new_file(path) as file:
            if segment.file is None or log_start is None:
                seen = self.observer.read if self.observer.wants_position else None
                with opened(segment, seen=seen) as source:
                    done = self._converted(segment, source, file)
                is_deleted = False
            else:
                with naming_file(segment.name):
                    parts, below = parts_from_log_start(segment.file, self.read)
                of_parts = [self._converted(segment, part, file) for part in parts]
                done = replace(Converted.of_files(of_parts), below_log_start=below, path=segment.name, _files=[])
                is_deleted = not parts and segment.size > 0
            done = replace(done, **_sizes(segment, file))
            os.fsync(file.fileno())
        if not is_deleted:
            # Offsets that are too far above the name begin another segment (SEG-22).
            made = [path] if self.conversion.to == "0.7" else split_file(path, EVERY_FORMAT)
            return replace(done, outputs=[os.fspath(part) for part in made])
        path.unlink()
        if is_last and not any(directory.glob("*.log")):
            # An empty segment keeps the log end offset.
            kept = directory / f"{log_start or 0:020d}.log"
            kept.touch()
            return replace(done, outputs=[os.fspath(kept)])
        return done

    def _converted(self, segment: InputSegment, source: Any, target: Any) -> Converted:
        """Convert one source of a segment."""
        read, conversion, taker = self.read, self.conversion, None
        if self._is_of_0_7(segment):
            base = read.base_position
            read = replace(read, format="0.7", base_position=segment.base_offset or 0 if base is None and segment.is_of_0_7 else base)
            taker = self.taker.of(segment, base) if isinstance(self.taker, OffsetMap) else self.taker
            first = conversion.first_offset if self.next_offset is None else self.next_offset
            conversion = replace(conversion, first_offset=first, offset_map=taker is not None)
        with naming_file(segment.name):
            done = converted(source, read, conversion, target, taker)
        if done.next_offset is not None:
            self.next_offset = done.next_offset
        return replace(done, path=segment.name)

    def _name_of(self, segment: InputSegment) -> str:
        """Return the name of the converted segment: after its first offset, which is not that of Kafka 0.7."""
        if not self._is_of_0_7(segment):
            return file_name(segment)
        first = self.conversion.first_offset if self.next_offset is None else self.next_offset
        return f"{first or 0:020d}.log"

    def _is_of_0_7(self, segment: InputSegment) -> bool:
        return self.read.format == "0.7" or (self.read.format == "auto" and segment.is_of_0_7)


def _inputs(segments: Sequence[InputSegment]) -> list[list[str | float | None]]:
    """Return the names, sizes and versions of segments."""
    entries = [Place(segment.path).entry() for segment in segments]
    return [[entry.name, entry.size, entry.tag or entry.modified] for entry in entries]


def _entry(done: Converted) -> dict[str, Any]:
    """Return what a journal keeps of the result of a file."""
    losses = [asdict(loss) for loss in done.losses]
    kept = {"path": done.path, "outputs": done.outputs, "belowLogStart": done.below_log_start, "losses": losses}
    return kept | {"inputBytes": done.input_bytes, "outputBytes": done.output_bytes}


def _earlier(entry: dict[str, Any]) -> Converted:
    """Return the result of a file that an earlier run has written."""
    return Converted(
        data=None,
        losses=[ConversionLoss(**loss) for loss in entry["losses"]],
        path=entry["path"],
        outputs=entry["outputs"],
        input_bytes=entry["inputBytes"],
        output_bytes=entry["outputBytes"],
        below_log_start=entry["belowLogStart"],
    )


def _with_next(segment: InputSegment) -> InputSegment:
    """Return a file that was named itself with the next segment of its directory: without one, it may end inside a batch."""
    if segment.file is None or segment.is_listed:
        return segment
    return replace(segment, file=segment.file.replaced(next_offset=segment.file.with_neighbours().next_offset))


def _sizes(segment: InputSegment, target: Any) -> dict[str, Any]:
    """Return the bytes of the input and the output, if both are files."""
    if isinstance(target, str):
        return {"input_bytes": segment.size, "output_bytes": os.stat(target).st_size} if segment.is_regular else {}
    if not segment.is_regular or not hasattr(target, "fileno"):
        return {}
    with naming(segment.path):
        target.flush()
    status = os.fstat(target.fileno())
    return {"input_bytes": segment.size, "output_bytes": status.st_size} if stat.S_ISREG(status.st_mode) else {}
