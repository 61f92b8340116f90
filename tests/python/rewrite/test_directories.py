"""`rewrite` of partition directories and trees: the files next to segments, the names, whole or absent."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import corpus
import logsegment as ls
from logsegment._core import rebuild_indexes
from logsegment.cli import main
from made_logs import make_partition

MODERN = corpus.CORPUS / "modern-4.1.0/data"
PARTITIONS = ["codec-lz4-0", "compacted-0", "compacted-transactions-0", "multi-segment-0", "transactions-0"]
PARTITIONS += ["transactions-multi-segment-0", "transactions-multi-segment-1", "idempotent-mixed-codecs-0"]


def state(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_partition_of_a_broker_without_half_of_its_records(partition: str, tmp_path: Path) -> None:
    source = MODERN / partition
    before = state(source)
    rows = ls.Log(source).records(columns=["offset", "key", "value"]).to_pylist()
    keys = {row["key"] for row in rows[::2]}
    done = ls.rewrite(source, tmp_path / "clean", drop=keys)
    clean = tmp_path / "clean" / partition
    kept = [row for row in rows if row["key"] not in keys]
    assert ls.Log(clean).records(columns=["offset", "key", "value"]).to_pylist() == kept
    assert done.dropped == len(rows) - len(kept) > 0
    assert state(source) == before
    assert main(["verify", "--quiet", str(clean)]) == 0
    committed = ls.Log(source).records(columns=["offset", "key"], isolation="read_committed").to_pylist()
    ours = ls.Log(clean).records(columns=["offset", "key"], isolation="read_committed").to_pylist()
    assert ours == [row for row in committed if row["key"] not in keys]
    for file in done.files:
        assert file.output is not None
        assert hashlib.sha256(Path(file.output).read_bytes()).hexdigest() == file.output_sha256


@pytest.mark.parametrize("partition", PARTITIONS)
def test_end_offset_producers_and_epochs_stay(partition: str, tmp_path: Path) -> None:
    source = MODERN / partition
    ls.rewrite(source, tmp_path / "clean", drop=ls.Selection(offsets=(0, None)))
    clean = tmp_path / "clean" / partition
    assert end_of(clean, tmp_path / "of clean") == end_of(source, tmp_path / "of source")
    for name in ("leader-epoch-checkpoint", "partition.metadata"):
        if (source / name).exists():
            assert (clean / name).read_bytes() == (source / name).read_bytes()


def end_of(directory: Path, scratch: Path) -> tuple[int, bytes]:
    """Return the log end offset and the producers at the end, as a broker would learn them from the log alone."""
    scratch.mkdir()
    end, names = rebuild_indexes([(path, int(path.stem)) for path in sorted(directory.glob("*.log"))], scratch)
    return end, (scratch / names[-1]).read_bytes()


def test_a_tree_keeps_its_directories_and_drops_empty_segments_in_between(tmp_path: Path) -> None:
    make_partition(tmp_path / "in", "orders", 0, [[0, 1], [2, 3], [4, 5]])
    make_partition(tmp_path / "in", "orders", 1, [[0, 1]])
    done = ls.rewrite(tmp_path / "in", tmp_path / "out", drop=ls.Selection(offsets=(0, 4)))
    assert [file.output and Path(file.output).name for file in done.files] == [
        "00000000000000000000.log",
        None,
        "00000000000000000004.log",
        "00000000000000000000.log",
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["orders-0", "orders-1"]
    assert not list((tmp_path / "out").rglob("00000000000000000002.log"))
    assert [row["offset"] for row in ls.Log(tmp_path / "out" / "orders-0").records(columns=["offset"]).to_pylist()] == [4, 5]
    assert main(["verify", "--quiet", str(tmp_path / "out")]) == 0


def test_outputs_that_cannot_be(tmp_path: Path) -> None:
    make_partition(tmp_path / "in", "orders", 0, [[0, 1]])
    with pytest.raises(ValueError, match="inside the source"):
        ls.rewrite(tmp_path / "in", tmp_path / "in" / "out", drop=["a"])
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError):
        ls.rewrite(tmp_path / "in", tmp_path / "there", drop=["a"], overwrite=True)
    with pytest.raises(TypeError):
        ls.rewrite(tmp_path / "in", drop=["a"])


def test_damage_leaves_nothing(tmp_path: Path) -> None:
    make_partition(tmp_path / "in", "orders", 0, [[0, 1], [2, 3]])
    segment = tmp_path / "in/orders-0/00000000000000000002.log"
    segment.write_bytes(segment.read_bytes()[:-1] + b"\xff")
    with pytest.raises(ls.ChecksumError) as raised:
        ls.rewrite(tmp_path / "in", tmp_path / "out", drop=["a"])
    assert "00000000000000000002.log" in str(raised.value.path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_a_dry_run_says_what_a_run_would_do(tmp_path: Path) -> None:
    source = MODERN / "multi-segment-0"
    drop = ls.Selection(offsets=(10, 50))
    dry = ls.rewrite(source, drop=drop, dry_run=True)
    done = ls.rewrite(source, tmp_path / "out", drop=drop)
    for item, other in zip(dry.files, done.files, strict=True):
        assert (item.ranges, item.input_sha256, item.output_sha256) == (other.ranges, other.input_sha256, other.output_sha256)
    assert [file.output for file in dry.files] == [None] * len(done.files)


def test_diff_shows_the_announced_differences(tmp_path: Path) -> None:
    source = MODERN / "codec-none-0"
    rows = ls.Log(source).records(columns=["offset", "key"]).to_pylist()
    gone = {row["offset"] for row in rows[::5]}
    ls.rewrite(source, tmp_path / "out", drop=ls.Selection(offsets=sorted(gone)))
    found = ls.diff(source, tmp_path / "out").to_dict()
    (partition,) = found["partitions"]
    told = {(line["type"], line["side"], line["firstOffset"], line["lastOffset"]) for line in partition["differences"]}
    assert told == {("missing", "b", offset, offset) for offset in gone}
    assert (partition["missingInB"], partition["changed"], partition["damaged"]) == (len(gone), 0, 0)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_diff_shows_what_the_account_counts(partition: str, tmp_path: Path) -> None:
    """Dropped records are missing, tombstones and masks are changed values, and there is nothing else."""
    source = MODERN / partition
    rows = ls.Log(source).records(columns=["offset", "value"]).to_pylist()
    of = {name: [row["offset"] for row in rows[start::7]] for start, name in enumerate(("drop", "tombstone", "mask"))}
    done = ls.rewrite(source, tmp_path / "out", **{name: ls.Selection(offsets=offsets) for name, offsets in of.items()})
    values = {row["offset"]: row["value"] for row in rows}
    (found,) = ls.diff(source, tmp_path / "out").to_dict()["partitions"]
    told: dict[str, set[int]] = {"missing": set(), "changed": set()}
    for line in found["differences"]:
        told[line["type"]] |= values.keys() & set(range(line["firstOffset"], line["lastOffset"] + 1))
        assert (line["side"], line["fields"]) == (("b", []) if line["type"] == "missing" else (None, ["value"]))
    changed = {offset for offset in of["tombstone"] if values[offset] is not None} | {offset for offset in of["mask"] if values[offset]}
    assert told == {"missing": set(of["drop"]), "changed": changed}
    assert (done.dropped, done.tombstoned + done.masked) == (found["missingInB"], found["changed"]) == (len(of["drop"]), len(changed))
    every = ls.Log(source).records(columns=["offset"], control=True).to_pyarrow().num_rows
    assert found["sameRecords"] == every - len(of["drop"]) - len(changed)
    assert (found["missingInA"], found["unreadable"], found["damaged"], found["undecompressed"]) == (0, 0, 0, 0)


def test_tiered_storage_becomes_a_partition_directory(tmp_path: Path) -> None:
    source = corpus.CORPUS / "tiered/local-tiered-storage"
    done = ls.rewrite(source, tmp_path / "out", drop=ls.Selection(offsets=(0, 1250)))
    assert done.dropped == 16
    logs = sorted((tmp_path / "out").rglob("*.log"))
    assert len(logs) == sum(file.output is not None for file in done.files)
    assert all(len(path.stem) == 20 for path in logs)
    assert main(["verify", "--quiet", str(tmp_path / "out")]) == 0
