"""What a plugin costs: the experiment of KIP-984, snappy built in against snappy as a plugin, the same records, through encode and decode.

The plugins run logsegment's own snappy (`snappy/`, a crate that exports it), so that the interface is all that differs: `native` by C
functions behind a capsule, `python` by a class of Python whose methods call it. `none` and `stored`, a class that gives what it is given,
show the call alone. All of them take turns of milliseconds: a row has the best seconds of the rounds, and the median of the rounds' ratios
to what is built in, which a machine that is slow for a while does not change. Prints one JSON list of rows.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import pyarrow as pa

import logsegment as ls
from benches.paths import ROOT, WORK
from logsegment.plugins import Entry, MemoryRegistry

ROWS = 60_000
BATCH_BYTES = (16 << 10, 1 << 20)
#: What is built in comes before the plugins that are held against it.
BESIDE = {"snappy": "snappy", "native": "snappy", "python": "snappy", "none": "none", "stored": "none"}
VERBS = ("decode", "encode")
ROUNDS = 100


class Stored:
    """No compression."""

    def compress(self, data: memoryview, level: int | None = None) -> memoryview:
        return data

    def decompress(self, data: memoryview, max_output: int) -> memoryview:
        return data


class Python:
    """logsegment's snappy, called by methods of Python."""

    crate: ModuleType

    def compress(self, data: memoryview, level: int | None = None) -> Any:
        return self.crate.compress(data)

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        return self.crate.decompress(data, max_output)


class Native:
    """logsegment's snappy, called as C functions."""

    crate: ModuleType

    def __init__(self) -> None:
        self.__logsegment_codec__ = self.crate.capsule()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--batch-bytes", type=int, action="append")
    parser.add_argument("--module", type=Path, help="the crate's module, built before")
    arguments = parser.parse_args()
    codecs = registry(arguments.module)
    table = records()
    print(json.dumps([row for size in arguments.batch_bytes or BATCH_BYTES for row in measured(table, size, codecs, arguments.rounds)]))


def registry(module: Path | None) -> MemoryRegistry:
    """Return the plugins: the crate is built, unless its module is given."""
    Python.crate = Native.crate = imported(module) if module else built()
    here = "measure"
    sys.modules[here] = sys.modules[__name__]
    classes = {"stored": Stored, "python": Python, "native": Native}
    return MemoryRegistry([Entry(number, name, f"{here}:{classes[name].__name__}", "v1.0") for number, name in enumerate(classes)])


def measured(table: pa.Table, size: int, codecs: MemoryRegistry, rounds: int) -> list[dict[str, Any]]:
    data = {name: ls.encode(table, compression=name, batch_bytes=size, codecs=codecs) for name in BESIDE}
    assert len({len(data[name]) for name in ("snappy", "native", "python")}) == 1, "the same compressor writes the same bytes"
    assert len({decoded(data[name], codecs) for name in BESIDE}) == 1
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(rounds):
        for name in BESIDE:
            seconds[name, "decode"].append(timed(lambda name=name: decoded(data[name], codecs)))
        for name in BESIDE:
            seconds[name, "encode"].append(timed(lambda name=name: ls.encode(table, compression=name, batch_bytes=size, codecs=codecs)))
    return [row(data[name], size, name, seconds) for name in BESIDE]


def row(data: bytes, size: int, name: str, seconds: dict[tuple[str, str], list[float]]) -> dict[str, Any]:
    found: dict[str, Any] = {"batch_bytes": size, "codec": name, "batches": ls.batches(data, check_crc=False).num_rows}
    for verb in VERBS:
        own, built_in = seconds[name, verb], seconds[BESIDE[name], verb]
        found[verb] = min(own)
        found[f"{verb}_ratio"] = median(own_time / other for own_time, other in zip(own, built_in, strict=True))
    return found


def decoded(data: bytes, codecs: MemoryRegistry) -> int:
    """The number of records, by one thread, as it is with plugins."""
    return sum(map(len, ls.decode(data, threads=1, codecs=codecs)))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def records() -> pa.Table:
    """Values of ten words each, some 120 bytes."""
    chance = random.Random(1)
    words = [b"%x" % chance.getrandbits(40) for _ in range(500)]
    return pa.table({"value": pa.array([b" ".join(chance.choices(words, k=10)) for _ in range(ROWS)], pa.binary())})


def built() -> ModuleType:
    """Build the crate and import it."""
    target = WORK / "plugins"
    manifest = ROOT / "benches" / "plugins" / "snappy" / "Cargo.toml"
    command = ["cargo", "build", "-q", "--locked", "--release", "--manifest-path", str(manifest), "--target-dir", str(target)]
    subprocess.run(command, check=True)
    module = target / "snappy_as_plugin.abi3.so"
    shutil.copy(target / "release" / "libsnappy_as_plugin.so", module)
    return imported(module)


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("snappy_as_plugin", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
