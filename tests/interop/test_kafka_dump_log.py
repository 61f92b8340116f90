"""`--as kafka-dump-log` prints the bytes that Kafka's own tool prints, of files of every era and of snapshots."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import corpus
import eras
import kraft
from cli_process import run

pytestmark = pytest.mark.interop
#: Segments and snapshots that Kafka reads to their end; sets of files that its writers made.
FILES = sorted(
    file
    for name in ("modern-4.1.0", "legacy-2.4.1", "legacy-0.11.0.3", "legacy-0.10.2.2", "legacy-0.8.2.2")
    for file in (corpus.CORPUS / name / "data").glob("*/*")
    if file.suffix in (".log", ".checkpoint")
)
FILES += [corpus.CORPUS / "modern-4.1.0/data/bootstrap.checkpoint", *sorted((corpus.TESTS / "cluster/broker").glob("*/*.log"))]
DEEP = ("--deep-iteration", "--print-data-log")


def told_by_kafka(*options: str) -> dict[str, bytes]:
    """What the tool prints about each file."""
    encoding = ("-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8")
    jars = eras.resolved(eras.ERAS[kraft.VERSION])
    command = [
        "java",
        *kraft.JVM,
        *encoding,
        "-cp",
        jars,
        "org.apache.kafka.tools.DumpLogSegments",
        *options,
        "--files",
        ",".join(map(str, FILES)),
    ]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return by_file(done.stdout)


def by_file(text: bytes) -> dict[str, bytes]:
    pieces = text.split(b"Dumping /")[1:]
    return {"/" + piece.split(b"\n", 1)[0].decode(): piece.split(b"\n", 1)[1] for piece in pieces}


@pytest.mark.parametrize(("verb", "options"), [("batches", ()), ("cat", DEEP)], ids=["headers", "records"])
def test_the_same_bytes(verb: str, options: tuple[str, ...]) -> None:
    assert len(FILES) > 100
    told = told_by_kafka(*options)
    done = run(verb, "--as", "kafka-dump-log", *FILES)
    found = by_file(done.out)
    assert (done.code, list(found), list(found)) == (0, list(map(str, FILES)), list(told))
    different = [name for name in found if found[name] != told[name]]
    assert different == [], first_difference(found[different[0]], told[different[0]])


def first_difference(found: bytes, told: bytes) -> str:
    for ours, theirs in zip(found.split(b"\n"), told.split(b"\n"), strict=False):
        if ours != theirs:
            return f"\n{ours[:600]!r}\n{theirs[:600]!r}"
    return f"{len(found)} and {len(told)} bytes"


def test_bytes_after_the_last_batch(tmp_path: Path) -> None:
    """A torn tail is a line at the end, as the tool has it."""
    torn = tmp_path / "orders-0/00000000000000000005.log"
    torn.parent.mkdir()
    data = (corpus.TESTS / "cluster/broker/orders-0/00000000000000000000.log").read_bytes()
    torn.write_bytes(data[:-3])
    jars = eras.resolved(eras.ERAS[kraft.VERSION])
    for verb, options in (("batches", ()), ("cat", DEEP)):
        command = ["java", *kraft.JVM, "-cp", jars, "org.apache.kafka.tools.DumpLogSegments", *options, "--files", str(torn)]
        told = subprocess.run(command, capture_output=True, timeout=60, check=True).stdout
        assert run(verb, "--as", "kafka-dump-log", torn).out == told
