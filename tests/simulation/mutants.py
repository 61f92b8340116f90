"""Put deliberate faults into a copy of the package, one at a time, and print which of them the laws find.

Run it with `python -m tests.simulation.mutants [--seconds 120] [NAME ...]`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "python/logsegment"


@dataclass(frozen=True)
class Mutant:
    """A fault: a text of a module, and what it becomes."""

    name: str
    module: str
    before: str
    after: str


MUTANTS = (
    Mutant(
        "skip a segment that ends at the first offset of a range",
        "log/reader.py",
        "ends = (wanted[0], held[0]), (held[1], wanted[1])",
        "ends = (wanted[0], held[0]), (held[1] and held[1] - 1, wanted[1])",
    ),
    Mutant(
        "skip a segment that begins at the last offset of a range",
        "log/reader.py",
        "ends = (wanted[0], held[0]), (held[1], wanted[1])",
        "ends = (wanted[0], held[0]), (held[1], wanted[1] and wanted[1] - 1)",
    ),
    Mutant("ignore transaction markers", "log/reader.py", 'if self.options.isolation != "read_committed" or', "if True or"),
    Mutant("ignore log start offsets", "log/time_lookup.py", "    is_needed = start is not None and", "    is_needed = False and"),
    Mutant(
        "lose the first offset of a log",
        "log/time_lookup.py",
        "replace(options, start_offset=start) if",
        "replace(options, start_offset=start + 1) if",
    ),
    Mutant(
        "include a record at the end of a range of times",
        "log/time_lookup.py",
        "max(since, _LEAST), until)",
        "max(since, _LEAST), until + 1)",
    ),
    Mutant(
        "begin after the first record of a time",
        "log/time_lookup.py",
        "return None if found is None else found[1]",
        "return None if found is None else found[1] + 1",
    ),
    Mutant("begin a range of times after its first batch", "log/time_lookup.py", "return min(offset, base)", "return base + 1"),
    Mutant("be off by one in a filter", "polars/predicates.py", 'offsets(value + (name == "Gt"), None)', "offsets(value + 1, None)"),
    Mutant(
        "take `or` of filters for `and`",
        "polars/predicates.py",
        "is None else min(one.start, other.start)",
        "is None else max(one.start, other.start)",
    ),
    Mutant(
        "find no record of the last offset",
        "analysis/find.py",
        "end_offset=self.wanted.end_offset,\n",
        "end_offset=self.wanted.end_offset and self.wanted.end_offset - 1,\n",
    ),
    Mutant("trust a log that hides batches", "cli/verify.py", 'seen["error"] or seen["lost"] or', 'seen["error"] or'),
    Mutant("end salvage with exit code 0", "cli/salvage.py", "return LOST if job.has_lost", "return CLEAN if job.has_lost"),
    Mutant(
        "forget the damage of earlier segments",
        "cli/cat.py",
        "code = worst(code, self._read_one(segment, target))",
        "code = self._read_one(segment, target)",
    ),
    Mutant(
        "keep records below the log start offset",
        "_rewrite/compact.py",
        "PartitionOptions(log_start_offset=log_start_offset, replica=replica))\n    deletion",
        'PartitionOptions(log_start_offset="ignore", replica=replica))\n    deletion',
    ),
    Mutant("keep tombstones for ever", "_rewrite/compact.py", "deletion = Deletion(memory, clock,", "deletion = Deletion(memory, 0,"),
    Mutant("double a replica", "segment_files/discovery.py", "failed=failed, options=options)", "failed=failed, options=None)"),
    Mutant(
        "restore one file less",
        "_restore/restore.py",
        "and name not in names:",
        "and name not in names and not (name[-4:] == '.log' and names):",
    ),
)


def main() -> int:
    """Print a line for each fault; return 1 if more than two are not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="the most for each fault")
    parser.add_argument("names", nargs="*", help="parts of names; all faults by default")
    options = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if not options.names or any(name in mutant.name for name in options.names)]
    found = sum(is_found(mutant, options.seconds) for mutant in mutants)
    print(f"{found} of {len(mutants)} found")
    return int(found < len(mutants) - 2)


def is_found(mutant: Mutant, seconds: float) -> bool:
    with tempfile.TemporaryDirectory() as root:
        copy = Path(root) / "logsegment"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("*.so", "*.jar", "__pycache__"))
        for library in PACKAGE.glob("_core*.so"):
            (copy / library.name).symlink_to(library)
        module = copy / mutant.module
        text = module.read_text()
        assert text.count(mutant.before) == 1, f"{mutant.module}: the text is there {text.count(mutant.before)} times: {mutant.before}"
        module.write_text(text.replace(mutant.before, mutant.after))
        command = [
            sys.executable,
            "-m",
            "tests.simulation",
            "--seconds",
            str(seconds),
            "--seed",
            "1",
            "--failures",
            "1",
            "--directory",
            root,
        ]
        started = time.monotonic()
        environment = {**os.environ, "PYTHONPATH": root}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        first = done.stdout.splitlines()[0] if done.stdout else done.stderr[-200:]
        has_found = done.returncode == 1 and " law=" in first
        words = f"found by {first.partition(' path=')[0]}" if has_found else f"NOT FOUND: {first}"
        print(f"{mutant.name}: {words}, {time.monotonic() - started:.0f} s", flush=True)
        return has_found


if __name__ == "__main__":
    sys.exit(main())
