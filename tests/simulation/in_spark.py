"""Histories that Spark reads with both of its readers: `python -m tests.simulation.in_spark --histories 500`.

A session, its Python workers and its executors are those of a user. Each history is checked after its last step, with a filter on offsets
that Spark pushes down, and in a mode that raises or skips damage.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT), *(str(ROOT / "tests" / name) for name in ("support", "interop"))]

from tests.simulation import history  # noqa: E402
from tests.simulation.laws import Law, Scene  # noqa: E402
from tests.simulation.truth import Outcome, Query, Row, drawn, holds, require  # noqa: E402

READERS = ("python", "columnar")
COLUMNS = ("offset", "unix_millis(timestamp)", "timestampType", "key", "value", "headers")


def law_of(session: Any, reader: str) -> Law:
    """Return the law that a query with a reader has the rows of the log, or fails where it is damaged."""

    def spark_session(scene: Scene) -> None:
        query = drawn(scene.partition, scene.chance, has_times=False)
        # The columnar reader does not skip damage, and leaves committed reads to the one in Python.
        how = ("raise", "read_uncommitted") if reader == "columnar" else (query.on_error, query.isolation)
        query = Query(*how, False, query.start, query.end)
        options = {
            "mode": "FAILFAST" if query.on_error == "raise" else "DROPMALFORMED",
            "isolation": query.isolation,
            "includeHeaders": "true",
            "reader": reader,
        }
        frame = session.read.format("logsegment").options(**options).load(str(scene.directory))
        if query.start is not None:
            frame = frame.where(f"offset >= {query.start}")
        if query.end is not None:
            frame = frame.where(f"offset < {query.end}")
        is_broken = any(batch.state != "valid" for batch in scene.batches)
        try:
            rows = sorted((as_row(row) for row in frame.selectExpr(*COLUMNS).collect()), key=lambda row: row[0])
        except Exception as error:
            require(is_broken and query.on_error == "raise", "a query fails", query, str(error)[:900])
            return
        # What was dropped is counted in the log of the executors, which is not read here.
        holds(scene.batches, query, Outcome(rows, None, ["dropped"] if is_broken else []), scene.log_start)

    spark_session.__name__ = f"spark_{reader}"
    return spark_session


def as_row(row: Any) -> Row:
    headers = tuple((header.key, None if header.value is None else bytes(header.value)) for header in row.headers or ())
    key, value = (None if data is None else bytes(data) for data in (row.key, row.value))
    return (row.offset, row[1], row.timestampType, key, value, headers, None)


def steps_for(seed: int, laws: list[Law]) -> list[history.Step]:
    """Return the steps of a history, with these laws after the last one."""
    chance = random.Random(seed)
    *steps, last = [history.Step(step.action, step.seed, ()) for step in history.steps_of(seed)]
    return [*steps, history.Step(last.action, last.seed, tuple((law, chance.getrandbits(32)) for law in laws))]


def main() -> int:
    """Print a line for each history that fails, and the numbers at the end; return 0 or 1."""
    from spark_session import spark_session

    parser = argparse.ArgumentParser(prog="python -m tests.simulation.in_spark", description=__doc__)
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1, help="of the first history; the others follow it")
    options = parser.parse_args()
    laws = [law_of(spark_session(), reader) for reader in READERS]
    begin, passed, failed = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(prefix="simulation-") as place:
        for seed in range(options.seed, options.seed + options.histories):
            failure = history.first_failure(seed, steps_for(seed, laws), Path(place) / str(seed))
            if failure is None:
                passed += 1
            else:
                failed += 1
                print(failure.line, history.described(failure), failure.text, sep="\n", flush=True)
    print(f"{passed} passed, {failed} failed, {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
