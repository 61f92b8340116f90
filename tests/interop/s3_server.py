"""An S3-compatible server on loopback: s3proxy from Maven Central over a directory, with a gate before it.

The gate counts what is fetched and can refuse.
"""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import eras
import short_lived_java
from loopback import free_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Maven takes an older jackson-annotations from elsewhere in the tree unless it is named.
S3PROXY = eras.Era("s3proxy-4.1.0", ("org.gaul:s3proxy:4.1.0", "com.fasterxml.jackson.core:jackson-annotations:2.21"), ())
KEY, SECRET = "access-key-of-the-tests", "secret/key+of-the-tests"
#: In all keys of the tests, however they are quoted.
MARK = "of-the-tests"
BUCKET = "lake"


@dataclass
class Fetched:
    """What went through the gate: for each key the ranges that were asked for, and the bytes that were given."""

    ranges: list[tuple[str, str | None]] = field(default_factory=list)
    bytes_given: int = 0


class Server:
    """A running server. Files below `bucket` are its objects.

    Attributes:
        bucket: the directory of the bucket.
        fetched: what was fetched so far; may be replaced.
        refuses: asked with method and path of each request; what it is true for is answered with 403.
        reason: the body of that answer.
    """

    def __init__(self, place: Path) -> None:
        self.bucket = place / "data" / BUCKET
        self.bucket.mkdir(parents=True)
        self.fetched = Fetched()
        self.refuses: Callable[[str, str], bool] = lambda method, path: False
        self.reason = b""
        self._counting = threading.Lock()
        self._port = free_port()
        self._gate = _gate(self)
        self._log = (place / "s3proxy.log").open("wb")
        settings = place / "s3proxy.conf"
        settings.write_text(SETTINGS.format(port=self._port, key=KEY, secret=SECRET, data=place / "data"))
        quiet = place / "logback.xml"
        quiet.write_text(QUIET)
        options = ["-Xmx256m", *short_lived_java.OPTIONS, f"-Dlogback.configurationFile={quiet}", "-cp", eras.resolved(S3PROXY)]
        command = ["java", *options, "org.gaul.s3proxy.Main", "--properties", str(settings)]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT)
        threading.Thread(target=self._gate.serve_forever, daemon=True).start()
        try:
            self._wait(place / "s3proxy.log")
        except BaseException:
            self.close()
            raise

    def uri(self, key: str = "") -> str:
        """The URI of a key."""
        return f"s3://{BUCKET}/{key}"

    @property
    def environment(self) -> dict[str, str]:
        """What a reader must know, in the usual variables."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._gate.server_port}",
        }

    @property
    def options(self) -> dict[str, str]:
        """The same as options of a store."""
        return {name.lower(): value for name, value in self.environment.items()}

    def put(self, source: Path, key: str) -> str:
        """Copy a file or a directory into the bucket; gives the key."""
        target = self.bucket / key
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
        return key

    def count(self, path: str, span: str | None, length: int) -> None:
        """Count an answer; several may be on their way."""
        with self._counting:
            self.fetched.ranges.append((path, span))
            self.fetched.bytes_given += length

    def close(self) -> None:
        """Stop both."""
        self._gate.shutdown()
        self._gate.server_close()
        self._process.kill()
        self._process.wait()
        self._log.close()

    @property
    def upstream(self) -> int:
        """The port behind the gate."""
        return self._port

    def _wait(self, log: Path) -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.1)
        raise RuntimeError(f"s3proxy did not start:\n{log.read_text()[-4000:]}")


@contextmanager
def serving(place: Path) -> Iterator[Server]:
    """A server that this process and those that it starts find in the usual variables."""
    server = Server(place)
    try:
        with pytest.MonkeyPatch.context() as environment:
            for name in [name for name in os.environ if name.startswith("AWS_")]:
                environment.delenv(name)
            for name, value in server.environment.items():
                environment.setenv(name, value)
            yield server
    finally:
        server.close()


@contextmanager
def spark_workers(server: Server) -> Iterator[SparkSession]:
    """The session of the tests with the source registered, whose Python workers find a server in the usual variables.

    They have the variables of the process that started the session, and those of its context when a source is registered.
    """
    from logsegment.spark import register
    from spark_session import spark_session

    with pytest.MonkeyPatch.context() as environment:
        # A session that starts now goes on after the server.
        for name in server.environment:
            environment.delenv(name, raising=False)
        session = spark_session()
    with pytest.MonkeyPatch.context() as given:
        for name, value in server.environment.items():
            given.setitem(session.sparkContext.environment, name, value)
        register(session)
        yield session
    register(session)


def assert_no_secret(*texts: str) -> None:
    """No text has a key, however it is quoted."""
    for text in texts:
        assert MARK not in text


def _gate(server: Server) -> ThreadingHTTPServer:
    class Gate(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            sent = _body(self)
            if server.refuses(self.command, self.path):
                self.send_response_only(403)
                self.send_header("Content-Length", str(len(server.reason)))
                _finish(self, b"" if self.command == "HEAD" else server.reason)
                return
            behind = http.client.HTTPConnection("127.0.0.1", server.upstream, timeout=60)
            # The signature covers the host that the client knows.
            behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                behind.putheader(name, value)
            behind.endheaders(sent or None)
            answer = behind.getresponse()
            body = answer.read()
            if self.command == "GET" and "list-type" not in self.path:
                server.count(self.path.partition("?")[0], self.headers.get("Range"), len(body))
            self.send_response_only(answer.status, answer.reason)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(body))
            if length is not None:
                self.send_header("Content-Length", length)
            behind.close()
            _finish(self, body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
        setattr(Gate, f"do_{method}", Gate._pass)
    gate = ThreadingHTTPServer(("127.0.0.1", 0), Gate)
    gate.daemon_threads = True
    return gate


def _finish(request: BaseHTTPRequestHandler, body: bytes) -> None:
    # A client may have stopped waiting.
    with suppress(ConnectionError):
        request.end_headers()
        request.wfile.write(body)


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


SETTINGS = """\
s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity={key}
s3proxy.credential={secret}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={data}
jclouds.identity=any
jclouds.credential=any
"""

QUIET = """\
<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%level %logger %msg%n</pattern></encoder></appender>
  <root level="warn"><appender-ref ref="OUT"/></root>
</configuration>
"""

__all__ = ["BUCKET", "KEY", "MARK", "SECRET", "Fetched", "Server", "assert_no_secret", "serving", "spark_workers"]
