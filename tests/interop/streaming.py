"""What the test of streaming queries needs: a broker that rolls, cleans and deletes quickly, a steady load, queries to be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from confluent_kafka import KafkaError, Message, Producer

from kraft import QUIET, Broker

#: Of the broker, so that what takes it minutes happens in seconds.
QUICK = """log.cleaner.enable=true
log.cleaner.threads=1
log.cleaner.backoff.ms=300
log.retention.check.interval.ms=1000
log.segment.delete.delay.ms=1000
replica.high.watermark.checkpoint.interval.ms=300
log.flush.start.offset.checkpoint.interval.ms=1000
log.initial.task.delay.ms=500
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
"""
SEGMENT = {"segment.bytes": str(1 << 20)}
TOPICS = {
    "kept": SEGMENT,
    "compacted": SEGMENT
    | {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "1500",
        "segment.ms": "1500",
    },
    "short-lived": SEGMENT | {"retention.bytes": str(2 << 20)},
    "paid": SEGMENT,
}
#: Values that no codec makes small.
PADDING = os.urandom(700)
PER_SECOND = 600


class Load:
    """Produces to all topics at a steady rate until it is stopped, and knows what was delivered."""

    def __init__(self, broker: Broker) -> None:
        self.delivered: dict[str, dict[int, int]] = defaultdict(dict)
        #: Offsets of transactions that were aborted.
        self.aborted: dict[int, int] = {}
        self.failures: list[KafkaError] = []
        self._stopped = threading.Event()
        self._servers = broker.servers
        self._threads = [threading.Thread(target=self._plain, daemon=True), threading.Thread(target=self._transactions, daemon=True)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive()
        assert not self.failures, self.failures[:3]

    def _plain(self) -> None:
        producer = Producer({"bootstrap.servers": self._servers, "linger.ms": 20, "enable.idempotence": True, "logger": QUIET})
        number = 0
        while not self._stopped.is_set():
            for _ in range(PER_SECOND // 20):
                for topic in ("kept", "compacted", "short-lived"):
                    key = b"%d" % (number % 50) if topic == "compacted" else None
                    producer.produce(topic, value_of(number), key, partition=0, on_delivery=self._note(self.delivered[topic], number))
                number += 1
            producer.poll(0)
            self._stopped.wait(0.05)
        assert producer.flush(60) == 0

    def _transactions(self) -> None:
        settings = {"bootstrap.servers": self._servers, "transactional.id": "load", "linger.ms": 5, "logger": QUIET}
        producer = Producer(settings)
        producer.init_transactions(60)
        number = 0
        while not self._stopped.is_set():
            producer.begin_transaction()
            is_aborted = number % 70 == 0
            noted: dict[int, int] = {}
            for _ in range(10):
                producer.produce("paid", value_of(number), partition=0, on_delivery=self._note(noted, number))
                number += 1
            assert producer.flush(60) == 0
            self._stopped.wait(0.1)
            if is_aborted:
                producer.abort_transaction(60)
                self.aborted |= noted
            else:
                producer.commit_transaction(60)
                self.delivered["paid"] |= noted

    def _note(self, into: dict[int, int], number: int):
        def note(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failures.append(error)
            else:
                into[message.offset()] = number

        return note


class NotConnectedError(Exception):
    """Spark gave a source's Python process no more than ten seconds to speak, which no setting changes, and ended the query."""


#: What Spark says then.
NOT_CONNECTED = "Python worker failed to connect back"


class Query:
    """A process with the queries."""

    def __init__(self, work: Path, queries: dict[str, dict[str, str]], *, now: bool = False) -> None:
        for name in ("ready", "stop"):
            (work / name).unlink(missing_ok=True)
        spec = work / "spec.json"
        spec.write_text(json.dumps({"work": str(work), "now": now, "queries": queries}))
        self.work = work
        self.output = work / "query.log"
        with self.output.open("wb") as output:
            command = [sys.executable, str(Path(__file__).with_name("stream_query.py")), str(spec)]
            # A group of its own, so that the JVM dies with it, and nothing else.
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, cwd=work)

    def wait_for_batches(self, count: int, seconds: float = 300) -> None:
        """Wait until each query has finished so many more micro-batches than when the process began to."""
        deadline, first = time.monotonic() + seconds, None
        while True:
            with suppress(FileNotFoundError, ValueError):
                number = int((self.work / "ready").read_text())
                first = number if first is None and number >= 0 else first
                if first is not None and number >= first + count:
                    return
            if self.process.poll() is not None:
                self._tell_end("the query ended")
            assert time.monotonic() < deadline, f"no {count} micro-batches after {seconds} s:\n{self.tail()}"
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL to Python and JVM at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds: float = 120) -> None:
        """End as a user would."""
        (self.work / "stop").touch()
        self.wait(seconds)

    def wait(self, seconds: float = 240) -> None:
        """Wait for the end, which must be a good one."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        if code != 0:
            self._tell_end(f"the process ended with {code}")

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()

    def _tell_end(self, what: str) -> NoReturn:
        if NOT_CONNECTED in self.tail():
            raise NotConnectedError
        raise AssertionError(f"{what}:\n{self.tail()}")

    def tail(self) -> str:
        return self.output.read_text(errors="replace")[-6000:]


def value_of(number: int) -> bytes:
    return b"%012d" % number + PADDING


def high_watermarks(logs: Path) -> dict[str, int]:
    """Of partition 0 of each topic, as the broker last wrote them."""
    lines = (logs / "replication-offset-checkpoint").read_text().splitlines()[2:]
    return {topic: int(offset) for topic, partition, offset in map(str.split, lines) if partition == "0"}


def wait_for_high_watermarks(logs: Path, least: dict[str, int], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while any(high_watermarks(logs).get(topic, 0) < offset for topic, offset in least.items()):
        assert time.monotonic() < deadline, (least, high_watermarks(logs))
        time.sleep(0.1)


def rows(work: Path, name: str) -> dict[str, list[tuple[int, int]]]:
    """Offset and number of every row of a query's sink, by topic, in order."""
    import pyarrow.parquet as pq

    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for file in sorted((work / "sink" / name).glob("batch-*/*.parquet")):
        for row in pq.read_table(file).to_pylist():
            found[row["topic"]].append((row["offset"], row["number"]))
    return {topic: sorted(ones) for topic, ones in found.items()}
