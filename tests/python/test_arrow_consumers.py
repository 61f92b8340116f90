"""pyarrow, Polars and DuckDB take what we give by capsules alone, and hold the truth afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from corpus import RECORD_COLUMNS, Case

CASES = [
    case
    for case in corpus.cases()
    if case.path.parent.name in ("codec-zstd-0", "codec-none-0", "edge-records-0", "transactions-0", "large-records-0")
]
BINARIES = ("binary", "large_binary", "binary_view")
#: What DuckDB's SQL sees of a record.
SQL = "select offset_, timestampMs, key, value, len(headers) as headers from records"

all_cases = pytest.mark.parametrize("case", CASES, ids=str)
all_binaries = pytest.mark.parametrize("binary", BINARIES)


def stream_of(case: Case, **options: Any) -> ls.RecordStream:
    return ls.decode(case.source, columns=RECORD_COLUMNS, control=True, **case.options, **options)


def from_polars(frame: pl.DataFrame) -> list[corpus.Row]:
    """Polars rows as our rows: headers are lists of dicts there too."""
    return [{name: corpus.normalise(value) for name, value in row.items()} for row in frame.to_dicts()]


def test_there_are_cases_to_consume():
    corpus.seen_all(CASES, 7)


@all_cases
@all_binaries
@pytest.mark.parametrize("rows", [1 << 16, 3])
def test_pyarrow_reads_the_stream(case: Case, binary: str, rows: int):
    reader = pa.RecordBatchReader.from_stream(stream_of(case, binary=binary, batch_size=rows))
    table = reader.read_all()
    table.validate(full=True)
    assert corpus.rows_of(table) == corpus.expected_records(case)


@all_cases
@all_binaries
def test_pyarrow_takes_each_batch_as_an_array(case: Case, binary: str):
    batches = [pa.record_batch(batch) for batch in stream_of(case, binary=binary, batch_size=5)]
    for batch in batches:
        batch.validate(full=True)
    assert [row for batch in batches for row in corpus.rows_of(batch)] == corpus.expected_records(case)


@all_cases
def test_the_schema_can_be_had_before_the_data(case: Case):
    stream = stream_of(case)
    schema = pa.schema(stream)
    assert schema.names == RECORD_COLUMNS
    assert pa.schema(stream.schema) == schema
    assert pa.table(stream).schema == schema
    assert all(field.nullable for field in schema)


@all_cases
def test_a_table_can_be_read_again_and_again(case: Case):
    table = stream_of(case).read_all()
    assert len(table) == case.records
    first, second = pa.table(table), pa.table(table)
    assert first == second
    assert corpus.rows_of(second) == corpus.expected_records(case)
    assert [row for batch in table.to_batches() for row in corpus.rows_of(pa.record_batch(batch))] == corpus.expected_records(case)


@all_cases
@all_binaries
def test_rows_as_objects_are_those_of_pyarrow(case: Case, binary: str):
    columns = ["timestamp", "headersRaw", "internal", *RECORD_COLUMNS]
    options = {"columns": columns, "control": True, "binary": binary, "topic": "orders", **case.options}
    expected = ls.decode(case.source, **options).to_pyarrow().to_pylist()
    assert ls.decode(case.source, **options).to_pylist() == expected
    assert [row for batch in ls.decode(case.source, **options, batch_size=7) for row in batch.to_pylist()] == expected
    (batch,) = ls.decode(case.source, **options).read_all().to_batches()[:1]
    assert batch.slice(2, 2).select(["offset", "key"]).to_pylist() == batch.to_pyarrow().slice(2, 2).select(["offset", "key"]).to_pylist()
    assert (len(batch.slice(len(batch) + 1)), len(batch.slice(0, len(batch) + 1))) == (0, len(batch))
    table = ls.batches(case.source, **case.options)
    assert table.to_pylist() == table.to_pyarrow().to_pylist()
    with pytest.raises(KeyError, match="nothing"):
        batch.select(["nothing"])


@all_cases
@all_binaries
def test_polars_reads_the_stream(case: Case, binary: str):
    assert from_polars(pl.DataFrame(stream_of(case, binary=binary))) == corpus.expected_records(case)
    assert from_polars(stream_of(case, binary=binary, batch_size=3).to_polars()) == corpus.expected_records(case)


@all_cases
def test_polars_reads_the_batch_table(case: Case):
    assert from_polars(pl.DataFrame(ls.batches(case.source, **case.options))) == corpus.expected_batches(case)


@all_cases
@all_binaries
def test_duckdb_reads_the_stream(case: Case, binary: str):
    stream = ls.decode(
        case.source, columns=["offset", "timestampMs", "key", "value", "headers"], control=True, binary=binary, **case.options
    )
    records = pa.RecordBatchReader.from_stream(stream).read_all().rename_columns({"offset": "offset_"})
    with duckdb.connect() as connection:
        connection.register("records", records)
        rows = [tuple(map(corpus.normalise, row)) for row in connection.sql(SQL).fetchall()]
    wanted = [(row["offset"], row["timestampMs"], row["key"], row["value"], len(row["headers"])) for row in corpus.expected_records(case)]
    assert rows == wanted


def test_duckdb_takes_the_capsules_themselves():
    """No pyarrow object in between: DuckDB scans what has `__arrow_c_stream__`."""
    case = CASES[0]
    records = ls.decode(case.source, columns=["offset", "key"])
    with duckdb.connect() as connection:
        connection.register("records", records)
        [count] = connection.execute("select count(*), count(key) from records").fetchall()
    expected = corpus.expected_records(case, control=False)
    assert count == (len(expected), sum(row["key"] is not None for row in expected))


@all_cases
def test_pandas_reads_the_stream(case: Case):
    frame = stream_of(case).to_pandas()
    assert list(frame["offset"]) == [row["offset"] for row in corpus.expected_records(case)]
    assert [corpus.normalise(value) for value in frame["value"]] == [row["value"] for row in corpus.expected_records(case)]


@pytest.mark.parametrize(
    "make",
    [
        lambda data: ls.decode_array(pa.array([data, None])),
        lambda data: ls.batch_info_array(pa.array([data, None])),
        lambda data: ls.validate_array(pa.array([data, None])),
    ],
    ids=["decode_array", "batch_info_array", "validate_array"],
)
def test_arrays_cross_to_pyarrow_and_polars(make: Callable[[bytes], Any]):
    array = make(CASES[0].read())
    assert len(array) == 2
    arrow = pa.array(array)
    arrow.validate(full=True)
    assert arrow.null_count == 1
    assert pl.Series(array).to_list()[1] is None
    assert pa.array(array) == arrow


def test_findings_are_an_arrow_table():
    report = ls.validate(CASES[0].read()[:-1])
    table = pa.table(report.to_arrow())
    assert table.num_rows == len(report.findings) == 1
    row = table.to_pylist()[0]
    assert (row["rule"], row["severity"], row["position"]) == ("L8-14", "info", report.findings[0].position)
    assert pl.DataFrame(report.to_arrow()).height == 1


def test_an_exported_stream_goes_by_once():
    stream = stream_of(CASES[0])
    pa.table(stream)
    with pytest.raises(ValueError, match="already consumed"):
        pa.table(stream)


def test_data_outlives_the_stream_and_the_buffer():
    """Views keep the caller's bytes alive: nobody else does."""
    case = next(case for case in CASES if "codec-none" in case.file)
    table = pa.table(ls.decode(bytearray(case.read()), columns=RECORD_COLUMNS, control=True, binary="binary_view"))
    views = pa.table(ls.decode(bytes(case.read()), columns=RECORD_COLUMNS, control=True, binary="binary_view"))
    junk = [bytes(case.path.stat().st_size) for _ in range(20)]
    assert len(junk) == 20
    assert corpus.rows_of(views) == corpus.rows_of(table) == corpus.expected_records(case)


