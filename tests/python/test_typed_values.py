"""Avro keys and values as columns: every partition of the corpus equals its truth, refusals included; options, pruning, limits."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import logsegment as ls
from cli_process import run
from logsegment._options import ReadOptions
from logsegment._typed_values import planned
from values_corpus import VALUES, cases, registry, truth_of
from values_truth import fits, rows_of

CASES = [case for case in cases() if case["format"] == "avro"]
RANDOM = [case for case in CASES if "-random-" in case["partition"]]
NAMED = [case for case in CASES if case not in RANDOM]
LONG = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}


def schemas_of(partition: str) -> ls.schemas.SchemaSet:
    """The schemas of a partition: most are in the registry's log, some in files."""
    folder = VALUES / "schemas"
    if partition.startswith("karapace/"):
        return registry("karapace/_schemas-0")
    if "-bare-" in partition:
        return ls.schemas.single(folder / "bare.avsc")
    for name, has_ids in (("single-object", False), ("apicurio", True)):
        if f"-{name}-" in partition:
            found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["schemas"]
            entries = [ls.schemas.Schema("AVRO", json.dumps(text), int(key) if has_ids else None) for key, text in found.items()]
            return ls.schemas.SchemaSet(tuple(entries))
    return registry()


def disagreements(partition: str, **options: Any) -> list[Any]:
    """The offsets of records whose value is not what the truth says."""
    path = VALUES / partition
    columns = ["offset", "value", "valueRecord", "valueSchemaId"]
    stream = ls.Log(path).records(values="avro", schemas=schemas_of(partition), on_error="skip", columns=columns, **options)
    table = stream.to_pyarrow()
    refused = {finding.base_offset: finding for finding in stream.findings}
    assert all(finding.rule.startswith("SCH-") and finding.severity == "error" for finding in refused.values())
    kind = table.schema.field("valueRecord").type
    records = [record for chunk in table["valueRecord"].chunks for record in rows_of(chunk)]
    rows = zip(table["offset"].to_pylist(), table["valueSchemaId"].to_pylist(), records, strict=True)
    lines = truth_of(partition)
    assert len(records) == len(lines) > 0
    return [
        offset
        for (offset, schema_id, record), line in zip(rows, lines, strict=True)
        if not _agrees(offset, schema_id, record, line, kind, refused)
    ]


def _agrees(offset: int, schema_id: int | None, record: Any, line: dict[str, Any], kind: pa.DataType, refused: Any) -> bool:
    cell = line["value"]
    assert offset == line["offset"]
    if cell is None:
        return record is None and schema_id is None and offset not in refused
    if "id" in cell and schema_id != cell["id"]:
        return False
    if "error" in cell:
        return "either" in cell or (record is None and offset in refused)
    if "deleted" in cell and offset in refused:
        return True
    if pa.types.is_struct(kind) and kind.num_fields and all(kind.field(at).name.startswith("schema_") for at in range(kind.num_fields)):
        given = [name for name, value in record.items() if value is not None]
        if len(given) != 1 or ("id" in cell and given != [f"schema_{cell['id']}"]):
            return False
        kind, record = kind.field(given[0]).type, record[given[0]]
    return offset not in refused and fits(record, cell.get("resolved", cell["decoded"]), kind)


@pytest.mark.parametrize(
    "case", [case for case in NAMED if not case["partition"].startswith("karapace/")], ids=lambda case: case["partition"]
)
def test_a_partition_equals_its_truth(case: dict[str, Any]):
    assert disagreements(case["partition"]) == []


@pytest.mark.slow
def test_partitions_of_random_schemas_equal_their_truth():
    assert len(RANDOM) == 320
    assert {case["partition"]: found for case in RANDOM if (found := disagreements(case["partition"]))} == {}


def test_values_under_a_log_of_karapace_equal_their_truth_as_the_schema_of_each():
    partition = "karapace/alpha-karapace-orders-0"
    ids = {line["value"]["id"] for line in truth_of(partition)}
    assert ids == {1, 2, 3}
    for schema_id in ids:
        own = [line["offset"] for line in truth_of(partition) if line["value"]["id"] == schema_id]
        reader = registry("karapace/_schemas-0").by_id(schema_id)
        assert not set(own) & set(disagreements(partition, reader_schema=reader))


