"""Empty or garbage files of a log directory, which `verify` names: a 4.3.1 broker ends, or starts and serves what we read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import cli_process
import librdkafka
import logsegment as ls
import rows
from kraft import Broker

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(600)]
GARBAGE = bytes.fromhex("2f18d094ff00") * 5
FILES = (
    "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "meta.properties",
    "orders-0/partition.metadata",
)
#: A broker takes an empty one as one that was never written.
READ_EMPTY = FILES[:3]


@pytest.fixture(scope="module")
def stopped(new_broker: Callable[[], Broker]) -> Iterator[Broker]:
    """A broker that has records of one topic, and is stopped."""
    broker = new_broker()
    broker.start()
    broker.create_topics(["orders"])
    librdkafka.produce(broker.servers, "orders", rows.batches("v2"), "none")
    broker.stop()
    yield broker
    broker.stop()


@pytest.mark.parametrize("content", [GARBAGE, b""], ids=["garbage", "empty"])
@pytest.mark.parametrize("name", FILES)
def test_what_ends_a_broker_is_named_by_verify(stopped: Broker, name: str, content: bytes) -> None:
    file = stopped.logs / name
    before = file.read_bytes()
    offsets = offsets_of(stopped.logs / "orders-0")
    file.write_bytes(content)
    try:
        done = cli_process.run("verify", "--fail-on", "warning", stopped.logs)
        assert (done.code, Path(name).name in done.text) == (1, True), done.text
        if content == GARBAGE or name not in READ_EMPTY:
            with pytest.raises(AssertionError, match="the broker ended"):
                stopped.start()
        else:
            stopped.start()
            read = librdkafka.consume(stopped.servers, ["orders"])["orders"]
            assert [row.offset for row in read] == offsets
    finally:
        stopped.stop()
        stopped.process = None
        file.write_bytes(before)
    assert offsets_of(stopped.logs / "orders-0") == offsets


def offsets_of(directory: Path) -> list[int]:
    return pa.table(ls.Log(directory).records(columns=["offset"]))["offset"].to_pylist()
