"""Verbs that write directories, killed at any moment: the output is whole or absent, and the source is as it was."""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import time
from pathlib import Path

import pyarrow as pa
import pytest

import cli_process
import logsegment as ls
from made_logs import index

KILLS = 20
VERBS = {
    "rewrite": ["--drop", "offsets=0..3000"],
    "compact": ["--now", "2026-01-01T00:00:00Z"],
    "split": ["--bytes", "300000"],
    "join": [],
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six partitions of three segments, 22 MB in all, with 2000 keys."""
    chance, root = random.Random(24), tmp_path_factory.mktemp("killed") / "in"
    for number in range(6):
        directory = root / f"orders-{number}"
        directory.mkdir(parents=True)
        for base in (0, 4000, 8000):
            offsets = range(base, base + 4000)
            keys = [b"key-%d" % chance.randrange(2000) for _ in offsets]
            columns = {"key": pa.array(keys, pa.binary()), "value": pa.array([chance.randbytes(300) for _ in offsets], pa.binary())}
            table = pa.table(columns | {"timestampMs": pa.array(offsets, pa.int64())})
            ls.encode(table, base_offset=base, batch_bytes=4000, out=directory / f"{base:020}.log")
        index(directory)
    return root


def state(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in root.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("verb", VERBS)
def test_the_output_is_whole_or_absent(verb: str, source: Path, tmp_path: Path) -> None:
    before = state(source)
    arguments = [verb, str(source), *VERBS[verb], "--quiet", "--output"]
    begun = time.monotonic()
    done = cli_process.run(*arguments, tmp_path / "whole")
    assert done.code == 0, done.err
    duration = time.monotonic() - begun
    whole = state(tmp_path / "whole")
    assert sum(name.endswith(".log") for name in whole) >= 6
    chance = random.Random(24)
    absent = 0
    for number in range(KILLS):
        out = tmp_path / f"out-{number}"
        process = cli_process.start(*arguments, out, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.2, 1.0) * duration)
        process.send_signal(signal.SIGKILL)
        process.wait()
        absent += not out.exists()
        if out.exists():
            assert state(out) == whole
    assert absent
    assert state(source) == before
