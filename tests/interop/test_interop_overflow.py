"""Segments with offsets more than 2^31 - 1 above their names: a broker splits them when it loads the log, and starts on what we split."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import corpus
import librdkafka
import logsegment as ls
from building import simple_batch
from kraft import Broker
from logsegment.cli import main

pytestmark = pytest.mark.interop
FIND = corpus.CORPUS.parent / "finds/offset-overflow/overflow-0"
NAME = "00000000000000000000.log"


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Topic -> a partition directory: as found, and as our verbs write it."""
    place = tmp_path_factory.mktemp("wide")
    (place / "many-0").mkdir()
    gaps = [0, 1, 1 << 31, 1 << 31, (1 << 31) + 5, 1 << 33]
    offsets = sorted({sum(gaps[: at + 1]) for at in range(len(gaps))})
    (place / "many-0" / NAME).write_bytes(b"".join(simple_batch([b"v"], offset) for offset in offsets))
    shutil.copytree(FIND, place / "few-0")
    found = {}
    for name in ("few", "many"):
        found[f"{name}.found"] = place / f"{name}-0"
        for verb in (["salvage"], ["rewrite", "--drop", "key=none"], ["split", "--bytes", str(2**31 - 1)]):
            out = place / f"{name}.{verb[0]}"
            assert main([*verb, str(place / f"{name}-0"), "--output", str(out), "--quiet"]) == 0
            found[out.name] = out / f"{name}-0"
    return found


@pytest.fixture(scope="module")
def broker(new_broker: Callable[[], Broker], directories: dict[str, Path]) -> Iterator[Broker]:
    started = new_broker()
    started.serve(directories)
    yield started
    started.stop()


def segments(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.glob("*.log")) if path.stat().st_size}


@pytest.mark.timeout(300)
def test_a_broker_splits_as_we_do_and_keeps_what_we_split(broker: Broker, directories: dict[str, Path]) -> None:
    for topic, directory in directories.items():
        name, kind = topic.split(".")
        ours = segments(directories[f"{name}.split"])
        assert len(ours) > 1
        assert segments(broker.partition(topic)) == ours, topic
        assert kind == "found" or segments(directory) == ours


@pytest.mark.timeout(300)
def test_a_broker_serves_what_we_read(broker: Broker, directories: dict[str, Path]) -> None:
    read = librdkafka.consume(broker.servers, directories)
    for topic, directory in directories.items():
        expected = ls.Log(directory).records(columns=["offset"]).to_pyarrow()["offset"].to_pylist()
        assert [row.offset for row in read[topic]] == expected, topic
