"""Class paths of Kafka's own code of several ages, resolved by Maven from artifact names and kept below `target/interop`.

Nothing of them stands in the repository. A missing tool skips the tests that need it, which fails them where `REQUIRE_INTEROP` is set.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from made_once import made_once

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "target" / "interop"
JAVA_SOURCES = HERE / "java"
NEEDED_COMMANDS = ("java", "javac", "mvn")


@dataclass(frozen=True)
class Era:
    """One version of Kafka's classes, and our class that calls them."""

    version: str
    artifacts: tuple[str, ...]
    #: Sources below `java/` that know this version's classes; the last one is the class that the peer program loads.
    sources: tuple[str, ...]
    #: Where this version keeps the classes that a source imports from `common.record`, and other versions keep there.
    records: str = "common.record."

    @property
    def driver(self) -> str:
        return self.sources[-1]


ERAS = {
    era.version: era
    for era in (
        Era("0.8.2.2", ("org.apache.kafka:kafka_2.11:0.8.2.2",), ("Scala08",)),
        Era("0.9.0.1", ("org.apache.kafka:kafka-clients:0.9.0.1",), ("Client09",)),
        Era("0.10.2.2", ("org.apache.kafka:kafka-clients:0.10.2.2",), ("Client010",)),
        Era("0.11.0.3", ("org.apache.kafka:kafka-clients:0.11.0.3",), ("BatchReader", "Client011")),
        Era("2.4.1", ("org.apache.kafka:kafka-clients:2.4.1",), ("BatchReader", "Client011")),
        Era("3.9.1", ("org.apache.kafka:kafka-clients:3.9.1",), ("BatchReader", "Judge", "LogFilter", "Client38")),
        Era(
            "4.3.1",
            ("org.apache.kafka:kafka_2.13:4.3.1", "org.apache.kafka:kafka-tools:4.3.1"),
            ("LogAppend", "Formatters", "Judge", "LogFilter", "Producers", "Broker43"),
            records="common.record.internal.",
        ),
    )
}


def need(*commands: str) -> None:
    """Skip if a command is missing."""
    missing = [command for command in commands if shutil.which(command) is None]
    if missing:
        pytest.skip(f"missing commands: {', '.join(missing)}")


@cache
def class_path(era: Era) -> str:
    """The era's artifacts and ours compiled against them, for `java -cp`."""
    need(*NEEDED_COMMANDS)
    jars = resolved(era)
    return os.pathsep.join([str(compiled(era, jars)), jars])


def resolved(era: Era) -> str:
    """The jars of an era: asked of Maven once, then read from where it was written."""
    pom = POM.format(version=era.version, dependencies="\n".join(map(dependency, era.artifacts)))
    place = WORK / "maven" / f"{era.version}-{hashlib.sha256(pom.encode()).hexdigest()[:12]}"
    answer = place / "classpath"
    # One lock for all: two Mavens that fetch the same artifact spoil each other's repository.
    with made_once(WORK / "maven"):
        if answer.exists() and all(Path(jar).exists() for jar in answer.read_text().split(os.pathsep)):
            return answer.read_text()
        place.mkdir(parents=True, exist_ok=True)
        (place / "pom.xml").write_text(pom)
        run(["mvn", "--batch-mode", "--quiet", f"-Dmdep.outputFile={answer}", "dependency:build-classpath"], place)
        return answer.read_text()


def spark_avro(version: str) -> list[str]:
    """Spark's `from_avro` of a version. A jar runs in newer releases of Spark too, and not the newest ones are in Maven Central."""
    return resolved(Era(version, (f"org.apache.spark:spark-avro_2.13:{version}",), ())).split(os.pathsep)


def compiled(era: Era, jars: str) -> Path:
    """Our Java sources compiled against an era's jars, once for each state of the sources."""
    sources = [JAVA_SOURCES / f"{name}.java" for name in ("Peer", "Rows", *era.sources)]
    state = hashlib.sha256(b"".join(map(Path.read_bytes, sources)) + jars.encode()).hexdigest()[:12]
    classes = WORK / "classes" / f"{era.version}-{state}"
    with made_once(classes):
        if not classes.exists():
            unfinished = classes.with_name(f"{classes.name}.unfinished")
            placed = [moved(source, era, unfinished) for source in sources]
            run(["javac", "-nowarn", "-proc:none", "-Xlint:none", "-cp", jars, "-d", str(unfinished), *map(str, placed)], ROOT)
            unfinished.rename(classes)
    return classes


def moved(source: Path, era: Era, place: Path) -> Path:
    """A source as this era's compiler needs it: a copy where the classes that it imports have moved."""
    text = source.read_text()
    fitted = re.sub(r"(?<=^import org\.apache\.kafka\.)common\.record\.(?=[A-Z])", era.records, text, flags=re.MULTILINE)
    if fitted == text:
        return source
    copy = place / "moved" / source.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(fitted)
    return copy


def dependency(artifact: str) -> str:
    group, name, version = artifact.split(":")
    return f"    <dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"


def run(command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"


POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>logsegment.interop</groupId><artifactId>era</artifactId><version>{version}</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
