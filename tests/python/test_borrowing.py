"""Immutable bytes are borrowed and mutable ones copied; native work leaves the interpreter to others and listens to signals."""

from __future__ import annotations

import ctypes
import gc
import mmap
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import building
import corpus
import logsegment as ls

PLAIN = corpus.CORPUS / "modern-4.1.0/data/codec-none-0/00000000000000000000.log"
GZIP = corpus.CORPUS / "modern-4.1.0/data/codec-gzip-0/00000000000000000000.log"
#: Shorter values stand in the view itself (Arrow's layout).
LONGEST_INLINE = 12


def address_of(data: Any) -> int:
    return pa.py_buffer(data).address


def value_addresses(source: Any, binary: str = "binary_view", column: str = "value") -> Iterator[tuple[int, bytes]]:
    """Where each long value lies in memory, and what it is."""
    for batch in ls.decode(source, columns=[column], binary=binary):
        array = pa.record_batch(batch).column(0)
        views, *buffers = array.buffers()[1:]
        for index, value in enumerate(array.to_pylist()):
            if value is not None and len(value) > LONGEST_INLINE:
                view = views[16 * index : 16 * index + 16].to_pybytes()
                buffer, offset = int.from_bytes(view[8:12], "little"), int.from_bytes(view[12:16], "little")
                yield buffers[buffer].address + offset, value


@pytest.mark.parametrize("column", ["value", "key"])
def test_uncompressed_views_point_into_the_callers_bytes(column: str):
    """The address is that of the same bytes in the caller's buffer; a memoryview at it has the value."""
    data = PLAIN.read_bytes()
    start = address_of(data)
    found = list(value_addresses(data, column=column))
    assert len(found) > (100 if column == "value" else 0) or column == "key"
    for address, value in found:
        assert start <= address < start + len(data)
        assert memoryview(data)[address - start :][: len(value)] == value
        assert ctypes.string_at(address, len(value)) == value


@pytest.mark.parametrize(
    "make",
    [memoryview, pa.py_buffer, lambda data: memoryview(bytearray(data)).toreadonly(), lambda data: ls_mmap(PLAIN)],
    ids=["memoryview", "pyarrow.Buffer", "read-only memoryview", "mmap"],
)
def test_everything_read_only_is_borrowed(make: Callable[[bytes], Any]):
    source = make(PLAIN.read_bytes())
    start = address_of(source)
    found = list(value_addresses(source))
    assert len(found) > 100
    assert all(start <= address < start + len(memoryview(source)) for address, _ in found)


def ls_mmap(path: Path) -> mmap.mmap:
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def test_slices_are_borrowed_where_they_lie():
    data = PLAIN.read_bytes()
    padded = b"x" * 999 + data + b"y"
    start = address_of(padded)
    found = list(value_addresses(memoryview(padded)[999:-1]))
    assert found
    assert all(padded[address - start : address - start + len(value)] == value for address, value in found)


def test_borrowed_bytes_are_held_as_long_as_a_view_lives():
    data = bytes(bytearray(PLAIN.read_bytes()))
    before = sys.getrefcount(data)
    table = pa.table(ls.decode(data, columns=["value"], binary="binary_view"))
    gc.collect()
    assert sys.getrefcount(data) > before
    del table
    gc.collect()
    assert sys.getrefcount(data) == before


def test_copies_do_not_hold_the_callers_bytes():
    data = bytes(bytearray(PLAIN.read_bytes()))
    before = sys.getrefcount(data)
    table = pa.table(ls.decode(data, columns=["value"], binary="binary"))
    gc.collect()
    assert sys.getrefcount(data) == before
    assert table.num_rows == 240


def test_mutable_bytes_are_not_borrowed():
    data = bytearray(PLAIN.read_bytes())
    start = address_of(data)
    expected = pa.table(ls.decode(bytes(data), columns=["value"]))["value"].to_pylist()
    found = list(value_addresses(data))
    assert len(found) > 100
    assert not any(start <= address < start + len(data) for address, _ in found)
    table = pa.table(ls.decode(data, columns=["value"], binary="binary_view"))
    data[:] = b"\xaa" * len(data)
    assert table["value"].to_pylist() == expected


def test_a_mutable_buffer_is_given_back_when_the_stream_is_done():
    data = bytearray(PLAIN.read_bytes())
    stream = ls.decode(data)
    with pytest.raises(BufferError):
        data.append(0)
    stream.read_all()
    data.append(0)
    with ls.decode(data) as closed:
        next(closed)
    data.append(0)


