"""`batches(check_crc=False)` against a bare Rust loop over the 61-byte headers of the same bytes.

Prints {corpus: {"batches", "bare_loop", "ours"}}, seconds best of the repeats, as one JSON line.
"""

import json
import subprocess
import time

import pyarrow.compute as pc

import logsegment as ls
from benches.paths import ROOT, WORK
from benches.segments import write_repeated
from benches.thresholds import CODECS

CORPORA = [f"small-{codec}" for codec in CODECS]
# A whole segment: the headers of a smaller file stay in the cache between repeats, which no user meets.
SEGMENT = 1 << 30
REPEAT = 15
# What the Rust loop sums, under the names of the batch columns. All fields of the header but the delete horizon's bit.
SUMMED = [
    "baseOffset",
    "lastOffset",
    "baseTimestamp",
    "maxTimestamp",
    "producerId",
    "size",
    "partitionLeaderEpoch",
    "magic",
    "crc",
    "attributes",
    "producerEpoch",
    "baseSequence",
    "count",
]


def main():
    program = build()
    print(json.dumps({name: measure(program, name) for name in CORPORA}))


def build():
    """Build the loop; returns the program's path."""
    target = WORK / "headers"
    manifest = ROOT / "benches" / "headers" / "Cargo.toml"
    subprocess.run(
        ["cargo", "build", "-q", "--locked", "--release", "--manifest-path", str(manifest), "--target-dir", str(target)], check=True
    )
    return target / "release" / "bare-header-loop"


def measure(program, name):
    path = WORK / "headers" / f"{name}.log"
    write_repeated(name, path, SEGMENT)
    done = subprocess.run([program, path, str(REPEAT)], capture_output=True, text=True, check=True)
    bare = json.loads(done.stdout)
    data = path.read_bytes()
    assert_same(name, bare, ls.batches(data, check_crc=False))
    ours = [timed(data) for _ in range(REPEAT)]
    return {"batches": bare["records"], "bare_loop": min(bare["seconds"]), "ours": min(ours)}


def assert_same(name, bare, table):
    table = table.to_pyarrow()
    total = sum(pc.sum(table[column].cast("int64")).as_py() for column in SUMMED)
    if table.num_rows != bare["records"] or (total - int(bare["checksum"])) % 2**64:
        raise AssertionError(f"{name}: batches() and the bare loop read different headers")


def timed(data):
    start = time.perf_counter()
    table = ls.batches(data, check_crc=False)
    seconds = time.perf_counter() - start
    del table  # its memory goes back before the next call, outside the clock
    return seconds


if __name__ == "__main__":
    main()
