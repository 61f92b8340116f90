"""What `encode` writes is what Kafka writes: its bytes where nothing is compressed, its records everywhere, its reasons to refuse."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import building
import corpus
import logsegment as ls
from damage import search

TIME = 1600000000000
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
CONTENT = ["offset", "timestampMs", "key", "value", "headersRaw", "isControl"]
HEADERS = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))
#: One batch whatever it takes.
WHOLE = 1 << 30
per_codec = pytest.mark.parametrize("codec", CODECS)


def batches_of(data: bytes) -> list[dict[str, Any]]:
    return ls.batches(data).to_pylist()


def table(**columns: Any) -> pa.Table:
    types = {"key": pa.binary(), "value": pa.binary(), "headersRaw": HEADERS, "offset": pa.int64(), "timestampMs": pa.int64()}
    types |= {"isControl": pa.bool_(), "controlType": pa.string()}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def settings_of(batch: dict[str, Any]) -> dict[str, Any]:
    """The arguments that make a batch like this one."""
    names = {"producer_id": "producerId", "producer_epoch": "producerEpoch", "base_sequence": "baseSequence"}
    names |= {"partition_leader_epoch": "partitionLeaderEpoch", "transactional": "isTransactional", "timestamp_type": "timestampType"}
    return {argument: batch[column] for argument, column in names.items()}


def rewritten(entry: bytes, batch: dict[str, Any]) -> bytes:
    """The same records encoded again as one batch with the same settings."""
    records = ls.decode(entry, columns=CONTENT, control=True).to_pyarrow()
    compression = "none" if batch["isControl"] else batch["compression"]
    again = ls.encode(records, compression=compression, batch_bytes=WHOLE, **settings_of(batch))
    assert again is not None
    return again


def is_as_produced(batch: dict[str, Any], entry: bytes) -> bool:
    """False for what only a cleaner makes (V2-7, V2-14), for times that no writer takes (V2-17), KRaft's batches of several records, and
    batches of clients with an epoch or a sequence but no producer (V2-61)."""
    if batch["count"] == 0 or batch["deleteHorizonMs"] is not None or batch["attributes"] & ~0x7F:
        return False
    if batch["producerId"] == -1 and (batch["producerEpoch"], batch["baseSequence"]) != (-1, -1):
        return False
    rows = ls.decode(entry, columns=["offset", "timestampMs"], control=True).to_pyarrow().to_pylist()
    is_whole = (rows[0]["offset"], rows[-1]["offset"]) == (batch["baseOffset"], batch["lastOffset"])
    return is_whole and min(row["timestampMs"] for row in rows) >= -1 and not (batch["isControl"] and len(rows) > 1)


def kafka_batches(*, compressed: bool) -> Iterator[tuple[corpus.Case, bytes, dict[str, Any]]]:
    for case in corpus.cases():
        data = case.read()
        for batch in ls.batches(data, **case.options).to_pylist():
            entry = data[batch["position"] : batch["position"] + batch["size"]]
            is_wanted = batch["magic"] == 2 and (batch["compression"] != "none") == compressed
            if is_wanted and is_as_produced(batch, entry):
                yield case, entry, batch


def test_plain_batches_of_kafka_come_out_byte_for_byte():
    """V2, CTL-5, V2-15: brokers and clients of every version, plain, idempotent, transactional, markers, gaps, edge records.

    With LogAppendTime the producer's own times are no longer read (V2-12), so those batches are compared as records."""
    exact = others = 0
    for case, entry, batch in kafka_batches(compressed=False):
        again = rewritten(entry, batch)
        if batch["timestampType"] == "LogAppendTime":
            assert contents(again) == contents(entry), (case, batch)
            others += 1
        else:
            assert again == entry, (case, batch)
            exact += 1
    assert exact > 800
    assert others > 5


def test_compressed_batches_of_kafka_come_out_record_for_record():
    seen = set()
    for case, entry, batch in kafka_batches(compressed=True):
        again = rewritten(entry, batch)
        assert contents(again) == contents(entry), (case, batch)
        seen.add(batch["compression"])
    assert seen == {"gzip", "snappy", "lz4", "zstd"}


