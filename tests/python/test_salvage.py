"""`salvage` keeps every valid entry byte for byte and accounts for every other byte."""

from __future__ import annotations

import io
import os
import random
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import corpus
import hostile
import logsegment as ls
from building import message, simple_batch

Spans = list[tuple[int, int]]


def log(*bases: int, size: int = 10) -> list[bytes]:
    """Batches of ten records."""
    return [ls.encode(pa.table({"value": [b"%d" % (base + at) for at in range(size)]}), base_offset=base) for base in bases]


def assert_whole(found: ls.Salvage, data: bytes) -> None:
    """The ranges are the input, and the kept ones are the output."""
    ranges = sorted((span.position, span.end) for span in [*found.kept, *found.lost])
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])][: len(ranges)]
    assert not data or ranges[-1][1] == len(data)
    assert found.data == b"".join(data[kept.position : kept.end] for kept in found.kept)
    assert found.kept_bytes + found.lost_bytes == len(data)
    # What was left out is told: by a finding at its place.
    told = {finding.position for finding in found.findings}
    assert {lost.position for lost in found.lost} <= told


@pytest.mark.parametrize("order", ["input", "offset"])
def test_a_clean_log_comes_back_as_it_is(order: ls.salvaging.Order) -> None:
    data = b"".join(log(0, 10, 30))
    found = ls.salvage(data, order=order)
    assert found.ok
    assert (found.data, found.lost, found.findings) == (data, [], [])
    assert found.kept == [ls.KeptRange(0, len(data), 0, 39, 3)]
    assert found.entries == 3


def test_nothing_is_nothing() -> None:
    found = ls.salvage(b"")
    assert (found.data, found.kept, found.lost, found.ok) == (b"", [], [], True)


@pytest.mark.parametrize("order", ["input", "offset"])
def test_what_is_damaged_is_left_out_with_its_offsets(order: ls.salvaging.Order) -> None:
    first, second, third = log(0, 10, 20)
    bad = bytearray(second)
    bad[-1] ^= 1
    data = first + bytes(bad) + third
    found = ls.salvage(data, order=order)
    assert not found.ok
    assert found.data == first + third
    (lost,) = found.lost
    assert (lost.position, lost.length, lost.rule) == (len(first), len(second), "V2-31")
    assert (lost.after_offset, lost.before_offset, lost.missing) == (9, 20, range(10, 20))
    assert [(finding.rule, finding.severity) for finding in found.findings] == [("V2-31", "error")]
    assert_whole(found, data)


def test_tails_are_left_out() -> None:
    first, second = log(0, 10)
    torn = ls.salvage(first + second[:-3])
    assert (torn.data, torn.ok, [lost.rule for lost in torn.lost]) == (first, False, ["L8-14"])
    assert_whole(torn, first + second[:-3])
    zeros = ls.salvage(first + bytes(1000))
    assert (zeros.data, zeros.ok, [lost.rule for lost in zeros.lost]) == (first, True, ["FND-17"])
    assert_whole(zeros, first + bytes(1000))


def test_long_runs_of_zeros_in_the_middle_are_accounted_for(tmp_path: Path) -> None:
    first, second = log(0, 10)
    data = first + bytes(3_000_000) + second
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    for source in (data, ls.FileSource(path), io.BytesIO(data)):
        found = ls.salvage(source)
        assert found.data == first + second
        assert [(lost.position, lost.length) for lost in found.lost] == [(len(first), 3_000_000)]
        assert_whole(found, data)


def test_an_order_of_offsets_sorts_and_leaves_copies_out() -> None:
    a, b, c, d = log(0, 10, 20, 30)
    data = a + c + b + d + b
    as_it_is, sorted_ = ls.salvage(data), ls.salvage(data, order="offset")
    assert as_it_is.data == data
    assert [finding.rule for finding in as_it_is.findings] == ["ORD-1", "ORD-1"]
    assert sorted_.data == a + b + c + d
    assert [(lost.position, lost.rule) for lost in sorted_.lost] == [(len(a + c + b + d), "SAL-1")]
    assert sorted_.ok
    assert_whole(as_it_is, data)
    assert_whole(sorted_, data)


