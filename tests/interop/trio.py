"""Three brokers and controllers in a cluster, each a process with a directory of its own."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import eras
import kraft
from loopback import free_port

NODES = (1, 2, 3)
#: Snapshots of the metadata are written often, and the topics of coordinators have three replicas.
REPLICATED = """offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
share.coordinator.state.topic.replication.factor=3
share.coordinator.state.topic.min.isr=2
min.insync.replicas=1
metadata.log.max.record.bytes.between.snapshots=2000
broker.session.timeout.ms=6000
"""


class Node(kraft.Broker):
    """A broker and controller among others."""

    def __init__(self, directory: Path, text: str, servers: str, era: eras.Era) -> None:
        self.directory = directory
        self.era = era
        self.logs = directory / "logs"
        self.properties = directory / "server.properties"
        self.output = directory / "broker.log"
        self.process = None
        self.servers = servers
        directory.mkdir(parents=True)
        self.properties.write_text(text)
        self.java("kafka.tools.StorageTool", "format", "--cluster-id", kraft.CLUSTER_ID, "--config", str(self.properties))

    def launch(self) -> None:
        """Start the process, and do not wait for it."""
        with self.output.open("ab") as output:
            command = self.command("kafka.Kafka", str(self.properties))
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=self.directory)


class Trio:
    """A cluster of three."""

    def __init__(self, directory: Path, more_properties: str = "", era: eras.Era = eras.ERAS[kraft.VERSION]) -> None:
        ports = {node: (free_port(), free_port()) for node in NODES}
        voters = ",".join(f"{node}@127.0.0.1:{controller}" for node, (_, controller) in ports.items())
        self.servers = ",".join(f"127.0.0.1:{port}" for port, _ in ports.values())
        self.nodes: list[Node] = []
        for node, (port, controller) in ports.items():
            place = directory / f"broker-{node}"
            text = kraft.PROPERTIES.format(port=port, controller=controller, logs=place / "logs") + REPLICATED + more_properties
            # Of several lines with one name the last counts.
            text += f"node.id={node}\ncontroller.quorum.voters={voters}\nbroker.rack=rack-{node}\n"
            self.nodes.append(Node(place, text, f"127.0.0.1:{port}", era))

    @property
    def logs(self) -> list[Path]:
        """The log directories."""
        return [node.logs for node in self.nodes]

    def start(self) -> None:
        """Start all nodes; return when each of them knows the three."""
        for node in self.nodes:
            node.launch()
        deadline = time.monotonic() + 2 * kraft.START_SECONDS
        for node in self.nodes:
            while not (node.serves() and len(node.admin().list_topics(timeout=5).brokers) == len(NODES)):
                assert node.process is not None
                assert node.process.poll() is None, f"a broker ended:\n{node.tail()}"
                assert time.monotonic() < deadline, f"the cluster is not up:\n{node.tail()}"
                time.sleep(0.2)

    def kill(self) -> None:
        """End all processes at once, without a chance to write anything."""
        processes = [node.process for node in self.nodes if node.process is not None]
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()

    def stop(self, nodes: Sequence[Node] | None = None) -> None:
        """End processes as an administrator would."""
        for node in nodes or self.nodes:
            node.stop()
