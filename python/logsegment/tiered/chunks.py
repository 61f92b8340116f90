"""A segment by its chunks: range reads of the original bytes that fetch and open only the chunks that hold them (TS-42)."""

from __future__ import annotations

import json
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from typing import Any

from logsegment._core import Finding, RecordBatchError, unpack_zstd
from logsegment._decode import batch_stream
from logsegment._text import count
from logsegment.tiered.errors import ChunkError, ManifestError
from logsegment.tiered.manifest import Chunk, ChunkTable

#: Stored bytes that are asked for at once, and opened before the next are: a chunk is asked for whole all the same.
MOST_FETCHED = 8 << 20
#: No entry begins with it: its length would be negative.
_FILLER = b"\xff"


class ChunkedFile:
    """The bytes of a segment as they were before its upload. Any thread may read it.

    Args:
        name: of the object, as people may see it.
        stored: the object.
        table: where the chunks are in it.
        opener: opens them; None when the object holds the bytes as they are.
        hints: the bytes of the `.index`, if any, and the first and last offset of the segment, for the story of a damaged chunk.

    Attributes:
        size: bytes.

    Raises:
        ManifestError: when the object is longer than its manifest says.
    """

    def __init__(
        self,
        name: str,
        stored: Any,
        table: ChunkTable,
        opener: Opener | None,
        hints: Callable[[], tuple[bytes, int | None, int | None]],
    ) -> None:
        if stored.size > table.object_size:
            text = f"{name} has {count(stored.size, 'byte')}, but its manifest tells of {table.object_size:,}: they do not belong together"
            raise ManifestError(text, "TS-18")
        self._name = name
        self._stored = stored
        self._table = table
        self._opener = opener
        self._hints = hints
        self._faults: dict[int, ChunkError] = {}
        self._findings: list[Finding] = []
        self._lock = threading.Lock()
        # Up to here the bytes are those of the object, whatever chunks they are in.
        self._plain = stored.size if opener is None and (table.is_identity or stored.size == table.file_size) else 0
        self.size = table.file_size
        self.version = (self.size, stored.version)

    def read_at(self, position: int, length: int) -> bytes:
        """The bytes from `position` on, `length` of them or as many as there are in front of a damaged chunk.

        Raises:
            ChunkError: when the first of them are in a damaged chunk.
            OSError: when the store does not answer.
        """
        return self._read(position, length, skips=False)

    def read_past_damage(self, position: int, length: int) -> bytes:
        """The same; for a chunk that is damaged its number of bytes 0xff, which are no entries, and a finding.

        Raises:
            OSError: when the store does not answer.
        """
        return self._read(position, length, skips=True)

    def ensure_same(self) -> None:
        """Fail when the object was written anew since it was opened.

        Raises:
            ChangedError: when it was.
        """
        self._stored.ensure_same()

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Requests, bytes and findings since this was asked last."""
        requests, fetched, _ = self._stored.taken()
        with self._lock:
            findings, self._findings = self._findings, []
        return requests, fetched, findings

    def intact(self, position: int, length: int) -> bytes:
        """Bytes from `position` on as far as chunks are intact, and at most to the end of one; none where one is damaged."""
        if position < self._plain:
            return bytes(self._stored.read_at(position, length))
        for chunk in self._chunks(position, position + 1):
            (data,) = self._found([chunk])
            return b"" if data is None else data[position - chunk.position :][:length]
        return b""

    def end_of_chunk(self, position: int) -> int:
        """Where the chunk ends that holds a position of the segment; of one that the object lacks, where the segment does."""
        chunk = next(self._chunks(position, position + 1), None)
        return self.size if chunk is None or self._is_cut_off(chunk) else chunk.position + chunk.size

    def _read(self, position: int, length: int, *, skips: bool) -> bytes:
        end = min(position + length, self.size)
        if position >= end:
            return b""
        pieces: list[bytes] = []
        if position < self._plain:
            pieces.append(bytes(self._stored.read_at(position, min(end, self._plain) - position)))
            position = min(end, self._plain)
        for run in self._runs(position, end):
            for chunk, found in zip(run, self._found(run), strict=True):
                if found is None and pieces and not skips:
                    # Whoever asks for more than is wanted gets what is in front of the damage.
                    return b"".join(pieces)
                first, last = max(position - chunk.position, 0), min(end - chunk.position, chunk.size)
                if found is None:
                    self._tell_damage(chunk, skips=skips)
                    # Only what was asked for: the size of a chunk that is not there is a claim.
                    pieces.append(_FILLER * (last - first))
                else:
                    pieces.append(found if last - first == chunk.size else found[first:last])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _chunks(self, start: int, end: int) -> Iterator[Chunk]:
        """The chunks that hold a range of what is not plain; of one that is cut the rest."""
        for index in self._table.holding(start, end):
            chunk = self._table[index]
            missing = min(chunk.position + chunk.size - self._plain, chunk.size)
            yield chunk if missing == chunk.size else Chunk(chunk.number, self._plain, missing, self._plain, missing)

    def _runs(self, start: int, end: int) -> Iterator[list[Chunk]]:
        """Neighbours that are fetched with one request."""
        run: list[Chunk] = []
        for chunk in self._chunks(start, end):
            if run and chunk.stored_position + chunk.stored_size - run[0].stored_position > MOST_FETCHED:
                yield run
                run = []
            run.append(chunk)
        if run:
            yield run

    def _found(self, run: list[Chunk]) -> list[bytes | None]:
        """The bytes of neighbouring chunks; None for one that is damaged.

        What nobody kept is fetched with one request, from the first such chunk to the last.
        """
        found = {chunk.number: CACHE.get((self._name, self.version, chunk.number)) for chunk in run}
        missing = [chunk for chunk in run if found[chunk.number] is None and not self._is_lost(chunk)]
        if missing:
            begin, end = missing[0].stored_position, missing[-1].stored_position + missing[-1].stored_size
            stored = memoryview(self._stored.read_at(begin, end - begin))
            for chunk in missing:
                found[chunk.number] = self._opened(chunk, stored[chunk.stored_position - begin :][: chunk.stored_size])
        return [found[chunk.number] for chunk in run]

    def _opened(self, chunk: Chunk, stored: memoryview) -> bytes | None:
        """The bytes of a chunk; None when it is damaged."""
        try:
            if len(stored) < chunk.stored_size:
                raise ChunkError(f"the object ends at its byte {self._stored.size}, in front of the end of the chunk")
            data = self._opener.opened(stored, chunk.size) if self._opener else bytes(stored)
            if len(data) != chunk.size:
                raise ChunkError(f"it holds {count(len(data), 'byte')} instead of {chunk.size:,}")
        except ChunkError as fault:
            self._faults[chunk.number] = fault
            return None
        CACHE.put((self._name, self.version, chunk.number), data)
        return data

    def _is_lost(self, chunk: Chunk) -> bool:
        return chunk.number in self._faults or self._is_cut_off(chunk)

    def _is_cut_off(self, chunk: Chunk) -> bool:
        """The object ends in front of its end."""
        return chunk.stored_position + chunk.stored_size > int(self._stored.size)

    def _tell_damage(self, chunk: Chunk, *, skips: bool) -> None:
        """Keep the finding of a damaged chunk.

        Raises:
            ChunkError: when it is not skipped.
        """
        fault = self._cut_off if self._is_cut_off(chunk) else self._faults[chunk.number]
        if fault.chunk is None:
            fault = self._faults[chunk.number] = told(self, self._name, chunk, str(fault), self._hints)
        if not skips:
            raise _again(fault)
        with self._lock:
            if (finding := _finding(fault, self._name)) not in self._findings:
                self._findings.append(finding)

    @cached_property
    def _cut_off(self) -> ChunkError:
        """The error of all chunks that the object lacks."""
        number = bisect_right(range(len(self._table)), self._stored.size, key=lambda index: sum(self._table[index][3:]))
        first = next(self._chunks(max(self._table[number].position, self._plain), self.size))
        rest = first._replace(size=self.size - first.position)
        fault = f"the object ends at its byte {self._stored.size}, in front of its end at {self._table.object_size}"
        return told(self, self._name, rest, fault, self._hints, last=len(self._table) - 1)


def _again(fault: ChunkError) -> ChunkError:
    """The same error without the story of where it was raised before."""
    other = ChunkError(*fault.args)
    other.__dict__.update(fault.__dict__)
    return other


def _finding(fault: ChunkError, name: str) -> Finding:
    position, length = fault.position or 0, fault.length or 0
    first, last = fault.base_offset, fault.last_offset
    return Finding("TS-45", "error", str(fault).removeprefix(f"{name}: "), f"{name}@{position}", position, length, first, last)


_IV_BYTES = 12
#: IV and tag.
SEAL_BYTES = 28
#: A block of zstd has at least four bytes, and holds at most 128 KiB: what claims more is refused before anything is unpacked.
_MOST_RATIO = (128 << 10) // 4


class Opener:
    """Opens chunks of one segment. Any thread may use it.

    Args:
        data_key: of an encrypted segment.
        aad: what its chunks are bound to.
        is_compressed: each chunk is a zstd frame.
    """

    def __init__(self, data_key: bytes | None, aad: bytes = b"", *, is_compressed: bool = False) -> None:
        self._cipher: Any = _cipher(data_key) if data_key is not None else None
        self._aad = aad
        self._is_compressed = is_compressed

    def opened(self, stored: bytes | bytearray | memoryview, size: int) -> bytes:
        """The bytes in a stored chunk.

        Args:
            stored: the chunk as it is in the object.
            size: the bytes that it must hold.

        Raises:
            ChunkError: saying what is wrong with it, and nothing of where it is.
        """
        data = self._decrypted(stored) if self._cipher else bytes(stored)
        if self._is_compressed:
            if size > len(data) * _MOST_RATIO:
                raise ChunkError(f"its zstd frame of {count(len(data), 'byte')} cannot hold {size:,}")
            try:
                data = unpack_zstd(data, size)
            except ValueError as error:
                raise ChunkError(f"its zstd frame is bad: {error}") from None
        if len(data) != size:
            raise ChunkError(f"it holds {count(len(data), 'byte')} instead of {size:,}")
        return data

    def _decrypted(self, stored: bytes | bytearray | memoryview) -> bytes:
        from cryptography.exceptions import InvalidTag

        if len(stored) < SEAL_BYTES:
            raise ChunkError(f"{count(len(stored), 'byte')} cannot hold an IV and a tag")
        try:
            data: bytes = self._cipher.decrypt(bytes(stored[:_IV_BYTES]), bytes(stored[_IV_BYTES:]), self._aad)
        except InvalidTag:
            raise ChunkError("its AES-GCM tag does not fit its bytes") from None
        return data


def _cipher(data_key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(data_key)


#: Damaged chunks that are looked past on each side: with more, the offsets are told wider than they are, and a long run costs no square.
_MOST_DAMAGED = 64
Hints = Callable[[], tuple[bytes, int | None, int | None]]


class _Bytes:
    """Bytes of a segment from one position to before another, front to back; they end where a chunk is damaged."""

    def __init__(self, file: Any, start: int, end: int) -> None:
        self._file = file
        self._end = end
        self.at = start

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; none at the end."""
        wanted = self._end - self.at if size < 0 else min(size, self._end - self.at)
        data: bytes = self._file.intact(self.at, wanted) if wanted > 0 else b""
        self.at += len(data)
        return data


