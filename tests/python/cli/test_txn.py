"""`logsegment txn`: which transactions are open, hang or were aborted; how large they are, and how long they took."""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from cli_process import run
from logsegment.partition.transactions import transactions_of
from logsegment.segment_files.discovery import find_segments

DATA = corpus.CORPUS / "modern-4.1.0" / "data"
PARTITIONS = sorted({*DATA.glob("transactions-*"), DATA / "compacted-transactions-0"})
HOUR = 3_600_000


def batch(offset: int, time: int, *, producer_id: int = 7, count: int = 2, **options: Any) -> bytes:
    table = pa.table({"value": [b"x" * 10] * count, "timestampMs": [time] * count})
    producer = {"producer_id": producer_id, "producer_epoch": 3, "base_sequence": 0, "transactional": True}
    data = ls.encode(table, base_offset=offset, **producer, **options)
    assert data is not None
    return data


def appended(offset: int, time: int, *, producer_id: int = 7) -> bytes:
    """A batch with a time of the broker."""
    return batch(offset, time, producer_id=producer_id, timestamp_type="LogAppendTime", log_append_time=time)


def marker(offset: int, time: int, kind: str, *, producer_id: int = 7) -> bytes:
    table = pa.table({"value": [bytes(6)], "timestampMs": [time], "isControl": [True], "controlType": [kind]})
    data = ls.encode(table, base_offset=offset, producer_id=producer_id, producer_epoch=3, transactional=True)
    assert data is not None
    return data


def found(place: Path, **options: Any) -> list[dict[str, Any]]:
    return [result.to_dict() for result in transactions_of(find_segments(place), **options)]


@pytest.mark.parametrize("place", PARTITIONS, ids=lambda place: place.name)
def test_states_and_sizes_are_those_of_the_markers_and_batches_of_a_broker(place: Path):
    """Held against a replay of markers and batches as Kafka's classes read them."""
    files = find_segments(place)
    kinds: dict[int, str] = {}
    rows = []
    for file in files:
        source = ls.FileSource(file.path)
        control = ls.decode(source, columns=["offset", "controlType", "isControl"], control=True).to_pyarrow().to_pylist()
        kinds |= {row["offset"]: row["controlType"] for row in control if row["isControl"]}
        rows += ls.batches(source).to_pyarrow().to_pylist()
    expected: list[tuple[Any, ...]] = []
    running: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        if not row["isTransactional"]:
            continue
        if not row["isControl"]:
            running.setdefault(row["producerId"], []).append(row)
        elif data := running.pop(row["producerId"], None):
            state = {"COMMIT": "committed", "ABORT": "aborted"}[kinds[row["lastOffset"]]]
            expected.append((state, data[0]["producerId"], data[0]["baseOffset"], row["lastOffset"], sum(row["size"] for row in data)))
    own = found(place)
    assert [
        (transaction["state"], transaction["producerId"], transaction["firstOffset"], transaction["markerOffset"], transaction["bytes"])
        for transaction in own
        if transaction["markerOffset"]
    ] == expected
    assert len([transaction for transaction in own if transaction["markerOffset"] is None]) == len(running)


def test_the_aborted_ones_are_those_of_the_txnindex():
    place = DATA / "transactions-multi-segment-0"
    index = {(transaction.producer_id, transaction.first_offset) for transaction in ls.Log(place).aborted_transactions}
    assert {
        (transaction["producerId"], transaction["firstOffset"]) for transaction in found(place) if transaction["state"] == "aborted"
    } == index
    assert len(index) == 11


def test_what_is_open_longer_than_a_coordinator_allows_hangs(tmp_path: Path):
    place = tmp_path / "orders-0"
    place.mkdir()
    data = batch(0, 1000) + batch(2, 1500, producer_id=8) + marker(4, 2000, "ABORT") + batch(5, HOUR, producer_id=9)
    (place / f"{0:020}.log").write_bytes(data)
    assert [(transaction["state"], transaction["producerId"], transaction["durationMs"]) for transaction in found(place)] == [
        ("aborted", 7, 1000),
        ("hanging", 8, HOUR - 1500),
        ("open", 9, 0),
    ]
    assert Counter(transaction["state"] for transaction in found(place, longest_ms=HOUR)) == {"aborted": 1, "open": 2}
    done = run("txn", place)
    assert done.code == 1
    assert done.out.decode().splitlines()[0].endswith("orders-0: 0 committed, 1 aborted, 1 open, 1 hanging")
    assert "hanging" in done.out.decode().splitlines()[3]
    relaxed = run("txn", "--hanging-after", str(HOUR), place)
    assert relaxed.code == 0


