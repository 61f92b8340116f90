"""decode: all rows through the stream, copied, as views, and one column alone."""

import logsegment as ls

COLUMNS = ["key", "value", "offset", "timestamp"]


def drain(data, options):
    """The number of rows, with no more than one batch alive at a time."""
    return sum(batch.num_rows for batch in ls.decode(data, **options))


def check(case, options):
    """The bench's answer: every offset from 0 on, once, and as many values as records."""
    table = ls.decode(case.data, **options).to_pyarrow()
    assert table["offset"].to_pylist() == list(range(case.records))
    if "value" in table.column_names:
        assert table["value"].null_count == 0
        assert len(table["value"][0].as_py()) > 0


def test_decode(case, measured):
    options = {"columns": COLUMNS}
    check(case, options)
    assert measured("decode", drain, case.data, options) == case.records


def test_decode_view(case, measured):
    options = {"columns": COLUMNS, "binary": "binary_view"}
    check(case, options)
    assert measured("decode_view", drain, case.data, options) == case.records


def test_decode_all_columns(case, measured):
    options = {}
    check(case, options)
    assert measured("decode_default_columns", drain, case.data, options) == case.records


def test_decode_offsets(case, measured):
    options = {"columns": ["offset"]}
    check(case, options)
    assert measured("decode_offsets", drain, case.data, options) == case.records
