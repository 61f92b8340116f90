"""Codecs of C functions (docs/reference/formats/plugins.md): the worked example, and what a table can get wrong."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import building
import corpus
import logsegment as ls
from logsegment.plugins import Entry, MemoryRegistry
from logsegment.plugins.loading import load

EXAMPLE = corpus.TESTS.parent / "examples/native_codec"
COMPILER = shutil.which("cc") or shutil.which("gcc")
TABLE = pa.table({"value": [b"a" * (number % 400) for number in range(300)]})
GOOD = building.batch(building.record(value=b"good"), count=1, base_offset=1)
#: As in the example.
NAME = b"logsegment.codec"


def named_by(example: Path) -> str:
    """What the Python side of an example calls its library on this system."""
    spec = importlib.util.spec_from_file_location(example.stem, example)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.LIBRARY)


def library(source: Path, target: Path) -> Path:
    if COMPILER is None:
        pytest.skip("no C compiler")
    subprocess.run([COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", target, source], check=True)
    return target


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> MemoryRegistry:
    directory = tmp_path_factory.mktemp("native")
    library(EXAMPLE / "runs.c", directory / named_by(EXAMPLE / "runs.py"))
    shutil.copy(EXAMPLE / "runs.py", directory / "runs_of_example.py")
    sys.path.insert(0, str(directory))
    yield MemoryRegistry([Entry(2, "runs", "runs_of_example:Runs", "v1.0")])
    sys.path.remove(str(directory))


@pytest.fixture(scope="module")
def rust_example(tmp_path_factory: pytest.TempPathFactory) -> MemoryRegistry:
    """Some seconds once; target/ keeps it for later runs."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("no cargo")
    target, manifest = EXAMPLE.parents[1] / "target/examples", EXAMPLE.with_name("native_codec_rust") / "Cargo.toml"
    subprocess.run([cargo, "build", "-q", "--locked", "--manifest-path", manifest, "--target-dir", target], check=True)
    directory = tmp_path_factory.mktemp("rust")
    shutil.copy(target / "debug" / named_by(manifest.with_name("lz4_sized.py")), directory)
    shutil.copy(manifest.with_name("lz4_sized.py"), directory / "lz4_sized_of_example.py")
    sys.path.insert(0, str(directory))
    yield MemoryRegistry([Entry(2, "sized", "lz4_sized_of_example:Lz4Sized", "v1.0")])
    sys.path.remove(str(directory))


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return ctypes.CDLL(str(library(corpus.TESTS / "support/native_faults.c", tmp_path_factory.mktemp("faults") / "libfaults.so")))


class Bare:
    """A codec that has a capsule and nothing else."""

    library: ctypes.CDLL
    table = "faults_codec"
    name = NAME

    def __init__(self) -> None:
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
        table = ctypes.addressof(ctypes.c_char.in_dll(self.library, self.table))
        self.__logsegment_codec__ = new(table, self.name, None)


def registered(library: ctypes.CDLL, table: str = "faults_codec", name: bytes = NAME) -> MemoryRegistry:
    Bare.library, Bare.table, Bare.name = library, table, name
    load.cache_clear()
    return MemoryRegistry([Entry(3, "bare", f"{__name__}:Bare", "v1.0")])


@pytest.mark.parametrize("binary", ["binary", "binary_view"])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_example_packs_and_unpacks(example, binary, threads):
    data = ls.encode(TABLE, compression="runs", codecs=example)
    assert len(data) < len(ls.encode(TABLE)) / 5
    assert {row["compression"] for row in corpus.rows_of(ls.batches(data, codecs=example))} == {"runs"}
    read = ls.decode(data, columns=["value"], binary=binary, threads=threads, codecs=example).read_all()
    assert read.to_pyarrow()["value"].to_pylist() == TABLE["value"].to_pylist()
    assert ls.validate(data, codecs=example).findings == []
    lz4 = ls.convert(data, compression="lz4", codecs=example).data
    assert ls.convert(data, compression="none", codecs=example).data == ls.convert(lz4, compression="none").data


def test_limits_hold_for_it(example):
    data = ls.encode(pa.table({"value": [bytes(1 << 20)]}), compression="runs", codecs=example)
    assert ls.decode(data, codecs=example).read_all().num_rows == 1
    with pytest.raises(ls.CodecError, match="more than 1000000 bytes") as raised:
        ls.decode(data, codecs=example, limits=ls.Limits(max_decompressed_bytes=1_000_000)).read_all()
    assert "runs_of_example:Runs" in str(raised.value)


def test_its_texts_are_in_the_error(example):
    with pytest.raises(ls.CodecError, match="there are no levels"):
        ls.encode(TABLE, compression="runs", level=1, codecs=example)
    odd = building.batch(b"\x01a\x01", count=1, attributes=0x0205)
    with pytest.raises(ls.CodecError, match="3 bytes are no pairs of length and byte") as raised:
        ls.decode(odd + GOOD, codecs=example).read_all()
    assert (raised.value.rule, raised.value.position) == ("S-P6", 0)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_example_in_rust_packs_and_unpacks(rust_example, threads):
    data = ls.encode(TABLE, compression="sized", batch_bytes=4096, codecs=rust_example)
    assert len(data) < len(ls.encode(TABLE, batch_bytes=4096)) / 5
    read = ls.decode(data, columns=["value"], threads=threads, codecs=rust_example).read_all()
    assert read.to_pyarrow()["value"].to_pylist() == TABLE["value"].to_pylist()
    block = pytest.importorskip("lz4.block")
    first = corpus.rows_of(ls.batches(data, codecs=rust_example))[0]
    plain = ls.convert(data[: first["size"]], compression="none", codecs=rust_example).data
    assert block.decompress(data[61 : first["size"]]) == plain[61:], "the bytes are those of the package lz4"


