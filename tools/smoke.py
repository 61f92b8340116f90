"""Check an installed logsegment from outside its source tree: run `python tools/smoke.py` after installing a wheel.

Needs nothing but the wheel. Decodes and writes one record batch of every codec, in several threads at once, so that the C code inside
was built and linked for this machine, and asks for the licences that must travel with it.
"""

import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata, resources

import logsegment as ls

# One record at offset 7, key "k", value "hello kafka " eight times, a header "h" without value; codecs 0 to 4.
BATCHES = {
    "none": (
        "00000000000000070000009e000000000247bc89410000000000000000018bcfe568000000018bcfe56800ffffffffffffff"
        "ffffffffffffff00000001d601000000026bc00168656c6c6f206b61666b612068656c6c6f206b61666b612068656c6c6f20"
        "6b61666b612068656c6c6f206b61666b612068656c6c6f206b61666b612068656c6c6f206b61666b612068656c6c6f206b61"
        "666b612068656c6c6f206b61666b612002026801"
    ),
    "gzip": (
        "0000000000000007000000600000000002279f84530001000000000000018bcfe568000000018bcfe56800ffffffffffffff"
        "ffffffffffffff000000011f8b0800000000000203bbc6c8c0c0c0947d8031233527275f213b312d3b5181166c26a60c4600"
        "effa549f6d000000"
    ),
    "snappy": (
        "000000000000000700000053000000000278a4c0d00002000000000000018bcfe568000000018bcfe56800ffffffffffffff"
        "ffffffffffffff000000016d50d601000000026bc00168656c6c6f206b61666b6120fe0c004e0c000c02026801"
    ),
    "lz4": (
        "00000000000000070000006000000000027e594cc20003000000000000018bcfe568000000018bcfe56800ffffffffffffff"
        "ffffffffffffff0000000104224d1860408220000000ff06d601000000026bc00168656c6c6f206b61666b61200c00405020"
        "0202680100000000"
    ),
    "zstd": (
        "00000000000000070000005a0000000002824bcda60004000000000000018bcfe568000000018bcfe56800ffffffffffffff"
        "ffffffffffffff0000000128b52ffd206d050100c8d601000000026bc00168656c6c6f206b61666b6120020268010100e353"
        "6102"
    ),
}


def check_decoding() -> None:
    """Decode every batch; the rows must be the one record, seen without pyarrow through `to_jsonl`."""
    for codec, hexadecimal in BATCHES.items():
        ensure_the_record(bytes.fromhex(hexadecimal), codec)


def check_writing() -> None:
    """Convert the plain batch to every codec; what was written must be read."""
    for codec in BATCHES:
        data = ls.convert(bytes.fromhex(BATCHES["none"]), compression=codec).data
        assert data, codec
        assert ls.batches(data).num_rows == 1, codec
        ensure_the_record(data, codec)


def check_threads() -> None:
    """Several threads of Python at once, each with threads of its own."""
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(check) for check in (check_decoding, check_writing, check_damage) * 8]:
            done.result()
        data = bytes.fromhex(BATCHES["zstd"]) * 100
        rows = pool.map(lambda _: sum(len(batch) for batch in ls.decode(data, columns=["value"], threads=2)), range(8))
        assert list(rows) == [100] * 8


def ensure_the_record(data: bytes, codec: str) -> None:
    """Fail unless the one record is in these bytes."""
    stream = ls.decode(data, columns=["offset", "key", "value"])
    lines = b"".join(batch.to_jsonl() for batch in stream).splitlines()
    assert len(lines) == 1, f"{codec}: {len(lines)} rows"
    assert b'"offset":7' in lines[0].replace(b" ", b""), f"{codec}: {lines[0]!r}"
    assert b"hello kafka " * 8 in lines[0], f"{codec}: {lines[0]!r}"


def check_damage() -> None:
    """A flipped bit must be a typed error, also when the extension was built on another machine."""
    damaged = bytearray(bytes.fromhex(BATCHES["zstd"]))
    damaged[-5] ^= 1
    try:
        list(ls.decode(bytes(damaged)))
    except ls.ChecksumError:
        return
    raise AssertionError("a flipped bit was not noticed")


def check_package() -> None:
    """The wheel carries its type information, the data source module and the licences."""
    names = {str(path) for path in metadata.files("logsegment") or ()}
    assert resources.files("logsegment").joinpath("py.typed").is_file()
    assert resources.files("logsegment").joinpath("_core.pyi").is_file()
    assert any(name.endswith("pyspark_logsegment/__init__.py") for name in names), "no pyspark_logsegment"
    assert any(name.endswith("licenses/LICENSE-binary") for name in names), "no LICENSE-binary"


def check_free_threading() -> None:
    """Importing the module must not switch the GIL back on in a free-threaded Python."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not sys._is_gil_enabled(), "logsegment switched the GIL on"


if __name__ == "__main__":
    check_decoding()
    check_writing()
    check_damage()
    check_threads()
    check_free_threading()
    check_package()
    print(f"logsegment {metadata.version('logsegment')}: {len(BATCHES)} codecs are read and written, package complete")
