"""`find`, `diff`, `stats` and `transactions`: the same answers as the verbs, as objects and as Arrow."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from cli_process import run
from logsegment.analysis.stats import Stats

MODERN = corpus.CORPUS / "modern-4.1.0" / "data"
ORDERS = MODERN / "codec-zstd-0"
PAYMENTS = MODERN / "transactions-multi-segment-0"


def as_file(row: dict[str, Any]) -> dict[str, Any]:
    return {"file": row.pop("path")} | row


@pytest.mark.parametrize(
    ("conditions", "arguments"),
    [
        ({"offset": 100}, ["--offset", "100"]),
        ({"start_offset": 100, "end_offset": 103}, ["--offset", "100..103"]),
        ({"timestamp": 1700000003712}, ["--time", "1700000003712"]),
        ({"start_timestamp": 1700000003712, "limit": 2}, ["--since", "1700000003712", "-n", "2"]),
        ({"key": "user-16"}, ["--key", "user-16"]),
        ({"key": [b"user-16", "user-37"], "end_offset": 50}, ["--key", "user-16", "--key", "user-37", "--offset", "..50"]),
    ],
)
def test_find_gives_the_places_of_the_verb(conditions: dict[str, Any], arguments: list[str]):
    found = ls.find(ORDERS, **conditions)
    places = found.to_dict()["places"]
    assert places
    assert [as_file(place) for place in places] == run("find", *arguments, "--json", ORDERS).lines
    assert len(list(found)) == pa.table(found).num_rows == len(places)


def test_the_repr_tells_what_was_found_and_searches_nothing():
    places = ls.find(ORDERS, key="user-16")
    assert repr(places) == "Places(0 found so far; iterate over it, or call to_arrow())"
    next(iter(places))
    assert repr(places).startswith("Places(1 found")
    assert repr(ls.transactions(ORDERS)).startswith("TransactionList(0 found")


def test_find_takes_logs_and_lists_and_searches_while_it_is_iterated():
    found = ls.find([str(ORDERS), ls.Log(PAYMENTS)], offset=3)
    first = next(iter(found))
    assert (first.topic, first.offset, found.counters.partitions) == ("codec-zstd", 3, 1)
    assert [(place.topic, place.offset) for place in found] == [("codec-zstd", 3), ("transactions-multi-segment", 3)]


def test_find_by_headers(tmp_path: Path):
    table = pa.table({"value": [b"a", b"b"], "headers": [[{"key": "h", "value": b"1"}], [{"key": "h", "value": b"2"}]]})
    path = tmp_path / "segment.log"
    ls.encode(table, out=path)
    for header, offsets in (("h", [0, 1]), (("h", b"2"), [1]), (["h", ("h", b"1")], [0]), ("other", [])):
        assert [place.offset for place in ls.find(path, header=header)] == offsets


@pytest.mark.parametrize("conditions", [{}, {"offset": 1, "start_offset": 0}, {"timestamp": 1, "key": "a"}, {"limit": 3}])
def test_find_refuses_conditions_that_say_nothing_or_contradict(conditions: dict[str, Any]):
    with pytest.raises(ValueError, match=r"condition|offset"):
        ls.find(ORDERS, **conditions)


def test_unknown_options_are_refused_by_name():
    for call in (lambda: ls.find(ORDERS, offset=1, colour=1), lambda: ls.diff(ORDERS, ORDERS, colour=1)):
        with pytest.raises(TypeError, match="colour"):
            call()


def test_transactions_are_those_of_the_verb():
    found = ls.transactions(PAYMENTS)
    assert found.to_dict() == {"transactions": run("txn", "--all", "--json", PAYMENTS).lines, "findings": []}
    assert found.to_arrow()["state"].to_pylist() == [item.state for item in found]
    assert {segment.topic for segment in found} == {"transactions-multi-segment"}


def test_differences_as_json_and_arrow():
    found = ls.diff(ORDERS, MODERN / "codec-lz4-0")
    (partition,) = found.to_dict()["partitions"]
    *differences, summary = run("diff", "--json", ORDERS, MODERN / "codec-lz4-0").lines
    assert [{"type": summary["type"], **{name: partition[name] for name in summary if name != "type"}}] == [summary]
    assert [line["type"] for line in partition["differences"]] == [difference["type"] for difference in differences]
    assert found.to_arrow()["firstOffset"].to_pylist() == [difference["firstOffset"] for difference in differences]
    assert (found.state, ls.diff(ORDERS, ORDERS).state) == ("different", "same")


def test_damage_is_a_difference_with_its_finding(tmp_path: Path):
    data = bytearray((ORDERS / "00000000000000000000.log").read_bytes())
    data[400] ^= 1
    (tmp_path / "copy.log").write_bytes(data)
    rows = ls.diff(ORDERS / "00000000000000000000.log", tmp_path / "copy.log").to_arrow().to_pylist()
    assert [(row["type"], row["side"], row["rule"]) for row in rows if row["rule"]] == [("damage", "b", "V2-31")]


def test_stats_as_arrow_have_one_schema():
    counted = ls.stats(ORDERS, what_if="v3")
    table = counted.to_arrow()
    assert table.schema == Stats().to_arrow().schema == ls.stats([ORDERS, PAYMENTS]).to_arrow().schema
    (row,) = table.to_pylist()
    assert row["codecs"][0]["codec"] == "zstd"
    assert row["whatIfV3"]["records"] == row["records"] == counted.records == 240
    assert counted.to_dict()["whatIfV3"] == counted.what_if_v3.to_dict()


SEGMENT = PAYMENTS / f"{0:020}.log"
FORMS: dict[str, Callable[[Path], Any]] = {
    "path": Path,
    "text": str,
    "uri": Path.as_uri,
    "file": ls.FileSource,
    "bytes": Path.read_bytes,
    "mutable": lambda path: bytearray(path.read_bytes()),
    "arrow": lambda path: pa.py_buffer(path.read_bytes()),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_sources_are_paths_files_and_buffers(form: Callable[[Path], Any]):
    source = form(SEGMENT)
    assert [place.entry_position for place in ls.find(source, offset=3)] == [place.entry_position for place in ls.find(SEGMENT, offset=3)]
    assert ls.stats(source).records == ls.stats(SEGMENT).records > 0
    ours, theirs = list(ls.transactions(source)), list(ls.transactions(SEGMENT))
    assert [span.first_offset for span in ours] == [span.first_offset for span in theirs] != []
    (pair,) = ls.diff(source, SEGMENT)
    assert (list(pair), pair.state) == ([], "same")


def test_a_list_of_buffers_is_searched_as_long_as_the_places_are_iterated():
    places = ls.find([SEGMENT.read_bytes(), SEGMENT.read_bytes()], offset=3)
    gc.collect()
    first, second = places
    assert first.path != second.path
    assert {first.path[:9], second.path[:9]} == {"memory://"}


@pytest.mark.parametrize(
    "call", [ls.stats, ls.transactions, lambda source: ls.find(source, offset=0), lambda source: ls.diff(source, SEGMENT)]
)
def test_other_sources_are_refused_by_type(call: Callable[[Any], Any]):
    with pytest.raises(TypeError, match="not float"):
        list(call(1.5))
    with pytest.raises(ValueError, match="without start and end"):
        list(call(ls.FileSource(SEGMENT, 10)))