def test_a_transaction_of_an_idle_partition_lasts_up_to_the_time_that_is_named(tmp_path: Path):
    """Its own batch is the newest: by the log's times it has lasted no time at all."""
    place = tmp_path / "orders-0"
    place.mkdir()
    begun = time.time_ns() // 1_000_000 - 22 * 60_000
    (place / f"{0:020}.log").write_bytes(batch(0, begun))
    later = datetime.fromtimestamp(begun / 1000, UTC) + timedelta(minutes=16)
    assert [(transaction["state"], transaction["durationMs"]) for transaction in found(place)] == [("open", 0)]
    assert [(transaction["state"], transaction["durationMs"]) for transaction in found(place, now=begun + 1000)] == [("open", 1000)]
    assert [transaction["state"] for transaction in found(place, now=later)] == ["hanging"]
    with pytest.raises(ValueError, match="time zone"):
        found(place, now=later.replace(tzinfo=None))
    assert run("txn", place).code == 0
    for now in ("wall", later.isoformat(), str(begun + 16 * 60_000)):
        done = run("txn", "--now", now, place)
        assert (done.code, done.out.decode().splitlines()[0].rpartition(", ")[2]) == (1, "1 hanging"), now
    (row,) = run("txn", "--json", "--now", "wall", place).lines
    assert row["durationMs"] >= 22 * 60_000
    assert run("txn", "--now", "later", place).code == 2


def test_long_durations_are_shown_in_hours_and_days_too(tmp_path: Path):
    place = tmp_path / "orders-0"
    place.mkdir()
    data = appended(0, 0) + appended(2, 0, producer_id=8) + marker(4, 95_228_502_528, "ABORT")
    data += marker(5, 3 * HOUR, "ABORT", producer_id=8) + appended(6, HOUR, producer_id=9) + marker(8, HOUR + 2500, "ABORT", producer_id=9)
    (place / f"{0:020}.log").write_bytes(data)
    lines = run("txn", place).text.splitlines()[2:]
    assert sorted(line.split("Z  ")[1] for line in lines) == ["10,800.000 s (3 h)", "2.500 s", "95,228,502.528 s (1,102 days)"]


def test_durations_are_of_one_clock(tmp_path: Path):
    """A CreateTime of yesterday is the time of an event: the marker has the time of the broker."""
    place = tmp_path / "orders-0"
    place.mkdir()
    log, now = place / f"{0:020}.log", 1_700_000_000_000
    yesterday = now - 24 * HOUR
    first = batch(0, yesterday) + marker(2, now, "COMMIT")
    log.write_bytes(first)
    assert [(transaction["firstTimestamp"], transaction["durationMs"]) for transaction in found(place)] == [(yesterday, 0)]
    # Two records of events that are a minute apart, and a marker before: the transaction took two seconds at most.
    events = batch(3, yesterday) + batch(5, yesterday + 60_000) + marker(7, now + 2000, "COMMIT")
    log.write_bytes(first + events)
    assert [transaction["durationMs"] for transaction in found(place)] == [0, 2000]
    # Another marker after its first batch: it took one second at least.
    between = (
        batch(3, yesterday) + batch(5, now, producer_id=8) + marker(7, now + 500, "COMMIT", producer_id=8) + marker(8, now + 1500, "ABORT")
    )
    log.write_bytes(first + between)
    assert [(transaction["producerId"], transaction["durationMs"]) for transaction in found(place)] == [(7, 0), (8, 500), (7, 1000)]
    log.write_bytes(first + appended(3, now + 100) + marker(5, now + 700, "COMMIT"))
    assert [transaction["durationMs"] for transaction in found(place)] == [0, 600]


