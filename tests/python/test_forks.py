"""Streams of several threads in a forked child, as `multiprocessing` makes one: its parent's threads do not exist there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import building

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")

#: Many small batches of rows, so that the threads are at work whenever the process forks.
COUNT, BATCHES, FORKS = 64, 4000, 20

PROGRAM = """
import os, pathlib, signal, sys, traceback
import logsegment as ls
path = ls.FileSource(sys.argv[1])


def opened():
    return ls.decode(path, columns=["offset", "value"], batch_size=64, threads=4)


def child(stream):
    CHILD


stream, rows = opened(), 0
rows += next(stream).num_rows
for _ in range(FORKS):
    pid = os.fork()
    if pid == 0:
        # What hangs is killed.
        signal.alarm(20)
        try:
            child(stream)
            del stream
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    rows += next(stream).num_rows
    status = os.waitpid(pid, 0)[1]
    assert status == 0, status
rows += sum(batch.num_rows for batch in stream)
print(rows)
"""

CHILDREN = {
    "goes on": """
    try:
        next(stream)
    except ValueError as error:
        assert "fork" in str(error), error
    else:
        raise AssertionError("the stream went on")
    assert next(stream, None) is None
    """,
    "collects": """
    try:
        stream.read_all()
    except ValueError as error:
        assert "fork" in str(error), error
    else:
        raise AssertionError("the stream went on")
    assert "fork" in str(stream.error), stream.error
    """,
    "looks": "stream.findings, stream.io_stats, stream.schema",
    "closes": "stream.close()",
    "drops": "pass",
    "opens its own": "assert sum(batch.num_rows for batch in opened()) == EXPECTED",
}


@pytest.fixture(scope="module")
def segment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forks") / f"{0:020}.log"
    records = b"".join(building.record(value=b"v" * 100, offset_delta=delta) for delta in range(COUNT))
    path.write_bytes(b"".join(building.batch(records, count=COUNT, base_offset=index * COUNT) for index in range(BATCHES)))
    return path


@pytest.mark.parametrize("what", CHILDREN)
def test_a_forked_child_does_not_wait_for_threads_of_its_parent(segment: Path, what: str):
    program = PROGRAM.replace("CHILD", CHILDREN[what].strip()).replace("FORKS", str(FORKS)).replace("EXPECTED", str(COUNT * BATCHES))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program, str(segment)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, f"{COUNT * BATCHES}\n"), done.stderr


def test_a_stream_that_was_not_begun_goes_on_in_a_child(segment: Path):
    program = PROGRAM.replace("rows += next(stream).num_rows\nfor", "for", 1)
    body = "assert sum(batch.num_rows for batch in stream) == EXPECTED"
    program = program.replace("CHILD", body).replace("FORKS", "1").replace("EXPECTED", str(COUNT * BATCHES))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program, str(segment)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, f"{COUNT * BATCHES}\n"), done.stderr
