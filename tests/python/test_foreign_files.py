"""Files that are not log segments: one error that names what they look like."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import corpus
import logsegment as ls

SEGMENT = corpus.CORPUS / "modern-4.1.0/data/codec-none-0/00000000000000000000.log"
READS: dict[str, Callable[[Path], Any]] = {
    "decode": lambda path: ls.decode(path).read_all(),
    "batches": ls.batches,
    "segment": lambda path: ls.Segment(path).records().read_all(),
    "segment batches": lambda path: ls.Segment(path).batches(),
    "log": lambda path: ls.Log(path).records().read_all(),
    "scan": lambda path: ls.polars.scan(path).collect(),
    "convert": ls.convert,
    "inspect": ls.inspect,
    "salvage": ls.salvage,
    "rewrite": lambda path: ls.rewrite(path, io.BytesIO(), drop=["a"]),
    "split": lambda path: ls.split(path, path.with_name("parts"), bytes=1000),
    "join": lambda path: ls.join([path], path.with_name("joined")),
    "time": lambda path: ls.Log(path).offset_for_timestamp(0),
    "find": lambda path: list(ls.find(path, timestamp=0)),
}
#: These read the logs of directories.
OF_DIRECTORIES = ("log", "scan", "time", "find", "salvage", "convert", "rewrite", "split", "join")


def _parquet(path: Path) -> None:
    pa.parquet.write_table(pa.table({"a": [1]}), path)


def _tar(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        archive.add(SEGMENT.with_name("partition.metadata"), "00000000000000000000.log")


def _index(path: Path) -> None:
    path.write_bytes(bytes(24))


FILES: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "text": ("server.log", lambda path: path.write_text("[2026-01-31 12:00:00,000] INFO started\n"), "JSON|text"),
    "short text": ("a.log", lambda path: path.write_text("hi\n"), "text"),
    "json": ("rows.json", lambda path: path.write_text(json.dumps({"a": 1})), "JSON"),
    "gzip": ("00000000000000000000.log", lambda path: path.write_bytes(gzip.compress(SEGMENT.read_bytes())), "gzip"),
    "xz": ("a.log.xz", lambda path: path.write_bytes(lzma.compress(b"records")), "xz"),
    "parquet": ("a.parquet", _parquet, "Parquet"),
    "arrow": ("a.arrow", lambda path: pyarrow.feather.write_feather(pa.table({"a": [1]}), path), "Arrow"),
    "tar": ("orders.tar", _tar, "tar archive"),
    "index": ("00000000000000000000.index", _index, "index"),
    "time index": ("00000000000000000000.timeindex", _index, "time index"),
    "checkpoint": ("leader-epoch-checkpoint", lambda path: path.write_text("0\n0\n"), "checkpoint"),
    "directory": ("directory", lambda path: path.mkdir(), "directory"),
}


CASES = [(kind, read) for kind in FILES for read in READS if kind != "directory" or read not in OF_DIRECTORIES]


@pytest.mark.parametrize(("kind", "read"), CASES)
def test_the_error_names_what_the_file_looks_like(tmp_path: Path, kind: str, read: str):
    name, write, looks_like = FILES[kind]
    path = tmp_path / name
    write(path)
    with pytest.raises(ls.InvalidError, match=f"not a log segment: looks like .*({looks_like})") as raised:
        READS[read](path)
    assert str(raised.value).startswith(str(path))
    assert (raised.value.code, raised.value.position) == ("not_a_segment", 0)


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "directory"])
def test_validate_reports_it_and_nothing_else(tmp_path: Path, kind: str):
    name, write, _ = FILES[kind]
    path = tmp_path / name
    write(path)
    report = ls.validate(path)
    assert not report.ok
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("SEG-16", "error")
    assert "not a log segment: looks like" in finding.message


@pytest.mark.parametrize("content", [b"", bytes(100), bytes(1 << 20)])
def test_an_empty_file_and_one_of_zeros_are_segments_without_records(tmp_path: Path, content: bytes):
    path = tmp_path / "a.log"
    path.write_bytes(content)
    for name, read in READS.items():
        # There is no entry to explain.
        if name != "inspect":
            read(path)
    assert ls.decode(path).rows() == []
    assert ls.validate(path).ok


@pytest.mark.parametrize("kind", ["text", "gzip", "index"])
def test_salvage_writes_nothing_for_a_file_of_another_kind(tmp_path: Path, kind: str):
    name, write, _ = FILES[kind]
    write(tmp_path / name)
    with pytest.raises(ls.InvalidError, match="not a log segment: looks like"):
        ls.salvage(tmp_path / name, out=tmp_path / "saved.log")
    with pytest.raises(ls.InvalidError, match="not a log segment: looks like"):
        ls.salvage(ls.FileSource(tmp_path / name), out=tmp_path / "saved.log")
    assert not (tmp_path / "saved.log").exists()
    assert ls.salvage((tmp_path / name).read_bytes()).entries == 0


def test_bytes_in_memory_are_judged_by_their_content():
    with pytest.raises(ls.LimitError):
        ls.decode(b"some text that is long enough for a header").rows()


def test_a_read_that_skips_damage_reads_what_follows_text(tmp_path: Path):
    path = tmp_path / "a.log"
    path.write_bytes(b"some text that is long enough for a header\n" + SEGMENT.read_bytes())
    assert ls.decode(path, on_error="skip").rows() == ls.decode(SEGMENT).rows()
    assert ls.salvage(path).data == SEGMENT.read_bytes()
    assert "SEG-16" not in {finding.rule for finding in ls.validate(path).findings}


def test_a_read_from_the_middle_looks_at_no_beginning(tmp_path: Path):
    path = tmp_path / "a.log"
    path.write_bytes(b"{}" + SEGMENT.read_bytes())
    assert ls.decode(ls.FileSource(path, 2)).rows() == ls.decode(SEGMENT).rows()


def test_every_segment_of_the_corpus_is_one():
    found = [path for path in corpus.CORPUS.glob("*/data/**/*") if path.suffix in (".log", ".kafka") and path.is_file()]
    assert len(found) > 100
    for path in found:
        ls.decode(path).close()
