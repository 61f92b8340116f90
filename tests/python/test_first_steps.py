"""Mistakes of a first session in Python: each is told, and none is passed over."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import corpus
import logsegment as ls

PARTITION = corpus.CORPUS / "modern-4.1.0/data/multi-segment-0"


@pytest.mark.parametrize("one", [ls.Log(PARTITION), ls.Log(PARTITION)[0]], ids=["log", "segment"])
@pytest.mark.parametrize("option", ["colums", "topic", "transactions"])
def test_an_unknown_option_of_records_is_a_mistake(one: ls.Log | ls.Segment, option: str):
    with pytest.raises(TypeError, match=rf"records\(\) got an unexpected keyword argument '{option}'"):
        one.records(**{option: ["offset"]})  # type: ignore[arg-type]


def test_a_log_goes_through_its_segments():
    log = ls.Log(PARTITION)
    assert len(log) > 1
    assert list(log) == log.segments
    assert log[-1] is log.segments[-1]


@pytest.mark.parametrize("time", ["2024-01-01", 1.7e12, None])
def test_an_invalid_time_is_rejected(time: object):
    with pytest.raises(TypeError, match=r"timestamp must be milliseconds \(int\) or a datetime with a time zone, not (str|float|NoneType)"):
        ls.Log(PARTITION).offset_for_timestamp(time)  # type: ignore[arg-type]


def test_no_compression_has_a_name():
    with pytest.raises(TypeError, match='"none" compresses nothing'):
        ls.encode(pa.table({"value": ["a"]}), compression=None)  # type: ignore[arg-type]


def test_a_shown_conversion_does_not_show_its_bytes(tmp_path: Path):
    data = ls.encode(pa.table({"value": ["sesame"]}))
    assert data is not None
    for result in (ls.convert(data, to="v1"), ls.broker.append(data, first_offset=0)):
        assert result.data
        assert b"sesame" in result.data
        assert "sesame" not in repr(result)
