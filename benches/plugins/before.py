"""Decoding and encoding without plugins, by a build from before there were any and by this one: the built-in paths are not touched.

    python -m benches.plugins.before                 builds both alike (minutes, the first time), then measures
    python -m benches.plugins.before --build-only    before a machine is made quiet

The other build is of the commit before the one that brought the room for plugins, `src/codec/plugin*`; `--commit` names another. It is
checked out below target/. Processes of both take turns: a row has the best seconds of all turns, and the median of the turns' ratios, which
a machine that is slow for a while does not change. Prints one JSON object, the commit and its rows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benches.paths import ROOT, WORK

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
VERBS = ("decode", "encode")
TURNS = 16
#: What no commit before plugins has: a file, later a folder.
ROOM = "src/codec/plugin*"
PLACE = WORK / "plugins" / "before"
#: Runs in a process of either build, which must not see the other's Python. Each verb for a while, and some times at least.
CHILD = """
import sys, time
import pyarrow as pa
import logsegment as ls
codec, segment, table = sys.argv[1:]
data, table = open(segment, "rb").read(), pa.ipc.open_file(table).read_all()
verbs = {
    "decode": lambda: sum(map(len, ls.decode(data, threads=1))) == table.num_rows,
    "encode": lambda: len(ls.encode(table, compression=codec)) > 0,
}
for name, work in verbs.items():
    best, rounds, end = float("inf"), 0, time.perf_counter() + 0.5
    while rounds < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        done = work()
        best, rounds = min(best, time.perf_counter() - start), rounds + 1
        assert done
    print(name, best)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", help="the other build (default: the last one without plugins)")
    parser.add_argument("--codecs", default=",".join(CODECS), help="some of them, by commas")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--build-only", action="store_true")
    arguments = parser.parse_args()
    commit = git("rev-parse", "--verify", f"{arguments.commit or last_without_plugins()}^{{commit}}")
    before, now = built(checked_out(commit), "other"), built(ROOT, "now")
    if not arguments.build_only:
        rows = [row for codec in arguments.codecs.split(",") for row in compared(before, now, codec, arguments.turns)]
        print(json.dumps({"name": commit[:7], "rows": rows}))


def last_without_plugins() -> str:
    """The commit before the first that has the room for plugins."""
    added = git("log", "--diff-filter=A", "--reverse", "--format=%H", "--", ROOM).split()
    if not added:
        raise SystemExit(f"no commit here adds {ROOM}: fetch the whole history, or name a build with --commit")
    return f"{added[0]}^"


def checked_out(commit: str) -> Path:
    """A tree of the commit; one that is there already stays, with what was built in it."""
    tree = PLACE / "tree"
    if not tree.exists() or git("rev-parse", "HEAD", at=tree) != commit:
        if tree.exists():
            git("worktree", "remove", "--force", str(tree))
        git("worktree", "prune")
        git("worktree", "add", "--quiet", "--detach", str(tree), commit)
    return tree


def built(tree: Path, name: str) -> Path:
    """The folder from which Python imports the package of a tree, with the extension built as a release is."""
    target, python = PLACE / f"{name}-target", PLACE / f"{name}-python"
    command = ["cargo", "build", "-q", "--locked", "--release", "--lib", "--features", "python", "--target-dir", str(target)]
    subprocess.run(command, check=True, cwd=tree, env=os.environ | {"PYO3_PYTHON": sys.executable})
    shutil.rmtree(python, ignore_errors=True)
    shutil.copytree(tree / "python", python, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(target / "release" / "liblogsegment.so", python / "logsegment" / "_core.abi3.so")
    return python


def compared(before: Path, now: Path, codec: str, turns: int) -> list[dict[str, Any]]:
    """For each verb the best seconds of both builds over the same records, and the median of the turns' ratios."""
    files = made(now, codec)
    took = [(seconds(before, codec, files), seconds(now, codec, files)) for _ in range(turns)]
    return [
        {
            "codec": codec,
            "verb": verb,
            "before": min(old[verb] for old, _ in took),
            "now": min(new[verb] for _, new in took),
            "ratio": median(new[verb] / old[verb] for old, new in took),
        }
        for verb in VERBS
    ]


def seconds(python: Path, codec: str, files: tuple[Path, Path]) -> dict[str, float]:
    """The best seconds of each verb in a process of one build."""
    told = run(python, CHILD, codec, *map(str, files))
    return {verb: float(best) for verb, best in map(str.split, told.splitlines())}


#: The segment is packed by the build of now, so that both unpack the same.
MAKE = """
import sys
import pyarrow as pa
import logsegment as ls
codec, segment, table = sys.argv[1:]
open(segment, "wb").write(ls.encode(pa.ipc.open_file(table).read_all(), compression=codec))
"""


def made(python: Path, codec: str) -> tuple[Path, Path]:
    """A segment of the records that the plugins pack, and the records themselves."""
    import pyarrow as pa

    from benches.plugins.measure import records

    segment, table = PLACE / f"{codec}.log", PLACE / "records.arrow"
    rows = records()
    with pa.ipc.new_file(table, rows.schema) as file:
        file.write_table(rows)
    run(python, MAKE, codec, str(segment), str(table))
    return segment, table


def run(python: Path, code: str, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(python)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd="/").stdout


def git(*arguments: str, at: Path = ROOT) -> str:
    return subprocess.run(["git", *arguments], check=True, stdout=subprocess.PIPE, text=True, cwd=at).stdout.strip()


if __name__ == "__main__":
    main()
