"""L8-33, KAFKA-4298: a wrapper of magic 0 has no time in its header, and the messages of magic 1 in it have."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import building
import corpus
import logsegment as ls
import made_logs


def segment(directory: Path, entries: bytes) -> ls.Segment:
    directory.mkdir()
    path = directory / f"{0:020}.log"
    path.write_bytes(entries)
    return ls.Segment(path)


def wrapper(stamps: list[int], first_offset: int) -> bytes:
    inner = [
        building.message(b"inner", magic=1, offset=offset, timestamp=timestamp) for offset, timestamp in enumerate(stamps, first_offset)
    ]
    last = first_offset + len(stamps) - 1
    return building.message(gzip.compress(b"".join(inner)), magic=0, offset=last, attributes=building.GZIP)


def test_messages_of_a_wrapper_without_a_time_are_found_by_theirs(tmp_path: Path):
    vectors = json.loads((corpus.CORPUS / "vectors.json").read_text())["vectors"]
    (vector,) = [vector for vector in vectors if vector["name"] == "edge_v0_wrapper_v1_inner"]
    mixed = segment(tmp_path / "mixed-0", bytes.fromhex(vector["data"]))
    assert mixed.batches().to_pylist()[0]["maxTimestamp"] == -1
    assert [mixed.offset_for_timestamp(wanted) for wanted in (-1, 5, 6, 7)] == [0, 0, 1, None]
    later = mixed.records(columns=["offset", "timestampMs"], start_timestamp=6)
    assert later.to_pyarrow().to_pylist() == [{"offset": 1, "timestampMs": 6}]


@pytest.mark.parametrize("first_magic", [0, 1])
def test_no_time_index_leads_past_such_a_wrapper(tmp_path: Path, first_magic: int):
    plain = [building.message(b"plain", magic=1, offset=offset, timestamp=10 * offset) for offset in range(3, 9)]
    entries = [building.message(b"first", magic=first_magic, timestamp=1), wrapper([100, 55], 1), *plain, wrapper([7], 9)]
    mixed = segment(tmp_path / "mixed-0", b"".join(entries))
    made_logs.index(tmp_path / "mixed-0", interval=1)
    assert len(mixed.time_index) > 4
    records = mixed.records(columns=["offset", "timestampMs"]).to_pyarrow().to_pylist()
    for wanted in range(-1, 103):
        expected = next((row["offset"] for row in records if row["timestampMs"] >= wanted), None)
        assert mixed.offset_for_timestamp(wanted) == expected, wanted


def test_a_wrapper_that_cannot_be_decompressed_is_not_skipped(tmp_path: Path):
    broken = building.message(b"no gzip", magic=0, attributes=building.GZIP)
    with pytest.raises(ls.CodecError):
        segment(tmp_path / "broken-0", broken).offset_for_timestamp(5)
