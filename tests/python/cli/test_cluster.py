"""`logsegment cluster`: tables, JSON, files and the plan."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corpus
import logsegment as ls
from cli_process import run
from logsegment.analysis.cluster import VIEWS

KILLED = corpus.TESTS / "cluster/broker"


@pytest.mark.parametrize("view", VIEWS)
def test_a_table_for_people_and_as_json_lines(view: str) -> None:
    expected = ls.cluster(KILLED).view(view).to_pylist()  # type: ignore[arg-type]
    done = run("cluster", "--view", view, "--json", KILLED)
    assert [json.loads(line) for line in done.out.splitlines()] == expected
    text = run("cluster", "--view", view, KILLED)
    assert len(text.out.splitlines()) == len(expected) + 1
    assert (done.code, text.code, text.err) == (0, 0, "")


def test_one_document_and_a_summary() -> None:
    document = json.loads(run("cluster", "--json", KILLED).out)
    assert document == ls.cluster(KILLED).to_dict()
    summary = run("cluster", KILLED).out.decode()
    assert summary.startswith("cluster bG9nc2VnbWVudC10ZXN0cw, metadata up to offset ")
    assert "  simple   classic   Empty   4" in summary.splitlines()


def test_times_in_iso() -> None:
    done = run("cluster", "--view", "groups", "--json", "--iso", KILLED)
    times = {json.loads(line)["commitTimestamp"] for line in done.out.splitlines()}
    assert all(time is None or time.endswith("Z") for time in times)
    assert len(times) > 1


def test_files(tmp_path: Path) -> None:
    arrow, parquet = tmp_path / "lag.arrow", tmp_path / "lag.parquet"
    assert run("cluster", "--view", "lag", "--arrow", arrow, KILLED).code == 0
    assert run("cluster", "--view", "lag", "--parquet", parquet, KILLED).code == 0
    expected = pa.table(ls.cluster(KILLED).lag)
    assert pa.ipc.open_file(arrow.read_bytes()).read_all() == expected
    assert pq.read_table(parquet).to_pylist() == expected.to_pylist()


def test_the_plan_as_json_and_as_commands(tmp_path: Path) -> None:
    plan = ls.cluster(KILLED).plan()
    assert json.loads(run("cluster", "--plan", KILLED).out) == plan.to_dict()
    script = tmp_path / "plan.sh"
    script.write_text(run("cluster", "--plan", "--format", "sh", KILLED).out.decode())
    assert script.read_text() == plan.to_sh()
    assert "kafka kafka-topics --create --if-not-exists --topic orders --partitions 3" in script.read_text()
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0


def test_the_script_calls_the_tools_with_each_argument_whole(tmp_path: Path) -> None:
    """A name with quotes and spaces reaches the tool as one argument, and runs nothing."""
    plan = ls.cluster(KILLED).plan()
    plan.document["acls"] = [plan.document["acls"][0] | {"principal": "User:a b'; touch hacked; '$(touch hacked)"}]
    tool = tmp_path / "kafka-acls.sh"
    tool.write_text('#!/bin/sh\nfor word; do echo "<$word>"; done\n')
    tool.chmod(0o755)
    script = tmp_path / "plan.sh"
    script.write_text(plan.to_sh())
    environment = {"BOOTSTRAP": "h:1", "KAFKA_BIN": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", script, "acls"], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "<User:a b'; touch hacked; '$(touch hacked)>" in done.stdout.splitlines()
    assert not (tmp_path / "hacked").exists()


def test_findings_and_exit_codes(tmp_path: Path) -> None:
    place = tmp_path / "a"
    shutil.copytree(KILLED, place)
    shutil.rmtree(place / "orders-0")
    warned = run("cluster", place)
    assert (warned.code, run("cluster", "--fail-on", "warning", place).code) == (0, 1)
    assert "warning [CLU-8] no directory of 1 of the 3 partitions of orders" in warned.err
    log = place / "__cluster_metadata-0/00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[-5] ^= 1
    log.write_bytes(data + bytes(100) + data[:200])
    assert run("cluster", place).code == 1
    assert run("cluster", tmp_path / "missing").code == 2


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--format", "sh", KILLED),
        ("--plan", "--view", "lag", KILLED),
        ("--arrow", "x.arrow", KILLED),
        ("--iso", KILLED),
        ("--as", "kafka-topics", "--json", KILLED),
        ("--view", "nothing", KILLED),
    ],
)
def test_mistakes(words: tuple[object, ...]) -> None:
    assert run("cluster", *words).code == 2
