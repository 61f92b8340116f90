"""What `encode` takes: tables and streams of any library, columns of any type that can mean it; and where it writes."""

from __future__ import annotations

import io
import os
import resource
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import invalid_arrays
import logsegment as ls

VALUES = [b"first", None, b"", b"a value that is longer than twelve bytes", b"first"]
SEGMENT = corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0/00000000000000000000.log"


def values_of(data: bytes | None) -> list[Any]:
    return ls.decode(data, columns=["value"]).to_pyarrow()["value"].to_pylist()


BYTES_TYPES: dict[str, Callable[[list[Any]], pa.Array]] = {
    "binary": lambda values: pa.array(values, pa.binary()),
    "large_binary": lambda values: pa.array(values, pa.large_binary()),
    "binary_view": lambda values: pa.array(values, pa.binary_view()),
    "string": lambda values: pa.array(values, pa.binary()).cast(pa.string()),
    "large_string": lambda values: pa.array(values, pa.binary()).cast(pa.large_string()),
    "string_view": lambda values: pa.array([None if value is None else value.decode() for value in values], pa.string_view()),
    "dictionary": lambda values: pa.array(values, pa.binary()).dictionary_encode(),
    "dictionary of strings, int8 keys": lambda values: (
        pa.array(values, pa.binary()).cast(pa.string()).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    ),
}


@pytest.mark.parametrize("made", BYTES_TYPES.values(), ids=BYTES_TYPES)
def test_bytes_may_have_any_layout(made: Callable[[list[Any]], pa.Array]):
    array = made(VALUES)
    assert values_of(ls.encode(pa.table({"value": array}))) == VALUES
    sliced = pa.table({"value": made([b"before", *VALUES, b"behind"]).slice(1, len(VALUES))})
    assert values_of(ls.encode(sliced)) == VALUES
    assert values_of(ls.encode(sliced.slice(2, 2))) == VALUES[2:4]


def test_bytes_of_fixed_size_and_columns_of_nulls():
    fixed = pa.array([b"abc", None, b"def"], pa.binary(3))
    assert values_of(ls.encode(pa.table({"value": fixed}))) == [b"abc", None, b"def"]
    nulls = pa.nulls(2)
    data = ls.encode(pa.table(dict.fromkeys(("key", "value", "headers", "timestamp", "offset", "isControl", "controlType"), nulls)))
    rows = ls.decode(data, columns=["offset", "timestampMs", "key", "value", "headers"]).to_pyarrow().to_pylist()
    blank = {"timestampMs": -1, "key": None, "value": None, "headers": []}
    assert rows == [{"offset": 0, **blank}, {"offset": 1, **blank}]


@pytest.mark.parametrize("name", [*invalid_arrays.BYTES, *invalid_arrays.DICTIONARIES])
def test_bytes_that_are_no_valid_array_are_refused_and_the_column_is_named(name: str):
    made = (invalid_arrays.BYTES | invalid_arrays.DICTIONARIES)[name]
    for column, other in (("value", "key"), ("key", "value")):
        with pytest.raises(ValueError, match=f'"{column}" is not a valid Arrow array'):
            ls.encode(made().export_rows(column, **{other: pa.array([b"v", b"w"])}))


@pytest.mark.parametrize("name", invalid_arrays.LISTS)
def test_lists_that_are_no_valid_array_are_refused(name: str):
    with pytest.raises(ValueError, match='"headers" is not a valid Arrow array'):
        ls.encode(invalid_arrays.LISTS[name]().export_rows("headers", value=pa.array([b"v", b"w"])))
    with pytest.raises(ValueError, match="not a valid Arrow array"):
        ls.encode_array(invalid_arrays.LISTS[name]().export())


