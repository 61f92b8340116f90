"""The reference pages: their tables are compared with what the code has and writes."""

from __future__ import annotations

import dataclasses
import json
import re
import signal
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pyarrow as pa
import pytest

import logsegment as ls
from cli_process import run
from doc_examples import ROOT
from logsegment.cli import exit_codes
from logsegment.cli.app import VERBS

REFERENCE = ROOT / "docs/reference"
DATA = ROOT / "tests/corpus/modern-4.1.0/data"
SEGMENT = DATA / "codec-zstd-0/00000000000000000000.log"
DAMAGED = ROOT / "examples/damaged-0"
#: Spark's internal form of several paths, which nobody types.
INTERNAL_OPTIONS = {"paths"}


def tables(page: str) -> dict[str, list[list[str]]]:
    """The rows of all tables of a page by the heading above them, without their first two lines."""
    found: dict[str, list[list[str]]] = {}
    heading, lines = "", []
    for line in [*(REFERENCE / page).read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("|"):
            lines.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
            continue
        if lines:
            found.setdefault(heading, []).extend(lines[2:])
            lines = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
    return found


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def spark_options() -> dict[tuple[str, str], list[str]]:
    """Default and meaning of each option by its name and an entry point."""
    rows = tables("spark-options.md")["All options"]
    listed = [((names(row[0])[0], item), row[2:]) for row in rows for item in row[1].split(", ")]
    assert len(listed) == len(dict(listed)), "an option is listed twice for an entry point"
    return dict(listed)


def test_every_spark_option_is_listed_for_its_entry_points():
    from logsegment.spark.options.names import BATCH, STREAM, VIEWS, WRITE

    points = {"read": BATCH, "batches": VIEWS["batches"], "findings": VIEWS["findings"], "stream": STREAM, "write": WRITE}
    known = {(option, name) for name, point in points.items() for option in point.known if option not in INTERNAL_OPTIONS}
    assert len(known) > 120
    assert set(spark_options()) == known


def test_the_defaults_of_spark_options_are_those_of_the_code():
    from logsegment.spark.options.read import parse_options, parse_stream_options
    from logsegment.spark.write.options import parse_options as parse_write

    read, stream, write = parse_options({"path": "x"}), parse_stream_options({"path": "x"}), parse_write({"path": "x"})
    expected: dict[tuple[str, str], Any] = {
        ("maxPartitionBytes", "read"): read.max_partition_bytes,
        ("batchSize", "read"): read.read.batch_size,
        ("batchBytes", "read"): read.read.batch_bytes,
        ("batchBytes", "write"): write.encode.batch_bytes,
        ("segmentBytes", "write"): write.segment_bytes,
        ("compression", "write"): write.encode.compression,
        ("format", "write"): write.encode.format,
        ("isolation", "read"): read.read.isolation,
        ("mode", "read"): read.mode.name,
        ("columnNameOfCorruptRecord", "read"): read.mode.column,
        ("failOnDataLoss", "stream"): str(stream.fails_on_data_loss).lower(),
        ("pushFilters", "read"): str(read.push_filters).lower(),
        ("includeHeaders", "read"): str(read.include_headers).lower(),
        ("values", "read"): read.read.values,
        ("upTo", "stream"): stream.up_to,
        ("maxTriggerDelay", "stream"): f"{stream.max_delay_ms // 60_000}m",
    }
    expected |= {(f"limits.{name}", "read"): getattr(ls.Limits(), name) for name in LIMITS}
    listed = spark_options()
    assert {key: names(listed[key][0]) for key in expected} == {key: [str(value)] for key, value in expected.items()}


LIMITS = ("max_batch_bytes", "max_decompressed_bytes", "max_ratio", "max_records", "max_headers", "max_nesting")


def test_the_limits_are_those_of_the_code():
    listed = {names(row[0])[0]: int(row[1].replace(",", "")) for row in tables("limits.md")["Limits"]}
    assert listed == {name: getattr(ls.Limits(), name) for name in LIMITS}
    assert set(LIMITS) == set(re.findall(r"(max_\w+)=", repr(ls.Limits())))


def test_every_exit_code_and_verb_is_listed():
    found = tables("exit-codes.md")
    codes = {int(code) for row in found["Exit codes"] for code in row[0].split(", ")}
    signals = {128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    assert codes == {exit_codes.CLEAN, exit_codes.FOUND, exit_codes.UNREADABLE, exit_codes.LOST, exit_codes.BUG} | signals
    assert {name.split()[0] for row in found["By verb"] for name in names(row[0])} == set(VERBS) - {"completion"}


ARROW_TYPES = {
    "list of struct of `key` string and `value` binary": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    "list of struct of `key` binary and `value` binary": pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())])),
    "struct of `type` string, `version` int16, `key` string, `value` string": pa.struct(
        [("type", pa.string()), ("version", pa.int16()), ("key", pa.string()), ("value", pa.string())]
    ),
}


def listed_columns(heading: str) -> dict[str, str]:
    return {names(row[0])[0]: row[1] for row in tables("columns.md")[heading]}


