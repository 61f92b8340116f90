"""What batches get wrong across each other: ORD-3, PRD and TRX."""

from __future__ import annotations

from pathlib import Path

import logsegment as ls
from building import batch, marker, message, records, simple_batch, transactional_batch
from cli_process import run

MINUTE = 60_000
#: Kafka's `transaction.max.timeout.ms` by default.
LONGEST = 15 * MINUTE


def idempotent(base_offset: int, sequence: int, *, producer: int = 7, epoch: int = 0, count: int = 2) -> bytes:
    return batch(
        records([b"v"] * count),
        count=count,
        base_offset=base_offset,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def rules(*batches: bytes) -> list[tuple[str, str, int | None]]:
    """Rule, severity and base offset of each finding."""
    return [(found.rule, found.severity, found.base_offset) for found in ls.validate(b"".join(batches)).findings]


def test_sequences_that_follow_are_fine() -> None:
    assert rules(idempotent(0, 0), idempotent(2, 0, producer=8), idempotent(4, 2), idempotent(6, 4)) == []
    assert rules(idempotent(0, 2**31 - 2), idempotent(2, 0)) == []
    # A new epoch begins anew, and a broker that has forgotten the producer takes 0.
    assert rules(idempotent(0, 8), idempotent(2, 0, epoch=1), idempotent(4, 2, epoch=1)) == []
    assert rules(idempotent(0, 8), idempotent(2, 0)) == []


def test_a_sequence_that_does_not_follow_is_reported() -> None:
    assert rules(idempotent(0, 0), idempotent(2, 5)) == [("PRD-1", "warning", 2)]
    assert rules(idempotent(0, 3), idempotent(2, 3)) == [("PRD-1", "warning", 2)]
    (found,) = ls.validate(idempotent(0, 0) + idempotent(2, 5)).findings
    assert (found.field, found.position, "is 5, expected 2" in found.message) == ("baseSequence", len(idempotent(0, 0)), True)


def test_behind_a_gap_sequences_are_not_held_against_each_other() -> None:
    """Compaction has taken batches out, or damage has."""
    assert rules(idempotent(0, 0), idempotent(4, 5)) == [("ORD-3", "info", 4)]
    lost = bytearray(idempotent(2, 2))
    lost[-1] ^= 1
    assert [rule for rule, _, _ in rules(idempotent(0, 0), bytes(lost), idempotent(4, 9))] == ["V2-31", "ORD-3"]


def test_a_marker_after_a_gap_is_not_the_batch_before() -> None:
    """A compacted transactional topic: the batches between the first one and the last one are gone, the markers are left."""
    first, last = transactional_batch([b"a", b"b"], 7, 0), transactional_batch([b"c"], 7, 21, sequence=12)
    kept = rules(first, marker(1, 7, 2), marker(1, 7, 20), last, marker(1, 7, 22))
    assert [rule for rule, severity, _ in kept if severity == "warning"] == []
    # Without a gap the sequence must go on.
    assert ("PRD-1", "warning", 3) in rules(first, marker(1, 7, 2), transactional_batch([b"c"], 7, 3, sequence=12))


def test_an_older_epoch_is_reported() -> None:
    assert rules(idempotent(0, 0, epoch=3), idempotent(2, 0, epoch=2)) == [("PRD-2", "warning", 2)]


def test_a_transaction_that_ends_is_fine() -> None:
    data = transactional_batch([b"a", b"b"], 7, 0)
    assert rules(data) == []
    assert rules(data, marker(1, 7, 2)) == []
    # A marker of transactions of the second version has the next epoch (CTL-7).
    assert rules(data, marker(0, 7, 2, epoch=1)) == []


def test_a_transaction_that_the_log_has_left_behind_hangs() -> None:
    hanging = transactional_batch([b"a"], 7, 0)
    in_time = batch(records([b"b"]), count=1, base_offset=1, base_timestamp=LONGEST)
    late = batch(records([b"b"]), count=1, base_offset=1, base_timestamp=LONGEST + 1)
    assert rules(hanging, in_time) == []
    assert rules(hanging, late) == [("TRX-2", "warning", 0)]


def test_a_batch_outside_of_the_transaction_of_its_producer_is_reported() -> None:
    found = rules(transactional_batch([b"a", b"b"], 7, 0), idempotent(2, 2), marker(1, 7, 4))
    assert found == [("TRX-4", "warning", 2)]


def test_behind_a_gap_a_batch_outside_ends_the_transaction() -> None:
    """Its marker may lie in the gap: nothing is wrong, and nothing hangs at the end."""
    late = batch(records([b"z"]), count=1, base_offset=11, base_timestamp=LONGEST + 1)
    found = rules(transactional_batch([b"a", b"b"], 7, 0), idempotent(9, 2), late)
    assert found == [("ORD-3", "info", 9)]
    # Without the batch outside it would hang.
    assert ("TRX-2", "warning", 0) in rules(transactional_batch([b"a", b"b"], 7, 0), late)


def test_transactions_are_followed_through_the_segments_of_a_log(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    first, second = directory / "00000000000000000000.log", directory / "00000000000000000002.log"
    first.write_bytes(transactional_batch([b"a", b"b"], 7, 0))
    late = batch(records([b"z"]), count=1, base_offset=3, base_timestamp=LONGEST + 1)

    def hanging() -> list[tuple[int | None, bool]]:
        found = ls.Log(directory).validate().findings
        return [(finding.base_offset, finding.path.startswith(str(first))) for finding in found if finding.rule == "TRX-2"]

    second.write_bytes(marker(1, 7, 2) + late)
    assert hanging() == []
    second.write_bytes(simple_batch([b"y"], 2) + late)
    assert hanging() == [(0, True)]


def test_the_marker_may_be_in_the_next_segment(tmp_path: Path) -> None:
    """`verify` reads the segments one by one; a transaction hangs only if no segment has its marker."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    first, second = directory / "00000000000000000000.log", directory / "00000000000000000003.log"
    opened = transactional_batch([b"a", b"b"], 7, 0) + batch(records([b"z"]), count=1, base_offset=2, base_timestamp=LONGEST + 1)
    first.write_bytes(opened)
    second.write_bytes(marker(1, 7, 3))
    assert run("verify", "--fail-on", "warning", directory).code == 0
    assert ls.Log(directory).validate().counts["warning"] == 0
    second.write_bytes(batch(records([b"y"]), count=1, base_offset=3, base_timestamp=LONGEST + 2))
    done = run("verify", "--fail-on", "warning", "--json", directory)
    (found,) = [row for row in done.lines if row["type"] == "finding" and row["severity"] == "warning"]
    assert (done.code, found["rule"], found["baseOffset"]) == (1, "TRX-2", 0)
    assert found["path"].startswith(str(first))
    (same,) = [finding for finding in ls.Log(directory).validate().findings if finding.severity == "warning"]
    assert (same.rule, same.base_offset, same.path) == (found["rule"], found["baseOffset"], found["path"])


def told(*batches: bytes) -> list[tuple[str, int | None, str]]:
    """Rule, base offset and message of each finding; all are information."""
    found = ls.validate(b"".join(batches)).findings
    assert {finding.severity for finding in found} <= {"info"}
    return [(finding.rule, finding.base_offset, finding.message) for finding in found]


def test_ord_3_offsets_that_no_batch_has_are_reported() -> None:
    assert told(simple_batch([b"a", b"b"], 0), simple_batch([b"c"], 2)) == []
    assert told(simple_batch([b"a", b"b"], 0), simple_batch([b"c"], 9)) == [("ORD-3", 9, "offsets 2 to 8 are missing before the batch")]
    # What is before the first batch was deleted by age, as always.
    assert told(simple_batch([b"a"], 700)) == []


def test_ord_3_says_when_compaction_was_there() -> None:
    thinned = batch(records([b"a"]), count=1, last_offset_delta=4, base_offset=0)
    gap = ("ORD-3", 9, "offsets 5 to 8 are missing before the batch, as compaction leaves it")
    assert told(thinned, simple_batch([b"c"], 9)) == [gap]


def test_ord_3_says_what_is_lost_with_damage() -> None:
    lost = bytearray(simple_batch([b"b", b"b"], 1))
    lost[-1] ^= 1
    found = ls.validate(simple_batch([b"a"], 0) + bytes(lost) + simple_batch([b"c"], 3)).findings
    assert [(finding.rule, finding.severity) for finding in found] == [("V2-31", "error"), ("ORD-3", "info")]
    assert found[1].message.startswith("offsets 1 to 2 are missing before the batch: they are lost with the skipped bytes")


def test_ord_3_many_gaps_are_counted() -> None:
    """A compacted log may have a gap before every batch; errors must not drown in them."""
    found = told(*(simple_batch([b"v"], base) for base in range(0, 200, 2)))
    assert [base for _, base, _ in found] == [2, 4, 6, 8, 10, 12, 14, 16, None]
    assert found[-1][2].startswith("91 more findings of this rule")


def test_ord_3_of_messages_and_across_segments(tmp_path: Path) -> None:
    one, other = message(b"a", magic=1, offset=0), message(b"b", magic=1, offset=5)
    assert [found[:2] for found in told(one, other)] == [("ORD-3", 5)]
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / "00000000000000000000.log").write_bytes(simple_batch([b"a"], 0))
    (directory / "00000000000000000007.log").write_bytes(simple_batch([b"a"], 7))
    found = [finding for finding in ls.Log(directory).validate().findings if finding.rule == "ORD-3"]
    assert [(segment.base_offset, "00000000000000000007.log" in segment.path) for segment in found] == [(7, True)]


def test_trx_1_a_marker_without_data_is_reported() -> None:
    data = transactional_batch([b"a", b"b"], 7, 0)
    assert [item[:2] for item in told(data, marker(1, 7, 2), marker(0, 7, 3))] == [("TRX-1", 3)]
    # From offset 0 on, all that there ever was is here.
    assert [item[:2] for item in told(marker(0, 7, 0))] == [("TRX-1", 0)]
    assert [item[:2] for item in told(simple_batch([b"a"], 0), marker(0, 7, 1))] == [("TRX-1", 1)]


def test_trx_1_data_may_be_in_a_gap_or_before_the_log() -> None:
    data = transactional_batch([b"a", b"b"], 7, 0)
    assert told(marker(0, 7, 12)) == []
    assert [item[0] for item in told(data, marker(1, 7, 2), marker(0, 7, 9))] == ["ORD-3"]


def test_trx_3_a_coordinator_of_an_older_epoch_is_reported() -> None:
    data, again = transactional_batch([b"a"], 7, 0), transactional_batch([b"a"], 7, 2, sequence=1)
    ends = marker(1, 7, 1, coordinator_epoch=4)
    assert rules(data, ends, again, marker(1, 7, 3, coordinator_epoch=4)) == []
    assert rules(data, ends, again, marker(1, 7, 3, coordinator_epoch=3)) == [("TRX-3", "warning", 3)]


def test_trx_3_is_not_reported_over_a_gap() -> None:
    """A broker forgets a producer that is silent for long, and the coordinator's epoch with it; a copy may hold pieces of several logs."""
    data, ends = transactional_batch([b"a"], 7, 0), marker(1, 7, 1, coordinator_epoch=4)
    far = transactional_batch([b"a"], 7, 9, sequence=1)
    assert rules(data, ends, far, marker(1, 7, 10, coordinator_epoch=3)) == [("ORD-3", "info", 9)]
    # Behind the gap they are held against each other again.
    behind = rules(data, ends, far, marker(1, 7, 10, coordinator_epoch=3), marker(1, 7, 11, coordinator_epoch=2))
    assert ("TRX-3", "warning", 11) in behind


def test_offsets_that_are_there_are_not_missing_behind_a_copy() -> None:
    """ORD-3 beside ORD-1: what stood before is not forgotten."""
    first, second, last = simple_batch([b"a", b"b"], 0), simple_batch([b"c", b"d"], 2), simple_batch([b"e"], 4)
    found = ls.validate(first + second + first + last).findings
    assert [(finding.rule, finding.severity) for finding in found] == [("ORD-1", "warning")]
