"""Run the coverage-guided targets of fuzz/ for a time, tell what they did, and keep what they found.

    python tools/fuzz.py SECONDS [TARGET...]      search; the seconds are shared by the targets
    python tools/fuzz.py --build                  compile the targets, and no more
    python tools/fuzz.py --minimise [TARGET...]   keep the smallest inputs in fuzz/corpus that go every known way through the code

Needs nightly Rust, which rustup brings; cargo-fuzz is not needed, and works too. Inputs that opened a new way through the code go to
target/fuzz/grown; an input that violates a property goes to fuzz/artifacts and ends this with 1.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FUZZ = ROOT / "fuzz"
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target" / "fuzz"))
GROWN = BUILT / "grown"
HOST = "x86_64-unknown-linux-gnu"
#: What cargo-fuzz gives the compiler: coverage that libFuzzer reads, comparisons that it learns from, AddressSanitizer.
FLAGS = [
    "--cfg=fuzzing",
    "-Zsanitizer=address",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-sanitizer-coverage-stack-depth",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
]
#: C code is watched too. GCC moves constant tables of functions out of the stack and still has them forgotten there: zstd's are no fault.
C_FLAGS = "-fno-sanitize-address-use-after-scope"
#: Longest input in bytes; how long one may take, in seconds; how much memory at once and in all, in MiB: zstd takes windows of 128 MiB.
MOST_BYTES, MOST_SECONDS, MOST_AT_ONCE, MOST_MEMORY = 8192, 10, 192, 1024


def targets() -> list[str]:
    """Name every target."""
    return sorted(path.stem for path in (FUZZ / "targets").glob("*.rs"))


def build() -> None:
    """Compile all targets."""
    found = subprocess.run(["rustup", "toolchain", "list"], capture_output=True, text=True, check=True).stdout
    if "nightly" not in found:
        subprocess.run(["rustup", "toolchain", "install", "nightly", "--profile", "minimal"], check=True)
    environment = os.environ | {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(FLAGS), "CARGO_TARGET_DIR": str(BUILT), "CFLAGS": C_FLAGS}
    words = ["cargo", "+nightly", "build", "--release", "--locked", "--target", HOST, "--manifest-path", str(FUZZ / "Cargo.toml")]
    subprocess.run(words, env=environment, check=True)


def program(target: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program of a target; what it says goes to its `stderr`."""
    artifacts = FUZZ / "artifacts" / target
    artifacts.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_len={MOST_BYTES}", f"-timeout={MOST_SECONDS}", f"-rss_limit_mb={MOST_MEMORY}", f"-malloc_limit_mb={MOST_AT_ONCE}"]
    # The sanitizer would end the process where an allocator must say no.
    environment = os.environ | {"ASAN_OPTIONS": "allocator_may_return_null=1:detect_odr_violation=0"}
    command = [str(BUILT / HOST / "release" / target), *limits, f"-artifact_prefix={artifacts}/", *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace", check=False)


def search(target: str, seconds: int) -> tuple[int, int, bool]:
    """Executions, executions a second, and whether a property was violated."""
    grown, kept = GROWN / target, FUZZ / "corpus" / target
    grown.mkdir(parents=True, exist_ok=True)
    places = [str(path) for path in (grown, kept) if path.exists()]
    done = program(target, f"-max_total_time={seconds}", "-print_final_stats=1", "-verbosity=0", "-use_value_profile=1", *places)
    told = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
    if done.returncode != 0:
        print(done.stderr[-6000:], file=sys.stderr)
    return int(told.get("number_of_executed_units", 0)), int(told.get("average_exec_per_sec", 0)), done.returncode != 0


def minimise(target: str) -> str:
    """Merge what was found and what is kept into fuzz/corpus, the smallest inputs first."""
    kept, merged = FUZZ / "corpus" / target, BUILT / "merged" / target
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    places = [str(path) for path in (merged, kept, GROWN / target) if path.exists()]
    done = program(target, "-merge=1", *places)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-6000:])
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(merged, kept)
    files = list(kept.iterdir())
    return f"{target}: {len(files)} inputs, {sum(path.stat().st_size for path in files):,} bytes"


def main() -> int:
    """Do what the command line says."""
    words = sys.argv[1:]
    wanted = words[1:] or targets()
    unknown = sorted(set(wanted) - set(targets()))
    if not words or unknown or not (words[0] in ("--build", "--minimise") or words[0].isdigit()):
        print(f"{__doc__}\nTargets: {', '.join(targets())}", file=sys.stderr)
        return 2
    build()
    if words[0] == "--build":
        return 0
    if words[0] == "--minimise":
        for target in wanted:
            print(minimise(target), flush=True)
        return 0
    broken = []
    print("| target | executions | a second |\n| --- | ---: | ---: |", flush=True)
    for target in wanted:
        executions, rate, is_broken = search(target, max(int(words[0]) // len(wanted), 1))
        print(f"| {target} | {executions:,} | {rate:,} |", flush=True)
        broken += [target] if is_broken else []
    if broken:
        print(f"fuzz: {', '.join(broken)} violated a property; the inputs are in fuzz/artifacts", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
