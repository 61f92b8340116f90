"""Sizes and counts of chunks in a manifest are claims: nothing is allocated or looped on their word."""

from __future__ import annotations

import base64
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
from logsegment.tiered.errors import ManifestError
from logsegment.tiered.manifest import parse_chunk_table, parse_manifest, parse_sizes

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
        found[on_error] = table.to_pyarrow().num_rows, sorted({one.rule for one in table.findings})
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


def variable(chunk: int, size: int, data: bytes) -> dict[str, Any]:
    text = base64.b64encode(frame(data)).decode()
    return {"type": "variable", "originalChunkSize": chunk, "originalFileSize": size, "transformedChunks": text}


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


@pytest.mark.parametrize("stored", [(0, 11_000), (11_000, 0), (0, 0)])
def test_a_chunk_without_a_stored_byte_is_refused(stored: tuple[int, int]) -> None:
    with pytest.raises(ManifestError, match="more than 0 bytes in the object") as raised:
        parse_manifest(json.dumps({"version": "1", "compression": True, "chunkIndex": fixed(1, 2**31 - 1, *stored)}).encode())
    assert raised.value.rule == "TS-16"


def test_a_chunk_of_an_encrypted_segment_is_longer_than_its_seal() -> None:
    manifest = {"version": "1", "compression": False, "chunkIndex": fixed(10, 100, 28, 28)}
    manifest["encryption"] = {"dataKey": f"id:{base64.b64encode(bytes(32)).decode()}", "aad": base64.b64encode(bytes(32)).decode()}
    with pytest.raises(ManifestError, match="more than 28 bytes"):
        parse_manifest(json.dumps(manifest).encode())


def test_a_list_has_as_many_sizes_as_there_are_chunks_before_it_is_read() -> None:
    """Ten million sizes of one byte each fit into a manifest of a few hundred bytes."""
    count = 10 << 20
    data = count.to_bytes(4, "big") + (10).to_bytes(4, "big") + b"\1" + bytes(count - 1) + (10).to_bytes(4, "big")
    assert len(data) > 10 << 20
    with pytest.raises(ManifestError, match="zstd frame"):
        parse_chunk_table(variable(1, count, data))
    small = (5).to_bytes(4, "big") + (10).to_bytes(4, "big") + b"\1" + bytes(4) + (10).to_bytes(4, "big")
    with pytest.raises(ManifestError, match="has 5 sizes, not those of the 2,147,483,647 chunks"):
        parse_chunk_table(variable(1, 2**31 - 1, small))
    with pytest.raises(ManifestError, match="ends early") as raised:
        parse_chunk_table(variable(1, 5, b"\xff\xff\xff\xff"))
    assert raised.value.rule == "TS-19"


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_sizes_of_every_width_are_read(width: int) -> None:
    deltas = [0, 1, 250, 2 ** (8 * width - 1) - 1000 if width == 4 else 2 ** (8 * width) - 1]
    data = (len(deltas) + 1).to_bytes(4, "big") + (7).to_bytes(4, "big") + bytes([width])
    data += b"".join(delta.to_bytes(width, "big") for delta in deltas) + (99).to_bytes(4, "big")
    assert parse_sizes(data) == [*(7 + delta for delta in deltas), 99]


def test_a_size_above_31_bits_is_refused() -> None:
    data = (2).to_bytes(4, "big") + (7).to_bytes(4, "big") + b"\4" + b"\xff\xff\xff\xff" + (9).to_bytes(4, "big")
    with pytest.raises(ManifestError, match="cannot be read"):
        parse_sizes(data)
