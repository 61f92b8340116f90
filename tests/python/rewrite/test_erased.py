"""What was erased is nowhere in the output: neither in its bytes, nor in what they decompress to, nor in files next to it or reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import corpus
import logsegment as ls
from rewritten_logs import make_log

LOGS = 300


def inflated(data: bytes) -> bytes:
    """Return the bytes of all entries, each decompressed."""
    return data + (ls.convert(data, compression="none", to=None, allow_loss=True).data or b"")


@pytest.mark.slow
def test_no_byte_of_300_logs_holds_an_erased_value() -> None:
    searched = 0
    for seed in range(LOGS):
        made = make_log(seed)
        values = [value for value in made.erased if len(value) >= 12]
        assert all(value in inflated(made.data) for value in values), seed
        for how in ("drop", "tombstone", "mask"):
            done = ls.rewrite(made.data, **{how: made.drop}, allow_lower_end=True)
            output = inflated(done.data or b"")
            report = json.dumps(done.to_dict()).encode() + repr(done).encode()
            for value in values:
                assert value not in output, (seed, how)
                assert value.hex().encode() not in report
            searched += len(values)
    assert searched > 3000


@pytest.mark.parametrize("partition", ["codec-zstd-0", "codec-none-0", "transactions-multi-segment-0"])
def test_no_file_of_a_directory_holds_an_erased_value(partition: str, tmp_path: Path) -> None:
    source = corpus.CORPUS / "modern-4.1.0/data" / partition
    rows = ls.Log(source).records(columns=["key", "value"]).to_pylist()
    keys = {row["key"] for row in rows[::3]}
    values = {row["value"] for row in rows if row["key"] in keys and len(row["value"] or b"") > 8}
    values -= {row["value"] for row in rows if row["key"] not in keys}
    assert values
    ls.rewrite(source, tmp_path / "clean", drop=keys)
    files = [path for path in (tmp_path / "clean").rglob("*") if path.is_file()]
    assert len(files) > 3
    for path in files:
        data = path.read_bytes()
        text = inflated(data) if path.suffix == ".log" else data
        assert not any(value in text for value in values), path
