"""Measure a segment in the proposed record format v3 (KIP-931): `v3_savings`."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Unpack

from logsegment._convert.result import ConvertOptions, converted
from logsegment._core import RecordBatchError, valid_batches
from logsegment._options import EntryKeywords, ReadOptions
from logsegment._salvage.result import salvaged
from logsegment._text import plain_values
from logsegment._validate import validated
from logsegment.analysis.recompression import pieces_of

#: Bytes that are looked at in one go: each of the forms that they are written in is held in memory.
PIECE = 16 << 20
#: A validation is timed so often, and the shortest time counts.
TIMES = 3


@dataclass(frozen=True, slots=True)
class V3Savings:
    """Sizes of the batches of a source in v2 and in v3.

    Attributes:
        batches: batches of magic 2; older entries count after a conversion to v2, and LZ4 frames that only an option reads after another
            compression.
        records: records in them.
        header_bytes: bytes saved in all headers; negative if v3 headers are larger.
        stored: stored bytes, with their codecs.
        recompressed: bytes recompressed by these codecs at their default levels, as in v3; compare these with v3.
        main: bytes in v3, with the same codecs.
        additional: bytes in v3 with the metadata first, with the same codecs.
        uncompressed: bytes without compression.
        uncompressed_main: bytes in v3 without compression; as many with the metadata first.
        decompressed: bytes that a validation of the metadata decompresses now.
        decompressed_main: bytes that it decompresses in v3.
        decompressed_additional: bytes that it decompresses with the metadata first.
        seconds: duration of that validation now.
        seconds_main: its duration in v3.
        seconds_additional: its duration with the metadata first.
        left_out: damaged or unconvertible bytes, which are not counted.
    """

    #: Bytes of the header of magic 2.
    V2_HEADER: ClassVar[int] = 61

    batches: int = 0
    records: int = 0
    header_bytes: int = 0
    stored: int = 0
    recompressed: int = 0
    main: int = 0
    additional: int = 0
    uncompressed: int = 0
    uncompressed_main: int = 0
    decompressed: int = 0
    decompressed_main: int = 0
    decompressed_additional: int = 0
    seconds: float = 0.0
    seconds_main: float = 0.0
    seconds_additional: float = 0.0
    left_out: int = 0

    def __add__(self, other: V3Savings) -> V3Savings:
        return V3Savings(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    @property
    def per_batch(self) -> float:
        """Bytes of header that a batch saves."""
        return self.header_bytes / self.batches if self.batches else 0.0

    @property
    def per_record(self) -> float:
        """Bytes that a record saves, without compression."""
        return (self.uncompressed - self.uncompressed_main - self.header_bytes) / self.records if self.records else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python, ready for JSON."""
        values = plain_values(self) | {"perBatch": self.per_batch, "perRecord": self.per_record}
        return {name: round(value, 6) for name, value in values.items()}


def v3_savings(source: Any, **options: Unpack[EntryKeywords]) -> V3Savings:
    """Compute what the proposed format v3 would save. Everything is packed anew, four times, by the codecs of this library.

    It goes 16 MiB at a time, so memory is bounded; what is damaged is left out and counted.

    Args:
        source: as in `logsegment.decode`, and such that it can be read more than once: a buffer or a `FileSource`.
        options: options of entries; see `logsegment.decode`.

    Returns:
        `V3Savings`.

    Raises:
        OSError: when a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> from logsegment.analysis.v3_savings import v3_savings
        >>> saved = v3_savings(ls.FileSource("00000000000000000000.log"))
        >>> saved.per_record >= 1, saved.uncompressed_main < saved.uncompressed
        (True, True)

    Source: KIP-931.
    """
    read = ReadOptions.of(EntryKeywords, options)
    total = V3Savings()
    for piece, _ in pieces_of(source, PIECE, read):
        found = salvaged(piece, read)
        total += V3Savings(left_out=sum(lost.length for lost in found.lost if not lost.is_harmless))
        total += _savings_of_valid(found.data or b"", read)
    return total


def _savings_of_valid(data: bytes, read: ReadOptions) -> V3Savings:
    """Return the savings of valid entries; entries with malformed records count as left out."""
    try:
        return _savings(data, read)
    except RecordBatchError:
        starts = [batch.position for batch in valid_batches(data, replace(read, check_crc=False, on_error="skip", unreadable="skip"))]
        if len(starts) < 2:
            return V3Savings(left_out=len(data))
        middle = starts[len(starts) // 2]
        return _savings_of_valid(data[:middle], read) + _savings_of_valid(data[middle:], read)


def _savings(data: bytes, read: ReadOptions) -> V3Savings:
    stored = _converted(data, read)
    own = read.of_every_format()
    headers = list(valid_batches(stored, replace(own, check_crc=False)))
    main, first = (_converted(stored, own, to="v3", metadata_first=is_first) for is_first in (False, True))
    uncompressed = _converted(stored, own, compression="none")
    (decompressed, seconds), (decompressed_main, seconds_main), (decompressed_first, seconds_first) = (
        _validated(data, own) for data in (stored, main, first)
    )
    return V3Savings(
        batches=len(headers),
        records=sum(header.count or 0 for header in headers),
        header_bytes=sum(V3Savings.V2_HEADER - header.proposed_header_len for header in headers),
        stored=len(stored),
        recompressed=len(_converted(main, own)),
        main=len(main),
        additional=len(first),
        uncompressed=len(uncompressed),
        uncompressed_main=len(_converted(uncompressed, own, to="v3")),
        decompressed=decompressed,
        decompressed_main=decompressed_main,
        decompressed_additional=decompressed_first,
        seconds=seconds,
        seconds_main=seconds_main,
        seconds_additional=seconds_first,
    )


def _converted(data: bytes, read: ReadOptions, **into: Any) -> bytes:
    return converted(data, read, ConvertOptions(allow_loss=True, **into)).data or b""


def _validated(data: bytes, read: ReadOptions) -> tuple[int, float]:
    """Return the bytes that a validation of the metadata decompresses, and its seconds."""
    least, decompressed = float("inf"), 0
    for _ in range(TIMES):
        start = time.perf_counter()
        report = validated(data, "metadata", read)
        least = min(least, time.perf_counter() - start)
        decompressed = report.io_stats["bytes_inflated"]
    return decompressed, least