def test_the_poisoned_values_have_rules_and_raise_their_classes():
    schemas, path = registry(), VALUES / "alpha-avro-poison-0"
    stream = ls.Log(path).records(values="avro", schemas=schemas, on_error="skip", columns=["offset", "valueRecord"])
    stream.read_all()
    assert {finding.rule for finding in stream.findings} == {"SCH-1", "SCH-2", "SCH-3", "SCH-4", "SCH-5"}
    raised = set()
    for finding in stream.findings:
        assert finding.base_offset is not None
        start, end = finding.base_offset, finding.base_offset + 1
        bad = ls.Log(path).records(values="avro", schemas=schemas, columns=["valueRecord"], start_offset=start, end_offset=end)
        with pytest.raises(ls.RecordBatchError, match=rf"^.*\[{finding.rule}\].*record with offset {finding.base_offset}:") as error:
            bad.read_all()
        assert (error.value.code, error.value.field, error.value.position) == ("value", "value", finding.position)
        raised.add(type(error.value))
    assert raised == {ls.InvalidError, ls.CorruptError, ls.UnsupportedError, ls.LimitError}


def test_the_rows_before_a_bad_value_are_given_first():
    stream = ls.Log(VALUES / "alpha-avro-poison-0").records(
        values="avro", schemas=registry(), columns=["offset", "valueRecord"], start_offset=2
    )
    assert next(stream).num_rows == 10
    with pytest.raises(ls.CorruptError):
        next(stream)
    assert next(stream, None) is None


def segment(*values: bytes | None, headers: Any = None, keys: Any = None) -> bytes:
    table = {"value": pa.array(values, "binary"), "key": pa.array(keys or [None] * len(values), "binary")}
    if headers is not None:
        table["headers"] = pa.array(headers, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))
    data = ls.encode(pa.table(table))
    assert data is not None
    return data


def one(value: bytes, schema: Any, **options: Any) -> Any:
    columns = options.pop("columns", ["valueRecord"])
    rows = ls.decode(segment(value), values="avro", schemas=ls.schemas.single(schema), columns=columns, **options).to_pylist()
    return rows[0]["valueRecord"]


def test_columns_are_added_or_chosen_and_fields_are_columns_of_their_own():
    data, schemas = segment(b"\x0e\x02x", None), ls.schemas.single(LONG)
    usual = ls.decode(data, values="avro", schemas=schemas)
    assert usual.schema.names[-2:] == ["valueRecord", "valueSchemaId"]
    assert usual.to_pylist()[0]["valueRecord"] == {"a": 7, "b": "x"}
    flat = ls.decode(data, values="avro", schemas=schemas, columns=["valueRecord.b", "offset"])
    assert flat.schema.names == ["valueRecord.b", "offset"]
    assert flat.to_pylist() == [{"valueRecord.b": "x", "offset": 0}, {"valueRecord.b": None, "offset": 1}]
    assert ls.decode(data, values="avro", schemas=schemas, columns=["valueSchemaId"]).to_pylist() == [{"valueSchemaId": None}] * 2


def test_a_field_that_is_not_wanted_is_skipped_but_its_bytes_are_checked():
    schemas = ls.schemas.single(LONG)
    stream = ls.decode(segment(b"\x0e\x04x"), values="avro", schemas=schemas, columns=["valueRecord.a"], on_error="skip")
    assert stream.to_pylist() == [{"valueRecord.a": None}]
    assert [finding.rule for finding in stream.findings] == ["SCH-3"]


def test_keys_are_decoded_by_their_own_schemas():
    rows = ls.Log(VALUES / "alpha-avro-keyed-0").records(key_values="avro", schemas=registry(), columns=["keyRecord", "keySchemaId"])
    truth = [line["key"] for line in truth_of("alpha-avro-keyed-0")]
    found = rows.to_pylist()
    assert [(row["keySchemaId"], row["keyRecord"]["id"]) for row in found] == [(cell["id"], cell["decoded"]["id"]) for cell in truth]


