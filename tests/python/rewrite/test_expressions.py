"""`rewrite` takes expressions of pyarrow over record columns: the records that pyarrow's own filter selects are meant, and no others."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import corpus
import logsegment as ls
from made_logs import make_partition
from rewritten_logs import make_log
from slow import slow_after

MODERN = corpus.CORPUS / "modern-4.1.0/data"
COLUMNS = ["offset", "key", "value", "timestamp", "headers", "producerId", "magic", "isTransactional"]
EXPRESSIONS = [
    pc.field("offset") < 10,
    (pc.field("offset") >= 30) & (pc.bit_wise_and(pc.field("offset"), 3) == 0),
    pc.ends_with(pc.field("value"), "7"),
    pc.binary_length(pc.field("value")) > 20,
    pc.field("value").is_null(),
    pc.is_in(pc.field("key"), pa.array([b"k1", b"k3", b"user-1"], pa.binary())),
    pc.list_value_length(pc.field("headers")) > 0,
    pc.field("timestamp") < datetime(2024, 6, 1, tzinfo=UTC),
    pc.field("isTransactional"),
    ~(pc.field("producerId") == -1),
]


def rows(data: Any, expression: Any = None) -> list[dict[str, Any]]:
    table = pa.table(ls.decode(data, columns=COLUMNS).read_all())
    return (table if expression is None else table.filter(expression)).select(["offset", "key", "value"]).to_pylist()


@pytest.mark.parametrize("expression", slow_after(1, EXPRESSIONS), ids=range(len(EXPRESSIONS)))
def test_the_records_are_those_of_the_filter_of_pyarrow(expression: Any) -> None:
    touched = 0
    logs = [path.read_bytes() for path in sorted(MODERN.glob("*/*.log"))[:40]] + [make_log(seed).data for seed in range(30)]
    for data in logs:
        before, selected = rows(data), rows(data, expression)
        kept = rows(ls.rewrite(data, keep=expression, allow_lower_end=True).data)
        assert kept == selected
        dropped = ls.rewrite(data, drop=expression, allow_lower_end=True)
        offsets = {row["offset"] for row in selected}
        assert rows(dropped.data) == [row for row in before if row["offset"] not in offsets]
        touched += 0 < len(selected) < len(before)
    assert touched


def test_tombstone_and_mask_and_a_directory(tmp_path: Path) -> None:
    for number in range(2):
        make_partition(tmp_path / "in", "orders", number, [[0, 1, 2], [3, 4, 5]])
    odd = pc.is_in(pc.field("offset"), pa.array([1, 3, 5]))
    ls.rewrite(tmp_path / "in", tmp_path / "out", drop=pc.field("offset") == 0, tombstone=odd)
    for number in range(2):
        found = ls.Log(tmp_path / f"out/orders-{number}").records(columns=["offset", "value"]).to_pylist()
        assert [(row["offset"], row["value"] is None) for row in found] == [(1, True), (2, False), (3, True), (4, False), (5, True)]
    masked = ls.rewrite(tmp_path / "in", tmp_path / "masked", mask=pc.match_substring_regex(pc.field("value").cast("string"), "[45]$"))
    assert masked.masked == 4


def test_mistakes() -> None:
    data = ls.encode(pa.table({"value": ["a"]}))
    with pytest.raises(ValueError, match="no_such"):
        ls.rewrite(data, drop=pc.field("no_such") == 1)
    with pytest.raises(TypeError, match="condition over record columns"):
        ls.rewrite(data, drop=pc.field("value"))


def test_a_condition_selects_records_that_share_an_offset(tmp_path: Path) -> None:
    """In Kafka 0.7 inner messages have the offset of their wrapper."""
    old = next(path for path in sorted(corpus.CORPUS.glob("legacy-0.7*/**/*.kafka")) if path.stat().st_size)
    before = ls.decode(old, format="0.7", columns=["offset", "value"]).to_pylist()
    with pytest.raises(ls.LossError, match=r"Kafka 0\.7"):
        ls.rewrite(old, tmp_path / "refused.kafka", drop=pc.field("offset") < 400)
    ls.rewrite(old, tmp_path / "out.kafka", drop=pc.field("offset") < 400, allow_loss=True)
    kept = [row["value"] for row in before if row["offset"] >= 400]
    assert 0 < len(kept) < len(before)
    assert [row["value"] for row in ls.decode(tmp_path / "out.kafka", format="0.7").to_pylist()] == kept


def test_a_mistake_in_an_expression_is_one_line() -> None:
    source = corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0/00000000000000000000.log"
    for expression, problem in (
        (pc.field("tenant") == "a", r"No match for FieldRef\.Name\(tenant\)$"),
        (pc.field("timestamp") > datetime(2020, 1, 1), "timestamp with timezone"),
    ):
        with pytest.raises(ValueError, match="is not a condition over record columns: .*" + problem) as error:
            ls.rewrite(source, drop=expression, dry_run=True)
        assert len(str(error.value).splitlines()) == 1
