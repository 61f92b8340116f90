"""Invalid arguments raise an error that names what to do instead, and a stream gives its records once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import building
import corpus
import logsegment as ls

PARTITION = corpus.CORPUS / "modern-4.1.0/data/multi-segment-0"
DATA = building.simple_batch([b"a", b"b"])
VERBS: list[Callable[[Any], Any]] = [ls.decode, ls.batches, ls.validate, lambda source: ls.scan_transactions([source])]


@pytest.mark.parametrize("verb", VERBS, ids=["decode", "batches", "validate", "scan_transactions"])
@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_is_a_source(verb: Callable[[Any], Any], kind: Callable[[Path], Any], tmp_path: Path):
    path = tmp_path / "segment.log"
    path.write_bytes(DATA)
    verb(kind(path))
    with pytest.raises(FileNotFoundError, match="missing"):
        verb(kind(tmp_path / "missing.log"))


@pytest.mark.parametrize("source", [None, 7, [DATA], {}], ids=lambda source: type(source).__name__)
def test_an_invalid_source_is_rejected(source: Any):
    with pytest.raises(TypeError, match=f"FileSource.*not {type(source).__name__}"):
        ls.decode(source)


def test_a_file_that_is_open_as_text_is_rejected(tmp_path: Path):
    path = tmp_path / "segment.log"
    path.write_bytes(DATA)
    with path.open(encoding="utf-8") as file, pytest.raises(TypeError, match="open it in binary mode"):
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
def test_a_consumed_stream_is_an_error(first: Callable[[Any], Any], second: Callable[[Any], Any]):
    """An empty table would be a wrong answer."""
    stream = ls.decode(DATA)
    kept = first(stream)
    with pytest.raises(ValueError, match="already consumed"):
        second(stream)
    del kept


def test_the_rest_of_a_stream_can_be_collected_once():
    stream = ls.decode(DATA, batch_size=1)
    assert next(stream).num_rows == 1
    assert stream.read_all().num_rows == 1
    assert list(ls.decode(b"")) == []
    assert ls.decode(b"").read_all().num_rows == 0


@pytest.mark.parametrize(
    ("missing", "call"),
    [
        ("pyarrow", "ls.decode(DATA).to_pyarrow()"),
        ("pyarrow", "ls.batches(DATA).to_pyarrow()"),
        ("pyarrow", "ls.batches(DATA).to_pandas()"),
        ("pyarrow", "next(ls.decode(DATA)).to_pyarrow()"),
        ("pyarrow", "ls.decode(DATA).schema.to_pyarrow()"),
        ("polars", "ls.decode(DATA).to_polars()"),
        ("pandas", "ls.decode(DATA).to_pandas()"),
    ],
)
def test_a_missing_package_is_named_with_its_installation(missing: str, call: str):
    code = f"import sys; sys.modules[{missing!r}] = None; import logsegment as ls; DATA = {DATA!r}; {call}"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = child.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: ")
    assert last.endswith((f"pip install {missing}", f'pip install "logsegment[{missing}]"'))


def test_a_conversion_that_cannot_be_made_consumes_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    stream = ls.decode(DATA)
    with pytest.raises(ModuleNotFoundError):
        stream.to_polars()
    assert stream.read_all().num_rows == 2


@pytest.mark.parametrize("one", [ls.Log(PARTITION), ls.Log(PARTITION)[0]], ids=["log", "segment"])
@pytest.mark.parametrize("option", ["colums", "topic", "transactions"])
def test_an_unknown_option_of_records_is_rejected(one: ls.Log | ls.Segment, option: str):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        one.records(**{option: ["offset"]})  # type: ignore[arg-type]


@pytest.mark.parametrize("time", [b"2024-01-01", 1.7e12, None])
def test_an_invalid_time_is_rejected(time: object):
    with pytest.raises(TypeError, match="timestamp must be milliseconds"):
        ls.Log(PARTITION).offset_for_timestamp(time)  # type: ignore[arg-type]


def test_compression_none_is_a_name():
    with pytest.raises(TypeError, match='"none" compresses nothing'):
        ls.encode(pa.table({"value": ["a"]}), compression=None)  # type: ignore[arg-type]
