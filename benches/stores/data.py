"""Makes a partition, and its uploads as Aiven's plug-in writes them (zstd, encrypted), below one directory that stands for a bucket.

    python -m benches.stores.data DIR BYTES SEGMENTS

DIR gets `orders-0`, `tiered` with the uploads, `key1.der` with their key, and `warm-0` with few records. Prints facts about them as JSON.
"""

import json
import random
import shutil
import sys
from pathlib import Path

import pyarrow as pa

import logsegment as ls
from benches.paths import ROOT
from logsegment import _core

sys.path.insert(0, str(ROOT / "tests" / "support"))

import tiered_corpus

#: Bytes of a record after compression: half of its bytes are random.
RECORD = 560
CHUNK = 4 << 20
#: Bytes of segments that are read into one data frame.
FITS = 512 << 20
#: The part of the offsets that a look-up reads.
SHARE = 0.01


def main(directory, size, segments):
    """Make everything, and print the facts."""
    directory, size, segments = Path(directory), int(size), int(segments)
    shutil.rmtree(directory, ignore_errors=True)
    log = directory / "orders-0"
    rows = max(1, size // segments // RECORD)
    write(log, rows, segments)
    write(directory / "warm-0", 1000, 1)
    uploader = tiered_corpus.Uploader(directory / "tiered", chunk_size=CHUNK, compresses=True, key_id="key1")
    uploads = uploader.partition(log)
    (directory / "key1.der").write_bytes(tiered_corpus.KEYS["key1"])
    records = rows * segments
    start = records // 3
    end = start + max(1, round(records * SHARE))
    plain = sum(path.stat().st_size for path in log.glob("*.log"))
    facts = {
        "plain": plain,
        "tiered": sum(path.stat().st_size for path in uploads),
        "records": records,
        "part": records if plain <= FITS else records * FITS // plain,
        "range": [start, end],
        "batches": held(log, start, end),
    }
    print(json.dumps(facts))


def write(directory, rows, segments):
    """Write lz4 segments of records of 1 KiB, half of them random bytes, with their indexes."""
    directory.mkdir(parents=True)
    chance = random.Random(38)
    for number in range(segments):
        values = pa.array([chance.randbytes(512) + bytes(512) for _ in range(rows)], pa.binary())
        path = directory / f"{number * rows:020d}.log"
        ls.encode(pa.table({"value": values}), base_offset=number * rows, compression="lz4", batch_bytes=16 << 10, out=path)
    _core.rebuild_indexes([(path, int(path.stem)) for path in sorted(directory.glob("*.log"))], directory)


def held(directory, start, end):
    """Return the bytes of the batches that hold offsets of a range."""
    table = ls.Log(directory).batches(start_offset=start, end_offset=end).to_pyarrow()
    return sum(table["size"].to_pylist())


if __name__ == "__main__":
    main(*sys.argv[1:])
