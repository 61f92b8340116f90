"""`split` and `join` move whole batches, byte for byte, and account for them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import corpus
import logsegment as ls
from logsegment.cli import main
from made_logs import START, make_partition

DATA = corpus.CORPUS / "modern-4.1.0/data"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A partition of three segments, whose batches have few records."""
    make_partition(tmp_path / "in", "orders", 0, [list(range(100)), list(range(100, 200)), list(range(200, 300))])
    return tmp_path / "in/orders-0"


def logs(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.glob("*.log"))}


def assert_whole(done: ls.Arrangement, source: Path) -> None:
    for path in sorted(source.glob("*.log")):
        data, at = path.read_bytes(), 0
        for part in (part for part in done.parts if part.source == str(path)):
            assert part.position == at
            at += part.length
            if part.output is not None:
                written = Path(part.output).read_bytes()[part.output_position :][: part.length]
                assert written == data[part.position : part.position + part.length]
        assert at == len(data)
    assert set(done.input_sha256) == {part.source for part in done.parts} == {str(path) for path in source.glob("*.log")}
    for place, digest in (done.sha256 | done.input_sha256).items():
        assert hashlib.sha256(Path(place).read_bytes()).hexdigest() == digest


def test_what_was_joined_can_be_split_again(source: Path, tmp_path: Path) -> None:
    joined = ls.join(source, tmp_path / "joined")
    assert list(logs(tmp_path / "joined/orders-0")) == ["00000000000000000000.log"]
    assert_whole(joined, source)
    done = ls.split(tmp_path / "joined", tmp_path / "split", offsets=[100, 200])
    assert logs(tmp_path / "split/orders-0") == logs(source)
    assert_whole(done, tmp_path / "joined/orders-0")
    for place in ("joined", "split"):
        assert main(["verify", "--quiet", str(tmp_path / place)]) == 0


@pytest.mark.parametrize("how", [{"offsets": 150}, {"times": START + 150}, {"bytes": 2000}, {"offsets": [10, 20], "bytes": 3000}])
def test_a_cut_is_made_between_batches(source: Path, tmp_path: Path, how: dict[str, int]) -> None:
    done = ls.split(source, tmp_path / "split", **how)
    assert b"".join(logs(tmp_path / "split/orders-0").values()) == b"".join(logs(source).values())
    assert len(done.sha256) > 3
    assert_whole(done, source)
    for name, data in logs(tmp_path / "split/orders-0").items():
        first = ls.batches(data).to_pylist()[0]
        assert int(name[:20]) == first["baseOffset"]
        assert len(data) <= how.get("bytes", 1 << 30)
    assert main(["verify", "--quiet", str(tmp_path / "split")]) == 0


@pytest.mark.parametrize("partition", ["transactions-multi-segment-0", "multi-segment-1"])
def test_partitions_of_a_broker_are_read_the_same(partition: str, tmp_path: Path) -> None:
    ls.join(DATA / partition, tmp_path / "joined")
    ls.split(DATA / partition, tmp_path / "split", bytes=500)
    for place in ("joined", "split"):
        for isolation in ("read_committed", "read_uncommitted"):
            found = ls.Log(tmp_path / place / partition).records(isolation=isolation).to_pylist()
            assert found == ls.Log(DATA / partition).records(isolation=isolation).to_pylist()


@pytest.mark.parametrize("partition", ["transactions-multi-segment-0", "multi-segment-1"])
def test_diff_shows_no_difference(partition: str, tmp_path: Path) -> None:
    ls.join(DATA / partition, tmp_path / "joined")
    ls.split(DATA / partition, tmp_path / "split", bytes=500)
    for place in ("joined", "split"):
        found = ls.diff(DATA / partition, tmp_path / place / partition).to_dict()
        assert (found["state"], found["partitions"][0]["differences"]) == ("same", [])
        every = ls.Log(DATA / partition).records(columns=["offset"], control=True).to_pyarrow().num_rows
        assert found["partitions"][0]["sameRecords"] == every


def test_files_become_files(source: Path, tmp_path: Path) -> None:
    files = sorted(source.glob("*.log"))
    ls.join([files[1], files[0]], tmp_path / "one.log")
    assert (tmp_path / "one.log").read_bytes() == files[0].read_bytes() + files[1].read_bytes()
    with pytest.raises(FileExistsError):
        ls.join(files, tmp_path / "one.log")
    done = ls.split(tmp_path / "one.log", tmp_path / "cut", offsets=[100])
    assert logs(tmp_path / "cut") == {path.name: path.read_bytes() for path in files[:2]}
    assert len(done.parts) == 2


def test_mistakes(source: Path, tmp_path: Path) -> None:
    files = sorted(source.glob("*.log"))
    (tmp_path / "again.log").write_bytes(files[0].read_bytes())
    with pytest.raises(ValueError, match="overlap"):
        ls.join([files[0], tmp_path / "again.log"], tmp_path / "out.log")
    with pytest.raises(ValueError, match="nothing to do"):
        ls.split(source, tmp_path / "out")
    with pytest.raises(ValueError, match="bytes"):
        ls.split(source, tmp_path / "out", bytes=0)
    files[1].write_bytes(files[1].read_bytes()[:-1] + b"\xff")
    with pytest.raises(ls.ChecksumError):
        ls.split(source, tmp_path / "out", offsets=[5])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.log", "in"]


def test_a_torn_end_is_left_out_and_told(source: Path, tmp_path: Path) -> None:
    last = max(source.glob("*.log"))
    last.write_bytes(last.read_bytes() + b"\0" * 30)
    done = ls.split(source, tmp_path / "out", offsets=[250])
    assert (done.parts[-1].output, done.parts[-1].length) == (None, 30)
    assert_whole(done, source)