@pytest.mark.parametrize("wild", [1 << 40, 13, 27, 5, -1])
def test_an_offset_that_fits_nowhere_is_put_aside(wild: int) -> None:
    a, b, c, d = log(0, 10, 20, 30)
    bad = wild.to_bytes(8, "big", signed=True) + b[8:]
    data = a + bad + c + d
    found = ls.salvage(data, order="offset", aside=True)
    assert (found.data, found.aside, found.doubtful) == (a + c + d, bad, 1)
    assert [(lost.position, lost.length, lost.rule) for lost in found.lost] == [(len(a), len(bad), "SAL-2")]
    assert not found.ok
    assert_whole(found, data)
    assert ls.salvage(data).data == data


def test_offsets_of_another_segment_do_not_fit() -> None:
    a, b, c = log(0, 10, 20)
    found = ls.salvage(a + b + c, order="offset", first_offset=10, end_offset=20)
    assert found.data == b
    assert [lost.rule for lost in found.lost] == ["SAL-2", "SAL-2"]
    with pytest.raises(ValueError, match='need order="offset"'):
        ls.salvage(a, first_offset=1)


def test_offsets_that_are_elsewhere_are_not_called_missing() -> None:
    """Between the entries around the damage others are missing in the input, but not in what is kept."""
    a, b, c, d = log(0, 10, 20, 30)
    bad = bytearray(b)
    bad[-1] ^= 1
    for order in ("input", "offset"):
        # The damaged batch may be 10 to 19 as well as any other; those are there, behind it.
        (lost, *_) = ls.salvage(a + bytes(bad) + c + b + d, order=order).lost
        assert (lost.rule, lost.after_offset, lost.before_offset, lost.missing) == ("V2-31", None, None, range(0))
        # Out of order elsewhere: what is missing here is missing.
        (lost, *_) = ls.salvage(a + bytes(bad) + c + log(40)[0] + d, order=order).lost
        assert (lost.after_offset, lost.before_offset, lost.missing) == (9, 20, range(10, 20))
    # An offset that is damaged itself bounds nothing.
    wild = (1 << 40).to_bytes(8, "big") + c[8:]
    lost = ls.salvage(a + bytes(bad) + wild + d + log(40)[0], order="offset").lost
    assert [(finding.rule, finding.missing) for finding in lost] == [("V2-31", range(10, 30)), ("SAL-2", range(0))]


MOST_PLACES, MOST_LISTED = 4 << 20, 1 << 18


def messages(offsets: np.ndarray) -> bytes:
    """The smallest messages there are, of magic 0, at these offsets, which no checksum covers."""
    rows = np.tile(np.frombuffer(message(None, magic=0), np.uint8), (len(offsets), 1))
    rows[:, :8] = offsets.astype(">i8").view(np.uint8).reshape(-1, 8)
    return rows.tobytes()


def test_more_disordered_entries_than_are_sorted_are_refused() -> None:
    offsets = np.arange(MOST_PLACES + 1)
    offsets[-1] = 0
    with pytest.raises(ValueError, match=r"out of order, and too many to sort \(4,194,304\)"):
        ls.salvage(messages(offsets), order="offset")


@pytest.mark.slow
def test_what_is_lost_counts_when_the_list_is_full() -> None:
    """Copies lose nothing, however many; one entry behind all that are listed does."""
    offsets = np.full(MOST_LISTED + 3, 5)
    copies = ls.salvage(messages(offsets), order="offset")
    assert (copies.ok, copies.is_listed, copies.entries, copies.harmful_bytes) == (True, False, 1, 0)
    assert copies.lost_bytes == 26 * (len(offsets) - 1)
    offsets[-1] = -1
    found = ls.salvage(messages(offsets), order="offset")
    assert {lost.rule for lost in found.lost} == {"SAL-1"}
    assert (found.ok, found.harmful_bytes, found.doubtful) == (False, 26, 1)


