#!/usr/bin/env python3
"""Runs the contestants over the corpora, prints tables, writes results.json and table.md. See README.md.

A contestant is a command: `<cmd> <file> <repeat>` prints one JSON line
{"records":N,"checksum":"S","light":"L","seconds":[...]} after an unmeasured warm-up.
"""
import argparse
import fcntl
import fnmatch
import glob
import json
import os
import tempfile
import time
from contextlib import contextmanager, nullcontext

from cells import measure
from tables import show

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ORDER = [f"{kind}-{codec}" for kind in ("small", "headers", "smallbig", "large") for codec in CODECS]
LOCK = os.path.join(tempfile.gettempdir(), "bench.lock")


def main():
    args = parse_arguments()
    contestants = load_contestants(args.add)
    corpora = load_corpora()
    results = {} if args.fresh else load_results()
    if not args.table_only:
        for name in corpora:
            run_corpus(args, contestants, corpora[name], results)
    print(show(contestants, corpora, results))


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="*", help="contestant id glob(s), comma separated; none: build only")
    parser.add_argument("--corpus", default="*", help="corpus glob(s), comma separated")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=1, help="times round the contestants of a corpus; seconds are pooled")
    parser.add_argument("--quiet-threshold", type=float, default=0.35,
                        help="other cores busy above this: run the cell again (up to --retries)")
    parser.add_argument("--retries", type=int, default=2)
    parser.add_argument("--add", action="append", default=[], metavar="ID=CMD", help="one more contestant")
    parser.add_argument("--nolock", action="store_true", help="the caller holds the bench lock")
    parser.add_argument("--keep-best", action="store_true", help="keep an earlier cell whose median is lower")
    parser.add_argument("--table-only", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    return parser.parse_args()


def load_contestants(added):
    """The contestants of contestants.json and of --add, with commands that run in this directory."""
    with open("contestants.json") as file:
        contestants = json.load(file)
    called_from = os.environ.get("PEERS_CALLED_FROM", ".")
    for item in added:
        identity, _, command = item.partition("=")
        words = [absolute(word, called_from) for word in command.split()]
        contestants.append({"id": identity, "name": identity, "cmd": words})
    return contestants


def absolute(word, directory):
    """`word` with its file part made absolute, if it names a file of `directory`; `module.py:function` included."""
    path, colon, function = word.partition(":")
    found = os.path.join(directory, path)
    return os.path.abspath(found) + colon + function if os.path.isfile(found) else word


def load_corpora():
    manifests = []
    for path in glob.glob("corpus/*/manifest.json"):
        with open(path) as file:
            manifests.append(json.load(file))
    rank = {name: index for index, name in enumerate(ORDER)}
    manifests.sort(key=lambda m: (rank.get(m["name"], len(rank)), m["name"]))
    return {m["name"]: m for m in manifests}


def load_results():
    if not os.path.exists("results.json"):
        return {}
    with open("results.json") as file:
        return json.load(file)


def matches(name, globs):
    return any(fnmatch.fnmatch(name, pattern) for pattern in globs.split(","))


def run_corpus(args, contestants, corpus, results):
    """Every chosen contestant over one corpus, each run under the machine-wide bench lock."""
    name = corpus["name"]
    chosen = [c for c in contestants if matches(c["id"], args.only) and fits(c, corpus)]
    if not chosen or not matches(name, args.corpus):
        return
    cells = measure(args, chosen, corpus, nullcontext if args.nolock else bench_lock)
    kept = results.setdefault(name, {})
    for identity, cell in cells.items():
        old = kept.get(identity, {})
        if not (args.keep_best and old.get("median", 9e9) < cell.get("median", 9e9)):
            kept[identity] = cell
    with open("results.json", "w") as file:
        json.dump(results, file, indent=1)


@contextmanager
def bench_lock():
    with open(LOCK, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    time.sleep(0.1)  # lets another holder of the lock in


def fits(contestant, corpus):
    if corpus["magic"] not in contestant.get("magic", [0, 1, 2]):
        return False
    return corpus["kind"] != "headers" or contestant.get("cmd_headers") != []


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    main()
