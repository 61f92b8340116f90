"""What a later run adds: the new part of a log that grew, repaired segments, segments that were missing, and nothing twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import lake
import logsegment as ls
from building import resealed
from made_logs import make_partition

DATA = corpus.CORPUS / "modern-4.1.0/data"
FIRST = "00000000000000000000.log"


class Lake:
    """A table of one of the formats in a directory."""

    def __init__(self, kind: str, place: Path) -> None:
        self.kind = kind
        self.place = place
        self.to = f"iceberg:{place}/kafka.records" if kind == "iceberg" else f"delta:{place}/records"

    def export(self, source: Any, **options: Any) -> ls.Export:
        return ls.export(source, self.to, **options)

    def rows(self) -> list[lake.Row]:
        return lake.iceberg_rows(self.place, "kafka.records") if self.kind == "iceberg" else lake.delta_rows(self.place / "records")

    def offsets(self) -> list[int]:
        return sorted(row["offset"] for row in self.rows())

    def append(self, rows: list[lake.Row]) -> None:
        """Add rows as another writer does, such as a sink that goes on."""
        if self.kind == "iceberg":
            from pyiceberg.io.pyarrow import schema_to_pyarrow

            table = lake.iceberg(self.place, "kafka.records")
            table.append(pa.Table.from_pylist(rows, schema_to_pyarrow(table.schema())))
            return
        from deltalake import DeltaTable, write_deltalake

        table = DeltaTable(self.place / "records")
        schema = pa.schema(table.schema().to_arrow())
        full = [row | {"timestamp_day": row["timestamp"].date()} for row in rows]
        write_deltalake(table, pa.Table.from_pylist(full, schema), mode="append")

    def forget(self) -> None:
        """Remove all commits of exports from the history; the rows stay."""
        if self.kind == "iceberg":
            rows = self.rows()
            table = lake.iceberg(self.place, "kafka.records")
            from pyiceberg.io.pyarrow import schema_to_pyarrow

            schema = schema_to_pyarrow(table.schema())
            table.catalog.drop_table("kafka.records")
            table = table.catalog.create_table("kafka.records", schema)
            table.append(pa.Table.from_pylist(rows, schema_to_pyarrow(table.schema())))
            return
        from deltalake import DeltaTable

        table = DeltaTable(self.place / "records")
        table.create_checkpoint()
        table.alter.set_table_properties({"delta.logRetentionDuration": "interval 1 days"})
        for path in sorted((self.place / "records/_delta_log").glob("*.json"))[:-1]:
            path.unlink()


@pytest.fixture(params=["iceberg", "delta"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return Lake(request.param, tmp_path / "lake")


@pytest.fixture
def grown(tmp_path: Path) -> Callable[[int], Path]:
    """A partition of six segments of 100 records, as far as it was written: its first segments."""
    made = tmp_path / "made"
    make_partition(made, "orders", 0, [list(range(base, base + 100)) for base in range(0, 600, 100)], value_bytes=500)
    log = tmp_path / "log/orders-0"
    log.mkdir(parents=True)

    def grow(segments: int) -> Path:
        for path in sorted((made / "orders-0").glob("0*")):
            if int(path.name[:20]) < segments * 100:
                shutil.copy(path, log)
        return log

    return grow


def test_only_the_new_part_of_a_log_is_read(table: Lake, grown: Callable[[int], Path]) -> None:
    whole = table.export(grown(5))
    size = sum(path.stat().st_size for path in grown(5).glob("*.log"))
    assert size <= whole.io_stats.bytes_read < size * 1.1
    more = table.export(grown(6))
    assert more.rows == 100
    assert more.io_stats.bytes_read < size / 4
    assert more.ranges == {"orders": {0: [(0, 600)]}}
    none = table.export(grown(6))
    assert (none.rows, none.commits, none.io_stats.bytes_read) == (0, [], 0)
    assert table.offsets() == list(range(600))


def test_segments_of_several_copies(table: Lake, tmp_path: Path, grown: Callable[[int], Path]) -> None:
    """A second replica that is longer, and copies that overlap: each offset once."""
    log = grown(6)
    copies = {"first": (0, 300), "second": (200, 600), "third": (0, 600)}
    for name, (start, end) in copies.items():
        directory = tmp_path / name / "orders-0"
        directory.mkdir(parents=True)
        for path in log.glob("*.log"):
            if start <= int(path.name[:20]) < end:
                shutil.copy(path, directory)
    added = [table.export(tmp_path / name).rows for name in copies]
    assert added == [300, 300, 0]
    assert table.offsets() == list(range(600))


def test_a_missing_segment_is_added_when_it_is_there(table: Lake, grown: Callable[[int], Path], tmp_path: Path) -> None:
    """A hole between segments without signs of compaction does not count as read."""
    log = grown(6)
    shutil.move(log / f"{200:020}.log", tmp_path / "away.log")
    first = table.export(log)
    assert first.ranges == {"orders": {0: [(0, 200), (300, 600)]}}
    assert [(place.start, place.end, place.rule) for place in first.lost] == [(200, 300, "ORD-3")]
    assert table.export(log).commits == []
    shutil.move(tmp_path / "away.log", log / f"{200:020}.log")
    repaired = table.export(log)
    assert (repaired.rows, repaired.lost) == (100, [])
    assert repaired.ranges == {"orders": {0: [(0, 600)]}}
    assert table.offsets() == list(range(600))


@pytest.mark.parametrize("place", ["middle", "end", "all"])
def test_damage_is_reported_and_filled_in_later(place: str, table: Lake, tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    data = (DATA / "codec-none-0" / FIRST).read_bytes()
    batches = ls.batches(data).to_pylist()
    hit = {"middle": batches[5:7], "end": batches[-1:], "all": batches}[place]
    damaged = bytearray(data)
    for batch in hit:
        damaged[batch["position"] + batch["size"] - 1] ^= 1
    (directory / FIRST).write_bytes(damaged)
    with pytest.raises(ls.ChecksumError):
        table.export(directory)
    first = table.export(directory, on_error="skip")
    lost = [(found.start, found.end, found.rule) for found in first.lost]
    assert lost == [(hit[0]["baseOffset"], hit[-1]["lastOffset"] + 1, "V2-31")]
    assert {finding.rule for finding in first.findings} == {"V2-31"}
    assert first.rows == 240 - (lost[0][1] - lost[0][0]) == len(table.rows())
    assert table.export(directory, on_error="skip").lost == first.lost
    (directory / FIRST).write_bytes(data)
    repaired = table.export(directory)
    assert repaired.rows == 240 - first.rows
    assert (repaired.lost, repaired.ranges) == ([], {"orders": {0: [(0, 240)]}})
    assert table.offsets() == list(range(240))


def test_damage_is_in_the_properties_of_the_commit(tmp_path: Path) -> None:
    ls.export(corpus.TESTS.parent / "examples/damaged-0", f"iceberg:{tmp_path}/kafka.damaged", on_error="skip")
    summary = lake.iceberg(tmp_path, "kafka.damaged").current_snapshot().summary.additional_properties
    assert summary["logsegment.damage"] == '{"damaged":{"0":[[139,148,"V2-31"]]}}'
    assert summary["logsegment.offsets"] == '{"damaged":{"0":[[0,139],[148,240]]}}'


def test_records_before_a_bad_one_of_a_batch_are_added_once(table: Lake, tmp_path: Path) -> None:
    """Of a batch with a valid checksum whose last records are invalid, the first records are read."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    values = pa.table({"value": pa.array([b"%08d" % number for number in range(20)], pa.binary())})
    whole = ls.encode(values, batch_bytes=1 << 20) + ls.encode(values, base_offset=20)
    damaged = bytearray(whole)
    size = ls.batches(whole).to_pylist()[0]["size"]
    # The last record of the first batch has a header more than it has.
    damaged[size - 1] = 2
    damaged[:size] = resealed(bytes(damaged[:size]))
    (directory / FIRST).write_bytes(damaged)
    first = table.export(directory, on_error="skip")
    kept = table.offsets()
    assert 0 < len(kept) < 40
    assert [(place.start, place.end) for place in first.lost] == [(kept.index(20), 20)]
    (directory / FIRST).write_bytes(whole)
    table.export(directory)
    assert table.offsets() == list(range(40))


