"""Sizes and counts of chunks in a manifest are claims: nothing is allocated or looped on their word."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered

SOURCE = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
#: Reads an upload in bounded memory and time; prints its records, its errors and the largest memory in KiB.
READ = """
import resource, sys, json
import logsegment as ls
ls.decode(b"")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
soft = 3 << 30
resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
found = {}
for on_error in ("raise", "skip"):
    try:
        table = ls.Log(sys.argv[1]).records(columns=["offset"], on_error=on_error)
        found[on_error] = table.to_pyarrow().num_rows, sorted({finding.rule for finding in table.findings})
    except (ls.RecordBatchError, OSError) as error:
        found[on_error] = type(error).__name__, getattr(error, "rule", None)
found["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps(found))
"""


@pytest.fixture
def upload(tmp_path: Path) -> Callable[[dict[str, Any], bytes | None, bool], Path]:
    """Make an upload of one segment whose manifest has another chunk index; return its folder."""

    def make(chunk_index: dict[str, Any], stored: bytes | None = None, compresses: bool = True) -> Path:
        uploader = tiered.Uploader(tmp_path, compresses=compresses)
        log = min(SOURCE.glob("*.log"))
        path = uploader.segment(log, ls.Segment(log).next_offset() - 1)
        if stored is not None:
            path.write_bytes(stored)
        manifest = path.with_suffix(".rsm-manifest")
        members = json.loads(manifest.read_text())
        members["chunkIndex"] = chunk_index
        manifest.write_text(json.dumps(members))
        return path.parent

    return make


def fixed(chunk: int, size: int, stored: int, last: int) -> dict[str, Any]:
    sizes = {"originalChunkSize": chunk, "originalFileSize": size, "transformedChunkSize": stored, "finalTransformedChunkSize": last}
    return {"type": "fixed", **sizes}


def frame(data: bytes) -> bytes:
    """Return a zstd frame with its content size."""
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def read(folder: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", READ, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_chunk_that_claims_2_gigabytes_costs_nothing(upload: Callable[..., Path]) -> None:
    size = 2_000 << 20
    zeros = frame(bytes(1 << 20))
    bomb = b"".join(zeros for _ in range(2_000))
    found = read(upload(fixed(size, size, len(bomb), len(bomb)), bomb))
    assert found["raise"] == ["ChunkError", "TS-45"]
    assert found["rss"] < 100 << 10


@pytest.mark.slow
@pytest.mark.parametrize("compresses", [True, False])
def test_chunks_after_the_end_of_the_object_are_not_looped_over(upload: Callable[..., Path], compresses: bool) -> None:
    """An object of 11 KiB, and 2^31 - 1 chunks."""
    most = 2**31 - 1
    chunk = fixed(1, most, 40 if compresses else 1, 40 if compresses else 1)
    log = min(SOURCE.glob("*.log")).read_bytes()
    found = read(upload(chunk, None if compresses else log[:11_000], compresses))
    assert found["raise"][0] in ("ChunkError", "TruncatedError")
    assert "TS-45" in found["skip"][1]
    assert found["rss"] < 100 << 10
