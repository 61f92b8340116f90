"""Fields whose names have dots: `columns` names them in backticks, as Spark does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from cli_process import run

DOTTED = corpus.TESTS / "finds" / "dotted-names" / "ecs-0"


@pytest.mark.parametrize("values", ["json", "auto"])
def test_a_field_with_dots_is_named_in_backticks(values: Any):
    columns = ["valueRecord.`log.level`", "valueRecord.message"]
    row = {"valueRecord.`log.level`": "INFO", "valueRecord.message": "m"}
    path = next(DOTTED.glob("*.log"))
    assert ls.decode(path, values=values, columns=columns).to_pylist() == [row]
    assert ls.Log(DOTTED).records(values=values, columns=columns).to_pylist() == [row]
    assert run("cat", DOTTED, "--values", values, "--columns", ",".join(columns), "--quiet").lines == [row]
    with pytest.raises(ValueError, match=r"no field log; a name with dots is in backticks: `log.level`"):
        ls.decode(path, values=values, columns=["valueRecord.log.level"])
    refused = run("cat", DOTTED, "--values", values, "--columns", "valueRecord.log.level")
    assert (refused.code, "in backticks: `log.level`" in refused.err) == (2, True)


def test_names_with_backticks_and_dots_inside_of_others():
    data = ls.encode(pa.table({"value": [b'{"a":{"b.c":{"d":1}},"e`.f":2}']}))
    row = ls.decode(data, values="json", columns=["valueRecord.a.`b.c`.d", "valueRecord.`e``.f`"]).to_pylist()[0]
    assert list(row.values()) == [1, 2]
    with pytest.raises(ValueError, match="no field b"):
        ls.decode(data, values="json", columns=["valueRecord.a.b.c"])
