"""What a segment would be in the proposed record format v3 (KIP-931): `v3_savings`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import logsegment as ls

#: Bytes of the header of magic 2, and of the part of magic 3 that does not vary with its fields.
V2_HEADER, V3_FIXED = 61, 37 + 4


@dataclass(frozen=True, slots=True)
class V3Savings:
    """What the batches of magic 2 of a source are, and what they would be.

    Attributes:
        batches: batches of magic 2; older entries count as the batches that they would become.
        records: records in them.
        header_bytes: bytes that all headers together would be smaller; negative when they would be larger.
        stored: bytes as they are, with their codecs.
        main: bytes in v3, with the same codecs.
        additional: bytes in v3 with the metadata first, with the same codecs.
        plain: bytes without compression.
        plain_main: bytes in v3 without compression; those of the additional proposal are as many.
        unpacked: bytes that a validation of the metadata unpacks now.
        unpacked_additional: bytes that it unpacks with the metadata first.
        seconds: that it takes now.
        seconds_additional: that it takes with the metadata first.
    """

    batches: int
    records: int
    header_bytes: int
    stored: int
    main: int
    additional: int
    plain: int
    plain_main: int
    unpacked: int
    unpacked_additional: int
    seconds: float
    seconds_additional: float

    @property
    def per_batch(self) -> float:
        """Bytes of header that a batch saves."""
        return self.header_bytes / self.batches if self.batches else 0.0

    @property
    def per_record(self) -> float:
        """Bytes that a record saves, without compression."""
        return (self.plain - self.plain_main - self.header_bytes) / self.records if self.records else 0.0


def v3_savings(source: Any, **options: Any) -> V3Savings:
    """Compute what the proposed format v3 would save. Everything is packed anew, three times, by the codecs of this library.

    Args:
        source: as in `logsegment.decode`, and such that it can be read more than once: a buffer or a `FileSource`.
        options: of `logsegment.convert`, about how it is read: codecs, limits and so on.

    Returns:
        `V3Savings`.

    Raises:
        RecordBatchError: when a batch is bad.

    Example:
        >>> import logsegment as ls
        >>> from logsegment.what_if import v3_savings
        >>> saved = v3_savings(ls.FileSource("00000000000000000000.log"))
        >>> saved.per_record >= 1, saved.plain_main < saved.plain
        (True, True)

    Source: KIP-931.
    """

    def converted(**into: Any) -> bytes:
        data = ls.convert(source, allow_loss=True, **options | into).data
        return b"" if data is None else bytes(data)

    stored = converted()
    rows = ls.batches(stored, check_crc=False).to_pyarrow().to_pylist()
    first = ls.convert(stored, to="v3", metadata_first=True, allow_loss=True, **options).data or b""
    main = ls.convert(stored, to="v3", allow_loss=True, **options).data or b""
    plain = ls.convert(stored, compression="none", allow_loss=True, **options).data or b""
    plain_main = ls.convert(plain, to="v3", allow_loss=True, **options).data or b""
    now, later = _validated(stored, options), _validated(first, options)
    return V3Savings(
        batches=len(rows),
        records=sum(row["count"] for row in rows),
        header_bytes=sum(V2_HEADER - v3_header_len(row) for row in rows),
        stored=len(stored),
        main=len(main),
        additional=len(first),
        plain=len(plain),
        plain_main=len(plain_main),
        unpacked=now[0],
        unpacked_additional=later[0],
        seconds=now[1],
        seconds_additional=later[1],
    )


def v3_header_len(batch: dict[str, Any]) -> int:
    """Bytes of the header that a batch would have in v3 (S-V1, S-V12 to S-V14).

    Args:
        batch: its row of `logsegment.batches`.

    Example:
        >>> from logsegment.what_if import v3_header_len
        >>> v3_header_len({"baseOffset": 0, "lastOffset": 160, "baseTimestamp": 1600000000000, "maxTimestamp": 1600000016000})
        51
    """
    base, largest = int(batch["baseTimestamp"]), int(batch["maxTimestamp"])
    delta = (int(batch["lastOffset"]) - int(batch["baseOffset"])) % (1 << 32)
    zigzag = 2 * base if base >= 0 else -2 * base - 1
    return V3_FIXED + sum(max(1, -(-number.bit_length() // 7)) for number in (delta, zigzag, (largest - base) % (1 << 64)))


def _validated(data: bytes, options: dict[str, Any]) -> tuple[int, float]:
    """Bytes unpacked by a validation of the metadata, and its seconds."""
    start = time.perf_counter()
    report = ls.validate(data, depth="metadata", experimental=True, **options)
    return report.io_stats["bytes_inflated"], time.perf_counter() - start