def test_an_open_transaction_with_the_times_of_events_does_not_hang(tmp_path: Path):
    place = tmp_path / "orders-0"
    place.mkdir()
    log, now = place / f"{0:020}.log", 1_700_000_000_000
    yesterday = now - 24 * HOUR
    ended = batch(0, yesterday, producer_id=8) + marker(2, now, "COMMIT", producer_id=8)
    opened = batch(3, yesterday) + batch(5, now, producer_id=8) + marker(7, now + 500, "COMMIT", producer_id=8)
    log.write_bytes(ended + opened + batch(8, now))
    assert [(transaction["state"], transaction["producerId"]) for transaction in found(place)] == [
        ("committed", 8),
        ("committed", 8),
        ("open", 7),
    ]
    assert (run("txn", place).code, [finding.rule for finding in ls.validate(log).findings]) == (0, [])
    # By the time of the broker it hangs: another transaction ended 16 minutes later.
    late = batch(8, now, producer_id=8) + marker(10, now + 16 * 60_000, "COMMIT", producer_id=8)
    log.write_bytes(ended + opened + late)
    assert [(transaction["state"], transaction["durationMs"]) for transaction in found(place)][-1] == ("hanging", 16 * 60_000 - 500)
    assert [(finding.rule, finding.base_offset) for finding in ls.validate(log).findings if finding.severity == "warning"][-1:] == [
        ("TRX-2", 3)
    ]


def test_a_transaction_that_goes_on_in_the_next_segment_is_one(tmp_path: Path):
    place = tmp_path / "orders-0"
    place.mkdir()
    (place / f"{0:020}.log").write_bytes(batch(0, 1000))
    (place / f"{2:020}.log").write_bytes(batch(2, 2000) + marker(4, 3000, "COMMIT"))
    (only,) = found(place)
    assert (only["state"], only["batches"], only["records"], only["durationMs"]) == ("committed", 2, 4, 2000)
    both = run("txn", "--all", "--json", *sorted(place.iterdir()))
    assert [json.loads(line)["lastOffset"] for line in both.out.splitlines()] == [3]


@pytest.mark.parametrize("kind", ["ABORT", "COMMIT"])
def test_what_ended_in_damage_is_neither_committed_nor_aborted(kind: str, tmp_path: Path):
    """A flipped bit in a marker: the next marker of its producer may be that of another transaction."""
    place = tmp_path / "orders-0"
    place.mkdir()
    parts = [batch(0, 1000), batch(2, 1000, producer_id=8), marker(4, 1100, kind), batch(5, 1200), marker(7, 1300, "COMMIT")]
    parts += [marker(8, 1400, "ABORT", producer_id=8), batch(9, 1500), marker(11, 1600, "ABORT")]
    sound = [("committed" if kind == "COMMIT" else "aborted", 0), ("committed", 5), ("aborted", 2), ("aborted", 9)]
    log = place / f"{0:020}.log"
    log.write_bytes(b"".join(parts))
    assert [(transaction["state"], transaction["firstOffset"]) for transaction in found(place)] == sound
    assert run("txn", place).code == 0
    data = [*parts]
    # The type in the marker's key: the batch still has its frame, but its checksum is another one.
    data[2] = parts[2][:-10] + bytes([parts[2][-10] ^ 1]) + parts[2][-9:]
    log.write_bytes(b"".join(data))
    told: list[tuple[str, int]] = []
    listed = transactions_of(find_segments(place), on_damage=lambda file, finding: told.append((finding.rule, finding.position)))
    own = [result.to_dict() for result in listed]
    assert [(transaction["state"], transaction["firstOffset"], transaction["markerOffset"]) for transaction in own] == [
        ("unknown", 0, 7),
        ("unknown", 2, 8),
        ("aborted", 9, 11),
    ]
    assert told == [("V2-31", len(parts[0] + parts[1]))]
    done = run("txn", place)
    assert (done.code, done.out.decode().splitlines()[0].rpartition(": ")[2]) == (
        1,
        "0 committed, 1 aborted, 0 open, 0 hanging, 2 unknown",
    )
    assert "error [V2-31]" in done.err
    log.write_bytes(b"".join(data[:3]))
    assert {transaction["state"] for transaction in found(place)} == {"unknown"}, "an open one may have ended there as well"