class Meddler(io.BytesIO):
    """Changes the source when it is written to for the first time."""

    def __init__(self, change: Callable[[], None]) -> None:
        super().__init__()
        self._change: Callable[[], None] | None = change

    def write(self, data: object) -> int:
        change, self._change = self._change, None
        if change:
            change()
        return super().write(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("kind", ["flip", "cut", "offset"])
def test_a_source_that_changes_between_two_readings_is_an_error(kind: str, is_sorted: bool, tmp_path: Path) -> None:
    """What was written would not be what the account tells."""
    batches = [simple_batch([bytes(1 << 10)], 0), simple_batch([bytes(1 << 10)], 1)]
    big = ls.encode(pa.table({"value": [b"x" * (1 << 20)]}))
    batches += [offset.to_bytes(8, "big") + big[8:] for offset in range(2, 34)]
    data = b"".join(batches if is_sorted else [batches[1], batches[0], *batches[2:]])
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)

    def change() -> None:
        with path.open("r+b") as file:
            if kind == "cut":
                file.truncate(len(data) - len(big) + 70)
            else:
                file.seek(len(data) - (1000 if kind == "flip" else len(big) - 7))
                file.write(b"\x63")

    with pytest.raises(OSError, match=r"has changed since it was read first|the file was truncated to"):
        ls.salvage(ls.FileSource(path), out=Meddler(change), order="offset")
    path.write_bytes(data)
    taken = io.BytesIO()
    assert ls.salvage(ls.FileSource(path), out=taken, order="offset").ok
    assert taken.getvalue() == b"".join(batches)


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("kind", ["grow", "trim", "rename"])
def test_a_segment_that_a_broker_goes_on_with_is_salvaged_as_it_was(kind: str, is_sorted: bool, tmp_path: Path) -> None:
    """Appended batches, trimmed zeros of a preallocated file and a new file of the same name change nothing of what was opened."""
    one, other = simple_batch([b"a"], 0), simple_batch([b"b"], 1)
    big = ls.encode(pa.table({"value": [bytes(1 << 20)]}))
    later = [offset.to_bytes(8, "big") + big[8:] for offset in range(2, 12)]
    data = b"".join([*([one, other] if is_sorted else [other, one]), *later]) + (bytes(64 << 20) if kind == "trim" else b"")
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)

    def change() -> None:
        if kind == "rename":
            (tmp_path / "new").write_bytes(b"".join(later))
            (tmp_path / "new").replace(path)
        elif kind == "trim":
            os.truncate(path, len(data) - (64 << 20))
        else:
            with path.open("ab") as file:
                file.write((12).to_bytes(8, "big") + big[8:])

    taken, expected = Meddler(change), ls.salvage(data, order="offset")
    found = ls.salvage(ls.FileSource(path), out=taken, order="offset")
    assert taken.getvalue() == expected.data == b"".join([one, other, *later])
    assert (found.kept, found.lost, found.findings) == (expected.kept, expected.lost, expected.findings)
    assert path.stat().st_size != len(data)


def stored_set(first: int, count: int) -> bytes:
    """A compressed message of magic 1 that gzip stored as it was, as it does with what is encrypted: its offsets count from 0."""
    inner = b"".join(message(random.Random(first + delta).randbytes(100), magic=1, offset=delta) for delta in range(count))
    packer = zlib.compressobj(0, zlib.DEFLATED, 31)
    return message(packer.compress(inner) + packer.flush(), magic=1, offset=first + count - 1, attributes=1)


@pytest.mark.parametrize("kind", ["size", "header", "checksum"])
def test_messages_of_a_damaged_set_are_no_part_of_the_log(kind: str) -> None:
    """No checksum covers an offset: only the offsets of the log tell that these are none of it."""
    first, broken, last = stored_set(100, 5), stored_set(105, 5), stored_set(110, 5)
    match kind:
        case "size":
            broken = broken[:8] + (999_999).to_bytes(4, "big") + broken[12:]
        case "header":
            broken = bytes(100) + broken[100:]
        case _:
            broken = broken[:12] + bytes([broken[12] ^ 1]) + broken[13:]
    data = first + broken + last
    found = ls.salvage(data, order="offset", first_offset=100, aside=True)
    assert found.data == first + last
    # Where the length of the set leads on, its messages are not searched for: they are the readable records of a damaged set.
    expected = {"header": [1, 2, 3, 4], "size": [0, 1, 2, 3, 4], "checksum": [105, 106, 107, 108, 109]}
    assert offsets_of(found.aside) == expected[kind]
    assert (found.doubtful, found.records) == ((0, 5) if kind == "checksum" else (len(expected[kind]), 0))
    assert_whole(found, data)
    # A reader that skips does not look for them there either; elsewhere their order tells.
    read = offsets_of(data, on_error="skip")
    assert (kind != "header") == (read == [*range(100, 105), *range(110, 115)])
    assert (kind == "header") == ("ORD-1" in {finding.rule for finding in ls.validate(data).findings})


def offsets_of(data: bytes | None, **options: Any) -> list[int]:
    return ls.decode(data, columns=["offset"], **options).to_pyarrow()["offset"].to_pylist()