def test_the_example_in_rust_takes_no_length_and_no_block_at_its_word(rust_example):
    data = ls.encode(pa.table({"value": [bytes(1 << 20)]}), compression="sized", codecs=rust_example)
    assert ls.decode(data, codecs=rust_example).read_all().num_rows == 1
    with pytest.raises(ls.CodecError, match="more than 1000000 bytes") as raised:
        ls.decode(data, codecs=rust_example, limits=ls.Limits(max_decompressed_bytes=1_000_000)).read_all()
    assert "lz4_sized_of_example:Lz4Sized" in str(raised.value)
    with pytest.raises(ls.CodecError, match="there are no levels"):
        ls.encode(TABLE, compression="sized", level=1, codecs=rust_example)
    for packed, text in (
        (b"\x01\x00", "the size is cut short"),
        (b"\x09\x00\x00\x00\x50hello", "the block holds 5 bytes, not 9"),
        (b"\x05\x00\x00\x00\xff", "."),
        (b"\xff\xff\xff\xff\x50hello", "the limit"),
    ):
        bad = building.batch(packed, count=1, attributes=0x0205)
        limits = ls.Limits(max_decompressed_bytes=1 << 20)
        with pytest.raises(ls.CodecError, match=text):
            ls.decode(bad, codecs=rust_example, limits=limits).read_all()
        stream = ls.decode(bad + GOOD, columns=["value"], codecs=rust_example, limits=limits, on_error="skip")
        assert corpus.rows_of(stream) == [{"value": b"good"}]


def test_it_needs_no_interpreter(faults):
    """The function waits for another thread of Python, which runs meanwhile."""
    is_called, is_seen = (ctypes.c_int.in_dll(faults, name) for name in ("is_called", "is_seen"))

    def see() -> None:
        while not is_called.value:
            time.sleep(0.001)
        is_seen.value = 1

    other = threading.Thread(target=see, daemon=True)
    other.start()
    data = building.batch(b"wait", count=1, attributes=0x0305)
    with pytest.raises(ls.CodecError, match="count is 1, found 0"):
        ls.decode(data, codecs=registered(faults)).read_all()
    other.join()


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (b"l", "of output, of at most"),
        (b"s", "more than 65536 bytes, the limit"),
        (b"c", "more than 65536 bytes, the limit"),
        (b"t", "x" * 200),
        (b"n", "it returned error -7"),
        (b"g", "not the records of the batch"),
        (b"e", "count is 1, found 0"),
    ],
)
def test_a_codec_at_fault_is_named_and_the_next_batch_is_read(faults, first, text):
    codecs = registered(faults)
    data = building.batch(first + b"packed bytes", count=1, attributes=0x0305)
    limits = ls.Limits(max_decompressed_bytes=65_536)
    with pytest.raises(ls.CodecError, match=text) as raised:
        ls.decode(data + GOOD, codecs=codecs, limits=limits).read_all()
    assert '"bare" (id 3' in str(raised.value)
    assert raised.value.position == 0
    stream = ls.decode(data + GOOD, columns=["value"], codecs=codecs, limits=limits, on_error="skip")
    assert corpus.rows_of(stream) == [{"value": b"good"}]


@pytest.mark.parametrize("first", [b"0", b"1", b"-", b"?"])
def test_a_wrong_or_missing_length_costs_another_try(faults, first):
    """`unpacked_len` is a claim: too little of it, none, or a number that is none, and the records are read all the same."""
    packed = first + building.record(value=bytes(100_000))
    data = building.batch(packed, count=1, attributes=0x0305)
    [row] = corpus.rows_of(ls.decode(data + GOOD, columns=["value"], end_offset=1, codecs=registered(faults)))
    assert row["value"] == corpus.rows_of(ls.decode(building.batch(packed[1:], count=1), columns=["value"]))[0]["value"]


@pytest.mark.parametrize(
    ("table", "text"), [("faults_codec", "of output, of at most"), ("boundless_codec", "its compressed_len is invalid")]
)
def test_a_codec_that_cannot_pack_is_named(faults, table, text):
    with pytest.raises(ls.CodecError, match=text):
        ls.encode(TABLE, compression="bare", codecs=registered(faults, table))


@pytest.mark.parametrize(
    ("table", "name", "text"),
    [
        ("later_codec", NAME, "version 2, not 1"),
        ("partial_codec", NAME, "lacks decompress, compressed_len or compress"),
        ("faults_codec", b"another.codec", "the name of its capsule is not logsegment.codec"),
    ],
)
def test_a_table_that_is_not_understood_is_a_plugin_that_is_not_there(faults, table, name, text):
    """S-P20."""
    with pytest.raises(ls.UnsupportedError, match=text) as raised:
        ls.encode(TABLE, compression="bare", codecs=registered(faults, table, name))
    assert (raised.value.rule, raised.value.kafka_error_code) == ("S-P20", 76)
