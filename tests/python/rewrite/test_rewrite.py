"""`rewrite` drops, masks and keeps what it is told, keeps the facts of every batch, and accounts for every byte."""

from __future__ import annotations

import hashlib
import hmac
import io
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corpus
import logsegment as ls
from building import message
from rewritten_logs import make_log

MODERN = corpus.CORPUS / "modern-4.1.0/data"
HEADER = ["baseOffset", "lastOffset", "magic", "compression", "timestampType", "producerId", "producerEpoch", "baseSequence"]
HEADER += ["lastSequence", "partitionLeaderEpoch", "isTransactional", "isControl"]


def encoded(first: int, keys: str, **options: Any) -> bytes:
    """One batch with a record for each letter: its key, and as its value the letter ten times."""
    columns = {
        "offset": pa.array(range(first, first + len(keys)), pa.int64()),
        "key": pa.array([key.encode() for key in keys], pa.binary()),
        "value": pa.array([key.encode() * 10 for key in keys], pa.binary()),
        "timestampMs": pa.array(range(1000 + first, 1000 + first + len(keys)), pa.int64()),
    }
    return ls.encode(pa.table(columns), **options)


def keys_of(data: bytes | None) -> str:
    return b"".join(row["key"] for row in ls.decode(data, columns=["key"]).to_pylist()).decode()


def headers(data: bytes | None) -> list[list[Any]]:
    return [[row[name] for name in HEADER] for row in ls.batches(data, resolve=True).to_pylist()]


def assert_accounted(done: ls.Rewrite, data: bytes) -> None:
    """The ranges follow each other, are the input, and their outputs are the output."""
    (file,) = done.files
    at = written = 0
    for span in file.ranges:
        assert (span.position, span.output_position) == (at, written), span
        at, written = at + span.length, written + span.output_length
        if span.action == "copied" and done.data is not None:
            kept = done.data[span.output_position : span.output_position + span.output_length]
            assert kept == data[span.position : span.position + span.length]
        assert (span.action == "dropped") == (span.output_length == 0)
    assert (at, file.input_bytes) == (len(data), len(data))
    assert file.input_sha256 == hashlib.sha256(data).hexdigest()
    assert written == file.output_bytes
    if done.data is not None:
        assert file.output_sha256 == hashlib.sha256(done.data).hexdigest()


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_untouched_batches_stay_and_touched_ones_keep_their_header(compression: str) -> None:
    parts = [encoded(0, "aaaa", compression=compression), encoded(4, "abc", compression=compression), encoded(7, "ccc")]
    data = b"".join(parts)
    done = ls.rewrite(data, drop=["b"])
    assert done.data is not None
    assert done.data.startswith(parts[0])
    assert done.data.endswith(parts[2])
    assert keys_of(done.data) == "aaaaacccc"
    assert headers(done.data) == headers(data)
    assert [item.action for item in done.files[0].ranges] == ["copied", "rewritten", "copied"]
    assert (done.records, done.dropped) == (10, 1)
    assert_accounted(done, data)


@pytest.mark.parametrize("seed", range(120))
def test_every_record_that_is_not_meant_stays_and_every_byte_is_accounted_for(seed: int) -> None:
    made = make_log(seed)
    done = ls.rewrite(made.data, drop=made.drop, allow_lower_end=True)
    columns = ["offset", "key", "value", "timestampMs", "headers", "sequence", "isControl", "controlType"]
    before = ls.decode(made.data, columns=columns, control=True).to_pylist()
    expected = [row for row in before if row["isControl"] or row["key"] not in made.drop]
    assert ls.decode(done.data, columns=columns, control=True).to_pylist() == expected
    assert done.dropped == len(before) - len(expected)
    assert_accounted(done, made.data)


def test_keys_may_be_lists_arrays_and_files(tmp_path: Path) -> None:
    data = encoded(0, "abcd")
    lines, table = tmp_path / "keys.txt", tmp_path / "keys.parquet"
    lines.write_bytes(b"a\r\n\nc\n\r\n")
    pq.write_table(pa.table({"id": [1, 2], "key": ["a", "c"]}), table)
    many = [
        ["a", b"c"],
        {"a", "c"},
        pa.array(["a", "c"]),
        pa.array([b"a", b"c"], pa.large_binary()),
        pa.array(["a", "c"], pa.string_view()),
    ]
    many += [pa.chunked_array([["a"], ["c"]]), str(lines), lines, table, ls.Selection(record_keys=["a", "c"])]
    for keys in many:
        assert keys_of(ls.rewrite(data, drop=keys).data) == "bd"
        assert keys_of(ls.rewrite(data, keep=keys).data) == "ac"


