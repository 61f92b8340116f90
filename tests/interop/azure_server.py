"""Azure Blob Storage on loopback: Azurite from npm in memory, with a gate before it. It checks signatures."""

from __future__ import annotations

import base64
import hashlib
import hmac
from email.utils import formatdate
from pathlib import Path

import eras
from made_once import made_once
from store_server import GatedServer, Request

#: The newest version for Node.js 20; later ones need 21 or newer.
VERSION = "3.35.0"
NEEDED_COMMANDS = ("node", "npm")
CONTAINER = "lake"
#: The account of every Azurite, with its published key.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#: Of the protocol; any of the last years.
API_VERSION = "2023-11-03"


class Server(GatedServer):
    """A running server with one container."""

    def __init__(self, place: Path) -> None:
        super().__init__("azurite", place / "azurite.log")
        options = ["--blobHost", "127.0.0.1", "--blobPort", str(self.upstream), "--inMemoryPersistence", "--silent", "--disableTelemetry"]
        self.start(["node", str(program()), *options, "--skipApiVersionCheck"])
        self._make_container()

    def uri(self, key: str = "") -> str:
        """The URI of a key, in the account that the options name."""
        return f"az://{CONTAINER}/{key}".rstrip("/")

    def abfss_uri(self, key: str = "") -> str:
        """The URI of a key that names the account."""
        return f"abfss://{CONTAINER}@{ACCOUNT}.dfs.core.windows.net/{key}".rstrip("/")

    @property
    def options(self) -> dict[str, str]:
        """The options of the store."""
        endpoint = f"http://{self.address}/{ACCOUNT}"
        return {"azure_endpoint": endpoint, "azure_storage_account_name": ACCOUNT, "azure_storage_account_key": KEY}

    def _make_container(self) -> None:
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": API_VERSION}
        canonical = "".join(f"{name}:{value}\n" for name, value in headers.items())
        text = "PUT" + "\n" * 12 + f"{canonical}/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container"
        signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)).decode()
        headers |= {"Host": self.address, "Content-Length": "0", "Authorization": f"SharedKey {ACCOUNT}:{signature}"}
        made = self.forward(Request("PUT", f"/{ACCOUNT}/{CONTAINER}?restype=container", list(headers.items()), b""))
        assert made.status == 201, made.body


def program() -> Path:
    """The server, installed once by npm from its name and version."""
    eras.need(*NEEDED_COMMANDS)
    place = eras.WORK / f"azurite-{VERSION}"
    with made_once(place):
        if not place.exists():
            unfinished = place.with_name(f"{place.name}.unfinished")
            unfinished.mkdir(parents=True, exist_ok=True)
            command = ["npm", "install", "--prefix", ".", "--no-audit", "--no-fund", "--ignore-scripts", f"azurite@{VERSION}"]
            eras.run(command, unfinished)
            unfinished.rename(place)
    return place / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
