"""Damage to a valid segment: nothing panics, nothing that a checksum covers changes unseen, memory stays within the limits.

Two classes of fields are held apart (V2-4). Covered: from the attributes on; a flip there, or in the checksum itself, is a checksum
error at that batch, and costs that batch only. Uncovered: base offset, batch length, leader epoch, magic; a flip may change what the
field holds, and is a finding where its neighbours contradict it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import building
import corpus
import logsegment as ls
from damage import CODECS, assert_unchanged, codecs, contents, flipped, originals, per_codec, place, positions, search, seed, verdicts
from slow import slow_after

#: Where the checksum stands; what is before it is covered by none.
CHECKSUM_START = 17


# Covered fields.


@pytest.mark.parametrize("codec", slow_after(2, CODECS))
def test_every_bit_of_a_covered_header_field_is_a_checksum_error(codec: str):
    """V2-31: checksum, attributes, lastOffsetDelta, timestamps, producer fields, count."""
    data, spans = seed(codec)
    for index, (start, _) in enumerate(spans):
        for at in range(start + CHECKSUM_START, start + building.HEADER_LEN):
            for bit in range(8):
                assert_costs_only(codec, flipped(data, at, 1 << bit), index)


@search
@given(codecs, positions, st.integers(1, 255))
def test_any_flip_in_the_records_is_a_checksum_error(codec: str, share: float, mask: int):
    """V2-31."""
    data, spans = seed(codec)
    at = place(data, share)
    index = next(index for index, (_, end) in enumerate(spans) if at < end)
    if at - spans[index][0] >= CHECKSUM_START:
        assert_costs_only(codec, flipped(data, at, mask), index)


def assert_costs_only(codec: str, damaged: bytes, index: int) -> None:
    """A checksum error at the damaged batch; the others come out as they were."""
    start = seed(codec)[1][index][0]
    error, report = verdicts(damaged)
    assert isinstance(error, ls.ChecksumError)
    assert (error.rule, error.position, error.kafka_error_code) == ("V2-31", start, 2)
    assert [finding.position for finding in report.findings if finding.severity == "error"] == [start]
    others = [content for other, content in enumerate(originals(codec)) if other != index]
    assert list(contents(damaged, on_error="skip").values()) == others


# Uncovered fields.


@per_codec
def test_every_bit_of_the_base_offset_moves_its_batch_and_nothing_else(codec: str):
    """V2-4, V2-5; ORD-1 and FND-3 where the neighbours contradict."""
    data, spans = seed(codec)
    bounds = [(row["baseOffset"], row["lastOffset"]) for row in corpus.rows_of(ls.batches(data))]
    for index, (start, _) in enumerate(spans):
        for at, mask in bits_of(start, 8):
            damaged = flipped(data, at, mask)
            error, report = verdicts(damaged)
            assert error is None
            assert list(contents(damaged).values()) == originals(codec)
            moved = moved_bounds(bounds, index, damaged[start : start + 8])
            rules = {finding.rule for finding in report.findings}
            assert bool(rules & {"ORD-1", "FND-3"}) == is_contradicted(moved)


def moved_bounds(bounds: list[tuple[int, int]], index: int, field: bytes) -> list[tuple[int, int]]:
    first, last = bounds[index]
    base = int.from_bytes(field, "big", signed=True)
    return [*bounds[:index], (base, base + last - first), *bounds[index + 1 :]]


def is_contradicted(bounds: list[tuple[int, int]]) -> bool:
    """Offsets that go back, are negative or do not fit 64 bits."""
    goes_back = any(after[0] <= before[1] for before, after in itertools.pairwise(bounds))
    return goes_back or any(first < 0 or last >= 1 << 63 for first, last in bounds)


@per_codec
def test_every_bit_of_the_leader_epoch_changes_only_the_epoch(codec: str):
    """V2-4; ORD-2 where the epochs go back or are below -1 (none)."""
    data, spans = seed(codec)
    for start, _ in spans:
        for at, mask in bits_of(start + 12, 4):
            damaged = flipped(data, at, mask)
            error, report = verdicts(damaged)
            assert error is None
            assert list(contents(damaged).values()) == originals(codec)
            epochs = [int.from_bytes(damaged[start + 12 : start + 16], "big", signed=True) for start, _ in spans]
            known = [0, *(epoch for epoch in epochs if epoch != -1)]
            goes_back = any(after < before for before, after in itertools.pairwise(known))
            assert ("ORD-2" in {finding.rule for finding in report.findings}) == goes_back


@per_codec
def test_every_bit_of_the_magic_is_an_error_that_names_it(codec: str):
    """L8-13, MAP-3: the batch is lost, the others are not."""
    data, spans = seed(codec)
    for index, (start, _) in enumerate(spans):
        for at, mask in bits_of(start + 16, 1):
            damaged = flipped(data, at, mask)
            error, _ = verdicts(damaged)
            assert error is not None
            # Magic 0 and 1 are read, and then the bytes are not what their checksum says.
            assert (error.rule in ("L8-13", "MAP-3", "L8-2"), error.position) == (True, start)
            others = [content for other, content in enumerate(originals(codec)) if other != index]
            assert list(contents(damaged, on_error="skip").values()) == others


@per_codec
def test_every_bit_of_the_batch_length_is_found_out(codec: str):
    """L8-11, L8-14, V2-30, V2-31, COD-6: the wrong bytes are checksummed, or the input ends inside the batch."""
    data, spans = seed(codec)
    for start, end in spans:
        for at, mask in bits_of(start + 8, 4):
            damaged = flipped(data, at, mask)
            error, report = verdicts(damaged)
            assert_unchanged(codec, damaged)
            # Where offsets are missing is told too.
            rules = {finding.rule for finding in report.findings} - {"ORD-3"}
            if error is None:
                assert rules == ({"SWALLOWED"} if end < len(data) else {"L8-14"})
            else:
                assert error.position == start
                assert error.rule in {"L8-11", "V2-30", "V2-31", "COD-6"}


def bits_of(start: int, length: int) -> Iterator[tuple[int, int]]:
    yield from ((at, 1 << bit) for at in range(start, start + length) for bit in range(8))
