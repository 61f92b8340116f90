"""The log of a registry: replayed to the state that the truth has, and what is wrong in it."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from values_corpus import REGISTRIES, VALUES, registry, truth_of

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


def key(subject: str = "orders-value", version: int = 1, **more: Any) -> bytes:
    return json.dumps({"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1} | more).encode()


def value(schema_id: int = 1, schema: Any = ORDER, **more: Any) -> bytes:
    return json.dumps({"subject": "orders-value", "version": 1, "id": schema_id, "schema": json.dumps(schema)} | more).encode()


def log_of(place: Path, *records: tuple[bytes | None, bytes | None]) -> Path:
    data = ls.encode(
        pa.table({"key": pa.array([item for item, _ in records], "binary"), "value": pa.array([item for _, item in records], "binary")})
    )
    assert data is not None
    (place / "_schemas-0").mkdir(exist_ok=True)
    (place / "_schemas-0/00000000000000000000.log").write_bytes(data)
    return place / "_schemas-0"


@pytest.mark.parametrize("partition", REGISTRIES)
def test_the_log_is_replayed_to_the_state_of_the_truth(partition: str):
    truth = truth_of(partition)
    assert len(truth) in (460, 5)
    assert [schema.to_dict() for schema in registry(partition)] == truth


def test_a_set_is_the_same_after_pickling_and_cannot_be_changed():
    schemas = registry()
    again = pickle.loads(pickle.dumps(schemas))
    assert again == schemas
    assert again.by_id(35) == schemas.by_id(35)
    with pytest.raises(AttributeError):
        schemas.framing = "none"  # type: ignore[misc]


def test_schemas_are_found_by_id_guid_and_subject():
    schemas = registry()
    found = schemas.by_id(29)
    assert found is not None
    assert [version.subject for version in found.versions] == ["noise-a", "noise-b", "noise-c"]
    assert schemas.by_id(29, context=".lab") not in (None, found)
    assert found.guid is not None
    assert schemas.by_guid(found.guid.upper()) == found
    assert [version.version for version, _ in schemas.versions_of("noise-e")] == [1, 7]
    assert schemas.versions_of("no-such-subject") == []
    assert schemas.by_id(2**31 - 1) is None


def test_references_come_before_the_schemas_that_need_them():
    schemas = registry()
    order = schemas.by_id(397)
    assert order is not None
    names = [name for name, _ in schemas.referenced(order)]
    assert names == ["org.example.alpha.ref.Money", "org.example.alpha.ref.Line"]


def test_a_reference_that_is_not_there_and_one_in_a_circle_are_errors(tmp_path: Path):
    lost = {"references": [{"name": "Money", "subject": "money", "version": 1}]}
    circle = {"references": [{"name": "Order", "subject": "orders-value", "version": -1}]}
    (schema,) = schemas = ls.schemas.from_log(log_of(tmp_path, (key(), value(**lost))))
    with pytest.raises(ValueError, match="version 1 of subject 'money' is not known"):
        schemas.referenced(schema)
    (schema,) = schemas = ls.schemas.from_log(log_of(tmp_path, (key(), value(**circle))))
    with pytest.raises(ValueError, match="refers to itself"):
        schemas.referenced(schema)


def test_deletions_of_versions_and_subjects(tmp_path: Path):
    subject = json.dumps({"keytype": "DELETE_SUBJECT", "subject": "orders-value", "magic": 0}).encode()
    softly = subject, json.dumps({"subject": "orders-value", "version": 2}).encode()
    clear = json.dumps({"keytype": "CLEAR_SUBJECT", "subject": "orders-value", "magic": 0}).encode(), b"{}"
    first, second, third = (key(version=1), value(1)), (key(version=2), value(2)), (key(version=3), value(3))

    def states(*records: tuple[bytes, bytes | None]) -> list[tuple[int, str]]:
        return [(item.version, item.state) for item, _ in ls.schemas.from_log(log_of(tmp_path, *records)).versions_of("orders-value")]

    assert states(first, second, third) == [(1, "live"), (2, "live"), (3, "live")]
    assert states(first, second, third, softly) == [(1, "deleted"), (2, "deleted"), (3, "live")]
    assert states(first, second, softly, first) == [(1, "live"), (2, "deleted")]
    assert states(first, (key(version=2), value(2, deleted=True))) == [(1, "live"), (2, "deleted")]
    assert states(first, second, (key(version=1), None)) == [(1, "hard-deleted"), (2, "live")]
    assert states(first, second, (key(version=1), b"")) == [(1, "hard-deleted"), (2, "live")]
    assert states(first, second, third, softly, clear) == [(3, "live")]


def test_the_guid_counts_references_and_metadata_and_is_unknown_with_rules(tmp_path: Path):
    def guid(**more: Any) -> str | None:
        (schema,) = ls.schemas.from_log(log_of(tmp_path, (key(), value(**more))))
        return schema.guid

    plain = guid()
    metadata = guid(metadata={"properties": {"owner": "team"}})
    references = guid(references=[{"name": "Money", "subject": "money", "version": 1}])
    assert len({plain, metadata, references}) == 3
    assert guid(md5="AAECAwQFBgcICQoLDA0ODw==", ruleSet={"domainRules": []}) == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert guid(ruleSet={"domainRules": [{"name": "x"}]}) is None


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ((b"orders", b"{}"), "Expecting value"),
        ((None, b"{}"), "Expecting value"),
        ((b"[]", b"{}"), "not a JSON object"),
        ((b"{}", b"{}"), "no keytype"),
        ((b"[" * 200_000, b"{}"), "too deep"),
        ((key(version=2**31), value()), "version is not a number"),
        ((key(), value(schema_id=True)), "id is not a number"),
        ((key(), b'{"id": 1}'), "schema is not a text"),
        ((key(), value(schemaType="XML")), "schemaType is 'XML'"),
    ],
)
def test_records_of_another_topic_are_errors_or_skipped(record: tuple[bytes | None, bytes], problem: str, tmp_path: Path):
    place = log_of(tmp_path, record, (key(), value()))
    with pytest.raises(ValueError, match=f"offset 0 of .*not a record of a schema registry: .*{problem}"):
        ls.schemas.from_log(place)
    assert len(ls.schemas.from_log(place, on_error="skip")) == 1


def test_in_a_tree_only_the_registry_is_read(tmp_path: Path):
    shutil.copytree(VALUES / "_schemas-0", tmp_path / "_schemas-0")
    shutil.copytree(VALUES / "alpha-avro-refs-0", tmp_path / "alpha-avro-refs-0")
    assert ls.schemas.from_log(tmp_path) == registry()
    (tmp_path / "_schemas-0").rename(tmp_path / "registry-0")
    with pytest.raises(ValueError, match="_schemas"):
        ls.schemas.from_log(tmp_path)
    assert ls.schemas.from_log(tmp_path, topic="registry") == registry()
