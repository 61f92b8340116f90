"""Tables of Iceberg and Delta against their logs: which rows are missing, doubled or different."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import lake
import logsegment as ls
from cli_process import Done
from logsegment.analysis import table_rows

DATA = corpus.CORPUS / "modern-4.1.0/data"
SOURCE = DATA / "codec-zstd-0"
FIRST = "00000000000000000000.log"


def changed_table(kind: str, place: Path) -> Any:
    """A table of `codec-zstd-0` without offsets 10 to 12 and 200, twice with 50 and three times with 60, with another value of 70, another
    time and no headers of 71, and with offset 300, which no log has. Returns its target."""
    rows = lake.decoded_rows(SOURCE)
    kept = [row for row in rows if row["offset"] not in (10, 11, 12, 200)]
    kept += [rows[50], rows[60], rows[60], rows[0] | {"offset": 300}]
    for row in kept:
        if row["offset"] == 70:
            row["value"] = b"another"
        if row["offset"] == 71:
            row["timestamp"], row["headers"] = rows[0]["timestamp"], [{"key": "x", "value": None}]
    schema = lake.arrow_schema()
    if kind == "delta":
        from deltalake import write_deltalake

        write_deltalake(place / "delta", pa.Table.from_pylist(kept, schema))
        return f"delta:{place}/delta"
    ls.export(SOURCE, f"iceberg:{place}/kafka.records", end_offset=0)
    table = lake.iceberg(place, "kafka.records")
    table.append(pa.Table.from_pylist(kept, schema))
    return f"iceberg:{place}/kafka.records"


EXPECTED = [
    ("missing", "b", 10, 12, 3, ()),
    ("doubled", "b", 50, 50, 1, ()),
    ("doubled", "b", 60, 60, 2, ()),
    ("changed", None, 70, 70, 1, ("value",)),
    ("changed", None, 71, 71, 1, ("headers", "timestamp")),
    ("missing", "b", 200, 200, 1, ()),
    ("missing", "a", 300, 300, 1, ()),
]


@pytest.mark.parametrize("window", [1, 5000, 32 << 20])
@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_differences(kind: str, window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "WINDOW_BYTES", window)
    (comparison,) = ls.diff(SOURCE, changed_table(kind, tmp_path))
    found = [(each.kind, each.side, each.first_offset, each.last_offset, each.records, each.fields) for each in comparison]
    assert found == EXPECTED
    assert comparison.state == "different"
    totals = comparison.totals
    assert (totals.missing_b, totals.missing_a, totals.doubled, totals.changed) == (4, 1, 3, 2)
    assert totals.same_records == 240 - 4 - 2


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_exports_are_the_same(kind: str, tmp_path: Path) -> None:
    """All partitions of a broker, with the isolation of the export; empty headers are null in tables of Spark."""
    to = f"iceberg:{tmp_path}/kafka.records" if kind == "iceberg" else f"delta:{tmp_path}/delta"
    for isolation in ("read_committed", "read_uncommitted"):
        target = f"{to}_{isolation}"
        ls.export(DATA, target, isolation=isolation)
        compared = ls.diff(DATA, target)
        assert compared.state == "same"
        assert len([*compared]) == 32
        rows = sum(comparison.totals.same_records for comparison in compared)
        assert rows == len(lake.decoded_rows(DATA, isolation))


def test_null_headers_are_empty_ones(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    rows = [row | {"headers": row["headers"] or None} for row in lake.decoded_rows(SOURCE)]
    write_deltalake(tmp_path / "delta", pa.Table.from_pylist(rows, lake.arrow_schema()))
    assert ls.diff(SOURCE, f"delta:{tmp_path}/delta").state == "same"


def test_damage_of_the_log(tmp_path: Path) -> None:
    directory = tmp_path / "codec-zstd-0"
    shutil.copytree(SOURCE, directory)
    ls.export(directory, f"delta:{tmp_path}/delta")
    batch = ls.batches(directory / FIRST).to_pylist()[4]
    with (directory / FIRST).open("r+b") as file:
        file.seek(batch["position"] + batch["size"] - 1)
        file.write(b"\xff")
    (comparison,) = ls.diff(directory, f"delta:{tmp_path}/delta")
    found = [(each.kind, each.side, each.first_offset, each.last_offset) for each in comparison if each.kind != "damage"]
    assert found == [("unreadable", "a", batch["baseOffset"], batch["lastOffset"])]
    assert comparison.state == "damaged"
    assert comparison.totals.damage == 1


def test_tables_that_cannot_be_compared(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    write_deltalake(tmp_path / "delta", pa.table({"value": pa.array([b"v"])}))
    with pytest.raises(ValueError, match="lacks the columns topic, partition, offset"):
        [*ls.diff(SOURCE, f"delta:{tmp_path}/delta")]
    with pytest.raises(ValueError, match="as b"):
        ls.diff(f"delta:{tmp_path}/delta", SOURCE)
    with pytest.raises(ValueError, match="as b"):
        ls.diff(SOURCE, "parquet:x")
    with pytest.raises(OSError, match=r"kafka\.none"):
        [*ls.diff(SOURCE, f"iceberg:{tmp_path}/kafka.none")]
    with pytest.raises(ValueError, match="not unique"):
        [*ls.diff(corpus.CORPUS / "legacy-0.7.2/data", f"delta:{tmp_path}/delta")]


def test_the_command_line(tmp_path: Path, here: Any) -> None:
    to = changed_table("iceberg", tmp_path)
    done: Done = here("diff", SOURCE, to)
    assert done.code == 1
    lines = [line.removeprefix(f"{SOURCE.name}: ") for line in done.text.splitlines()]
    assert lines == [
        "missing in B: offsets 10 to 12, 3 records",
        "doubled in B: offset 50, 1 record too many",
        "doubled in B: offset 60, 2 records too many",
        "changed: offset 70, 1 record (value)",
        "changed: offset 71, 1 record (headers, timestamp)",
        "missing in B: offset 200, 1 record",
        "missing in A: offset 300, 1 record",
        "DIFFERENT. 234 records the same (0 batches by checksum), 1 missing in A, 4 missing in B, 3 doubled in B, 2 changed",
    ]
    summary = here("diff", SOURCE, to, "--json").lines[-1]
    assert (summary["state"], summary["doubled"], summary["topic"]) == ("different", 3, "codec-zstd")
    assert here("diff", SOURCE, f"delta:{tmp_path}/none").code == 2