def test_the_inside_of_a_damaged_batch_whose_length_leads_on_is_not_searched() -> None:
    """A block of the disk was swapped into a batch: the bytes are those of a value that contains a batch."""
    (first, inner), (last,) = log(0, 10), log(40)
    broken = bytearray(ls.encode(pa.table({"value": [bytes(3 * len(inner))]}), base_offset=30))
    broken[100 : 100 + len(inner)] = inner
    data = first + bytes(broken) + last
    for order in ("input", "offset"):
        found = ls.salvage(data, order=order)
        assert found.data == first + last
        assert_whole(found, data)


def test_readable_records_of_a_damaged_batch_are_marked() -> None:
    table = pa.table({"value": [b"a", b"b", b"c"], "timestampMs": [1, 2, 3]})
    first, bad = ls.encode(table), bytearray(ls.encode(table, base_offset=3))
    bad[-2] ^= 1
    found = ls.salvage(first + bytes(bad), aside=True)
    assert (found.data, found.records) == (first, 3)
    assert found.aside is not None
    rows = ls.decode(found.aside, columns=["offset", "value", "timestampMs", "headersRaw"]).to_pyarrow().to_pylist()
    assert [row["offset"] for row in rows] == [3, 4, 5]
    assert [row["value"] for row in rows] == [b"a", b"b", b"b"]
    assert [row["headersRaw"] for row in rows] == [[{"key": b"logsegment.salvaged", "value": b"V2-31"}]] * 3
    assert ls.validate(found.aside).counts == {"error": 0, "warning": 0, "info": 0}
    assert ls.salvage(first, aside=True).aside == b""
    assert ls.salvage(first + bytes(bad)).aside is None


def test_records_are_read_up_to_the_first_that_cannot_be() -> None:
    data = bytearray(simple_batch([b"first", b"second", b"third"]))
    at = data.index(b"second") - 6
    data[at : at + 6] = b"\xff" * 6
    found = ls.salvage(bytes(data), aside=True)
    assert found.records == 1
    assert found.aside is not None
    assert ls.decode(found.aside, columns=["value"]).to_pyarrow()["value"].to_pylist() == [b"first"]
    assert_whole(found, bytes(data))


def test_files_are_whole_or_absent(tmp_path: Path) -> None:
    first, second = log(0, 10)
    out, aside = tmp_path / "out.log", tmp_path / "aside.log"
    found = ls.salvage(first + second, out=out, aside=aside)
    assert (found.data, found.aside, found.aside_bytes) == (None, None, 0)
    assert out.read_bytes() == first + second
    assert not aside.exists()
    with pytest.raises(ls.InvalidError, match="looks like a directory"):
        ls.salvage(ls.FileSource(tmp_path), out=tmp_path / "none.log")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.log"]
    taken = io.BytesIO()
    ls.salvage(first + b"noise" + second, out=taken, order="offset")
    assert taken.getvalue() == first + second


def test_a_file_object_is_read_once() -> None:
    (first,) = log(0)
    assert ls.salvage(io.BytesIO(first)).data == first
    with pytest.raises(ValueError, match="more than once"):
        ls.salvage(io.BytesIO(first), order="offset")
    with pytest.raises(ValueError, match="order must be"):
        ls.salvage(first, order="none")  # type: ignore[arg-type]


def test_real_logs_come_back_whole_and_hostile_bytes_are_accounted_for() -> None:
    """In both orders; of clean logs nothing is left out but tails."""
    seen = 0
    for case in corpus.cases():
        data = case.path.read_bytes()
        if case.kind != "segment" or len(data) > 4 << 20:
            continue
        found = ls.salvage(data, format="0.7" if case.format == "0.7" else "auto")
        assert_whole(found, data)
        assert {lost.rule for lost in found.lost} <= {"L8-14", "FND-17"}, case.path
        seen += 1
    assert seen > 100
    for hostile_case in hostile.cases():
        if not hostile_case.is_bomb:
            data = hostile_case.read()
            for order in ("input", "offset"):
                assert_whole(ls.salvage(data, order=order, aside=True, **hostile_case.options), data)


SEGMENTS = (
    "modern-4.1.0/data/codec-none-0",
    "modern-4.1.0/data/codec-lz4-0",
    "modern-4.1.0/data/codec-zstd-0",
    "modern-4.1.0/data/compacted-0",
    "legacy-0.10.2.2/data",
    "legacy-0.8.2.2/data",
)
DAMAGES = 1000