def test_the_schema_of_the_caller_is_what_values_are_read_as():
    wider = {"type": "record", "name": "R", "fields": [{"name": "b", "type": "bytes"}, {"name": "c", "type": "int", "default": 9}]}
    assert one(b"\x0e\x02x", LONG, reader_schema=wider) == {"b": b"x", "c": 9}
    wrong = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}
    with pytest.raises(ls.UnsupportedError, match=r"\[SCH-4\].*long cannot be read as string"):
        one(b"\x0e\x02x", LONG, reader_schema=wrong)
    with pytest.raises(ValueError, match="reader_schema: not JSON"):
        one(b"\x0e\x02x", LONG, reader_schema="{")
    with pytest.raises(TypeError, match="reader_schema must be"):
        one(b"\x0e\x02x", LONG, reader_schema=7)


def test_unions_are_plain_where_one_type_holds_all_branches_else_structs():
    assert one(b"\x02\x0e", ["int", "long"]) == 7
    assert one(b"\x00", ["null", "long"]) is None
    record = {"type": "record", "name": "a.R", "fields": []}
    assert one(b"\x02\x02x", ["long", "string", record]) == {"long": None, "string": "x", "R": None}
    other = {"type": "record", "name": "b.R", "fields": [{"name": "x", "type": "int"}]}
    assert one(b"\x02\x02", [record, other]) == {"a_R": None, "b_R": {"x": 1}}


@pytest.mark.parametrize("framing", ["confluent", "apicurio", "single-object"])
def test_a_named_framing_takes_no_other(framing: Any):
    # Apicurio's serializers write ids of 4 bytes too.
    taken = {framing, "confluent"} if framing == "apicurio" else {framing}
    values = {"confluent": b"\0\0\0\0\7\x0e", "apicurio": b"\0" + bytes(7) + b"\7\x0e", "single-object": b"\xc3\1" + bytes(8) + b"\x0e"}
    for name, value in values.items():
        schemas = ls.schemas.single('"long"', framing=framing)
        stream = ls.decode(segment(value), values="avro", schemas=schemas, columns=["valueRecord"], on_error="skip")
        assert (stream.to_pylist() == [{"valueRecord": 7}]) == (name in taken)


def test_headers_name_schemas():
    long = ls.schemas.Schema("AVRO", '"long"', 7, guid="00010203-0405-0607-0809-0a0b0c0d0e0f")
    guid = bytes([1, *range(16)])
    named = [("__value_schema_id", guid), ("apicurio.value.globalId", (7).to_bytes(8, "big")), ("__value_schema_id", b"\0\0\0\0\7")]
    data = segment(*[b"\x0e"] * 3, headers=[[{"key": key, "value": value}] for key, value in named])
    rows = ls.decode(data, values="avro", schemas=ls.schemas.SchemaSet((long,)), columns=["valueRecord", "valueSchemaId"]).to_pylist()
    assert rows == [{"valueRecord": 7, "valueSchemaId": 7}] * 3


def test_bombs_cost_no_memory_and_deep_values_no_stack():
    nulls = b"\x80\x80\x80\x80\x10" + b"\0"
    with pytest.raises(ls.LimitError, match=r"\[SCH-5\].*max_value_items"):
        one(nulls, {"type": "array", "items": "null"})
    with pytest.raises(ls.CorruptError, match=r"\[SCH-3\].*cut short"):
        one(nulls, {"type": "array", "items": {"type": "array", "items": "long"}})
    deep = {"type": "record", "name": "D", "fields": [{"name": "next", "type": ["null", "D"]}]}
    with pytest.raises(ls.LimitError, match=r"\[SCH-5\].*max_value_depth"):
        one(b"\x02" * 100_000 + b"\0", deep)
    endless = {"type": "record", "name": "E", "fields": [{"name": "self", "type": "E"}]}
    with pytest.raises(ls.LimitError):
        one(b"", endless)


def test_wide_and_deep_schemas_are_refused():
    types = [
        {"type": "record", "name": f"R{n}", "fields": [{"name": f"f{k}", "type": f"R{n - 1}" if n else "int"} for k in range(9)]}
        for n in range(9)
    ]
    fields = [{"name": f"r{n}", "type": item} for n, item in enumerate(types)]
    with pytest.raises(ValueError, match="more than 20000 columns"):
        one(b"", {"type": "record", "name": "Wide", "fields": fields})