def test_releasing_a_half_read_stream_is_clean():
    reader = pa.RecordBatchReader.from_stream(stream_of(CASES[0], batch_size=1, threads=2))
    assert reader.read_next_batch().num_rows == 1
    del reader
    capsule = stream_of(CASES[0]).__arrow_c_stream__()
    del capsule


def test_importing_and_reading_needs_no_other_package():
    """pyarrow, Polars, pandas and pyspark are imported only by what needs them."""
    path = str(CASES[0].path)
    code = (
        "import sys, logsegment as ls\n"
        "loaded = {name for name in sys.modules if name.startswith('logsegment.')}\n"
        "assert loaded == {'logsegment._core', 'logsegment._registration', 'logsegment._early_signals', 'logsegment._lazy'}, loaded\n"
        f"stream = ls.decode(ls.FileSource({path!r}))\n"
        "assert sum(batch.num_rows for batch in stream) > 0\n"
        f"assert len(ls.batches(open({path!r}, 'rb').read())) > 0\n"
        f"assert ls.validate(ls.FileSource({path!r})).ok\n"
        "foreign = {'pyarrow', 'polars', 'pandas', 'pyspark', 'numpy', 'duckdb', 'rich', 'click'} & sys.modules.keys()\n"
        "assert not foreign, foreign\n"
        "rooms = {f'logsegment.{name}' for name in ('broker', 'plugins', 'polars')}\n"
        "assert not rooms & sys.modules.keys(), 'what was not asked for'\n"
        "assert {'broker', 'plugins', 'restore'} <= set(dir(ls)) and ls.restore.__module__ == 'logsegment._restore.restore'\n"
        "assert all(hasattr(ls, name) for name in ls.__all__)\n"
        "assert ls.plugins.FileRegistry and ls.broker.append and ls.tiered.uploads and not hasattr(ls, 'nothing')\n"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(path).parent, check=False)
    assert child.returncode == 0, child.stderr
