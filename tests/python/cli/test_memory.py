"""Memory of the command line: what it takes for a large segment, whole or damaged, besides what it takes for a small one."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import logsegment as ls

NAME = "00000000000000000000.log"
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read as Linux tells it")


def test_memory_does_not_grow_with_the_segment(tmp_path: Path):
    """A segment of 48 MiB and its indexes, made anew: at most 40 MiB above what the command takes for a small one."""
    values = pa.array([bytes([index % 251]) * 2000 for index in range(500)])
    piece = pa.table({"value": values, "timestampMs": pa.array(range(500), pa.int64())})
    sizes = {}
    for name, pieces in (("small-0", 1), ("large-0", 48)):
        directory = tmp_path / name
        directory.mkdir()
        with (directory / NAME).open("wb") as file:
            for number in range(pieces):
                ls.encode(piece, format="v1", base_offset=number * 500, out=file)
        sizes[name] = peak_kib("convert", directory, "-o", tmp_path / f"{name}.out")
    assert (tmp_path / "large-0" / NAME).stat().st_size > 48_000_000
    assert sizes["large-0"] - sizes["small-0"] < 40 << 10, sizes


@pytest.mark.slow
def test_damage_takes_no_memory_of_the_bytes_that_are_searched(tmp_path: Path):
    """194 MB with 20 zeroed pages: `verify` and `salvage` take at most 24 MiB more than `verify` takes for the whole file."""
    piece = random.Random(1).randbytes(1000)
    values = pa.table({"value": [piece] * 8000})
    path = tmp_path / "large-0" / NAME
    path.parent.mkdir()
    with path.open("wb") as file:
        for number in range(24):
            ls.encode(values, base_offset=number * 8000, batch_bytes=64 << 10, out=file)
    whole = peak_kib("verify", path.parent)
    with path.open("r+b") as file:
        for page in range(20):
            file.seek((page * 9 + 3) << 20)
            file.write(bytes(4096))
    damaged = peak_kib("verify", path.parent, code=1)
    salvaged = peak_kib("salvage", path.parent, "-o", tmp_path / "out", code=3)
    assert path.stat().st_size > 190_000_000
    assert max(damaged, salvaged) - whole < 24 << 10, (whole, damaged, salvaged)


def peak_kib(*arguments: object, code: int = 0) -> int:
    """The largest resident set of one run of the command, in KiB."""
    shown = "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    words = [sys.executable, "-c", f"from logsegment.cli import main; assert main() == {code}; {shown}", *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    return int(done.stdout.split()[-1])
