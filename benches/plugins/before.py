"""Decoding without plugins, by a build from before there were any and by this one: the built-in paths are not touched.

    python -m benches.plugins.before OTHER        OTHER is the folder `python` of the other build's tree

Processes of both take turns. Writes what it found into results.json, as the section `plugins_before`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from benches.paths import RESULTS, ROOT, WORK

CODECS = ("none", "lz4")
TURNS = 12
#: Runs in a process of either build, which must not see the other's Python.
CHILD = """
import sys, time
import logsegment as ls
best = float("inf")
data = open(sys.argv[1], "rb").read()
for _ in range(50):
    start = time.perf_counter()
    rows = sum(map(len, ls.decode(data, threads=1)))
    best = min(best, time.perf_counter() - start)
print(rows, best)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--name", required=True, help="what the report calls the other build: its commit")
    arguments = parser.parse_args()
    rows = [compared(arguments.other, codec) for codec in CODECS]
    results = json.loads(RESULTS.read_text())
    results["plugins_before"] = {"name": arguments.name, "rows": rows}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(rows))


def compared(other: Path, codec: str) -> dict[str, object]:
    """The best seconds of both builds over the same bytes, and the median of the turns' ratios."""
    path = made(codec)
    before, now = [], []
    for _ in range(TURNS):
        before.append(seconds(other, path))
        now.append(seconds(ROOT / "python", path))
    ratio = median(one / other for one, other in zip(now, before, strict=True))
    return {"codec": codec, "before": min(before), "now": min(now), "ratio": ratio}


def seconds(python: Path, path: Path) -> float:
    environment = os.environ | {"PYTHONPATH": str(python)}
    command = [sys.executable, "-c", CHILD, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd="/")
    return float(done.stdout.split()[-1])


def made(codec: str) -> Path:
    """A segment of the records that the plugins pack."""
    import logsegment as ls
    from benches.plugins.measure import records

    path = WORK / "plugins" / f"{codec}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ls.encode(records(), compression=codec))
    return path


if __name__ == "__main__":
    main()