@pytest.mark.parametrize("keys", [b"a", 7, [7], pa.array([1]), {"a": 1}])
def test_other_keys_are_an_error(keys: Any) -> None:
    with pytest.raises(TypeError, match="key"):
        ls.rewrite(encoded(0, "a"), drop=keys)


def test_the_null_key_is_no_empty_key() -> None:
    rows = pa.table({"key": pa.array([None, b"", b"a"], pa.binary()), "value": ["1", "2", "3"]})
    data = ls.encode(rows)
    values = lambda keys: [row["value"] for row in ls.decode(ls.rewrite(data, drop=keys).data, columns=["value"]).to_pylist()]  # noqa: E731
    assert values([None]) == [b"2", b"3"]
    assert values([b""]) == [b"1", b"3"]


def test_conditions_of_a_selection_hold_together() -> None:
    data = encoded(0, "abab") + encoded(4, "abab")
    assert keys_of(ls.rewrite(data, drop=ls.Selection(record_keys=["a"], offsets=(2, 5))).data) == "abbbab"
    assert keys_of(ls.rewrite(data, drop=ls.Selection(offsets=[0, range(4, 6)])).data) == "babab"
    assert keys_of(ls.rewrite(data, drop=ls.Selection(times=(1004, None))).data) == "abab"
    assert keys_of(ls.rewrite(data, keep=ls.Selection(times=(None, 1002)), drop=["a"]).data) == "b"


def test_headers_select_by_name_and_value() -> None:
    tenants = [[("tenant", b"acme")], [("tenant", b"other")], [], [("tenant", None)]]
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    rows = pa.table(
        {
            "key": list("abcd"),
            "headers": pa.array([[dict(zip(("key", "value"), item, strict=True)) for item in row] for row in tenants], kind),
        }
    )
    data = ls.encode(rows.append_column("value", pa.array(["v"] * 4)))
    keep = lambda given: keys_of(ls.rewrite(data, keep=ls.Selection(headers=given)).data)  # noqa: E731
    assert keep(["tenant"]) == "abd"
    assert keep({"tenant": "acme"}) == "a"
    assert keep({"tenant": ["acme", None]}) == "ad"
    assert keep({b"tenant": b"other"}) == "b"


@pytest.mark.parametrize("bad", [{}, {"offsets": "1..2"}, {"offsets": (5, 1)}, {"times": 5}, {"headers": [7]}])
def test_invalid_selections_are_errors(bad: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        ls.Selection(**bad)


def test_masks_and_tombstones() -> None:
    rows = pa.table({"key": list("abcd"), "value": pa.array([b"one", b"two", None, b""], pa.binary())})
    data = ls.encode(rows)
    secret = b"0123456789abcdef"
    hashed = hmac.digest(secret, b"one", "sha256")[:12].hex().encode()
    values = lambda **how: [row["value"] for row in ls.decode(ls.rewrite(data, **how).data, columns=["value"]).to_pylist()]  # noqa: E731
    assert values(tombstone=["a", "c"]) == [None, b"two", None, b""]
    assert values(mask=list("abcd")) == [b"", b"", None, b""]
    assert values(mask=["a", "c"], mask_with="null") == [None, b"two", None, b""]
    assert values(mask=["a", "c"], mask_with="hash", mask_key=secret) == [hashed, b"two", None, b""]
    done = ls.rewrite(data, tombstone=["a"], mask=["a", "b"], drop=["d"])
    assert (done.dropped, done.tombstoned, done.masked) == (1, 1, 1)
    assert ls.rewrite(data, mask=["c", "d"]).files[0].is_unchanged


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"drop": ["a"], "mask_with": "hash"},
        {"drop": ["a"], "mask_key": b"x" * 16},
        {"mask": ["a"], "mask_with": "zeros"},
        {"mask": ["a"], "mask_with": "hash", "mask_key": b"short"},
    ],
)
def test_options_that_do_nothing_or_contradict_each_other_are_errors(how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"nothing to do|mask"):
        ls.rewrite(encoded(0, "a"), **how)


