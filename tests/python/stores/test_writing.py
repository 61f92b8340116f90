"""Files of this machine that a commit writes and removes, through the same functions as files of a store."""

import os
from pathlib import Path

import pytest

from logsegment._core import Place


def test_a_small_file_is_replaced_as_a_whole(tmp_path: Path):
    path = tmp_path / "journal"
    for data in (b"first", b"second"):
        Place(str(path)).put(data)
        assert path.read_bytes() == data
    assert os.listdir(tmp_path) == ["journal"]


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path):
    path = tmp_path / "journal"
    (path / "below").mkdir(parents=True)
    with pytest.raises(IsADirectoryError, match="journal"):
        Place(path).put(b"second")
    assert [*tmp_path.rglob("*")] == [path, path / "below"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is a device of Linux")
def test_a_full_disk_is_an_error_with_the_name_of_the_file(tmp_path: Path):
    (tmp_path / "log.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as raised:
        Place(tmp_path / "log").put(b"second")
    assert (raised.value.errno, raised.value.filename) == (28, str(tmp_path / "log"))
    assert os.listdir(tmp_path) == []


def test_what_is_not_there_does_not_exist(tmp_path: Path):
    assert not Place(tmp_path / "nothing").exists()
    assert Place(tmp_path).exists()
    assert Place(tmp_path / "nothing").read() is None


def test_what_is_not_there_is_removed_without_an_error(tmp_path: Path):
    (tmp_path / "task" / "below").mkdir(parents=True)
    (tmp_path / "file").touch()
    for _ in range(2):
        Place(str(tmp_path / "file")).remove()
        Place(str(tmp_path / "task")).remove(tree=True)
        assert os.listdir(tmp_path) == []