def test_an_index_of_a_null_may_be_anything():
    indexes = pa.Array.from_buffers(pa.int32(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(struct.pack("<ii", 1, 99))])
    array = pa.DictionaryArray.from_arrays(indexes, pa.array([b"a", b"b"]), safe=False)
    assert values_of(ls.encode(pa.table({"value": array}))) == [b"b", None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_timestamps_of_any_unit_become_milliseconds(unit: str, zone: str | None):
    """V2-16: null is none, and -1 is the millisecond before 1970."""
    times = pa.array([1_600_000_000_000, None, 0], pa.timestamp("ms")).cast(pa.timestamp(unit, zone))
    data = ls.encode(pa.table({"value": pa.array([b"v"] * 3), "timestamp": times}))
    assert ls.decode(data, columns=["timestampMs"]).to_pyarrow()["timestampMs"].to_pylist() == [1_600_000_000_000, -1, 0]


def test_a_timestamp_of_minus_one_goes_round():
    data = ls.encode(pa.table({"value": [b"v"], "timestamp": pa.array([-1], pa.timestamp("ms"))}))
    first = ls.decode(data).to_pyarrow()
    assert ls.encode(first) == data


@pytest.mark.parametrize("type", [pa.int64(), pa.int32(), pa.int16(), pa.uint8(), pa.uint32(), pa.uint64()])
def test_offsets_may_be_integers_of_any_width(type: pa.DataType):
    data = ls.encode(pa.table({"value": [b"v"] * 3, "offset": pa.array([3, None, 100], type)}))
    assert ls.decode(data, columns=["offset"]).to_pyarrow()["offset"].to_pylist() == [3, 4, 100]


PAIRS = [[(b"h", b"1"), (b"h", None), (b"", b"")], None, [], [(b"last", b"x")]]
STRUCT = pa.struct([("key", pa.binary()), ("value", pa.binary())])
VIEW_STRUCT = pa.struct([("key", pa.string_view()), ("value", pa.binary_view())])


@pytest.mark.parametrize(
    "type",
    [
        pa.list_(STRUCT),
        pa.large_list(STRUCT),
        pa.list_(VIEW_STRUCT),
        pa.map_(pa.binary(), pa.binary()),
        pa.list_(pa.struct([("value", pa.binary()), ("key", pa.string())])),
    ],
    ids=str,
)
def test_headers_may_be_lists_or_maps(type: pa.DataType):
    values = (
        PAIRS if pa.types.is_map(type) else [rows and [dict(zip(("key", "value"), row, strict=True)) for row in rows] for rows in PAIRS]
    )
    table = pa.table({"value": [b"v"] * 4, "headers": pa.array(values, type)})
    for given, expected in [(table, PAIRS), (table.slice(2), PAIRS[2:])]:
        rows = corpus.rows_of(ls.decode(ls.encode(given), columns=["headersRaw"]))
        assert [row["headersRaw"] for row in rows] == [pairs or [] for pairs in expected]


def test_tables_of_any_library_are_taken():
    import pandas as pd
    import polars as pl

    table = pa.table({"value": pa.array(VALUES, pa.binary())})
    expected = ls.encode(table)
    batch = table.to_batches()[0]
    for given in (
        batch,
        pa.chunked_array([batch.to_struct_array()]),
        batch.to_struct_array(),
        pa.RecordBatchReader.from_batches(table.schema, iter([batch])),
        pl.DataFrame({"value": VALUES}),
        pl.DataFrame({"value": VALUES}).cast({"value": pl.Binary}),
        pd.DataFrame({"value": VALUES}),
    ):
        assert ls.encode(given) == expected, type(given)
    stream = ls.decode(expected, columns=["value"])
    assert ls.encode(stream) == expected
    assert ls.encode(ls.decode(expected).read_all()) == expected
    assert ls.encode(next(ls.decode(expected))) == expected


def test_chunks_are_one_table():
    table = pa.concat_tables([pa.table({"value": [b"%d" % index]}) for index in range(300)])
    assert ls.encode(table) == ls.encode(table.combine_chunks())
    assert ls.encode(table.slice(0, 0)) == b""


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (pa.table({"key": [b"k"]}), '"value" is missing'),
        (pa.table({"value": [1]}), '"value" must be of binary or text, not Int64'),
        (pa.table({"value": [b"v"], "offset": ["1"]}), '"offset" must be of integers'),
        (pa.table({"value": [b"v"], "timestamp": ["now"]}), '"timestamp" must be of timestamps'),
        (pa.table({"value": [b"v"], "headers": ["h"]}), '"headers" must be of list'),
        (pa.table({"value": [b"v"], "isControl": ["yes"]}), '"isControl" must be of booleans'),
        (pa.table({"value": [None], "controlType": ["NOPE"]}), "NOPE"),
        (pa.table({"value": pa.nulls(1), "isControl": [True]}), "needs a key or a controlType"),
        (pa.table({"value": [b"v"], "offset": pa.array([2**63], pa.uint64())}), '"offset" must be of integers'),
    ],
)
def test_columns_that_cannot_mean_it_are_named(table: pa.Table, says: str):
    with pytest.raises(ValueError, match=says):
        ls.encode(table)


@pytest.mark.parametrize("other", [None, b"bytes", {"value": [b"v"]}, [b"v"]])
def test_what_is_no_table_is_a_type_error(other: Any):
    with pytest.raises(TypeError, match="Arrow table"):
        ls.encode(other)


# Where it writes.


def test_a_file_is_written_whole(tmp_path: Path):
    table = pa.table({"value": VALUES})
    for out in (tmp_path / "a.log", str(tmp_path / "b.log")):
        assert ls.encode(table, out=out) is None
        assert Path(out).read_bytes() == ls.encode(table)
    assert sorted(os.listdir(tmp_path)) == ["a.log", "b.log"]


