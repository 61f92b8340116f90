"""A limit is not damage, and a batch that is not opened is not damaged: `unreadable`, `Limits`, and what `validate` says of them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import building
import logsegment as ls
from logsegment.polars import scan

#: A value of one letter: zstd makes 700 bytes of 20 MB, more than 10,000 to 1.
LONG = bytes(20_000_000)
NAME = "00000000000000000000.log"


def named(value: bytes, base_offset: int, **how: Any) -> bytes:
    return ls.encode(pa.table({"value": [value]}), base_offset=base_offset, **how)


def of_plugin(base_offset: int) -> bytes:
    return building.batch(building.record(value=b"packed"), count=1, base_offset=base_offset, attributes=15 << 8 | 5)


def with_dictionary(base_offset: int) -> bytes:
    samples = [f"the record number {number} of the topic orders of shop {number % 7}".encode() for number in range(2000)]
    import zstandard

    dictionary = zstandard.train_dictionary(4096, samples)
    packed = zstandard.ZstdCompressor(dict_data=dictionary).compress(building.record(value=samples[7]))
    return building.batch(packed, count=1, base_offset=base_offset, attributes=building.ZSTD)


#: name -> the batch at offset 1, options of the read, rule, class of the error.
UNREADABLE: dict[str, tuple[Callable[[], bytes], dict[str, Any], str, type[ls.RecordBatchError]]] = {
    "plugin": (lambda: of_plugin(1), {}, "S-P19", ls.UnknownCompressionError),
    "ratio": (lambda: named(LONG, 1, compression="zstd"), {"limits": ls.Limits(max_ratio=10_000)}, "COD-6", ls.LimitError),
    "decompressed": (
        lambda: named(LONG, 1, compression="gzip"),
        {"limits": ls.Limits(max_decompressed_bytes=1 << 20)},
        "COD-6",
        ls.LimitError,
    ),
    "bytes": (lambda: named(bytes(3000), 1), {"limits": ls.Limits(max_batch_bytes=1000)}, "COD-6", ls.LimitError),
    "records": (
        lambda: ls.encode(pa.table({"value": [b"1", b"2", b"3"]}), base_offset=1),
        {"limits": ls.Limits(max_records=2)},
        "COD-6",
        ls.LimitError,
    ),
    "v3": (lambda: named(b"new", 1, format="v3"), {}, "MAP-3", ls.UnsupportedError),
}


@pytest.fixture(params=UNREADABLE)
def case(request: pytest.FixtureRequest) -> tuple[bytes, bytes, dict[str, Any], str, type[ls.RecordBatchError]]:
    make, options, rule, kind = UNREADABLE[request.param]
    batch = make()
    return around(batch), batch, options, rule, kind


def around(batch: bytes) -> bytes:
    return named(b"first", 0) + batch + named(b"last", 9)


def offsets_of(stream: ls.RecordStream) -> list[int]:
    return [row["offset"] for row in stream.to_pylist()]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", ["bytes", "file object", "path"])
def test_a_batch_that_cannot_be_read_here_is_not_skipped_as_damage(case, kind: str, threads: int, tmp_path: Path):
    data, batch, options, rule, error = case
    path = tmp_path / NAME
    path.write_bytes(data)

    def source() -> Any:
        return {"bytes": data, "file object": io.BytesIO(data), "path": ls.FileSource(path)}[kind]

    for on_error in ("raise", "skip"):
        with pytest.raises(error) as raised:
            ls.decode(source(), on_error=on_error, threads=threads, **options).read_all()
        assert (raised.value.rule, raised.value.base_offset) == (rule, 1)
        stream = ls.decode(source(), on_error=on_error, unreadable="skip", threads=threads, **options)
        assert offsets_of(stream) == [0, 9]
        (finding,) = stream.findings
        assert (finding.rule, finding.severity, finding.base_offset) == (rule, "warning", 1)
        assert (finding.position, finding.length) == (len(named(b"first", 0)), len(batch))


def test_validate_has_an_error_if_and_only_if_decode_raises(case, tmp_path: Path):
    data, _, options, rule, _ = case
    path = tmp_path / NAME
    path.write_bytes(data)
    for validated in (ls.validate, lambda _, **how: ls.Segment(path).validate(**how)):
        refused, skipped = validated(data, **options), validated(data, unreadable="skip", **options)
        assert (refused.ok, skipped.ok) == (False, True)
        assert [finding.rule for finding in refused.undecompressed] == [finding.rule for finding in skipped.undecompressed] == [rule]
        assert {finding.severity for finding in skipped.undecompressed} == {"warning"}
    assert ls.validate_array(pa.array([data]), **options)
    for unreadable in ("raise", "skip"):
        ok = pa.array(ls.validate_array(pa.array([data]), unreadable=unreadable, **options))[0]["ok"].as_py()
        assert ok == (unreadable == "skip")


def test_every_reader_takes_the_option(case, tmp_path: Path):
    data, _, options, rule, error = case
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / NAME).write_bytes(data)

    def read(reader: str, **how: Any) -> list[int]:
        how |= options
        if reader == "polars":
            return scan(directory, columns=["offset"], **how).collect()["offset"].to_list()
        if reader == "array":
            values = pa.array(ls.decode_array(pa.array([data]), columns=["offset"], **how))
            return [row["offset"].as_py() for row in values[0]]
        if reader == "find":
            return [place.offset for place in ls.find(directory, start_offset=0, **how)]
        opened = ls.Log(directory) if reader == "log" else ls.Segment(directory / NAME)
        return offsets_of(opened.records(**how))

    for reader in ("segment", "log", "find", "array", "polars"):
        for on_error in ("raise", "skip"):
            with pytest.raises(error, match=rule):
                read(reader, on_error=on_error)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert read(reader, on_error=on_error, unreadable="skip") == [0, 9], reader


def test_damage_is_still_damage(case):
    data, _, options, rule, error = case
    damaged = bytearray(data)
    damaged[-1] ^= 1
    with pytest.raises(ls.ChecksumError):
        ls.decode(damaged, unreadable="skip", **options).read_all()
    with pytest.raises(error):
        ls.decode(damaged, on_error="skip", **options).read_all()
    stream = ls.decode(damaged, on_error="skip", unreadable="skip", **options)
    assert offsets_of(stream) == [0]
    assert [(finding.rule, finding.severity) for finding in stream.findings] == [(rule, "warning"), ("V2-31", "error")]


@given(st.integers(28, 30), st.sampled_from(["bytes", "file"]))
def test_a_damaged_length_over_the_limit_is_damage(bit: int, kind: str):
    """The bytes that the length claims are not there, or their checksum does not match."""
    data = bytearray(named(b"first", 0) + named(b"second", 1) + named(b"last", 2))
    at = len(named(b"first", 0)) + 8
    data[at + (31 - bit) // 8] ^= 1 << (bit % 8)
    source = bytes(data) if kind == "bytes" else io.BytesIO(bytes(data))
    assert offsets_of(ls.decode(source, on_error="skip")) == [0, 2]
    report = ls.validate(bytes(data))
    assert (report.ok, report.undecompressed) == (False, [])


def test_a_limit_below_damaged_lengths_does_not_read_on_for_each_claim():
    """A file of claims over the limit is checked in bounded time: each of them names bytes that are there."""
    claim = bytes(8) + (1 << 20).to_bytes(4, "big") + bytes(4) + b"\x02" + bytes(60)
    data = (named(b"x", 0) + claim) * 2000 + bytes(1 << 20) + named(b"last", 9)
    stream = ls.decode(data, columns=["offset"], on_error="skip", limits=ls.Limits(max_batch_bytes=1000))
    assert offsets_of(stream)[-1] == 9


def test_the_default_ratio_reads_what_zstd_makes_of_one_letter(tmp_path: Path):
    data = named(LONG, 0, compression="zstd", level=19)
    assert len(LONG) > 10_000 * len(data)
    assert ls.Limits().max_ratio == 40_000
    assert ls.decode(data).read_all().num_rows == 1


@pytest.mark.parametrize("limit", [name for name, (_, _, rule, _) in UNREADABLE.items() if rule == "COD-6"])
def test_salvage_keeps_what_is_over_a_limit(limit: str):
    make, options, _, _ = UNREADABLE[limit]
    data = around(make())
    found = ls.salvage(data, **options)
    assert (found.data, found.ok, found.lost) == (data, True, [])


def test_converting_and_rewriting_refuse_what_they_cannot_read(case, tmp_path: Path):
    data, _, options, rule, error = case
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / NAME).write_bytes(data)
    if rule != "MAP-3":
        with pytest.raises(error) as raised:
            ls.convert(data, to="v2", compression="gzip", level=1, **options)
        assert raised.value.base_offset == 1
    with pytest.raises(error) as raised:
        ls.rewrite(directory, tmp_path / "out", drop=[b"no such key"], **options)
    assert raised.value.base_offset == 1


def test_only_calls_that_can_skip_take_the_option():
    for call in (ls.convert, ls.salvage, ls.inspect):
        with pytest.raises(TypeError, match="unreadable"):
            call(b"", unreadable="skip")
    with pytest.raises(ValueError, match='unreadable must be "raise" or "skip"'):
        ls.decode(b"", unreadable="null")


def test_transactions_of_v3_are_skipped_with_their_batches():
    data = named(b"first", 0) + named(b"new", 1, format="v3") + named(b"last", 2)
    with pytest.raises(ls.UnsupportedError):
        ls.decode(data, isolation="read_committed").read_all()
    assert offsets_of(ls.decode(data, isolation="read_committed", unreadable="skip")) == [0, 2]