def contents(data: bytes) -> tuple[list[corpus.Row], list[corpus.Row]]:
    """Records, and what the headers of their batches say besides sizes and checksums."""
    columns = [*corpus.RECORD_COLUMNS, "headersRaw"]
    columns.remove("headers")
    records = corpus.rows_of(ls.decode(data, columns=columns, control=True))
    ignored = ("size", "crc", "baseTimestamp", "position")
    headers = [{name: value for name, value in row.items() if name not in ignored} for row in batches_of(data)]
    for row in records:
        row.pop("entryPosition")
    return records, headers


# Round trips.

blobs = st.one_of(st.none(), st.binary(max_size=80), st.sampled_from([b"", b"x" * 63, b"x" * 64, b"y" * 8192, bytes(70_000)]))
header_lists = st.lists(st.tuples(st.binary(max_size=9), blobs), max_size=3)
times = st.one_of(st.just(-1), st.integers(0, 2**63 - 1), st.integers(TIME, TIME + 1000))
steps = st.one_of(st.just(1), st.integers(1, 2**33))
rows = st.lists(st.tuples(blobs, blobs, header_lists, times, steps), max_size=12)


@search
@given(rows, st.sampled_from(CODECS), st.integers(0, 2**62), st.sampled_from([1, 200, 16384]))
def test_property_encode_then_decode_is_the_identity(records: list[Any], codec: str, base: int, batch_bytes: int):
    offsets = [base + sum(step for *_, step in records[: index + 1]) for index in range(len(records))]
    given_table = table(
        offset=offsets,
        timestampMs=[time for _, _, _, time, _ in records],
        key=[key for key, *_ in records],
        value=[value for _, value, *_ in records],
        headersRaw=[[{"key": key, "value": value} for key, value in headers] for _, _, headers, _, _ in records],
    )
    data = ls.encode(given_table, compression=codec, batch_bytes=batch_bytes)
    report = ls.validate(data)
    # Keys of headers need not be text, offsets may be left out, and times may look like those of another unit.
    assert {finding.rule for finding in report.findings} <= {"FND-7", "ORD-3", "TIME-1"}
    assert ls.decode(data, columns=given_table.column_names).to_pyarrow().to_pylist() == given_table.to_pylist()
    assert bool(data) == bool(records)


@per_codec
def test_a_whole_segment_decodes_and_encodes_to_the_same_records(codec: str):
    stream = ls.decode(ls.FileSource(corpus.CORPUS / f"modern-4.1.0/data/codec-{codec}-0/00000000000000000000.log"))
    first = stream.read_all().to_pyarrow()
    data = ls.encode(first, compression=codec)
    assert ls.decode(data, topic=None).to_pyarrow() == first


# Where batches end.


def kafka_ends(lengths: list[int], limit: int, packed: list[int]) -> list[int]:
    """Records of each batch by the rule of RecordAccumulator, MemoryRecordsBuilder and CompressionRatioEstimator; `packed` gives the
    packed size of each batch that was written, none when nothing is packed."""
    counts, ratio, plain, count, most = [], 1.0, 0, 0, limit
    float32 = lambda number: struct.unpack("f", struct.pack("f", number))[0]  # noqa: E731
    for length, bound in lengths:
        estimate = 61 + (int(float32(float32(plain * ratio) * float32(1.05))) if packed else plain)
        if count and estimate + length(count) > most:
            if packed:
                observed = float32(packed[len(counts)] / plain)
                moved = float32(ratio + float32(0.05) if observed > ratio else ratio - float32(0.005))
                ratio = max(moved, observed)
            counts.append(count)
            plain, count = 0, 0
        if not count:
            most = max(limit, 61 + bound)
        plain, count = plain + length(count), count + 1
    return [*counts, count]


