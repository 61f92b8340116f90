"""The experiment of KIP-984 at its own speed: records of 1 KiB at 10,000 a second, by snappy built in and by the same snappy as a plugin.

A record is due at its time. A batch takes all records that are due and in it, as a producer does with `linger.ms` 0, and at most 16 KiB of
them; it is encoded and decoded. The latency of a record is the time from when it was due until its batch is decoded. There is no broker and
no network. The codecs take turns, run after run. Prints one JSON list of rows, a row for each run.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import logsegment as ls
from benches.plugins import measure
from logsegment.plugins import MemoryRegistry

CODECS = ("snappy", "native", "python")
RECORDS_A_SECOND = 10_000
VALUE_BYTES = 1024
RECORDS_IN_BATCH = 16
RUNS = 3
#: Of the latencies of a run, in thousandths.
QUANTILES = (500, 950, 990, 999)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000, help="of each run")
    parser.add_argument("--module", type=Path, help="the crate's module, built before")
    arguments = parser.parse_args()
    codecs = measure.registry(arguments.module)
    turns = [(codec, run) for run in range(1, RUNS + 1) for codec in CODECS]
    print(json.dumps([{"codec": codec, "run": run, **paced(codec, codecs, arguments.records)} for codec, run in turns]))


def paced(codec: str, codecs: MemoryRegistry, records: int) -> dict[str, Any]:
    """Run at the pace of the experiment; latencies in milliseconds."""
    values = records_of_words()
    latencies: list[float] = []
    start = time.perf_counter()
    while len(latencies) < records:
        done = len(latencies)
        due = min(int((time.perf_counter() - start) * RECORDS_A_SECOND), records) - done
        if due <= 0:
            time.sleep(max(start + (done + 1) / RECORDS_A_SECOND - time.perf_counter(), 0))
            continue
        batch = values.slice(done % (len(values) - RECORDS_IN_BATCH), min(due, RECORDS_IN_BATCH))
        data = ls.encode(batch, compression=codec, codecs=codecs)
        given = measure.decoded(data, codecs)
        now = time.perf_counter() - start
        latencies += ((now - (done + index) / RECORDS_A_SECOND) * 1e3 for index in range(given))
    seconds = time.perf_counter() - start
    ordered = sorted(latencies)
    shares = {f"p{quantile}": ordered[(len(ordered) - 1) * quantile // 1000] for quantile in QUANTILES}
    return {"records": records, "records_s": records / seconds, "mean": sum(ordered) / records, **shares, "max": ordered[-1]}


def records_of_words() -> pa.Table:
    chance = random.Random(1)
    words = [b"%x" % chance.getrandbits(40) for _ in range(500)]
    values = [b" ".join(chance.choices(words, k=100))[:VALUE_BYTES] for _ in range(10_000)]
    return pa.table({"value": pa.array(values, pa.binary())})


if __name__ == "__main__":
    sys.exit(main())