def told(file: Any, name: str, chunk: Chunk, fault: str, hints: Hints, *, last: int | None = None) -> ChunkError:
    """The error of a damaged chunk, or of some that are lost together.

    Args:
        file: the segment, whose other chunks are looked at.
        name: of the object, for the text.
        chunk: which one; of several the first, with the bytes of all.
        last: the number of the last of several.
        fault: what is wrong with it.
        hints: as in `ChunkedFile`.
    """
    index, start, end = hints()
    begin = _offset_before(file, chunk, index, start)
    end = _offset_behind(file, chunk, end)
    if begin is not None and end is not None:
        end = max(begin, end)
    offsets = f"offsets {_word(begin)} to {_word(end)}"
    place = f"bytes {chunk.position} to {chunk.position + chunk.size - 1} of the segment, {offsets}"
    is_single = last is None or last == chunk.number
    which = f"chunk {chunk.number} ({place}) is" if is_single else f"chunks {chunk.number} to {last} ({place}) are"
    error = ChunkError(f"{name}: {which} lost: {fault}")
    error.__dict__.update(code="lost_bytes", rule="TS-45", chunk=chunk.number, position=chunk.position, length=chunk.size)
    error.__dict__.update(base_offset=begin, last_offset=end)
    return error


def _offset_before(file: Any, chunk: Chunk, index: bytes, start: int | None) -> int | None:
    """The offset behind the last intact batch that ends in front of the chunk, and of damaged ones right before it."""
    end = chunk.position
    for _ in range(_MOST_DAMAGED):
        begin = _known_batch(index, end)
        before = None
        for source, options in _sound(file, begin, end):
            for row in _rows(source, on_error="skip", **options):
                before = row["lastOffset"]
        if before is not None:
            return int(before) + 1
        if not begin:
            break
        end = begin
    return start


