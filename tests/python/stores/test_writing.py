"""Files of this machine that a commit writes and removes, through the same functions as files of a store."""

import os
from pathlib import Path

import pytest

from logsegment import stores


def test_a_small_file_is_replaced_as_a_whole(tmp_path: Path):
    path = tmp_path / "journal"
    for data in (b"first", b"second"):
        stores.put_bytes(str(path), data)
        assert path.read_bytes() == data
    assert os.listdir(tmp_path) == ["journal"]


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "journal"
    stores.put_bytes(str(path), b"first")

    def fail(source: str, place: str) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        stores.put_bytes(str(path), b"second")
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["journal"]


def test_what_is_not_there_is_removed_without_an_error(tmp_path: Path):
    (tmp_path / "task" / "below").mkdir(parents=True)
    (tmp_path / "file").touch()
    for _ in range(2):
        stores.remove(str(tmp_path / "file"))
        stores.remove_directory(str(tmp_path / "task"))
        assert os.listdir(tmp_path) == []
