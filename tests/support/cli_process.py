"""The command line as users start it: a process of its own, its two outputs apart, on pipes or on a terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import corpus
import forking_server

MODERN = corpus.CORPUS / "modern-4.1.0/data"
#: 240 records in 15 batches of every kind, and one segment.
CODEC = MODERN / "codec-lz4-0"
CODEC_FILE = CODEC / "00000000000000000000.log"
#: Six segments, transactions that reach from one into the next.
TRANSACTIONS = MODERN / "transactions-multi-segment-0"
#: Second of three batches damaged; the others hold offsets 0 to 2, 1000 and 1001.
DAMAGED = corpus.TESTS / "hostile/data/v2-crc-bitflip.log"
#: Ends inside a batch.
TORN = corpus.TESTS / "hostile/data/v2-truncated-in-header.log"

COMMAND = [sys.executable, "-m", "logsegment"]


@dataclass(frozen=True)
class Done:
    """How a process ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def lines(self) -> list[Any]:
        """Its output, one JSON value a line."""
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments: str | Path, stdin: bytes | None = None, **environment: str) -> Done:
    """Run to the end. Standard input is empty unless it is given."""
    words, cleaned = list(map(str, arguments)), clean_environment(**environment)
    if forking_server.takes(cleaned):
        return forked(words, stdin or b"", cleaned)
    done = subprocess.run([*COMMAND, *words], input=stdin or b"", capture_output=True, env=cleaned, timeout=60, check=False)
    return Done(done.returncode, done.stdout, done.stderr.decode())


def forked(arguments: list[str], stdin: bytes, environment: dict[str, str], outputs: tuple[int | None, int | None] = (None, None)) -> Done:
    """Run to the end in a process that Python has not started for it; `outputs` are other places for stdout and stderr."""
    try:
        code, shown, told = server().run(arguments, stdin, environment, 60, outputs)
    except subprocess.TimeoutExpired:
        server.cache_clear()
        raise
    return Done(code, shown, told.decode())


@cache
def server() -> forking_server.Server:
    """What runs commands in this process of the tests."""
    return forking_server.Server()


def start(*arguments: str | Path, **streams: Any) -> subprocess.Popen[bytes]:
    """Start, and leave the rest to the test. A hang-up ends it, also where the tests themselves run under nohup, which it would inherit."""
    wanted = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        return subprocess.Popen([*COMMAND, *map(str, arguments)], env=clean_environment(), **streams)
    finally:
        signal.signal(signal.SIGHUP, wanted)


def run_on_terminal(*arguments: str | Path, out: bool, err: bool, **environment: str) -> Done:
    """Run with stdout, stderr or both on a terminal of 120 columns; what went there stands in `out` or `err` (both: in `out`)."""
    environment = clean_environment(**({"TERM": "xterm-256color", "COLUMNS": "120"} | environment))
    assert forking_server.takes(environment)
    shown: list[bytes] = []
    with terminal(shown) as place:
        done = forked(list(map(str, arguments)), b"", environment, (place if out else None, place if err else None))
    return Done(done.code, shown[0] if out else done.out, shown[0].decode() if err else done.err)


@contextmanager
def terminal(shown: list[bytes]) -> Iterator[int]:
    """A terminal that can be written to. What went there is added to `shown` in the end."""
    ours, theirs = pty.openpty()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_terminal, ours)
        try:
            yield theirs
        finally:
            os.close(theirs)
        shown.append(reading.result(timeout=60))


def read_terminal(terminal: int) -> bytes:
    shown = b""
    try:
        while piece := os.read(terminal, 1 << 16):
            shown += piece
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(terminal)
    return shown


def clean_environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}
    return kept | more


def offsets(done: Done) -> list[int]:
    return [line["offset"] for line in done.lines]


def read_table(kind: str, path: Path) -> pa.Table:
    if kind == "parquet":
        return pq.ParquetFile(path).read()
    with pa.ipc.open_file(path) as file:
        return file.read_all()
