"""Damaged batches of the proposed magic 3 with correct checksums have the recorded outcomes: S-V1 to S-V5, S-V10, S-V11, S-H1 to S-H6."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hostile
import logsegment as ls

HERE = hostile.HOSTILE / "v3"
OUTCOMES = json.loads((HERE / "outcomes.json").read_text())
FILES = sorted(HERE.glob("*.log"))
#: Offsets of the sound batches in front of the damaged one and behind it.
BEFORE, BEHIND = {0, 1}, {20, 21}

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def offsets(data: bytes, **options: object) -> list[int]:
    stream = ls.decode(data, columns=["offset"], format="v3", **options)
    return [row["offset"] for batch in stream for row in batch.to_pyarrow().to_pylist()]


def test_every_file_has_an_outcome():
    assert {file.stem for file in FILES} == set(OUTCOMES)
    assert len(FILES) >= 32


@each_file
def test_the_outcome_is_the_one_that_was_written_down(file: Path):
    assert hostile.observe(file.read_bytes(), format="v3") == OUTCOMES[file.stem]


@each_file
def test_reading_goes_on_behind_it_at_every_depth(file: Path):
    data = file.read_bytes()
    kept = set(offsets(data, on_error="skip"))
    assert kept >= BEFORE | BEHIND
    assert kept - BEFORE - BEHIND <= {9, 10, 11, 12}, "records that nobody wrote"
    for depth in ("headers", "metadata", "full"):
        report = ls.validate(data, depth=depth, format="v3")
        assert all(finding.position < len(data) for finding in report.findings)


@each_file
def test_salvage_accounts_for_every_byte(file: Path):
    data = file.read_bytes()
    saved = ls.salvage(data, format="v3")
    assert sum(span.length for span in saved.kept) + sum(span.length for span in saved.lost) == len(data)
    assert saved.data.startswith(data[: saved.kept[0].length])


def test_an_early_stop_unpacks_no_bomb():
    data = (HERE / "gzip-bomb-behind-the-metadata.log").read_bytes()
    report = ls.validate(data, depth="metadata", format="v3")
    assert report.io_stats["bytes_inflated"] < 64 << 10
