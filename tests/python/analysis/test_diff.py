"""`logsegment.analysis.diff` and `logsegment diff`: the same records at the same offsets, and if not, which, where, and what is damage."""

from __future__ import annotations

import os
import random
import shutil
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from building import crc32c
from cli_process import run
from logsegment.analysis import diff_sides
from logsegment.analysis.diff import Comparison, Difference, diff
from made_logs import make_partition

DATA = corpus.CORPUS / "modern-4.1.0" / "data"
PLAIN, PACKED = DATA / "codec-none-0", DATA / "codec-lz4-0"
SEGMENT = f"{0:020}.log"
COLUMNS = ["offset", "timestampMs", "key", "value", "headers"]
#: A batch of the codec-lz4-0 segment in the middle: position, size, first and last offset.
POSITION, SIZE, FIRST, LAST = 3313, 3788, 41, 75


def compared(a: Path, b: Path, **options: Any) -> tuple[Comparison, list[Difference], list[Difference]]:
    (partition,) = diff(a, b, **options)
    found = list(partition)
    return (
        partition,
        [difference for difference in found if difference.kind != "damage"],
        [difference for difference in found if difference.kind == "damage"],
    )


def told(found: list[Difference]) -> list[tuple[str, str | None, int, int, int]]:
    return [(difference.kind, difference.side, difference.first_offset, difference.last_offset, difference.records) for difference in found]


def table_of(place: Path) -> pa.Table:
    return ls.Log(place).records(columns=COLUMNS).to_pyarrow()


