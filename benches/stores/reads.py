"""Reads a partition once, as a user does, in a process of its own.

    python -m benches.stores.reads READ ROOT LAYOUT FACTS

ROOT is a directory or the URI of a bucket, LAYOUT `plain` or `tiered`, FACTS what benches.stores.data printed. Prints JSON: the seconds of
the read itself, its rows, what it fetched, and the peak memory of the processes of Spark. It runs with older versions of the package too.
"""

import json
import os
import sys
import time
from pathlib import Path

import logsegment as ls
from benches.paths import WORK

KEY = WORK / "stores" / "key1.der"
PARQUET = WORK / "stores-out.parquet"


def main(read, root, layout, facts):
    """Read, and print what it took."""
    path = f"{root}/orders-0" if layout == "plain" else f"{root}/tiered/prefix"
    keys = {} if layout == "plain" else {"key1": str(KEY)}
    print(json.dumps(READS[read](path, keys, json.loads(facts))))


def program(*words):
    """Return a read by the command line, in this process."""

    def run(path, keys, facts):
        from logsegment.cli import app

        PARQUET.unlink(missing_ok=True)
        flags = [word for name, file in keys.items() for word in ("--key-file", f"{name}={file}")]
        begin = time.perf_counter()
        code = app.run([*words, *flags, path])
        assert code == 0, code
        return {"seconds": time.perf_counter() - begin}

    return run


def opened(path, keys):
    """Return the log."""
    return ls.Log(path, decryption_keys=keys) if keys else ls.Log(path)


def polars(path, keys, facts):
    """Read a part into one data frame."""
    begin = time.perf_counter()
    frame = opened(path, keys).records(columns=["offset", "value"], end_offset=facts["part"]).to_polars()
    return {"seconds": time.perf_counter() - begin, "rows": frame.height, "part": facts["part"] / facts["records"]}


def ranged(path, keys, facts):
    """Read 1 % of the offsets, and before that one record, which is the look-up."""
    start, end = facts["range"]
    log = opened(path, keys)
    fetched = []
    for stop in (start + 1, end):
        # A function of its own in older versions.
        getattr(ls._core, "Place", ls._core).forget_chunks()
        # The look-up is no part of the stream, so that its counters do not have it.
        before, begin = ls.stores.io_stats().bytes_fetched, time.perf_counter()
        table = log.records(columns=["offset", "value"], start_offset=start, end_offset=stop).read_all()
        seconds = time.perf_counter() - begin
        assert table.num_rows == stop - start
        fetched.append(ls.stores.io_stats().bytes_fetched - before)
    return {"seconds": seconds, "rows": end - start, "look_up": fetched[0], "bytes": fetched[1]}


def spark(action):
    """Return a read by Spark; the time without the start of the session."""

    def run(path, keys, facts):
        from benches.spark.measure import session
        from logsegment.spark import jar, register

        try:
            jars = jar()
        except (FileNotFoundError, ValueError):
            jars = None
        spark = session(jars=jars)
        if jars is None:
            register(spark)
        begin = None
        for place in (str(WORK / "stores" / "warm-0"), path):
            frame = spark.read.format("logsegment")
            frame = frame.option("keys", json.dumps(keys)) if keys else frame
            begin = time.perf_counter()
            action(frame.load(place))
        seconds = time.perf_counter() - begin
        peaks = peaks_below(os.getpid())
        spark.stop()
        return {"seconds": seconds, "peak_mib": max(peaks), "jar": jars is not None}

    return run


def peaks_below(parent):
    """Return the peak memory (MiB) of each living process below another one."""
    found, parents = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue  # it ended meanwhile
        parents[int(fields["Pid"])] = int(fields["PPid"])
        found[int(fields["Pid"])] = int(fields.get("VmHWM", "0 kB").split()[0]) / 1024
    chosen = {parent}
    while more := {pid for pid, above in parents.items() if above in chosen} - chosen:
        chosen |= more
    return [found[pid] for pid in chosen - {parent} if pid in found]


def write_nowhere(frame):
    """Read all columns of all rows."""
    frame.write.format("noop").mode("overwrite").save()


READS = {
    "verify": program("verify", "--quiet"),
    "cat --parquet": program("cat", "--parquet", str(PARQUET)),
    "to_polars": polars,
    "1 % of offsets": ranged,
    "Spark count": spark(lambda frame: frame.count()),
    "Spark rows": spark(write_nowhere),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
