"""The command line in this process, with what it writes."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logsegment.cli.app import run as run_program
from tests.simulation.truth import require


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments: str | Path | int) -> Ended:
    """Run a command; a bug of the program (exit code 70) breaks a law."""
    streams = sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2))
    sys.stdout, sys.stderr = out, err
    try:
        code = run_program([str(argument) for argument in arguments])
    finally:
        sys.stdout, sys.stderr = streams
    out.flush()
    err.flush()
    ended = Ended(code, out.buffer.getvalue(), err.buffer.getvalue().decode())  # type: ignore[attr-defined]
    require(code in (0, 1, 2, 3), "a bug of the program", arguments, code, ended.err)
    return ended
