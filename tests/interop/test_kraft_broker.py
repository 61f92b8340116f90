"""A real broker starts on segments that it did not write itself, and its clients return their records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import librdkafka
import rows
from kraft import Broker
from peers import Peer

pytestmark = pytest.mark.interop
SEGMENT = "00000000000000000000.log"


def test_a_broker_serves_a_segment_put_into_its_directory(
    new_broker: Callable[[], Broker], peer: Callable[[str], Peer], scratch: Path
) -> None:
    """The fixture itself, with bytes that Kafka's own classes wrote: what they hold is what both clients return."""
    segment = scratch / SEGMENT
    segment.write_bytes(peer("3.9.1").write(rows.batches("v2"), 2, "lz4"))
    broker = new_broker()
    broker.start()
    broker.create_topics(["planted"])
    broker.stop()
    broker.replace("planted", [segment])
    broker.start()
    out = scratch / "planted.rows"
    peer("4.3.1").ask("consume", broker.servers, "planted", "read_committed", str(out))
    broker_rows = librdkafka.consume(broker.servers, ["planted"])["planted"]
    broker.stop()
    expected = [row for batch in rows.batches("v2") for row in batch]
    assert rows.difference(rows.load_rows(out), expected) is None
    assert rows.difference(broker_rows, expected) is None
    assert (broker.partition("planted") / SEGMENT).read_bytes() == segment.read_bytes()