def test_every_record_column_is_listed_with_its_type():
    listed = listed_columns("Records")
    found = pa.table(ls.decode(SEGMENT, columns=list(listed), topic="orders", values="raw")).schema
    spelt = {str(kind).replace("item: ", "element: "): text for text, kind in ARROW_TYPES.items()}
    types = {field.name: spelt.get(str(field.type).replace("item: ", "element: "), str(field.type)) for field in found}
    assert types == listed
    with pytest.raises(ValueError, match="column") as error:
        ls.decode(SEGMENT, columns=["nothing"]).read_all()
    # The error names all columns that there are.
    assert set(re.findall(r"\w+", str(error.value))) >= set(listed)
    assert list(listed)[:8] == pa.table(ls.decode(SEGMENT)).column_names


@pytest.mark.parametrize(
    ("heading", "schema"),
    [("Batches", lambda: pa.table(ls.batches(SEGMENT)).schema), ("Findings", lambda: pa.table(ls.validate(SEGMENT).to_arrow()).schema)],
    ids=["batches", "findings"],
)
def test_columns_of_tables_are_listed_with_their_types(heading: str, schema: Any):
    assert listed_columns(heading) == {field.name: str(field.type) for field in schema()}


def test_columns_of_results_are_listed_in_order():
    text = (REFERENCE / "columns.md").read_text(encoding="utf-8").split("## Places, differences, transactions")[1]
    results = {
        "find": ls.find(DATA / "codec-zstd-0", offset=3),
        "diff": ls.diff(DATA / "codec-zstd-0", DATA / "codec-zstd-0"),
        "transactions": ls.transactions(DATA / "transactions-multi-segment-0"),
    }
    for name, result in results.items():
        (listed,) = re.findall(rf"^`{name}\(\.\.\.\)\.to_arrow\(\)`: (.*?)\n\n", f"{text}\n\n", re.MULTILINE | re.DOTALL)
        assert names(listed) == result.to_arrow().schema.names


def test_every_json_field_is_listed(tmp_path: Path):
    """The keys of the lines that each verb writes."""
    lists = {heading: [name for row in rows for name in names(row[0])] for heading, rows in tables("json.md").items()}
    transactions, whole = str(DATA / "transactions-multi-segment-0"), str(DATA / "codec-zstd-0")
    segment = str(DAMAGED / "00000000000000000000.log")
    verified = lines("verify", "--json", segment)
    assert list(lines("cat", "--control", "--limit", "1", transactions)[0]) == ["topic", "partition", "offset", *RECORD, "controlType"]
    assert lists["Records: cat, follow"] == [
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
        "key",
        "value",
        "headers",
        "controlType",
    ]
    batch, *_ = lines("batches", "--json", segment)
    assert list(batch) == ["file", *listed_columns("Batches")]
    assert list(verified[0]) == ["type", "file", *listed_columns("Findings")]
    assert list(verified[-1]) == lists["Summaries: verify"]
    assert list(verified[-1]["safe"][0]) == quoted("Summaries: verify", "safe")
    assert list(verified[-1]["lost"][0]) == quoted("Summaries: verify", "lost")
    salvaged = lines("salvage", "--json", segment, "--output", str(tmp_path / "saved.log"))
    assert list(salvaged[-1]) == lists["Salvage: salvage"]
    assert list(salvaged[-1]["kept"][0]) == quoted("Salvage: salvage", "kept")
    rewritten = lines("rewrite", "--json", "--drop", "offsets=0..5", "--dry-run", whole)
    assert list(rewritten[0]) == lists["Rewrites: rewrite, compact"]
    assert list(rewritten[0]["ranges"][0]) == quoted("Rewrites: rewrite, compact", "ranges")[:-3]
    joined = lines("join", "--json", whole, "--output", str(tmp_path / "joined"))
    assert list(joined[0]) == lists["Arrangements: split, join"]
    assert list(joined[0]["parts"][0]) == quoted("Arrangements: split, join", "parts")
    assert list(lines("find", "--json", "--offset", "3", whole)[0]) == lists["Places: find"]
    differences = lines("diff", "--json", str(DAMAGED), whole)
    difference, summary = next(line for line in differences if line["type"] == "unreadable"), differences[-1]
    assert [*difference, *summary] == lists["Differences: diff"]
    assert list(lines("txn", "--json", "--all", transactions)[0]) == lists["Transactions: txn"]


RECORD = ["timestamp", "timestampType", "key", "value", "headers"]


def lines(*arguments: str) -> list[dict[str, Any]]:
    """The JSON lines of a verb."""
    return [json.loads(line) for line in run(*arguments).out.splitlines()]


def quoted(heading: str, field: str) -> list[str]:
    """The keys of the objects in a list, as the page shows them."""
    (row,) = [row for row in tables("json.md")[heading] if names(row[0]) == [field]]
    return re.findall(r'"(\w+)"', row[1])


def test_every_option_of_reads_is_an_argument_of_decode():
    """So that the page of `decode` explains every option that other functions take by name, but those of few callers."""
    import inspect

    from logsegment._options import ReadOptions

    arguments = set(inspect.signature(ls.decode).parameters)
    assert {field.name for field in dataclasses.fields(ReadOptions)} - arguments == {
        "base_position",
        "null_headers",
        "transactions",
        "resolve",
        "upload",
        "value_schemas",
        "key_schemas",
        "share",
        "times",
    }


def test_the_values_of_named_types_are_those_of_the_code():
    from logsegment import _options

    listed = {names(row[0])[0]: [name.strip('"') for name in names(row[1])] for row in tables("python/README.md")["Names of types"]}
    assert listed == {name: list(get_args(getattr(_options, name))) for name in listed}
    literals = {name for name, value in vars(_options).items() if get_origin(value) is Literal}
    assert set(listed) == literals