def test_an_open_transaction_is_left_for_later(table: Lake, tmp_path: Path) -> None:
    """The range ends at the last stable offset, also where later segments are complete."""
    source = DATA / "transactions-multi-segment-0"
    directory = tmp_path / "transactions-0"
    shutil.copytree(source, directory)
    expected = [row["offset"] for row in lake.decoded_rows(directory)]
    ends = []
    for count in range(1, 7):
        copy = tmp_path / f"{count}" / "transactions-0"
        copy.mkdir(parents=True)
        for path in sorted(directory.glob("*.log"))[:count]:
            shutil.copy(path, copy)
        exported = table.export(copy)
        ends.append(exported.next_offsets["transactions"][0])
        own = [row["offset"] for row in lake.decoded_rows(copy)]
        assert table.offsets() == own
        assert exported.ranges == {"transactions": {0: [(0, ends[-1])]}}
    assert ends == sorted(ends)
    assert ends[-1] == 88
    assert table.offsets() == expected


def test_isolation_does_not_change(table: Lake) -> None:
    table.export(DATA / "transactions-0")
    with pytest.raises(ValueError, match="read_uncommitted"):
        table.export(DATA / "transactions-1", isolation="read_uncommitted")


def test_columns_are_read_if_no_commit_is_left(table: Lake) -> None:
    source = [DATA / name for name in ("transactions-0", "compacted-0", "codec-zstd-0")]
    table.export(source[:2])
    table.export(source[2], end_offset=100)
    table.forget()
    with pytest.raises(OSError, match="trust_commits_only"):
        table.export(source, trust_commits_only=True)
    exported = table.export(source)
    assert exported.rows == 140
    assert len(exported.notes) == 1
    assert "topic, partition, offset" in exported.notes[0]
    # Gaps were read once more; now they are known.
    assert exported.ranges == {"codec-zstd": {0: [(0, 240)]}, "compacted": {0: [(0, 245)]}, "transactions": {0: [(0, 88)]}}
    assert lake.digest(table.rows()) == lake.digest(lake.decoded_rows(source))
    again = table.export(source, trust_commits_only=True)
    assert (again.rows, again.notes) == (0, [])


