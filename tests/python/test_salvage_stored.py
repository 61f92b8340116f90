"""`salvage` trusts no payload: what it keeps, a reader that skips damage reads too, also from values that contain entries of other logs."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import logsegment as ls
from building import HEADER_LEN, batch, message, record, simple_batch
from cli_process import run
from damage import search
from stored_entries import STORED, damaged, stored_log

FINDS = Path(__file__).parents[1] / "finds"
Rows = Counter[tuple[int, bytes | None, bytes | None, int | None]]


def rows_of(data: bytes | None) -> Rows:
    """Return the records that a reader which skips damage reads."""
    assert data is not None
    table = ls.decode(data, columns=["offset", "key", "value", "timestampMs"], on_error="skip").to_pyarrow()
    return Counter(tuple(row.values()) for row in table.to_pylist())


def assert_law(data: bytes, order: ls.salvaging.Order = "offset", **options: Any) -> ls.Salvage:
    """Records of the output are among those of the input, the output has no error, and salvaging it again changes nothing."""
    found = ls.salvage(data, order=order, **options)
    kept = rows_of(found.data)
    assert kept <= rows_of(data)
    assert ls.validate(found.data).ok
    again = ls.salvage(found.data, order=order, **options)
    assert (again.data, again.ok, again.lost) == (found.data, True, [])
    assert found.kept_bytes + found.lost_bytes == len(data)
    return found


@search
@given(st.integers(0, 1 << 32))
def test_no_record_is_kept_that_a_reader_does_not_read(seed: int) -> None:
    rng = random.Random(seed)
    data = damaged(rng, stored_log(rng))
    for order in ("input", "offset"):
        assert_law(data, order)


@pytest.mark.slow
@search
@given(st.integers(1 << 33, 1 << 34))
def test_entries_of_values_stay_in_their_values(seed: int) -> None:
    """While the length of each damaged entry leads on, no entry of a value becomes one of the log."""
    rng = random.Random(seed)
    log = stored_log(rng)
    data = bytearray(log.data)
    for start, end in rng.sample(log.spans(), rng.randint(1, 2)):
        # Lengths stay: magic, checksum, attributes and everything after them may be wrong.
        data[rng.randrange(start + 16, end)] ^= 1 << rng.randrange(8)
    found = assert_law(bytes(data))
    assert not {value for _, _, value, _ in rows_of(found.data)} & {STORED}
    assert not {value for _, _, value, _ in rows_of(bytes(data))} & {STORED}


def stored_in(where: str, magic: int) -> bytes:
    """Return the middle one of three entries, which contains an entry of another log."""
    inner = simple_batch([STORED], 5_000) if magic == 2 else message(STORED, magic=magic, offset=5_000)
    match where, magic:
        case "value", 2:
            return simple_batch([inner], 1)
        case "header", 2:
            return batch(record(None, b"v", [(b"h", inner)]), count=1, base_offset=1)
        case "key", 2:
            return batch(record(inner, b"v"), count=1, base_offset=1)
        case "key", _:
            return message(b"v", magic=magic, key=inner, offset=1)
        case _:
            return message(inner, magic=magic, offset=1)


def entry(magic: int, offset: int) -> bytes:
    return simple_batch([b"%d" % offset], offset) if magic == 2 else message(b"%d" % offset, magic=magic, offset=offset)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("where", ["value", "header", "key"])
@pytest.mark.parametrize("field", ["magic", "checksum", "attributes", "content length"])
def test_the_inside_of_a_damaged_entry_whose_length_leads_on_is_not_searched(field: str, where: str, magic: int) -> None:
    """Also where the entry of the value ends where the damaged one does, and where the next entry is damaged too."""
    middle = bytearray(stored_in(where, magic))
    at = {"magic": 16, "checksum": 17 if magic == 2 else 12, "attributes": 22 if magic == 2 else 17}.get(field)
    if at is None:
        at = HEADER_LEN + 5 if magic == 2 else 19 + 8 * magic
    middle[at] ^= 0x10
    first, last = entry(magic, 0), entry(magic, 3)
    broken = bytearray(entry(magic, 2))
    broken[-1] ^= 1
    for after in (b"", bytes(broken), bytes(broken) * 3):
        for end in (last, b""):
            data = first + bytes(middle) + after + end
            kept = {offset for offset, *_ in rows_of(assert_law(data).data)}
            assert kept == ({0, 3} if end else {0}), (len(after), len(end))
            assert {offset for offset, *_ in rows_of(data)} == kept


def test_entries_that_a_larger_length_swallows_are_found() -> None:
    """All entries have 64 bytes, so that one flipped bit of a length leads to the end of a later entry."""
    entries = [message(b"%030d" % offset, magic=0, offset=offset) for offset in range(6)]
    assert {len(entry) for entry in entries} == {56}
    entries = [message(b"%038d" % offset, magic=0, offset=offset) for offset in range(6)]
    bad = bytearray(entries[1])
    bad[8:12] = (2 * 64 - 12).to_bytes(4, "big")
    data = entries[0] + bytes(bad) + b"".join(entries[2:])
    assert {offset for offset, *_ in rows_of(assert_law(data).data)} == {0, 2, 3, 4, 5}


def log(*bases: int, size: int = 10) -> list[bytes]:
    return [bytes(ls.encode(pa.table({"value": [b"%d" % (base + at) for at in range(size)]}), base_offset=base)) for base in bases]


@pytest.mark.parametrize("foreign", [[5_000], [5_000, 5_001, 5_002], [3], [1 << 62]])
@pytest.mark.parametrize("place", ["middle", "last", "before a torn end"])
def test_entries_of_a_value_behind_a_wrong_length_are_aside(place: str, foreign: list[int]) -> None:
    """The search finds them, and the entries around them do not support their offsets."""
    stored = b"".join(simple_batch([STORED], offset) for offset in foreign)
    bad = bytearray(simple_batch([stored + b"after"], 10))
    bad[8:12] = (99).to_bytes(4, "big")
    (first,), rest = log(0), log(11, 21) if place == "middle" else []
    data = first + bytes(bad) + b"".join(rest) + (log(11)[0][:50] if place == "before a torn end" else b"")
    found = assert_law(data)
    assert found.data == first + b"".join(rest)
    assert found.doubtful == len(foreign)
    assert [lost.rule for lost in found.lost].count("SAL-2") == len(foreign)
    aside = ls.salvage(data, order="offset", aside=True).aside
    assert aside is not None
    assert stored in aside


def test_batches_between_two_damages_stay() -> None:
    """Zeros over the headers of two batches: the one between them is searched for, and fits between its neighbours."""
    batches = log(0, 10, 20, 30, 40)
    for number in (1, 3):
        batches[number] = bytes(64) + batches[number][64:]
    found = assert_law(b"".join(batches))
    assert found.data == batches[0] + batches[2] + batches[4]
    assert found.doubtful == 0


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_a_damaged_set_are_no_entries_of_the_log(magic: int, codec: str) -> None:
    """The inner messages are stored as they are, as snappy does with random bytes; the set is damaged."""
    rng = random.Random(5)
    sets = [
        bytes(
            ls.encode(pa.table({"value": [rng.randbytes(200) for _ in range(3)]}), format=f"v{magic}", compression=codec, base_offset=base)
        )
        for base in (0, 3, 6)
    ]
    for number in range(3):
        for at in (9, 14, 16, 17, 30, 60):
            data = bytearray(b"".join(sets))
            data[sum(map(len, sets[:number])) + at] ^= 1
            assert_law(bytes(data))


def test_an_entry_whose_records_cannot_be_read_is_kept_and_named(tmp_path: Path) -> None:
    data = (FINDS / "salvage-silent/x.log").read_bytes()
    found = ls.salvage(data)
    assert (found.data, found.lost, found.ok) == (data, [], False)
    assert [(finding.rule, finding.base_offset, finding.position) for finding in found.undecodable] == [("V2-32", 1, 73)]
    assert found.to_dict()["undecodable"][0]["rule"] == "V2-32"
    assert rows_of(found.data) == rows_of(data)
    path = tmp_path / "x.log"
    path.write_bytes(data)
    for quiet in ([], ["--quiet"]):
        done = run("salvage", path, "-o", tmp_path / f"out{len(quiet)}.log", *quiet)
        assert (done.code, "records cannot be read: bytes 73 to 142 [V2-32], offset 1" in done.err) == (3, True), done.err
    assert (tmp_path / "out0.log").read_bytes() == data


def test_an_undecodable_entry_that_is_left_out_is_not_kept() -> None:
    """Its offset is damaged too."""
    (first, last) = simple_batch([b"a"], 0), simple_batch([b"b"], 3)
    wrong = batch(record(None, b"x"), count=-1, base_offset=1 << 40)
    found = ls.salvage(first + wrong + last + simple_batch([b"c"], 4), order="offset")
    assert (found.doubtful, found.undecodable) == (1, [])


def test_an_entry_that_only_this_machine_cannot_open_is_kept_and_counted(tmp_path: Path) -> None:
    """A plugin or a dictionary is missing, or a limit is too low: that is no loss."""
    plugin = batch(b"???", count=1, base_offset=0, attributes=0x0205)
    zeros = bytes(ls.encode(pa.table({"value": [bytes(1 << 16)]}), compression="gzip", base_offset=1))
    data = plugin + zeros
    found = ls.salvage(data, limits=ls.Limits(max_decompressed_bytes=1000))
    assert (found.data, found.ok, found.undecodable, found.undecompressed) == (data, True, [], 2)
    path = tmp_path / "x.log"
    path.write_bytes(data)
    done = run("salvage", path, "-o", tmp_path / "out.log")
    assert (done.code, "1 kept entry not opened" in done.err) == (0, True), done.err


@pytest.mark.parametrize("name", ["salvage-forges", "salvage-garbage-offset", "salvage-silent"])
def test_finds(name: str, tmp_path: Path) -> None:
    """Files of a public trial: a value that is a valid batch, garbage with a matching checksum, a count of -1."""
    path = FINDS / name / "x.log"
    offsets = {"salvage-forges": [9, 12], "salvage-garbage-offset": [], "salvage-silent": [0, 2]}[name]
    for order in ("input", "offset"):
        found = ls.salvage(ls.FileSource(path), order=order)
        assert sorted(offset for offset, *_ in rows_of(found.data)) == offsets
    done = run("salvage", path, "-o", tmp_path / "out.log", "--aside", tmp_path / "rest.log")
    assert done.code == 3
    assert rows_of((tmp_path / "out.log").read_bytes()) == rows_of(path.read_bytes())
