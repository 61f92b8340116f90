"""The array forms: a binary column with one raw batch a value."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import logsegment as ls
from benches.segments import entries


@pytest.fixture
def column(case):
    raw = [case.data[position : position + size] for position, size, _ in entries(case.data)]
    return pa.array(raw, pa.binary())


def test_decode_array(case, column, measured):
    lists = pa.array(ls.decode_array(column))
    assert pc.sum(pc.list_value_length(lists)).as_py() == case.records
    assert len(pa.array(measured("decode_array", ls.decode_array, column))) == case.batches


def test_batch_info_array(case, column, measured):
    infos = pa.array(ls.batch_info_array(column))
    assert pc.sum(pc.struct_field(infos, "count")).as_py() == case.records
    assert len(pa.array(measured("batch_info_array", ls.batch_info_array, column))) == case.batches


def test_validate_array(case, column, measured):
    reports = pa.array(ls.validate_array(column))
    assert pc.all(pc.struct_field(reports, "ok")).as_py()
    assert len(pa.array(measured("validate_array", ls.validate_array, column))) == case.batches
