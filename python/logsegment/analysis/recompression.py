"""Estimate a log with another codec: recompress all batches, or a sample, in memory."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from logsegment._convert.convert import convert
from logsegment._convert.result import ConvertOptions, converted
from logsegment._core import FileSource, RecordBatchError, decode, valid_batches
from logsegment._options import CodecRegistry, ReadOptions
from logsegment._salvage.result import salvaged

#: Bytes of entries that are compressed at once; the unit of a sample.
PIECE = 256 << 10
#: Smallest number of pieces of a file in a sample.
LEAST = 8
_GIB = 1 << 30
#: Standard errors on each side of an estimate for 95 % confidence.
_CONFIDENCE = 1.96


@dataclass(frozen=True, slots=True)
class Recompression:
    """Sizes and CPU times of batches with another codec, as `convert` writes them.

    Attributes:
        codec: the codec, and its level if one was given: `zstd:3`.
        bytes_now: bytes of the entries.
        bytes_then: bytes with the codec; an estimate for a sample.
        error: half the width of the 95 % confidence interval of `bytes_then`; 0 without a sample.
        sampled_bytes: bytes of the compressed entries.
        write_seconds_per_gib: CPU seconds to read a GiB of the present log and write it with the codec.
        read_seconds_per_gib: CPU seconds to read keys and values of the same records.
        left_out: damaged or unconvertible bytes, which are not counted; only those of the sample.
    """

    codec: str
    bytes_now: int = 0
    bytes_then: int = 0
    error: int = 0
    sampled_bytes: int = 0
    write_seconds_per_gib: float | None = None
    read_seconds_per_gib: float | None = None
    left_out: int = 0


@dataclass(slots=True)
class _Tried:
    """Results of the pieces with one codec: bytes before and after, and seconds."""

    sizes: list[tuple[int, int]] = field(default_factory=list)
    write_seconds: float = 0.0
    read_seconds: float = 0.0


def codec_and_level(text: str) -> tuple[str, int | None]:
    """Parse a codec with its level: `zstd`, `zstd:19`.

    Raises:
        ValueError: if the level is not a number.
    """
    codec, colon, level = text.partition(":")
    if not colon:
        return codec, None
    try:
        return codec, int(level)
    except ValueError:
        raise ValueError(f"what_if: the level of {codec} must be a whole number, not {level!r}") from None


class Recompressor:
    """Compresses entries again, file after file.

    Args:
        codecs: as `codec_and_level` parses them.
        sample: the share of the bytes that is compressed, from 0 (exclusive) to 1, but at least 8 pieces of 256 KiB of each file. The
            choice is the same in every run.
        registry: of the plugins among the codecs.

    Raises:
        ValueError: if there is no such codec or level, or the sample is not a share.
    """

    def __init__(self, codecs: Sequence[str], sample: float = 1.0, registry: CodecRegistry | None = None) -> None:
        if not 0 < sample <= 1:
            raise ValueError(f"sample must be above 0 and at most 1, not {sample}")
        self._codecs = {text: codec_and_level(text) for text in codecs}
        for codec, level in self._codecs.values():
            try:
                convert(b"", compression=codec, level=level, codecs=registry)
            except RecordBatchError:
                raise
            except ValueError as error:
                raise ValueError(f"what_if: {error}") from None
        self._sample = sample
        self._random = random.Random(0)
        self._tried = {text: _Tried() for text in codecs}
        self._bytes = 0
        self._left_out = 0
        self._pieces = 0

    @property
    def is_needed(self) -> bool:
        """Return True if there is a codec to compress with."""
        return bool(self._codecs)

    @property
    def results(self) -> list[Recompression]:
        """Return what was found so far, in the order of the codecs."""
        return [self._result(text, tried) for text, tried in self._tried.items()]

    def add(self, source: Any, options: ReadOptions) -> None:
        """Compress the entries of one file.

        Args:
            source: a buffer or a `FileSource`.
            options: options of entries.

        Raises:
            OSError: if the file cannot be read.
        """
        if not self._codecs:
            return
        pieces = [(piece, size) for piece, size in pieces_of(source, PIECE, options) if size]
        chosen: Sequence[int] = range(len(pieces))
        if self._sample < 1:
            wanted = min(len(pieces), max(LEAST, math.ceil(self._sample * len(pieces))))
            chosen = sorted(self._random.sample(chosen, wanted))
        self._bytes += sum(size for _, size in pieces)
        self._pieces += len(pieces)
        for index in chosen:
            self._add_piece(*pieces[index], options)

    def _add_piece(self, piece: Any, size: int, options: ReadOptions) -> None:
        kept = salvaged(piece, options).data or b""
        try:
            tried = [(text, _compressed(kept, codec, level, options)) for text, (codec, level) in self._codecs.items() if kept]
        except RecordBatchError:
            # A valid checksum over malformed records.
            kept, tried = b"", []
        self._left_out += size - len(kept)
        self._bytes -= size - len(kept)
        self._pieces -= not tried
        for text, (then, write_seconds, read_seconds) in tried:
            own = self._tried[text]
            own.sizes.append((len(kept), then))
            own.write_seconds += write_seconds
            own.read_seconds += read_seconds

    def _result(self, text: str, tried: _Tried) -> Recompression:
        now, then = (sum(sizes) for sizes in zip(*tried.sizes, strict=True)) if tried.sizes else (0, 0)
        if not now:
            return Recompression(text, left_out=self._left_out)
        ratio = then / now
        return Recompression(
            text,
            self._bytes,
            round(self._bytes * ratio) if now < self._bytes else then,
            self._error(tried.sizes, ratio),
            now,
            tried.write_seconds / now * _GIB,
            tried.read_seconds / now * _GIB,
            self._left_out,
        )

    def _error(self, sizes: Sequence[tuple[int, int]], ratio: float) -> int:
        """Return the error of a ratio estimate from pieces that were drawn without replacement."""
        drawn = len(sizes)
        if drawn < 2 or drawn >= self._pieces:
            return 0
        variance = sum((then - ratio * now) ** 2 for now, then in sizes) / (drawn - 1)
        return round(_CONFIDENCE * self._pieces * math.sqrt((1 - drawn / self._pieces) * variance / drawn))


def pieces_of(source: Any, size: int, options: ReadOptions) -> Iterator[tuple[Any, int]]:
    """Yield a source in pieces that start and end between entries, each with the bytes of its entries; only headers are read.

    Args:
        source: a buffer or a `FileSource`.
        size: least bytes of a piece; the last one may be smaller, and ends where the source does.
        options: options of entries.
    """
    start = last = 0
    for batch in valid_batches(source, replace(options, check_crc=False, on_error="skip", unreadable="skip")):
        last = batch.position + batch.size
        if last - start >= size:
            yield part_of(source, start, last), last - start
            start = last
    yield part_of(source, start, None), last - start


def part_of(source: Any, start: int, end: int | None) -> Any:
    """Return a range of the bytes of a source."""
    if isinstance(source, FileSource):
        return FileSource(source.path, max(start, source.start), source.end if end is None else end)
    return memoryview(source)[start:end]


def _compressed(data: bytes, codec: str, level: int | None, options: ReadOptions) -> tuple[int, float, float]:
    """Compress entries again and read them back; return the bytes, the seconds of CPU to write and those to read."""
    start = time.thread_time()
    written = converted(data, options, ConvertOptions(compression=codec, level=level, allow_loss=True)).data or b""
    middle = time.thread_time()
    for _ in decode(written, replace(options.of_every_format(), columns=("key", "value"), control=True)):
        pass
    return len(written), middle - start, time.thread_time() - middle
