"""Schemas over HTTP: the API of a registry, answered from the schemas of a real registry's log."""

from __future__ import annotations

import json
import pickle
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

import logsegment as ls
from cli_process import run
from http_registry import Answer, serving
from logsegment.spark.source import LogSegmentSource
from values_corpus import VALUES, registry

pytest.importorskip("httpx")


def of_log(path: str, parameters: dict[str, str], headers: Any = None) -> Answer:
    """What Confluent's registry answers for the schemas of the corpus; the log alone has what was deleted for good."""
    found = registry()
    states = ("live", "deleted") if parameters.get("deleted") == "true" else ("live",)

    def versions(subject: str) -> dict[int, ls.schemas.Schema]:
        return {version.version: schema for version, schema in found.versions_of(subject) if version.state in states}

    parts = [unquote(item) for item in path.strip("/").split("/")]
    if parts == ["subjects"]:
        return 200, json.dumps([subject for subject in found.subjects if versions(subject)]).encode()
    own = versions(parts[1])
    if not own:
        return 404, b'{"error_code":40401}'
    if len(parts) == 3:
        return 200, json.dumps(sorted(own)).encode()
    one = own[int(parts[3])].to_dict()
    kept = {name: one[name] for name in ("id", "schema", "references", "guid")}
    return 200, json.dumps(kept | ({} if one["schemaType"] == "AVRO" else {"schemaType": one["schemaType"]})).encode()


@pytest.mark.slow
def test_the_answers_equal_the_log():
    with serving(of_log) as url:
        found = ls.schemas.from_registry(url)
    states = ("live", "deleted")
    wanted = [schema for schema in registry() if any(version.state in states for version in schema.versions)]
    assert len(found) == len(wanted) > 300
    for schema, other in zip(found, wanted, strict=True):
        assert (schema.context, schema.id, schema.guid, schema.type, schema.text) == (
            other.context,
            other.id,
            other.guid,
            other.type,
            other.text,
        )
        assert schema.references == other.references
        assert schema.versions == tuple(version for version in other.versions if version.state in states)
    assert pickle.loads(pickle.dumps(found)) == found


def test_one_subject_brings_what_it_refers_to():
    with serving(of_log) as url:
        found = ls.schemas.from_registry(url, subjects=["alpha-avro-refs-value"])
    (schema,) = {schema.text: schema for schema in found if any(v.subject == "alpha-avro-refs-value" for v in schema.versions)}.values()
    assert len(found.referenced(schema)) == len(registry().referenced(schema)) > 0
    assert len(found) < 10


@pytest.mark.parametrize("api", ["v3", "v2", None])
def test_apicurios_own_api_has_global_ids(api: str | None):
    """Two versions of one content, another that Confluent's API does not show, and answers of one version each."""
    pairs = [(7, 20), (8, 21), (7, 22)]

    def answer(path: str, parameters: dict[str, str], headers: Any) -> Answer:
        if headers["Authorization"] is None:
            return 401, b""
        if path.startswith("/apis/registry/"):
            if path != f"/apis/registry/{api}/groups/default/artifacts/a%2Fb-value/versions":
                return 404, b""
            versions = [{"contentId": content, "globalId": version} for content, version in pairs[int(parameters["offset"]) :][:1]]
            return 200, json.dumps({"count": len(pairs), "versions": versions}).encode()
        answers = {"": ["a/b-value"], "/a%2Fb-value/versions": [1], "/a%2Fb-value/versions/1": {"id": 7, "schema": '"long"'}}
        return 200, json.dumps(answers[path.removeprefix("/apis/ccompat/v7/subjects")]).encode()

    with serving(answer) as url:
        found = ls.schemas.from_registry(f"{url.replace('//', '//user:s3cret@')}/apis/ccompat/v7")
    (schema,) = found
    assert (schema.id, schema.global_ids) == (7, (20, 22) if api else ())
    header = {"key": "apicurio.value.globalId", "value": (22).to_bytes(8, "big")}
    data = ls.encode(pa.table({"value": [b"\x0e"], "headers": [[header]]}))
    stream = ls.decode(data, values="avro", schemas=found, columns=["valueRecord", "valueSchemaId"], on_error="skip")
    assert stream.to_pylist() == [{"valueRecord": 7, "valueSchemaId": 7} if api else {"valueRecord": None, "valueSchemaId": None}]


def test_credentials_are_sent_and_never_shown():
    basic = "Basic " + b64encode(b"user:s3cret").decode()

    def guarded(path: str, parameters: dict[str, str], headers: Any) -> Answer:
        is_known = headers["Authorization"] in (basic, "Bearer t0ken") and headers["X-Tenant"] == "a"
        return (200, b"[]") if is_known else (401, b"")

    with serving(guarded) as url:
        more = {"X-Tenant": "a"}
        assert len(ls.schemas.from_registry(url, auth=("user", "s3cret"), headers=more)) == 0
        assert len(ls.schemas.from_registry(url, bearer="t0ken", headers=more)) == 0
        with pytest.raises(OSError, match="401") as refused:
            ls.schemas.from_registry(url, auth=("user", "wr0ng"), headers=more)
        assert "wr0ng" not in str(refused.value)


