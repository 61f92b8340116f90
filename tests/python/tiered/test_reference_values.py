"""Values from the tests and the output of Aiven, Kafka and Pinterest, and layouts that only some verbs were shown."""

from __future__ import annotations

import base64
import builtins
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import run
from logsegment._core import Place
from logsegment._places import join_path
from logsegment.tiered.keys import _data_key, _private_key

DATA = corpus.CORPUS / "modern-4.1.0/data"
TRANSACTIONS = DATA / "transactions-multi-segment-0"
IDS = "0009746f2d7069632e6131627a1474df458cbaee3cf065d7aa490000000100b6a8a629e6704ad3843b04734f72f9a100"
COPIED = f"0100{IDS}00000000000004d20000000000000599000000070000018bcfe56d990000018bcfe56fd003"
COPIED += "0000000000000000000004d200000000030000000000000514000000314400"
SEGMENT = {
    "topicIdPartition": {"name": "to-pic.a", "id": tiered.TOPIC_ID, "partition": 1},
    "id": "tqimKeZwStOEOwRzT3L5oQ",
}


def said(*values: str) -> list[dict[str, Any]]:
    table = pa.table({"key": pa.nulls(len(values), pa.binary()), "value": pa.array(map(bytes.fromhex, values), pa.binary())})
    stream = ls.decode(ls.encode(table) or b"", columns=[], topic="__remote_log_metadata", values="internal")
    rows = stream.to_pyarrow()["internal"].to_pylist()
    assert stream.findings == []
    return [row | {"value": json.loads(row["value"])} for row in rows]


@pytest.mark.parametrize(("end", "is_empty"), [("0000", False), ("0001000101", True)])
def test_a_copied_segment_in_the_metadata_topic(end: str, is_empty: bool):
    """TS-73, TS-74: with and without the tag of Kafka 4."""
    (row,) = said(COPIED + end)
    value = row["value"]
    assert (row["type"], row["version"]) == ("REMOTE_LOG_SEGMENT_METADATA_RECORD", 0)
    assert value.pop("txnIndexEmpty", False) is is_empty
    assert value.pop("customMetadata") is None
    assert value == {
        "remoteLogSegmentId": SEGMENT,
        "startOffset": 1234,
        "endOffset": 1433,
        "brokerId": 7,
        "maxTimestampMs": 1700000001433,
        "eventTimestampMs": 1700000002000,
        "segmentLeaderEpochs": [{"leaderEpoch": 0, "offset": 1234}, {"leaderEpoch": 3, "offset": 1300}],
        "segmentSizeInBytes": 12612,
        "remoteLogSegmentState": 0,
    }


def test_an_update_and_a_deletion_in_the_metadata_topic():
    """TS-75, TS-76, also with the custom metadata that Aiven's plug-in puts there."""
    custom = "0200" + "02c8010204" + "04666f6f"
    assert len(bytes.fromhex(custom)) == 11
    update, aiven, deletion = said(
        f"0101{IDS}000000070000018bcfe573b804010203" + "0100",
        f"0101{IDS}000000070000018bcfe573b80c{custom}0100",
        f"0102{IDS[:52]}00000001" + "00" + "000000070000018bcfe577a00000",
    )
    assert update["value"] == {
        "remoteLogSegmentId": SEGMENT,
        "brokerId": 7,
        "eventTimestampMs": 1700000003000,
        "customMetadata": base64.b64encode(bytes([1, 2, 3])).decode(),
        "remoteLogSegmentState": 1,
    }
    assert aiven["value"]["customMetadata"] == base64.b64encode(bytes.fromhex(custom)).decode()
    assert (deletion["type"], deletion["value"]["remotePartitionDeleteState"]) == ("REMOTE_PARTITION_DELETE_METADATA_RECORD", 0)
    assert deletion["value"]["topicIdPartition"] == SEGMENT["topicIdPartition"]


