"""The header checksum of LZ4 frames (KIP-57): Kafka 0.8.2 and 0.9 computed it over the frame's magic too, and take no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from logsegment._core import Limits, Lz4Rewriter, lz4_survey
from logsegment._core import lz4_header_checksum as core_lz4_header_checksum

Form: TypeAlias = Literal["correct", "broken"]


@dataclass(frozen=True)
class Lz4Frames:
    """LZ4 frames of one kind.

    Attributes:
        magic: of the entries that they stand in.
        form: of their header checksum: "correct", "broken", or "neither".
        refused_by_09: they have a content size or a content checksum, which Kafka 0.8.2 and 0.9 refuse.
        count: how many there are.
        position: of the first entry with one, in bytes.
    """

    magic: int
    form: str
    refused_by_09: bool
    count: int
    position: int

    @property
    def ok(self) -> bool:
        """True when the readers that this magic is meant for take them: "broken" in magic 0, "correct" in magic 1 and 2."""
        return self.form == ("broken" if self.magic == 0 else "correct") and not (self.magic == 0 and self.refused_by_09)


def lz4_header_checksum(frame: Any, *, form: Form) -> int:
    """Compute the header checksum (HC) of an LZ4 frame.

    Args:
        frame: a buffer that begins with the frame; its first 7 to 15 bytes are read.
        form: "correct", as the LZ4 frame format says, over FLG, BD and content size; "broken", over the frame's magic as well.

    Returns:
        The byte.

    Raises:
        CodecError: when the buffer is cut short, does not begin with the frame's magic, or has reserved bits or a dictionary id.
        ValueError: for another form.

    Example:
        >>> import logsegment as ls
        >>> frame = bytes.fromhex("04224d18604082")
        >>> hex(ls.lz4_header_checksum(frame, form="correct")), hex(ls.lz4_header_checksum(frame, form="broken"))
        ('0x82', '0x1a')

    Source: KIP-57; `Lz4BlockOutputStream` in Kafka's clients.
    """
    return core_lz4_header_checksum(frame, form)


def fix_lz4(source: Any, *, limits: Limits | None = None) -> bytes:
    """Write the correct header checksum into every LZ4 frame of a message set.

    One byte a frame changes, and the checksum of the entry around it. Nothing is unpacked; all other bytes, a torn tail too, stay.
    Readers of Kafka 0.8.2 and 0.9 do not take the result: for magic 0 it serves other tools that read LZ4 frames.

    Args:
        source: entries of magic 0, 1 and 2, in any mixture; as in `decode`.
        limits: what an entry may claim; None for `Limits()`.

    Returns:
        The rewritten entries, as many bytes as the input.

    Raises:
        ChecksumError: for an LZ4 entry whose own checksum is wrong: a new one would hide the damage.
        CodecError: for a frame that is none.
        RecordBatchError: when the entries cannot be told apart.

    Example:
        >>> import logsegment as ls
        >>> data = open("00000000000000000000.log", "rb").read()
        >>> ls.fix_lz4(ls.break_lz4(data)) == data
        True

    Source: KIP-57; `rd_kafka_lz4_decompress` of librdkafka repairs frames the same way.
    """
    return b"".join(Lz4Rewriter(source, "correct", limits, True))


def break_lz4(source: Any, *, limits: Limits | None = None) -> bytes:
    """Write the header checksum of Kafka 0.8.2 and 0.9 into every LZ4 frame of a message set.

    What these readers refuse besides is taken out: content size and content checksum. They read magic 0 only; no reader takes magic 1
    or 2 with such a checksum.

    Args:
        source: as in `fix_lz4`.
        limits: as in `fix_lz4`.

    Returns:
        The rewritten entries; fewer bytes than the input when something was taken out.

    Raises: as `fix_lz4`.

    Example:
        >>> import logsegment as ls
        >>> data = open("00000000000000000000.log", "rb").read()
        >>> [frames for frames in ls.check_lz4(ls.break_lz4(data)) if frames.form != "broken"]
        []

    Source: KIP-57; `KafkaLZ4BlockInputStream` of Kafka 0.9.
    """
    return b"".join(Lz4Rewriter(source, "broken", limits, True))


def check_lz4(source: Any, *, limits: Limits | None = None) -> list[Lz4Frames]:
    """Tell which header checksums the LZ4 frames of a source have.

    Args:
        source: as in `fix_lz4`; read piece by piece, in bounded memory.
        limits: as in `fix_lz4`.

    Returns:
        One `Lz4Frames` for each kind, by magic and form; none where there is no LZ4.

    Raises: as `fix_lz4`.

    Example:
        >>> import logsegment as ls
        >>> ls.check_lz4(ls.FileSource("00000000000000000000.log"))
        []

    Source: KIP-57.
    """
    return [Lz4Frames(*row) for row in lz4_survey(source, limits)]
