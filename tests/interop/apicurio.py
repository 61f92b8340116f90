"""A schema registry that runs: Apicurio from Maven Central, with the API that it shares with Confluent's registry."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

import eras
import short_lived_java
from loopback import free_port
from made_once import made_once

VERSION = "3.0.9"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"


def unpacked() -> Path:
    place = eras.WORK / f"apicurio-{VERSION}"
    with made_once(place):
        if not place.exists():
            fetched = eras.WORK / "fetched"
            fetched.mkdir(parents=True, exist_ok=True)
            command = ["mvn", "--batch-mode", "--quiet", "dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={fetched}"]
            eras.run(command, fetched)
            with tarfile.open(fetched / f"apicurio-registry-app-{VERSION}-all.tar.gz") as archive:
                archive.extractall(place.with_suffix(".unfinished"), filter="data")
            place.with_suffix(".unfinished").rename(place)
    return place


@contextmanager
def running(log: Path) -> Iterator[str]:
    """The API of a registry in memory."""
    eras.need("java", "mvn")
    port = free_port()
    environment = os.environ | {"QUARKUS_HTTP_HOST": "127.0.0.1", "QUARKUS_HTTP_PORT": str(port)}
    command = ["java", "-Xmx512m", *short_lived_java.OPTIONS, "-jar", str(unpacked() / f"apicurio-registry-app-{VERSION}-runner.jar")]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, env=environment) as process:
        try:
            api = f"http://127.0.0.1:{port}/apis/ccompat/v7"
            deadline = time.monotonic() + 120
            while not answers(api):
                assert process.poll() is None, log.read_text()[-3000:]
                assert time.monotonic() < deadline, log.read_text()[-3000:]
                time.sleep(0.5)
            yield api
        finally:
            process.terminate()
            process.wait(30)


def answers(api: str) -> bool:
    try:
        return bool(httpx.get(f"{api}/subjects").is_success)
    except httpx.HTTPError:
        return False


def register(api: str, subject: str, schema: object, **more: object) -> int:
    answer = httpx.post(f"{api}/subjects/{subject}/versions", json={"schema": json.dumps(schema)} | more)
    assert answer.is_success, answer.text
    return int(answer.json()["id"])
