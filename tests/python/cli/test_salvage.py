"""`logsegment salvage`: exit codes, whole outputs, rebuilt indexes, a report of every byte."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from cli_process import run

NAME = "00000000000000000000.log"
SOURCE = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition of several segments, one batch of which is damaged."""
    directory = tmp_path / "payments-0"
    shutil.copytree(SOURCE, directory)
    return directory


def damage(path: Path, index: int = 1) -> tuple[int, int]:
    """Flip a bit in the last byte of a batch; where the batch is."""
    row = corpus.rows_of(ls.batches(path.read_bytes()), ["position", "size"])[index]
    end = row["position"] + row["size"]
    data = bytearray(path.read_bytes())
    data[end - 1] ^= 1
    path.write_bytes(data)
    return row["position"], row["size"]


def logs(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


def test_a_clean_partition_comes_back_with_indexes(partition: Path, tmp_path: Path):
    done = run("salvage", partition, "-o", tmp_path / "saved")
    assert done.code == 0, done.err
    saved = tmp_path / "saved/payments-0"
    assert [(path.name, path.read_bytes()) for path in logs(saved)] == [(path.name, path.read_bytes()) for path in logs(partition)]
    for path in logs(saved):
        assert path.with_suffix(".index").exists()
        assert path.with_suffix(".timeindex").exists()
    assert (saved / "leader-epoch-checkpoint").exists()
    assert ls.Log(saved).validate().counts["error"] == 0


def test_damage_costs_its_batch_and_is_reported(partition: Path, tmp_path: Path):
    damaged = logs(partition)[0]
    clean = damaged.read_bytes()
    position, size = damage(damaged)
    before = {path: path.read_bytes() for path in partition.iterdir()}
    done = run("salvage", partition, "-o", tmp_path / "saved")
    assert done.code == 3
    assert f"left out: bytes {position:,} to {position + size - 1:,} [V2-31]" in done.err
    saved = tmp_path / "saved/payments-0"
    assert (saved / damaged.name).read_bytes() == clean[:position] + clean[position + size :]
    assert {path: path.read_bytes() for path in partition.iterdir()} == before
    assert run("verify", saved).code == 0
    again = run("salvage", partition, "-o", tmp_path / "saved")
    assert (again.code, "must be a new directory" in again.err) == (2, True)


def test_json_accounts_for_every_byte(partition: Path, tmp_path: Path):
    damage(logs(partition)[0])
    done = run("salvage", "--json", partition, "-o", tmp_path / "saved")
    assert done.code == 3
    lines = [json.loads(line) for line in done.out.splitlines()]
    accounts = [line for line in lines if line["type"] == "salvage"]
    assert [account["ok"] for account in accounts] == [False] + [True] * (len(accounts) - 1)
    for account, path in zip(accounts, logs(partition), strict=True):
        ranges = sorted((span["position"], span["position"] + span["length"]) for span in account["kept"] + account["lost"])
        assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
        assert ranges[-1][1] == path.stat().st_size == account["keptBytes"] + account["lostBytes"]
    assert [(line["rule"], line["severity"]) for line in lines if line["type"] == "finding"] == [("V2-31", "error")]


def test_one_file_and_a_pipe(partition: Path, tmp_path: Path):
    path = logs(partition)[0]
    clean = path.read_bytes()
    position, size = damage(path)
    expected = clean[:position] + clean[position + size :]
    assert run("salvage", path, "-o", tmp_path / "one.log").code == 3
    assert (tmp_path / "one.log").read_bytes() == expected
    for order in ("offset", "input"):
        piped = run("salvage", "-", "-o", "-", "--order", order, stdin=path.read_bytes())
        assert (piped.code, piped.out) == (3, expected)
    assert run("salvage", path, "-o", path).code == 2
    assert run("salvage", "--json", path, "-o", "-").code == 2
    assert run("salvage", tmp_path / "none.log", "-o", tmp_path / "two.log").code == 2
    assert not (tmp_path / "two.log").exists()


def test_what_has_no_place_in_the_log_is_aside(partition: Path, tmp_path: Path):
    path = logs(partition)[0]
    rows = corpus.rows_of(ls.batches(path.read_bytes()), ["position", "size"])
    data = bytearray(path.read_bytes())
    at = rows[1]["position"]
    data[at : at + 8] = (1 << 50).to_bytes(8, "big")
    path.write_bytes(data)
    done = run("salvage", partition, "-o", tmp_path / "saved", "--aside", tmp_path / "rest")
    assert (done.code, "1 entry with misplaced offsets" in done.err) == (3, True)
    assert (tmp_path / "rest/payments-0" / path.name).read_bytes() == bytes(data[at : at + rows[1]["size"]])
    assert sorted(found.name for found in (tmp_path / "rest/payments-0").iterdir()) == [path.name]
    told = run("salvage", partition, "-o", tmp_path / "again")
    assert "--aside keeps them" in told.err


def test_a_file_that_is_not_a_log_is_questioned(tmp_path: Path):
    path = tmp_path / "noise.log"
    path.write_bytes(b"\xffnoise that is no text\x00" * 10)
    done = run("salvage", path, "-o", tmp_path / "saved.log")
    assert (done.code, "is this a log segment?" in done.err) == (3, True)
    assert not (tmp_path / "saved.log").exists()


def swapped(partition: Path) -> None:
    one, other = logs(partition)[1], logs(partition)[3]
    one.rename(partition / "x")
    other.rename(one)
    (partition / "x").rename(other)


def renamed(number: int, by: int):
    def rename(partition: Path) -> None:
        path = logs(partition)[number]
        path.rename(path.with_name(f"{int(path.stem) + by:020d}.log"))

    return rename


#: Files of segments that contradict their names, in whole partitions.
WRONG_NAMES = {
    "swapped": swapped,
    "renamed up": renamed(1, 3),
    "renamed down": renamed(2, -3),
    "renamed beyond the others": renamed(1, 1 << 30),
    "renamed to the front": renamed(0, 5),
}


@pytest.mark.parametrize("case", WRONG_NAMES)
def test_a_whole_segment_gets_the_name_that_its_offsets_prove(case: str, partition: Path, tmp_path: Path):
    whole = {path.name: path.read_bytes() for path in logs(partition)}
    WRONG_NAMES[case](partition)
    done = run("salvage", partition, "-o", tmp_path / "saved")
    saved = tmp_path / "saved/payments-0"
    assert {path.name: path.read_bytes() for path in logs(saved)} == whole
    assert (done.code, "left out" in done.err) == (0, False)
    moved = [path.name for path in logs(partition) if whole.get(path.name) != path.read_bytes()]
    assert done.err.count("[SEG-1]") == len(moved)
    assert all(path.with_suffix(".index").exists() for path in logs(saved))
    assert run("verify", saved).code == 0
    found = run("salvage", partition, "-o", tmp_path / "again", "--json")
    findings = [json.loads(line) for line in found.out.splitlines()]
    assert [finding["rule"] for finding in findings if finding["type"] == "finding"] == ["SEG-1"] * len(moved)


@pytest.mark.parametrize("format", ["v0", "v1"])
def test_swapped_segments_of_compressed_message_sets_get_their_names(format: Any, tmp_path: Path):
    """A compressed message set itself shows its first offset, once it is decompressed."""
    partition = tmp_path / "orders-0"
    partition.mkdir()
    for base, name in ((0, 4), (4, 0)):
        ls.encode(pa.table({"value": [b"v"] * 4}), format=format, compression="gzip", base_offset=base, out=partition / f"{name:020}.log")
    done = run("salvage", partition, "-o", tmp_path / "saved")
    assert (done.code, done.err.count("[SEG-1]")) == (0, 2)
    saved = ls.Log(tmp_path / "saved").records(columns=["offset"]).to_pylist()
    assert [row["offset"] for row in saved] == list(range(8))


@pytest.mark.parametrize("case", WRONG_NAMES)
def test_damage_in_a_segment_does_not_keep_it_from_its_name(case: str, partition: Path, tmp_path: Path):
    whole = {path.name: path.read_bytes() for path in logs(partition)}
    lost = {path.name: damage(path)[1] for path in logs(partition)[1:4]}
    WRONG_NAMES[case](partition)
    assert run("salvage", partition, "-o", tmp_path / "saved").code == 3
    saved = logs(tmp_path / "saved/payments-0")
    assert {path.name: path.stat().st_size for path in saved} == {name: len(data) - lost.get(name, 0) for name, data in whole.items()}


def test_what_is_left_out_whole_leaves_no_empty_log(partition: Path, tmp_path: Path):
    """A copy of a segment under another name holds nothing that is not there already; an empty segment stays."""
    copied, last = logs(partition)[0], logs(partition)[-1]
    copy = partition / f"{10**6:020d}.log"
    shutil.copyfile(copied, copy)
    (partition / f"{10**7:020d}.log").touch()
    done = run("salvage", partition, "-o", tmp_path / "saved", "--aside", tmp_path / "rest")
    assert done.code == 3
    assert "is this a log segment?" not in done.err
    saved = tmp_path / "saved/payments-0"
    assert [path.name for path in logs(saved)] == [path.name for path in logs(partition) if path != copy]
    assert {path.name for path in saved.iterdir() if not path.stat().st_size and path.suffix == ".log"} == {f"{10**7:020d}.log"}
    assert (tmp_path / "rest/payments-0" / copy.name).read_bytes() == copied.read_bytes()
    assert (saved / last.name).read_bytes() == last.read_bytes()
    assert run("verify", saved).code == 0


def entries_of(path: Path) -> list[bytes]:
    data = path.read_bytes()
    rows = corpus.rows_of(ls.batches(data), ["position", "size"])
    return [data[row["position"] : row["position"] + row["size"]] for row in rows]


def offsets_in(directory: Path) -> set[int]:
    """Return the first offsets of the batches, which must be unique and in order."""
    found = [row["baseOffset"] for path in logs(directory) for row in corpus.rows_of(ls.batches(path.read_bytes()), ["baseOffset"])]
    assert found == sorted(set(found))
    return set(found)


def kept_by_names(partition: Path, directory: Path) -> set[int]:
    """Return the first offsets of the batches that are kept if each segment is salvaged between its name and the next one."""
    directory.mkdir()
    names = [int(path.stem) for path in logs(partition)]
    for path, name, end in zip(logs(partition), names, [*names[1:], None], strict=True):
        ls.salvage(path.read_bytes(), out=directory / path.name, order="offset", first_offset=name, end_offset=end)
    return offsets_in(directory)


def with_entries(number: int, other: int, which: slice, *, in_front: bool = False):
    """Copy batches of a segment into another one, as a file system does that gives back the wrong blocks."""

    def copy(partition: Path) -> None:
        path, foreign = logs(partition)[number], b"".join(entries_of(logs(partition)[other])[which])
        path.write_bytes(foreign + path.read_bytes() if in_front else path.read_bytes() + foreign)

    return copy


#: Segments under the right names that hold batches of others.
FOREIGN_ENTRIES = {
    "the first of the next": with_entries(0, 1, slice(1)),
    "the last of the next": with_entries(0, 1, slice(-1, None)),
    "all but the last of the next": with_entries(0, 1, slice(-1)),
    "two of a later one": with_entries(0, 3, slice(2)),
    "the last two of the last": with_entries(0, -1, slice(-2, None)),
    "the last of the one before": with_entries(2, 1, slice(-1, None), in_front=True),
    "the first two of the first": with_entries(3, 0, slice(2), in_front=True),
}


@pytest.mark.parametrize("case", FOREIGN_ENTRIES)
def test_batches_of_another_segment_cost_no_segment(case: str, partition: Path, tmp_path: Path):
    whole = {path.name: path.read_bytes() for path in logs(partition)}
    FOREIGN_ENTRIES[case](partition)
    done = run("salvage", partition, "-o", tmp_path / "saved")
    assert (done.code, "[SEG-1]" in done.err) == (3, False), done.err
    assert {path.name: path.read_bytes() for path in logs(tmp_path / "saved/payments-0")} == whole


def test_segments_that_overlap_lose_no_record_that_no_other_has(partition: Path, tmp_path: Path):
    """The first segment holds all of the second one, of which only the beginning is left."""
    first, second = logs(partition)[:2]
    every = offsets_in(partition)
    entries = entries_of(second)
    first.write_bytes(first.read_bytes() + second.read_bytes())
    second.write_bytes(b"".join(entries[: len(entries) // 2]))
    run("salvage", partition, "-o", tmp_path / "saved")
    assert offsets_in(tmp_path / "saved/payments-0") == every


@pytest.mark.parametrize("seed", range(20))
def test_right_names_keep_what_they_bound(seed: int, partition: Path, tmp_path: Path):
    """Whatever batches are lost, copied or moved between the segments."""
    chance = random.Random(seed)
    segments = [entries_of(path) for path in logs(partition)]
    every = [list(segment) for segment in segments]
    for _ in range(chance.randint(1, 6)):
        one, run_of = chance.choice(segments), chance.choice(every)
        at, length = chance.randrange(len(run_of)), chance.choice([1, 1, 2, 3, len(run_of)])
        place = chance.choice([0, len(one), chance.randint(0, len(one))])
        one[place:place] = run_of[at : at + length]
        if chance.random() < 0.3:
            del one[chance.randrange(len(one))]
    for path, entries in zip(logs(partition), segments, strict=True):
        path.write_bytes(b"".join(entries))
    run("salvage", partition, "-o", tmp_path / "saved")
    assert len(offsets_in(tmp_path / "saved/payments-0")) >= len(kept_by_names(partition, tmp_path / "named"))
