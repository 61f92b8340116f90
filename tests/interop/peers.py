"""The programs of `java/` and `go/`: one process for each version or language, asked line by line."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import eras
import short_lived_java
from made_once import made_once
from rows import Row, load_rows, save_spec

JVM = ("-Xmx512m", *short_lived_java.OPTIONS)
GO_SOURCES = eras.HERE / "go"


class Refused(Exception):
    """The peer's own exception: its class and message."""


class Peer:
    """A process that answers each line with one line. Used by one test at a time."""

    def __init__(self, name: str, command: Sequence[str], scratch: Path, *, answer_seconds: float = 120) -> None:
        self.name = name
        self.scratch = scratch
        self.answer_seconds = answer_seconds
        self.log = scratch / f"peer-{name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=scratch)

    def read(self, path: Path) -> list[Row]:
        """The records of a file, as this peer reads it."""
        out = self.scratch / f"read-{self.name}.rows"
        self.ask("read", str(path), str(out))
        return load_rows(out)

    def write(self, batches: Sequence[Sequence[Row]], magic: int, codec: str, *, log_append_time: int | None = None) -> bytes:
        """Log entries of these records, as this peer writes them."""
        spec, out = self.scratch / f"write-{self.name}.spec", self.scratch / f"written-{self.name}.bin"
        save_spec(spec, batches, magic, codec, log_append_time)
        self.ask("write", str(spec), str(out))
        return out.read_bytes()

    def ask(self, *words: str) -> str:
        """Send one command; return what follows "ok", raise `Refused` with what follows "error"."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join(words) + "\n")
        self.process.stdin.flush()
        guard = threading.Timer(self.answer_seconds, self.process.kill)
        guard.start()
        try:
            answer = self.process.stdout.readline()
        finally:
            guard.cancel()
        word, _, rest = answer.strip().partition(" ")
        if word == "ok":
            return rest
        if word == "error":
            raise Refused(rest)
        raise AssertionError(f"{self.name} gave no answer to {words}; its last lines:\n{self.log.read_text()[-3000:]}")

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def java(version: str, scratch: Path) -> Peer:
    """The Java program with the classes of one version of Kafka."""
    era = eras.ERAS[version]
    return Peer(version, ["java", *JVM, "-cp", eras.class_path(era), "Peer", era.driver], scratch)


def go(scratch: Path) -> Peer:
    """The Go program, built once for each state of its sources."""
    eras.need("go")
    sources = sorted(file for file in GO_SOURCES.iterdir() if file.suffix == ".go" or file.name in ("go.mod", "go.sum"))
    state = hashlib.sha256(b"".join(map(Path.read_bytes, sources))).hexdigest()[:12]
    program = eras.WORK / "go" / f"peer-{state}"
    with made_once(program):
        if not program.exists():
            eras.run(["go", "build", "-o", str(program), "."], GO_SOURCES)
    return Peer("go", [str(program)], scratch)
