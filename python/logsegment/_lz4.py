"""Check and rewrite the header checksums of LZ4 frames (KIP-57). Kafka 0.8.2 and 0.9 require a checksum that covers the magic too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Literal, TypeAlias, TypedDict, Unpack, get_args, overload

from logsegment._core import Limits, Lz4Rewriter, lz4_survey
from logsegment._core import lz4_header_checksum as core_lz4_header_checksum
from logsegment._errors import naming_file
from logsegment._options import ensure_one_of
from logsegment._output import PATHS, OutputFile, StrPath, ensure_apart
from logsegment._storage import Keys, StorageOptions, reached_source
from logsegment.inputs.input_segment import InputSegment, opened
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import inputs_of, is_of_files
from logsegment.segment_files.discovery import Topics

Form: TypeAlias = Literal["correct", "broken"]
#: The form of each entry's header checksum: the same in all, or that of its magic.
FixedForm: TypeAlias = Literal["correct", "magic"]


@dataclass(frozen=True)
class Lz4Frames:
    """Count of LZ4 frames of one kind.

    Attributes:
        magic: magic of the entries with these frames.
        form: of their header checksum: "correct", "broken", or "neither".
        refused_by_09: the frames have a content size or a content checksum, which Kafka 0.8.2 and 0.9 reject.
        count: number of frames.
        position: byte position of the first entry with such a frame.
    """

    magic: int
    form: str
    refused_by_09: bool
    count: int
    position: int

    @property
    def ok(self) -> bool:
        """Return True if the readers of this magic accept the frames: "broken" in magic 0, "correct" in magic 1 and 2."""
        return self.form == ("broken" if self.magic == 0 else "correct") and not (self.magic == 0 and self.refused_by_09)


def lz4_header_checksum(frame: Any, *, form: Form) -> int:
    """Compute the header checksum (HC) of an LZ4 frame.

    Args:
        frame: a buffer that begins with the frame; its first 7 to 15 bytes are read.
        form: "correct" covers FLG, BD and content size, as the LZ4 frame format requires; "broken" covers the frame's magic too.

    Returns:
        The byte.

    Raises:
        CodecError: if the buffer is too short, does not start with the frame's magic, or has reserved bits or a dictionary id.
        ValueError: if `form` is invalid.

    Example:
        >>> import logsegment as ls
        >>> frame = bytes.fromhex("04224d18604082")
        >>> hex(ls.lz4_header_checksum(frame, form="correct")), hex(ls.lz4_header_checksum(frame, form="broken"))
        ('0x82', '0x1a')

    Source: KIP-57; `Lz4BlockOutputStream` in Kafka's clients.
    """
    return core_lz4_header_checksum(frame, form)


class Lz4Keywords(TypedDict, total=False):
    """Options of calls that read LZ4 frames; `check_lz4` documents them."""

    topic: Topics
    partition: int | None
    decryption_keys: Keys | None
    storage_options: StorageOptions | None
    layout: str | None
    observer: Observer | None


@overload
def fix_lz4(
    source: Any, *, form: FixedForm = "correct", limits: Limits | None = None, out: None = None, **options: Unpack[Lz4Keywords]
) -> bytes: ...


@overload
def fix_lz4(
    source: Any,
    *,
    form: FixedForm = "correct",
    limits: Limits | None = None,
    out: StrPath | BinaryIO,
    overwrite: bool = False,
    **options: Unpack[Lz4Keywords],
) -> None: ...


def fix_lz4(
    source: Any,
    *,
    form: FixedForm = "correct",
    limits: Limits | None = None,
    out: StrPath | BinaryIO | None = None,
    overwrite: bool = False,
    **options: Unpack[Lz4Keywords],
) -> bytes | None:
    """Write the correct header checksum into every LZ4 frame of a message set, or that of the entry's magic.

    One byte of each frame changes, and the checksum of its entry. Nothing is decompressed; all other bytes stay, also a torn tail. Kafka
    0.8.2 and 0.9 reject the correct form: in magic 0 it is for other tools that read LZ4 frames.

    Args:
        source: entries of magic 0, 1 and 2, in any mixture; as in `decode`, or the directory of one segment.
        form: "correct" in all entries; or "magic": what brokers of each magic expect, as `break_lz4` writes it in magic 0 and correct in
            magic 1 and 2.
        limits: see `decode`.
        out: a new file or a file object; None for the bytes.
        overwrite: replace an existing file.
        options: see `check_lz4`. The observer gets the number of bytes that were written.

    Returns:
        The rewritten entries, of the same size as the input; fewer bytes if "magic" removed a content size or content checksum. None if
        they were written to `out`.

    Raises:
        ChecksumError: if the checksum of an LZ4 entry is wrong: a new one would hide the damage.
        CodecError: if a frame is invalid.
        ValueError: if `form` is invalid, or the source has several segments.
        RecordBatchError: if the length of an entry is invalid.
        FileExistsError: if the file exists and `overwrite` is False.

    Example:
        >>> import logsegment as ls
        >>> data = open("00000000000000000000.log", "rb").read()
        >>> ls.fix_lz4(ls.break_lz4(data)) == data
        True

    Source: KIP-57; `rd_kafka_lz4_decompress` of librdkafka repairs frames the same way.
    """
    ensure_one_of("form", form, get_args(FixedForm))
    return _rewritten(source, form, limits, (out, overwrite), options)


@overload
def break_lz4(source: Any, *, limits: Limits | None = None, out: None = None, **options: Unpack[Lz4Keywords]) -> bytes: ...


@overload
def break_lz4(
    source: Any, *, limits: Limits | None = None, out: StrPath | BinaryIO, overwrite: bool = False, **options: Unpack[Lz4Keywords]
) -> None: ...


def break_lz4(
    source: Any,
    *,
    limits: Limits | None = None,
    out: StrPath | BinaryIO | None = None,
    overwrite: bool = False,
    **options: Unpack[Lz4Keywords],
) -> bytes | None:
    """Write the header checksum of Kafka 0.8.2 and 0.9 into every LZ4 frame of a message set.

    Content size and content checksum are removed, since these readers reject them. They read magic 0 only; no reader accepts magic 1 or
    2 with such a checksum.

    Args:
        source, limits, out, overwrite, options: as in `fix_lz4`.

    Returns:
        The rewritten entries; fewer bytes than the input if something was removed. None if they were written to `out`.

    Raises: as `fix_lz4`.

    Example:
        >>> import logsegment as ls
        >>> data = open("00000000000000000000.log", "rb").read()
        >>> [frames for frames in ls.check_lz4(ls.break_lz4(data)) if frames.form != "broken"]
        []

    Source: KIP-57; `KafkaLZ4BlockInputStream` of Kafka 0.9.
    """
    return _rewritten(source, "broken", limits, (out, overwrite), options)


def check_lz4(
    source: Any,
    *,
    limits: Limits | None = None,
    topic: Topics = None,
    partition: int | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
) -> list[Lz4Frames]:
    """Count the LZ4 frames of a source by their header checksums.

    Args:
        source: as in `fix_lz4`, or what the command `lz4 check` takes: partition directories, trees, patterns, a `Log`, or a list of
            these; read piece by piece, in bounded memory.
        limits: as in `fix_lz4`.
        topic: only the partitions of this topic, or of these.
        partition: only partitions of this number.
        decryption_keys: see `Segment`.
        storage_options: options of the store of a URI; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        observer: gets the `Lz4Frames` of each file; see `Observer`.

    Returns:
        One `Lz4Frames` for each kind, by magic and form; an empty list without LZ4. Of several files, `position` is in the first file with
        such a frame.

    Raises: as `fix_lz4`.

    Example:
        >>> import logsegment as ls
        >>> ls.check_lz4(ls.FileSource("00000000000000000000.log"))
        []

    Source: KIP-57.
    """
    options: Lz4Keywords = {"topic": topic, "partition": partition, "decryption_keys": decryption_keys, "layout": layout}
    segments = _segments(source, {**options, "storage_options": storage_options, "observer": observer})
    if segments is None:
        return [Lz4Frames(*row) for row in lz4_survey(reached_source(source, storage_options), limits)]
    found: dict[tuple[int, str, bool], Lz4Frames] = {}
    for segment in segments:
        with _opened(segment, observer) as opened_source:
            frames = [Lz4Frames(*row) for row in lz4_survey(opened_source, limits)]
        for row in frames:
            kind = row.magic, row.form, row.refused_by_09
            found[kind] = replace(found[kind], count=found[kind].count + row.count) if kind in found else row
        if observer is not None:
            observer.done(segment.name, frames)
    return [found[kind] for kind in sorted(found)]


def _segments(source: Any, options: Lz4Keywords) -> list[InputSegment] | None:
    """Return the segments of a source; None for one source as `decode` takes it, without an observer."""
    access = options.get("storage_options"), options.get("decryption_keys"), options.get("layout")
    selection = options.get("topic"), options.get("partition")
    observer = options.get("observer")
    is_selected = any(option is not None for option in (*selection, *access[1:], observer))
    if not is_of_files(source, access, is_selected=is_selected) and not is_selected:
        return None
    inputs = inputs_of(source, access, selection=selection)
    inputs.observed(observer)
    return inputs.segments


@contextmanager
def _opened(segment: InputSegment, observer: Observer | None) -> Iterator[Any]:
    if observer is not None:
        observer.begin(segment.name, segment.size)
    seen = observer.read if observer is not None and observer.wants_position else None
    with naming_file(segment.name), opened(segment, seen=seen) as source:
        yield source


def _rewritten(
    source: Any, form: str, limits: Limits | None, output: tuple[StrPath | BinaryIO | None, bool], options: Lz4Keywords
) -> bytes | None:
    """Return the rewritten entries of one source, or write them."""
    out = output[0]
    segments = _segments(source, options)
    if segments is None:
        place = reached_source(source, options.get("storage_options"))
        ensure_apart(place, out=out)
        return _written(Lz4Rewriter(place, form, limits, out is None), output)[0]
    if len(segments) > 1:
        raise ValueError("the source must be one segment; a directory of several is not rewritten")
    (segment,) = segments
    ensure_apart(segment.path if segment.is_regular else None, out=out)
    observer = options.get("observer")
    with _opened(segment, observer) as opened_source:
        data, size = _written(Lz4Rewriter(opened_source, form, limits, out is None), output)
    if observer is not None:
        observer.done(segment.name, size)
    return data


def _written(pieces: Iterable[bytes], output: tuple[StrPath | BinaryIO | None, bool]) -> tuple[bytes | None, int]:
    """Return the bytes, or None if they were written, and their number."""
    out, overwrite = output
    if out is None:
        data = b"".join(pieces)
        return data, len(data)
    if isinstance(out, PATHS):
        with OutputFile(out, overwrite=overwrite) as file:
            return None, sum(map(file.file.write, pieces))
    return None, sum(map(out.write, pieces))
