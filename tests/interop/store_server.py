"""A store server on loopback with a gate before it. The gate counts what is fetched and can refuse requests."""

from __future__ import annotations

import http.client
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from loopback import free_port

#: Words in the queries of listings of S3, GCS and Azure.
LISTINGS = ("list-type=", "comp=list")
#: Headers that belong to one connection.
HOP_BY_HOP = ("transfer-encoding", "connection", "content-length")
STARTED_WITHIN = 120


@dataclass
class Fetched:
    """The ranges that were requested, each with its path, and the number of bytes in the answers."""

    ranges: list[tuple[str, str | None]] = field(default_factory=list)
    bytes_given: int = 0


class Request(NamedTuple):
    """A request of a client; the body as it was sent, chunks with their sizes."""

    method: str
    path: str
    headers: Sequence[tuple[str, str]]
    body: bytes


class Answer(NamedTuple):
    """An answer of the server.

    Attributes:
        status, reason, headers, body: all of it.
        sent: bytes of the body after which the gate ends the connection; below 0 it sends no header either. None for the whole answer.
        ending: called before the gate ends the connection.
    """

    status: int
    reason: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    sent: int | None = None
    ending: Callable[[], object] = bool


class GatedServer:
    """A running server with the gate before it.

    Attributes:
        upstream: the port of the server itself.
        fetched: what was fetched so far; may be replaced.
        refuses: called with method and path of each request; a request for which it returns True is answered with 403.
        reason: the body of that answer.
    """

    def __init__(self, name: str, log: Path) -> None:
        self.fetched = Fetched()
        self.refuses: Callable[[str, str], bool] = lambda method, path: False
        self.reason = b""
        self.upstream = free_port()
        self._name = name
        self._log = log
        self._counting = threading.Lock()
        self._gate = _gate(self)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Host and port of the gate."""
        return f"127.0.0.1:{self._gate.server_port}"

    def start(self, command: Sequence[str]) -> None:
        """Start the server, and wait until it accepts connections."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self._log.parent)
        threading.Thread(target=self._gate.serve_forever, daemon=True).start()
        try:
            self._wait(self._process)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop the gate and the server."""
        self._gate.shutdown()
        self._gate.server_close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def answer(self, request: Request) -> Answer:
        """Return the answer of the server to a request that the gate lets through."""
        return self.forward(request)

    def forward(self, request: Request) -> Answer:
        """Send a request to the server as it is. A signature covers the host that the client knows."""
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=60)
        with closing(connection):
            connection.putrequest(request.method, request.path, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers:
                connection.putheader(name, value)
            connection.endheaders(request.body or None)
            response = connection.getresponse()
            body = response.read()
            headers = [(name, value) for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP]
            length = response.getheader("Content-Length") if request.method == "HEAD" else str(len(body))
            if length is not None:
                headers.append(("Content-Length", length))
            return Answer(response.status, response.reason, headers, body)

    def count(self, request: Request, length: int) -> None:
        """Count an answer; several requests may be in flight."""
        if request.method != "GET" or any(word in request.path for word in LISTINGS):
            return
        ranges = (value for name, value in request.headers if name.lower() == "range")
        with self._counting:
            self.fetched.ranges.append((request.path.partition("?")[0], next(ranges, None)))
            self.fetched.bytes_given += length

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + STARTED_WITHIN
        while time.monotonic() < end and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.upstream)) == 0:
                    return
            time.sleep(0.1)
        raise RuntimeError(f"{self._name} did not start:\n{self._log.read_text(errors='replace')[-4000:]}")


def assert_no_secret(secrets: Sequence[str], *texts: str) -> None:
    """Check that no text has a secret, as it is or quoted."""
    for secret in secrets:
        for text in texts:
            assert secret not in text
            assert quote(secret, safe="") not in text


def _gate(server: GatedServer) -> ThreadingHTTPServer:
    class Gate(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body are two writes: the second one would wait 40 ms for an acknowledgement.
        disable_nagle_algorithm = True

        def _pass(self) -> None:
            request = Request(self.command, self.path, list(self.headers.items()), _body(self))
            if server.refuses(request.method, request.path):
                body = b"" if request.method == "HEAD" else server.reason
                answer = Answer(403, "Forbidden", [("Content-Length", str(len(server.reason)))], body)
            else:
                answer = server.answer(request)
                server.count(request, len(answer.body))
            # A client may have stopped waiting.
            with suppress(ConnectionError):
                if answer.sent is None or answer.sent >= 0:
                    self.send_response_only(answer.status, answer.reason)
                    for name, value in answer.headers:
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer.body[: answer.sent])
                if answer.sent is not None:
                    answer.ending()
                    self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
        setattr(Gate, f"do_{method}", Gate._pass)
    gate = ThreadingHTTPServer(("127.0.0.1", 0), Gate)
    gate.daemon_threads = True
    return gate


def _body(request: BaseHTTPRequestHandler) -> bytes:
    """The body of a request as it was sent, chunks with their sizes."""
    if request.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length", 0)))
    raw = bytearray()
    while True:
        size = request.rfile.readline()
        raw += size
        if not int(size.partition(b";")[0], 16):
            break
        raw += request.rfile.read(int(size.partition(b";")[0], 16) + 2)
    while (trailer := request.rfile.readline()) not in (b"\r\n", b""):
        raw += trailer
    return bytes(raw + b"\r\n")
