"""Google Cloud Storage on loopback: fake-gcs-server in memory, a Go module, with a gate before it.

Of the XML API, which object_store uses, this server has reads, listings and deletions. Uploads and copies it has in the JSON API alone, so
the gate sends these two requests there. Uploads in several parts, pages of listings, conditions on tags and the check of credentials are
missing.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import eras
from made_once import made_once
from store_server import Answer, GatedServer, Request

VERSION = "1.56.1"
MODULE = f"github.com/fsouza/fake-gcs-server@v{VERSION}"
NEEDED_COMMANDS = ("go",)
BUCKET = "lake"
PRIVATE_KEY = "private-key-of-the-tests"


class Server(GatedServer):
    """A running server with one bucket."""

    def __init__(self, place: Path) -> None:
        super().__init__("fake-gcs-server", place / "gcs.log")
        options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(self.upstream), "-backend", "memory", "-log-level", "warn"]
        self.start([str(program()), *options, "-public-host", self.address])
        made = self._send("POST", "/storage/v1/b?project=tests", json.dumps({"name": BUCKET}).encode())
        assert made.status == 200, made.body

    def uri(self, key: str = "") -> str:
        """The URI of a key."""
        return f"gs://{BUCKET}/{key}".rstrip("/")

    @property
    def options(self) -> dict[str, str]:
        """The options of the store: with `disable_oauth` no token is requested from Google."""
        key = {"private_key": PRIVATE_KEY, "private_key_id": "id", "client_email": "", "disable_oauth": True}
        return {"google_base_url": f"http://{self.address}", "google_service_account_key": json.dumps(key)}

    def answer(self, request: Request) -> Answer:
        if request.method != "PUT":
            return self.forward(request)
        bucket, _, name = urlsplit(request.path).path.lstrip("/").partition("/")
        headers = {header.lower(): value for header, value in request.headers}
        if source := headers.get("x-goog-copy-source"):
            from_bucket, _, from_name = source.partition("/")
            return self._send("POST", f"/storage/v1/b/{from_bucket}/o/{from_name}/rewriteTo/b/{bucket}/o/{name}", b"{}")
        kind = {"Content-Type": headers.get("content-type", "application/octet-stream")}
        done = self._send("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}", request.body, kind)
        if done.status != 200:
            return done
        made = json.loads(done.body)
        tags = [("ETag", f'"{made["etag"]}"'), ("x-goog-generation", str(made["generation"])), ("Content-Length", "0")]
        return Answer(200, "OK", tags, b"")

    def _send(self, method: str, path: str, body: bytes, headers: dict[str, str] | None = None) -> Answer:
        """Send a request of the JSON API."""
        given = {"Host": self.address, "Content-Length": str(len(body)), **(headers or {"Content-Type": "application/json"})}
        return self.forward(Request(method, path, list(given.items()), body))


def program() -> Path:
    """The server, compiled once by Go from the name and version of its module."""
    eras.need(*NEEDED_COMMANDS)
    place = eras.WORK / "go" / f"fake-gcs-server-{VERSION}"
    with made_once(place):
        if not place.exists():
            unfinished = place.with_name(f"{place.name}.unfinished")
            unfinished.mkdir(parents=True, exist_ok=True)
            command = ["go", "install", MODULE]
            done = subprocess.run(command, env=os.environ | {"GOBIN": str(unfinished)}, cwd=unfinished, capture_output=True, text=True)
            assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
            unfinished.rename(place)
    return place / "fake-gcs-server"
