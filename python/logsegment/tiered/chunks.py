"""The chunks of a segment, decrypted and decompressed: range reads that fetch only the chunks they need (TS-42).

A chunk is AES-256-GCM over a zstd frame (TS-25 to TS-28), either of which may be missing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from logsegment._core import Finding, Limits, RecordBatchError, decompress_zstd, index_positions
from logsegment._text import count
from logsegment.tiered.cache import LruCache
from logsegment.tiered.errors import ChunkError, ManifestError
from logsegment.tiered.manifest import SEAL_BYTES, Chunk, ChunkTable
from logsegment.tiered.valid_batches import ValidBatch, valid_batches

#: Most stored bytes that are fetched with one request. One chunk is always fetched whole.
_MAX_FETCHED = 8 << 20
#: No entry begins with this byte: its length would be negative.
_FILLER = b"\xff"
_IV_BYTES = 12
#: A block of zstd has at least four bytes, and holds at most 128 KiB. A chunk that claims more is refused before it is decompressed.
_MAX_RATIO = (128 << 10) // 4
#: Most bytes of a chunk that is decompressed.
_MAX_CHUNK = int(Limits().max_decompressed_bytes)
#: Most damaged chunks that are skipped in a row for the offsets of one; with more, the reported offsets are a wider range.
_MAX_DAMAGED = 64
#: Decrypted and decompressed chunks of all segments. A chunk has 4 MiB as a rule, and one alone may have more.
CACHE: LruCache[bytes] = LruCache(64 << 20, len)

#: The bytes of the `.index`, if any, and the first and last offset of a segment.
Hints = Callable[[], tuple[bytes, int | None, int | None]]


class ChunkedFile:
    """The bytes of a segment as they were before the upload. Any thread may read it.

    Args:
        name: of the object, without secrets.
        stored: the object.
        table: the positions of the chunks.
        opener: decrypts and decompresses chunks; None if the object holds the bytes as they are.
        hints: what helps to report the offsets of a damaged chunk.

    Attributes:
        size: bytes.

    Raises:
        ManifestError: if the object is longer than its manifest says.
    """

    def __init__(self, name: str, stored: Any, table: ChunkTable, opener: Opener | None, hints: Hints) -> None:
        if stored.size > table.object_size:
            text = f"{name} has {count(stored.size, 'byte')}, but its manifest has {table.object_size:,}: they do not belong together"
            raise ManifestError(text, "TS-18")
        self.name = name
        self.size = table.file_size
        self.version = (self.size, stored.version)
        self.hints = hints
        self._stored = stored
        self._table = table
        self._opener = opener
        self._errors: dict[int, ChunkError] = {}
        self._findings: list[Finding] = []
        self._lock = threading.Lock()
        # Chunks after these are cut off, however many the manifest claims.
        self._whole = table.whole_in(stored.size)
        # Up to here the bytes are those of the object, whatever chunks they are in.
        self._stored_end = stored.size if opener is None and (table.is_identity or stored.size == table.file_size) else 0

    def read_at(self, position: int, length: int) -> bytes:
        """Return the bytes from `position` on: `length` of them, or fewer before a damaged chunk and at the end.

        Raises:
            ChunkError: if the first of them is in a damaged chunk.
            OSError: if the store does not answer.
        """
        return self._read(position, length, skips=False)

    def read_past_damage(self, position: int, length: int) -> bytes:
        """Return the bytes from `position` on, with bytes 0xff, which begin no entry, in place of a damaged chunk. Keep a finding of it.

        Raises:
            OSError: if the store does not answer.
        """
        return self._read(position, length, skips=True)

    def ensure_same(self) -> None:
        """Raise an error if the object was replaced since it was opened.

        Raises:
            ChangedError: then.
        """
        self._stored.ensure_same()

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Return the requests, bytes and findings since the last call."""
        requests, fetched, _ = self._stored.taken()
        with self._lock:
            findings, self._findings = self._findings, []
        return requests, fetched, findings

    def valid_bytes(self, position: int, length: int) -> bytes:
        """Return bytes from `position` on, at most to the end of its chunk; no bytes if that is damaged."""
        if position < self._stored_end:
            return bytes(self._stored.read_at(position, length))
        for chunk in self._chunks(position, position + 1):
            (data,) = self._fetched([chunk])
            return b"" if data is None else data[position - chunk.position :][:length]
        return b""

    def end_of_chunk(self, position: int) -> int:
        """Return the end of the chunk at a position of the segment; the end of the segment after the end of a cut object."""
        chunk = next(self._chunks(position, position + 1), None)
        return self.size if chunk is None or self._is_cut_off(chunk) else chunk.position + chunk.size

    def _read(self, position: int, length: int, *, skips: bool) -> bytes:
        end = min(position + length, self.size)
        if position >= end:
            return b""
        pieces: list[bytes] = []
        if position < self._stored_end:
            pieces.append(bytes(self._stored.read_at(position, min(end, self._stored_end) - position)))
            position = min(end, self._stored_end)
        for run in self._runs(position, end):
            for chunk, found in zip(run, self._fetched(run), strict=True):
                if found is None and pieces and not skips:
                    # A caller that asks for more than it needs gets the bytes before the damage.
                    return b"".join(pieces)
                first, last = max(position - chunk.position, 0), min(end - chunk.position, chunk.size)
                if found is None:
                    self._report(chunk, skips=skips)
                    # Only as many bytes as were asked for: the size of a missing chunk is a claim.
                    pieces.append(_FILLER * (last - first))
                else:
                    pieces.append(found if last - first == chunk.size else found[first:last])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _chunks(self, start: int, end: int) -> Iterator[Chunk]:
        """Yield the chunks of a range after the plain bytes; of a chunk that is cut there the rest.

        The chunks after the end of the object are one.
        """
        for index in self._table.holding(start, end):
            chunk = self._table[index]
            if index >= self._whole:
                position = max(chunk.position, self._stored_end)
                yield Chunk(index, position, self.size - position, chunk.stored_position, chunk.stored_size)
                return
            yield chunk

    def _runs(self, start: int, end: int) -> Iterator[list[Chunk]]:
        """Yield runs of neighbouring chunks that are fetched with one request each."""
        run: list[Chunk] = []
        for chunk in self._chunks(start, end):
            if run and chunk.stored_position + chunk.stored_size - run[0].stored_position > _MAX_FETCHED:
                yield run
                run = []
            run.append(chunk)
        if run:
            yield run

    def _fetched(self, run: list[Chunk]) -> list[bytes | None]:
        """Return the bytes of neighbouring chunks, None for a damaged one. Fetch those missing in the cache with one request."""
        found = {chunk.number: CACHE.get((self.name, self.version, chunk.number)) for chunk in run}
        missing = [chunk for chunk in run if found[chunk.number] is None and not self._is_lost(chunk)]
        if missing:
            begin, end = missing[0].stored_position, missing[-1].stored_position + missing[-1].stored_size
            stored = memoryview(self._stored.read_at(begin, end - begin))
            for chunk in missing:
                found[chunk.number] = self._opened(chunk, stored[chunk.stored_position - begin :][: chunk.stored_size])
        return [found[chunk.number] for chunk in run]

    def _opened(self, chunk: Chunk, stored: memoryview) -> bytes | None:
        """Decrypt and decompress a chunk; return None if it is damaged."""
        try:
            if len(stored) < chunk.stored_size:
                raise ChunkError(f"the object ends at its byte {self._stored.size}, before the end of the chunk")
            data = self._opener.opened(stored, chunk.size) if self._opener else bytes(stored)
            if len(data) != chunk.size:
                raise ChunkError(f"it has {count(len(data), 'byte')} instead of {chunk.size:,}")
        except ChunkError as error:
            self._errors[chunk.number] = error
            return None
        return CACHE.put((self.name, self.version, chunk.number), data)

    def _is_lost(self, chunk: Chunk) -> bool:
        return chunk.number in self._errors or self._is_cut_off(chunk)

    def _is_cut_off(self, chunk: Chunk) -> bool:
        """Return True if the object ends before the end of a chunk."""
        return chunk.stored_position + chunk.stored_size > int(self._stored.size)

    def _report(self, chunk: Chunk, *, skips: bool) -> None:
        """Keep the finding of a damaged chunk.

        Raises:
            ChunkError: if it is not skipped.
        """
        error = self._cut_off if self._is_cut_off(chunk) else self._errors[chunk.number]
        if error.chunk is None:
            error = self._errors[chunk.number] = lost_chunk(self, chunk, str(error))
        if not skips:
            raise _without_traceback(error)
        with self._lock:
            if (finding := _finding(error, self.name)) not in self._findings:
                self._findings.append(finding)

    @cached_property
    def _cut_off(self) -> ChunkError:
        """The error of all chunks after the end of a cut object."""
        rest = next(self._chunks(max(self._table[self._whole].position, self._stored_end), self.size))
        text = f"the object ends at its byte {self._stored.size}, before its end at {self._table.object_size}"
        return lost_chunk(self, rest, text, last=len(self._table) - 1)