def test_unpacked_bytes_and_long_copies_lie_elsewhere():
    data = GZIP.read_bytes()
    start = address_of(data)
    found = list(value_addresses(data))
    assert len(found) > 100
    assert not any(start <= address < start + len(data) for address, _ in found)


@pytest.mark.parametrize("kind", ["numpy", "memoryview of ints", "strided"])
def test_buffers_of_other_shapes(kind: str):
    """Anything contiguous is taken as its bytes; anything else is refused."""
    import numpy as np

    data = building.simple_batch([b"v" * 28])
    assert len(data) % 8 == 0
    sources = {
        "numpy": np.frombuffer(data, dtype=np.uint8),
        "memoryview of ints": memoryview(data).cast("q"),
        "strided": memoryview(b"".join(bytes([byte, 0]) for byte in data))[::2],
    }
    if kind == "strided":
        with pytest.raises((TypeError, BufferError), match="contiguous"):
            ls.decode(sources[kind])
        return
    assert corpus.rows_of(ls.decode(sources[kind], columns=["value"])) == [{"value": b"v" * 28}]


# The interpreter is left to others.

VERBS: dict[str, Callable[[bytes], Any]] = {
    "decode": lambda data: ls.decode(data).read_all(),
    "decode, two threads": lambda data: ls.decode(data, threads=2).read_all(),
    "a capsule consumer": lambda data: pa.table(ls.decode(data)),
    "batches": lambda data: ls.batches(data),
    "validate": lambda data: ls.validate(data),
    "decode_array": lambda data: ls.decode_array(pa.array([data], pa.large_binary())),
    "scan_transactions": lambda data: ls.scan_transactions([data]),
}
all_verbs = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


@pytest.fixture(scope="module")
def much() -> bytes:
    """A segment that takes a good part of a second to read: batches of 1 KiB, all of them compressed."""
    return GZIP.read_bytes() * 1500


@all_verbs
def test_another_thread_goes_on_during_native_work(verb: Callable[[bytes], Any], much: bytes):
    """A thread wakes many times within each call; with the interpreter held it would wake at most once, as the call begins."""
    wakes: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            wakes.append(time.monotonic())
            time.sleep(0.0002)

    calls = 0
    within = 0
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        while calls < 10 and within <= 30:
            start = time.monotonic()
            verb(much)
            end = time.monotonic()
            calls += 1
            within += sum(start < wake < end for wake in wakes)
    finally:
        stop.set()
        thread.join()
    assert within > 30


class Stopped(Exception):
    """What the signal handler raises."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timer of processor time")
@pytest.mark.parametrize("verb", [name for name in VERBS if name not in ("batches", "scan_transactions")])
def test_signals_are_noticed_during_native_work(verb: str, much: bytes):
    """Ctrl-C: the handler's exception ends the call before half of its work is done, counted in processor time."""

    def stop(*_: Any) -> None:
        raise Stopped

    data = much * 2
    start = time.process_time()
    VERBS[verb](data)
    whole = time.process_time() - start
    before = signal.signal(signal.SIGPROF, stop)
    try:
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, whole / 20)
        with pytest.raises((Stopped, pa.ArrowException)) as caught:
            VERBS[verb](data)
        done = time.process_time() - start
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert isinstance(caught.value, Stopped) or verb == "a capsule consumer"
    assert done < whole / 2


if sysconfig.get_config_var("Py_GIL_DISABLED"):

    def test_a_free_threaded_python_imports_the_module_without_the_lock():
        assert not sys._is_gil_enabled()


def test_many_threads_read_the_same_bytes():
    data = PLAIN.read_bytes()
    expected = corpus.rows_of(ls.decode(data, columns=["offset", "value"]))
    results: list[Any] = []

    def read() -> None:
        results.append(corpus.rows_of(ls.decode(data, columns=["offset", "value"], batch_size=7)))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


def test_one_stream_shared_by_threads_gives_every_row_once():
    stream = ls.decode(PLAIN.read_bytes(), columns=["offset"], batch_size=3)
    offsets: list[int] = []

    def read() -> None:
        for batch in stream:
            offsets.extend(row["offset"] for row in corpus.rows_of(batch))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(offsets) == list(range(240))
