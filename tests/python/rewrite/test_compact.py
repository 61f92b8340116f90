"""`compact` keeps the latest record of each key, by the rules of the log cleaner, in bounded memory."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

import building
import corpus
import logsegment as ls
from cli_process import run
from log_starts import write_checkpoint
from logsegment.cli import main
from made_logs import index

DAY = 86_400_000
Truth = dict[bytes, tuple[int, bytes | None]]


@pytest.fixture
def source(tmp_path: Path) -> tuple[Path, Truth]:
    """A partition of four segments, and the latest record of each key."""
    directory, chance, offset = tmp_path / "in/users-0", random.Random(24), 0
    directory.mkdir(parents=True)
    truth: Truth = {}
    for _ in range(4):
        base, parts = offset, []
        for _ in range(20):
            keys = [b"k%d" % chance.randint(0, 200) for _ in range(20)]
            values = [None if chance.random() < 0.1 else chance.randbytes(8) for _ in keys]
            columns = {"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary()), "timestampMs": [1000] * 20}
            parts.append(ls.encode(pa.table(columns), base_offset=offset, compression=chance.choice(["none", "lz4", "zstd"])))
            truth |= {key: (offset + at, value) for at, (key, value) in enumerate(zip(keys, values, strict=True))}
            offset += 20
        (directory / f"{base:020d}.log").write_bytes(b"".join(parts))
    index(directory)
    return directory, truth


def latest(directory: Path) -> Truth:
    rows = ls.Log(directory).records(columns=["offset", "key", "value"]).to_pylist()
    found = {row["key"]: (row["offset"], row["value"]) for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("memory", [1 << 20, 24 * 150, 24 * 60])
def test_the_latest_record_of_each_key_stays_whatever_the_memory(source: tuple[Path, Truth], tmp_path: Path, memory: int) -> None:
    directory, truth = source
    done = ls.compact(directory, tmp_path / "out", memory=memory, now=5000)
    assert latest(tmp_path / "out/users-0") == truth
    assert (len(done.files) > 4) == (memory < 1 << 20)
    assert main(["verify", "--quiet", str(tmp_path / "out")]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["users-0"]


def test_diff_shows_the_records_that_the_account_drops(source: tuple[Path, Truth], tmp_path: Path) -> None:
    done = ls.compact(source[0], tmp_path / "out", now=5000)
    (found,) = ls.diff(source[0], tmp_path / "out").to_dict()["partitions"]
    assert {line["type"] for line in found["differences"]} == {"missing"}
    assert (found["missingInB"], found["missingInA"], found["changed"]) == (done.dropped, 0, 0)
    assert found["sameRecords"] == len(source[1])


def test_tombstones_go_after_their_delete_horizon(source: tuple[Path, Truth], tmp_path: Path) -> None:
    directory, truth = source
    ls.compact(directory, tmp_path / "one", now=5000)
    horizons = {row["deleteHorizonMs"] for path in (tmp_path / "one/users-0").glob("*.log") for row in ls.batches(path).to_pylist()}
    assert horizons == {None, 5000 + DAY}
    ls.compact(tmp_path / "one", tmp_path / "early", now=5000 + DAY - 1)
    assert latest(tmp_path / "early/users-0") == truth
    ls.compact(tmp_path / "one", tmp_path / "late", now=5000 + DAY)
    assert latest(tmp_path / "late/users-0") == {key: row for key, row in truth.items() if row[1] is not None}


def test_too_little_memory_is_an_error_and_leaves_nothing(source: tuple[Path, Truth], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="memory"):
        ls.compact(source[0], tmp_path / "out", memory=24)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_records_from_an_open_transaction_on_stay(tmp_path: Path) -> None:
    directory = tmp_path / "in/users-0"
    directory.mkdir(parents=True)
    table = pa.table({"key": ["a", "a"], "value": ["1", "2"]})
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    parts = [ls.encode(table), ls.encode(table, base_offset=2, **producer), ls.encode(table, base_offset=4)]
    (directory / f"{0:020d}.log").write_bytes(b"".join(parts))
    ls.compact(directory, tmp_path / "out")
    offsets = [row["offset"] for row in ls.Log(tmp_path / "out/users-0").records(columns=["offset"]).to_pylist()]
    assert offsets == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "partition", ["compacted-0", "compacted-compressed-0", "compacted-transactions-0", "compacted-lz4-tombstones-gone-0"]
)
def test_a_cleaned_log_of_a_broker_has_the_same_keys(partition: str, tmp_path: Path) -> None:
    source = corpus.CORPUS / "modern-4.1.0/data" / partition
    rows = ls.Log(source).records(columns=["key", "offset"], isolation="read_committed").to_pylist()
    ls.compact(source, tmp_path / "out", now=0)
    found = ls.Log(tmp_path / "out" / partition).records(columns=["key", "offset"]).to_pylist()
    assert {row["key"]: row["offset"] for row in found} == {row["key"]: row["offset"] for row in rows if row["key"] is not None}
    assert main(["verify", "--quiet", str(tmp_path / "out")]) == 0


def test_the_command(source: tuple[Path, Truth], tmp_path: Path) -> None:
    done = run("compact", source[0], "--output", tmp_path / "out", "--json")
    assert done.code == 0
    assert latest(tmp_path / "out/users-0") == source[1]
    assert {line["type"] for line in done.lines} == {"compact"}
    assert "needs up to" in done.err
    assert run("compact", source[0]).code == 2
    assert run("compact", next(source[0].glob("*.log")), "--output", tmp_path / "no").code == 2


def test_a_transaction_whose_marker_a_compaction_removed_is_not_open_afterwards(tmp_path: Path) -> None:
    """The snapshot before the marker has it open, and the latest one shows that it ended."""
    log = tmp_path / "in/users-0"
    log.mkdir(parents=True)
    (log / f"{0:020}.log").write_bytes(building.transactional_batch([b"0"], 7, 0))
    (log / f"{1:020}.log").write_bytes(building.marker(1, 7, 1))
    index(log)
    for file in log.glob(f"{0:020}.*"):
        file.unlink()
    ls.compact(log, tmp_path / "once", now=5000, allow_lower_end=True)
    tombstones = pa.table({"key": [b"k"], "value": pa.array([None], pa.binary()), "timestampMs": [1000]})
    ls.encode(tombstones, base_offset=2, out=tmp_path / "once/users-0" / f"{2:020}.log")
    ls.compact(tmp_path / "once/users-0", tmp_path / "twice", now=5000 + 3 * DAY, allow_lower_end=True)
    assert latest(tmp_path / "twice/users-0") == {b"k": (2, None)}
    ls.compact(tmp_path / "twice/users-0", tmp_path / "thrice", now=5000 + 6 * DAY, allow_lower_end=True)
    assert latest(tmp_path / "thrice/users-0") == {}


def test_a_transaction_that_ended_below_the_log_start_offset_is_not_open_afterwards(tmp_path: Path) -> None:
    """The marker is not in the output. The snapshot before it would stop a second compaction."""
    log = tmp_path / "in/users-0"
    log.mkdir(parents=True)
    (log / f"{0:020}.log").write_bytes(building.transactional_batch([b"0"], 7, 0))
    tombstones = {"key": [b"k"], "value": pa.array([None], pa.binary()), "timestampMs": [1000]}
    data = ls.encode(pa.table(tombstones), base_offset=2)
    assert data is not None
    (log / f"{1:020}.log").write_bytes(building.marker(1, 7, 1) + data)
    index(log)
    for file in log.glob(f"{0:020}.*"):
        file.unlink()
    write_checkpoint(log.parent, "users-0", 2)
    ls.compact(log, tmp_path / "once", now=5000, allow_lower_end=True)
    assert latest(tmp_path / "once/users-0") == {b"k": (2, None)}
    ls.compact(tmp_path / "once/users-0", tmp_path / "twice", now=5000 + 3 * DAY, allow_lower_end=True)
    assert latest(tmp_path / "twice/users-0") == {}
