"""`logsegment find`: where records are, and what was read to know it."""

from __future__ import annotations

import json
import os
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import CODEC, CODEC_FILE, DAMAGED, MODERN, TRANSACTIONS, run
from logsegment._options import ReadOptions
from logsegment.analysis.find import Conditions, RecordPlace, Search
from logsegment.segment_files.discovery import find_segments
from made_logs import START, make_partition

LEGACY = corpus.CORPUS / "legacy-0.10.2.2/data"
PLACES = [CODEC, TRANSACTIONS, MODERN / "edge-records-0", MODERN / "compacted-0", MODERN / "logappendtime-0", LEGACY / "codec-lz4-0"]
COLUMNS = ["offset", "timestampMs", "key", "headers", "batchBaseOffset", "entryPosition", "indexInEntry", "isControl"]
WHERE = ("offset", "batchBaseOffset", "entryPosition", "indexInEntry")


def rows_of(place: Path) -> list[dict[str, Any]]:
    """All records of a partition as `decode` reads them from the first byte on, markers too."""
    rows = []
    for path in sorted(place.glob("*.log")):
        rows += ls.decode(path.read_bytes(), columns=COLUMNS, control=True).to_pyarrow().to_pylist()
    return rows


def searched(place: Path | str, wanted: Conditions, **options: Any) -> tuple[list[RecordPlace], Search]:
    search = Search(wanted, ReadOptions(**options))
    groups = groupby(find_segments(place), key=lambda file: file.directory)
    return [found for _, files in groups for found in search.places(list(files))], search


def where(places: list[RecordPlace]) -> list[tuple[int, ...]]:
    return [(place.offset, place.batch_base_offset, place.entry_position, place.index_in_entry) for place in places]


def told(rows: list[dict[str, Any]]) -> list[tuple[int, ...]]:
    return [tuple(row[name] for name in WHERE) for row in rows]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.parts[-3]}-{place.name}")
def test_every_offset_leads_to_the_batch_and_the_position_where_the_record_is(place: Path):
    rows = rows_of(place)
    assert len(rows) > 5
    by_offset = {row["offset"]: row for row in rows}
    for offset in range(min(by_offset) - 1, max(by_offset) + 2):
        places, search = searched(place, Conditions(start_offset=offset, end_offset=offset + 1))
        assert where(places) == told([by_offset[offset]] if offset in by_offset else [])
        assert search.counters.batches_read <= 1
        assert search.counters.segments_read <= 1
    some = sorted(by_offset)[3], sorted(by_offset)[-2]
    assert where(searched(place, Conditions(*some))[0]) == told([row for row in rows if some[0] <= row["offset"] < some[1]])


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.parts[-3]}-{place.name}")
def test_a_time_leads_to_the_record_that_a_broker_answers_with(place: Path):
    log = ls.Log(place)
    for timestamp in sorted({min(row["timestampMs"] + more, 2**63 - 1) for row in rows_of(place) for more in (0, 1)}):
        places, _ = searched(place, Conditions(at=timestamp))
        assert [place.offset for place in places] == [offset for offset in [log.offset_for_timestamp(timestamp)] if offset is not None]


def test_a_range_of_times_is_compared_with_each_record():
    """The first later record ends no search, and no later header does."""
    rows = [row for row in rows_of(CODEC) if not row["isControl"]]
    times = sorted(row["timestampMs"] for row in rows)
    since, until = times[50], times[150]
    expected = [row for row in rows if since <= row["timestampMs"] < until]
    assert 0 < len(expected) < len(rows)
    assert expected[-1]["offset"] > next(row["offset"] for row in rows if row["timestampMs"] >= until)
    assert where(searched(CODEC, Conditions(since=since, until=until))[0]) == told(expected)
    assert searched(CODEC, Conditions(since=times[-1] + 1))[0] == []
    assert len(searched(CODEC, Conditions(until=times[-1] + 1))[0]) == len(rows)


