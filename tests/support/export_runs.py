"""Exports in processes of their own, which tests kill: children of a process that has imported what an export needs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import logsegment


class Exports:
    """Starts exports. The parent has no threads when it forks: it runs nothing itself."""

    def __init__(self, place: Path) -> None:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(Path(logsegment.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        }
        self._errors = (place / "exports.err").open("w+")
        command = [sys.executable, __file__]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=environment, text=True, cwd=place
        )

    def close(self) -> None:
        """End the parent."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait(60)
        self._server.stdout.close()
        self._errors.close()

    def start(self, source: Any, to: str, **options: Any) -> int:
        """Start an export; return the id of its process."""
        return int(self._ask({"source": source, "to": to, "options": options}))

    def wait(self, process: int) -> dict[str, Any]:
        """Return the result of an export, or `{"killed": True}`."""
        result: dict[str, Any] = json.loads(self._ask({"wait": process}))
        return result

    def run(self, source: Any, to: str, **options: Any) -> dict[str, Any]:
        """Run an export to its end; return its result."""
        return self.wait(self.start(source, to, **options))

    def kill(self, process: int, seconds: float) -> dict[str, Any]:
        """Kill an export after some time, or return its result if it ended before."""
        end = time.monotonic() + seconds
        time.sleep(max(0.0, end - time.monotonic()))
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        return self.wait(process)

    def _ask(self, request: Mapping[str, Any]) -> str:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        line = self._server.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise AssertionError(self._errors.read())
        return line


@contextmanager
def exports(place: Path) -> Iterator[Exports]:
    """A parent of exports."""
    running = Exports(place)
    try:
        yield running
    finally:
        running.close()


def _serve() -> None:
    import deltalake
    import pyiceberg.catalog.sql
    import pyiceberg.io.pyarrow

    import logsegment as ls

    modules = (deltalake, pyiceberg.catalog.sql, pyiceberg.io.pyarrow, ls.export)
    assert all(modules)
    pipes: dict[int, int] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            process = request["wait"]
            with os.fdopen(pipes.pop(process)) as pipe:
                said = pipe.read()
            os.waitpid(process, 0)
            print(said or '{"killed": true}', flush=True)
            continue
        reading, writing = os.pipe()
        process = os.fork()
        if process:
            os.close(writing)
            pipes[process] = reading
            print(process, flush=True)
            continue
        os.close(reading)
        try:
            result = ls.export(request["source"], request["to"], **request["options"]).to_dict()
        except BaseException as error:
            result = {"error": f"{type(error).__name__}: {error}"}
        os.write(writing, json.dumps(result).encode())
        os._exit(0)


if __name__ == "__main__":
    _serve()