def _offset_behind(file: Any, chunk: Chunk, last: int | None) -> int | None:
    """The offset before the first intact batch that begins behind the chunk, and behind damaged ones right after it."""
    for source, _ in _sound(file, chunk.position + chunk.size, file.size):
        for row in _rows(source, on_error="skip", batch_size=1, resolve=True):
            first = row["lastOffset"] if row["baseOffset"] is None else row["baseOffset"]
            return int(first) - 1
    return last


def _sound(file: Any, start: int, end: int) -> Iterator[tuple[_Bytes, dict[str, Any]]]:
    """The bytes between two positions, anew behind each damaged chunk, where only a checksum tells a batch from the rest of one."""
    options: dict[str, Any] = {"check_crc": False}
    for _ in range(_MOST_DAMAGED):
        source = _Bytes(file, start, end)
        yield source, options
        if source.at >= end:
            return
        start, options = file.end_of_chunk(source.at), {}


def _rows(source: _Bytes, **options: Any) -> Iterator[dict[str, Any]]:
    try:
        with batch_stream(source, **options) as stream:
            for rows in stream:
                yield from map(json.loads, rows.to_jsonl().splitlines())
    except RecordBatchError:
        return


def _known_batch(index: bytes, position: int) -> int:
    """The start of a batch some way before a position, as an `.index` tells; 0 when it tells nothing."""
    if len(index) % 8:
        return 0
    positions = [int.from_bytes(index[at + 4 : at + 8]) for at in range(0, len(index), 8)]
    before = [one for one in positions if one < position]
    return before[-2] if len(before) > 1 and positions == sorted(positions) else 0


def _word(offset: int | None) -> str:
    return "?" if offset is None else str(offset)


#: Of all segments together; a chunk has 4 MiB as a rule, and one alone may have more.
MOST_BYTES = 64 << 20


class ChunkCache:
    """Bytes by their keys; those that were used least recently go first. Any thread may use it."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> bytes | None:
        """What was kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, data: bytes) -> None:
        """Keep it, and let others go."""
        with self._lock:
            self._bytes += len(data) - len(self._kept.pop(key, b""))
            self._kept[key] = data
            while self._bytes > self._most and len(self._kept) > 1:
                self._bytes -= len(self._kept.popitem(last=False)[1])

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0


CACHE = ChunkCache()
