"""What a live cluster answers about itself, by Kafka's admin client; its consumers and producers live until the end of the block."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import eras
import kraft

Rows: TypeAlias = list[dict[str, Any]]
PROGRAM = eras.JAVA_SOURCES / "ClusterAnswers.java"
#: What a broker needs to have all of it.
PROPERTIES = """authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=true
sasl.enabled.mechanisms=PLAIN
"""


@contextmanager
def answers(servers: str, scratch: Path, work: str, replicas: int = 1, lacks: str = "nothing") -> Iterator[dict[str, Rows]]:
    """Give a cluster a state of every kind ("setup") or none ("ask"), and return what it answers. `lacks`: what its release lacks."""
    out, log = scratch / f"answers-{work}.json", scratch / f"answers-{work}.log"
    jars = eras.resolved(eras.ERAS[kraft.VERSION])
    command = ["java", *kraft.JVM, "-cp", jars, str(PROGRAM), servers, str(out), work, str(replicas), lacks]
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=scratch)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.strip() == "ready", f"{line}{log.read_text(errors='replace')[-4000:]}"
        yield json.loads(out.read_text())
    finally:
        process.kill()
        # Closes its pipes, and waits.
        process.communicate()