def test_what_loses_all_records_goes_but_for_the_last_batches() -> None:
    producer = {"producer_id": 7, "producer_epoch": 0}
    parts = [encoded(0, "aa"), encoded(2, "aa", base_sequence=0, **producer), encoded(4, "aa", base_sequence=2, **producer)]
    data = b"".join([*parts, encoded(6, "b"), encoded(7, "a")])
    done = ls.rewrite(data, drop=["a"])
    rows = ls.batches(done.data).to_pylist()
    assert [(row["baseOffset"], row["count"], row["producerId"], row["lastSequence"]) for row in rows] == [
        (4, 0, 7, 3),
        (6, 1, -1, -1),
        (7, 0, -1, -1),
    ]
    assert done.files[0].emptied == 2
    assert ls.validate(done.data).ok
    assert_accounted(done, data)


def test_an_open_transaction_still_begins_where_it_began() -> None:
    options = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    data = encoded(0, "b") + encoded(1, "a", base_sequence=0, **options) + encoded(2, "a", base_sequence=1, **options) + encoded(3, "b")
    done = ls.rewrite(data, drop=["a"])
    assert [(row["baseOffset"], row["count"]) for row in ls.batches(done.data).to_pylist()] == [(0, 1), (1, 0), (2, 0), (3, 1)]
    assert ls.decode(done.data, isolation="read_committed", columns=["offset"]).to_pylist() == [{"offset": 0}]


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_refuse_to_lower_the_log_end_offset(magic: int) -> None:
    data = encoded(0, "b", format=f"v{magic}") + encoded(1, "a", format=f"v{magic}")
    with pytest.raises(ls.LossError, match="allow_lower_end"):
        ls.rewrite(data, drop=["a"])
    assert keys_of(ls.rewrite(data, drop=["a"], allow_lower_end=True).data) == "b"


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4"])
def test_wrappers_keep_the_offsets_of_their_messages(magic: int, compression: str) -> None:
    data = encoded(10, "abcde", format=f"v{magic}", compression=compression)
    rows = ls.decode(ls.rewrite(data, drop=["a", "c"]).data).to_pylist()
    assert [(row["offset"], row["key"]) for row in rows] == [(11, b"b"), (13, b"d"), (14, b"e")]


def test_kafka_0_7_is_refused_since_offsets_are_positions() -> None:
    data = ls.encode(pa.table({"value": ["one", "two"]}), format="0.7")
    some = ls.Selection(offsets=(0, 15))
    with pytest.raises(ls.LossError, match="allow_loss"):
        ls.rewrite(data, drop=some, format="0.7")
    done = ls.rewrite(data, drop=some, format="0.7", allow_loss=True)
    assert [row["value"] for row in ls.decode(done.data, format="0.7").to_pylist()] == [b"two"]
    assert ls.rewrite(data, drop=ls.Selection(offsets=(500, 600)), format="0.7").files[0].is_unchanged


@pytest.mark.parametrize("metadata_first", [False, True])
def test_the_proposed_format_is_rewritten_too(metadata_first: bool) -> None:
    data = encoded(0, "abc", format="v3", compression="zstd", metadata_first=metadata_first)
    done = ls.rewrite(data, drop=["b"], format="v3")
    before, after = (ls.decode(log, format="v3").to_pylist() for log in (data, done.data))
    assert after == [row for row in before if row["key"] != b"b"]
    assert headers_v3(done.data) == headers_v3(data)
    with pytest.raises(ls.UnsupportedError):
        ls.rewrite(data, drop=["b"])


def headers_v3(data: bytes | None) -> list[Any]:
    return [[row[name] for name in (*HEADER, "attributes")] for row in ls.batches(data, format="v3").to_pylist()]


def test_compression_is_that_of_batches_that_are_written_anew() -> None:
    data = encoded(0, "aaa", compression="gzip") + encoded(3, "aab", compression="gzip")
    done = ls.rewrite(data, drop=["b"], compression="zstd")
    assert [row["compression"] for row in ls.batches(done.data).to_pylist()] == ["gzip", "zstd"]


def test_attributes_that_nobody_uses_stay() -> None:
    """Kafka's builder loses the upper byte (V2-2)."""
    data = bytearray(encoded(0, "ab"))
    data[21] = 0x40
    data[17:21] = crc(bytes(data[21:]))
    done = ls.rewrite(bytes(data), drop=["a"])
    assert [row["attributes"] for row in ls.batches(done.data).to_pylist()] == [0x4000]


def crc(data: bytes) -> bytes:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return (value ^ 0xFFFFFFFF).to_bytes(4, "big")


def test_damage_is_an_error_with_its_place() -> None:
    good = encoded(0, "ab")
    data = bytearray(good + encoded(2, "ab"))
    data[-1] ^= 1
    for drop in (["zz"], ls.Selection(offsets=(0, 1))):
        with pytest.raises(ls.ChecksumError) as raised:
            ls.rewrite(bytes(data), drop=drop)
        assert raised.value.position == len(good)