@per_codec
@pytest.mark.parametrize("limit", [300, 16384])
def test_batches_end_where_those_of_kafkas_producer_do(codec: str, limit: int):
    values = [(b"%d order of customer %d; " % (index, index % 7)) * (index * 7919 % 40) for index in range(2000)]
    data = ls.encode(table(value=values, timestampMs=[TIME] * len(values)), compression=codec, batch_bytes=limit)
    batches = batches_of(data)
    assert max(batch["size"] for batch in batches if batch["count"] > 1) <= limit or codec != "none"

    def measure(value: bytes) -> tuple[Any, int]:
        contents = len(building.nullable(None) + building.nullable(value)) + 1
        return lambda delta: len(building.record(None, value, offset_delta=delta)), 21 + contents

    packed = [] if codec == "none" else [batch["size"] - 61 for batch in batches]
    assert [batch["count"] for batch in batches] == kafka_ends([measure(value) for value in values], limit, packed)


def test_a_record_larger_than_a_batch_gets_its_own_batch():
    data = ls.encode(table(value=[b"a", bytes(100_000), bytes(100)]))
    assert [batch["count"] for batch in batches_of(data)] == [1, 1, 1]


def test_offsets_too_far_apart_for_one_batch_make_two():
    """V2-62."""
    offsets = [0, 2**31 - 1, 2**31, 2**40]
    data = ls.encode(table(value=[b"v"] * 4, offset=offsets))
    assert [batch["count"] for batch in batches_of(data)] == [2, 1, 1]
    assert ls.decode(data, columns=["offset"]).to_pyarrow()["offset"].to_pylist() == offsets


# What batches say.


def test_offsets_go_on_where_the_table_does_not_say_them():
    data = ls.encode(table(value=[b"v"] * 4, offset=[None, 7, None, 20]), base_offset=3)
    assert ls.decode(data, columns=["offset"]).to_pyarrow()["offset"].to_pylist() == [3, 7, 8, 20]


def test_sequences_run_on_from_batch_to_batch_and_wrap_to_zero():
    """V2-6."""
    arguments = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 2**31 - 2}
    data = ls.encode(table(value=[bytes(100)] * 4), batch_bytes=300, **arguments)
    assert [(row["baseSequence"], row["lastSequence"]) for row in batches_of(data)] == [(2**31 - 2, 2**31 - 1), (0, 1)]


def test_log_append_time_is_the_time_of_all_records():
    """V2-12, V2-15."""
    records = table(value=[b"a", b"b"], timestampMs=[5, 9])
    for time, expected in [(TIME, TIME), (datetime.fromtimestamp(TIME / 1000, UTC), TIME), (None, 9)]:
        data = ls.encode(records, timestamp_type="LogAppendTime", log_append_time=time)
        assert ls.decode(data, columns=["timestampMs"]).to_pyarrow()["timestampMs"].to_pylist() == [expected] * 2
        [batch] = batches_of(data)
        assert (batch["baseTimestamp"], batch["maxTimestamp"], batch["timestampType"]) == (5, expected, "LogAppendTime")


