"""A length that reaches past the end of the last segment, over valid batches: verbs that write do not leave these out in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cli_process
import logsegment as ls
from log_starts import write_checkpoint

NAME = f"{0:020}.log"
WRITERS: dict[str, Callable[[Path, Path], Any]] = {
    "convert": lambda source, out: ls.convert(source / NAME, to="v1", out=out),
    "rewrite": lambda source, out: ls.rewrite(source, out, drop=[b"none"]),
    "compact": ls.compact,
    "split": lambda source, out: ls.split(source, out, bytes=100),
    "join": ls.join,
}


def make(directory: Path, *, cut: int = 0) -> Path:
    """Three batches; the second one claims a MiB more than it has."""
    directory.mkdir()
    tables = [pa.table({"key": [b"k%d" % number], "value": [b"value %d" % number]}) for number in range(3)]
    first, second, third = (bytearray(ls.encode(table, base_offset=number)) for number, table in enumerate(tables))
    second[9] = 0x10
    (directory / NAME).write_bytes(bytes(first + second + third)[: -cut or None])
    return directory


@pytest.mark.parametrize("verb", WRITERS)
def test_writers_refuse_a_segment_that_hides_batches(verb: str, tmp_path: Path):
    source, out = make(tmp_path / "orders-0"), tmp_path / "out"
    with pytest.raises(ls.CorruptError, match=r"SWALLOWED.*runs past") as raised:
        WRITERS[verb](source, out)
    assert raised.value.position == (source / NAME).stat().st_size // 3
    assert not out.exists()


@pytest.mark.parametrize("verb", WRITERS)
def test_a_torn_end_without_batches_is_left_out(verb: str, tmp_path: Path):
    """What a broker was writing when it stopped."""
    source, out = tmp_path / "orders-0", tmp_path / "out"
    source.mkdir()
    data = b"".join(ls.encode(pa.table({"key": [b"k%d" % number], "value": [b"v"]}), base_offset=number) for number in range(3))
    (source / NAME).write_bytes(data[:-5])
    WRITERS[verb](source, out)
    assert out.exists()


@pytest.mark.parametrize("verb", ["rewrite", "compact", "split", "join"])
def test_zeros_after_the_last_batch_of_a_closed_segment_are_left_out(verb: str, tmp_path: Path):
    """A preallocated file, found by a simulated history: no offset is missing, so that the zeros are no damage."""
    source, out = tmp_path / "orders-0", tmp_path / "out"
    source.mkdir()
    for number in range(2):
        data = ls.encode(pa.table({"key": [b"k%d" % number], "value": [b"v"]}), base_offset=number)
        (source / f"{number:020}.log").write_bytes(data + bytes(20))
    WRITERS[verb](source, out)
    assert [row["offset"] for row in ls.Log(out).records(columns=["offset"]).read_all().to_pylist()] == [0, 1]
    write_checkpoint(tmp_path, "orders-0", 1)
    WRITERS[verb](source, tmp_path / "later")
    assert [row["offset"] for row in ls.Log(tmp_path / "later").records(columns=["offset"]).read_all().to_pylist()] == [1]


@pytest.mark.parametrize("words", [["convert"], ["rewrite", "--drop", "offsets=9..10"], ["compact"], ["split", "--bytes", "100"], ["join"]])
def test_the_command_line_ends_with_1_and_no_output(words: list[str], tmp_path: Path):
    source, out = make(tmp_path / "orders-0"), tmp_path / "out"
    done = cli_process.run(*words, source, "--output", out)
    assert (done.code, "SWALLOWED" in done.err) == (1, True), done.err
    assert not out.exists()