def test_rows_of_a_sink_that_went_on_are_not_added_again(table: Lake) -> None:
    source = DATA / "codec-zstd-0"
    rows = lake.decoded_rows(source)
    table.export(source, end_offset=100)
    table.append(rows[100:180])
    table.append(rows[200:210])
    exported = table.export(source)
    assert exported.rows == 240 - 190
    assert exported.notes
    assert table.offsets() == list(range(240))
    assert table.export(source, trust_commits_only=True).rows == 0


def test_a_sink_that_commits_meanwhile(table: Lake) -> None:
    """Its rows are found before each commit of the export, and are not doubled."""
    source = DATA / "codec-zstd-0"
    rows = lake.decoded_rows(source)
    sink: Iterator[int] = iter(range(239, 0, -40))

    def on_commit(_: object) -> None:
        offset = next(sink, None)
        if offset is not None and offset not in table.offsets():
            table.append(rows[offset : offset + 1])

    exported = table.export(source, commit_bytes=1, on_commit=on_commit)
    assert len(exported.commits) >= 1
    assert table.offsets() == list(range(240))
    assert table.export(source).rows == 0


def test_a_rolled_back_table_is_filled_again(table: Lake) -> None:
    source = DATA / "codec-zstd-0"
    table.export(source, end_offset=100)
    if table.kind == "iceberg":
        loaded = lake.iceberg(table.place, "kafka.records")
        first = loaded.current_snapshot().snapshot_id
        table.export(source, end_offset=200)
        loaded.refresh()
        loaded.manage_snapshots().rollback_to_snapshot(first).commit()
    else:
        from deltalake import DeltaTable

        table.export(source, end_offset=200)
        DeltaTable(table.place / "records").restore(1)
    assert table.offsets() == list(range(100))
    assert table.export(source).rows == 140
    assert table.offsets() == list(range(240))


def test_rows_that_were_deleted_stay_deleted(table: Lake) -> None:
    """What a table had is not added again: an erased record stays erased."""
    source = DATA / "codec-zstd-0"
    table.export(source)
    if table.kind == "iceberg":
        lake.iceberg(table.place, "kafka.records").delete("offset = 7")
    else:
        from deltalake import DeltaTable

        DeltaTable(table.place / "records").delete('"offset" = 7')
    assert table.export(source).rows == 0
    assert 7 not in table.offsets()


def test_repeated_offsets_are_an_error(table: Lake, tmp_path: Path) -> None:
    """Batches whose offsets go back (ORD-1): records cannot be exported once by their offsets."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    values = pa.table({"value": pa.array([b"v"] * 10, pa.binary())})
    (directory / FIRST).write_bytes(b"".join(ls.encode(values, base_offset=base) for base in (0, 10, 5, 20)))
    with pytest.raises(ls.CorruptError, match="ORD-1"):
        table.export(directory)
    exported = table.export(directory, on_error="skip")
    assert table.offsets() == list(range(30))
    assert {finding.rule for finding in exported.findings} == {"ORD-1"}