def test_keys_and_headers_are_found_by_reading_within_the_bounds():
    edges = MODERN / "edge-records-0"
    rows = [row for row in rows_of(edges) if not row["isControl"]]
    assert where(searched(edges, Conditions(keys=[b"k", b""]))[0]) == told([row for row in rows if row["key"] in (b"k", b"")])
    for headers in ([("dup", b"2")], [("dup", None)], [("nul\0in\0key", b"n"), ("", b"empty key")], [("dup", b"3")], [("null-value", b"")]):
        expected = [
            row
            for row in rows
            if all(any(header["key"] == name and value in (None, header["value"]) for header in row["headers"]) for name, value in headers)
        ]
        assert where(searched(edges, Conditions(headers=headers))[0]) == told(expected)
    assert len(searched(edges, Conditions(headers=[("dup", None)]))[0]) > 0
    user = [row["offset"] for row in rows_of(CODEC) if row["key"] == b"user-36"]
    assert [record.offset for record in searched(CODEC, Conditions(user[1], None, keys=[b"user-36"]))[0]] == user[1:]


def kernel_bytes() -> int:
    """Bytes that this thread asked for so far."""
    return int(Path("/proc/thread-self/io").read_text().split()[1])


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 partitions, hard links of one: 1.3 GB of log that take 33 MB. A record of 1,000 bytes each millisecond, 16 in a batch."""
    root = tmp_path_factory.mktemp("many")
    make_partition(root, "origin", 0, [list(range(32_000))], value_bytes=1000, batch_bytes=16384, interval=4096)
    for number in range(40):
        partition = root / "data" / f"orders-{number}"
        partition.mkdir(parents=True)
        for file in (root / "origin-0").iterdir():
            os.link(file, partition / file.name)
    return root / "data"


@pytest.mark.skipif(not Path("/proc/thread-self/io").exists(), reason="bytes are counted by Linux")
def test_a_look_up_of_an_offset_in_many_partitions_reads_one_batch_and_the_index_of_each(many: Path):
    wanted = Conditions(17_001, 17_002)
    partitions, log = 40, next(many.glob("orders-0/*.log"))
    assert log.stat().st_size > 32_000_000
    indexes = log.with_suffix(".index").stat().st_size
    searched(many, wanted)
    before = kernel_bytes()
    places, search = searched(many, wanted)
    read = kernel_bytes() - before
    assert sorted((place.partition, place.offset) for place in places) == [(number, 17_001) for number in range(partitions)]
    counters = search.counters
    assert (counters.partitions, counters.segments, counters.segments_read, counters.batches_read) == (partitions,) * 4
    assert counters.index_bytes == indexes * partitions
    assert counters.batch_bytes <= 17_000 * partitions
    assert counters.bytes_walked == 0
    # The counters tell what the kernel has seen, but for the few headers and the proofs of index entries on the way.
    assert counters.index_bytes + counters.batch_bytes <= read <= counters.index_bytes + counters.batch_bytes + 64_000 * partitions


def test_a_look_up_of_a_time_reads_the_headers_before_it_and_one_batch(many: Path):
    """No index proves that no earlier batch is of the time. The record is read by its offset."""
    places, search = searched(many, Conditions(at=START + 17_001))
    assert {place.offset for place in places} == {17_001}
    counters = search.counters
    indexes = sum(index.stat().st_size for index in many.glob("*/*.index"))
    assert (counters.index_bytes, counters.batches_read) == (indexes, counters.partitions)
    assert counters.bytes_walked == sum(place.entry_position for place in places)


def test_names_and_indexes_leave_out_segments_and_a_missing_index_is_reported(tmp_path: Path):
    make_partition(tmp_path, "orders", 0, [list(range(first, first + 100)) for first in range(0, 1000, 100)], interval=500)
    places, search = searched(tmp_path, Conditions(550, 551))
    assert where(places)[0][0] == 550
    assert (search.counters.segments, search.counters.segments_read, search.counters.bytes_walked) == (10, 1, 0)
    for index in tmp_path.glob("*/*.index"):
        index.unlink()
    places, search = searched(tmp_path, Conditions(550, 551))
    assert (len(places), search.counters.index_bytes) == (1, 0)
    assert search.counters.bytes_walked == places[0].entry_position > 0


def test_lines_and_exit_codes_are_those_of_grep():
    found = run("find", CODEC, "--offset", "100", "--json")
    (row,) = [row for row in rows_of(CODEC) if row["offset"] == 100]
    expected = {"file": str(CODEC_FILE), "topic": "codec-lz4", "partition": 0, "offset": 100, "timestamp": row["timestampMs"]}
    expected |= {"controlType": None} | {name: row[name] for name in ("batchBaseOffset", "entryPosition", "indexInEntry")}
    assert (found.code, found.lines) == (0, [expected])
    assert list(found.lines[0]) == list(expected)
    assert "1 place; searched 1 of 1 segment in 1 partition, read 5,322 bytes of batches and 32 of indexes" in found.err
    text = run("find", CODEC, "--offset", "100", "--quiet")
    assert text.text == f"{CODEC_FILE}: offset 100, 2023-11-14T22:13:23.715Z, record 21 of the batch at byte 7,644 (base offset 79)\n"
    assert text.err == ""
    nothing = run("find", CODEC, "--offset", "99999")
    assert (nothing.code, nothing.out) == (1, b"")
    assert "0 places" in nothing.err
    assert [line["offset"] for line in run("find", CODEC, "--key", "user-36", "--limit", "2", "--json").lines] == [
        row["offset"] for row in rows_of(CODEC) if row["key"] == b"user-36"
    ][:2]
    marker = next(row["offset"] for row in rows_of(TRANSACTIONS) if row["isControl"])
    assert " marker of the batch at byte " in run("find", TRANSACTIONS, "--offset", str(marker)).text


def test_damage_is_no_answer_and_hides_no_other_partition(tmp_path: Path):
    for number, source in enumerate([DAMAGED, CODEC_FILE]):
        (tmp_path / f"orders-{number}").mkdir()
        (tmp_path / f"orders-{number}" / f"{0:020}.log").write_bytes(source.read_bytes())
    done = run("find", tmp_path, "--key", "user-36", "--json")
    assert (done.code, {line["partition"] for line in done.lines}) == (2, {1})
    assert "orders-0/00000000000000000000.log: [V2-31] at byte 198" in done.err
    skipping = run("find", tmp_path / "orders-0", "--offset", "1001", "--on-error", "skip", "--json")
    assert [line["offset"] for line in skipping.lines] == [1001]
    over = run("find", tmp_path / "orders-0", "--offset", "1001", "--json")
    assert (over.code, [line["offset"] for line in over.lines]) == (0, [1001])
    all_of_it = run("find", tmp_path / "orders-0", "--offset", "0..", "--on-error", "skip", "--json")
    assert (all_of_it.code, [line["offset"] for line in all_of_it.lines]) == (2, [0, 1, 2, 1000, 1001])


def test_a_time_behind_bytes_that_are_no_batch_is_found_when_they_are_skipped(tmp_path: Path):
    data, batches = CODEC_FILE.read_bytes(), ls.batches(CODEC_FILE.read_bytes()).to_pyarrow().to_pylist()
    path, at = tmp_path / "broken.log", batches[2]["position"]
    path.write_bytes(data[:at] + b"\xff" * 100 + data[at:])
    wanted = Conditions(at=batches[5]["maxTimestamp"])
    with pytest.raises(ls.RecordBatchError):
        searched(path, wanted)
    places, search = searched(path, wanted, on_error="skip")
    assert [place.offset for place in places] == [ls.Segment(CODEC_FILE).offset_for_timestamp(batches[5]["maxTimestamp"])]
    assert {finding.severity for _, finding in search.findings} == {"error"}


@pytest.mark.parametrize("claim", ["the rest", "the next batch"])
def test_a_length_that_was_made_larger_makes_no_answer_of_what_it_hides(claim: str, tmp_path: Path):
    """Readers end at the one in silence; by the other, headers lead past the batch behind it."""
    data, batches = bytearray(CODEC_FILE.read_bytes()), ls.batches(CODEC_FILE.read_bytes()).to_pylist()
    hit, hidden, behind = batches[4:7]
    length = len(data) if claim == "the rest" else hit["size"] + hidden["size"] - 12
    data[hit["position"] + 8 : hit["position"] + 12] = length.to_bytes(4)
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(data)
    wanted = [Conditions(start_offset=hidden["lastOffset"], end_offset=hidden["lastOffset"] + 1), Conditions(keys=[b"none of them"])]
    for item in [*wanted, Conditions(start_offset=0, end_offset=999_999, keys=[b"none of them"])]:
        with pytest.raises(ls.RecordBatchError) as caught:
            searched(path, item)
        error = caught.value
        assert (type(error), error.rule) == ((ls.CorruptError, "SWALLOWED") if claim == "the rest" else (ls.ChecksumError, "V2-31"))
        assert (error.position, error.path, error.code is None) == (hit["position"], str(path), False)
        places, search = searched(path, item, on_error="skip")
        assert [place.offset for place in places] == ([] if item.keys else [hidden["lastOffset"]])
        assert {finding.position for _, finding in search.findings} == {hit["position"]}
    offset = str(hidden["lastOffset"])
    done = run("find", path, "--offset", offset)
    assert (done.code, done.out, done.err.count(f"at byte {hit['position']}")) == (2, b"", 1)
    assert "--on-error skip" in done.err
    done = run("find", path, "--offset", offset, "--on-error", "skip", "--json")
    assert [line["offset"] for line in done.lines] == [hidden["lastOffset"]]
    if claim == "the rest":
        with pytest.raises(ls.CorruptError):
            searched(path, Conditions(at=behind["maxTimestamp"]))
        assert run("find", path, "--time", str(behind["maxTimestamp"])).code == 2


def test_an_end_that_is_only_unfinished_is_an_answer_with_a_note(tmp_path: Path):
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(CODEC_FILE.read_bytes()[:-9])
    for wanted in (("--offset", "99999"), ("--key", "none of them"), ("--time", str(2**61))):
        done = run("find", path, *wanted)
        assert (done.code, done.out, done.err.count("info [L8-14]")) == (1, b"", 1), wanted


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((CODEC,), "no condition; pass --offset"),
        ((CODEC, "--time", "0", "--key", "a"), "pass --since"),
        (("-", "--offset", "1"), "can be read only once"),
        ((CODEC, "--offset", "x"), "is not A..B"),
        (("nowhere", "--offset", "1"), "nowhere"),
    ],
)
def test_a_mistake_is_one_message_and_code_2(arguments: tuple[str | Path, ...], words: str):
    done = run("find", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert words in done.err


def test_tiered_storage_is_looked_up_like_a_log_directory(tmp_path: Path):
    for mode in ("plain", "zstdenc"):
        log = ls.Log(tiered.folder(mode), decryption_keys=tiered.KEYS)
        rows = log.records(columns=WHERE).to_pyarrow().to_pylist()
        wanted = rows[len(rows) // 2]
        places, search = searched(log.paths[0], Conditions(wanted["offset"], wanted["offset"] + 1))
        assert where(places) == told([wanted])
        assert (search.counters.batches_read, search.counters.segments_read) == (1, 1)
    (tmp_path / "key.der").write_bytes(tiered.KEYS["key1"])
    named = run("find", tiered.folder("zstdenc"), "--key-file", f"key1={tmp_path / 'key.der'}", "--offset", str(wanted["offset"]), "--json")
    assert (named.code, [line["offset"] for line in named.lines]) == (0, [wanted["offset"]])


def test_a_store_is_searched_as_a_directory_is(tmp_path: Path, as_bucket: Any):
    as_bucket(tmp_path)
    make_partition(tmp_path, "orders", 0, [list(range(first, first + 100)) for first in range(0, 500, 100)], interval=500)
    for wanted in (Conditions(250, 251), Conditions(at=START + 250), Conditions(since=START + 250, until=START + 251)):
        places, search = searched("s3://bucket/orders-0", wanted)
        here, local = searched(tmp_path / "orders-0", wanted)
        assert where(places) == where(here)
        assert [place.offset for place in places] == [250]
        assert search.counters == local.counters


def test_a_header_may_have_any_value_and_an_equals_sign(tmp_path: Path):
    table = pa.table({"value": [b"v", b"w"], "headers": [[{"key": "a", "value": b"x=y"}], [{"key": "a", "value": b"\xff"}]]})
    path = tmp_path / "any.log"
    ls.encode(table, out=path)
    assert [json.loads(line)["offset"] for line in run("find", path, "--header", "a=x=y", "--json").out.splitlines()] == [0]
    assert run("find", path, "--header", "a").out.count(b"\n") == 2
