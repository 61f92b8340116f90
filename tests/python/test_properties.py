"""Damage to a valid segment: nothing panics, nothing that a checksum covers changes unseen, memory stays within the limits.

Two classes of fields are held apart (V2-4). Covered: from the attributes on; a flip there, or in the checksum itself, is a checksum
error at that batch, and costs that batch only. Uncovered: base offset, batch length, leader epoch, magic; a flip may change what the
field holds, and is a finding where its neighbours contradict it.
"""

from __future__ import annotations

import io
import itertools
import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import building
import corpus
import logsegment as ls

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
#: Everything of a record that damage must not change. `offsetDelta` is put in by `content_of`.
COLUMNS = ["entryPosition", "batchBaseOffset", "offset", "timestampMs", "timestampType", "key", "value", "headersRaw", "attributes"]
COLUMNS += ["producerId", "sequence", "controlType", "compression"]
BATCHES = 3
#: `make test-python` stays short; a search by hand may go on longer.
EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "500"))
CHECKSUM_START, COVERED_START = 17, 21
LIMITS = ls.Limits(max_decompressed_bytes=8 << 20, max_records=100_000)

search = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
codecs = st.sampled_from(CODECS)
positions = st.floats(0, 1, exclude_max=True)
per_codec = pytest.mark.parametrize("codec", CODECS)

Batch = tuple[int, int]
Content = tuple[tuple[object, ...], ...]


@cache
def seed(codec: str) -> tuple[bytes, list[Batch]]:
    """The first batches of a real segment, and where each one lies."""
    data = (corpus.CORPUS / f"modern-4.1.0/data/codec-{codec}-0/00000000000000000000.log").read_bytes()
    rows = corpus.rows_of(ls.batches(data), ["position", "size"])[:BATCHES]
    spans = [(row["position"], row["position"] + row["size"]) for row in rows]
    return data[: spans[-1][1]], spans


@cache
def originals(codec: str) -> list[Content]:
    """The content of each batch before any damage."""
    data, spans = seed(codec)
    found = contents(data)
    assert list(found) == [start for start, _ in spans]
    return list(found.values())


def contents(data: bytes, **options: object) -> dict[int, Content]:
    """Batches that come out before the stream ends, well or with an error: position -> content."""
    stream = ls.decode(data, columns=COLUMNS, control=True, limits=LIMITS, **options)
    batches: dict[int, list[tuple[object, ...]]] = {}
    try:
        for part in stream:
            for row in corpus.rows_of(part):
                batches.setdefault(row["entryPosition"], []).append(content_of(row))
    except ls.RecordBatchError as error:
        assert not isinstance(error, ls.InternalError), error
    return {position: tuple(rows) for position, rows in batches.items()}


def content_of(row: corpus.Row) -> tuple[object, ...]:
    """A record without what only places it: its offset counts from the batch."""
    placed = row.pop("entryPosition"), row.pop("batchBaseOffset")
    return (row.pop("offset") - placed[1], *(tuple(value) if isinstance(value, list) else value for value in row.values()))


def verdicts(data: bytes, **options: object) -> tuple[ls.RecordBatchError | None, ls.Report]:
    """How `decode` ends and what `validate` says; they agree, and skipping never raises."""
    stream = ls.decode(data, columns=["offset"], limits=LIMITS, **options)
    error = None
    try:
        for _ in stream:
            pass
    except ls.RecordBatchError as raised:
        error = raised
    report = ls.validate(data, limits=LIMITS, **options)
    assert report.ok == (error is None), (error, report)
    assert not isinstance(error, ls.InternalError), error
    if "strict_tail" not in options:
        ls.decode(data, columns=["offset"], limits=LIMITS, on_error="skip", **options).read_all()
    return error, report


def assert_unchanged(codec: str, damaged: bytes) -> None:
    """What still comes out, comes out as it was: with errors raised and with damage skipped."""
    known = set(originals(codec))
    assert set(contents(damaged).values()) <= known
    assert set(contents(damaged, on_error="skip").values()) <= known


def flipped(data: bytes, at: int, mask: int) -> bytes:
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


def place(data: bytes, share: float) -> int:
    return int(share * len(data))


# Covered fields.


@per_codec
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
    """V2-4; ORD-2 where the epochs go back."""
    data, spans = seed(codec)
    for index, (start, _) in enumerate(spans):
        for at, mask in bits_of(start + 12, 4):
            damaged = flipped(data, at, mask)
            error, report = verdicts(damaged)
            assert error is None
            assert list(contents(damaged).values()) == originals(codec)
            epochs = [int.from_bytes(damaged[start + 12 : start + 16], "big", signed=True) for start, _ in spans]
            known = [epoch for epoch in epochs if epoch >= 0]
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
            assert (error.rule in ("L8-13", "MAP-3"), error.position) == (True, start)
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
            rules = {finding.rule for finding in report.findings}
            if error is None:
                assert rules == ({"SWALLOWED"} if end < len(data) else {"L8-14"})
            else:
                assert error.position == start
                assert error.rule in {"L8-11", "V2-30", "V2-31", "COD-6"}


def bits_of(start: int, length: int) -> Iterator[tuple[int, int]]:
    yield from ((at, 1 << bit) for at in range(start, start + length) for bit in range(8))


# Anything anywhere.


@search
@given(codecs, positions, st.integers(1, 3000))
def test_a_cut_changes_nothing_that_is_left(codec: str, share: float, length: int):
    data, _ = seed(codec)
    at = place(data, share)
    damaged = data[:at] + data[at + length :]
    verdicts(damaged)
    assert_unchanged(codec, damaged)


@search
@given(codecs, positions, st.binary(min_size=1, max_size=200))
def test_an_insertion_changes_nothing_that_is_left(codec: str, share: float, inserted: bytes):
    data, _ = seed(codec)
    at = place(data, share)
    damaged = data[:at] + inserted + data[at:]
    verdicts(damaged)
    assert_unchanged(codec, damaged)


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
    data, spans = seed(codec)
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
import random, resource, sys
sys.path.insert(0, sys.argv[1])
import test_properties
test_properties.search_in_bounds(int(sys.argv[2]))
"""


def test_damaged_batches_take_no_more_memory_than_the_limits_say():
    """COD-6: in a process that can get 96 MiB more than it has, with limits of 8 MiB."""
    here = os.path.dirname(os.path.abspath(__file__))
    command = [sys.executable, "-c", CHILD, here, str(EXAMPLES * 8)]
    child = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert child.returncode == 0, child.stderr[-2000:]


def search_in_bounds(examples: int) -> None:
    """Damage under right and wrong checksums, in bounded memory."""
    chance = random.Random(2)
    ready = [seed(codec) for codec in CODECS]
    pages = int(open("/proc/self/statm").read().split()[0])
    bound = pages * resource.getpagesize() + (96 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    for _ in range(examples):
        data, spans = chance.choice(ready)
        batch = bytearray(data[slice(*chance.choice(spans))])
        for _ in range(chance.randint(1, 4)):
            batch[chance.randrange(len(batch))] = chance.choice((0, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        verdicts(building.resealed(bytes(batch)) if chance.random() < 0.8 else bytes(batch))
