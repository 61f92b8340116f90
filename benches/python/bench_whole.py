"""batches and validate: whole buffers."""

import functools

import logsegment as ls


def test_batches(case, measured):
    table = ls.batches(case.data).to_pyarrow()
    assert table.num_rows == case.batches
    assert sum(table["count"].to_pylist()) == case.records
    assert len(measured("batches", ls.batches, case.data).to_pyarrow()) == case.batches


def test_batches_without_crc(case, measured):
    read = functools.partial(ls.batches, check_crc=False)
    assert sum(read(case.data).to_pyarrow()["count"].to_pylist()) == case.records
    assert len(measured("batches_without_crc", read, case.data).to_pyarrow()) == case.batches


def test_validate(case, measured):
    damaged = bytearray(case.data)
    damaged[-1] ^= 1
    assert not ls.validate(bytes(damaged)).ok
    report = measured("validate", ls.validate, case.data)
    assert report.ok
    assert not report.findings
