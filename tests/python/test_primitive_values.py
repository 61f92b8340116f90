"""Keys and values of Kafka's own serializers, and keys of windows of Kafka Streams."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import logsegment as ls
from cli_process import run

START, END = 1_700_000_000_000, 1_700_000_060_000
TIMES = [datetime.fromtimestamp(item / 1000, UTC) for item in (START, END)]
#: A value of each type, its bytes as Kafka's serializers write them, and its column.
CASES: dict[str, tuple[Any, bytes, pa.DataType]] = {
    "string": ("Grüße", "Grüße".encode(), pa.string()),
    "long": (-(2**63), struct.pack(">q", -(2**63)), pa.int64()),
    "int": (5, struct.pack(">i", 5), pa.int32()),
    "short": (-2, struct.pack(">h", -2), pa.int16()),
    "float": (0.5, struct.pack(">f", 0.5), pa.float32()),
    "double": (2.5, struct.pack(">d", 2.5), pa.float64()),
    "uuid": ("9420cb08-62ae-587f-8b29-c41324ffcbaa", b"9420CB08-62ae-587f-8b29-c41324ffcbaa", pa.string()),
}


def segment(*pairs: tuple[bytes | None, bytes | None]) -> bytes:
    keys, values = zip(*pairs, strict=True)
    data = ls.encode(pa.table({"key": pa.array(keys, "binary"), "value": pa.array(values, "binary")}))
    assert data is not None
    return data


@pytest.mark.parametrize("name", CASES)
def test_each_type_is_a_column_of_keys_and_of_values(name: str):
    value, raw, kind = CASES[name]
    table = ls.decode(segment((raw, raw), (None, None)), values=name, key_values=name).to_pyarrow()  # type: ignore[arg-type]
    assert table.column_names[-2:] == ["valueRecord", "keyRecord"]
    for column in ("keyRecord", "valueRecord"):
        assert table.schema.field(column).type == kind
        assert table[column].to_pylist() == [value, None]


@pytest.mark.parametrize("name", CASES)
def test_keys_of_windows_are_structs(name: str):
    value, raw, _ = CASES[name]
    windowed = segment((raw + struct.pack(">q", START), b"v"))
    session = segment((raw + struct.pack(">qq", END, START), b"v"))
    rows = ls.decode(windowed, key_values=f"windowed({name})", columns=["keyRecord"]).to_pylist()  # type: ignore[arg-type]
    assert rows == [{"keyRecord": {"key": value, "windowStart": TIMES[0]}}]
    rows = ls.decode(session, key_values=f"session({name})", columns=["keyRecord"]).to_pylist()  # type: ignore[arg-type]
    assert rows == [{"keyRecord": {"key": value, "windowStart": TIMES[0], "windowEnd": TIMES[1]}}]
    columns = ["keyRecord.windowEnd", "keyRecord.key"]
    rows = ls.decode(session, key_values=f"session({name})", columns=columns).to_pylist()  # type: ignore[arg-type]
    assert rows == [{"keyRecord.windowEnd": TIMES[1], "keyRecord.key": value}]


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("long", b"1234567"),
        ("int", b""),
        ("short", b"123"),
        ("string", b"\xff"),
        ("uuid", b"9420cb08-62ae-587f-8b29-c41324ffcba"),
        ("uuid", b"9420cb0862ae587f8b29c41324ffcbaa0000"),
        ("windowed(string)", b"1234567"),
        ("windowed(long)", bytes(15)),
        ("session(int)", bytes(16)),
    ],
)
def test_bytes_of_another_length_are_an_error_or_null_with_a_finding(kind: Any, raw: bytes):
    data = segment((b"k", raw), (b"k", None))
    with pytest.raises(ls.CorruptError, match=r"\[SCH-3\].*offset 0|offset 0.*\[SCH-3\]"):
        ls.decode(data, values=kind).to_pylist()
    stream = ls.decode(data, values=kind, on_error="skip", columns=["valueRecord"])
    assert stream.to_pylist() == [{"valueRecord": None}, {"valueRecord": None}]
    assert [(finding.rule, finding.base_offset) for finding in stream.findings] == [("SCH-3", 0)]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(-(2**63), 2**63 - 1))
def test_any_long_is_itself(values: list[int], start: int):
    data = segment(*[(struct.pack(">qq", value, start), struct.pack(">q", value)) for value in values])
    table = ls.decode(data, values="long", key_values="windowed(long)", columns=["valueRecord", "keyRecord"]).to_pyarrow()
    assert table["valueRecord"].to_pylist() == values
    windows = pa.chunked_array(table["keyRecord"]).combine_chunks()
    assert windows.field("key").to_pylist() == values
    assert windows.field("windowStart").cast(pa.int64()).to_pylist() == [start] * len(values)


def test_confluents_serializers_write_the_same_bytes():
    serialization = pytest.importorskip("confluent_kafka.serialization")
    written = {
        "string": serialization.StringSerializer("utf_8")("Grüße"),
        "double": serialization.DoubleSerializer()(2.5),
        "int": serialization.IntegerSerializer()(5),
    }
    for name, raw in written.items():
        rows = ls.decode(segment((b"k", raw)), values=name, columns=["valueRecord"]).to_pylist()  # type: ignore[arg-type]
        assert rows == [{"valueRecord": CASES[name][0]}]


def test_unknown_types_and_fields_are_refused():
    for wrong in ("windowed(bytes)", "windowed(windowed(long))", "Long", "session()"):
        with pytest.raises(ValueError, match=r"values must be .*windowed\(TYPE\)"):
            ls.decode(b"", values=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no field windowEnd"):
        ls.decode(b"", key_values="windowed(long)", columns=["keyRecord.windowEnd"])


def test_the_command_line_and_polars(tmp_path: Path):
    path = tmp_path / "counts-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(segment((b"k" + struct.pack(">q", START), struct.pack(">q", 5))))
    done = run("cat", path.parent, "--values", "long", "--key-values", "windowed(string)")
    assert done.code == 0
    assert (done.lines[0]["valueRecord"], done.lines[0]["keyRecord"]["key"]) == (5, "k")
    wrong = run("cat", path.parent, "--values", "varint")
    assert (wrong.code, "windowed(TYPE)" in wrong.err) == (2, True)
    frame = ls.polars.scan(path.parent, values="long", key_values="windowed(string)").collect()
    assert frame["valueRecord"].to_list() == [5]
    assert frame["keyRecord"].to_list() == [{"key": "k", "windowStart": TIMES[0]}]
