"""Brokers and other versions' classes, started once for all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import apicurio
import eras
import peers
from kraft import Broker
from peers import Peer


@pytest.fixture(scope="session")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Peer]]:
    """The process that speaks with the classes of a version of Kafka, or "go", by that name."""
    started: dict[str, Peer] = {}

    def named(name: str) -> Peer:
        if name not in started:
            scratch = tmp_path_factory.mktemp(f"peer-{name}")
            started[name] = peers.go(scratch) if name == "go" else peers.java(name, scratch)
        return started[name]

    yield named
    for item in started.values():
        item.close()


@pytest.fixture(scope="session")
def new_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Broker]]:
    """Makes brokers that are not started yet; all are stopped in the end."""
    eras.need(*eras.NEEDED_COMMANDS)
    made: list[Broker] = []

    def make() -> Broker:
        made.append(Broker(tmp_path_factory.mktemp("kraft") / "broker"))
        return made[-1]

    yield make
    for broker in made:
        broker.stop()


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("interop")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API of a schema registry in memory, one for each file of tests."""
    with apicurio.running(tmp_path_factory.mktemp("apicurio") / "log") as api:
        yield api
