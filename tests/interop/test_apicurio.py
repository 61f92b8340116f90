"""Schemas of a registry that runs: Apicurio from Maven Central, by the API that it shares with Confluent's registry."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import eras
import logsegment as ls
import short_lived_java
from loopback import free_port
from made_once import made_once

httpx = pytest.importorskip("httpx")

VERSION = "3.0.9"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
MONEY = {"type": "record", "name": "Money", "namespace": "shop", "fields": [{"name": "units", "type": "long"}]}
ORDER = {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "total", "type": "shop.Money"}]}
WIDER = {"type": "record", "name": "Item", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": "x"}]}
ITEM = {"type": "record", "name": "Item", "fields": [{"name": "a", "type": "int"}]}


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


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API of a registry in memory."""
    eras.need("java", "mvn")
    port = free_port()
    log = tmp_path_factory.mktemp("apicurio") / "log"
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


def test_what_was_registered_is_read_and_decodes(url: str):
    assert len(ls.schemas.from_registry(url)) == 0
    register(url, "money", MONEY)
    order = register(url, "orders-value", ORDER, references=[{"name": "shop.Money", "subject": "money", "version": 1}])
    first, second = register(url, "items-value", ITEM), register(url, "items-value", WIDER)
    found = ls.schemas.from_registry(url)
    assert found.subjects == ["items-value", "money", "orders-value"]
    assert [version.version for version, _ in found.versions_of("items-value")] == [1, 2]
    values = [b"\0" + first.to_bytes(4, "big") + b"\x0e", b"\0" + second.to_bytes(4, "big") + b"\x10\x02y"]
    rows = ls.decode(ls.encode(pa.table({"value": values})), values="avro", schemas=found, topic="items", columns=["valueRecord"])
    assert [row["valueRecord"] for row in rows.to_pylist()] == [{"a": 7, "b": "x"}, {"a": 8, "b": "y"}]
    one = ls.encode(pa.table({"value": [b"\0" + order.to_bytes(4, "big") + b"\x06"]}))
    rows = ls.decode(io.BytesIO(one or b""), values="avro", schemas=found, topic="orders", columns=["valueRecord"])
    assert rows.to_pylist() == [{"valueRecord": {"total": {"units": 3}}}]


def test_deleted_versions_are_in_it_with_their_state(url: str):
    schema_id = register(url, "gone-value", ITEM | {"name": "Gone"})
    assert httpx.delete(f"{url}/subjects/gone-value").is_success
    found = ls.schemas.from_registry(url)
    kept = [version.state for version, _ in found.versions_of("gone-value")]
    assert kept in ([], ["deleted"])
    assert (found.by_id(schema_id) is not None) == bool(kept)


def test_encode_registers_a_schema_only_if_it_is_asked(url: str):
    table = pa.table({"valueRecord": [{"a": 7}]})
    schemas = ls.schemas.from_registry(url)
    text = json.dumps(ITEM | {"name": "Written"})
    data = ls.encode(table, values="avro", schema=text, schemas=schemas, topic="written", register=True)
    found = ls.schemas.from_registry(url, subjects=["written-value"])
    assert [json.loads(schema.text) for _, schema in found.versions_of("written-value")] == [json.loads(text)]
    again = ls.encode(table, values="avro", schemas=found, topic="written")
    assert again == data
    assert ls.decode(data, values="avro", schemas=found, columns=["valueRecord"]).to_pylist() == [{"valueRecord": {"a": 7}}]
    with pytest.raises(OSError, match=r"refuses /subjects/written-value/versions: 4\d\d"):
        schemas.register("written-value", ls.schemas.Schema("AVRO", "{"))
