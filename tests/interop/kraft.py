"""A Kafka broker of our own: one process on free loopback ports and a directory of its own, started and stopped by tests."""

from __future__ import annotations

import hashlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import eras
import short_lived_java
from loopback import free_port
from made_once import made_once

VERSION = "4.3.1"
#: A broker of the last release before Kafka 4; `eras.ERAS` has its client alone.
BEFORE_4 = eras.Era("3.9.1", ("org.apache.kafka:kafka_2.13:3.9.1", "org.apache.kafka:kafka-tools:3.9.1"), ())
CLUSTER_ID = "bG9nc2VnbWVudC10ZXN0cw"
START_SECONDS = 90
STOP_SECONDS = 60
JVM = ("-Xmx640m", *short_lived_java.OPTIONS, "-Djava.awt.headless=true")


class Broker:
    """Broker and controller in one process. `start` and `stop` may alternate; the directory stays."""

    def __init__(self, directory: Path, more_properties: str = "", era: eras.Era = eras.ERAS[VERSION]) -> None:
        self.directory = directory
        self.era = era
        self.logs = directory / "logs"
        self.properties = directory / "server.properties"
        self.output = directory / "broker.log"
        self.process: subprocess.Popen[bytes] | None = None
        port, controller = free_port(), free_port()
        self.servers = f"127.0.0.1:{port}"
        directory.mkdir(parents=True)
        self.properties.write_text(PROPERTIES.format(port=port, controller=controller, logs=self.logs) + more_properties)
        self.java("kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID, "--config", str(self.properties))

    def start(self) -> None:
        """Start the process; return when it serves requests."""
        command = self.command("kafka.Kafka", str(self.properties))
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=self.directory)
        deadline = time.monotonic() + START_SECONDS
        while not self.serves():
            assert self.process.poll() is None, f"the broker ended:\n{self.tail()}"
            assert time.monotonic() < deadline, f"the broker is not up after {START_SECONDS} s:\n{self.tail()}"
            time.sleep(0.1)

    def stop(self) -> None:
        """End the process as an administrator would, so that it leaves its directory clean."""
        process, self.process = self.process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def create_topics(self, names: Iterable[str], partitions: int = 1, **config: str) -> None:
        """Create topics of so many partitions each."""
        from confluent_kafka.admin import NewTopic

        topics = [NewTopic(name, num_partitions=partitions, replication_factor=1, config=config) for name in names]
        admin = self.admin()
        for made in admin.create_topics(topics, operation_timeout=30).values():
            made.result(60)

    def partition(self, topic: str, partition: int = 0) -> Path:
        """The directory of a partition."""
        return self.logs / f"{topic}-{partition}"

    def serve(self, directories: dict[str, Path]) -> None:
        """Start on the segments of these partition directories, one a topic; the broker recovers them."""
        self.start()
        self.create_topics(directories)
        self.stop()
        for topic, directory in directories.items():
            self.replace(topic, sorted(directory.glob("*.log")))
        self.start()

    def replace(self, topic: str, segments: Iterable[Path], partition: int = 0, *, trusted: bool = False) -> None:
        """Put these files in the place of what a partition of a stopped broker holds.

        With `trusted` the index files among them stay as they are, as after a clean stop. Else the broker recovers: it looks at every
        batch and builds the indexes itself.
        """
        assert self.process is None, "stop the broker first"
        directory = self.partition(topic, partition)
        for file in directory.iterdir():
            # partition.metadata holds the topic's id, without which the broker does not know the directory.
            if file.name != "partition.metadata":
                file.unlink()
        for segment in segments:
            shutil.copyfile(segment, directory / segment.name)
        if not trusted:
            (self.logs / ".kafka_cleanshutdown").unlink(missing_ok=True)
            for checkpoint in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"):
                (self.logs / checkpoint).unlink(missing_ok=True)

    def serves(self) -> bool:
        """Whether the broker answers a request for metadata, with itself as a leader of what it has."""
        host, _, port = self.servers.partition(":")
        with ExitStack() as stack:
            probe = stack.enter_context(socket.socket())
            probe.settimeout(1)
            if probe.connect_ex((host, int(port))) != 0:
                return False
        from confluent_kafka import KafkaException

        try:
            found = self.admin().list_topics(timeout=2)
        except KafkaException:
            return False
        leaders = [partition.leader for topic in found.topics.values() for partition in topic.partitions.values()]
        return bool(found.brokers) and all(leader in found.brokers for leader in leaders)

    def admin(self):
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0, "logger": QUIET})

    def java(self, main: str, *arguments: str) -> None:
        eras.run(self.command(main, *arguments), self.directory)

    def command(self, main: str, *arguments: str) -> list[str]:
        return ["java", *self.java_options(), "-cp", eras.resolved(self.era), main, *arguments]

    def java_options(self) -> Iterable[str]:
        return [*JVM, *short_lived_java.SILENT, f"-XX:SharedArchiveFile={archive(self.era)}"]

    def tail(self) -> str:
        return self.output.read_text(errors="replace")[-4000:] if self.output.exists() else "(it said nothing)"


class Archiving(Broker):
    """A broker whose JVM writes its classes into an archive when it ends."""

    def java_options(self) -> Iterable[str]:
        return [*JVM, *short_lived_java.SILENT, f"-XX:ArchiveClassesAtExit={self.directory.parent / 'kafka.jsa'}"]


@cache
def archive(era: eras.Era) -> Path:
    """Kafka's classes as a JVM keeps them, written by the first broker of all: the next ones start in half of the time."""
    jars = eras.resolved(era)
    place = eras.WORK / "archives" / f"{era.version}-{hashlib.sha256(jars.encode()).hexdigest()[:12]}.jsa"
    with made_once(place):
        if not place.exists():
            with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
                broker = Archiving(Path(scratch) / "broker", era=era)
                try:
                    broker.start()
                    broker.create_topics(["archived"])
                finally:
                    broker.stop()
                (Path(scratch) / "kafka.jsa").rename(place)
    return place


def quiet_logger():
    import logging

    logger = logging.getLogger("logsegment.interop.librdkafka")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


QUIET = quiet_logger()

#: Small and alone. Nothing is ever deleted or cleaned for its age, because the records are of the past.
PROPERTIES = """process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={logs}
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
log.retention.bytes=-1
log.cleaner.enable=false
log.segment.bytes=104857600
log.index.size.max.bytes=1048576
num.network.threads=2
num.io.threads=4
num.recovery.threads.per.data.dir=2
background.threads=2
"""
