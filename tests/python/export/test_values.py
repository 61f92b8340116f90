"""Typed values as structs of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lake
import logsegment as ls
from logsegment._export.arrow_types import conformed, lake_schema, misfits, missing_fields
from slow import slow_after
from values_corpus import VALUES, registry

#: Partitions of the corpus of values, and how their values are decoded.
PARTITIONS = {
    "alpha-avro-refs-0": "avro",
    "alpha-json-orders-0": "json",
    "alpha-proto-wkt-0": "protobuf",
    "alpha-avro-alltypes-0": "avro",
    "alpha-avro-incompatible-0": "avro",
    "alpha-avro-recursive-0": "avro",
    "alpha-avro-top-map-0": "avro",
    "alpha-avro-random-7": "avro",
    "alpha-json-refs-0": "json",
    "alpha-proto-scalars-0": "protobuf",
    "alpha-proto-nested-0": "protobuf",
    "alpha-mixed-0": "auto",
}


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
@pytest.mark.parametrize("name", slow_after(3, PARTITIONS))
def test_structs(name: str, kind: str, tmp_path: Path) -> None:
    """The values are those of `decode`; numbers without a sign and times in nanoseconds as tables have them."""
    options: dict[str, Any] = {"values": PARTITIONS[name], "schemas": registry(), "on_error": "skip"}
    to = f"iceberg:{tmp_path}/kafka.records" if kind == "iceberg" else f"delta:{tmp_path}"
    exported = ls.export(VALUES / name, to, **options)
    expected = ls.Log(VALUES / name).records(**options).to_pyarrow()
    if kind == "iceberg":
        found = lake.iceberg(tmp_path, "kafka.records").scan().to_arrow()
    else:
        from deltalake import DeltaTable

        found = DeltaTable(tmp_path).to_pyarrow_table()
    assert exported.rows == found.num_rows == expected.num_rows > 0
    wanted = lake_schema(expected.schema, expected.schema.names, has_times=kind == "iceberg")
    tables = []
    for table in (found, expected):
        batches = table.sort_by("offset").select(["offset", "valueRecord"]).combine_chunks().to_batches()
        schema = pa.schema([wanted.field("offset"), wanted.field("valueRecord")])
        # The text has NaN, which equals nothing.
        tables.append(repr([row for batch in batches for row in conformed(batch, schema).to_pylist()]))
    assert tables[0] == tables[1]
    assert ls.export(VALUES / name, to, **options).rows == 0


def test_a_schema_that_grew(tmp_path: Path) -> None:
    """A table with the fields of the first version gets those of later ones."""
    first = pa.schema([("name", pa.string())])
    second = pa.schema([("name", pa.string()), ("home", pa.struct([("zip", pa.string())])), ("tags", pa.list_(pa.string()))])
    directory = tmp_path / "people-0"
    directory.mkdir()
    texts = [b'{"name":"a"}', b'{"name":"b","home":{"zip":"1"},"tags":["x"]}']
    (directory / "00000000000000000000.log").write_bytes(ls.encode(pa.table({"value": pa.array(texts, pa.binary())})))
    for to in (f"iceberg:{tmp_path}/kafka.people", f"delta:{tmp_path}/delta"):
        ls.export(directory, to, values="json", reader_schema=first, end_offset=1)
        with pytest.raises(ValueError, match=r"lacks the columns valueRecord\.home, valueRecord\.tags"):
            ls.export(directory, to, values="json", reader_schema=second)
        assert ls.export(directory, to, values="json", reader_schema=second, evolve=True).rows == 1
    found = lake.iceberg(tmp_path, "kafka.people").scan().to_arrow().sort_by("offset")["valueRecord"].to_pylist()
    assert found == [{"name": "a", "home": None, "tags": None}, {"name": "b", "home": {"zip": "1"}, "tags": ["x"]}]
    from deltalake import DeltaTable

    assert DeltaTable(tmp_path / "delta").to_pyarrow_table().sort_by("offset")["valueRecord"].to_pylist() == found


def test_typed_values_of_several_topics_need_tables(tmp_path: Path) -> None:
    sources = [VALUES / "alpha-avro-refs-0", VALUES / "alpha-avro-keyed-0"]
    with pytest.raises(ValueError, match=r"write \{topic\} in the target"):
        ls.export(sources, f"delta:{tmp_path}/all", values="avro", schemas=registry())
    ls.export(
        sources, f"delta:{tmp_path}/{{topic}}", values="avro", schemas=registry(), columns=["topic", "partition", "offset", "valueRecord"]
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alpha-avro-keyed", "alpha-avro-refs"]


def test_records_of_internal_topics(tmp_path: Path) -> None:
    import corpus

    source = corpus.CORPUS / "modern-4.1.0/data/__consumer_offsets-1"
    ls.export(source, f"delta:{tmp_path}", values="internal", columns=["offset", "internal"])
    from deltalake import DeltaTable

    found = DeltaTable(tmp_path).to_pyarrow_table().sort_by("offset")["internal"].to_pylist()
    log = ls.Log(source).records(values="internal", columns=["offset", "internal"], isolation="read_committed")
    assert found == [row["internal"] for row in log.to_pylist()]


def test_types_that_tables_lack() -> None:
    """Arrow types and those of tables; sliced arrays too."""
    values = {
        "small": pa.array([1, None, -3], pa.int8()),
        "unsigned": pa.array([2**64 - 1, None, 0], pa.uint64()),
        "word": pa.array([2**32 - 1, None, 0], pa.uint32()),
        "half": pa.array([1.5, None, 2.0], pa.float32()).cast(pa.float16()),
        "time": pa.array([1, None, 3], pa.time32("ms")),
        "moment": pa.array([1_999, None, -1], pa.timestamp("ns", "UTC")),
        "kind": pa.array(["a", None, "b"]).dictionary_encode(),
        "list": pa.array([[1, None], None, []], pa.large_list(pa.uint16())),
        "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.uint8())),
        "empty": pa.array([{}, None, {}], pa.struct([])),
        "wide": pa.array([1, None, 10**50], pa.decimal256(60, 0)),
        "nested": pa.array([{"a": {"b": [1]}}, None, {"a": None}], pa.struct([("a", pa.struct([("b", pa.list_(pa.uint8()))]))])),
    }
    batch = pa.record_batch(values)
    schema = lake_schema(batch.schema, batch.schema.names)
    assert not [*missing_fields(batch.schema, schema)]
    made = conformed(batch, schema)
    assert made.to_pylist()[1] == dict.fromkeys(values)
    assert conformed(batch.slice(2), schema).to_pylist() == [made.to_pylist()[2]]
    assert [str(schema.field(name).type) for name in ("unsigned", "time", "moment", "empty", "wide")] == [
        *("decimal128(20, 0)", "time64[us]", "timestamp[us, tz=UTC]", "bool", "string"),
    ]
    first = made.to_pylist()[0]
    assert (first["unsigned"], first["list"], first["empty"], first["nested"]) == (2**64 - 1, [1, None], True, {"a": {"b": [1]}})
    assert made.to_pylist()[2]["wide"] == str(10**50)
    assert [*misfits(batch.schema, lake_schema(batch.schema, ["small"]))]
