"""Peak memory of streaming a 1 GiB segment through the command line and through `FileSource`.

Prints a list of {"corpus", "way", "seconds", "peak_rss_mib", ...} as one JSON line. This process stays small on
purpose: see `run_measured`.
"""

import json
import subprocess
import sys

from benches.paths import ROOT, WORK
from benches.processes import run_measured

SIZE = 1 << 30
CORPORA = ["small-none", "small-lz4", "large-zstd"]
STREAM = """
import sys
import logsegment as ls

rows = sum(batch.num_rows for batch in ls.decode(ls.FileSource(sys.argv[1])))
if rows != int(sys.argv[2]):
    sys.exit(f"{rows} rows instead of {sys.argv[2]}")
"""


def ways(path, records):
    """{name: command} for one segment."""
    return {
        "logsegment cat": [sys.executable, "-m", "logsegment", "cat", path],
        "logsegment verify": [sys.executable, "-m", "logsegment", "verify", path],
        "logsegment batches": [sys.executable, "-m", "logsegment", "batches", "--json", path],
        "logsegment convert": [sys.executable, "-m", "logsegment", "convert", path, "--compression", "snappy", "-o", f"{path}.converted"],
        "decode(FileSource)": [sys.executable, "-c", STREAM, path, str(records)],
    }


def main():
    print(json.dumps([row for name in CORPORA for row in measure(name)]))


def measure(name):
    path = WORK / "memory" / f"{name}.log"
    records = generate(name, path)
    size = path.stat().st_size
    for way, command in ways(str(path), records).items():
        print(f"memory: {name}, {way}", file=sys.stderr)
        run = run_measured(command, cwd=ROOT)
        if run["exit_code"]:
            raise SystemExit(f"{way} of {path} ended with exit code {run['exit_code']}")
        path.with_name(f"{path.name}.converted").unlink(missing_ok=True)
        yield {"corpus": name, "way": way, "bytes": size, "records": records, **run}


def generate(name, path):
    """Make the segment, in another process; returns its number of records."""
    command = [sys.executable, "-m", "benches.memory.generate", name, str(path), str(SIZE)]
    return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main()
