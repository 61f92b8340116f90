"""`--limits` on every verb that reads, and the exit codes of what is not read: 2 before 1, before 3, before 0."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pyarrow as pa
import pytest

import building
import logsegment as ls
from cli_process import DAMAGED, run
from cli_verbs import VERBS

NAME = "00000000000000000000.log"
LONG = bytes(20_000_000)
#: Verbs that read logs, with the arguments that make them open the batch, and their code if they cannot. `restore` copies bytes.
OPENING: dict[str, tuple[list[str], int]] = {
    "cat": ([], 2),
    "verify": ([], 2),
    "find": (["--key", "x"], 2),
    "convert": (["--compression", "gzip", "-o", "OUT"], 2),
    "rewrite": (["--drop", "key=x", "-o", "OUT"], 2),
    "compact": (["-o", "OUT"], 2),
    "follow": (["--offset", "0", "--idle-exit", "0.1"], 2),
    "explain": (["--at", "0"], 1),
}
#: Verbs that read headers: their limit is that of a batch.
FRAMING: dict[str, tuple[list[str], int]] = {
    "batches": ([], 2),
    "stats": ([], 2),
    "txn": ([], 2),
    "split": (["--at-offset", "1", "-o", "OUT"], 2),
    "lz4 check": ([], 1),
    "lz4 fix": (["-o", "OUT"], 1),
    "lz4 break": (["-o", "OUT"], 1),
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    data = ls.encode(pa.table({"key": [b"a"], "value": [LONG]}), compression="zstd", level=19)
    (directory / NAME).write_bytes(data + ls.encode(pa.table({"key": [b"b"], "value": [b"last"]}), base_offset=1))
    return directory


def reads_logs(command: click.Command) -> bool:
    return any(isinstance(param, click.Argument) and param.name in ("path", "paths", "a") for param in command.params)


@pytest.mark.parametrize("names", sorted(names for names, command in VERBS.items() if reads_logs(command)), ids=" ".join)
def test_every_verb_that_reads_has_the_option(names: tuple[str, ...]):
    assert "--limits" in {flag for param in VERBS[names].params for flag in param.opts}


@pytest.mark.parametrize("verb", [*OPENING, *FRAMING])
def test_every_verb_keeps_to_it(verb: str, log: Path, tmp_path: Path):
    more, code = (OPENING | FRAMING)[verb]
    limit = "max_ratio=10,000" if verb in OPENING else "max_batch_bytes=200"
    path = log / NAME if verb.startswith("lz4") or verb == "explain" else log

    def done(name: str, *limits: str):
        arguments = [str(tmp_path / name) if item == "OUT" else item for item in more]
        return run(*verb.split(), path, *arguments, *limits)

    refused = done("refused", "--limits", limit)
    told = refused.text + refused.err
    assert (refused.code, "over the limit" in told, "Traceback" in told, "Lost" in told) == (code, True, False, False), told
    assert not (tmp_path / "refused").exists()
    passed = done("passed", "--limits", limit.split("=")[0] + "=unlimited")
    assert passed.code == (1 if verb == "find" else 0), passed


def test_a_valid_batch_that_shrinks_by_more_than_the_limit_is_not_damage(log: Path, tmp_path: Path):
    assert run("verify", log).code == 0, "the default is above what zstd reaches"
    done = run("verify", "--limits", "max_ratio=10000", log)
    assert (done.code, "not read: over the limit max_ratio 10,000" in done.text) == (2, True)
    for word in ("DAMAGED", "Lost", "Safe offsets"):
        assert word not in done.text
    *_, summary, _, _, _ = run("verify", "--limits", "max_ratio=10000", "--json", log).lines
    assert (summary["state"], summary["undecompressed"], summary["lost"]) == ("undecompressed", 1, [])
    saved = run("salvage", "--limits", "max_ratio=10000", log, "-o", tmp_path / "saved")
    assert (saved.code, (tmp_path / "saved/orders-0" / NAME).read_bytes()) == (0, (log / NAME).read_bytes())


def test_cat_says_how_to_raise_the_limit_and_skips_only_if_it_is_told_to(log: Path):
    for more in ((), ("--on-error", "skip")):
        done = run("cat", log, "--limits", "max_ratio=10000", "--columns", "offset", *more)
        assert (done.code, done.out) == (2, b"")
        assert "`--limits NAME=VALUE` raises the limit" in done.err
    done = run("cat", log, "--limits", "max_ratio=10000", "--columns", "offset", "--unreadable", "skip", "-q")
    assert (done.code, done.lines) == (2, [{"offset": 1}])
    assert "warning [COD-6]" in done.err


def test_what_was_not_read_goes_before_damage_in_the_exit_code(log: Path, tmp_path: Path):
    clean = tmp_path / "clean.log"
    clean.write_bytes(ls.encode(pa.table({"value": [b"x"]})))
    done = run("verify", clean, DAMAGED, log / NAME, "--limits", "max_ratio=10000")
    assert (done.code, "3 files: 1 clean, 1 not read, 1 damaged" in done.err) == (2, True), done.err
    assert run("verify", clean, DAMAGED).code == 1
    done = run("verify", clean, DAMAGED, tmp_path / "no such.log")
    assert (done.code, "1 damaged, 1 unreadable" in done.err) == (2, True)
    done = run("verify", clean, log / NAME, "--limits", "max_ratio=10000", "--unreadable", "skip")
    assert (done.code, "1 not read" in done.err) == (0, True)
    done = run("batches", clean, log / NAME, "--limits", "max_batch_bytes=200", "--unreadable", "skip", "-q")
    assert done.code == 2


@pytest.mark.parametrize(
    "given", ["max_ratio", "max_ratio=", "max_ratio=0", "max_ratio=many", "max_records=-1", "max_shoes=1", f"max_records={2**64}"]
)
def test_a_limit_that_is_none_is_a_mistake_in_the_command(given: str, log: Path):
    done = run("cat", log, "--limits", given)
    assert (done.code, "--limits" in done.err, "Traceback" in done.err) == (2, True, False)
    assert run("cat", log, "--limits", "max_records=1", "--limits", "max_records=2").code == 2


def test_a_file_with_both_is_damaged_and_not_read(tmp_path: Path):
    path = tmp_path / NAME
    batches = [building.batch(building.record(value=b"x"), count=1, base_offset=at, attributes=code) for at, code in ((0, 0), (1, 0x0F05))]
    path.write_bytes(b"".join(batches) + building.batch(building.record(), count=1, base_offset=2, crc=1))
    done = run("verify", path)
    assert (done.code, "DAMAGED, 1 error; NOT DECOMPRESSED, 1 batch without their plugin" in done.text) == (2, True)
    summary = json.loads(run("verify", "--json", path).out.splitlines()[-1])
    assert (summary["state"], summary["undecompressed"], len(summary["lost"])) == ("damaged", 1, 1)
