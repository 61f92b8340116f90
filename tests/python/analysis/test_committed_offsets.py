"""The offsets that groups have committed: transactional commits count at their marker, plain ones at once (KIP-98)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpus
import logsegment as ls
from building import batch, marker, records

FINDS = corpus.TESTS / "support" / "finds"


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def key(group: str, *, topic: str = "orders", partition: int = 0, version: int = 1) -> bytes:
    return struct.pack(">h", version) + text(group) + text(topic) + struct.pack(">i", partition)


def value(offset: int, *, version: int = 3) -> bytes:
    if version == 1:
        return struct.pack(">hq", 1, offset) + text("note") + struct.pack(">qq", 1000, 2000)
    return struct.pack(">hqi", 3, offset, 5) + text("note") + struct.pack(">q", 1000)


def commit(at: int, group: str, offset: int | None, *, producer: int = -1, **options: Any) -> bytes:
    """A batch with one commit; in a transaction if there is a producer. None is a tombstone."""
    row = pa.table({"key": [key(group)], "value": pa.array([None if offset is None else value(offset, **options)], pa.binary())})
    of_producer = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0, "transactional": True} if producer >= 0 else {}
    return ls.encode(row, base_offset=at, **of_producer)


def committed(*batches: bytes, **options: Any) -> dict[str, int]:
    return {offset.group: offset.committed_offset for offset in ls.committed_offsets(b"".join(batches), **options)}


def test_an_aborted_commit_never_counts() -> None:
    """The bytes of a public report: 100 by a plain commit, 500 in a transaction that was aborted."""
    (found,) = ls.committed_offsets(FINDS)
    assert (found.group, found.topic, found.partition, found.committed_offset) == ("streams-app", "orders", 0, 100)


def test_the_corpus_has_a_commit_of_each_kind() -> None:
    """Plain commits of 200 and 7, then 9 in a transaction that was committed, and 11 in one that was aborted; a deleted group."""
    place = corpus.CORPUS / "modern-4.1.0" / "data" / "__consumer_offsets-1"
    found = {(offset.group, offset.topic, offset.partition): offset.committed_offset for offset in ls.committed_offsets(place)}
    multi = {("corpus-group-classic", "multi-segment", number): 32 for number in range(3)}
    assert found == {("corpus-group-classic", "codec-lz4", 0): 9} | multi


def test_commits_count_at_their_marker_and_plain_ones_at_once() -> None:
    plain, other = commit(0, "g", 100), commit(2, "h", 7)
    pending = commit(1, "g", 500, producer=9)
    assert committed(plain, pending, other) == {"g": 100, "h": 7}, "an open transaction holds back nothing of others"
    assert committed(plain, pending, other, marker(1, 9, 3)) == {"g": 500, "h": 7}
    assert committed(plain, pending, other, marker(0, 9, 3)) == {"g": 100, "h": 7}
    assert committed(plain, pending, other, marker(1, 8, 3)) == {"g": 100, "h": 7}, "the marker of another producer"
    rows = ls.committed_offsets(b"".join([plain, pending, other])).to_dict()["offsets"]
    assert [(row["group"], row["isPending"]) for row in rows] == [("g", True), ("h", False)]


def test_the_newest_record_counts_and_not_the_newest_marker() -> None:
    assert committed(commit(0, "g", 1, producer=9), commit(1, "g", 2), marker(1, 9, 2)) == {"g": 2}
    assert committed(commit(0, "g", 1), commit(1, "g", 2, producer=9), marker(1, 9, 2)) == {"g": 2}


def test_a_tombstone_deletes_committed_and_pending_offsets() -> None:
    assert committed(commit(0, "g", 1), commit(1, "g", 2, producer=9), commit(2, "g", None), marker(1, 9, 3)) == {}
    assert committed(commit(0, "g", 1), commit(1, "g", None), commit(2, "g", 3)) == {"g": 3}


def test_fields_of_old_and_new_commits() -> None:
    old, new = ls.committed_offsets(commit(0, "g", 1, version=1) + commit(1, "h", 2)).to_arrow().to_pylist()
    assert (old["metadata"], old["commitTimestamp"], old["expireTimestamp"], old["leaderEpoch"]) == ("note", 1000, 2000, None)
    assert (new["metadata"], new["commitTimestamp"], new["expireTimestamp"], new["leaderEpoch"]) == ("note", 1000, None, 5)


def test_transactions_go_on_in_the_next_segment_and_trees_have_other_topics(tmp_path: Path) -> None:
    directory, other = tmp_path / "__consumer_offsets-0", tmp_path / "orders-0"
    directory.mkdir()
    other.mkdir()
    (directory / f"{0:020}.log").write_bytes(commit(0, "g", 100) + commit(1, "g", 500, producer=9))
    (directory / f"{2:020}.log").write_bytes(marker(1, 9, 2))
    (other / f"{0:020}.log").write_bytes(batch(records([b"a"]), count=1))
    for source in (tmp_path, [directory], ls.Log(directory)):
        assert [(offset.group, offset.committed_offset, offset.path) for offset in ls.committed_offsets(source)] == [
            ("g", 500, str(directory))
        ]
    with pytest.raises(ValueError, match="no log of __consumer_offsets, only of orders"):
        ls.committed_offsets(other)


def test_damage_raises_or_leaves_open_transactions_undecided() -> None:
    damaged = bytearray(commit(2, "h", 7))
    damaged[-1] ^= 1
    data = commit(0, "g", 100) + commit(1, "g", 500, producer=9) + bytes(damaged) + marker(1, 9, 3)
    with pytest.raises(ls.ChecksumError):
        list(ls.committed_offsets(data))
    found = ls.committed_offsets(data, on_error="skip")
    assert [commit.committed_offset for commit in found] == [100]
    assert "V2-31" in {finding.rule for finding in found.findings}


def test_a_commit_of_a_later_release_is_a_finding_and_takes_the_offset_away() -> None:
    later = ls.encode(pa.table({"key": [key("g")], "value": [struct.pack(">h", 99)]}), base_offset=1)
    found = ls.committed_offsets(commit(0, "g", 1) + later)
    assert list(found) == []
    assert [(finding.rule, finding.base_offset) for finding in found.findings] == [("INT-1", 1)]


STEPS = st.lists(
    st.tuples(st.sampled_from(["plain", "pending", "tombstone", "commit", "abort"]), st.sampled_from("gh"), st.integers(1, 2)), max_size=12
)


@given(steps=STEPS)
def test_any_order_gives_what_a_group_coordinator_would(steps: list[tuple[str, str, int]]) -> None:
    """Held against KIP-98 in a few lines, in which each commit has its offset in the log."""
    state: dict[str, int] = {}
    pending: dict[int, dict[str, int]] = {1: {}, 2: {}}
    log = []
    for at, (step, group, producer) in enumerate(steps):
        if step == "plain":
            log.append(commit(at, group, at))
            state[group] = at
        elif step == "pending":
            log.append(commit(at, group, at, producer=producer))
            pending[producer][group] = at
        elif step == "tombstone":
            log.append(commit(at, group, None))
            for known in (state, *pending.values()):
                known.pop(group, None)
        else:
            log.append(marker(int(step == "commit"), producer, at))
            ended, pending[producer] = pending[producer], {}
            if step == "commit":
                state |= {group: max(offset, state.get(group, -1)) for group, offset in ended.items()}
    assert committed(*log) == state if log else True
