"""What reads files names the one that is bad: in the text of the error and as its `path`."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from logsegment._core import Place
from logsegment.analysis.find import Conditions, Search
from logsegment.segment_files.discovery import find_segments

MULTI = corpus.CORPUS / "modern-4.1.0/data/multi-segment-0"
BAD = "00000000000000000032.log"
#: The last byte of the first batch there, and a byte of its length.
IN_RECORDS, IN_LENGTH = -1, 8


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Three segments, of which a test damages the second."""
    return shutil.copytree(MULTI, tmp_path / "orders-0")


def damage(path: Path, at: int) -> dict[str, Any]:
    """Flip a byte of the first batch of a file; give its header."""
    (first, *_) = ls.batches(path.read_bytes()).to_pylist()
    data = bytearray(path.read_bytes())
    data[first["size"] + at if at < 0 else at] ^= 0x55
    path.write_bytes(data)
    return dict(first)


def polars_rows(directory: Path) -> pl.DataFrame:
    return ls.polars.scan(directory, columns=["offset"]).collect()


def search(directory: Path) -> list[Any]:
    return list(Search(Conditions(keys=[b"none of them"])).places(find_segments(directory)))


READS: dict[str, Callable[[Path], object]] = {
    "records": lambda directory: ls.Log(directory).records().read_all(),
    "records in threads": lambda directory: ls.Log(directory).records(threads=2).read_all(),
    "records from a time on": lambda directory: ls.Log(directory).records(start_timestamp=1).read_all(),
    "records by reader": lambda directory: list(ls.Log(directory).records(columns=["offset"])),
    "search": search,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_damaged_batch_is_reported_with_its_file(read: Callable[[Path], object], partition: Path):
    first = damage(partition / BAD, IN_RECORDS)
    with pytest.raises(ls.ChecksumError) as caught:
        read(partition)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.path, error.position, error.base_offset) == (str(partition / BAD), 0, first["baseOffset"])
        assert str(error).startswith(f"{partition / BAD}: [V2-31] at byte 0, base offset {first['baseOffset']}")


@pytest.mark.parametrize("check_crc", [True, False])
def test_headers_that_cannot_be_framed_are_reported_with_their_file(check_crc: bool, partition: Path):
    damage(partition / BAD, IN_LENGTH)
    with pytest.raises(ls.RecordBatchError) as caught:
        ls.Log(partition).batches(check_crc=check_crc)
    assert caught.value.path == str(partition / BAD)
    assert str(caught.value).startswith(f"{partition / BAD}: [")


def test_a_look_up_that_fails_names_its_file(partition: Path):
    """Without indexes the headers lead the way, and the first of the second segment is bad."""
    first = damage(partition / BAD, IN_LENGTH)
    for index in partition.glob("*index"):
        index.unlink()
    for look_up in (
        lambda: ls.Log(partition).records(start_offset=first["baseOffset"]).read_all(),
        lambda: ls.Log(partition).offset_for_timestamp(2**61),
        lambda: list(Search(Conditions(at=2**61)).places(find_segments(partition))),
    ):
        with pytest.raises(ls.RecordBatchError) as caught:
            look_up()
        assert caught.value.path == str(partition / BAD)
        assert str(caught.value).count(BAD) == 1


def test_polars_names_the_file(partition: Path):
    damage(partition / BAD, IN_RECORDS)
    with pytest.raises(Exception, match=rf"{partition / BAD}: \[V2-31\] at byte 0"):
        polars_rows(partition)


def test_errors_in_other_libraries_name_the_file(partition: Path):
    damage(partition / BAD, IN_RECORDS)
    stream = ls.Log(partition).records()
    with pytest.raises(pa.ArrowInvalid, match=rf"{partition / BAD}: \[V2-31\] at byte 0"):
        pa.RecordBatchReader.from_stream(stream).read_all()
    assert stream.error is not None
    assert stream.error.path == str(partition / BAD)


ATTRIBUTES = ("code", "rule", "kafka_error_code", "position", "base_offset", "record_index", "field")
ONE_FILE: dict[str, Callable[[Path], object]] = {
    "decode": lambda path: ls.decode(ls.FileSource(path)).read_all(),
    "decode in threads": lambda path: list(ls.decode(ls.FileSource(path), threads=2)),
    "committed": lambda path: ls.decode(ls.FileSource(path), isolation="read_committed").read_all(),
    "segment, mapped": lambda path: ls.Segment(path, mmap=True).records().read_all(),
    "segment, by position": lambda path: ls.Segment(path, mmap=False).records().read_all(),
    "convert": lambda path: ls.convert(ls.FileSource(path), compression="lz4"),
}


def test_errors_of_bytes_name_no_file(partition: Path):
    damage(partition / BAD, IN_RECORDS)
    with pytest.raises(ls.ChecksumError) as caught:
        ls.decode((partition / BAD).read_bytes()).read_all()
    assert caught.value.path is None
    assert str(caught.value).startswith("[V2-31]")