def self_signed(folder: Path, file: str = "registry.pem") -> Path:
    """A certificate for this machine, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "registry")]), datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(hours=1), now + timedelta(hours=1))
    certificate = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / file).write_bytes(private + certificate.public_bytes(Encoding.PEM))
    return folder / file


def test_tls_verifies_the_certificate(tmp_path: Path):
    file = self_signed(tmp_path)
    with serving(lambda path, parameters, headers: (200, b"[]"), file) as url:
        with pytest.raises(OSError, match=r"(?i)certificate"):
            ls.schemas.from_registry(url)
        assert len(ls.schemas.from_registry(url, ca_file=str(file))) == 0


def test_tls_shows_the_certificate_of_the_client(tmp_path: Path):
    server, client, stranger = (self_signed(tmp_path, f"{name}.pem") for name in ("registry", "client", "stranger"))

    def answer(path: str, parameters: dict[str, str], headers: Any) -> Answer:
        return (200, b'{"id": 7}') if "body" in parameters else of_log(path, parameters)

    with serving(answer, server, clients=client) as url:
        for refused in (None, stranger):
            certificate = None if refused is None else (str(refused), str(refused))
            with pytest.raises(OSError, match="cannot be reached"):
                ls.schemas.from_registry(url, ca_file=str(server), client_certificate=certificate)
        shown = (str(client), str(client))
        schemas = ls.schemas.from_registry(url, subjects=["alpha-avro-refs-value"], ca_file=str(server), client_certificate=shown)
        assert "alpha-avro-refs-value" in schemas.subjects
        assert schemas.register("new-value", ls.schemas.Schema("AVRO", '"string"')).id == 7
    assert pickle.loads(pickle.dumps(schemas)).subjects == schemas.subjects


@pytest.mark.slow
def test_a_url_is_a_path_of_schemas_with_the_user_in_it():
    basic = "Basic " + b64encode(b"user:s3cret").decode()

    def guarded(path: str, parameters: dict[str, str], headers: Any) -> Answer:
        return of_log(path, parameters) if headers["Authorization"] == basic else (401, b"")

    with serving(guarded) as url:
        path = str(VALUES / "alpha-avro-refs-0")
        command = ["cat", path, "--values", "avro", "-n", "1", "--schemas"]
        done = run(*command, url.replace("//", "//user:s3cret@"))
        assert done.lines[0]["valueRecord"].keys() == {"lines", "total", "cur"}
        refused = run(*command, url.replace("//", "//user:wr0ng@"))
        assert (refused.code, "401" in refused.err, "wr0ng" in refused.err) == (2, True, False)
        options = {"path": path, "values": "avro", "schemas.path": url.replace("//", "//user:s3cret@")}
        assert LogSegmentSource(options).schema()["valueRecord"].dataType.fieldNames() == ["lines", "total", "cur"]


@pytest.mark.parametrize("answer", [b"<html>", b'[{"a":1}]', b"7", b"[" * 100_000])
def test_other_servers_are_not_registries(answer: bytes):
    with serving(lambda path, parameters, headers: (200, answer)) as url, pytest.raises(ValueError, match="is not a schema registry"):
        ls.schemas.from_registry(url)


def test_a_registry_that_is_away_or_options_that_are_wrong():
    with serving(of_log) as url:
        pass
    with pytest.raises(OSError, match="cannot be reached"):
        ls.schemas.from_registry(url, timeout=1)
    with pytest.raises(ValueError, match="exclude each other"):
        ls.schemas.from_registry(url, auth=("a", "b"), bearer="c")


def test_only_register_writes_and_only_what_the_subject_lacks():
    posted = []

    def answer(path: str, parameters: dict[str, str], headers: Any) -> Answer:
        if "body" not in parameters:
            return of_log(path, parameters)
        posted.append((path, headers["Authorization"], json.loads(parameters["body"])))
        return 200, b'{"id":9000}'

    table = pa.table({"valueRecord": [{"a": 1}]})
    schema = '{"type":"record","name":"New","fields":[{"name":"a","type":"int"}]}'
    with serving(answer) as url:
        schemas = ls.schemas.from_registry(url, subjects=["alpha-avro-refs-value"], bearer="t0ken")
        with pytest.raises(ValueError, match="schema has no id"):
            ls.encode(table, values="avro", schema=schema, schemas=schemas, topic="new/topic")
        assert posted == []
        data = ls.encode(table, values="avro", schema=schema, schemas=schemas, topic="new/topic", register=True)
        assert posted == [("/subjects/new%2Ftopic-value/versions", "Bearer t0ken", {"schema": schema, "schemaType": "AVRO"})]
        assert ls.decode(data, columns=["value"]).to_pylist() == [{"value": b"\0" + (9000).to_bytes(4, "big") + b"\x02"}]
        known = schemas.versions_of("alpha-avro-refs-value")[-1][1]
        full = ls.Log(VALUES / "alpha-avro-refs-0").records(values="avro", schemas=registry()).to_pyarrow()
        ls.encode(full, values="avro", schema=known.text, schemas=schemas, topic="alpha-avro-refs", register=True)
        assert len(posted) == 1
    assert b"t0ken" not in pickle.dumps(schemas)
    with pytest.raises(ValueError, match="were not read from a registry"):
        pickle.loads(pickle.dumps(schemas)).register("new-value", known)


def test_a_schema_that_the_registry_refuses_has_its_reason():
    def answer(path: str, parameters: dict[str, str], headers: Any) -> Answer:
        return (409, b'{"error_code":409,"message":"not compatible"}') if "body" in parameters else (200, b"[]")

    with serving(answer) as url:
        schemas = ls.schemas.from_registry(url)
        with pytest.raises(OSError, match="409 Conflict: not compatible"):
            schemas.register("a-value", ls.schemas.Schema("AVRO", '"int"'))
