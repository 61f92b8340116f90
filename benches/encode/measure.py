"""Encoding beside the peers: the same records, the same batches, the same levels, from records ready in memory.

Prints {"names": {id: name}, "cases": {case: {"records", "batches", "uncompressed_bytes", "cells": {id: cell}}}} as one JSON
line, a cell being {"min", "median", "repeats", "bytes"} or {"error"}. What each contestant wrote is decoded again, outside
the clock, and its records compared with those it was given.
"""

import argparse
import fnmatch
import json
import os
import statistics
import struct
import subprocess
import sys

import logsegment as ls
from benches.paths import PEERS, WORK
from benches.segments import entries, head
from benches.thresholds import ENCODE_CASES

OURS = "ours"
HEAD_BYTES = 32 << 20
TIMEOUT_SECONDS = 600


def main():
    args = parse_arguments()
    contestants = json.loads((PEERS / "encode.json").read_text())
    chosen = [case for case in ENCODE_CASES if any(fnmatch.fnmatch(case, glob) for glob in args.cases.split(","))]
    found = {case: measure(case, [c for c in contestants if fnmatch.fnmatch(c["id"], args.only)], args) for case in chosen}
    print(json.dumps({"names": {c["id"]: c["name"] for c in contestants}, "cases": found}))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="*", help="comma separated globs over names such as 'small zstd-3'")
    parser.add_argument("--only", default="*", help="glob over the contestants' ids")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="times round the contestants of a case; seconds are pooled")
    return parser.parse_args()


def measure(case, contestants, args):
    """Our writer says where batches end, as it is the one that cannot be told; the peers write the same batches."""
    shape, codec = case.split()
    data, records, _ = head(f"{shape}-none", HEAD_BYTES)
    source = WORK / "encode" / f"{shape}.log"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_bytes(data)
    counts = planned(source, codec)
    regrouped = source.with_name("regrouped.log")
    regrouped.write_bytes(grouped(data, counts))
    taking_part = [contestant for contestant in contestants if codec in contestant["levels"]]
    runs = {contestant["id"]: [] for contestant in taking_part}
    for _ in range(args.rounds):
        for contestant in taking_part:
            given = source if contestant["id"] == OURS else regrouped
            runs[contestant["id"]].append(run_once(contestant, codec, given, counts, args.repeat))
    cells = {identity: pooled(found) for identity, found in runs.items()}
    for identity, cell in cells.items():
        print(f"{case:18} {identity:18} {describe(cell, len(data))}", file=sys.stderr, flush=True)
    return {"records": records, "batches": len(counts), "uncompressed_bytes": len(data), "cells": cells}


def planned(source, codec):
    """How many records our writer puts into each batch."""
    ours = next(c for c in json.loads((PEERS / "encode.json").read_text()) if c["id"] == OURS)
    output, _ = call(ours, codec, source, 0)
    return [count for _, _, count in entries(output.read_bytes())]


def grouped(data, counts):
    """The records of `data` in uncompressed batches of these numbers of records."""
    columns = ["key", "value", "timestampMs", "headers"]
    table = ls.decode(data, columns=columns, batch_size=1 << 20, batch_bytes=1 << 28).read_all().to_pyarrow().combine_chunks()
    (records,) = table.to_batches()
    pieces, start = [], 0
    for count in counts:
        pieces.append(ls.encode(records.slice(start, count), base_offset=start, batch_bytes=1 << 30))
        start += count
    return b"".join(pieces)


def run_once(contestant, codec, source, counts, repeat):
    """One process; returns what it printed, or {"error"} when it fails or wrote other records."""
    try:
        output, found = call(contestant, codec, source, repeat)
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout).strip().splitlines()
        return {"error": lines[-1][-300:] if lines else f"exit code {error.returncode}"}
    difference = differs(source, output, found, counts)
    return {"error": difference} if difference else found


def call(contestant, codec, source, repeat):
    """Run the command; returns the path of the batches that it wrote, and what it printed."""
    output = source.with_name("output.log")
    output.unlink(missing_ok=True)
    python = os.environ.get("PEERS_PYTHON", sys.executable)
    words = [word.replace("{python}", python) for word in contestant["cmd"]]
    command = [*words, codec.partition("-")[0], contestant["levels"][codec], str(source), str(repeat), str(output)]
    env = dict(os.environ, **contestant.get("env", {}))
    done = subprocess.run(command, cwd=PEERS, env=env, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=True)
    return output, json.loads(done.stdout.strip().splitlines()[-1])


def differs(source, output, found, counts):
    """Say in what `output` differs from the batches it was to be; None when it holds the same records."""
    written = bytearray(output.read_bytes())
    if len(written) != found["bytes"]:
        return f"wrote {len(written)} bytes and counted {found['bytes']}"
    if [count for _, _, count in entries(written)] != counts:
        return "the batches hold other numbers of records"
    # Producers number from 0 in every batch: a broker gives the base offsets, which are outside the checksum.
    base_offset = 0
    for (position, _, _), count in zip(list(entries(written)), counts, strict=True):
        struct.pack_into(">q", written, position, base_offset)
        base_offset += count
    output.write_bytes(written)
    return None if content(output) == content(source) else "the records read back differ"


def content(path):
    """The checksum over offset, timestamp, key, value and headers of every record, by the baseline's own decoder."""
    baseline = PEERS / "rust" / "baseline" / "target" / "release" / "baseline"
    done = subprocess.run([baseline, "reuse", path, "1"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["checksum"]


def pooled(runs):
    errors = [run for run in runs if "error" in run]
    if errors:
        return errors[0]
    seconds = [second for run in runs for second in run["seconds"]]
    return {"min": min(seconds), "median": statistics.median(seconds), "repeats": len(seconds), "bytes": runs[-1]["bytes"]}


def describe(cell, size):
    if "error" in cell:
        return f"ERROR {cell['error']}"
    best, median = (size / cell[key] / 1e6 for key in ("min", "median"))
    return f"{best:8.0f} MB/s  median {median:8.0f} MB/s  {cell['bytes']:10d} bytes"


if __name__ == "__main__":
    main()
