"""Play histories: `python -m tests.simulation --seconds 600 --seed N`. `make simulate` runs it; docs/project/simulation.md."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("support", "interop")]


def main() -> int:
    """Print a line for each history that fails, and the numbers at the end; return 0 or 1."""
    from tests.simulation import history

    options = parsed()
    end = time.monotonic() + options.seconds
    seed = options.seed if options.seed is not None else int(time.time())
    place = Path(tempfile.mkdtemp(prefix="simulation-", dir=options.directory))
    passed = failed = 0
    is_alone = options.seed is not None and options.histories == 1
    while time.monotonic() < end and (options.histories is None or passed + failed < options.histories):
        number = seed + passed + failed
        failure = history.run(number, place / str(number))
        if failure is None:
            passed += 1
            shutil.rmtree(place / str(number), ignore_errors=True)
            continue
        failed += 1
        print(failure.line, flush=True)
        if options.verbose or is_alone:
            print(history.described(failure), failure.text, sep="\n", flush=True)
        if failed >= options.failures:
            break
    if not failed:
        place.rmdir()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, help="of the first history; the others follow it. By default the time")
    parser.add_argument("--histories", type=int, help="end after this many histories")
    parser.add_argument("--failures", type=int, default=20, help="end after this many failures (default: 20)")
    parser.add_argument("--directory", help="where directories of histories are made (default: that of the system)")
    parser.add_argument("--verbose", action="store_true", help="print the steps and the error of each failure")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