def _without_traceback(error: ChunkError) -> ChunkError:
    other = ChunkError(*error.args)
    other.__dict__.update(error.__dict__)
    return other


def _finding(error: ChunkError, name: str) -> Finding:
    position, length = error.position or 0, error.length or 0
    first, last = error.base_offset, error.last_offset
    return Finding("TS-45", "error", str(error).removeprefix(f"{name}: "), f"{name}@{position}", position, length, first, last)


class Opener:
    """Decrypts and decompresses the chunks of one segment. Any thread may use it.

    Args:
        data_key: of an encrypted segment.
        aad: the associated data of its chunks.
        is_compressed: each chunk is a zstd frame.
    """

    def __init__(self, data_key: bytes | None, aad: bytes = b"", *, is_compressed: bool = False) -> None:
        self._cipher: Any = None if data_key is None else _cipher(data_key)
        self._aad = aad
        self._is_compressed = is_compressed

    def opened(self, stored: bytes | bytearray | memoryview, size: int) -> bytes:
        """Return the bytes of the segment in a stored chunk.

        Args:
            stored: the chunk as it is in the object.
            size: the bytes that it must hold.

        Raises:
            ChunkError: if the chunk is damaged; the text does not say which chunk.
        """
        data = self._decrypted(stored) if self._cipher else bytes(stored)
        if self._is_compressed:
            if size > len(data) * _MAX_RATIO:
                raise ChunkError(f"its zstd frame of {count(len(data), 'byte')} cannot have {size:,}")
            if size > _MAX_CHUNK:
                raise ChunkError(f"it would have {count(size, 'byte')}: over the limit max_decompressed_bytes {_MAX_CHUNK:,}")
            try:
                data = decompress_zstd(data, size)
            except ValueError as error:
                raise ChunkError(f"its zstd frame is bad: {error}") from None
        if len(data) != size:
            raise ChunkError(f"it has {count(len(data), 'byte')} instead of {size:,}")
        return data

    def _decrypted(self, stored: bytes | bytearray | memoryview) -> bytes:
        from cryptography.exceptions import InvalidTag

        if len(stored) < SEAL_BYTES:
            raise ChunkError(f"{count(len(stored), 'byte')} cannot have an IV and a tag")
        try:
            data: bytes = self._cipher.decrypt(bytes(stored[:_IV_BYTES]), bytes(stored[_IV_BYTES:]), self._aad)
        except InvalidTag:
            raise ChunkError("its AES-GCM tag does not fit its bytes") from None
        return data


