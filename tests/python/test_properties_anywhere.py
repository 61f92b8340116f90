"""Cuts, insertions and random bytes anywhere in a segment: no panic, no changed record, no batch lost that was not touched.

What is left of a damaged segment comes out as it was; memory stays within the limits.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import building
import corpus
import logsegment as ls
from damage import (
    EXAMPLES,
    assert_unchanged,
    codecs,
    contents,
    flipped,
    originals,
    per_codec,
    place,
    positions,
    search,
    seed,
    verdicts,
)

#: What the checksum covers starts here.
COVERED_START = 21


@search
@given(codecs, positions, st.integers(1, 3000))
def test_a_cut_costs_only_the_batches_that_it_touches(codec: str, share: float, length: int):
    data, spans = seed(codec)
    at = place(data, share)
    damaged = data[:at] + data[at + length :]
    verdicts(damaged)
    assert_unchanged(codec, damaged)
    before = [index for index, (_, end) in enumerate(spans) if end <= at]
    after = [index for index, (start, _) in enumerate(spans) if start >= at + length]
    # What is left of a cut batch may read as an entry that holds a whole one.
    whole = before + after[-1:]
    touched = next(index for index, (_, end) in enumerate(spans) if at < end)
    if damaged[slice(*spans[touched])] == data[slice(*spans[touched])]:
        # Zeros were cut off its end, and the zeros of the next base offset took their place.
        whole = [index for index in whole if index != touched + 1]
    assert_survive(codec, damaged, whole)


@search
@given(codecs, positions, st.binary(min_size=1, max_size=200))
def test_an_insertion_costs_only_the_batch_that_it_is_in(codec: str, share: float, inserted: bytes):
    data, spans = seed(codec)
    at = place(data, share)
    damaged = data[:at] + inserted + data[at:]
    verdicts(damaged)
    assert_unchanged(codec, damaged)
    assert_survive(codec, damaged, [index for index, (start, end) in enumerate(spans) if not start < at < end])


@search
@given(codecs, st.lists(positions, min_size=1, max_size=3), st.binary(min_size=1, max_size=40))
def test_overwriting_costs_only_the_batches_that_it_touches(codec: str, shares: list[float], written: bytes):
    data, spans = seed(codec)
    damaged = bytearray(data)
    for share in shares:
        at = place(data, share)
        damaged[at : at + len(written)] = written[: len(data) - at]
    untouched = [index for index, (start, end) in enumerate(spans) if damaged[start:end] == data[start:end]]
    verdicts(bytes(damaged))
    assert_survive(codec, bytes(damaged), untouched)


def assert_survive(codec: str, damaged: bytes, indexes: list[int]) -> None:
    """These batches come out when damage is skipped."""
    survived = list(contents(damaged, on_error="skip").values())
    assert [content for content in survived if content in [originals(codec)[index] for index in indexes]] == [
        originals(codec)[index] for index in indexes
    ]


@pytest.mark.parametrize(
    ("codec", "damage", "whole"),
    [
        ("none", lambda data: data[6:], [1, 2]),
        ("none", lambda data: data[:196] + bytes(3) + data[196:], [1, 2]),
        ("none", lambda data: data[:1573] + data[1580:], [0, 2]),
        ("lz4", lambda data: data[: len(data) // 2] + data[len(data) // 2 + 255 :], [0, 2]),
        ("zstd", lambda data: data[19:], [1, 2]),
    ],
    ids=["cut at the front", "insertion", "cut that leaves a torn rest", "cut that swallows a front", "two in a claim"],
)
def test_a_wrong_length_hides_no_valid_batch(codec: str, damage: Callable[[bytes], bytes], whole: list[int]):
    """MAP-3, L8-14: a length can only be believed when what follows it fits."""
    survived = contents(damage(seed(codec)[0]), on_error="skip").values()
    assert [originals(codec)[index] in survived for index in whole] == [True, True]


def test_stray_bytes_between_many_batches_cost_none_of_them():
    count = 20_000
    batch = building.simple_batch([b"v"])
    data = b"".join(offset.to_bytes(8, "big") + batch[8:] + b"\xff" for offset in range(count))
    rows = corpus.rows_of(ls.decode(data, columns=["offset"], on_error="skip"))
    assert [row["offset"] for row in rows] == list(range(count))


@per_codec
def test_every_cut_of_the_end_is_a_torn_tail(codec: str):
    """L8-10, L8-14: never an error, unless it is asked for; everything before the torn batch is there. A few zeros are a zero tail."""
    data, spans = seed(codec)
    ends = [0, *(end for _, end in spans)]
    for length in range(len(data) - 1, 0, -7):
        whole = sum(end <= length for end in ends) - 1
        error, report = verdicts(data[:length])
        assert error is None
        assert list(contents(data[:length]).values()) == originals(codec)[:whole]
        if length in ends:
            assert report.findings == []
            continue
        is_zero = not any(data[ends[whole] : length])
        assert [(finding.rule, finding.severity) for finding in report.findings] == [("FND-17" if is_zero else "L8-14", "info")]
        if is_zero:
            continue
        strict, _ = verdicts(data[:length], strict_tail=True)
        assert (type(strict), strict.position) == (ls.TruncatedError, ends[whole])


@search
@given(codecs, st.lists(st.tuples(positions, st.integers(1, 255)), min_size=1, max_size=20))
def test_many_flips_change_nothing_that_is_left(codec: str, flips: list[tuple[float, int]]):
    data, _ = seed(codec)
    damaged = bytearray(data)
    for share, mask in flips:
        damaged[place(data, share)] ^= mask
    verdicts(bytes(damaged))
    for start, content in contents(bytes(damaged), on_error="skip").items():
        assert content in originals(codec), start


@search
@given(codecs, st.lists(st.tuples(positions, st.integers(0, 255)), min_size=1, max_size=4), st.integers(0, 40))
def test_damage_under_a_right_checksum_never_panics(codec: str, writes: list[tuple[float, int]], cut: int):
    """V2-32 to V2-47: what a hostile writer sends, the checksum put right."""
    data, spans = seed(codec)
    batch = bytearray(data[slice(*spans[0])])
    for share, byte in writes:
        batch[COVERED_START + place(batch[COVERED_START:], share)] = byte
    hostile = building.resealed(bytes(batch[: len(batch) - cut]))
    error, _ = verdicts(hostile + data[slice(*spans[1])])
    assert error is None or error.rule != "V2-31"
    assert originals(codec)[1] in contents(hostile + data[slice(*spans[1])], on_error="skip").values()


@search
@given(codecs, positions, st.integers(1, 255))
def test_without_checksums_nothing_panics(codec: str, share: float, mask: int):
    data, _ = seed(codec)
    verdicts(flipped(data, place(data, share), mask), check_crc=False)


@search
@given(st.binary(max_size=400))
def test_random_bytes_are_never_more_than_an_error(data: bytes):
    verdicts(data)


@search
@given(codecs, positions, st.integers(1, 255), st.integers(1, 50), st.sampled_from(["bytes", "file", "threads"]))
def test_every_way_in_gives_the_same_of_damaged_bytes(codec: str, share: float, mask: int, rows: int, way: str):
    data, _ = seed(codec)
    damaged = flipped(data, place(data, share), mask)
    source: Callable[[], object] = {"file": lambda: io.BytesIO(damaged)}.get(way, lambda: damaged)
    for on_error in ("raise", "skip"):
        plain = contents(damaged, on_error=on_error)
        threads = 2 if way == "threads" else 1
        assert contents(source(), on_error=on_error, batch_size=rows, threads=threads) == plain


# Memory.

CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import damage
damage.search_in_bounds(int(sys.argv[2]))
"""


def test_damaged_batches_take_no_more_memory_than_the_limits_say():
    """COD-6: in a process that can get 96 MiB more than it has, with limits of 8 MiB."""
    command = [sys.executable, "-c", CHILD, str(corpus.TESTS / "support"), str(EXAMPLES * 8)]
    child = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert child.returncode == 0, child.stderr[-2000:]
