"""A length that hides the batches after it, in the last segment: a committed read that begins after it knows the markers there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import logsegment as ls
from building import marker, simple_batch, transactional_batch
from made_logs import index

ABORT, COMMIT = 0, 1


@pytest.fixture
def log(tmp_path: Path) -> ls.Log:
    """Offset 1 claims a MiB more than it has. After it, 2 and 3 are aborted, 5 and 6 committed, and 8 is open."""
    swallowing = bytearray(simple_batch([b"long"], 1))
    swallowing[9] = 0x10
    entries = [
        simple_batch([b"first"], 0),
        bytes(swallowing),
        transactional_batch([b"a", b"b"], 7, 2),
        marker(ABORT, 7, 4),
        transactional_batch([b"c", b"d"], 7, 5, sequence=2),
        marker(COMMIT, 7, 7),
        transactional_batch([b"e"], 7, 8, sequence=4),
    ]
    directory = tmp_path / "orders-0"
    directory.mkdir()
    whole = [*entries[:1], simple_batch([b"long"], 1), *entries[2:]]
    path = directory / f"{0:020}.log"
    path.write_bytes(b"".join(whole))
    index(directory, interval=1)
    path.write_bytes(b"".join(entries))
    return ls.Log(directory)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize(("start", "expected"), [(3, [5, 6]), (5, [5, 6]), (6, [6]), (8, [])])
def test_no_aborted_or_open_record_is_returned(log: ls.Log, start: int, expected: list[int], on_error: Any):
    read = log.records(start_offset=start, isolation="read_committed", on_error=on_error, columns=["offset"])
    assert read.to_pyarrow()["offset"].to_pylist() == expected