def test_deep_schemas_are_planned_at_once():
    schema, expected = "int", 1
    for n in range(40):
        schema, expected = {"type": "record", "name": f"R{n}", "fields": [{"name": "f", "type": schema}]}, {"f": expected}
    assert one(b"\x02", schema) == expected


def test_a_read_needs_schemas_and_known_names():
    with pytest.raises(ValueError, match="schemas are needed"):
        ls.decode(segment(b"x"), values="avro")
    with pytest.raises(ValueError, match="values must be"):
        ls.decode(segment(b"x"), values="avr0")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="key_values must be"):
        ls.decode(segment(b"x"), key_values="internal")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no field c"):
        one(b"", LONG, columns=["valueRecord.c"])
    with pytest.raises(ValueError, match="unknown record column"):
        ls.decode(segment(b"x"), columns=["valueRecord"])


def test_a_file_object_is_not_read_twice():
    two = ls.schemas.SchemaSet((ls.schemas.Schema("AVRO", '"long"', 1), ls.schemas.Schema("AVRO", '"string"', 2)))
    data = segment(b"\0\0\0\0\1\x0e")
    with pytest.raises(ValueError, match="before it is read"):
        ls.decode(io.BytesIO(data), values="avro", schemas=two)
    rows = ls.decode(io.BytesIO(data), values="avro", schemas=two, reader_schema='"long"', columns=["valueRecord"]).to_pylist()
    assert rows == [{"valueRecord": 7}]


def test_the_options_of_a_planned_read_can_be_pickled():
    options = ReadOptions(values="avro", schemas=registry(), columns=["valueRecord"])
    path = VALUES / "alpha-avro-refs-0"
    again = pickle.loads(pickle.dumps(planned(options, [("alpha-avro-refs", str(next(path.glob("*.log"))))])))
    from logsegment._core import decode

    table = decode(str(next(path.glob("*.log"))), again).to_pyarrow()
    assert table.equals(ls.Log(path).records(values="avro", schemas=registry(), columns=["valueRecord"]).to_pyarrow())


@pytest.mark.parametrize("options", [{"threads": 2}, {"binary": "large_binary"}, {"binary": "binary_view"}, {"batch_size": 7}])
def test_layout_threads_and_batches_do_not_change_values(options: Any):
    path = VALUES / "alpha-avro-alltypes-0"

    def rows(**more: Any) -> list[Any]:
        table = ls.Log(path).records(values="avro", schemas=registry(), columns=["offset", "value", "valueRecord"], **more).to_pyarrow()
        return [record for chunk in table["valueRecord"].chunks for record in rows_of(chunk)]

    # Not a number is not equal to itself.
    assert repr(rows(**options)) == repr(rows())


def test_a_segment_and_a_lazy_frame_have_the_same_values():
    path = VALUES / "alpha-avro-refs-0"
    want = ls.Log(path).records(values="avro", schemas=registry(), columns=["offset", "valueRecord"]).to_pylist()
    (file,) = path.glob("*.log")
    assert ls.Segment(file).records(values="avro", schemas=registry(), columns=["offset", "valueRecord"]).to_pylist() == want
    frame = ls.polars.scan(path, values="avro", schemas=registry())
    chosen = frame.filter(pl.col("valueRecord").struct.field("cur") == "JPY").select("offset").collect()["offset"].to_list()
    assert chosen == [row["offset"] for row in want if row["valueRecord"]["cur"] == "JPY"] != []