def test_markers_are_their_own_batches_without_codec_and_sequence():
    """CTL-5, CTL-9: the sequence of the data goes on behind them."""
    records = table(
        value=[b"a longer value", None, b"another longer value", None],
        timestampMs=[TIME] * 4,
        isControl=[False, True, False, True],
        controlType=[None, "ABORT", None, "COMMIT"],
    )
    producer = {"producer_id": 1000, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    data = ls.encode(records, compression="zstd", **producer)
    batches = batches_of(data)
    assert [(row["isControl"], row["compression"], row["baseSequence"], row["size"] == 78) for row in batches] == [
        (False, "zstd", 0, False),
        (True, "none", -1, True),
        (False, "zstd", 1, False),
        (True, "none", -1, True),
    ]
    found = ls.decode(data, columns=["controlType", "isTransactional"], control=True).to_pyarrow().to_pylist()
    assert [row["controlType"] for row in found] == [None, "ABORT", None, "COMMIT"]
    assert all(row["isTransactional"] for row in found)
    assert not ls.validate(data).findings


def test_a_commit_marker_is_the_worked_example():
    """CTL-6."""
    marker = table(key=[None], value=[bytes.fromhex("000000000003")], timestampMs=[TIME], controlType=["COMMIT"])
    data = ls.encode(marker, base_offset=9, producer_id=1000, producer_epoch=0, base_sequence=0)
    assert data == bytes.fromhex(
        "000000000000000900000042ffffffff02a22193da00300000000000000174876e800000000174876e8000"
        "00000000000003e80000ffffffff000000012000000008000000010c00000000000300"
    )


@pytest.mark.parametrize(("codec", "levels"), [("gzip", [1, 9]), ("lz4", [9, 1, 17]), ("zstd", [-7, 3, 19])])
def test_levels_change_the_size_and_not_the_records(codec: str, levels: list[int]):
    """COD-2, COD-3: level 9 of lz4 is the fast compressor, and the default."""
    words = Random(7).choices([b"%d" % (number * 7919) for number in range(5000)], k=20_000)
    records = table(value=[b" ".join(words[at : at + 10]) for at in range(0, len(words), 10)])
    written = [ls.encode(records, compression=codec, level=level, batch_bytes=WHOLE) for level in levels]
    assert sorted(written, key=len, reverse=True) == written
    assert len({len(data) for data in written}) == len(levels)
    assert all(ls.decode(data, columns=["value"]).to_pyarrow() == records for data in written)
    default = ls.encode(records, compression=codec, batch_bytes=WHOLE)
    assert default == ls.encode(records, compression=codec, batch_bytes=WHOLE, level={"gzip": 6, "lz4": 9, "zstd": 3}[codec])


# What is refused.

ONE = table(value=[b"v"])
WITH_HEADER = table(value=[b"v"], headersRaw=[[{"key": b"h", "value": None}]])
PRODUCER = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
REFUSED: list[tuple[dict[str, Any], pa.Table, str, str]] = [
    ({"format": "v1", "compression": "zstd"}, ONE, "V2-60", "ZStandard compression is not supported for magic 1"),
    ({"format": "v0", "compression": "zstd"}, ONE, "V2-60", "ZStandard compression is not supported for magic 0"),
    ({"format": "0.7", "compression": "zstd"}, ONE, "L7-5", "4 is an unknown compression codec"),
    ({"format": "v1", **PRODUCER}, ONE, "V2-60", "Idempotent messages are not supported for magic 1"),
    ({"format": "v0", **PRODUCER, "transactional": True}, ONE, "V2-60", "Transactional records are not supported for magic 0"),
    (
        {"format": "v1"},
        table(value=[b"v"], headersRaw=[[{"key": b"h", "value": None}]]),
        "V2-60",
        "Magic v1 does not support record headers",
    ),
    (
        {"format": "v0"},
        table(value=[b"v"], headersRaw=[[{"key": b"h", "value": None}]]),
        "V2-60",
        "Magic v0 does not support record headers",
    ),
    ({"format": "v1"}, table(value=[None], controlType=["COMMIT"]), "V2-6", "magic 1"),
    ({"format": "0.7"}, table(value=[b"v"], key=[b"k"]), "V2-60", "Keys are not supported by Kafka 0.7"),
    ({"format": "0.7"}, table(value=[None]), "V2-60", "Null values are not supported by Kafka 0.7"),
    ({"transactional": True}, ONE, "V2-61", "Cannot write transactional messages without a valid producer ID"),
    ({"base_sequence": 5}, ONE, "V2-61", "Cannot write idempotent messages without a valid producer ID"),
    ({"producer_id": 1}, ONE, "V2-61", "Invalid negative producer epoch"),
    ({"producer_id": 1, "producer_epoch": 0}, ONE, "V2-61", "Invalid negative sequence number used"),
    ({}, table(value=[None], controlType=["COMMIT"]), "V2-61", "Cannot write transactional messages without a valid producer ID"),
    ({}, table(value=[b"v"] * 2, offset=[5, 5]), "V2-62", "Illegal offset 5 following previous offset 5"),
    ({"batch_bytes": 1}, table(value=[b"v"] * 2, offset=[5, 4]), "V2-62", "Illegal offset 4 following previous offset 5"),
    ({}, table(value=[b"v"], timestampMs=[-2]), "V2-17", "Invalid negative timestamp -2"),
    ({}, table(value=[b"v"], headersRaw=[[{"key": None, "value": None}]]), "V2-20", "Invalid null header key found in headers"),
    ({"compression": "gzip", "level": 10}, ONE, "COD-2", "gzip doesn't support given compression level: 10"),
    ({"compression": "lz4", "level": 0}, ONE, "COD-2", "lz4 doesn't support given compression level: 0"),
    ({"compression": "zstd", "level": 23}, ONE, "COD-2", "zstd doesn't support given compression level: 23"),
    ({"compression": "snappy", "level": 1}, ONE, "COD-2", "snappy doesn't support given compression level: 1"),
]


@pytest.mark.parametrize(("arguments", "records", "rule", "reason"), REFUSED)
def test_what_kafka_refuses_is_refused_with_its_reason(arguments: dict[str, Any], records: pa.Table, rule: str, reason: str):
    with pytest.raises(ValueError, match=rf"^\[{rule}") as raised:
        ls.encode(records, **arguments)
    assert not isinstance(raised.value, ls.RecordBatchError)
    assert reason in str(raised.value)


def test_refusals_say_the_row():
    with pytest.raises(ValueError, match=r"\[V2-17\] in row 101:"):
        ls.encode(table(value=[b"v"] * 102, timestampMs=[0] * 101 + [-2]))


def test_an_unknown_compression_name_is_kafkas_illegal_argument():
    """COD-1."""
    for name in ("brotli", "GZIP", "producer", ""):
        with pytest.raises(ls.UnknownCompressionError, match=rf"Unknown compression name: {name} \(use none, gzip, ") as raised:
            ls.encode(ONE, compression=name)
        assert (raised.value.code, raised.value.kafka_error_code) == ("unknown_compression", None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"format": "v4"}, "format"),
        ({"timestamp_type": "NoTimestampType"}, "timestamp_type"),
        ({"base_offset": -1}, "base_offset"),
        ({"batch_bytes": 0}, "batch_bytes"),
        ({"log_append_time": 5}, "log_append_time"),
        ({"timestamp_type": "LogAppendTime", "log_append_time": datetime(2020, 1, 1)}, "time zone"),
        ({"metadata_first": True}, "metadata_first"),
        ({"lz4_header_checksum": "wrong"}, "lz4_header_checksum"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], says: str):
    with pytest.raises(ValueError, match=says):
        ls.encode(ONE, **arguments)


