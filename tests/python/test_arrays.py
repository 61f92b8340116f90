"""The same verbs over an Arrow binary column: one result per value, null in, null out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import building
import corpus
import hostile
import invalid_arrays
import logsegment as ls
from corpus import BATCH_COLUMNS, RECORD_COLUMNS
from every import every

CASES = [case for case in corpus.cases() if case.set == "lib-3.6.2" or case.path.parent.name == "edge-records-0"]
TYPES = {"binary": pa.binary(), "large_binary": pa.large_binary(), "binary_view": pa.binary_view()}
GOOD = building.simple_batch([b"one", None, b""], base_offset=5)
BAD = GOOD[:-1] + b"\x01"
all_types = pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)


def damaged(name: str) -> bytes:
    return next(case for case in hostile.cases() if case.name == name).read()


def lists(array: Any) -> list[list[corpus.Row] | None]:
    """Records of every value, as our rows."""
    values = pa.array(array).to_pylist()
    return [value and [{name: corpus.normalise(field) for name, field in row.items()} for row in value] for value in values]


@all_types
def test_each_value_gives_the_records_of_its_truth(kind: pa.DataType):
    """`decode` over a column: all cases of a library set, with nulls and empties between them."""
    corpus.seen_all(CASES, 23)
    values: list[bytes | None] = [None, b""]
    expected: list[list[corpus.Row] | None] = [None, []]
    for case in CASES:
        values += [case.read(), None]
        expected += [corpus.expected_records(case), None]
    array = ls.decode_array(pa.array(values, kind), columns=RECORD_COLUMNS, control=True)
    assert len(array) == len(values)
    assert lists(array) == expected


@all_types
@pytest.mark.parametrize("binary", TYPES)
def test_values_have_the_binary_type_asked_for(kind: pa.DataType, binary: str):
    array = pa.array(ls.decode_array(pa.array([GOOD], kind), columns=["value"], binary=binary))
    assert array.type.value_type.field("value").type == TYPES[binary]
    assert array.to_pylist() == [[{"value": b"one"}, {"value": None}, {"value": b""}]]


@all_types
def test_sliced_and_chunked_columns(kind: pa.DataType):
    """An array may begin inside its buffers."""
    array = pa.array([BAD, GOOD, None, GOOD, BAD], kind).slice(1, 3)
    assert [value and len(value) for value in lists(ls.decode_array(array, columns=["offset"]))] == [3, None, 3]
    infos = pa.array(ls.batch_info_array(array)).to_pylist()
    assert [info and info["baseOffset"] for info in infos] == [5, None, 5]
    oks = pa.array(ls.validate_array(array)).to_pylist()
    assert [ok and ok["ok"] for ok in oks] == [True, None, True]


@pytest.mark.parametrize("array", [pa.array([], pa.binary()), pa.array([None, None], pa.binary())], ids=["empty", "nulls"])
def test_columns_without_values(array: pa.Array):
    for verb in (ls.decode_array, ls.batch_info_array, ls.validate_array):
        assert pa.array(verb(array)).to_pylist() == [None] * len(array)
    rows, parents = ls.explode_array(array)
    assert len(rows) == len(parents) == 0


def test_any_object_with_the_array_capsule_is_taken():
    from_polars = pl.Series([GOOD, None], dtype=pl.Binary)
    chunk = pa.array([GOOD, None], pa.binary_view())

    class Foreign:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return chunk.__arrow_c_array__(requested_schema)

    for column in (from_polars.to_arrow(), Foreign()):
        assert [value and len(value) for value in lists(ls.decode_array(column, columns=["offset"]))] == [3, None]


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([[GOOD], [], [None, BAD]], pa.binary()),
        pl.Series([GOOD, None, BAD], dtype=pl.Binary),
        pl.concat([pl.Series([GOOD]), pl.Series([None, BAD])], rechunk=False),
        pd.Series([GOOD, None, BAD]),
        pd.Series([GOOD, None, BAD], dtype=pd.ArrowDtype(pa.large_binary())),
    ],
    ids=["ChunkedArray", "Polars", "Polars in chunks", "pandas", "pandas of Arrow"],
)
def test_a_column_in_chunks_is_one_column(column: Any):
    assert [value and len(value) for value in lists(ls.decode_array(column, columns=["offset"], on_error="null"))] == [3, None, None]
    rows, parents = ls.explode_array(column, columns=["offset"], on_error="skip")
    assert (len(rows), pa.array(parents).to_pylist()) == (3, [0, 0, 0])
    assert [ok and ok["ok"] for ok in pa.array(ls.validate_array(column)).to_pylist()] == [True, None, False]
    assert [info and info["isValid"] for info in pa.array(ls.batch_info_array(column)).to_pylist()] == [True, None, False]


def test_a_list_is_rejected_with_a_hint():
    with pytest.raises(TypeError, match=r"pyarrow\.array\(values, pyarrow\.binary\(\)\)"):
        ls.decode_array([GOOD])
    with pytest.raises(ValueError, match=r"binary.* is needed, not Struct"):
        ls.decode_array(pa.table({"batch": [GOOD]}))


@pytest.mark.parametrize("column", [pa.array(["text"]), pa.array([1]), b"bytes", None, [GOOD]], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "verb", [ls.decode_array, ls.batch_info_array, ls.validate_array, ls.explode_array], ids=lambda verb: verb.__name__
)
def test_what_is_no_binary_column_is_refused(verb: Callable[[Any], Any], column: Any):
    with pytest.raises((TypeError, ValueError)):
        verb(column)


# Damage.


@pytest.mark.parametrize("name", invalid_arrays.BYTES)
@pytest.mark.parametrize(
    "verb", [ls.decode_array, ls.validate_array, ls.convert_array, ls.batch_info_array], ids=lambda verb: verb.__name__
)
def test_a_column_that_is_no_valid_array_is_refused(verb: Callable[[Any], Any], name: str):
    with pytest.raises(ValueError, match="not a valid Arrow array"):
        verb(invalid_arrays.BYTES[name]().export())


def test_damage_in_a_value_raises():
    with pytest.raises(ls.ChecksumError, match="V2-31"):
        ls.decode_array(pa.array([GOOD, BAD]))


@pytest.mark.parametrize(("on_error", "expected"), [("skip", [3, 0, 3, None]), ("null", [3, None, 3, None])])
def test_damage_can_be_skipped_or_become_null(on_error: str, expected: list[int | None]):
    array = ls.decode_array(pa.array([GOOD, BAD, GOOD, None]), columns=["offset"], on_error=on_error)
    assert [value if value is None else len(value) for value in lists(array)] == expected


def test_skipping_keeps_the_valid_batches_of_a_value():
    case = damaged("v2-crc-bitflip")
    [value] = lists(ls.decode_array(pa.array([case]), columns=["offset"], on_error="skip"))
    assert [row["offset"] for row in value or []] == [0, 1, 2, 1000, 1001]


@every("name", sorted(hostile.outcomes()))
def test_hostile_values_have_the_verdict_of_the_table(name: str):
    """`validate_array` counts what `validate` finds; `decode_array` raises the class that `decode` raises."""
    case = next(case for case in hostile.cases() if case.name == name)
    if case.is_bomb:
        limits = ls.Limits(max_decompressed_bytes=1 << 20, max_records=1000)
        [row] = pa.array(ls.validate_array(pa.array([case.read()], pa.large_binary()), limits=limits, **case.options)).to_pylist()
        assert not row["ok"]
        return
    data = case.read()
    report = ls.validate(data, **case.options)
    [row] = pa.array(ls.validate_array(pa.array([data]), **case.options)).to_pylist()
    assert (row["ok"], row["errors"], row["warnings"]) == (report.ok, report.counts["error"], report.counts["warning"])
    assert row["findings"] == [finding.to_dict() for finding in report.findings]
    error = hostile.outcomes()[name]["error"]
    if error is None:
        ls.decode_array(pa.array([data]), control=True, **case.options)
        return
    with pytest.raises(ls.RecordBatchError) as raised:
        ls.decode_array(pa.array([data]), control=True, **case.options)
    assert type(raised.value).__name__ == error["class"]
    assert raised.value.rule == error["rule"]


# Headers.


@all_types
def test_batch_info_has_the_columns_of_batches(kind: pa.DataType):
    values = [case.read() for case in CASES]
    rows = pa.array(ls.batch_info_array(pa.array(values, kind))).to_pylist()
    assert rows == [corpus.expected_batches(case)[0] for case in CASES]
    assert pa.array(ls.batch_info_array(pa.array(values[:1]))).type.names == BATCH_COLUMNS


def test_batch_info_without_checksums():
    rows = pa.array(ls.batch_info_array(pa.array([GOOD, BAD]), check_crc=False)).to_pylist()
    assert [row["isValid"] for row in rows] == [None, None]
    rows = pa.array(ls.batch_info_array(pa.array([GOOD, BAD]))).to_pylist()
    assert [row["isValid"] for row in rows] == [True, False]


@pytest.mark.parametrize("value", [b"", b"\0" * 5, GOOD[:-1]], ids=["empty", "short", "torn"])
def test_batch_info_of_a_value_without_a_whole_entry(value: bytes):
    with pytest.raises(ls.RecordBatchError):
        ls.batch_info_array(pa.array([value]))
    assert pa.array(ls.batch_info_array(pa.array([value, GOOD]), on_error="null")).is_null().to_pylist() == [True, False]


# Rows with their parents.


@all_types
@pytest.mark.parametrize("binary", TYPES)
def test_exploded_rows_know_their_values(kind: pa.DataType, binary: str):
    values = [None, b""] + [case.read() for case in CASES]
    rows, parents = ls.explode_array(pa.array(values, kind), columns=RECORD_COLUMNS, control=True, binary=binary)
    indexes = pa.array(parents)
    assert indexes.type == pa.int64()
    expected = [(index + 2, row) for index, case in enumerate(CASES) for row in corpus.expected_records(case)]
    assert list(zip(indexes.to_pylist(), corpus.rows_of(rows), strict=True)) == expected


def test_exploding_leaves_out_damage_on_request():
    for on_error in ("skip", "null"):
        rows, parents = ls.explode_array(pa.array([GOOD, BAD, GOOD]), columns=["offset"], on_error=on_error)
        assert pa.array(parents).to_pylist() == [0, 0, 0, 2, 2, 2]
        assert [row["offset"] for row in corpus.rows_of(rows)] == [5, 6, 7, 5, 6, 7]
    with pytest.raises(ls.ChecksumError):
        ls.explode_array(pa.array([GOOD, BAD]))


# Options.


def test_options_of_decode_are_options_of_a_column():
    aborted = building.transactional_batch([b"x"], 7, 0) + building.marker(0, 7, 1) + building.simple_batch([b"y"], 2)
    column = pa.array([aborted])
    transactions = ls.scan_transactions([aborted])
    options: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [0, 2]),
        ({"control": True}, [0, 1, 2]),
        ({"start_offset": 1}, [2]),
        ({"end_offset": 1}, [0]),
        ({"isolation": "read_committed", "transactions": transactions}, [2]),
    ]
    for given, offsets in options:
        [value] = lists(ls.decode_array(column, columns=["offset"], **given))
        assert [row["offset"] for row in value or []] == offsets, given
    with pytest.raises(ValueError, match="transactions"):
        ls.decode_array(column, isolation="read_committed")
    [value] = lists(ls.decode_array(column, columns=["topic", "partition"], topic="t", partition=3))
    assert value == [{"topic": "t", "partition": 3}] * 2
    [value] = lists(ls.decode_array(column, columns=["headers"], null_headers=True))
    assert value == [{"headers": None}] * 2


def test_torn_values_are_errors_only_when_strict():
    torn = GOOD + GOOD[:-1]
    [value] = lists(ls.decode_array(pa.array([torn]), columns=["offset"]))
    assert len(value or []) == 3
    with pytest.raises(ls.TruncatedError):
        ls.decode_array(pa.array([torn]), strict_tail=True)


def test_unknown_options_are_a_callers_mistake():
    with pytest.raises(ValueError, match="on_error"):
        ls.decode_array(pa.array([GOOD]), on_error="ignore")
    with pytest.raises(ValueError, match="depth"):
        ls.validate_array(pa.array([GOOD]), depth="deep")
    with pytest.raises(ValueError, match="nonsense"):
        ls.decode_array(pa.array([GOOD]), columns=["nonsense"])
