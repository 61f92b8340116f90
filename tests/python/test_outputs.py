"""No verb writes over what it reads, under whatever name, and two outputs are never one."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
import tiered_corpus
from cli_process import CODEC_FILE, run

NAME = "00000000000000000000.log"
Verb = Callable[..., Any]
VERBS: list[Verb] = [ls.salvage, lambda source, out: ls.convert(source, to="v2", compression="gzip", out=out)]
verbs = pytest.mark.parametrize("verb", VERBS, ids=["salvage", "convert"])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A segment that each verb reads, in a directory of its own."""
    path = tmp_path / "orders-0" / NAME
    path.parent.mkdir()
    shutil.copyfile(CODEC_FILE, path)
    return path


@verbs
@pytest.mark.parametrize("kind", ["same", "relative", "symlink", "hard link", "through a linked directory"])
def test_the_source_is_no_output_under_any_name(verb: Verb, kind: str, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, out = log.read_bytes(), log.parent.parent / "other.log"
    match kind:
        case "same":
            out = log
        case "relative":
            monkeypatch.chdir(log.parent)
            out = Path(".") / NAME
        case "symlink":
            out.symlink_to(log)
        case "hard link":
            os.link(log, out)
        case _:
            linked = log.parent.parent / "linked"
            linked.symlink_to(log.parent)
            out = linked / NAME
    with pytest.raises(ValueError, match=r"out: .* is the source; it is never overwritten"):
        verb(ls.FileSource(log), out=out)
    assert log.read_bytes() == before
    assert [path.name for path in log.parent.iterdir()] == [NAME]


def test_what_is_aside_is_not_the_source_and_not_the_output(log: Path) -> None:
    before, out, linked = log.read_bytes(), log.parent / "out.log", log.parent / "linked.log"
    linked.symlink_to(out)
    with pytest.raises(ValueError, match=r"aside: .* is the source"):
        ls.salvage(ls.FileSource(log), out=out, aside=log)
    for aside in (out, linked, log.parent / "." / "out.log"):
        with pytest.raises(ValueError, match=r"out and aside: .* cannot be both"):
            ls.salvage(ls.FileSource(log), out=out, aside=aside)
    assert log.read_bytes() == before
    assert not out.exists()
    assert ls.salvage(ls.FileSource(log), out=out, aside=log.parent / "aside.log").ok


@pytest.mark.parametrize("verb", ["explain", "stats"])
def test_a_page_does_not_go_over_the_input(verb: str, log: Path) -> None:
    """It is refused before anything is read or written."""
    before = log.read_bytes()
    hard, soft = log.with_name("hard.html"), log.with_name("soft.html")
    os.link(log, hard)
    soft.symlink_to(log)
    for html in (log, hard, soft):
        done = run(verb, log, "--html", html)
        assert (done.code, done.out) == (2, b"")
        assert "inputs are never overwritten" in done.err
    assert log.read_bytes() == before
    assert sorted(path.name for path in log.parent.iterdir()) == sorted([NAME, "hard.html", "soft.html"])


@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
@pytest.mark.parametrize("verb", [("salvage",), ("convert", "--compression", "gzip"), ("lz4", "fix"), ("lz4", "break")], ids=" ".join)
def test_what_stands_there_already_is_not_replaced_by_a_segment(verb: tuple[str, ...], kind: str, log: Path, tmp_path: Path) -> None:
    saved, out = tmp_path / "saved.log", tmp_path / "out.log"
    saved.write_bytes(b"the only copy")
    if kind == "file":
        out = saved
    else:
        out.symlink_to(saved if kind == "link" else tmp_path / "nowhere.log")
    done = run(*verb, log, "--output", out)
    assert (done.code, done.out) == (2, b"")
    assert f"{out} must be a new file" in done.err
    assert saved.read_bytes() == b"the only copy"
    assert run(*verb, log, "--output", tmp_path / "new.log").code == 0


def test_what_stands_there_already_is_not_replaced_by_what_is_aside(log: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside.log"
    aside.write_bytes(b"the only copy")
    done = run("salvage", log, "--output", tmp_path / "out.log", "--aside", aside)
    assert (done.code, f"{aside} must be a new file" in done.err) == (2, True)
    assert aside.read_bytes() == b"the only copy"
    assert not (tmp_path / "out.log").exists()


@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
@pytest.mark.parametrize("argument", ["encode", "convert", "salvage", "aside"])
def test_what_stands_there_already_is_replaced_in_python_unless_that_is_not_wanted(argument: str, kind: str, tmp_path: Path) -> None:
    """Other writers of Python replace: whoever has the only copy there says no, and nothing is read or written then."""
    saved, path = tmp_path / "saved.log", tmp_path / "out.log"
    saved.write_bytes(b"the only copy")
    if kind == "file":
        path = saved
    else:
        path.symlink_to(saved if kind == "link" else tmp_path / "nowhere.log")
    damaged = bytearray(CODEC_FILE.read_bytes())
    damaged[17] ^= 1
    read: list[object] = []

    def source() -> Iterator[pa.RecordBatch]:
        read.append(None)
        yield pa.record_batch({"value": [b"v"]})

    def write(out: Path | BinaryIO, **options: bool) -> None:
        match argument:
            case "encode":
                ls.encode(pa.RecordBatchReader.from_batches(pa.schema({"value": pa.binary()}), source()), out=out, **options)
            case "convert":
                ls.convert(CODEC_FILE.read_bytes(), compression="gzip", out=out, **options)
            case "salvage":
                ls.salvage(bytes(damaged), out=out, **options)
            case _:
                ls.salvage(bytes(damaged), aside=out, **options)

    with pytest.raises(FileExistsError) as refused:
        write(path, overwrite=False)
    assert (refused.value.errno, refused.value.filename) == (errno.EEXIST, str(path))
    assert (saved.read_bytes(), path.is_symlink(), read) == (b"the only copy", kind != "file", [])
    write(tmp_path / "there.log", overwrite=False)
    with (tmp_path / "open.log").open("wb") as file:
        write(file, overwrite=False)
    written = (tmp_path / "there.log").read_bytes()
    assert written == (tmp_path / "open.log").read_bytes() != b""
    write(path)
    assert path.read_bytes() == written


@pytest.mark.parametrize("is_directory", [False, True], ids=["file", "directory"])
def test_that_nothing_had_to_be_put_aside_is_said(is_directory: bool, log: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    source = log.parent if is_directory else log
    done = run("salvage", source, "--output", tmp_path / "out", "--aside", aside)
    assert done.code == 0
    assert f"nothing had to be put aside: {aside} {'is empty' if is_directory else 'was not made'}\n" in done.err
    assert not [path for path in aside.rglob("*") if path.is_file()]
    assert aside.exists() == is_directory
    quiet = run("salvage", source, "--output", tmp_path / "quiet", "--aside", tmp_path / "other", "--quiet")
    assert (quiet.code, quiet.err) == (0, "")


def test_of_what_is_aside_nothing_else_is_said(log: Path, tmp_path: Path) -> None:
    data = bytearray(log.read_bytes())
    second = ls.batches(bytes(data)).to_pylist()[1]
    data[second["position"] : second["position"] + 8] = (1 << 50).to_bytes(8)
    log.write_bytes(data)
    done = run("salvage", log, "--output", tmp_path / "out.log", "--aside", tmp_path / "aside.log")
    assert done.code == 3
    assert "nothing had to be put aside" not in done.err
    assert (tmp_path / "aside.log").stat().st_size == second["size"]


DIRECTORY_VERBS = {"salvage": (), "convert": ("--to", "v2")}
directory_verbs = pytest.mark.parametrize("verb", DIRECTORY_VERBS)


@directory_verbs
def test_a_directory_takes_no_file_without_an_offset(verb: str, log: Path, tmp_path: Path) -> None:
    stray = tmp_path / "copy-of-a-segment.log"
    shutil.copyfile(log, stray)
    done = run(verb, log.parent, stray, *DIRECTORY_VERBS[verb], "-o", tmp_path / "out")
    assert done.code == 2
    assert "is not named after an offset" in done.err
    assert not (tmp_path / "out").exists()


@directory_verbs
def test_two_partitions_of_one_name_do_not_become_one(verb: str, log: Path, tmp_path: Path) -> None:
    other = tmp_path / "replica" / "orders-0"
    other.mkdir(parents=True)
    shutil.copyfile(log, other / NAME)
    done = run(verb, log.parent, other, *DIRECTORY_VERBS[verb], "-o", tmp_path / "out")
    assert done.code == 2
    assert "would become one directory" in done.err
    assert not (tmp_path / "out").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orders-0", "replica"]


@pytest.mark.parametrize(("output", "aside"), [("out", "out"), ("out", "out/rest"), ("rest/out", "rest"), ("out", "./out/../out/rest")])
def test_what_is_aside_lies_beside_the_output(output: str, aside: str, log: Path, tmp_path: Path) -> None:
    done = run("salvage", log.parent, "-o", tmp_path / output, "--aside", f"{tmp_path}/{aside}")
    assert done.code == 2
    assert "must lie beside each other" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["orders-0"]


def test_one_file_and_its_aside_are_two(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.log"
    for aside in (out, log):
        done = run("salvage", log, "-o", out, "--aside", aside)
        assert done.code == 2, aside
        assert not out.exists()
    assert log.read_bytes() == CODEC_FILE.read_bytes()
    corpus.seen_all(list(log.parent.iterdir()), 1)


@verbs
def test_an_uploaded_segment_is_no_output_either(verb: Verb, tmp_path: Path) -> None:
    """Files of an upload on this machine are seen as URIs; they are the only copy all the same."""
    shutil.copytree(tiered_corpus.folder("plain"), tmp_path / f"to-pic.a-{tiered_corpus.TOPIC_ID}" / "1")
    (upload,) = tmp_path.rglob("*.log")
    before = upload.read_bytes()
    (segment,) = ls.Log(tmp_path).segments
    with pytest.raises(ValueError, match="never overwritten"):
        verb(ls.FileSource(segment.path), out=upload)
    assert run("salvage", upload, "-o", upload).code == 2
    assert upload.read_bytes() == before
