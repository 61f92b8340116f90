"""Work that a broker did not finish: a 4.3.1 broker starts on it, and serves what is read of the same files before its start."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import librdkafka
import logsegment as ls
from interrupted_work import Replacement, segment
from kraft import Broker

pytestmark = pytest.mark.interop
#: A cleaning of two segments of three into one, and a split of one segment into three, at steps of each kind.
CLEANED = {
    f"cleaned-{steps}": Replacement([10, 10, 5], 0, 1, [], frozenset({0, 3, 5, 8, 11, 19}), steps, 0) for steps in (0, 1, 3, 5, 9, 10, 12)
}
SPLIT = {f"split-{steps}": Replacement([30, 5], 0, 0, [10, 20], frozenset(), steps, 0) for steps in (1, 4, 8, 9, 10, 13, 16, 21)}
FOUND = Path(__file__).parents[1] / "finds" / "interrupted-swap" / "a" / "cart-0"


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Topic -> the directory of its partition 0."""
    root = tmp_path_factory.mktemp("interrupted")
    directories = {topic: root / f"{topic}-0" for topic in (*CLEANED, *SPLIT, "range", "found")}
    shutil.copytree(FOUND, directories["found"])
    for topic, replacement in {**CLEANED, **SPLIT}.items():
        directories[topic].mkdir()
        replacement.make(directories[topic])
    # A broker deletes a segment between two swaps too.
    directory = directories["range"]
    directory.mkdir()
    for offsets, mark in ((range(10), ".swap"), (range(10, 20), ""), (range(20, 30), ".swap"), (range(30, 35), "")):
        segment(directory, offsets, mark=mark)
    return directories


@pytest.fixture(scope="module")
def broker(new_broker: Callable[[], Broker], directories: dict[str, Path]) -> Iterator[Broker]:
    started = new_broker()
    started.start()
    started.create_topics(directories)
    started.stop()
    for topic, directory in directories.items():
        started.replace(topic, sorted(directory.iterdir()))
    started.start()
    yield started
    started.stop()


@pytest.mark.timeout(300)
def test_a_broker_serves_what_was_read_before_its_start(broker: Broker, directories: dict[str, Path]) -> None:
    read = librdkafka.consume(broker.servers, directories)
    for topic, directory in directories.items():
        ours = ls.Log(directory).records(columns=["offset"]).to_pyarrow()["offset"].to_pylist()
        assert [row.offset for row in read[topic]] == ours, (topic, sorted(file.name for file in directory.iterdir()))
        segments = {Path(file.path).name.removesuffix(".swap") for file in ls.Log(directory)}
        assert {file.name for file in broker.partition(topic).glob("*.log")} == segments, topic
    assert len(read["found"]) == 25