@pytest.mark.parametrize("tail", [b"\0" * 100, b"\0" * 5000, encoded(2, "abc")[:40]])
def test_what_follows_the_last_batch_is_dropped_and_reported(tail: bytes) -> None:
    data = encoded(0, "ab") + tail
    done = ls.rewrite(data, drop=["a"])
    assert keys_of(done.data) == "b"
    assert done.files[0].ranges[-1].length == len(tail)
    assert done.files[0].ranges[-1].first_offset is None
    assert [finding.position for finding in done.findings] == [len(data) - len(tail)]
    assert_accounted(done, data)


def test_outputs_of_one_file(tmp_path: Path) -> None:
    source, out = tmp_path / "00000000000000000000.log", tmp_path / "clean.log"
    source.write_bytes(encoded(0, "ab"))
    before = source.read_bytes()
    done = ls.rewrite(source, out, drop=["a"])
    assert (done.data, done.output, done.files[0].source) == (None, str(out), str(source))
    assert keys_of(out.read_bytes()) == "b"
    with pytest.raises(FileExistsError):
        ls.rewrite(source, out, drop=["b"])
    ls.rewrite(source, out, drop=["b"], overwrite=True)
    assert keys_of(out.read_bytes()) == "a"
    with pytest.raises(ValueError, match="source"):
        ls.rewrite(source, source, drop=["a"], overwrite=True)
    memory = io.BytesIO()
    ls.rewrite(ls.FileSource(source), memory, drop=["a"])
    assert keys_of(memory.getvalue()) == "b"
    dry = ls.rewrite(source, tmp_path / "none.log", drop=["a"], dry_run=True)
    assert dry.files[0].output_sha256 == hashlib.sha256(memory.getvalue()).hexdigest()
    assert not (tmp_path / "none.log").exists()
    assert source.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000000000000000000.log", "clean.log"]


def test_a_file_object_cannot_be_read_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        ls.rewrite(io.BytesIO(encoded(0, "ab")), drop=["a"])


@pytest.mark.parametrize("partition", sorted(path.name for path in MODERN.iterdir() if path.is_dir()))
def test_a_log_of_a_broker_that_loses_nothing_stays_byte_for_byte(partition: str) -> None:
    for segment in MODERN.joinpath(partition).glob("*.log"):
        data = segment.read_bytes()
        done = ls.rewrite(data, drop=[b"no such key"])
        whole = sum(span.length for span in done.files[0].ranges if span.action == "copied")
        assert done.data == data[:whole]
        assert {span.action for span in done.files[0].ranges if span.first_offset is not None} <= {"copied"}


@pytest.mark.parametrize("magic", [0, 1])
def test_uncompressed_messages_stay_byte_for_byte(magic: int) -> None:
    rows = [message(b"v", magic=magic, key=b"k%d" % at, offset=at) for at in range(3)]
    assert ls.rewrite(b"".join(rows), drop=["k1"]).data == rows[0] + rows[2]


@pytest.mark.parametrize("offset", [0, 5, 350, 699, None])
def test_hashes_of_several_runs_are_those_of_all_bytes(offset: int | None, tmp_path: Path) -> None:
    """The hash of the output is that of the input up to the first change, wherever it is."""
    values = [random.Random(number).randbytes(9000) for number in range(10)]
    data = b"".join(ls.encode(pa.table({"key": [b"k"] * 10, "value": values}), base_offset=10 * number) for number in range(70))
    assert len(data) > 6 << 20
    (tmp_path / "in.log").write_bytes(data)
    drop = ["no such key"] if offset is None else ls.Selection(offsets=offset)
    done = ls.rewrite(tmp_path / "in.log", tmp_path / "out.log", drop=drop)
    written = (tmp_path / "out.log").read_bytes()
    assert (written == data) == (offset is None)
    assert len(ls.decode(written, columns=["offset"]).to_pylist()) == 700 - done.dropped
    memory, file = io.BytesIO(), done.files[0]
    for other in (
        done,
        ls.rewrite(data, drop=drop),
        ls.rewrite(data, drop=drop, dry_run=True),
        ls.rewrite(data, memory, drop=drop),
    ):
        assert other.files[0].input_sha256 == hashlib.sha256(data).hexdigest()
        assert other.files[0].output_sha256 == hashlib.sha256(written).hexdigest()
        assert other.files[0].ranges == file.ranges
        assert other.data in (None, written)
    assert memory.getvalue() == written