def test_calls_know_nothing_of_each_other():
    """Storage and packing contexts are kept between calls; offsets, sequences and guesses about sizes are not."""
    records = table(value=[b"%d order" % index * 20 for index in range(500)])
    settings: list[dict[str, Any]] = [{"compression": codec, "batch_bytes": size} for codec in CODECS for size in (500, 16384)]
    settings += [{"format": "v0", "compression": "lz4"}, {"format": "v1", "base_offset": 7}, PRODUCER, {"compression": "zstd", "level": 19}]
    first = [ls.encode(records, **arguments) for arguments in settings]
    with pytest.raises(ValueError, match="V2-17"):
        ls.encode(table(value=[b"v"] * 9, timestampMs=[0] * 8 + [-2]))
    assert [ls.encode(records, **arguments) for arguments in reversed(settings)] == first[::-1]


@pytest.mark.parametrize("level", range(1, 10))
def test_cod_g1_python_unpacks_gzip_of_every_level(level: int) -> None:
    """Python's zlib is that of the JDK: text that repeats, noise, and more than one block of DEFLATE."""
    random = Random(level)
    texts = [f'{{"id": {n}, "customer": {random.randrange(99)}}}'.encode() for n in range(1500)]
    values = texts + [random.randbytes(random.choice([0, 1, 300, 20000])) for _ in range(30)] + texts
    for count in (1, 10, len(values)):
        records = table(value=values[:count])
        packed, plain = (ls.encode(records, batch_bytes=WHOLE, **codec) for codec in ({"compression": "gzip", "level": level}, {}))
        assert gzip.decompress(packed[building.HEADER_LEN :]) == plain[building.HEADER_LEN :]
        assert len(packed) < len(plain) + 80