@cache
def segments() -> list[tuple[str, bytes, Spans]]:
    """Real segments of batches, and of messages before there were any, and where their entries lie."""
    found = []
    for name in SEGMENTS:
        paths = sorted((corpus.CORPUS / name).rglob("*.log"))
        path = max(paths, key=lambda path: (min(path.stat().st_size, 60_000), str(path)))
        data = path.read_bytes()
        rows = corpus.rows_of(ls.batches(data), ["position", "size"])[:80]
        spans = [(row["position"], row["position"] + row["size"]) for row in rows]
        assert len(spans) >= 3, path
        found.append((f"{name}/{path.name}", data[: spans[-1][1]], spans))
    return found


def damaged(rng: random.Random, data: bytes, spans: Spans) -> tuple[str, bytes, list[bytes]]:
    """One damage of a kind, the bytes with it, and the entries that it did not touch."""
    kind = rng.choice(["flip", "zero", "cut", "insert", "duplicate", "swap"])
    at = rng.randrange(len(data))
    size = rng.choice([1, 16, 512, 4096])
    end = min(at + size, len(data))
    if kind == "flip":
        end = at + 1
        out = data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[end:]
    elif kind == "zero":
        out = data[:at] + bytes(end - at) + data[end:]
    elif kind == "cut":
        out = data[:at] + data[end:]
    elif kind == "insert":
        end = at
        out = data[:at] + rng.randbytes(size) + data[at:]
    elif kind == "duplicate":
        out = data[:end] + data[at:end] + data[end:]
        # Between the copies nothing is changed, but no entry goes across the place.
        at, end = end, end
    else:
        size = min(size, (len(data) - at) // 2)
        out = data[:at] + data[at + size : at + 2 * size] + data[at : at + size] + data[at + 2 * size :]
        whole = [
            data[a:b]
            for a, b in spans
            if b <= at or a >= at + 2 * size or (a >= at and b <= at + size) or (a >= at + size and b <= at + 2 * size)
        ]
        return kind, out, whole
    touched = [(a, b) for a, b in spans if (a < end and b > at) or (at == end and a < at < b)]
    return kind, out, [data[a:b] for a, b in spans if (a, b) not in touched]


def entries(data: bytes) -> list[bytes]:
    """Each entry by itself: bytes may also stand inside of another."""
    return [data[row["position"] : row["position"] + row["size"]] for row in corpus.rows_of(ls.batches(data), ["position", "size"])]


def inside_of_damaged(found: ls.Salvage, bad: bytes, missing: list[bytes]) -> list[bytes]:
    """Return the entries that are inside a damaged one whose length leads on: a swapped block is not told from a value."""
    lengths = {lost: int.from_bytes(bad[lost.position + 8 : lost.position + 12]) + 12 for lost in found.lost}
    whole = [bad[lost.position : lost.end] for lost, length in lengths.items() if length == lost.length]
    return [entry for entry in missing if any(entry in outer for outer in whole)]


def test_a_thousand_single_damages() -> None:
    """Every entry that the damage did not touch comes back, but for swapped ones inside others, and every byte is accounted for."""
    rng = random.Random(8)
    kinds = set()
    for _ in range(DAMAGES):
        name, data, spans = rng.choice(segments())
        kind, bad, whole = damaged(rng, data, spans)
        kinds.add(kind)
        found = ls.salvage(bad)
        assert_whole(found, bad)
        assert found.data is not None
        kept = set(entries(found.data))
        missing = [entry for entry in whole if entry not in kept]
        inside = inside_of_damaged(found, bad, missing)
        assert missing == inside, (name, kind, [len(entry) for entry in missing], found)
        assert not inside or kind == "swap"
    assert len(kinds) == 6


def test_a_thousand_single_damages_make_logs() -> None:
    """In the order of offsets too, apart from entries with misplaced offsets, which are aside; and the log is in order."""
    rng = random.Random(9)
    aside = 0
    for _ in range(DAMAGES):
        name, data, spans = rng.choice(segments())
        kind, bad, whole = damaged(rng, data, spans)
        found = ls.salvage(bad, order="offset", aside=True)
        assert_whole(found, bad)
        assert found.data is not None
        assert found.aside is not None
        assert not [
            finding for finding in ls.validate(found.data).findings if finding.rule in ("ORD-1", "L8-14") or finding.severity == "error"
        ]
        kept = set(entries(found.data))
        missing = [entry for entry in whole if entry not in kept]
        missing = [entry for entry in missing if entry not in inside_of_damaged(found, bad, missing)]
        assert not set(missing) - set(entries(found.aside)), (name, kind, found)
        aside += len(missing)
    assert aside <= DAMAGES // 100, aside
