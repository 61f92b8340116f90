"""Message sets of magic 0 and 1 and of Kafka 0.7 as `encode` writes them, against the bytes that Kafka's own classes and brokers wrote.

Plain messages must be equal byte for byte; of compressed ones the wrapper, and what gzip holds, which Python can unpack.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import corpus
import logsegment as ls
from damage import search

WHOLE = 1 << 30


class Message(NamedTuple):
    """A message of 0.8 and later as it lies in the bytes."""

    offset: int
    magic: int
    attributes: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None


def messages(data: bytes) -> Iterator[Message]:
    """The messages of a set, checksums held (L8-1, L8-2)."""
    at = 0
    while at < len(data):
        offset, size, crc, magic, attributes = struct.unpack_from(">qiIbb", data, at)
        body = data[at + 18 : at + 12 + size]
        assert crc == zlib.crc32(data[at + 16 : at + 12 + size])
        timestamp = struct.unpack_from(">q", body)[0] if magic else None
        key, rest = nullable(body[8 if magic else 0 :])
        value, rest = nullable(rest)
        assert not rest
        yield Message(offset, magic, attributes, timestamp, key, value)
        at += 12 + size


def nullable(data: bytes) -> tuple[bytes | None, bytes]:
    length = struct.unpack_from(">i", data)[0]
    return (None, data[4:]) if length < 0 else (data[4 : 4 + length], data[4 + length :])


def entries(magics: set[int]) -> Iterator[tuple[corpus.Case, dict[str, Any], bytes, list[dict[str, Any]]]]:
    """Every entry of the corpus of these magics, with its batch row and its records; those told by a digest alone are left out."""
    for case in corpus.cases():
        if case.format == "0.7" or not set(case.magics) & {0, 1}:
            continue
        data, found = case.read(), []
        for row in corpus.truth_rows(case.truth):
            if row["type"] == "batch":
                found.append((row, []))
            elif row["type"] == "record":
                found[-1][1].append(row)
        for batch, records in found:
            is_told = records and not any("key_sha256" in row or "value_sha256" in row for row in records)
            if batch["magic"] in magics and is_told:
                yield case, batch, data[batch["position"] : batch["position"] + batch["size"]], records


def encoded(batch: dict[str, Any], records: list[dict[str, Any]]) -> bytes:
    columns = {
        "offset": pa.array([row["offset"] for row in records], pa.int64()),
        "timestampMs": pa.array([row["timestamp"] for row in records], pa.int64()),
        "key": pa.array([corpus.plain(row["key"]) for row in records], pa.binary()),
        "value": pa.array([corpus.plain(row["value"]) for row in records], pa.binary()),
    }
    is_appended = batch["timestampType"] == "LogAppendTime"
    arguments = {"timestamp_type": "LogAppendTime", "log_append_time": batch["maxTimestamp"]} if is_appended else {}
    data = ls.encode(pa.table(columns), format=f"v{batch['magic']}", compression=batch["compression"], batch_bytes=WHOLE, **arguments)
    assert data is not None
    return data


def test_plain_messages_of_kafka_come_out_byte_for_byte():
    """L8-1 to L8-7, L8-9: libraries and brokers from 0.8.2 to 3.6."""
    seen: Counter[int] = Counter()
    for case, batch, entry, records in entries({0, 1}):
        if batch["compression"] == "none":
            assert encoded(batch, records) == entry, (case, batch)
            seen[batch["magic"]] += 1
    assert seen[0] > 100
    assert seen[1] > 100


def test_wrappers_of_kafka_come_out_field_for_field():
    """L8-20, L8-24 to L8-26, L8-30, COD-L8: offset of the last record, largest timestamp, null key, the header of the LZ4 frame."""
    seen: Counter[str] = Counter()
    for case, batch, entry, records in entries({0, 1}):
        if batch["compression"] == "none":
            continue
        [own], [kafkas] = list(messages(encoded(batch, records))), list(messages(entry))
        assert own._replace(value=None) == kafkas._replace(value=None), (case, batch)
        if batch["compression"] == "lz4":
            assert own.value[:7] == kafkas.value[:7] == b"\x04\x22\x4d\x18\x60\x40" + (b"\x1a" if batch["magic"] == 0 else b"\x82")
        if batch["compression"] == "snappy":
            assert own.value[:16] == kafkas.value[:16]
        seen[f"{batch['compression']} in v{batch['magic']}"] += 1
    assert min(seen[f"{codec} in v{magic}"] for codec in ("gzip", "snappy", "lz4") for magic in (0, 1)) > 3, seen


def test_inner_messages_of_kafka_come_out_byte_for_byte():
    """L8-24, L8-25, L8-32: absolute offsets in magic 0, relative ones in magic 1; the append time in every message.

    Brokers set the append time in the wrapper alone (L8-31), and what they compacted does not begin at 0: those hold the same records."""
    seen: Counter[str] = Counter()
    for case, batch, entry, records in entries({0, 1}):
        if batch["compression"] != "gzip":
            continue
        own, kafkas = (gzip.decompress(next(messages(data)).value or b"") for data in (encoded(batch, records), entry))
        contents = [[(message.key, message.value) for message in messages(inner)] for inner in (own, kafkas)]
        assert contents[0] == contents[1], (case, batch)
        if case.set.startswith("lib-3.6"):
            assert own == kafkas, (case, batch)
        seen[f"v{batch['magic']} {'equal' if own == kafkas else 'other'}"] += 1
    assert seen["v0 equal"] > 10
    assert seen["v1 equal"] > 10


def test_messages_of_0_7_come_out_byte_for_byte():
    """L7-6, L7-8, L7-16: plain ones whole, of compressed ones what gzip holds."""
    seen: Counter[str] = Counter()
    for case in corpus.cases():
        if case.format != "0.7":
            continue
        data = case.read()
        rows = list(corpus.truth_rows(case.truth))
        for batch in (row for row in rows if row["type"] == "batch" and row["magic"] == 1):
            position = batch["position"]
            entry = data[position : position + batch["size"]]
            values = [row for row in rows if row["type"] == "record" and row["batch"] == batch["batch"]]
            if not values or any("value_sha256" in row for row in values) or batch["compression"] == "snappy":
                continue
            table = pa.table({"value": pa.array([corpus.plain(row["value"]) for row in values], pa.binary())})
            own = ls.encode(table, format="0.7", compression=batch["compression"], batch_bytes=WHOLE)
            if batch["compression"] == "gzip":
                inner = [gzip.decompress(message[10:]) for message in (own, entry)]
                if is_plain_inside(inner[1]):
                    assert inner[0] == inner[1], (case, batch)
                    assert own[4:6] == entry[4:6] == b"\x01\x01"
                    assert own[:10] == struct.pack(">ibbI", len(own) - 4, 1, 1, zlib.crc32(own[10:]))
                    seen["gzip"] += 1
            else:
                assert own == entry, (case, batch)
                seen["none"] += 1
    assert seen["none"] > 500
    assert seen["gzip"] > 20


def is_plain_inside(inner: bytes) -> bool:
    """True for plain messages of magic 1: what 0.6 wrote is of magic 0, and wrappers may hold wrappers (L7-17)."""
    at = 0
    while at < len(inner):
        length, magic, attributes = struct.unpack_from(">ibb", inner, at)
        if (magic, attributes) != (1, 0):
            return False
        at += 4 + length
    return True


def test_xerial_chunks_in_0_7():
    """L7-20: snappy in 0.7 is the stream of snappy-java."""
    data = ls.encode(pa.table({"value": [b"hello"]}), format="0.7", compression="snappy")
    assert data is not None
    assert data[4:6] == b"\x01\x02"
    assert data[10:26] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"


def test_the_broken_header_checksum_is_magic_0s_and_an_option_elsewhere():
    """COD-L8, COD-L7."""
    table = pa.table({"value": [bytes(1000)]})
    for magic, form, byte in [("v0", None, 0x1A), ("v1", None, 0x82), ("v0", "correct", 0x82), ("v1", "broken", 0x1A)]:
        [wrapper] = messages(ls.encode(table, format=magic, compression="lz4", lz4_header_checksum=form))
        assert wrapper.value[6] == byte
    for form, byte in [(None, 0x82), ("correct", 0x82), ("broken", 0x1A)]:
        assert ls.encode(table, compression="lz4", lz4_header_checksum=form)[61 + 6] == byte


def test_sets_end_like_batches_and_offsets_go_on():
    """Kafka's producer closes a set of magic 0 and 1 by the same rule; every wrapper has the offset of its last message."""
    values = [b"%d" % index * 20 for index in range(200)]
    for magic, overhead in [("v0", 26), ("v1", 34)]:
        data = ls.encode(pa.table({"value": values}), format=magic, compression="gzip", base_offset=10, batch_bytes=1000)
        wrappers = list(messages(data))
        inner = [list(messages(gzip.decompress(wrapper.value))) for wrapper in wrappers]
        assert [message.value for found in inner for message in found] == values
        assert len(wrappers) > 3
        assert wrappers[-1].offset == 209
        for before, wrapper, found in zip([9, *(wrapper.offset for wrapper in wrappers)], wrappers, inner, strict=False):
            assert wrapper.offset - before == len(found)
            first = 0 if magic == "v1" else before + 1
            assert [message.offset for message in found] == list(range(first, first + len(found)))
        plain = ls.encode(pa.table({"value": values}), format=magic)
        assert len(plain) == sum(len(value) + overhead for value in values)


