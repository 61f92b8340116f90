"""`logsegment convert`: exit codes, outputs that are whole or absent, inputs that are never written."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from cli_process import CODEC, CODEC_FILE, DAMAGED, run

NAME = "00000000000000000000.log"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A partition of magic 1 in two segments."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    table = pa.table({"value": [b"a", b"b", b"c"], "timestampMs": [1, 2, 3]})
    (directory / NAME).write_bytes(ls.encode(table, format="v1"))
    (directory / "00000000000000000003.log").write_bytes(ls.encode(table, format="v1", compression="gzip", base_offset=3))
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: abc\n")
    return directory


def offsets(path: Path) -> list[int]:
    return ls.decode(ls.FileSource(path), columns=["offset"]).to_pyarrow()["offset"].to_pylist()


def test_a_file_becomes_a_file(old: Path, tmp_path: Path):
    before = (old / NAME).read_bytes()
    done = run("convert", old / NAME, "--output", tmp_path / "new.log")
    assert (done.code, done.out) == (0, b"")
    assert (tmp_path / "new.log").read_bytes() == ls.convert(before).data
    assert (old / NAME).read_bytes() == before
    piped = run("convert", "-", "-o", "-", "--compression", "zstd", stdin=before)
    assert (piped.code, piped.out) == (0, ls.convert(before, compression="zstd").data)


def test_a_directory_becomes_a_directory(old: Path, tmp_path: Path):
    done = run("convert", old, "-o", tmp_path / "out", "--compression", "lz4")
    assert done.code == 0
    new = tmp_path / "out" / "orders-0"
    assert [offset for path in sorted(new.glob("*.log")) for offset in offsets(path)] == list(range(6))
    assert (new / "partition.metadata").read_text() == (old / "partition.metadata").read_text()
    assert {path.suffix for path in new.iterdir()} >= {".log", ".index", ".timeindex"}
    assert {path.name for path in tmp_path.iterdir()} == {"orders-0", "out"}
    assert run("verify", tmp_path / "out").code == 0
    assert run("convert", old, "-o", tmp_path / "out").code == 2


def test_segments_of_kafka_07_are_numbered_one_after_the_other(tmp_path: Path):
    oldest = corpus.CORPUS / "legacy-0.7.2/data/multi-segment-0"
    segments = sorted(oldest.glob("*.kafka"))
    assert len(segments) > 1
    done = run("convert", oldest, "--allow-loss", "--first-offset", "70", "-o", tmp_path / "out")
    assert (done.code, "lost: offset" in done.err) == (3, True)
    made = sorted((tmp_path / "out/multi-segment-0").glob("*.log"))
    found = [offsets(path) for path in made]
    values = sum(len(ls.decode(ls.FileSource(path), columns=["value"]).to_pyarrow()) for path in segments)
    assert [offset for part in found for offset in part] == list(range(70, 70 + values))
    assert [int(path.stem) for path in made] == [part[0] for part in found]


def test_the_map_gives_the_offset_of_each_message_of_kafka_07(tmp_path: Path):
    """L7-25: what a consumer committed is where an entry starts in the partition; the map leads from there to an offset."""
    oldest = corpus.CORPUS / "legacy-0.7.2/data/multi-segment-0"
    done = run("convert", oldest, "--allow-loss", "--offset-map", tmp_path / "map.csv", "-o", tmp_path / "out")
    assert done.code == 3, done.err
    with (tmp_path / "map.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    before = [
        (str(path), row["entryPosition"] + int(path.stem), row["indexInEntry"])
        for path in sorted(oldest.glob("*.kafka"))
        for row in ls.decode(ls.FileSource(path), columns=["entryPosition", "indexInEntry"]).to_pyarrow().to_pylist()
    ]
    assert [(row["file"], int(row["position"]), int(row["index"])) for row in rows] == before
    assert [int(row["offset"]) for row in rows] == list(range(len(before)))
    assert len({row["file"] for row in rows}) > 1
    (first,) = sorted(oldest.glob("*.kafka"))[:1]
    elsewhere = run(
        "convert", first, "--allow-loss", "--base-position", "1000", "--offset-map", tmp_path / "map.csv", "--overwrite", "-o", "-"
    )
    assert elsewhere.code == 3
    assert (tmp_path / "map.csv").read_text().splitlines()[1].endswith(",1000,0,0")
    refused = run("convert", first, "--offset-map", tmp_path / "no.csv", "-o", tmp_path / "no.log")
    assert refused.code == 1
    assert not list(tmp_path.glob("no.*"))


def test_a_map_is_about_kafka_07_only(old: Path, tmp_path: Path):
    asked = run("convert", old, "--offset-map", tmp_path / "map.csv", "-o", tmp_path / "out")
    assert asked.code == 2
    assert "0.7" in asked.err
    oldest = next((corpus.CORPUS / "legacy-0.7.2/data/multi-segment-0").glob("*.kafka"))
    assert run("convert", oldest, "--offset-map", tmp_path / "out.log", "-o", tmp_path / "out.log").code == 2
    assert not (tmp_path / "map.csv").exists()


def test_frames_that_brokers_refuse_are_converted_when_allowed(tmp_path: Path):
    table = pa.table({"value": [b"a", b"b"], "timestampMs": [1, 2]})
    (tmp_path / NAME).write_bytes(ls.encode(table, format="v1", compression="lz4", lz4_header_checksum="broken"))
    refused = run("convert", tmp_path / NAME, "-o", tmp_path / "out.log")
    assert (refused.code, "readable with --quirk lz4-header-checksum" in refused.err) == (2, True)
    assert run("convert", tmp_path / NAME, "--quirk", "lz4-header-checksum", "-o", tmp_path / "out.log").code == 0
    assert offsets(tmp_path / "out.log") == [0, 1]


def test_losses_are_refused_or_reported_with_exit_code_3(tmp_path: Path):
    refused = run("convert", CODEC_FILE, "--to", "v1", "-o", tmp_path / "out.log")
    assert refused.code == 1
    assert "--allow-loss" in refused.err
    assert list(tmp_path.iterdir()) == []
    allowed = run("convert", CODEC_FILE, "--to", "v1", "--allow-loss", "-o", tmp_path / "out.log")
    assert allowed.code == 3
    assert "lost: headers" in allowed.err
    assert len(offsets(tmp_path / "out.log")) > 200


def test_zstd_on_the_way_down_ends_the_conversion_with_exit_code_3(tmp_path: Path):
    zstd = corpus.CORPUS / "modern-4.1.0/data/codec-zstd-0" / NAME
    done = run("convert", zstd, "--to", "v1", "--allow-loss", "-o", tmp_path / "out.log")
    assert (done.code, (tmp_path / "out.log").read_bytes()) == (3, b"")
    assert "ended before the zstd batch" in done.err


def test_damage_writes_nothing(tmp_path: Path):
    done = run("convert", DAMAGED, "--compression", "gzip", "-o", tmp_path / "out.log")
    assert done.code == 1
    assert "V2-31" in done.err
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_usage(old: Path, tmp_path: Path):
    assert run("convert", old / NAME, "-o", old / NAME).code == 2
    assert run("convert", old / NAME, CODEC_FILE, "-o", tmp_path / "out.log").code == 2
    assert run("convert", CODEC / "missing.log", "-o", tmp_path / "out.log").code == 2
    assert run("convert", old / NAME).code == 2
    assert run("convert", old / NAME, "--level", "3", "-o", tmp_path / "out.log").code == 2
