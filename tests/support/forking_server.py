"""Runs of the command line as processes that are forked from one that has imported it: Python's own start takes ten times as long.

`Server` is the side of the tests. As a program it is the other side: it reads requests from a socket, forks for each, and answers with
the exit code.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from typing import Any

#: What a Python that starts reads of its environment.
AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "TZ")
NUMBER_BYTES = 4
#: What many verbs import when they need it.
PRELOADED = (
    "pyarrow.compute",
    "pyarrow.ipc",
    "pyarrow.parquet",
    "logsegment.tiered.listing",
    "cryptography.hazmat.primitives.asymmetric.padding",
    "cryptography.hazmat.primitives.ciphers.aead",
    "cryptography.hazmat.primitives.serialization",
)


class Server:
    """A process that forks itself."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        command = [sys.executable, __file__, str(theirs.fileno())]
        # A group of its own: it and its runs can be ended together.
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, process_group=0)
        theirs.close()
        atexit.register(self.close)

    def close(self) -> None:
        """End the process; runs have ended before."""
        self._socket.close()
        self._process.wait(60)

    def run(
        self,
        arguments: list[str],
        stdin: bytes,
        environment: dict[str, str],
        timeout: float,
        outputs: tuple[int | None, int | None] = (None, None),
    ) -> tuple[int, bytes, bytes]:
        """Run to the end; give the exit code, and what went to stdout and stderr where `outputs` names no other place for it.

        Raises:
            subprocess.TimeoutExpired: The run took longer than this many seconds. The server ended with it.
        """
        with ExitStack() as files, ThreadPoolExecutor(3) as pool:
            in_read, in_write = os.pipe()
            theirs, read_ends = [in_read], []
            for place in outputs:
                read_end, write_end = (os.open(os.devnull, os.O_RDONLY), os.dup(place)) if place is not None else os.pipe()
                read_ends.append(files.enter_context(open(read_end, "rb", buffering=0)))
                theirs.append(write_end)
            message = json.dumps({"arguments": arguments, "environment": environment, "directory": os.getcwd()}).encode()
            self._socket.settimeout(timeout)
            # The descriptors travel with the length, in one message; the rest may come in pieces.
            socket.send_fds(self._socket, [len(message).to_bytes(NUMBER_BYTES, "big")], theirs)
            self._socket.sendall(message)
            for descriptor in theirs:
                os.close(descriptor)
            pool.submit(write_all, in_write, stdin)
            reading = [pool.submit(end.readall) for end in read_ends]
            try:
                code = int.from_bytes(received(self._socket, NUMBER_BYTES), "big", signed=True)
            except TimeoutError:
                os.killpg(self._process.pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(arguments, timeout) from None
            out, err = (item.result(timeout) or b"" for item in reading)
        return code, out, err


#: The environment of the server, as far as it counts.
AS_STARTED = {name: value for name, value in os.environ.items() if name.startswith(AT_START)}


def takes(environment: dict[str, str]) -> bool:
    """Whether a Python that starts in this environment is the same as one that starts in that of the server."""
    return {name: value for name, value in environment.items() if name.startswith(AT_START)} == AS_STARTED


def write_all(descriptor: int, data: bytes) -> None:
    with open(descriptor, "wb", buffering=0) as pipe:
        try:
            while data:
                data = data[pipe.write(data) :]
        except BrokenPipeError:
            pass


def received(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = connection.recv(length - len(data))
        if not piece:
            raise ConnectionError("the process that forks has ended")
        data += piece
    return data


def preload() -> None:
    """Import what most verbs import."""
    from logsegment.cli.app import VERBS

    for verb in VERBS:
        if verb != "completion":
            import_module(f"logsegment.cli.{verb}")
    for name in PRELOADED:
        import_module(name)


def serve(connection: socket.socket) -> list[str]:
    """Fork for each request until there are no more. Gives the arguments in each child, and does not return in the parent."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(connection, NUMBER_BYTES, 3)
        if not head:
            sys.exit()
        head += received(connection, NUMBER_BYTES - len(head)) if len(head) < NUMBER_BYTES else b""
        request = json.loads(received(connection, int.from_bytes(head, "big")))
        child = os.fork()
        if child == 0:
            connection.close()
            become(request, descriptors)
            return list(request["arguments"])
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(NUMBER_BYTES, "big", signed=True))


def become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Make this process one that was started for the request."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, number, how in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        errors = "backslashreplace" if name == "stderr" else "strict"
        setattr(sys, name, os.fdopen(number, how, encoding="utf-8", errors=errors, closefd=False))


def main(number: int) -> None:
    with socket.socket(fileno=number) as connection:
        preload()
        # The collector would write to, and so copy, the pages of all objects in each child.
        gc.freeze()
        sys.argv[1:] = serve(connection)
    try:
        runpy.run_module("logsegment", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        # Modules that are taken apart one by one take as long as all the rest.
        os._exit(int(ended.code or 0))


if __name__ == "__main__":
    main(int(sys.argv[1]))
