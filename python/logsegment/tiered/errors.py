"""What is wrong with an uploaded segment, each kind as one exception: its keys, its manifest, one of its chunks."""

from __future__ import annotations

from logsegment._core import CorruptError


class SegmentKeyError(ValueError):
    """The data key of an encrypted segment cannot be had: no private key of that id was given, or the given one does not fit.

    The text names the segment and the id, and nothing of a key. Why a key does not fit is not told: nobody could mend the one or the
    other fault in another way.
    """


class ManifestError(CorruptError):
    """A manifest that says what no manifest may say, or that does not fit the objects beside it.

    Attributes:
        rule (str): the rule of tiered storage that is broken.
        position, length (int): the bytes of the segment that cannot be read because of it, from a read of one: all of them.
        base_offset, last_offset (int): its first offset, and the last one before the next segment; None when nobody can tell.
    """

    length: int | None = None
    last_offset: int | None = None

    def __init__(self, text: str, rule: str = "TS-10") -> None:
        super().__init__(text)
        self.code = "manifest"
        self.rule = rule


class ChunkError(CorruptError):
    """A chunk of a segment whose bytes cannot be had back: the text names it, its bytes of the segment, and the offsets it held.

    Those that an object lacks, which was cut, are one.

    Attributes:
        chunk (int): which one, or the first of those that an object lacks; counted from 0.
        position (int): its first byte in the segment.
        length (int): its bytes, or those of all that the object lacks.
        base_offset (int): the first offset that is not in an intact batch before it; None when nobody can tell.
        last_offset (int): the last offset before the next intact batch; None when nobody can tell.
    """

    chunk: int | None = None
    length: int | None = None
    last_offset: int | None = None