@pytest.mark.parametrize("read", ONE_FILE.values(), ids=ONE_FILE)
def test_one_file_is_named_as_one_of_several_is(read: Callable[[Path], object], partition: Path):
    path = partition / BAD
    damage(path, IN_RECORDS)
    with pytest.raises(ls.ChecksumError) as expected:
        ls.decode(path.read_bytes()).read_all()
    with pytest.raises(ls.ChecksumError) as caught:
        read(path)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.path, str(error)) == (str(path), f"{path}: {expected.value}")
        assert [getattr(error, name) for name in ATTRIBUTES] == [getattr(expected.value, name) for name in ATTRIBUTES]


@pytest.mark.parametrize("mmap", [True, False])
def test_headers_of_one_file_that_cannot_be_framed_are_reported_with_it(mmap: bool, partition: Path):
    path = partition / BAD
    damage(path, IN_LENGTH)
    for check_crc in (True, False):
        for read in (ls.Segment(path, mmap=mmap).batches, lambda **options: ls.batches(ls.FileSource(path), **options)):
            with pytest.raises(ls.RecordBatchError) as caught:
                read(check_crc=check_crc)
            assert (caught.value.path, str(caught.value).count(str(path))) == (str(path), 1)


def test_errors_in_other_libraries_name_the_only_file(partition: Path):
    path = partition / BAD
    damage(path, IN_RECORDS)
    stream = ls.decode(ls.FileSource(path))
    with pytest.raises(pa.ArrowInvalid, match=rf"{path}: \[V2-31\] at byte 0"):
        pa.RecordBatchReader.from_stream(stream).read_all()
    assert stream.error is not None
    assert stream.error.path == str(path)


def test_a_store_is_reported_without_its_secrets(partition: Path, as_bucket: Any):
    as_bucket(partition.parent)
    damage(partition / BAD, IN_RECORDS)
    options = {"aws_access_key_id": "key12345", "aws_secret_access_key": "secret12", "aws_session_token": "other123"}
    with pytest.raises(ls.ChecksumError) as caught:
        ls.Log("s3://bucket/orders-0", storage_options=options).records().read_all()
    assert caught.value.path == f"s3://bucket/orders-0/{BAD}"
    assert str(caught.value).startswith(f"s3://bucket/orders-0/{BAD}: [V2-31]")
    shown = f"{pickle.dumps(caught.value)!r}"
    assert not [secret for secret in ("key12345", "secret12", "other123") if secret in shown]


@pytest.fixture
def uploads(partition: Path) -> list[Path]:
    Place.forget_chunks()
    return tiered.Uploader(partition.parent, compresses=True, key_id="key1").partition(partition)


def read_uploads(uploads: list[Path]) -> ls.RecordBatchError:
    with pytest.raises(ls.RecordBatchError) as caught:
        ls.Log(uploads[0].parent, decryption_keys=tiered.KEYS).records().read_all()
    assert isinstance(error := pickle.loads(pickle.dumps(caught.value)), type(caught.value))
    assert (error.path, str(error)) == (caught.value.path, str(caught.value))
    assert not tiered.leaks(repr(pickle.dumps(error)))
    return caught.value


def test_a_damaged_batch_inside_of_an_upload(partition: Path):
    """The chunks are whole, and what was uploaded was damaged before."""
    damage(partition / BAD, IN_RECORDS)
    uploads = tiered.Uploader(partition.parent, compresses=True, key_id="key1").partition(partition)
    error = read_uploads(uploads)
    assert (type(error), error.path, error.position) == (ls.ChecksumError, str(uploads[1]), 0)
    assert str(error).startswith(f"{uploads[1]}: [V2-31] at byte 0")


def test_a_damaged_chunk_of_an_upload(uploads: list[Path]):
    data = bytearray(uploads[1].read_bytes())
    data[20] ^= 1
    uploads[1].write_bytes(data)
    error = read_uploads(uploads)
    assert (type(error), error.path, error.position) == (ls.tiered.ChunkError, str(uploads[1]), 0)
    assert str(error).count(str(uploads[1])) == 1


def test_a_damaged_manifest_of_an_upload(uploads: list[Path]):
    uploads[1].with_suffix(".rsm-manifest").write_text("{")
    error = read_uploads(uploads)
    assert (type(error), error.path) == (ls.tiered.ManifestError, str(uploads[1]))


def test_a_file_that_is_gone_is_named_by_the_operating_systems_error(partition: Path):
    """Also where only its transactions were to be learned."""
    log = ls.Log(partition)
    (partition / BAD).unlink()
    (partition / BAD).symlink_to("nowhere")
    for snapshot in partition.glob("*.snapshot"):
        snapshot.unlink()
    for options in ({}, {"isolation": "read_committed", "start_offset": 64}):
        with pytest.raises(FileNotFoundError) as caught:
            log.records(**options).read_all()
        assert str(caught.value.filename) == str(partition / BAD)
