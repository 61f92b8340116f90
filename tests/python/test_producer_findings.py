"""What producers and transactions get wrong across batches: PRD and TRX."""

from __future__ import annotations

from pathlib import Path

import logsegment as ls
from building import batch, marker, records, simple_batch, transactional_batch

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
    return [(found.rule, found.severity, found.baseOffset) for found in ls.validate(b"".join(batches)).findings]


def test_sequences_that_follow_are_fine() -> None:
    assert rules(idempotent(0, 0), idempotent(2, 0, producer=8), idempotent(4, 2), idempotent(6, 4)) == []
    assert rules(idempotent(0, 2**31 - 2), idempotent(2, 0)) == []
    # A new epoch begins anew, and a broker that has forgotten the producer takes 0.
    assert rules(idempotent(0, 8), idempotent(2, 0, epoch=1), idempotent(4, 2, epoch=1)) == []
    assert rules(idempotent(0, 8), idempotent(2, 0)) == []


def test_a_sequence_that_does_not_follow_is_told() -> None:
    assert rules(idempotent(0, 0), idempotent(2, 5)) == [("PRD-1", "warning", 2)]
    assert rules(idempotent(0, 3), idempotent(2, 3)) == [("PRD-1", "warning", 2)]
    (found,) = ls.validate(idempotent(0, 0) + idempotent(2, 5)).findings
    assert (found.field, found.position, "should go on with 2, and is 5" in found.message) == ("baseSequence", len(idempotent(0, 0)), True)


def test_behind_a_gap_sequences_are_not_held_against_each_other() -> None:
    """Compaction has taken batches out, or damage has."""
    assert rules(idempotent(0, 0), idempotent(4, 5)) == []
    lost = bytearray(idempotent(2, 2))
    lost[-1] ^= 1
    assert [rule for rule, _, _ in rules(idempotent(0, 0), bytes(lost), idempotent(4, 9))] == ["V2-31"]


def test_an_older_epoch_is_told() -> None:
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


def test_a_batch_outside_of_the_transaction_of_its_producer_is_told() -> None:
    found = rules(transactional_batch([b"a", b"b"], 7, 0), idempotent(2, 2), marker(1, 7, 4))
    assert found == [("TRX-4", "warning", 2)]


def test_transactions_are_followed_through_the_segments_of_a_log(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    first, second = directory / "00000000000000000000.log", directory / "00000000000000000002.log"
    first.write_bytes(transactional_batch([b"a", b"b"], 7, 0))
    late = batch(records([b"z"]), count=1, base_offset=3, base_timestamp=LONGEST + 1)

    def hanging() -> list[tuple[int | None, bool]]:
        found = ls.Log(directory).validate().findings
        return [(one.baseOffset, one.path.startswith(str(first))) for one in found if one.rule == "TRX-2"]

    second.write_bytes(marker(1, 7, 2) + late)
    assert hanging() == []
    second.write_bytes(simple_batch([b"y"], 2) + late)
    assert hanging() == [(0, True)]
