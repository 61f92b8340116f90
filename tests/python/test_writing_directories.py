"""Functions that write take what their verbs take: directories, trees, patterns, lists, logs and segments give the same bytes."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
from cli_process import CODEC_FILE, MODERN, run

TRANSACTIONS = MODERN / "transactions-multi-segment-0"
OLD = corpus.CORPUS / "legacy-0.7.2/data"
#: The verb, its options, and the same arguments of its function.
CASES: dict[str, tuple[list[str], Callable[..., Any], dict[str, Any]]] = {
    "salvage": (["salvage"], ls.salvage, {}),
    "salvage in order of the input": (["salvage", "--order", "input"], ls.salvage, {"order": "input"}),
    "convert": (["convert", "--compression", "lz4"], ls.convert, {"compression": "lz4"}),
    "rewrite": (["rewrite", "--drop", "offsets=0..5"], ls.rewrite, {"drop": ls.Selection(offsets=[(0, 5)])}),
}


def bytes_of(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two partitions, one with a damaged batch that `salvage` leaves out."""
    root = tmp_path / "data"
    for name in ("codec-gzip-0", "transactions-multi-segment-0"):
        shutil.copytree(MODERN / name, root / name)
    return root


def damage(tree: Path) -> None:
    log = tree / "codec-gzip-0/00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)


@pytest.mark.parametrize("case", CASES)
def test_a_tree_gives_the_files_of_the_verb(tree: Path, tmp_path: Path, case: str):
    verb, function, arguments = CASES[case]
    if "salvage" in case:
        damage(tree)
    done = run(*verb, tree, "--output", tmp_path / "verb")
    assert done.code == (3 if "salvage" in case else 0), done.err
    expected = bytes_of(tmp_path / "verb")
    assert len(expected) > 5
    pattern = str(tree / "*-0")
    for name, source in {"path": tree, "text": str(tree), "pattern": pattern, "log": ls.Log(tree), "list": [*tree.iterdir()]}.items():
        result = function(source, out=tmp_path / name, **arguments)
        assert bytes_of(tmp_path / name) == expected, name
        outputs = {path for path in expected if path.endswith(".log")}
        if not isinstance(result, ls.Rewrite):
            assert {os.path.relpath(path, tmp_path / name) for path in result.outputs} == outputs, name
            assert len(result.files) == len(outputs)


@pytest.mark.parametrize("verb", ["split", "compact", "join"])
def test_partitions_give_the_files_of_the_verb(tree: Path, tmp_path: Path, verb: str):
    options = {"split": ["--bytes", "500"], "compact": ["--now", "2026-01-01T00:00:00Z"], "join": []}[verb]
    arguments = {"split": {"bytes": 500}, "compact": {"now": 1_767_225_600_000}, "join": {}}[verb]
    assert run(verb, tree, *options, "--output", tmp_path / "verb").code == 0
    expected = bytes_of(tmp_path / "verb")
    assert expected
    for name, source in {"path": tree, "log": ls.Log(tree)}.items():
        getattr(ls, verb)(source, tmp_path / name, **arguments)
        assert bytes_of(tmp_path / name) == expected
    # A topic is selected by the verb and the function.
    topic = "transactions-multi-segment"
    assert run(verb, tree, *options, "--topic", topic, "--output", tmp_path / "topic").code == 0
    getattr(ls, verb)(tree, tmp_path / "selected", topic=topic, **arguments)
    assert bytes_of(tmp_path / "topic") == bytes_of(tmp_path / "selected")
    assert {name.partition("/")[0] for name in bytes_of(tmp_path / "topic")} == {f"{topic}-0"}


