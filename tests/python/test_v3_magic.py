"""FND-18: no checksum covers the magic, and one flipped bit makes 3 of 2 and 2 of 3. What is written here is never taken for that."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import building
import corpus
import logsegment as ls
from cli_process import MODERN
from logsegment.plugins import Entry, MemoryRegistry

PLUGINS = MemoryRegistry([Entry(3, "bz", "logsegment.plugins.ready:Bzip2", "v1.0")])
CODECS = ("none", "gzip", "snappy", "lz4", "zstd", "bz")
SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("timestampMs", pa.int64())])
NONE: dict[str, Any] = {}
FIRST = {"producer_id": 0, "producer_epoch": 0, "base_sequence": 0}
PRODUCERS = (
    NONE,
    FIRST,
    FIRST | {"producer_id": 5, "producer_epoch": 1, "transactional": True},
    FIRST | {"producer_id": 2**40, "producer_epoch": 32767, "base_sequence": 65536},
)
#: Where magic 2 has its count and its first record, these put numbers that may be both.
SMALL = st.sampled_from([b"", bytes(8), bytes(10), bytes(40), b"\0\0\0\1" * 3, b"\0\0\1\0" * 3, struct.pack(">qq", 1, 2), b"\1" * 9])
EARLY = st.sampled_from([-1, 0, 1, 127, 128, 1000, 1001, 3_600_000, 86_400_000]) | st.integers(0, 2**33)
RECORDS = st.lists(
    st.fixed_dictionaries({"key": st.none() | SMALL, "value": st.none() | SMALL | st.binary(max_size=99), "timestampMs": EARLY}),
    min_size=1,
    max_size=4,
)


def flipped(data: bytes, magic: int) -> bytes:
    return data[:16] + bytes([magic]) + data[17:]


def errors(data: bytes, **options: Any) -> list[tuple[str, str | None]]:
    return [(finding.rule, finding.field) for finding in ls.validate(data, **options).findings if finding.severity == "error"]


@settings(max_examples=200, deadline=None)
@given(RECORDS, st.sampled_from(CODECS), st.booleans(), st.sampled_from(PRODUCERS))
@example([{"key": None, "value": bytes(10), "timestampMs": 1000}], "none", False, FIRST)
@example([{"key": b"", "value": bytes(8), "timestampMs": 86_400_000}], "none", True, FIRST)
@example([{"key": b"\0\0", "value": b"", "timestampMs": 127}, {"key": b"", "value": None, "timestampMs": 126}], "none", True, FIRST)
def test_property_every_reader_reads_what_is_written(records: list[Any], codec: str, metadata_first: bool, producer: dict[str, Any]):
    """The first months of 1970, and any producer: a reading that holds is never refused for the other."""
    source = pa.Table.from_pylist(records, schema=SCHEMA)
    made = ls.encode(source, format="v3", compression=codec, metadata_first=metadata_first, codecs=PLUGINS, **producer)
    reading: dict[str, Any] = {"format": "v3", "codecs": PLUGINS}
    assert pa.table(ls.decode(made, columns=SCHEMA.names, **reading)).to_pylist() == records
    assert ls.batches(made, **reading).to_pyarrow().num_rows == 1
    for depth in ("headers", "metadata", "full"):
        assert errors(made, depth=depth, **reading) == []
    v2 = ls.convert(made, to="v2", **reading).data
    assert v2 == ls.encode(source, compression=codec, codecs=PLUGINS, **producer)
    assert ls.convert(v2, to="v3", metadata_first=metadata_first, codecs=PLUGINS).data == made
    assert ls.salvage(made, **reading).data == made


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("metadata_first", [False, True])
@pytest.mark.parametrize("producer", PRODUCERS)
def test_a_magic_3_that_became_2_is_recognized(codec: str, metadata_first: bool, producer: dict[str, Any]):
    for time in (2**33, 1_700_000_000_000):
        source = pa.table({"key": [b"key"] * 3, "value": [b"value %d" % index for index in range(3)], "timestampMs": [time] * 3})
        made = ls.encode(source, format="v3", compression=codec, metadata_first=metadata_first, codecs=PLUGINS, **producer)
        for reading in ({}, {"format": "v3"}, {"format": "v2"}):
            damaged = flipped(made, 2)
            assert errors(damaged, codecs=PLUGINS, **reading) == [("FND-18", "magic")]
            with pytest.raises(ls.InvalidError, match=r"magic is 2.*magic 3"):
                ls.decode(damaged, codecs=PLUGINS, **reading).read_all()
        assert errors(flipped(damaged, 3), format="v3", codecs=PLUGINS) == []


def test_a_batch_of_magic_3_that_became_an_empty_one_of_magic_2_loses_nothing_in_silence():
    """Without a producer magic 2 has -1 for its last offset delta and 0 records there."""
    first, *others = (
        ls.encode(pa.table({"value": [b"v"], "timestampMs": [1_700_000_000_000 + at]}), format="v3", base_offset=at) for at in range(3)
    )
    log = flipped(first, 2) + b"".join(others)
    with pytest.raises(ls.InvalidError) as raised:
        ls.decode(log, format="v3").read_all()
    assert (raised.value.rule, raised.value.position, raised.value.field) == ("FND-18", 0, "magic")
    skipping = ls.decode(log, columns=["offset"], format="v3", on_error="skip")
    assert [row["offset"] for row in corpus.rows_of(skipping)] == [1, 2]
    assert [finding.rule for finding in skipping.findings] == ["FND-18"]
    assert ls.salvage(log, format="v3").data == b"".join(others)


def with_record_attributes(offset: int, codec: str = "none", **header: Any) -> bytes:
    """A batch of magic 3 without bit 7: one of its records has attributes."""
    content = building.record(value=b"first") + building.record(value=b"second", offset_delta=1, attributes=1)
    v2 = building.batch(content, count=2, base_offset=offset, base_timestamp=1_700_000_000_000, **header)
    made = ls.convert(v2, to="v3", compression=codec, codecs=PLUGINS).data
    assert made[22] & 0x80 == 0
    return made


TRANSACTIONAL: dict[str, Any] = {"attributes": building.TRANSACTIONAL, "producer_id": 5, "producer_epoch": 0, "base_sequence": 0}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("header", [NONE, TRANSACTIONAL, TRANSACTIONAL | {"producer_id": 2**40}], ids=["none", "small", "large"])
def test_a_magic_3_with_record_attributes_that_became_2_is_recognized_by_every_reader(codec: str, header: dict[str, Any]):
    """Its attributes are those of magic 2; what gives it away are numbers that do not add up."""
    made = with_record_attributes(0, codec, **header)
    assert errors(made, format="v3", codecs=PLUGINS) == []
    for reading in ({}, {"format": "v3"}, {"format": "v2"}):
        for depth in ("headers", "metadata", "full"):
            assert errors(flipped(made, 2), depth=depth, codecs=PLUGINS, **reading) == [("FND-18", "magic")]
        for read in (ls.decode, ls.batches):
            with pytest.raises(ls.InvalidError, match="FND-18"):
                read(flipped(made, 2), codecs=PLUGINS, **reading).read_all()


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
def test_a_magic_3_that_became_2_opens_no_transaction_at_which_a_committed_read_ends(codec: str, tmp_path: Path):
    """TXN-6: as magic 2 it is of a producer of garbage, whose transaction never ends; its checksum matches."""
    plain, behind = building.simple_batch([b"a", b"b"], 0), building.simple_batch([b"e"], 4)
    log = plain + flipped(with_record_attributes(2, codec, **TRANSACTIONAL), 2) + behind
    assert ls.scan_transactions([log]).last_stable_offset is None
    (tmp_path / f"{0:020d}.log").write_bytes(log)
    options: dict[str, Any] = {"columns": ["offset"], "isolation": "read_committed"}
    readers = (lambda **more: ls.decode(log, **options, **more), lambda **more: ls.Log(tmp_path).records(**options, **more))
    for reader in readers:
        with pytest.raises(ls.InvalidError, match="FND-18"):
            reader().read_all()
        skipping = reader(on_error="skip")
        assert [row["offset"] for row in corpus.rows_of(skipping)] == [0, 1, 4]
        assert [finding.rule for finding in skipping.findings if finding.severity == "error"] == ["FND-18"]


@pytest.mark.parametrize(("count", "last"), [(0, 4), (0, 0), (3, 0), (2, -1)])
def test_a_batch_of_magic_2_whose_count_is_none_of_its_offsets_stays_one(count: int, last: int):
    """Compaction empties batches, and some clients tell a last offset that is too small."""
    content = b"".join(building.record(value=b"%d" % index, offset_delta=index) for index in range(count))
    for producer in (NONE, {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}):
        data = building.batch(content, count=count, last_offset_delta=last, base_timestamp=1_700_000_000_000, **producer)
        assert [row["value"] for row in corpus.rows_of(ls.decode(data, columns=["value"]))] == [b"%d" % index for index in range(count)]


def test_transactions_of_a_broker_whose_magic_was_flipped_there_and_back():
    """Every batch of a broker's log, markers too: each flip is an error, and no batch of garbage."""
    seen = 0
    for file in sorted(MODERN.glob("*transactions*/*.log")):
        raw = file.read_bytes()
        for row in ls.batches(raw).to_pyarrow().to_pylist():
            batch = raw[row["position"] : row["position"] + row["size"]]
            for metadata_first in (False, True):
                made = ls.convert(batch, to="v3", metadata_first=metadata_first).data
                assert errors(flipped(made, 2)) == [("FND-18", "magic")]
            assert {rule for rule, _ in errors(flipped(batch, 3), format="v3")} <= {"FND-18", "PRM-4"}
            assert errors(flipped(batch, 3), format="v3")
            seen += 1
    assert seen > 40


@pytest.mark.parametrize("attributes", [0x80, 0x1000, 0x1080])
def test_a_batch_of_magic_2_with_bits_that_only_magic_3_knows_stays_one(attributes: int):
    """S-V18: there the bits mean nothing, as long as its records are where magic 2 has them."""
    data = building.batch(building.record(value=b"a") + building.record(value=b"b", offset_delta=1), count=2, attributes=attributes)
    assert [row["value"] for row in corpus.rows_of(ls.decode(data, columns=["value"]))] == [b"a", b"b"]
    assert errors(data) == []


def test_the_magic_of_a_damaged_batch_is_not_blamed():
    """Neither reading holds: what is told is what the stated one meets."""
    data = bytearray(building.batch(building.record(value=b"a" * 40), count=1, attributes=0x80))
    data[61] ^= 0x40
    assert errors(bytes(data)) == [("V2-31", "crc")]
