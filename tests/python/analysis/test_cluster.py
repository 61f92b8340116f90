"""What log directories show of a cluster: of one that was killed, of copies that disagree, of damaged and missing files."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from logsegment.analysis.cluster import VIEWS

KILLED = corpus.TESTS / "cluster/broker"
MODERN = corpus.CORPUS / "modern-4.1.0/data"
METADATA = "__cluster_metadata-0"
FIRST = "00000000000000000000.log"


def copied(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target


def rules(found: ls.Cluster, *, least: str = "warning") -> list[tuple[str, str]]:
    return [(finding.rule, finding.severity) for finding in found.findings if least != "warning" or finding.severity != "info"]


def rows(found: ls.Cluster, view: Any, **where: Any) -> list[dict[str, Any]]:
    return [row for row in found.view(view).to_pylist() if all(row[name] == value for name, value in where.items())]


def lag_of(found: ls.Cluster, group: str, topic: str, partition: int) -> dict[str, Any]:
    (row,) = rows(found, "lag", group=group, topic=topic, partition=partition)
    return row


def test_the_tables_of_a_killed_broker() -> None:
    found = ls.cluster(KILLED)
    assert rules(found) == []
    assert {view: found.view(view).num_rows for view in VIEWS} == {
        "topics": 28,
        "brokers": 2,
        "configs": 27,
        "acls": 5,
        "quotas": 5,
        "scram": 3,
        "features": 6,
        "partitions": 23,
        "groups": 15,
        "lag": 13,
        "transactions": 3,
        "producers": 13,
    }
    states = {row["group"]: (row["type"], row["state"], row["protocol"]) for row in found.groups.to_pylist()}
    assert states["classic"] == ("classic", "Stable", "consumer")
    assert states["modern"] == ("consumer", "Stable", "consumer")
    assert states["sharing"] == ("share", "Empty", "share")
    assert states["simple"] == ("classic", "Empty", "")
    late = lag_of(found, "classic", "orders", 0)
    assert (late["committedOffset"], late["logEndOffset"], late["lag"], late["problem"]) == (3, 5, 2, None)
    (open_one,) = rows(found, "transactions", state="Ongoing")
    assert open_one["partitions"] == ["payments-0", "payments-1"]
    assert rows(found, "partitions", topic="payments", partition=0)[0]["lastStableOffset"] == 4


def test_a_deleted_topic_stays_in_the_table() -> None:
    found = ls.cluster(KILLED)
    assert {row["topic"] for row in rows(found, "topics", deleted=True)} == {"deleted", "again"}
    assert len({row["topicId"] for row in rows(found, "topics", topic="again")}) == 2


def test_values_that_may_be_secrets_are_hidden_everywhere() -> None:
    found = ls.cluster(KILLED)
    (row,) = rows(found, "configs", value="(hidden)")
    assert row["name"] == "listener.name.plaintext.plain.sasl.jaas.config"
    shown = f"{found.to_dict()}{found.plan().to_dict()}{found.plan().to_sh()}"
    assert b"hunter2" in (KILLED / METADATA / FIRST).read_bytes()
    assert "hunter2" not in shown
    assert {tuple(row) for row in found.scram.to_pylist()} == {("user", "mechanism", "iterations")}


def test_tables_are_arrow_and_everything_fits_into_json() -> None:
    found = ls.cluster(KILLED)
    table = pa.table(found.topics)
    assert table.schema.field("replicas").type == pa.list_(pa.field("item", pa.int32()))
    assert found.lag.to_polars().height == 13
    assert set(found.to_dict()) == {"clusterIds", "metadataOffset", *VIEWS, "findings"}
    with pytest.raises(ValueError, match="there is no view 'nothing'"):
        found.view("nothing")  # type: ignore[arg-type]


def test_paths_that_have_nothing_of_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        ls.cluster()
    with pytest.raises(FileNotFoundError):
        ls.cluster(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        ls.cluster(tmp_path)


def test_a_zookeeper_era_directory_says_what_it_lacks() -> None:
    found = ls.cluster(corpus.CORPUS / "legacy-2.4.1/data")
    assert ("CLU-1", "warning") in rules(found)
    topic = rows(found, "topics", topic="codec-lz4")[0]
    assert (topic["partition"], topic["leader"], topic["isr"], topic["topicId"]) == (0, None, None, None)
    assert found.configs.num_rows == found.acls.num_rows == 0
    assert found.metadata_offset is None
    assert rows(found, "partitions", topic="codec-lz4")[0]["logEndOffset"] > 0


@pytest.mark.parametrize("cut", [1, 100, 3000])
def test_a_snapshot_that_is_cut_gives_way_to_an_older_one(tmp_path: Path, cut: int) -> None:
    whole = ls.cluster(MODERN)
    place = copied(MODERN, tmp_path / "data")
    newest = max((place / METADATA).glob("*.checkpoint"))
    newest.write_bytes(newest.read_bytes()[:-cut])
    found = ls.cluster(place)
    assert [finding.path.rpartition("@")[0] for finding in found.findings if finding.rule == "CLU-2"] == [str(newest)]
    assert ("CLU-2", "warning") in rules(found)
    for view in ("topics", "configs", "features", "brokers"):
        assert drop_paths(found, view) == drop_paths(whole, view)


def drop_paths(found: ls.Cluster, view: Any) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in ("path", "paths")} for row in found.view(view).to_pylist()]


def test_snapshots_without_a_log_are_enough_for_what_they_hold(tmp_path: Path) -> None:
    (tmp_path / METADATA).mkdir()
    newest = max((MODERN / METADATA).glob("*.checkpoint"))
    shutil.copy(newest, tmp_path / METADATA)
    found = ls.cluster(tmp_path)
    assert {row["topic"] for row in found.topics.to_pylist()} == {row["topic"] for row in rows(ls.cluster(MODERN), "topics", deleted=False)}
    assert found.metadata_offset == int(newest.name[:20])
    assert ("CLU-8", "warning") in rules(found)


def test_every_snapshot_and_the_log_after_it_give_the_same_metadata(tmp_path: Path) -> None:
    """The log alone, and each snapshot with the rest of the log: a replay of either is the state of the controller."""
    whole = ls.cluster(MODERN)
    snapshots = sorted((MODERN / METADATA).glob("*.checkpoint"))
    assert len(snapshots) == 6
    for number, snapshot in enumerate([None, *snapshots]):
        place = tmp_path / f"{number}" / METADATA
        place.mkdir(parents=True)
        shutil.copy(MODERN / METADATA / FIRST, place)
        if snapshot is not None:
            shutil.copy(snapshot, place)
        found = ls.cluster(place.parent)
        for view in ("topics", "configs", "acls", "features"):
            assert found.view(view).to_pylist() == whole.view(view).to_pylist(), (snapshot, view)


def later_log(place: Path, offset: int) -> None:
    """Cut the metadata log so that it begins at an offset."""
    log = place / METADATA / FIRST
    data = log.read_bytes()
    for row in ls.batches(log).to_pylist():
        if row["baseOffset"] >= offset:
            (log.parent / f"{row['baseOffset']:020}.log").write_bytes(data[row["position"] :])
            break
    log.unlink()
    for sidecar in (*log.parent.glob("*.index"), *log.parent.glob("*.timeindex"), *log.parent.glob("*.snapshot")):
        sidecar.unlink()


def test_a_log_that_begins_after_all_snapshots_has_a_gap(tmp_path: Path) -> None:
    place = copied(MODERN, tmp_path / "data")
    for snapshot in sorted((place / METADATA).glob("*.checkpoint"))[3:]:
        snapshot.unlink()
    later_log(place, 150)
    found = ls.cluster(place)
    (gap,) = [finding for finding in found.findings if finding.rule == "CLU-3"]
    assert gap.severity == "error"
    assert "offsets 129 to " in gap.message
    assert rows(found, "topics", topic="codec-lz4")


def test_the_newest_snapshot_counts_where_the_log_begins_later(tmp_path: Path) -> None:
    place = copied(MODERN, tmp_path / "data")
    later_log(place, 182)
    found, whole = ls.cluster(place), ls.cluster(MODERN)
    assert "CLU-3" not in dict(rules(found))
    assert found.topics.to_pylist() == whole.topics.to_pylist()


def shortened(log: Path, batches: int) -> None:
    """Keep the first batches of a log."""
    end = ls.batches(log).to_pylist()[batches]["position"]
    log.write_bytes(log.read_bytes()[:end])


def test_the_longest_copy_counts_and_the_others_are_behind(tmp_path: Path) -> None:
    best, behind = copied(KILLED, tmp_path / "a"), copied(KILLED, tmp_path / "b")
    shortened(behind / "orders-0" / FIRST, 2)
    shortened(behind / METADATA / FIRST, 20)
    shortened(behind / "__consumer_offsets-0" / FIRST, 3)
    found, alone = ls.cluster(behind, best), ls.cluster(best)
    copies = rows(found, "partitions", topic="orders", partition=0)
    assert [(Path(row["path"]).parent.name, row["logEndOffset"], row["behind"]) for row in copies] == [("a", 5, False), ("b", 2, True)]
    assert ("CLU-4", "info") in rules(found, least="info")
    assert rules(found) == []
    for view in ("topics", "configs", "groups", "lag", "transactions"):
        assert found.view(view).to_pylist() == alone.view(view).to_pylist(), view


def test_a_missing_disk_leaves_lag_unknown_and_is_reported(tmp_path: Path) -> None:
    place = copied(KILLED, tmp_path / "a")
    for directory in place.glob("orders-*"):
        shutil.rmtree(directory)
    found = ls.cluster(place)
    (missing,) = [finding for finding in found.findings if finding.rule == "CLU-8"]
    assert "3 of the 3 partitions of orders" in missing.message
    row = lag_of(found, "classic", "orders", 0)
    assert (row["committedOffset"], row["lag"], row["problem"]) == (3, None, "no directory of the partition is here")


def test_a_directory_of_another_topic_of_the_same_name_does_not_count(tmp_path: Path) -> None:
    place = copied(KILLED, tmp_path / "a")
    (place / "orders-0/partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    found = ls.cluster(place)
    assert ("CLU-9", "warning") in rules(found)
    assert lag_of(found, "classic", "orders", 0)["problem"] == "no directory of the partition is here"


def test_directories_of_two_clusters_are_told_apart(tmp_path: Path) -> None:
    found = ls.cluster(KILLED, MODERN)
    assert ("CLU-6", "warning") in rules(found)
    assert len(found.cluster_ids) == 2


def commit(group: str, topic: str, offset: int) -> tuple[bytes, bytes]:
    """Key and value of an offset commit."""

    def text(value: str) -> bytes:
        return struct.pack(">h", len(value)) + value.encode()

    key = struct.pack(">h", 1) + text(group) + text(topic) + struct.pack(">i", 0)
    return key, struct.pack(">hqi", 3, offset, -1) + text("") + struct.pack(">q", 1000)


def test_offsets_of_topics_that_are_gone_say_so(tmp_path: Path) -> None:
    place = copied(KILLED, tmp_path / "a")
    log = place / "__consumer_offsets-0" / FIRST
    end = ls.batches(log).to_pylist()[-1]["lastOffset"] + 1
    made = [commit("late", topic, 7) for topic in ("deleted", "never", "quiet")]
    keys, values = zip(*made, strict=True)
    more = ls.encode(pa.table({"key": list(keys), "value": list(values)}), base_offset=end)
    log.write_bytes(log.read_bytes() + more)
    found = ls.cluster(place)
    problems = {row["topic"]: row["problem"] for row in rows(found, "lag", group="late")}
    assert problems == {
        "deleted": "the topic was deleted",
        "never": "the metadata does not have the topic",
        "quiet": "the offset is after the log end offset 0",
    }
    omitted = " ".join(found.plan().document["omitted"])
    assert "group late in deleted-0" in omitted


def test_damage_in_the_metadata_log_is_reported_and_passed(tmp_path: Path) -> None:
    place = copied(KILLED, tmp_path / "a")
    log = place / METADATA / FIRST
    data = bytearray(log.read_bytes())
    target = ls.batches(log).to_pylist()[-3]
    data[target["position"] + 70] ^= 1
    log.write_bytes(data)
    found = ls.cluster(place)
    assert [finding.severity for finding in found.findings if finding.rule == "V2-31"] == ["error"]
    assert found.topics.num_rows > 0


@pytest.mark.parametrize("topic", [METADATA, "__consumer_offsets-0", "__transaction_state-0", "__share_group_state-0"])
@pytest.mark.parametrize("seed", range(6))
def test_valid_batches_of_mutated_records_never_fail(tmp_path: Path, topic: str, seed: int) -> None:
    """Records with flipped, cut and repeated bytes in batches with valid checksums: findings at most, and the other records count."""
    chance = random.Random(f"{topic}{seed}")
    log = KILLED / topic / FIRST
    table = ls.decode(log, columns=["key", "value", "offset"]).to_pyarrow()
    mutated = [mutate(value, chance) for value in table["value"].to_pylist()]
    keys = [mutate(key, chance) if topic != METADATA else key for key in table["key"].to_pylist()]
    place = tmp_path / topic / FIRST
    place.parent.mkdir()
    place.write_bytes(ls.encode(pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array(mutated, pa.binary())}), base_offset=0))
    found = ls.cluster(tmp_path)
    assert {finding.rule for finding in found.findings} <= {"INT-1", "INT-2", "CLU-1", "CLU-5", "CLU-8"}
    assert all(found.view(view).num_rows >= 0 for view in VIEWS)
    assert found.plan().to_sh()


def mutate(data: bytes | None, chance: random.Random) -> bytes | None:
    """Return some bytes as they are, others with a flipped bit, cut, longer, or with large numbers in them."""
    if data is None or chance.random() < 0.5:
        return data
    changed = bytearray(data)
    at = chance.randrange(len(changed) + 1)
    match chance.randrange(4):
        case 0 if at < len(changed):
            changed[at] ^= 1 << chance.randrange(8)
        case 1:
            del changed[at:]
        case 2:
            changed[at:at] = changed[:at]
        case _:
            changed[at : at + 4] = b"\xff\xff\xff\x7f"
    return bytes(changed)


def test_memory_is_bounded_by_the_bytes_that_are_there(tmp_path: Path) -> None:
    """A partition record that claims two billion replicas, and one that has a million."""
    claim = bytes([1, 3, 0]) + bytes(4) + bytes(16) + b"\xff\xff\xff\xff\x07"
    long = bytes([1, 3, 0]) + bytes(4) + bytes(16) + b"\xc1\x84\x3d" + bytes(4_000_000)
    data = ls.encode(pa.table({"value": [claim, long + bytes(40)]}), base_offset=0)
    place = tmp_path / METADATA / FIRST
    place.parent.mkdir()
    place.write_bytes(data)
    found = ls.cluster(tmp_path)
    assert [finding.rule for finding in found.findings if finding.rule.startswith("INT")] == ["INT-2", "INT-2"]