def test_a_file_that_cannot_be_finished_is_absent_or_as_it_was(tmp_path: Path):
    bad = pa.table({"value": pa.array([bytes(1000)] * 1000, pa.binary()), "timestampMs": [0] * 999 + [-2]})
    kept = tmp_path / "kept.log"
    kept.write_bytes(b"before")
    for out in (kept, tmp_path / "new.log"):
        with pytest.raises(ValueError, match="V2-17"):
            ls.encode(bad, out=out, overwrite=True)
    assert os.listdir(tmp_path) == ["kept.log"]
    assert kept.read_bytes() == b"before"


def test_errors_of_the_file_system_are_os_errors(tmp_path: Path):
    with pytest.raises(FileNotFoundError) as raised:
        ls.encode(pa.table({"value": VALUES}), out=tmp_path / "no/such/folder.log")
    assert raised.value.filename is not None
    with pytest.raises(TypeError, match="out must be"):
        ls.encode(pa.table({"value": VALUES}), out=7)


class Half(io.RawIOBase):
    """A raw file that takes less than it is given."""

    def __init__(self) -> None:
        self.taken = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        half = bytes(data)[: len(data) // 2 + 1]
        self.taken += half
        return len(half)


def test_file_objects_get_the_bytes():
    table = pa.table({"value": [bytes([index % 256]) * 1000 for index in range(2000)]})
    expected = ls.encode(table)
    whole, half = io.BytesIO(), Half()
    assert ls.encode(table, out=whole) is None
    ls.encode(table, out=half)
    assert whole.getvalue() == expected == bytes(half.taken)
    with tempfile.TemporaryFile() as file:
        ls.encode(table, out=file)
        file.seek(0)
        assert file.read() == expected


@pytest.mark.parametrize("size", [0, 10, 1000, 70_000, 2_000_000])
@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_what_a_file_object_keeps_stays_as_it_was_given(size: int, compression: Any):
    """Storage is used again only when nobody looks at it any more; views are read-only."""

    class Keeping:
        def __init__(self) -> None:
            self.parts: list[memoryview] = []

        def write(self, data: memoryview) -> None:
            self.parts.append(data)

    table = pa.table({"value": [os.urandom(size) for _ in range(4_000_000 // max(size, 20_000))]})
    kept = Keeping()
    ls.encode(table, compression=compression, out=kept)  # type: ignore[arg-type]
    assert b"".join(kept.parts) == ls.encode(table, compression=compression)
    assert all(part.readonly for part in kept.parts)
    assert len(kept.parts) > (1 if size > 1000 else 0)


@pytest.mark.parametrize("format", ["0.7", "v0", "v1", "v2"])
def test_batches_of_any_size_come_out_the_same_wherever_they_go(format: Any):
    """What is open moves to the front of the storage whenever what ended is passed on."""
    values = [bytes([index % 256]) * (index * 37 % 9000) for index in range(3000)]
    for batch_bytes in (1, 5000, 100_000, 10_000_000):
        expected = ls.encode(pa.table({"value": values}), format=format, batch_bytes=batch_bytes)
        file = io.BytesIO()
        ls.encode(pa.table({"value": values}), format=format, batch_bytes=batch_bytes, out=file)
        assert file.getvalue() == expected
        assert ls.decode(expected, format=format, columns=["value"]).to_pyarrow()["value"].to_pylist() == values


def test_what_a_file_object_raises_comes_through():
    class Full(io.RawIOBase):
        def write(self, data: Any) -> int:
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        ls.encode(pa.table({"value": VALUES}), out=Full())


def test_errors_of_our_own_streams_stay_typed():
    damaged = bytearray(SEGMENT.read_bytes())
    damaged[100] ^= 1
    with pytest.raises(ls.ChecksumError) as raised:
        ls.encode(ls.decode(bytes(damaged)))
    assert raised.value.position == 0


def test_errors_of_other_streams_say_what_happened():
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"value": [b"v"]})
        raise RuntimeError("the well is dry")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("value", pa.binary())]), batches())
    with pytest.raises(OSError, match="the well is dry"):
        ls.encode(reader)


def test_memory_does_not_grow_with_a_stream(tmp_path: Path):
    """A stream of 512 MiB into a file: less than a tenth of it is ever held."""
    value = os.urandom(1 << 16)

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(256):
            yield pa.record_batch({"value": pa.array([value] * 32, pa.binary())})

    def encode() -> None:
        reader = pa.RecordBatchReader.from_batches(pa.schema([("value", pa.binary())]), batches())
        ls.encode(reader, out=tmp_path / "out.log")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    encode()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert (tmp_path / "out.log").stat().st_size > 512 << 20
    assert grown < 50 << 20