def test_null_keys_and_values_stay_null():
    """L8-5, CNV-12."""
    table = pa.table({"key": pa.array([None, b"", b"k"]), "value": pa.array([b"", None, b"v"])})
    for magic in ("v0", "v1"):
        found = list(messages(ls.encode(table, format=magic)))
        assert [(message.key, message.value) for message in found] == [(None, b""), (b"", None), (b"k", b"v")]


blobs = st.one_of(st.none(), st.binary(max_size=60), st.sampled_from([b"", b"y" * 9000]))
times = st.one_of(st.just(-1), st.integers(0, 2**62))
rows = st.lists(st.tuples(blobs, blobs, times, st.one_of(st.just(1), st.integers(1, 2**33))), min_size=1, max_size=8)
CODECS = st.sampled_from(["none", "gzip", "snappy", "lz4"])


@search
@given(rows, CODECS, st.sampled_from(["v0", "v1"]), st.integers(0, 2**62), st.sampled_from([1, 300, 16384]))
def test_property_message_sets_decode_to_what_was_encoded(records: list[Any], codec: Any, magic: Any, base: int, batch_bytes: int):
    """L8-24, L8-25: absolute and relative offsets, with holes."""
    columns = {
        "offset": pa.array([base + sum(step for *_, step in records[: index + 1]) for index in range(len(records))], pa.int64()),
        "timestampMs": pa.array([time if magic == "v1" else -1 for _, _, time, _ in records], pa.int64()),
        "key": pa.array([key for key, *_ in records], pa.binary()),
        "value": pa.array([value for _, value, *_ in records], pa.binary()),
    }
    data = ls.encode(pa.table(columns), format=magic, compression=codec, batch_bytes=batch_bytes)
    assert ls.validate(data).ok
    assert ls.decode(data, columns=list(columns)).to_pyarrow().to_pylist() == pa.table(columns).to_pylist()


@search
@given(st.lists(st.binary(max_size=90), max_size=9), st.sampled_from(["none", "gzip", "snappy"]), st.sampled_from([1, 300, 16384]))
def test_property_messages_of_0_7_decode_to_what_was_encoded(values: list[bytes], codec: Any, batch_bytes: int):
    data = ls.encode(pa.table({"value": pa.array(values, pa.binary())}), format="0.7", compression=codec, batch_bytes=batch_bytes)
    assert ls.validate(data, format="0.7").ok
    assert ls.decode(data, columns=["value"], format="0.7").to_pyarrow()["value"].to_pylist() == values