def written(table: Any, path: Path, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    ls.encode(table, out=path, overwrite=True, **options)
    return path


def with_bytes(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("place", sorted(path for path in DATA.iterdir() if path.is_dir()), ids=lambda place: place.name)
def test_a_partition_is_the_same_as_one_file_of_all_its_segments_and_nothing_is_unpacked(place: Path, tmp_path: Path):
    """The borders of segments do not count."""
    logs = sorted(place.glob("*.log"))
    whole = with_bytes(tmp_path / "whole.log", b"".join(log.read_bytes() for log in logs))
    partition, found, damage = compared(place, whole)
    counts = [row["count"] for row in ls.Log(place).batches().to_pylist()]
    assert (partition.state, found, damage) == ("same", [], [])
    assert (partition.totals.same_records, partition.totals.same_batches) == (sum(counts), len(counts))
    deep, found, _ = compared(place, whole, deep=True)
    assert (deep.state, deep.totals.same_records, deep.totals.same_batches) == ("same", sum(counts), 0)


@pytest.mark.parametrize("codec", ["gzip", "zstd", "none"])
def test_another_codec_is_the_same_unless_batches_count(codec: str, tmp_path: Path):
    copy = tmp_path / "copy.log"
    ls.convert(ls.FileSource(PACKED / SEGMENT), compression=codec, out=copy)
    partition, found, _ = compared(PACKED, copy)
    assert (partition.state, found, partition.totals.same_records, partition.totals.batches) == ("same", [], 240, 1)
    partition, found, _ = compared(PACKED, copy, batches=True)
    assert partition.state == "different"
    assert told(found) == [("batches", None, 0, 239, 240)]
    assert {"compression", "crc", "size"} <= set(found[0].fields)
    assert not {"baseOffset", "count", "maxTimestamp", "producerId"} & set(found[0].fields)


def test_another_format_is_the_same(tmp_path: Path):
    make_partition(tmp_path, "orders", 0, [[*range(50)], [*range(50, 90)]])
    (old := tmp_path / "old").mkdir()
    for log in (tmp_path / "orders-0").glob("*.log"):
        ls.convert(ls.FileSource(log), to="v1", compression="gzip", out=old / log.name)
    partition, found, _ = compared(tmp_path / "orders-0", old)
    assert (partition.state, found, partition.totals.same_records, partition.totals.same_batches) == ("same", [], 90, 0)
    # Of a compressed message of magic 1 only the last offset stands in a header.
    assert compared(old, old)[0].totals.same_batches > 2


def test_other_batches_are_the_same_and_leader_epochs_count_only_with_batches(tmp_path: Path):
    table = table_of(PLAIN)
    large, small = (written(table, tmp_path / name / SEGMENT, batch_bytes=size) for name, size in (("large", 1 << 20), ("small", 500)))
    led = written(table, tmp_path / "led" / SEGMENT, batch_bytes=500, partition_leader_epoch=7)
    assert compared(PLAIN, large)[0].state == compared(small, large)[0].state == "same"
    assert told(compared(small, large, batches=True)[1]) == [("batches", None, 0, 239, 240)]
    assert compared(small, led)[0].totals.same_batches == ls.batches(ls.FileSource(small)).num_rows
    (only,) = compared(small, led, batches=True)[1]
    assert only.fields == ("partitionLeaderEpoch",)


def test_what_compaction_took_is_missing_in_the_one(tmp_path: Path):
    table = table_of(PACKED)
    kept = table.filter(pc.not_equal(pc.bit_wise_and(table["offset"], 7), 3))
    one = written(kept, tmp_path / "compacted.log")
    for a, b, side in ((PACKED, one, "b"), (one, PACKED, "a")):
        partition, found, damage = compared(a, b)
        assert told(found) == [("missing", side, offset, offset, 1) for offset in range(3, 240, 8)]
        assert (partition.state, damage) == ("different", [])
        assert partition.totals.same_records == 210
    cleaned = DATA / "compacted-0"
    before = written(pa.concat_tables([table_of(cleaned), table.slice(0, 0)]), tmp_path / "cleaned.log")
    assert compared(cleaned, before)[0].state == "same"


def test_missing_batches_are_counted_by_their_headers_and_reported_as_ranges(tmp_path: Path):
    data = (PACKED / SEGMENT).read_bytes()
    hole = with_bytes(tmp_path / "hole.log", data[:POSITION] + data[POSITION + SIZE :])
    late = with_bytes(tmp_path / "late.log", data[POSITION:])
    early = with_bytes(tmp_path / "early.log", data[:POSITION])
    assert told(compared(PACKED, hole)[1]) == [("missing", "b", FIRST, LAST, 35)]
    assert told(compared(hole, PACKED)[1]) == [("missing", "a", FIRST, LAST, 35)]
    assert told(compared(late, early)[1]) == [("missing", "a", 0, 40, 41), ("missing", "b", 41, 239, 199)]
    gzipped = tmp_path / "gzip.log"
    ls.convert(ls.FileSource(PACKED / SEGMENT), compression="gzip", out=gzipped)
    assert told(compared(gzipped, hole)[1]) == [("missing", "b", FIRST, LAST, 35)]
    assert told(compared(gzipped, hole, check_crc=False)[1]) == [("missing", "b", FIRST, LAST, 35)]


@pytest.mark.parametrize("field", ["timestamp", "key", "value", "headers"])
def test_a_changed_record_is_reported_with_the_field_that_differs(field: str, tmp_path: Path):
    column = "timestampMs" if field == "timestamp" else field
    table = table_of(PLAIN)
    rows = table.to_pylist()
    new = {"timestamp": 5, "key": b"\xff other", "value": None, "headers": [{"key": "h", "value": b"\xfe"}]}[field]
    for offset in (100, 101, 200):
        rows[offset][column] = new
    changed = written(pa.Table.from_pylist(rows, schema=table.schema), tmp_path / "changed.log")
    partition, found, _ = compared(PLAIN, changed)
    assert [
        (difference.kind, difference.side, difference.first_offset, difference.last_offset, difference.fields) for difference in found
    ] == [
        ("changed", None, 100, 101, (field,)),
        ("changed", None, 200, 200, (field,)),
    ]
    assert (partition.totals.changed, partition.totals.same_records) == (3, 237)


def test_a_value_that_was_changed_under_a_mended_checksum_is_found(tmp_path: Path):
    """No validation sees this: only the other replica knows."""
    data = bytearray((PLAIN / SEGMENT).read_bytes())
    record = next(
        row for row in ls.Log(PLAIN).records(columns=["offset", "value"]).to_pyarrow().to_pylist() if len(row["value"] or b"") > 20
    )
    at = data.index(record["value"])
    data[at] ^= 1
    row = next(row for row in ls.Log(PLAIN).batches().to_pylist() if row["position"] <= at < row["position"] + row["size"])
    start, end = row["position"], row["position"] + row["size"]
    struct.pack_into(">I", data, start + 17, crc32c(bytes(data[start + 21 : end])))
    changed = with_bytes(tmp_path / SEGMENT, bytes(data))
    assert ls.validate(ls.FileSource(changed)).ok
    _, found, damage = compared(PLAIN, changed)
    assert (told(found), found[0].fields, damage) == ([("changed", None, record["offset"], record["offset"], 1)], ("value",), [])
    done = run("diff", PLAIN, changed)
    assert (done.code, done.text.splitlines()[0]) == (1, f"codec-none-0: changed: offset {record['offset']}, 1 record (value)")


def damaged_ones() -> Iterator[tuple[str, str, bytes]]:
    data = (PACKED / SEGMENT).read_bytes()
    for name, rule, at, value in (("checksum", "V2-31", 80, None), ("magic", "L8-13", 16, 9), ("length", "SWALLOWED", 9, 1)):
        wrong = bytearray(data)
        wrong[POSITION + at] = wrong[POSITION + at] ^ 1 if value is None else value
        yield name, rule, bytes(wrong)
    wrong = bytearray(data)
    end = POSITION + SIZE
    wrong[POSITION + 61 : end] = bytes(SIZE - 61)
    struct.pack_into(">I", wrong, POSITION + 17, crc32c(bytes(wrong[POSITION + 21 : end])))
    yield "no lz4 under a right checksum", "V2-42", bytes(wrong)


@pytest.mark.parametrize(("name", "rule", "data"), [*damaged_ones()], ids=lambda item: item if isinstance(item, str) else "")
@pytest.mark.parametrize("is_repacked", [False, True], ids=["same-batches", "repacked"])
def test_damage_is_reported_as_a_finding_and_not_as_a_difference(name: str, rule: str, data: bytes, is_repacked: bool, tmp_path: Path):
    bad = with_bytes(tmp_path / "bad.log", data)
    sound = PACKED / SEGMENT
    if is_repacked:
        ls.convert(ls.FileSource(sound), compression="gzip", out=(sound := tmp_path / "sound.log"))
    for a, b, side in ((sound, bad, "b"), (bad, sound, "a")):
        partition, found, damage = compared(a, b)
        assert told(found) == [("unreadable", side, FIRST, LAST, 35)]
        assert (partition.state, partition.totals.same_records, partition.totals.unreadable) == ("damaged", 205, 35)
        assert [(difference.side, difference.path, difference.finding.position) for difference in damage] == [(side, str(bad), POSITION)]
        assert damage[0].finding.rule == rule or name.startswith("no lz4")
    done = run("diff", sound, bad)
    assert done.code == 1
    assert f"B {bad}: " in done.text
    assert "at byte 3,313" in done.text
    assert "DAMAGED, otherwise the same" in done.text.splitlines()[-1]


def test_the_same_damage_on_both_sides_is_reported_for_both(tmp_path: Path):
    _, _, data = next(damaged_ones())
    partition, found, damage = compared(with_bytes(tmp_path / "a.log", data), with_bytes(tmp_path / "b.log", data))
    assert (partition.state, found, [difference.side for difference in damage]) == ("damaged", [], ["a", "b"])


def test_a_log_that_ends_inside_a_batch_lacks_what_would_come_behind_it(tmp_path: Path):
    torn = with_bytes(tmp_path / "torn.log", (PACKED / SEGMENT).read_bytes()[: POSITION + 1000])
    partition, found, damage = compared(PACKED, torn)
    assert told(found) == [("unreadable", "b", FIRST, LAST, 35), ("missing", "b", LAST + 1, 239, 164)]
    assert ([item.finding.rule for item in damage], partition.state) == (["L8-14"], "different")
    headless = with_bytes(tmp_path / "headless.log", (PACKED / SEGMENT).read_bytes()[: POSITION + 20])
    partition, found, _ = compared(PACKED, headless)
    assert (told(found), partition.state) == ([("unreadable", "b", FIRST, 239, 199)], "damaged")
    zeros = with_bytes(tmp_path / "zeros.log", (PACKED / SEGMENT).read_bytes() + bytes(5000))
    assert compared(PACKED, zeros)[0].state == "same"


def test_damage_at_the_end_of_a_segment_reaches_to_the_next(tmp_path: Path):
    made = make_partition(tmp_path, "orders", 0, [[*range(40)], [*range(40, 90)]])
    shutil.copytree(tmp_path / "orders-0", tmp_path / "copy")
    first = tmp_path / "copy" / SEGMENT
    start = ls.batches(ls.FileSource(first)).to_pylist()[-1]
    first.write_bytes(first.read_bytes()[: start["position"] + 10])
    partition, found, _ = compared(tmp_path / "orders-0", tmp_path / "copy")
    assert told(found) == [("unreadable", "b", start["baseOffset"], 39, start["count"])]
    assert partition.totals.same_records == len(made) - start["count"]


@pytest.mark.parametrize("seed", range(12))
def test_the_differences_are_those_of_a_dictionary_of_all_records(seed: int, tmp_path: Path):
    """Random logs that lack and change records, in batches of any size, against the plainest comparison there is."""
    draw = random.Random(seed)
    sides = []
    for name in "ab":
        rows = [{"offset": offset, "timestampMs": offset, "key": b"k%d" % offset, "value": b"v" * (offset % 9)} for offset in range(400)]
        start, end = sorted(draw.sample(range(400), 2))
        chance = draw.choice([0, 0.02, 0.4])
        kept = [row for row in rows if draw.random() >= chance and not (draw.random() < 0.9 and seed % 3 and start <= row["offset"] < end)]
        for row in draw.sample(kept, min(len(kept), draw.choice([0, 1, 30]))):
            row[draw.choice(["key", "value"])] = draw.choice([None, b"\xffx", b"other"])
        path = written(pa.Table.from_pylist(kept or rows), tmp_path / f"{name}.log", batch_bytes=draw.choice([200, 300, 3000]))
        sides.append((path, {row["offset"]: row for row in kept or rows}))
    (a, ours), (b, theirs) = sides
    expected: dict[tuple[str, str | None, tuple[str, ...]], set[int]] = {}
    for offset in ours.keys() | theirs.keys():
        one, other = ours.get(offset), theirs.get(offset)
        if one is None or other is None:
            expected.setdefault(("missing", "a" if one is None else "b", ()), set()).add(offset)
        elif fields := tuple(name for name in ("key", "value") if one[name] != other[name]):
            expected.setdefault(("changed", None, fields), set()).add(offset)
    for options in ({}, {"deep": True}, {"check_crc": False}):
        partition, found, _ = compared(a, b, **options)
        counts: dict[tuple[str, str | None, tuple[str, ...]], int] = {}
        for difference in found:
            kind = (difference.kind, difference.side, difference.fields)
            inside = {offset for offset in expected[kind] if difference.first_offset <= offset <= difference.last_offset}
            assert len(inside) == difference.records
            counts[kind] = counts.get(kind, 0) + difference.records
        assert counts == {kind: len(offsets) for kind, offsets in expected.items()}
        assert partition.totals.same_records == len(ours.keys() & theirs.keys()) - partition.totals.changed


def outcome(a: Path, b: Path) -> tuple[Any, ...]:
    partition, found, damage = compared(a, b)
    return (
        partition.state,
        partition.totals,
        told(found),
        [(difference.side, difference.path, difference.finding.rule, difference.finding.position) for difference in damage],
    )


@pytest.mark.parametrize("chunk", [1, 300])
def test_findings_of_a_read_ahead_thread_come_in_order(chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Headers that are damaged, torn or missing, in one segment or the next, with a chunk of them on the way."""
    make_partition(tmp_path / "a", "orders", 0, [list(range(at, at + 400)) for at in (0, 400, 800)], value_bytes=12_000)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    places = tmp_path / "a/orders-0", tmp_path / "b/orders-0"
    logs = sorted(places[1].glob("*.log"))
    expected = [outcome(*places)]
    data = logs[1].read_bytes()
    logs[1].write_bytes(data.replace(b"0600", b"0611"))
    expected.append(outcome(*places))
    logs[0].write_bytes(logs[0].read_bytes()[:-30])
    logs[2].write_bytes(logs[2].read_bytes()[:-30])
    expected.append(outcome(*places))
    assert [len(item[3]) for item in expected] == [0, 1, 3]
    assert len(list(ls.batch_stream(ls.FileSource(logs[0]), batch_size=1))) > 2
    monkeypatch.setattr(diff_sides, "CHUNK", chunk)
    assert outcome(*places) == expected[2]
    logs[0].write_bytes((places[0] / logs[0].name).read_bytes())
    logs[2].write_bytes((places[0] / logs[2].name).read_bytes())
    assert outcome(*places) == expected[1]
    logs[1].write_bytes((places[0] / logs[1].name).read_bytes())
    assert outcome(*places) == expected[0]


def test_a_comparison_that_is_given_up_or_fails_leaves_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make_partition(tmp_path, "orders", 0, [list(range(at, at + 400)) for at in (0, 400, 800)], value_bytes=1000)
    shutil.copytree(tmp_path / "orders-0", tmp_path / "other-0")
    os.remove(tmp_path / "other-0" / f"{0:020}.log")
    monkeypatch.setattr(diff_sides, "CHUNK", 1)
    (partition,) = diff(tmp_path / "orders-0", tmp_path / "other-0")
    next(iter(partition))
    assert any(thread.name.startswith("logsegment-diff") for thread in threading.enumerate())
    del partition
    assert not any(thread.name.startswith("logsegment-diff") for thread in threading.enumerate())
    (partition,) = diff(tmp_path / "orders-0", tmp_path / "other-0")
    os.remove(tmp_path / "orders-0" / f"{400:020}.log")
    with pytest.raises(FileNotFoundError):
        list(partition)
    del partition
    assert not any(thread.name.startswith("logsegment-diff") for thread in threading.enumerate())


def test_large_ranges_are_compared_as_columns_with_the_same_result(tmp_path: Path):
    """More than 4 MiB that no header settles."""
    rows = 60_000
    values = pa.array([b"%08d" % index * 12 for index in range(rows)], pa.binary())
    a = written(pa.table({"value": values}), tmp_path / "a.log", batch_bytes=5000)
    spoiled = values.to_pylist()
    spoiled[30_000] = b"other"
    b = written(pa.table({"value": pa.array(spoiled, pa.binary())}), tmp_path / "b.log", batch_bytes=7000)
    partition, found, _ = compared(a, b)
    assert told(found) == [("changed", None, 30_000, 30_000, 1)]
    assert partition.totals.same_records == rows - 1


def test_trees_are_paired_by_partition(tmp_path: Path):
    for root in ("a", "b"):
        for number in (0, 2, 10):
            make_partition(tmp_path / root, "orders", number, [[*range(30)], [*range(30, 60)]])
    shutil.rmtree(tmp_path / "b" / "orders-10")
    (tmp_path / "b" / "orders-2" / f"{30:020}.log").unlink()
    make_partition(tmp_path / "b", "payments", 0, [[*range(5)]])
    found = {file.name: (list(file), file.state, bool(file.a), bool(file.b)) for file in diff(tmp_path / "a", tmp_path / "b")}
    assert [*found] == ["orders-0", "orders-2", "orders-10", "payments-0"]
    assert found["orders-0"] == ([], "same", True, True)
    assert told(found["orders-2"][0]) == [("missing", "b", 30, 59, 30)]
    assert found["orders-10"] == ([], "different", True, False)
    assert found["payments-0"] == ([], "different", False, True)
    (one,) = diff(tmp_path / "a" / "orders-2", tmp_path / "b")
    assert (one.topic, one.partition, len(one.a), len(one.b)) == ("orders", 2, 2, 1)
    with pytest.raises(ValueError, match="holds no orders-10"):
        diff(tmp_path / "a" / "orders-10", tmp_path / "b")
    shutil.copytree(tmp_path / "a" / "orders-0", tmp_path / "b" / "disk" / "orders-0")
    found = {file.name: (list(file), file.state, bool(file.a), bool(file.b)) for file in diff(tmp_path / "a", tmp_path / "b")}
    assert found["orders-0"] == found["disk/orders-0"] == ([], "same", True, True)


def test_lines_limits_and_exit_codes(tmp_path: Path):
    make_partition(tmp_path / "a", "orders", 0, [[*range(60)]])
    make_partition(tmp_path / "b", "orders", 0, [[*range(0, 60, 2)]])
    same = run("diff", "--json", tmp_path / "a", tmp_path / "a")
    assert same.code == 0
    assert same.lines[-1] == {
        "type": "summary",
        "topic": "orders",
        "partition": 0,
        "name": "orders-0",
        "state": "same",
        "inA": True,
        "inB": True,
        "sameRecords": 60,
        "sameBatches": same.lines[-1]["sameBatches"],
        "missingInA": 0,
        "missingInB": 0,
        "changed": 0,
        "unreadable": 0,
        "batchStretches": 0,
        "damaged": 0,
        "undecompressed": 0,
    }
    assert run("diff", "--quiet", tmp_path / "a", tmp_path / "a").out == b""
    other = run("diff", "--json", "--limit", "3", tmp_path / "a", tmp_path / "b")
    assert (other.code, [line["type"] for line in other.lines]) == (1, ["missing"] * 3 + ["summary"])
    assert other.lines[0] | {"fields": []} == other.lines[0]
    assert (other.lines[0]["side"], other.lines[0]["firstOffset"], other.lines[-1]["missingInB"]) == ("b", 1, 30)
    text = run("diff", "-n", "3", tmp_path / "a", tmp_path / "b").text.splitlines()
    assert (text[0], text[3]) == ("orders-0: missing in B: offset 1, 1 record", "orders-0: and 27 more")
    assert run("diff", tmp_path / "a", tmp_path / "nowhere").code == 2
    assert run("diff", tmp_path / "a", "-", stdin=b"").code == 2


def test_kafka_07_is_compared_by_its_positions():
    place = corpus.CORPUS / "legacy-0.7.2" / "data"
    partitions = [item for item in diff(place, place) if list(item) == []]
    assert partitions
    assert {partition.state for partition in partitions} == {"same"}
    assert len(partitions) == len({path.parent for path in place.rglob("*.kafka")})


@pytest.mark.parametrize("mode", ["plain", "zstd", "zstdenc"])
def test_a_prefix_of_tiered_storage_is_held_against_the_segment_that_was_uploaded(mode: str, tmp_path: Path):
    keys = [option for name in tiered.KEYS for option in ("--key-file", f"{name}={with_bytes(tmp_path / name, tiered.KEYS[name])}")]
    original = with_bytes(tmp_path / "original.log", tiered.original(mode))
    done = run("diff", "--json", *keys, original, tiered.folder(mode))
    assert (done.code, [line["state"] for line in done.lines]) == (0, ["same"])
    assert done.lines[0]["sameRecords"] > 0


def test_hostile_files_are_compared_without_an_error(tmp_path: Path):
    """Whatever the bytes are, what comes out are differences and damage."""
    seen = 0
    for path in sorted((corpus.TESTS / "hostile" / "data").glob("*.log"))[::4]:
        (one,) = diff(path, PACKED / SEGMENT)
        assert list(one)
        (same,) = diff(path, path, deep=True)
        assert all(found.kind in ("damage", "unreadable") for found in same), path
        seen += 1
    assert seen > 20
