"""What a newcomer does wrong is told with what to do instead."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import building
import logsegment as ls

DATA = building.simple_batch([b"a", b"b"])
VERBS: list[Callable[[Any], Any]] = [ls.decode, ls.batches, ls.validate, lambda source: ls.scan_transactions([source])]


@pytest.mark.parametrize("verb", VERBS, ids=["decode", "batches", "validate", "scan_transactions"])
@pytest.mark.parametrize("path", ["orders-0/00000000000000000000.log", Path("segment.log")], ids=["str", "Path"])
def test_a_missing_path_is_an_oserror(verb: Callable[[Any], Any], path: Any):
    with pytest.raises(TypeError, match=r"a path is no source: logsegment\.FileSource\(.*\) reads the file"):
        verb(path)


@pytest.mark.parametrize("source", [None, 7, [DATA], {}], ids=lambda source: type(source).__name__)
def test_an_invalid_source_is_rejected(source: Any):
    with pytest.raises(TypeError, match=f"a source is a buffer .*FileSource or a binary file object, not {type(source).__name__}"):
        ls.decode(source)


def test_a_file_that_is_open_as_text_is_rejected(tmp_path: Path):
    path = tmp_path / "segment.log"
    path.write_bytes(DATA)
    with path.open(encoding="utf-8") as file, pytest.raises(TypeError, match="open as text: open it in binary mode"):
        ls.decode(file)


SECOND_USES: list[Callable[[ls.RecordStream], Any]] = [
    pa.table,
    ls.RecordStream.read_all,
    ls.RecordStream.to_pyarrow,
    ls.RecordStream.to_polars,
    ls.RecordStream.to_pandas,
]
FIRST_USES = [*SECOND_USES, list, ls.RecordStream.close, pa.RecordBatchReader.from_stream]


@pytest.mark.parametrize("second", SECOND_USES, ids=lambda use: use.__name__)
@pytest.mark.parametrize("first", FIRST_USES, ids=lambda use: use.__name__)
def test_a_stream_that_went_by_says_so(first: Callable[[Any], Any], second: Callable[[Any], Any]):
    """An empty table would be a wrong answer."""
    stream = ls.decode(DATA)
    kept = first(stream)
    with pytest.raises(ValueError, match="consumed already, or closed; it goes by once"):
        second(stream)
    del kept


def test_what_is_left_of_a_stream_can_be_collected_once():
    stream = ls.decode(DATA, batch_size=1)
    assert next(stream).num_rows == 1
    assert stream.read_all().num_rows == 1
    assert list(ls.decode(b"")) == []
    assert ls.decode(b"").read_all().num_rows == 0


@pytest.mark.parametrize(
    ("missing", "call"),
    [
        ("pyarrow", "ls.decode(DATA).to_pyarrow()"),
        ("pyarrow", "ls.batches(DATA).to_pylist()"),
        ("pyarrow", "ls.batches(DATA).to_pandas()"),
        ("pyarrow", "next(ls.decode(DATA)).to_pyarrow()"),
        ("pyarrow", "ls.decode(DATA).schema.to_pyarrow()"),
        ("polars", "ls.decode(DATA).to_polars()"),
        ("pandas", "ls.decode(DATA).to_pandas()"),
    ],
)
def test_a_package_that_is_not_there_is_named_with_its_installation(missing: str, call: str):
    code = f"import sys; sys.modules[{missing!r}] = None; import logsegment as ls; DATA = {DATA!r}; {call}"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = child.stderr.splitlines()[-1]
    assert last == f"ModuleNotFoundError: this needs {missing}, which is not installed: pip install {missing}"


def test_a_conversion_that_cannot_be_made_consumes_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    stream = ls.decode(DATA)
    with pytest.raises(ModuleNotFoundError):
        stream.to_polars()
    assert stream.read_all().num_rows == 2


def test_a_report_survives_pickling():
    report = ls.validate(DATA + DATA[:-1])
    again = pickle.loads(pickle.dumps(report))
    assert again.to_dict() == report.to_dict()
    assert repr(again) == repr(report)
    assert pa.table(again.to_arrow()).equals(pa.table(report.to_arrow()))