def _cipher(data_key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(data_key)


def lost_chunk(file: ChunkedFile, chunk: Chunk, reason: str, *, last: int | None = None) -> ChunkError:
    """Return the error of a damaged chunk, or of several, with the offsets that the valid batches around it leave.

    Args:
        file: the segment.
        chunk: the chunk; of several the first, with the bytes of all.
        reason: what is wrong with it.
        last: the number of the last of several.
    """
    index, start, end = file.hints()
    begin = _first_lost(file, chunk, index, start)
    end = _last_lost(file, chunk, end)
    if begin is not None and end is not None:
        end = max(begin, end)
    offsets = f"offsets {'?' if begin is None else begin} to {'?' if end is None else end}"
    place = f"bytes {chunk.position} to {chunk.position + chunk.size - 1} of the segment, {offsets}"
    is_single = last is None or last == chunk.number
    chunks = f"chunk {chunk.number} ({place}) is" if is_single else f"chunks {chunk.number} to {last} ({place}) are"
    error = ChunkError(f"{file.name}: {chunks} lost: {reason}")
    error.__dict__.update(code="lost_bytes", rule="TS-45", chunk=chunk.number, position=chunk.position, length=chunk.size)
    error.__dict__.update(base_offset=begin, last_offset=end)
    return error


def _first_lost(file: ChunkedFile, chunk: Chunk, index: bytes, start: int | None) -> int | None:
    """Return the offset after the last valid batch that ends before a chunk, and before damaged chunks directly before it."""
    end = chunk.position
    for _ in range(_MAX_DAMAGED):
        begin = _indexed_position(index, end)
        last: int | None = None
        for source, check_crc in _undamaged(file, begin, end):
            for batch in _batches(source, check_crc=check_crc):
                last = batch.last_offset
        if last is not None:
            return last + 1
        if not begin:
            break
        end = begin
    return start


def _last_lost(file: ChunkedFile, chunk: Chunk, last: int | None) -> int | None:
    """Return the offset before the first valid batch that begins after a chunk, and after damaged chunks directly after it."""
    for source, _ in _undamaged(file, chunk.position + chunk.size, file.size):
        for batch in _batches(source, resolve=True, batch_size=1):
            return batch.base_offset - 1
    return last


def _undamaged(file: ChunkedFile, start: int, end: int) -> Iterator[tuple[_ChunkReader, bool]]:
    """Yield the bytes between two positions in pieces without damaged chunks, and True after a damaged chunk.

    There only a checksum identifies a batch.
    """
    is_after_damage = False
    for _ in range(_MAX_DAMAGED):
        source = _ChunkReader(file, start, end)
        yield source, is_after_damage
        if source.at >= end:
            return
        start, is_after_damage = file.end_of_chunk(source.at), True


def _batches(source: _ChunkReader, *, check_crc: bool = True, resolve: bool = False, batch_size: int = 65536) -> Iterator[ValidBatch]:
    try:
        yield from valid_batches(source, check_crc=check_crc, resolve=resolve, batch_size=batch_size)
    except RecordBatchError:
        return


class _ChunkReader:
    """A file object of the bytes between two positions of a segment, which ends at a damaged chunk."""

    def __init__(self, file: ChunkedFile, start: int, end: int) -> None:
        self._file = file
        self._end = end
        self.at = start

    def read(self, size: int = -1, /) -> bytes:
        wanted = self._end - self.at if size < 0 else min(size, self._end - self.at)
        data = self._file.valid_bytes(self.at, wanted) if wanted > 0 else b""
        self.at += len(data)
        return data


def _indexed_position(index: bytes, position: int) -> int:
    """Return the start of a batch before a position, by the entries of an `.index`; 0 if it has no such entry or is damaged."""
    before = [one for one in index_positions(index) if one < position]
    return before[-2] if len(before) > 1 else 0
