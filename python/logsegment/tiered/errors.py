"""Errors of uploaded segments: of their keys, their manifests and their chunks."""

from __future__ import annotations

from logsegment._core import CorruptError


class SegmentKeyError(ValueError):
    """Raised if an encrypted segment cannot be decrypted: there is no private key of its id, or the key is the wrong one.

    The text names the segment and the id. It contains no part of a key, and not why the key is wrong.
    """


class ManifestError(CorruptError):
    """Raised if a manifest is invalid, or contradicts its objects.

    Attributes:
        rule (str): the rule of tiered storage that is broken.
        position, length (int): the bytes of the segment that cannot be read: all of them.
        base_offset, last_offset (int): the first offset of the segment, and the last one before the next segment; None if not known.
    """

    length: int | None = None
    last_offset: int | None = None

    def __init__(self, text: str, rule: str = "TS-10") -> None:
        super().__init__(text)
        self.code = "manifest"
        self.rule = rule


class ChunkError(CorruptError):
    """Raised if the bytes of a chunk cannot be restored. The text has its number, its bytes in the segment, and its offsets.

    All chunks after the end of a cut object are one error.

    Attributes:
        chunk (int): number of the chunk, or of the first after the end of the object; counted from 0.
        position (int): first byte in the segment.
        length (int): bytes of the chunk, or of all chunks after the end of the object.
        base_offset (int): the first offset that is not in a valid batch before it; None if not known.
        last_offset (int): the last offset before the next valid batch; None if not known.
    """

    chunk: int | None = None
    length: int | None = None
    last_offset: int | None = None