@pytest.mark.parametrize(("version", "rule"), [("v0", "L8-2"), ("v1", "L8-2"), ("v2", "V2-31"), ("0.7", "L7-12")])
def test_a_bad_checksum_is_reported_by_the_rule_of_its_format(version: str, rule: str, tmp_path: Path):
    """L8-2, V2-31, L7-12: as `validate` names it."""
    log = tmp_path / ("00000000000000000000.kafka" if version == "0.7" else "00000000000000000000.log")
    data = ls.encode(pa.table({"value": [b"x" * 10]}), format=version)
    assert data is not None
    log.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    told: list[str] = []
    assert list(transactions_of(find_segments(log), on_damage=lambda _, finding: told.append(finding.rule))) == []
    assert told == [rule] == [finding.rule for finding in ls.Segment(log).validate().findings if finding.severity == "error"]


def test_much_damage_is_reported_first_and_then_counted(tmp_path: Path):
    place = tmp_path / "orders-0"
    place.mkdir()
    # Each one alone: neighbours are one damaged place.
    data = [batch(2 * at, 1000)[:-1] + (b"?" if at % 2 else b"\0") for at in range(500)]
    (place / f"{0:020}.log").write_bytes(b"".join(data) + marker(1000, 1100, "COMMIT"))
    done = run("txn", place)
    assert done.code == 1
    lines = [line for line in done.err.splitlines() if "[V2-31]" in line]
    assert (len(lines), "1 unknown" in done.text) == (100, True)
    assert "orders-0: and 150 damaged places more" in done.err


def test_a_torn_segment_that_others_follow_is_damage(tmp_path: Path):
    place = tmp_path / "orders-0"
    place.mkdir()
    (place / f"{0:020}.log").write_bytes(batch(0, 1000) + marker(2, 1100, "ABORT")[:-1])
    assert [transaction["state"] for transaction in found(place)] == ["open"], "the end of a log in use"
    (place / f"{3:020}.log").write_bytes(batch(3, 1200) + marker(5, 1300, "COMMIT"))
    assert [(transaction["state"], transaction["markerOffset"]) for transaction in found(place)] == [("unknown", 5)]
    assert run("txn", place).code == 1


def test_a_marker_of_another_kind_ends_nothing(tmp_path: Path):
    place = tmp_path / "orders-0"
    place.mkdir()
    (place / f"{0:020}.log").write_bytes(batch(0, 1000) + marker(2, 1100, "LEADER_CHANGE") + batch(3, 1200))
    assert [(transaction["state"], transaction["records"]) for transaction in found(place)] == [("open", 4)]


def test_segments_belong_together_in_whatever_order_they_are_named(tmp_path: Path):
    for name in ("orders-0", "orders-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{0:020}.log").write_bytes(batch(0, 1000))
        (tmp_path / name / f"{2:020}.log").write_bytes(marker(2, 1100, "ABORT"))
    mixed = [tmp_path / name / f"{offset:020}.log" for offset in (2, 0) for name in ("orders-1", "orders-0")]
    done = run("txn", *mixed)
    assert [line.rpartition(": ")[2] for line in done.out.decode().splitlines() if "committed" in line] == [
        "0 committed, 1 aborted, 0 open, 0 hanging"
    ] * 2
    with pytest.raises(ValueError, match="must be in the order of their offsets"):
        list(transactions_of(find_segments(tmp_path / "orders-0")[::-1]))


def test_json_has_an_object_a_transaction_and_the_committed_ones_only_with_all():
    place = DATA / "transactions-multi-segment-0"
    few, everything = run("txn", "--json", place).lines, run("txn", "--json", "--all", place).lines
    assert {line["state"] for line in few} == {"aborted"}
    assert [line for line in everything if line["state"] != "committed"] == few
    assert few[0]["topic"] == "transactions-multi-segment"
    assert {"producerId", "firstOffset", "records", "bytes", "durationMs", "firstTimestamp"} <= few[0].keys()


def test_a_pipe_and_what_holds_no_transactions():
    assert run("txn", "-", stdin=b"").code == 2
    done = run("txn", DATA / "codec-lz4-0")
    assert (done.code, done.out.decode().splitlines()[0].rpartition(": ")[2]) == (0, "0 committed, 0 aborted, 0 open, 0 hanging")
