"""What Kafka's own classes made of the corpus: read on both sides, and made again (rules CNV, VAL).

`conversions-down` is the work of `MemoryRecords.downConvert`, `conversions-up` that of the broker's `LogValidator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import corpus
import logsegment as ls
from corpus import RECORD_COLUMNS, Conversion, rows_of
from every import every

CONVERSIONS = corpus.conversions()
DOWN = [made for made in CONVERSIONS if made.is_down and made.output]
UP = [made for made in CONVERSIONS if not made.is_down and made.output]
REFUSED_DOWN = [made for made in CONVERSIONS if made.is_down and made.error]
REFUSED_UP = [made for made in CONVERSIONS if not made.is_down and made.error]
#: The clock of the broker, the offset that it gave first and the epoch that it wrote, as README.md of the corpus has them.
NOW, FIRST_OFFSET, LEADER_EPOCH = 1_700_000_500_000, 100, 5
#: Plain messages of one request.
MOST = 10
TYPES = {"CreateTime": 0, "LogAppendTime": 1}
#: Columns that say where an entry lies, not what is in it.
PLACES = ("entryPosition",)


def of(conversions: list[Conversion]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return every("made", conversions)


def records(data: bytes) -> list[corpus.Row]:
    """Rows without control records, which no conversion keeps (CNV-1)."""
    return rows_of(ls.decode(data, columns=RECORD_COLUMNS))


def output_of(made: Conversion) -> bytes:
    assert made.output
    return made.output.read()


def test_the_walk_sees_every_conversion():
    corpus.seen_all(CONVERSIONS, corpus.manifest()["counts"]["conversions"])
    assert [len(found) for found in (DOWN, UP, REFUSED_DOWN, REFUSED_UP)] == [45, 45, 26, 4]
    outputs = {made.output for made in CONVERSIONS if made.output}
    assert outputs == {case for case in corpus.cases() if case.set.startswith("conversions-")}


@of(DOWN)
def test_what_went_down_has_the_records_of_its_source(made: Conversion):
    """CNV-4, CNV-8 to CNV-10: offset, key and value of every record; the time and its type unless the target has none."""
    found, source = records(output_of(made)), records(made.source.read())
    same = ("offset", "key", "value", "compression")
    assert [[row[name] for name in same] for row in found] == [[row[name] for name in same] for row in source]
    times = [
        (-1, -1) if row["magic"] == 0 else (kept["timestampMs"], kept["timestampType"]) for row, kept in zip(found, source, strict=True)
    ]
    assert [(row["timestampMs"], row["timestampType"]) for row in found] == times
    assert {row["magic"] for row in found} <= set(range(made.line["toMagic"] + 1))


@of(UP)
def test_what_went_up_has_the_records_of_its_source(made: Conversion):
    """CNV-16 to CNV-18, VAL-17: key and value of every record, new offsets, the broker's time where the topic says so."""
    found, source = records(output_of(made)), records(made.source.read())
    same = ("key", "value", "compression")
    assert [[row[name] for name in same] for row in found] == [[row[name] for name in same] for row in source]
    assert [row["offset"] for row in found] == list(range(FIRST_OFFSET, FIRST_OFFSET + len(source)))
    appended = made.line["timestampType"] == "LogAppendTime"
    assert [row["timestampMs"] for row in found] == [NOW if appended else row["timestampMs"] for row in source]
    assert {row["timestampType"] for row in found} == {TYPES[made.line["timestampType"]]}
    epoch = LEADER_EPOCH if made.line["toMagic"] == 2 else -1
    assert {(row["magic"], row["partitionLeaderEpoch"]) for row in found} == {(made.line["toMagic"], epoch)}


@of(DOWN)
def test_going_down_gives_what_kafka_gave(made: Conversion):
    """CNV-1 to CNV-12: byte for byte where nothing is compressed, record for record where it is."""
    converted = ls.convert(made.source.read(), to=f"v{made.line['toMagic']}", allow_loss=True)
    assert entries_of(bytes(converted.data)) == entries_of(output_of(made))
    assert converted.stopped_at is None


@of(REFUSED_DOWN)
def test_going_down_stops_at_zstd_and_gives_what_came_before(made: Conversion):
    """CNV-2: and names the batch."""
    converted = ls.convert(made.source.read(), to=f"v{made.line['toMagic']}", allow_loss=True)
    first = next(row for row in corpus.expected_batches(made.source) if row["compression"] == "zstd")
    assert made.error == "UnsupportedCompressionTypeException"
    assert converted.stopped_at is not None
    assert [row["value"] for row in records(bytes(converted.data))] == [
        row["value"] for row in records(made.source.read()) if row["entryPosition"] < first["position"]
    ]


@of(UP)
def test_appending_gives_what_kafka_gave(made: Conversion):
    """VAL-17, VAL-18, CNV-16, CNV-17: one request for each wrapper or run of up to ten plain messages."""
    assert entries_of(appended(made)) == entries_of(output_of(made))


@of(REFUSED_UP)
def test_appending_refuses_what_kafka_refused(made: Conversion):
    """VAL-15."""
    assert made.error == "RecordValidationException"
    with pytest.raises(ls.RecordBatchError) as raised:
        appended(made)
    assert raised.value.kafka_error_code == 32


def appended(made: Conversion) -> bytes:
    """The source through the broker's side, request by request."""
    log, offset = b"", FIRST_OFFSET
    for request in requests_of(made.source):
        done = ls.broker.append(
            request,
            first_offset=offset,
            to=f"v{made.line['toMagic']}",
            timestamp_type=made.line["timestampType"],
            now=NOW,
            partition_leader_epoch=LEADER_EPOCH,
        )
        log += bytes(done.data)
        offset = done.last_offset + 1
    return log


def requests_of(case: corpus.Case) -> list[bytes]:
    """What a producer sent at once: a compressed set, or up to ten messages."""
    data = case.read()
    runs: list[list[bytes]] = []
    is_open = False
    for row in corpus.expected_batches(case):
        entry = data[row["position"] :][: row["size"]]
        is_plain = row["compression"] == "none"
        if is_open and is_plain:
            runs[-1].append(entry)
        else:
            runs.append([entry])
        is_open = is_plain
    return [b"".join(run[start : start + MOST]) for run in runs for start in range(0, len(run), MOST)]


def entries_of(data: bytes) -> list[Any]:
    """Each entry as its bytes, or as its records when it is compressed: two compressors need not agree."""
    rows = rows_of(ls.batches(data))
    inside = rows_of(ls.decode(data, columns=RECORD_COLUMNS, control=True))
    found: list[Any] = []
    for row in rows:
        if row["compression"] == "none":
            found.append(data[row["position"] :][: row["size"]])
        else:
            own = [record for record in inside if record["entryPosition"] == row["position"]]
            found.append([{name: record[name] for name in record if name not in PLACES} for record in own])
    return found
