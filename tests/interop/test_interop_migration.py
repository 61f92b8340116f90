"""Logs of brokers from 0.7 to 2.4, converted: a 4.3.1 broker starts on them, and its clients return exactly their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import corpus
import librdkafka
import rows
from dump_log import parsed
from kraft import VERSION, Broker
from logsegment.cli import main
from peers import Peer
from rows import CREATE_TIME, Row

pytestmark = pytest.mark.interop
LEGACY = ("legacy-0.8.2.2", "legacy-0.10.2.2", "legacy-0.11.0.3", "legacy-2.4.1", "legacy-0.7.2")


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Topic -> a partition directory that the command line made."""
    place = tmp_path_factory.mktemp("directories")
    return {topic_of(source): converted(source, place / topic_of(source)) for source in legacy_directories()}


@pytest.fixture(scope="module")
def broker(new_broker: Callable[[], Broker], directories: dict[str, Path]) -> Iterator[Broker]:
    started = new_broker()
    started.serve(directories)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def by_librdkafka(broker: Broker, directories: dict[str, Path]) -> dict[str, list[Row]]:
    return librdkafka.consume(broker.servers, directories)


def legacy_directories() -> list[Path]:
    """Partition directories of old brokers that hold anything before magic 2."""
    found = {case.path.parent for case in corpus.cases() if case.set in LEGACY and case.kind == "segment" and set(case.magics) & {0, 1}}
    return sorted(found)


def topic_of(directory: Path) -> str:
    return f"{directory.parents[1].name}.{directory.name}"


def segments_of(directory: Path) -> list[corpus.Case]:
    return sorted((case for case in corpus.cases() if case.path.parent == directory), key=lambda case: case.path.name)


def converted(source: Path, target: Path) -> Path:
    """Every segment of a directory as magic 2. Those of 0.7 lose their offsets, which were positions."""
    is_oldest = any(case.format == "0.7" for case in segments_of(source))
    code = main(["convert", "--quiet", str(source), *(["--allow-loss"] if is_oldest else []), "--to", "v2", "-o", str(target)])
    assert code == (3 if is_oldest else 0), source
    return target / source.name


def truth_of(directory: Path) -> list[Row]:
    """What Kafka's classes of that age read in a directory, as it stands in magic 2."""
    found: list[Row] = []
    for case in segments_of(directory):
        found += truth_of_07(case, len(found)) if case.format == "0.7" else map(row_of, corpus.expected_records(case, control=False))
    return found


def row_of(record: corpus.Row) -> Row:
    """Without a timestamp the time is -1, and in magic 2 of the type CreateTime (CNV-17)."""
    kind = max(record["timestampType"], CREATE_TIME)
    return Row(record["offset"], record["timestampMs"], kind, record["key"], record["value"], tuple(record["headers"] or ()))


def truth_of_07(case: corpus.Case, first: int) -> list[Row]:
    """The messages of Kafka 0.7 numbered from `first`: they have no key and no time."""
    values = [corpus.blob(row, "value") for row in corpus.truth_rows(case.truth) if row["type"] == "record"]
    return [Row(first + index, -1, CREATE_TIME, None, value) for index, value in enumerate(values)]


def shortened(found: list[Row]) -> list[Row]:
    """Rows with long bytes as the truth has them."""
    return [replace(row, key=corpus.normalise(row.key), value=corpus.normalise(row.value)) for row in found]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("source", legacy_directories(), ids=topic_of)
def test_a_broker_of_today_serves_old_logs_that_were_converted(
    broker: Broker, by_librdkafka: dict[str, list[Row]], peer: Callable[[str], Peer], scratch: Path, source: Path
) -> None:
    topic = topic_of(source)
    expected = truth_of(source)
    assert rows.difference(shortened(consumed(broker, peer, scratch, topic)), expected) is None
    assert rows.difference(shortened(by_librdkafka[topic]), expected) is None


def test_the_walk_saw_the_old_logs() -> None:
    assert {directory.parents[1].name for directory in legacy_directories()} == set(LEGACY)
    assert len(legacy_directories()) >= 30


def test_the_broker_kept_every_byte(broker: Broker, directories: dict[str, Path]) -> None:
    """Recovery cuts a segment where a batch is not valid."""
    for topic, directory in directories.items():
        for segment in directory.glob("*.log"):
            assert (broker.partition(topic) / segment.name).read_bytes() == segment.read_bytes(), (topic, segment.name)


@pytest.mark.timeout(600)
def test_dump_log_calls_every_batch_valid(directories: dict[str, Path], peer: Callable[[str], Peer], scratch: Path) -> None:
    for topic, directory in directories.items():
        for segment in sorted(directory.glob("*.log")):
            out = scratch / "directory.dump"
            peer(VERSION).ask("dump", str(segment), str(out))
            dump = parsed(out.read_text())
            assert not dump.complaints, (topic, segment.name, dump.complaints[:3])
            assert all(valid for _, valid in dump.batches), (topic, segment.name)


def consumed(broker: Broker, peer: Callable[[str], Peer], scratch: Path, topic: str, isolation: str = "read_uncommitted") -> list[Row]:
    out = scratch / "directory.rows"
    peer(VERSION).ask("consume", broker.servers, topic, isolation, str(out))
    return rows.load_rows(out)
