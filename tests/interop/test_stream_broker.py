"""Streaming queries over the logs of a broker that appends, rolls, cleans and deletes: killed and restarted, they lose and repeat nothing.

`make soak` runs this alone: Spark ends a query whose Python process needs more than ten seconds to connect.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import logsegment as ls
import streaming
from kraft import Broker
from streaming import Load, NotConnectedError, Query

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.slow, pytest.mark.soak]
KILLS = int(os.environ.get("STREAM_KILLS", "2"))
SECONDS = float(os.environ.get("STREAM_SECONDS", "2"))


@pytest.mark.timeout(300 + 150 * KILLS)
def test_queries_that_are_killed_while_a_broker_works_hold_every_offset_once(new_broker: Callable[[], Broker], tmp_path: Path) -> None:
    broker = new_broker()
    with broker.properties.open("a") as properties:
        properties.write(streaming.QUICK)
    broker.start()
    for topic, config in streaming.TOPICS.items():
        broker.create_topics([topic], **config)
    load = Load(broker)
    began = time.monotonic()
    queries = queries_of(broker.logs)
    kills = unconnected = 0
    while kills < KILLS:
        query = Query(tmp_path, queries)
        try:
            query.wait_for_batches(3)
            time.sleep(SECONDS)
            if kills % 3 == 1:
                query.stop()
            else:
                query.kill()
            kills += 1
        except NotConnectedError:
            # An end that nobody asked for is one more at which nothing may be lost; it counts for none of ours.
            unconnected += 1
            assert unconnected <= KILLS + 2, "on this machine Spark does not wait for its Python processes"
        finally:
            query.close()
    load.stop()
    lasted = time.monotonic() - began
    streaming.wait_for_high_watermarks(broker.logs, {topic: max(delivered) + 1 for topic, delivered in load.delivered.items()})
    while not finished(Query(tmp_path, queries, now=True)):
        unconnected += 1
        assert unconnected <= KILLS + 2, "on this machine Spark does not wait for its Python processes"
    found = {topic: rows for name in queries for topic, rows in streaming.rows(tmp_path, name).items()}
    batches = {name: len(list((tmp_path / "sink" / name).glob("batch-*"))) for name in queries}
    check(broker, found, load)
    broker.stop()
    told = {topic: len(rows) for topic, rows in found.items()}
    ends = f"{KILLS} ends, and {unconnected} that Spark made itself"
    print(f"{ends}, in {lasted:.0f} s under load: rows {told}, micro-batches {batches}")


def finished(query: Query) -> bool:
    """Whether the query read all there was, and was not ended by Spark."""
    try:
        query.wait()
    except NotConnectedError:
        return False
    finally:
        query.close()
    return True


def queries_of(logs: Path) -> dict[str, dict[str, str]]:
    """The queries; only where retention deletes what nobody has read yet may offsets be missing."""
    shared = {"path": str(logs), "startingOffsets": "earliest"}
    return {
        "exact": shared | {"subscribe": "kept,compacted", "maxOffsetsPerTrigger": "10000"},
        "lossy": shared | {"subscribe": "short-lived", "failOnDataLoss": "false"},
        "committed": shared | {"subscribe": "paid", "isolation": "read_committed", "maxBytesPerTrigger": "1000000"},
    }


def check(broker: Broker, found: dict[str, list[tuple[int, int]]], load: Load) -> None:
    assert len(found["kept"]) > 1000
    assert found["kept"] == sorted(load.delivered["kept"].items()), "every offset of a topic that keeps all, once"
    assert len(list(broker.partition("kept").glob("*.log"))) > 3, "segments never rolled"

    compacted = dict(found["compacted"])
    assert len(compacted) == len(found["compacted"]), "no offset of a compacted topic twice"
    assert compacted.items() <= load.delivered["compacted"].items()
    left = ls.Log(broker.partition("compacted")).records(columns=["offset"]).to_pyarrow()["offset"].to_pylist()
    assert len(left) < len(load.delivered["compacted"]), "the cleaner never worked"
    assert set(left) <= compacted.keys(), "nothing that compaction left is missing"

    brief = dict(found["short-lived"])
    assert len(brief) == len(found["short-lived"]), "no offset of a topic that forgets twice"
    assert brief.items() <= load.delivered["short-lived"].items()
    assert min(int(file.stem) for file in broker.partition("short-lived").glob("*.log")) > 0, "retention never deleted anything"

    assert found["paid"] == sorted(load.delivered["paid"].items()), "records of committed transactions, each once"
    assert load.aborted