def test_indexes_without_bytes_are_not_fetched(tmp_path: Path):
    """TS-36: the sizes of Aiven's SegmentIndexesV1BuilderTest."""
    uploader = tiered.Uploader(tmp_path)
    (log,) = uploader.partition(DATA / "codec-none-0")
    path = log.with_suffix(".rsm-manifest")
    manifest = json.loads(path.read_text())
    sizes = {"offset": 0, "timestamp": 1, "producerSnapshot": 0, "leaderEpoch": 1, "transaction": 0}
    positions = [0, 0, 1, 1, 2]
    manifest["segmentIndexes"] = {name: {"position": at, "size": size} for (name, size), at in zip(sizes.items(), positions, strict=True)}
    path.write_text(json.dumps(manifest))
    log.with_suffix(".indexes").write_bytes(b"ab")
    directory = tiered.uploaded(log.parent)
    names = [f"{log.stem}.index", f"{log.stem}.timeindex", f"{log.stem}.txnindex", "leader-epoch-checkpoint"]
    assert [Place(join_path(directory, name)).read() for name in names] == [b"", b"a", b"", b"b"]


def pinterest(root: Path) -> Path:
    """TS-80, TS-81, as in Pinterest's TestS3StorageServiceEndpoint: base prefix, the first bits of a hash, cluster, partition."""
    bits = f"{hashlib.md5(b'test-cluster-test-topic-0').digest()[0]:08b}"[:5]
    assert bits == "10110"
    place = root / f"base-prefix/{bits}/test-cluster/test-topic-0"
    place.mkdir(parents=True)
    for path in TRANSACTIONS.glob("0*"):
        if path.suffix in (".log", ".index", ".timeindex"):
            shutil.copyfile(path, place / path.name)
    (place / "offset.wm").write_text("00000000000000000000")
    (place / "_metadata").write_text("{}")
    return root / "base-prefix"


def test_pinterests_layout_on_the_command_line(tmp_path: Path):
    place = pinterest(tmp_path)
    done = run("cat", place, "--columns", "topic,partition,offset")
    whole = ls.Log(TRANSACTIONS).records(columns=["offset"]).read_all().to_pylist()
    assert done.lines == [{"topic": "test-topic", "partition": 0, "offset": row["offset"]} for row in whole]
    assert run("verify", place).code == 0
    assert [line["offset"] for line in run("find", place, "--offset", "50", "--json").lines] == [50]


def test_local_tiered_storage_on_the_command_line():
    done = run("cat", tiered.LOCAL, "--offset", "1300..1302", "--columns", "topic,partition,offset")
    assert done.lines == [{"topic": "to-pic.a", "partition": 1, "offset": offset} for offset in (1300, 1301)]
    assert run("verify", tiered.LOCAL).code == 0


@pytest.mark.spark
@pytest.mark.parametrize("layout", ["local", "pinterest"])
def test_the_other_layouts_in_spark(layout: str, tmp_path: Path):
    from spark_session import spark_session

    place = tiered.LOCAL if layout == "local" else pinterest(tmp_path)
    frame = spark_session().read.format("logsegment").load(str(place))
    found = sorted(tuple(row) for row in frame.select("topic", "partition", "offset").collect())
    log = ls.Log(place)
    ((topic, partition),) = log.partitions
    assert found == [(topic, partition, row["offset"]) for row in log.records(columns=["offset"]).read_all().to_pylist()]
    assert len(found) > 60


def test_a_look_up_by_time_fetches_the_chunks_that_it_needs(tmp_path: Path):
    """TS-42: the stored time index and offset index lead to one chunk of many."""
    source = max(DATA.glob("*-0/*.log"), key=lambda path: path.stat().st_size)
    segment = ls.Segment(source)
    last = segment.next_offset() - 1
    stored = tiered.Uploader(tmp_path, chunk_size=64 << 10, compresses=True, key_id="key1").segment(source, last)
    rows = segment.records(columns=["offset", "timestampMs"]).read_all().to_pylist()
    wanted = rows[len(rows) // 2]["timestampMs"]
    there = ls.Segment(stored, decryption_keys=tiered.KEYS)
    Place.forget_chunks()
    assert there.offset_for_timestamp(wanted) == segment.offset_for_timestamp(wanted)
    fetched = Place.forget_chunks()
    assert 0 < fetched <= 4
    there.records(columns=[]).read_all()
    assert Place.forget_chunks() > 2 * fetched


def test_without_its_package_an_encrypted_segment_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    own = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return own(name, *rest)

    _private_key.cache_clear()
    _data_key.cache_clear()
    _data_key.cache_clear()
    Place.forget_chunks()
    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(ImportError, match=r'pip install "logsegment\[tiered\]"'):
        ls.Log(tiered.folder("enc"), decryption_keys=tiered.KEYS).records(columns=[]).read_all()
    assert ls.Log(tiered.folder("zstd")).records(columns=["offset"]).read_all().num_rows == 200, "others need it not"
