"""The disks of three killed brokers show what the cluster answered, also with a snapshot cut short and with a disk missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import logsegment as ls
from cluster_answers import PROPERTIES, Rows, answers
from test_cluster_broker import of_users, ordered, same
from trio import Trio

pytestmark = [pytest.mark.interop, pytest.mark.nightly]
#: What every copy of the metadata has.
OF_METADATA = ("configs", "acls", "quotas", "scram")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Path], dict[str, Rows]]]:
    scratch = tmp_path_factory.mktemp("trio")
    trio = Trio(scratch, PROPERTIES)
    try:
        trio.start()
        with answers(trio.servers, scratch, "setup", replicas=3) as told:
            trio.kill()
        yield trio.logs, told
    finally:
        trio.stop()


@pytest.fixture(scope="module")
def told(killed: tuple[list[Path], dict[str, Rows]]) -> dict[str, Rows]:
    return killed[1]


@pytest.fixture
def logs(killed: tuple[list[Path], dict[str, Rows]], tmp_path: Path) -> list[Path]:
    """Copies of the three log directories."""
    copies = []
    for number, source in enumerate(killed[0], 1):
        copies.append(tmp_path / f"broker-{number}")
        shutil.copytree(source, copies[-1], ignore=shutil.ignore_patterns("*.index", "*.timeindex", ".lock"))
    return copies


def agree(dead: ls.Cluster, told: dict[str, Any]) -> None:
    """The metadata, groups and transactions are those that the cluster answered."""
    same([row for row in dead.topics.to_pylist() if not row["deleted"]], told["topics"])
    for view in OF_METADATA:
        same(dead.view(view).to_pylist(), told[view])  # type: ignore[arg-type]
    assert {row["feature"]: row["level"] for row in dead.features.to_pylist()} == told["features"]
    groups = {(row["group"], row["type"], row["state"]) for row in dead.groups.to_pylist()}
    assert groups == {(row["group"], row["type"], row["state"]) for row in told["groups"]}
    rows = [row for row in dead.groups.to_pylist() if row["committedOffset"] is not None and row["type"] != "share"]
    same(rows, [row for row in told["offsets"] if "lag" not in row])
    same(dead.transactions.to_pylist(), told["transactions"])


def best_ends(dead: ls.Cluster, told: dict[str, Rows]) -> Rows:
    """The ends of the best directory of each partition; a log start offset comes to followers later."""
    names = list(told["ends"][0])
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for row in dead.partitions.to_pylist():
        if row["behind"] or row["topic"] == "__cluster_metadata":
            continue
        known = found.setdefault((row["topic"], row["partition"]), {name: row[name] for name in names})
        known["logStartOffset"] = max(known["logStartOffset"], row["logStartOffset"])
    return list(found.values())


def test_everything_is_as_the_cluster_answered(logs: list[Path], told: dict[str, Rows]) -> None:
    dead = ls.cluster(*logs)
    assert {finding.rule for finding in dead.findings if finding.severity != "info"} <= set()
    assert len({row["topic"] for row in of_users(told["topics"], "topic")}) > 55
    agree(dead, told)
    assert ordered(best_ends(dead, told)) == ordered(told["ends"])
    assert {row["id"] for row in dead.brokers.to_pylist() if row["role"] == "broker"} == {1, 2, 3}
    ends = {(row["topic"], row["partition"]): row["logEndOffset"] for row in told["ends"]}
    lags = {
        (row["group"], row["topic"], row["partition"]): row["lag"] for row in dead.lag.to_pylist() if row["committedOffset"] is not None
    }
    expected = {}
    for row in told["offsets"]:
        end = ends[row["topic"], row["partition"]]
        expected[row["group"], row["topic"], row["partition"]] = row.get("lag", end - row["committedOffset"])
    assert lags == expected


def test_a_snapshot_that_was_cut_short_changes_nothing(logs: list[Path], told: dict[str, Rows]) -> None:
    newest = max((log for place in logs for log in (place / "__cluster_metadata-0").glob("*.checkpoint")), key=lambda log: log.name)
    for place in logs:
        for snapshot in (place / "__cluster_metadata-0").glob(newest.name):
            snapshot.write_bytes(snapshot.read_bytes()[:-40])
    dead = ls.cluster(*logs)
    assert {finding.rule for finding in dead.findings if finding.severity != "info"} == {"CLU-2"}
    agree(dead, told)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_the_disk_of_a_broker_is_missing(logs: list[Path], told: dict[str, Rows], missing: int) -> None:
    """The metadata and the topics of coordinators have copies; what only that disk had is reported."""
    dead = ls.cluster(*(place for number, place in enumerate(logs) if number != missing))
    agree(dead, told)
    alone = {row["topic"] for row in told["topics"] if row["replicas"] == [missing + 1]}
    lost = {finding.message.split(" partitions of ")[1].split(" ")[0] for finding in dead.findings if finding.rule == "CLU-8"}
    assert lost == alone


def test_one_copy_of_the_metadata_is_enough(logs: list[Path], told: dict[str, Rows]) -> None:
    for view in OF_METADATA:
        same(ls.cluster(logs[2]).view(view).to_pylist(), told[view])  # type: ignore[arg-type]
