"""Ranges of offsets against sets of offsets, and the state of an export through its properties."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logsegment._export.offset_ranges import NO_END, OffsetRanges
from logsegment._export.state import ExportState, LostOffsets

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8)


def offsets(ranges: OffsetRanges) -> set[int]:
    return {offset for start, end in ranges for offset in range(start, end)}


@given(RANGES, RANGES)
def test_ranges_are_sets(ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> None:
    a, b = OffsetRanges(ours), OffsetRanges(theirs)
    assert offsets(a) == {offset for start, end in ours for offset in range(start, end)}
    assert offsets(a | b) == offsets(a) | offsets(b)
    assert offsets(a & b) == offsets(a) & offsets(b)
    assert offsets(a - b) == offsets(a) - offsets(b)
    assert offsets(a.within(10, 40)) == offsets(a) & set(range(10, 40))
    assert [offset in a for offset in range(61)] == [offset in offsets(a) for offset in range(61)]
    ends = [place for pair in a for place in pair]
    assert ends == sorted(set(ends))
    assert (a == b) == (offsets(a) == offsets(b))


@given(RANGES, st.integers(0, 20))
def test_groups_have_all_ranges(given_ranges: list[tuple[int, int]], distance: int) -> None:
    ranges = OffsetRanges(given_ranges)
    groups = ranges.grouped(distance)
    assert [pair for group in groups for pair in group] == list(ranges)
    for before, after in itertools.pairwise(groups):
        assert (after.start or 0) - (before.end or 0) > distance


def test_open_ranges() -> None:
    assert list(OffsetRanges([(0, NO_END)]) - OffsetRanges([(5, 7), (10, 20)])) == [(0, 5), (7, 10), (20, NO_END)]


STATES = st.builds(
    lambda ranges, lost: ExportState({("orders", 0): OffsetRanges([(0, 5)])}).adding(
        {(topic, number): OffsetRanges(pairs) for topic, number, pairs in ranges},
        [LostOffsets(topic, number, start, start + length, "V2-31") for topic, number, start, length in lost],
        "read_committed",
    ),
    st.lists(st.tuples(st.sampled_from(["orders", "a.b", "ü"]), st.integers(0, 3), RANGES), max_size=4),
    st.lists(st.tuples(st.sampled_from(["orders", "a.b"]), st.integers(0, 3), st.integers(0, 60), st.integers(1, 9)), max_size=4),
)


@given(STATES)
def test_a_commit_has_the_whole_state(state: ExportState) -> None:
    properties = state.to_properties("id")
    assert all(isinstance(value, str) for value in properties.values())
    assert ExportState.from_properties(properties) == state
    for place in state.lost:
        assert place.start not in state.of((place.topic, place.partition))


def test_lost_offsets_end_where_they_were_read() -> None:
    state = ExportState().adding({("t", 0): OffsetRanges([(0, 10)])}, [LostOffsets("t", 0, 10, None, "L8-11")], "read_committed")
    assert [place.start for place in state.lost] == [10]
    assert state.adding({("t", 0): OffsetRanges([(10, 12)])}, [], "read_committed").lost == ()
    half = ExportState().adding({}, [LostOffsets("t", 0, 10, 20, "V2-31")], "read_committed")
    assert [(place.start, place.end) for place in half.having({("t", 0): OffsetRanges([(12, 15)])}).lost] == [(10, 12), (15, 20)]


@pytest.mark.parametrize(
    "properties",
    [
        {"logsegment.offsets": "{}", "logsegment.state-format": "2"},
        {"logsegment.offsets": "[", "logsegment.state-format": "1"},
        {"logsegment.offsets": '{"t":{"x":[[0,1]]}}', "logsegment.state-format": "1"},
        {"logsegment.offsets": '{"t":{"0":[[0]]}}', "logsegment.state-format": "1"},
        {"logsegment.offsets": "{}", "logsegment.state-format": "1", "logsegment.isolation": "dirty"},
    ],
)
def test_invalid_states(properties: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"logsegment\.\w"):
        ExportState.from_properties(properties)


def test_other_commits_have_no_state() -> None:
    assert ExportState.from_properties({"added-records": "7"}) is None