def test_the_account_of_a_tree_is_the_sum_of_its_files(tree: Path, tmp_path: Path):
    damage(tree)
    saved = ls.salvage(tree, out=tmp_path / "saved", aside=tmp_path / "aside")
    assert not saved.ok
    assert {lost.path for lost in saved.lost} == {str(tree / "codec-gzip-0/00000000000000000000.log")}
    assert saved.kept_bytes + saved.lost_bytes == sum(path.stat().st_size for path in tree.rglob("*.log"))
    assert saved.lost_bytes == sum(lost.length for lost in saved.lost)
    assert saved.kept_bytes == sum(kept.length for kept in saved.kept) == sum(file.kept_bytes for file in saved.files)
    assert saved.data is None
    assert saved.to_dict()["files"][0]["path"] == saved.files[0].path
    again = ls.salvage(tmp_path / "saved", out=tmp_path / "again")
    assert again.ok
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "saved")


def test_a_segment_and_a_log_write_themselves(tree: Path, tmp_path: Path):
    segment = ls.Segment(tree / "codec-gzip-0/00000000000000000000.log")
    assert segment.salvage().data == CODEC_DATA
    assert segment.salvage(tmp_path / "saved.log").outputs == [str(tmp_path / "saved.log")]
    converted = segment.convert(compression="none").data
    assert converted == ls.convert(CODEC_DATA, compression="none").data
    assert ls.Log(tree).salvage(tmp_path / "saved").ok
    assert ls.Log(tree).convert(tmp_path / "converted", compression="zstd").losses == []
    assert sorted(path.name for path in (tmp_path / "converted").iterdir()) == sorted(path.name for path in tree.iterdir())


CODEC_DATA = (MODERN / "codec-gzip-0/00000000000000000000.log").read_bytes()


def test_messages_of_0_7_keep_counting_from_segment_to_segment(tmp_path: Path):
    directory = next(path for path in sorted(OLD.iterdir()) if len(list(path.glob("*.kafka"))) > 1)
    assert run("convert", directory, "--allow-loss", "--offset-map", tmp_path / "verb.csv", "--output", tmp_path / "verb").code == 3
    done = ls.convert(directory, allow_loss=True, offset_map=tmp_path / "map.csv", out=tmp_path / "function")
    assert bytes_of(tmp_path / "function") == bytes_of(tmp_path / "verb")
    assert (tmp_path / "map.csv").read_text() == (tmp_path / "verb.csv").read_text()
    assert len(done.files) > 1


@pytest.mark.parametrize("function", [ls.salvage, ls.convert])
def test_directories_need_a_new_directory(tree: Path, tmp_path: Path, function: Callable[..., Any]):
    with pytest.raises(TypeError, match="new director"):
        function(tree)
    with pytest.raises(TypeError, match="new director"):
        function(tree, out=io.BytesIO())
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError):
        function(tree, out=tmp_path / "there")
    with pytest.raises(ValueError, match="cannot become one"):
        function(sorted(tree.rglob("*.log"))[:2], out=tmp_path / "one.log")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "there"]


def test_nothing_is_left_when_a_later_file_is_damaged(tree: Path, tmp_path: Path):
    log = max((tree / "transactions-multi-segment-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[70] ^= 1
    log.write_bytes(data)
    for function, arguments in ((ls.convert, {"compression": "gzip"}), (ls.rewrite, {"drop": ["a"]}), (ls.compact, {})):
        with pytest.raises(ls.RecordBatchError) as raised:
            function(tree, out=tmp_path / "out", **arguments)
        assert raised.value.path == str(log)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_an_input_is_never_the_output(tmp_path: Path):
    path = Path(shutil.copy(CODEC_FILE, tmp_path / "00000000000000000000.log"))
    before = path.read_bytes()
    for function, arguments in ((ls.salvage, {}), (ls.convert, {"compression": "none"}), (ls.rewrite, {"drop": ["a"]})):
        for source in (path, str(path), [path], ls.Segment(path), ls.FileSource(path)):
            with pytest.raises(ValueError, match="never overwritten"):
                function(source, out=path, overwrite=True, **arguments)
    assert path.read_bytes() == before