def test_cat_prints_typed_json(tmp_path: Path):
    schemas = VALUES / "_schemas-0"
    done = run("cat", VALUES / "alpha-avro-refs-0", "--values", "avro", "--schemas", schemas)
    want = ls.Log(VALUES / "alpha-avro-refs-0").records(values="avro", schemas=registry(), columns=["valueRecord"]).to_pylist()
    assert done.code == 0
    assert [line["valueRecord"] for line in done.lines] == [row["valueRecord"] for row in want]
    assert done.lines[0].keys() >= {"key", "valueSchemaId"}
    assert "value" not in done.lines[0]
    poisoned = VALUES / "alpha-avro-poison-0", "--values", "avro", "--schemas", schemas
    assert (run("cat", *poisoned).code, run("cat", *poisoned, "--on-error", "skip").code) == (1, 1)
    reader = tmp_path / "reader.avsc"
    money = {"type": "record", "name": "Money", "fields": [{"name": "units", "type": "long"}]}
    reader.write_text(json.dumps({"type": "record", "name": "Order", "fields": [{"name": "total", "type": ["null", money]}]}))
    done = run("cat", VALUES / "alpha-avro-refs-0", "--values", "avro", "--schemas", schemas, "--reader-schema", reader, "-n", "1")
    assert done.lines[0]["valueRecord"].keys() == {"total"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--values", "avro"], "--schemas is missing"),
        (["--columns", "valueRecord"], "needs --values auto"),
        (["--values", "avro", "--schemas", VALUES / "_schemas-0", "--columns", "valueRecord.nope"], "no field nope"),
        (["--values", "avro", "--schemas", VALUES / "_schemas-0", "--redact"], "--redact shows no payloads"),
    ],
)
def test_mistakes_of_cat_are_usage_errors(arguments: list[Any], problem: str):
    done = run("cat", VALUES / "alpha-avro-refs-0", *arguments)
    assert (done.code, problem in done.err) == (2, True)


def test_every_type_of_a_value_is_written_as_json():
    done = run("cat", VALUES / "alpha-avro-extremes-0", "--values", "avro", "--schemas", VALUES / "_schemas-0")
    assert (done.code, len(done.lines)) == (0, 200)
    line = run("cat", VALUES / "alpha-avro-alltypes-0", "--values", "avro", "--schemas", VALUES / "_schemas-0", "-n", "1").lines[0]
    record = line["valueRecord"]
    assert (record["tsns"], record["date"], record["tus"]) == ("2096-10-07T07:28:47.119257949Z", "7361-05-02", "16:32:19.934900")
    assert (record["dec_b"], record["map"].keys()) == ("-18.7760", {"rrKmDXiUiUgGLyü", "bXöAKwWmhofYDGyjäOL"})


def test_rows_with_parts_of_a_microsecond_are_refused():
    """The type datetime has no nanoseconds: such rows are for Arrow."""
    partition = "alpha-avro-alltypes-0"
    records = ls.Log(VALUES / partition).records(values="avro", schemas=schemas_of(partition), columns=["valueRecord"])
    with pytest.raises(ValueError, match=r"column tsns: .* parts of a microsecond.*to_pyarrow"):
        records.to_pylist()


@pytest.mark.parametrize("partition", [case["partition"] for case in NAMED if "-alltypes-" not in case["partition"]])
def test_rows_are_those_of_pyarrow(partition: str):
    def stream() -> ls.RecordStream:
        return ls.Log(VALUES / partition).records(values="avro", schemas=schemas_of(partition), on_error="skip", columns=["valueRecord"])

    try:
        rows = stream().to_pyarrow().to_pylist()
    except (ValueError, OverflowError) as error:
        with pytest.raises(type(error)):
            stream().to_pylist()
        return
    assert repr_of(stream().to_pylist()) == repr_of(rows)
    assert len(rows) > 0


def repr_of(value: Any) -> Any:
    """A value that is equal to itself, whatever library's time zone it has."""
    if isinstance(value, dict):
        return {key: repr_of(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [repr_of(inner) for inner in value]
    if isinstance(value, float):
        return repr(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


def test_mistakes_with_schemas_name_the_fix():
    path = str(VALUES / "_schemas-0")
    with pytest.raises(TypeError, match=r"schemas=logsegment\.schemas\.from_path\("):
        ls.Log(VALUES / "alpha-avro-refs-0").records(values="avro", schemas=path)  # type: ignore[arg-type]
    unused = run("cat", VALUES / "alpha-avro-refs-0", "--schemas", path)
    assert (unused.code, "--schemas needs --values" in unused.err) == (2, True)
    unknown = run("cat", VALUES / "alpha-avro-refs-0", "--values", "auto")
    assert (unknown.code, "values of 1 topic were not decoded: no schema for id 397" in unknown.err) == (0, True)
