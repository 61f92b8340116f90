"""`logsegment rewrite`: conditions, outputs, the account, and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

import logsegment as ls
from cli_process import CODEC, CODEC_FILE, DAMAGED, run
from made_logs import make_partition


def offsets(path: Path) -> list[int]:
    return [row["offset"] for row in ls.Log(path).records(columns=["offset"]).to_pylist()]


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    make_partition(tmp_path / "in", "orders", 0, [[0, 1, 2], [3, 4, 5]])
    return tmp_path / "in/orders-0"


@pytest.mark.parametrize(
    ("conditions", "left"),
    [
        (["--drop", "offsets=1..3"], [0, 3, 4, 5]),
        (["--drop", "offsets=1", "--drop", "offsets=4.."], [0, 2, 3]),
        (["--keep", "times=2020-09-13T12:26:40.002Z.."], [2, 3, 4, 5]),
        (["--keep", "offsets=..4", "--drop", "times=1600000000000..1600000000002"], [2, 3]),
    ],
)
def test_conditions(partition: Path, tmp_path: Path, conditions: list[str], left: list[int]) -> None:
    done = run("rewrite", partition, *conditions, "--output", tmp_path / "out")
    assert done.code == 0, done.err
    assert offsets(tmp_path / "out/orders-0") == left
    assert "needs up to" in done.err
    assert f"{6 - len(left)} dropped" in done.err


def test_keys_of_files_and_of_the_command(tmp_path: Path) -> None:
    rows = ls.decode(CODEC_FILE, columns=["key", "offset"]).to_pylist()
    keys = sorted({row["key"] for row in rows if row["key"] and b"\n" not in row["key"] and row["key"].isascii()})[:4]
    (tmp_path / "keys").write_bytes(b"\n".join(keys[:3]))
    arguments = ["--drop", f"keys={tmp_path / 'keys'}", "--drop", f"key={keys[3].decode()}"]
    assert run("rewrite", CODEC_FILE, *arguments, "--output", tmp_path / "out.log").code == 0
    left = ls.decode(tmp_path / "out.log", columns=["key", "offset"]).to_pylist()
    assert left == [row for row in rows if row["key"] not in keys]


def test_the_account_is_json_without_payloads(tmp_path: Path) -> None:
    done = run("rewrite", CODEC, "--drop", "offsets=0..20", "--dry-run", "--json")
    assert done.code == 0
    (line,) = done.lines
    assert line["type"] == "rewrite"
    assert sum(span["length"] for span in line["ranges"]) == line["inputBytes"]
    assert {row["action"] for row in line["ranges"]} <= {"copied", "rewritten", "dropped"}
    assert not list(tmp_path.iterdir())


def test_standard_input_and_output() -> None:
    done = run("rewrite", "-", "--drop", "offsets=0..20", "--output", "-", "--quiet", stdin=CODEC_FILE.read_bytes())
    assert done.code == 0
    assert min(row["offset"] for row in ls.decode(done.out, columns=["offset"]).to_pylist()) == 20


def test_damage_and_mistakes(tmp_path: Path) -> None:
    damaged = run("rewrite", DAMAGED, "--drop", "key=a", "--output", tmp_path / "out.log")
    assert (damaged.code, (tmp_path / "out.log").exists()) == (1, False)
    assert "salvage" in damaged.err
    redacted = run("rewrite", DAMAGED, "--drop", "key=a", "--output", tmp_path / "out.log", "--redact")
    assert "--redact" in redacted.err
    for arguments in (
        ["--output", "x"],
        ["--drop", "key=a"],
        ["--drop", "nothing", "--output", "x"],
        ["--mask", "key=a", "--mask-with", "hash", "--output", "x"],
    ):
        mistake = run("rewrite", CODEC_FILE, *arguments)
        assert mistake.code == 2, arguments
    assert run("rewrite", tmp_path / "none", "--drop", "key=a", "--output", tmp_path / "out").code == 2


def test_join_and_split_name_the_new_segments(tmp_path: Path) -> None:
    make_partition(tmp_path / "in", "orders", 0, [[0, 1], [2], [3, 4, 5]])
    first, second = (f"orders-0/{offset:020}.log" for offset in (0, 2))
    done = run("join", tmp_path / "in", "--output", tmp_path / "joined")
    assert done.err.splitlines()[2:] == [f"logsegment: {first}: offsets 0 to 5, 3 batches"]
    done = run("split", tmp_path / "joined", "--at-offset", "2", "--output", tmp_path / "cut")
    assert done.err.splitlines()[2:] == [
        f"logsegment: {first}: offsets 0 to 1, 1 batch",
        f"logsegment: {second}: offsets 2 to 5, 2 batches",
    ]
    done = run("split", tmp_path / "joined", "--bytes", "1", "--output", tmp_path / "small", "--quiet")
    assert (done.code, done.err) == (0, "")


def test_a_long_list_of_new_segments_is_shortened(tmp_path: Path) -> None:
    make_partition(tmp_path / "in", "orders", 0, [[offset] for offset in range(12)])
    done = run("split", tmp_path / "in", "--bytes", "1", "--output", tmp_path / "out")
    assert len(done.err.splitlines()) == 13
    assert done.err.endswith("and 2 more segments; --json names all\n")
