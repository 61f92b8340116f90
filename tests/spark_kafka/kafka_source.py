"""Spark's own Kafka source: a Spark of the version whose connector Maven Central has whole, in a venv and a process of its own.

The venv and the jars are made once, below `target/interop`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import eras
from eras import Era
from made_once import made_once

HERE = Path(__file__).resolve().parent
#: 4.0.1 and later do not resolve whole.
VERSION = "4.0.0"
CONNECTOR = Era(f"spark-{VERSION}", (f"org.apache.spark:spark-sql-kafka-0-10_2.13:{VERSION}",), ())
#: The rest of what Maven finds lies in PySpark itself.
NEEDED_JARS = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2", "spark-avro")
#: What would lead the other Spark to this one's files.
OWN = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "VIRTUAL_ENV")


class Refused(Exception):
    """What Spark said instead of an answer."""


class KafkaSource:
    """The process. Each call is one line of JSON to it, and one back."""

    def __init__(self, directory: Path, memory: str = "1g", java_options: str = "") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.output = directory / "spark.log"
        environment = {name: value for name, value in os.environ.items() if name not in OWN}
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [str(python()), str(HERE / "kafka_source_main.py"), jars(), memory, java_options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                cwd=directory,
                env=environment | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"},
            )

    def read(self, options: Mapping[str, str], out: Path) -> dict[str, Any]:
        """Write what the source reads to `out` as Parquet; returns the schema and the number of tasks."""
        return self.ask("read", options=dict(options), out=str(out))

    def stream(self, options: Mapping[str, str], out: Path, checkpoint: Path) -> dict[str, Any]:
        """Write what a stream reads of what is there now to `out`, as `read` does; returns the schema."""
        return self.ask("stream", options=dict(options), out=str(out), checkpoint=str(checkpoint))

    def refusal(self, options: Mapping[str, str]) -> str:
        """What the source says against these options; an empty text if it reads."""
        try:
            self.ask("count", options=dict(options))
        except Refused as refused:
            return str(refused)
        return ""

    def query(self, options: Mapping[str, str], name: str, schema: str | None = None) -> Any:
        """Run a query over what the source reads, with a schema over what `from_avro` makes of its values; returns the query's answer."""
        return self.ask("query", options=dict(options), name=name, schema=schema)["answer"]

    def ask(self, verb: str, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps({"verb": verb, **request}), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, f"Spark ended:\n{self.output.read_text(errors='replace')[-4000:]}"
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer

    def close(self) -> None:
        with self.process:
            assert self.process.stdin is not None
            self.process.stdin.close()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()


@cache
def python() -> Path:
    """The Python that has this PySpark and nothing else."""
    place = eras.WORK / f"pyspark-{VERSION}"
    found, whole = place / "bin" / "python", place / "whole"
    with made_once(place):
        if not whole.exists():
            eras.run([sys.executable, "-m", "venv", "--clear", str(place)], eras.ROOT)
            eras.run([str(found), "-m", "pip", "install", "--quiet", f"pyspark=={VERSION}"], eras.ROOT)
            whole.touch()
    return found


@cache
def jars() -> str:
    """The connector and what it needs, and `from_avro`, for `spark.jars`."""
    eras.need("java", "mvn")
    found = [Path(jar) for jar in [*eras.resolved(CONNECTOR).split(os.pathsep), *eras.spark_avro(VERSION)]]
    return ",".join(str(jar) for jar in found if jar.name.startswith(NEEDED_JARS))
