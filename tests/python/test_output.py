"""An output is complete or absent, replaces nothing without leave, is never the input, and two outputs are never one."""

from __future__ import annotations

import errno
import io
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
import tiered_corpus
from cli_process import CODEC_FILE, clean_environment, run, start
from logsegment import _output

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
    with pytest.raises(ValueError, match=r"out: .* is the source; a source is never overwritten"):
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
def test_an_existing_file_is_not_replaced_by_a_segment(verb: tuple[str, ...], kind: str, log: Path, tmp_path: Path) -> None:
    saved, out = tmp_path / "saved.log", tmp_path / "out.log"
    saved.write_bytes(b"the only copy")
    if kind == "file":
        out = saved
    else:
        out.symlink_to(saved if kind == "link" else tmp_path / "nowhere.log")
    done = run(*verb, log, "--output", out)
    assert (done.code, done.out) == (2, b"")
    assert f"{out}: file exists (pass --overwrite to replace it)" in done.err
    assert saved.read_bytes() == b"the only copy"
    assert run(*verb, log, "--output", tmp_path / "new.log").code == 0


def test_an_existing_file_is_not_replaced_by_the_file_of_skipped_bytes(log: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside.log"
    aside.write_bytes(b"the only copy")
    done = run("salvage", log, "--output", tmp_path / "out.log", "--aside", aside)
    assert (done.code, f"{aside}: file exists" in done.err) == (2, True)
    assert aside.read_bytes() == b"the only copy"
    assert not (tmp_path / "out.log").exists()


@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
@pytest.mark.parametrize("argument", ["encode", "convert", "salvage", "aside"])
def test_an_existing_file_is_replaced_only_with_overwrite(argument: str, kind: str, tmp_path: Path) -> None:
    """The error comes before anything is read."""
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
        write(path)
    assert (refused.value.errno, refused.value.filename) == (errno.EEXIST, str(path))
    assert (saved.read_bytes(), path.is_symlink(), read) == (b"the only copy", kind != "file", [])
    write(tmp_path / "there.log")
    with (tmp_path / "open.log").open("wb") as file:
        write(file)
    written = (tmp_path / "there.log").read_bytes()
    assert written == (tmp_path / "open.log").read_bytes() != b""
    write(path, overwrite=True)
    assert path.read_bytes() == written
    assert path.is_symlink() == (kind != "file")
    assert {path.suffix for path in tmp_path.iterdir()} == {".log"}


@pytest.mark.parametrize("is_directory", [False, True], ids=["file", "directory"])
def test_that_nothing_had_to_be_put_aside_is_said(is_directory: bool, log: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    source = log.parent if is_directory else log
    done = run("salvage", source, "--output", tmp_path / "out", "--aside", aside)
    assert done.code == 0
    assert f"no entry for --aside: {aside} {'is empty' if is_directory else 'was not made'}\n" in done.err
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
    assert "no entry for --aside" not in done.err
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


@pytest.mark.parametrize(("name", "problem"), [("orders-0", "orders-0 is in 2 directories"), ("old", "would become one directory")])
def test_two_directories_of_one_name_do_not_become_one(name: str, problem: str, log: Path, tmp_path: Path) -> None:
    places = [tmp_path / above / name for above in ("first", "second")]
    for place in places:
        place.mkdir(parents=True)
        shutil.copyfile(log, place / NAME)
    done = run("convert", *places, "--to", "v2", "-o", tmp_path / "out")
    assert done.code == 2
    assert problem in done.err
    assert not (tmp_path / "out").exists()
    # Each replica is salvaged, under its own path.
    assert run("salvage", *places, "-o", tmp_path / "out").code == 0
    assert sorted(path.parent.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob(NAME)) == [
        Path("first") / name,
        Path("second") / name,
    ]


@pytest.mark.parametrize(("output", "aside"), [("out", "out"), ("out", "out/rest"), ("rest/out", "rest"), ("out", "./out/../out/rest")])
def test_neither_output_directory_contains_the_other(output: str, aside: str, log: Path, tmp_path: Path) -> None:
    done = run("salvage", log.parent, "-o", tmp_path / output, "--aside", f"{tmp_path}/{aside}")
    assert done.code == 2
    assert "must not be inside each other" in done.err
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


def writers(path: Path) -> dict[str, Callable[..., Any]]:
    """Everything in Python that writes a file, with `path` as its output."""
    table = pa.table({"value": [b"v"]})
    data = CODEC_FILE.read_bytes()
    damaged = data[:17] + bytes([data[17] ^ 1]) + data[18:]
    return {
        "encode": lambda **options: ls.encode(table, out=path, **options),
        "convert": lambda **options: ls.convert(data, compression="gzip", out=path, **options),
        "salvage": lambda **options: ls.salvage(data, out=path, **options),
        "aside": lambda **options: ls.salvage(damaged, aside=path, **options),
    }


#: Verbs of the command line that write a file, with its path last.
COMMANDS = {
    "cat": ("cat", CODEC_FILE, "--arrow"),
    "cat parquet": ("cat", CODEC_FILE, "--parquet"),
    "batches": ("batches", CODEC_FILE, "--parquet"),
    "stats": ("stats", CODEC_FILE, "--html"),
    "explain": ("explain", CODEC_FILE, "--html"),
    "convert": ("convert", CODEC_FILE, "--compression", "gzip", "--output"),
    "salvage": ("salvage", CODEC_FILE, "--output"),
    "lz4 fix": ("lz4", "fix", CODEC_FILE, "--output"),
    "train": ("plugins", "train", *sorted(corpus.CORPUS.glob("modern-4.1.0/data/codec-*-0")), "--output"),
}
writer_names = pytest.mark.parametrize("name", writers(Path()))
commands = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


@writer_names
def test_a_replaced_file_keeps_its_mode_and_owner(name: str, tmp_path: Path) -> None:
    path = tmp_path / "out.log"
    path.write_bytes(b"old")
    path.chmod(0o640)
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(path, 12345, 54321)
    writers(path)[name](overwrite=True)
    status = path.stat()
    assert path.read_bytes() != b"old"
    assert stat.S_IMODE(status.st_mode) == 0o640
    if is_root:
        assert (status.st_uid, status.st_gid) == (12345, 54321)


@commands
def test_a_file_that_a_command_replaces_keeps_its_mode(command: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(0o600)
    refused = run(*command, path)
    assert (refused.code, f"{path}: file exists (pass --overwrite" in refused.err) == (2, True)
    assert path.read_bytes() == b"old"
    assert run(*command, path, "--overwrite").code == 0
    assert path.read_bytes() != b"old"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["out"]


def piped(path: Path, write: Callable[[], Any]) -> bytes:
    """What a writer writes into a FIFO."""
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    write()
    reader.join(20)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert not reader.is_alive()
    return read[0]


@pytest.mark.parametrize("overwrite", [False, True])
@writer_names
def test_a_fifo_is_written_to(name: str, overwrite: bool, tmp_path: Path) -> None:
    writers(tmp_path / "plain.log")[name]()
    written = piped(tmp_path / "fifo", lambda: writers(tmp_path / "fifo")[name](overwrite=overwrite))
    assert written == (tmp_path / "plain.log").read_bytes() != b""


@commands
def test_a_command_writes_to_a_fifo(command: tuple[str, ...], tmp_path: Path) -> None:
    assert run(*command, tmp_path / "plain").code == 0
    assert piped(tmp_path / "fifo", lambda: run(*command, tmp_path / "fifo")) == (tmp_path / "plain").read_bytes()


@writer_names
def test_a_device_stays_and_a_socket_is_refused(name: str, tmp_path: Path) -> None:
    device = Path("/dev/null") if os.geteuid() else tmp_path / "null"
    if not os.geteuid():
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    writers(device)[name]()
    assert device.is_char_device()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for overwrite in (False, True):
            with pytest.raises(OSError, match="not a regular file") as raised:
                writers(tmp_path / "socket")[name](overwrite=overwrite)
            assert raised.value.filename == str(tmp_path / "socket")
    assert (tmp_path / "socket").is_socket()


class Meanwhile:
    """A source that lets another writer take the name of the output while it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._source = io.BytesIO(CODEC_FILE.read_bytes())

    def read(self, size: int) -> bytes:
        self._path.write_bytes(b"of another writer")
        return self._source.read(size)


@verbs
def test_a_file_that_appears_meanwhile_is_not_replaced(verb: Verb, tmp_path: Path) -> None:
    out = tmp_path / "out.log"
    with pytest.raises(FileExistsError) as refused:
        verb(Meanwhile(out), out=out)
    assert refused.value.filename == str(out)
    assert out.read_bytes() == b"of another writer"
    assert os.listdir(tmp_path) == ["out.log"]


def test_a_table_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out.log"

    def rows() -> Iterator[pa.RecordBatch]:
        out.write_bytes(b"of another writer")
        yield pa.record_batch({"value": [b"v"]})

    with pytest.raises(FileExistsError):
        ls.encode(pa.RecordBatchReader.from_batches(pa.schema({"value": pa.binary()}), rows()), out=out)
    assert out.read_bytes() == b"of another writer"


@pytest.mark.parametrize("verb", ["convert", "salvage"])
def test_a_file_that_appears_while_a_command_runs_is_not_replaced(verb: str, tmp_path: Path) -> None:
    out, source = tmp_path / "out", tmp_path / NAME
    os.mkfifo(source)
    process = start(verb, source, "--output", out, *(["--order", "input"] if verb == "salvage" else []), stderr=subprocess.PIPE)
    with source.open("wb") as fifo:
        fifo.write(CODEC_FILE.read_bytes())
        out.write_bytes(b"of another writer")
    _, said = process.communicate(timeout=60)
    assert (process.returncode, b"file exists" in said) == (2, True)
    assert out.read_bytes() == b"of another writer"
    assert sorted(os.listdir(tmp_path)) == sorted([NAME, "out"])


@pytest.mark.parametrize("verb", ["convert", "salvage"])
def test_a_directory_that_appears_while_a_command_runs_is_not_replaced(verb: str, tmp_path: Path) -> None:
    out, source = tmp_path / "out", tmp_path / "logs"
    for number in range(400):
        (source / f"orders-{number}").mkdir(parents=True)
        shutil.copyfile(CODEC_FILE, source / f"orders-{number}" / NAME)
    process = start(verb, source, "--output", out, stderr=subprocess.PIPE)
    while not list(tmp_path.glob(".*.part")):
        assert process.poll() is None
    out.mkdir()
    _, said = process.communicate(timeout=120)
    assert (process.returncode, b"must be a new directory" in said) == (2, True)
    assert os.listdir(out) == []
    assert sorted(os.listdir(tmp_path)) == ["logs", "out"]


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_of_simultaneous_conversions_one_succeeds(kind: str, log: Path, tmp_path: Path) -> None:
    source = log if kind == "file" else log.parent
    for codec in ("gzip", "zstd"):
        assert run("convert", source, "--compression", codec, "--output", tmp_path / codec).code == 0
    started = [
        start("convert", source, "--compression", codec, "--output", tmp_path / "both", stderr=subprocess.DEVNULL)
        for codec in ("gzip", "zstd")
    ]
    codes = [process.wait(60) for process in started]
    assert sorted(codes) == [0, 2]
    winner = tmp_path / ("gzip", "zstd")[codes.index(0)]
    written, expected = (path if kind == "file" else path / log.parent.name / NAME for path in (tmp_path / "both", winner))
    assert written.read_bytes() == expected.read_bytes()
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".part"]


def test_a_file_system_without_links_replaces_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: object, **_options: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    out = tmp_path / "out.log"
    with pytest.raises(FileExistsError):
        ls.salvage(Meanwhile(out), out=out)
    assert out.read_bytes() == b"of another writer"
    out.unlink()
    ls.salvage(CODEC_FILE.read_bytes(), out=out)
    assert out.read_bytes() == CODEC_FILE.read_bytes()
    assert os.listdir(tmp_path) == ["out.log"]


def test_a_move_that_fails_without_links_leaves_no_empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: object, **_options: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    def fail(*_given: object, **_options: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        ls.salvage(CODEC_FILE.read_bytes(), out=tmp_path / "out.log")
    assert os.listdir(tmp_path) == []


def test_a_killed_process_leaves_no_half_of_an_output(tmp_path: Path) -> None:
    out = tmp_path / "out.log"
    source = f"""
import os, signal, logsegment as ls
class Source:
    def read(self, size):
        given = open({str(CODEC_FILE)!r}, "rb").read() if not hasattr(self, "given") else os.kill(os.getpid(), signal.SIGKILL)
        self.given = True
        return given
ls.convert(Source(), compression="gzip", out={str(out)!r})
"""
    done = subprocess.run([sys.executable, "-c", source], env=clean_environment(), timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not out.exists()


def test_a_restored_directory_that_fills_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uploads = tmp_path / f"to-pic.a-{tiered_corpus.TOPIC_ID}" / "1"
    shutil.copytree(tiered_corpus.folder("plain"), uploads)
    out = tmp_path / "restored"
    out.mkdir(0o700)
    ls.restore(uploads.parents[0], out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    with pytest.raises(FileExistsError) as raised:
        ls.restore(uploads.parents[0], out)
    assert raised.value.filename == str(out)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="open files have no paths here")
def test_an_open_file_of_the_process_is_written_after_what_is_in_it(tmp_path: Path):
    """As a shell appends to a file: `logsegment convert ... --output /dev/stdout >> FILE`."""
    kept = tmp_path / "kept"
    with kept.open("wb", buffering=0) as file:
        file.write(b"precious")
        data = ls.encode(pa.table({"value": [b"v"]}))
        ls.encode(pa.table({"value": [b"v"]}), out=f"/dev/fd/{file.fileno()}")
    assert kept.read_bytes() == b"precious" + data


def interrupted(name: str, monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    """Raise after a call, as a signal does that is noticed there."""
    real = getattr(module, name)

    def call(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, call)


def test_a_signal_between_the_making_of_a_directory_and_its_use_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    interrupted("mkdir", monkeypatch, Path)
    with pytest.raises(KeyboardInterrupt), _output.output_directory(tmp_path / "out"):
        pass
    assert list(tmp_path.iterdir()) == []
    assert not _output._unfinished


def test_what_a_signal_left_is_removed_when_the_process_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Noticed after the file is made, before its `with` block begins; or while the directory is removed."""
    output = _output.OutputFile(tmp_path / "out.log", overwrite=False)
    output.__enter__()
    output.file.close()

    def interrupted_at_once(_: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(_output.shutil, "rmtree", interrupted_at_once)
        with pytest.raises(KeyboardInterrupt), _output.output_directory(tmp_path / "out"):
            raise ValueError
    assert len(list(tmp_path.iterdir())) == 2
    _output._unfinished[str(tmp_path / "of another process")] = os.getpid() + 1
    (tmp_path / "of another process").touch()
    _output._remove_unfinished()
    assert [path.name for path in tmp_path.iterdir()] == ["of another process"]
    _output._unfinished.clear()


def test_a_directory_that_threads_still_write_into_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Files appear and vanish below `rmtree`, as those of a writer that has not noticed the signal yet."""
    path, real, calls = tmp_path / "part", _output.shutil.rmtree, []

    def racing(place: str) -> None:
        calls.append(place)
        if len(calls) == 1:
            raise FileNotFoundError(errno.ENOENT, "no such file", f"{place}/inner")
        if len(calls) == 2:
            raise OSError(errno.ENOTEMPTY, "directory not empty", place)
        real(place)

    (path / "inner").mkdir(parents=True)
    monkeypatch.setattr(_output.shutil, "rmtree", racing)
    _output._remove_tree(str(path))
    assert (len(calls), path.exists()) == (3, False)


@pytest.mark.slow
def test_sigterm_at_any_time_leaves_no_part_of_a_directory(log: Path, tmp_path: Path):
    for attempt in range(20):
        process = start("salvage", log.parent, "-o", tmp_path / f"out-{attempt}", "-q", stderr=subprocess.PIPE)
        time.sleep(0.15 + attempt / 100)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == [], attempt
