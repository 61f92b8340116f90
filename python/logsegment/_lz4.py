"""Check and rewrite the header checksums of LZ4 frames (KIP-57). Kafka 0.8.2 and 0.9 require a checksum that covers the magic too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from logsegment._core import Limits, Lz4Rewriter, lz4_survey
from logsegment._core import lz4_header_checksum as core_lz4_header_checksum
from logsegment._options import ensure_one_of
from logsegment._storage import StorageOptions, reached_source

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


def fix_lz4(
    source: Any, *, form: FixedForm = "correct", limits: Limits | None = None, storage_options: StorageOptions | None = None
) -> bytes:
    """Write the correct header checksum into every LZ4 frame of a message set, or that of the entry's magic.

    One byte of each frame changes, and the checksum of its entry. Nothing is decompressed; all other bytes stay, also a torn tail. Kafka
    0.8.2 and 0.9 reject the correct form: in magic 0 it is for other tools that read LZ4 frames.

    Args:
        source: entries of magic 0, 1 and 2, in any mixture; as in `decode`.
        form: "correct" in all entries; or "magic": what brokers of each magic expect, as `break_lz4` writes it in magic 0 and correct in
            magic 1 and 2.
        limits: see `decode`.
        storage_options: options of the store of a URI; see `Log`.

    Returns:
        The rewritten entries, of the same size as the input; fewer bytes if "magic" removed a content size or content checksum.

    Raises:
        ChecksumError: if the checksum of an LZ4 entry is wrong: a new one would hide the damage.
        CodecError: if a frame is invalid.
        ValueError: if `form` is invalid.
        RecordBatchError: if the length of an entry is invalid.

    Example:
        >>> import logsegment as ls
        >>> data = open("00000000000000000000.log", "rb").read()
        >>> ls.fix_lz4(ls.break_lz4(data)) == data
        True

    Source: KIP-57; `rd_kafka_lz4_decompress` of librdkafka repairs frames the same way.
    """
    ensure_one_of("form", form, get_args(FixedForm))
    return b"".join(Lz4Rewriter(reached_source(source, storage_options), form, limits, True))


def break_lz4(source: Any, *, limits: Limits | None = None, storage_options: StorageOptions | None = None) -> bytes:
    """Write the header checksum of Kafka 0.8.2 and 0.9 into every LZ4 frame of a message set.

    Content size and content checksum are removed, since these readers reject them. They read magic 0 only; no reader accepts magic 1 or
    2 with such a checksum.

    Args:
        source: as in `fix_lz4`.
        limits: as in `fix_lz4`.
        storage_options: options of the store of a URI; see `Log`.

    Returns:
        The rewritten entries; fewer bytes than the input if something was removed.

    Raises: as `fix_lz4`.

    Example:
        >>> import logsegment as ls
        >>> data = open("00000000000000000000.log", "rb").read()
        >>> [frames for frames in ls.check_lz4(ls.break_lz4(data)) if frames.form != "broken"]
        []

    Source: KIP-57; `KafkaLZ4BlockInputStream` of Kafka 0.9.
    """
    return b"".join(Lz4Rewriter(reached_source(source, storage_options), "broken", limits, True))


def check_lz4(source: Any, *, limits: Limits | None = None, storage_options: StorageOptions | None = None) -> list[Lz4Frames]:
    """Count the LZ4 frames of a source by their header checksums.

    Args:
        source: as in `fix_lz4`; read piece by piece, in bounded memory.
        limits: as in `fix_lz4`.
        storage_options: options of the store of a URI; see `Log`.

    Returns:
        One `Lz4Frames` for each kind, by magic and form; an empty list without LZ4.

    Raises: as `fix_lz4`.

    Example:
        >>> import logsegment as ls
        >>> ls.check_lz4(ls.FileSource("00000000000000000000.log"))
        []

    Source: KIP-57.
    """
    return [Lz4Frames(*row) for row in lz4_survey(reached_source(source, storage_options), limits)]
