"""A broker that believes the indexes which `convert` made serves every record by offset and by time."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import librdkafka
import logsegment as ls
from kraft import Broker
from logsegment.cli import main

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]
TOPIC = "trusted"
SEGMENTS, RECORDS = 3, 400
START = 1_600_000_000_000


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three segments of magic 1, some hundred index entries in all, converted by the command line; times go back now and then."""
    old = tmp_path_factory.mktemp("old") / f"{TOPIC}-0"
    old.mkdir()
    for segment in range(SEGMENTS):
        first = segment * RECORDS
        values = [b"%06d" % offset * 100 for offset in range(first, first + RECORDS)]
        times = [START + offset * 1000 - (5000 if offset % 7 == 0 else 0) for offset in range(first, first + RECORDS)]
        table = pa.table({"value": values, "timestampMs": times})
        (old / f"{first:020d}.log").write_bytes(ls.encode(table, format="v1", base_offset=first))
    new = tmp_path_factory.mktemp("new") / "out"
    assert main(["convert", "--quiet", str(old), "--batch-bytes", "2000", "-o", str(new)]) == 0
    return new / f"{TOPIC}-0"


@pytest.fixture(scope="module")
def broker(new_broker: Callable[[], Broker], directory: Path) -> Iterator[Broker]:
    started = new_broker()
    started.start()
    started.create_topics([TOPIC], **{"message.timestamp.type": "CreateTime"})
    started.stop()
    started.replace(TOPIC, sorted(path for path in directory.iterdir() if path.is_file()), trusted=True)
    started.start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def records(directory: Path) -> list[tuple[int, int]]:
    """Offset and time of every record, without any index."""
    found = [ls.decode(path.read_bytes(), columns=["offset", "timestampMs"]).to_pyarrow() for path in sorted(directory.glob("*.log"))]
    table = pa.concat_tables(found)
    assert table.num_rows == SEGMENTS * RECORDS
    return list(zip(table["offset"].to_pylist(), table["timestampMs"].to_pylist(), strict=True))


def test_the_broker_left_the_indexes_as_they_were(broker: Broker, directory: Path) -> None:
    """Of the segment that it writes to it makes the files longer, for what may come."""
    closed = sorted(directory.glob("*.index"))[:-1]
    assert len(closed) == SEGMENTS - 1
    for index in closed:
        for path in (index, index.with_suffix(".timeindex")):
            assert len(path.read_bytes()) >= 20 * 8, path
            assert (broker.partition(TOPIC) / path.name).read_bytes() == path.read_bytes()


def test_every_offset_is_found(broker: Broker, records: list[tuple[int, int]]) -> None:
    for offset in range(0, len(records), 97):
        assert librdkafka.first_from(broker.servers, TOPIC, offset).offset == offset
    assert [row.offset for row in librdkafka.consume(broker.servers, [TOPIC])[TOPIC]] == [offset for offset, _ in records]


def test_every_time_is_found(broker: Broker, directory: Path, records: list[tuple[int, int]]) -> None:
    log = ls.Log(directory)
    for time in [0, *(START + offset * 1000 - 2500 for offset in range(0, len(records), 113)), records[-1][1], records[-1][1] + 1]:
        expected = next((offset for offset, stamp in records if stamp >= time), None)
        assert log.offset_for_timestamp(time) == expected
        assert librdkafka.offset_for_time(broker.servers, TOPIC, time) == (-1 if expected is None else expected), time


def test_a_wrong_index_is_trusted_too(new_broker: Callable[[], Broker], directory: Path, tmp_path: Path) -> None:
    """That a broker believes: with positions that lead past the records it does not find them."""
    wrong = tmp_path / f"{TOPIC}-0"
    shutil.copytree(directory, wrong)
    first = min(wrong.glob("*.index"))
    entries = first.read_bytes()
    last = struct.unpack(">ii", entries[-8:])
    first.write_bytes(b"".join(struct.pack(">ii", 1 + index, last[1]) for index in range(len(entries) // 8)))
    broker = new_broker()
    broker.start()
    broker.create_topics([TOPIC])
    broker.stop()
    broker.replace(TOPIC, sorted(path for path in wrong.iterdir() if path.is_file()), trusted=True)
    broker.start()
    found = librdkafka.first_from(broker.servers, TOPIC, 100)
    broker.stop()
    assert found.offset > 100
