"""Reads of a partition in a store with a delay, compared with the same reads of local files, and with another version of the package.

    python -m benches.stores.measure [--mib 4096] [--segments 64] [--delay-ms 50] [--megabytes 90] [--other PYTHON_DIR]

The partition is read as log segments (plain) and as uploads of tiered storage (zstd, encrypted). Prints a table of the best of the rounds,
and then the time of `import logsegment` and the threads. PYTHON_DIR has the package of another version, with its compiled module.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from benches.paths import ROOT, WORK
from benches.processes import run_measured

READS = ("verify", "cat --parquet", "to_polars", "1 % of offsets", "Spark count", "Spark rows")
LAYOUTS = ("plain", "tiered")
BUCKET = WORK / "stores"
#: The goals: how much faster than the other version, how much slower than local files, and bytes of a range over those of its batches.
FASTER, SLOWER, OVER = 5, 1.2, 1.05
#: Most memory of a process that verifies or reads rows, in MiB; one that makes a data frame has that, too.
MOST_MIB = 600
THREADS = """
import os, logsegment as ls
count = lambda: len(os.listdir("/proc/self/task"))
imported = count()
source = ls.FileSource("s3://bucket/orders-0/00000000000000000000.log")
print(imported, count())
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=int, default=4096)
    parser.add_argument("--segments", type=int, default=64)
    parser.add_argument("--delay-ms", type=int, default=50)
    parser.add_argument("--megabytes", type=int, default=90, help="a second, of each connection")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reads", default=",".join(READS))
    parser.add_argument("--layouts", default=",".join(LAYOUTS))
    parser.add_argument("--other", help="the directory of another version of the package")
    parser.add_argument("--keep", action="store_true", help="take the files of the last run")
    args = parser.parse_args()
    facts = made(args)
    sizes = ", ".join(f"{facts[layout] >> 20:,} MiB {layout}" for layout in LAYOUTS)
    print(f"{sizes}, {args.segments} segments; {args.delay_ms} ms a request, {args.megabytes} MB/s a connection\n")
    rows = [row(read, layout, facts, args) for layout in args.layouts.split(",") for read in args.reads.split(",")]
    (WORK / "stores.json").write_text(json.dumps(rows, indent=1))
    show(rows, args)
    started()


def made(args):
    """Return the facts about the files, which another process makes: this one must stay small."""
    kept = WORK / "stores-facts.json"
    if not (args.keep and kept.exists()):
        WORK.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "benches.stores.data", str(BUCKET), str(args.mib << 20), str(args.segments)]
        kept.write_text(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return json.loads(kept.read_text())


def row(read, layout, facts, args):
    """Measure a read of a layout everywhere, in turns; return the best of the rounds by place."""
    places = {"local": None, "lifted": (0, 0), "slow": (args.delay_ms, args.megabytes)}
    best = {}
    for _ in range(args.rounds):
        for place, limits in places.items():
            better(best, place, ran(read, layout, facts, limits, str(ROOT / "python")))
        if args.other:
            better(best, "other", ran(read, layout, facts, places["slow"], args.other))
    print(f"stores: {layout}, {read}: { {place: round(row['seconds'], 2) for place, row in best.items()} }", file=sys.stderr)
    size = facts["batches"] if read.startswith("1 %") else facts["plain"] * best["slow"].get("part", 1)
    return {"read": read, "layout": layout, "bytes": size, "stored": facts[layout], "batches": facts["batches"], **best}


def better(best, place, run):
    """Keep the run with fewer seconds."""
    if place not in best or run["seconds"] < best[place]["seconds"]:
        best[place] = run


def ran(read, layout, facts, limits, package):
    """Run a read in a process of its own; with limits, of a store that has them."""
    command = [sys.executable, "-m", "benches.stores.reads", read]
    environment = {"PYTHONPATH": package, "PATH": f"{sys.prefix}/bin:/usr/bin:/bin", "HOME": "/nonexistent", **inherited()}
    if limits is None:
        return run_once([*command, str(BUCKET), layout, json.dumps(facts)], environment)
    served = [sys.executable, "-m", "benches.stores.server", str(BUCKET), *map(str, limits)]
    server = subprocess.Popen(served, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        environment |= {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{int(server.stdout.readline())}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }
        done = run_once([*command, "s3://bucket", layout, json.dumps(facts)], environment)
    finally:
        server.send_signal(signal.SIGTERM)
        given = int(server.communicate()[0])
    return {**done, "given": given}


def inherited():
    """Return the variables of Java and Spark."""
    return {name: value for name, value in os.environ.items() if name.startswith(("JAVA", "SPARK", "PYSPARK"))}


def run_once(command, environment):
    """Run a read; return what it printed, with the peak memory of its process, or of the largest process of Spark."""
    with tempfile.TemporaryFile("w+") as out:
        run = run_measured(command, stdout=out, cwd=ROOT, env=environment)
        out.seek(0)
        text = out.read()
    if run["exit_code"]:
        raise SystemExit(f"{command} ended with exit code {run['exit_code']}")
    return {"peak_mib": run["peak_rss_mib"], "cpu": run["cpu_seconds"], **json.loads(text.splitlines()[-1])}


def show(rows, args):
    """Print a table with ratios."""
    other = ["other s", f"times faster (goal {FASTER})"] if args.other else []
    heads = ["read", "layout", "local s", "lifted s", f"lifted / local (goal {SLOWER})", "slow s", "slow MB/s", *other, "fetched"]
    heads.append(f"peak MiB (goal {MOST_MIB})")
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for row in rows:
        local, lifted, slow = (row[place]["seconds"] for place in ("local", "lifted", "slow"))
        numbers = local, lifted, lifted / local, slow
        cells = [row["read"], row["layout"], *(f"{number:.2f}" for number in numbers), f"{row['bytes'] / slow / 1e6:.0f}"]
        if args.other:
            cells += [f"{row['other']['seconds']:.2f}", f"{row['other']['seconds'] / slow:.1f}"]
        peak = row["slow"]["peak_mib"]
        print(f"| {' | '.join([*cells, fetched(row), f'{peak:.0f}'])} |")
    print(
        f"\nfetched: bytes of the store over those of the logs. Of the range (goal {OVER}): without the look-up, over those of its batches"
    )


def fetched(figures):
    """Return the bytes that the store gave, as a multiple."""
    slow = figures["slow"]
    if "look_up" not in slow:
        return f"{slow['given'] / figures['stored'] / slow.get('part', 1):.3f}"
    if figures["layout"] == "tiered":
        # Whole chunks are fetched.
        return f"{slow['bytes'] / (1 << 20):.1f} MiB for batches of {figures['batches'] / (1 << 20):.1f} MiB"
    return f"{(slow['bytes'] - slow['look_up']) / figures['batches']:.3f} (look-up {slow['look_up'] >> 10:,} KiB)"


def started():
    """Print the time of the import, and the threads before the first store is opened."""

    def seconds(code):
        best = 1e9
        for _ in range(5):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            best = min(best, time.perf_counter() - begin)
        return best

    threads = subprocess.run([sys.executable, "-c", THREADS], check=True, capture_output=True, text=True).stdout.split()
    took = (seconds("import logsegment") - seconds("pass")) * 1000
    print(f"\nimport logsegment: {took:.0f} ms; threads after the import: {threads[0]}, with a source that is not opened: {threads[1]}")


if __name__ == "__main__":
    main()
