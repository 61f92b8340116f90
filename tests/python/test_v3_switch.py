"""The switch of the proposed format v3 on the command line and in Spark; its rules are in test_v3.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from cli_process import run
from corpus import CORPUS, rows_of
from spark_session import spark_session

SOURCE = pa.table({"value": [b"a", b"b", b"c"], "timestampMs": [1, 2, 3]})


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    path = tmp_path / "topic-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(ls.encode(SOURCE, format="v3", metadata_first=True, compression="gzip"))
    return path


def test_every_verb_takes_the_switch(segment: Path, tmp_path: Path):
    switch = ("--format", "v3")
    cat = run("cat", *switch, segment)
    assert (cat.code, [line["offset"] for line in cat.lines]) == (0, [0, 1, 2])
    assert [line["magic"] for line in run("batches", "--json", *switch, segment).lines] == [3]
    assert run("verify", "--depth", "metadata", *switch, segment).code == 0
    assert [line["children"][3]["value"] for line in run("explain", "--json", *switch, segment).lines] == [3]
    (told,) = run("stats", "--json", *switch, segment).lines
    assert (told["formats"], told["records"]) == ({"v3": 1}, 3)
    assert told["damage"] == []
    saved = tmp_path / "saved.log"
    assert run("salvage", "--output", saved, *switch, segment).code == 0
    assert saved.read_bytes() == segment.read_bytes()
    v2, v3 = tmp_path / "v2.log", tmp_path / "v3.log"
    assert run("convert", *switch, "-o", v2, segment).code == 0
    assert v2.read_bytes() == ls.encode(SOURCE, compression="gzip")
    assert run("convert", "--to", "v3", "--metadata-first", "-o", v3, v2).code == 0
    assert v3.read_bytes() == segment.read_bytes()


def test_without_it_every_verb_fails_and_names_it(segment: Path, tmp_path: Path):
    for arguments in (["cat"], ["batches"], ["verify"], ["convert", "-o", str(tmp_path / "new.log")], ["explain"], ["stats"]):
        done = run(*arguments, segment)
        assert done.code == (1 if arguments == ["explain"] else 2), arguments
        assert "--format v3" in done.err + done.text
    for arguments in (
        ["salvage", "-o", str(tmp_path / "saved.log")],
        ["txn"],
        ["stats", "--what-if", "v3"],
        ["convert", "-o", str(tmp_path / "new.log")],
    ):
        done = run(*arguments, segment)
        assert (done.code, "Traceback" in done.err) == (2, False), arguments
        assert "the batch is not damaged; --format v3 reads it" in done.err
    assert not (tmp_path / "saved.log").exists()


#: 21 batches of a broker, in magic 3.
OF_A_BROKER = ls.convert((CORPUS / "modern-4.1.0/data/codec-gzip-0/00000000000000000000.log").read_bytes(), to="v3").data


def test_what_is_only_not_allowed_is_not_damaged(tmp_path: Path):
    """MAP-3: nothing of a log is lost for want of a switch, whatever stands beside it."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(OF_A_BROKER)
    report = ls.validate(path.read_bytes())
    assert (report.counts["error"], len(report.undecompressed), report.io_stats["records"]) == (21, 21, 0)
    assert "not decompressed: 21 error, 0 warning, 0 info, 21 of them of a format that only its name reads" in repr(report)
    done = run("verify", path)
    assert done.code == 2
    words = "NOT DECOMPRESSED, 21 batches of magic 3 (--format v3 reads them); no damage found"
    assert f"{words}. Valid: 21 batches with 240 records, offsets 0 to 239" in done.text
    assert "20 batches more like it" in done.text
    for lost in ("Lost", "DAMAGED", "a log segment?"):
        assert lost not in done.text
    (summary,) = (line for line in run("verify", "--json", path).lines if line["type"] == "summary")
    assert (summary["state"], summary["undecompressed"], summary["lost"], summary["records"]) == ("undecompressed", 21, [], 240)
    assert run("diff", path, path).text.count("NOT DECOMPRESSED, otherwise the same") == 1
    assert run("stats", path).text.count("MAP-3") == 1


def test_damage_in_magic_3_is_reported_as_damage():
    """Of a batch whose checksum is wrong nobody knows what it was."""
    damaged = bytearray(OF_A_BROKER)
    damaged[-1] ^= 1
    report = ls.validate(damaged)
    assert (report.counts["error"], len(report.undecompressed)) == (21, 20)
    flipped = bytearray(ls.convert(OF_A_BROKER, format="v3").data)
    flipped[16] = 3
    report = ls.validate(flipped)
    assert ([finding.rule for finding in report.findings], report.undecompressed) == (["MAP-3"], [])


@pytest.mark.parametrize("order", ["input", "offset"])
def test_salvage_refuses_what_it_would_throw_away(order: str, tmp_path: Path):
    modern = ls.encode(SOURCE)
    for data in (OF_A_BROKER, modern + OF_A_BROKER, b"noise" + modern + OF_A_BROKER):
        with pytest.raises(ls.UnsupportedError) as raised:
            ls.salvage(data, order=order, out=str(tmp_path / "saved.log"))
        assert raised.value.rule == "MAP-3"
        assert not (tmp_path / "saved.log").exists()
    assert ls.salvage(OF_A_BROKER, order=order, format="v3").data == OF_A_BROKER


@pytest.mark.spark
def test_spark_takes_the_option(spark: Any, segment: Path):
    read = spark.read.format("logsegment").option("format", "v3")
    assert sorted(row.offset for row in read.load(str(segment.parent)).collect()) == [0, 1, 2]
    assert [row.magic for row in read.option("view", "batches").load(str(segment.parent)).collect()] == [3]
    found = read.option("view", "findings").option("depth", "metadata").load(str(segment.parent)).collect()
    assert [row.rule for row in found if row.severity != "info"] == []
    with pytest.raises(Exception, match='format="v3"'):
        spark.read.format("logsegment").load(str(segment.parent)).collect()


def test_the_table_of_batches_says_that_they_are_a_proposal(segment: Path, tmp_path: Path):
    assert run("batches", "--format", "v3", segment).text.count("EXPERIMENTAL") == 1
    assert "v3 (proposed): 1" in run("stats", "--format", "v3", segment).text
    assert "EXPERIMENTAL" in run("verify", "--format", "v3", segment).text
    modern = tmp_path / "v2.log"
    modern.write_bytes(ls.encode(SOURCE))
    assert "EXPERIMENTAL" not in run("batches", "--format", "v3", modern).text


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_behind_damage_it_is_not_unpacked_and_not_lost(codec: str, tmp_path: Path):
    """MAP-3: what is behind bytes that nobody can frame is found, in magic 3 too."""
    batches = b"".join(ls.encode(SOURCE, format="v3", compression=codec, base_offset=base) for base in (10, 13, 16))
    modern = ls.encode(SOURCE, base_offset=0)
    noise = b"\xff" * 200
    data = modern + noise + batches
    report = ls.validate(data)
    assert [(segment.position, segment.base_offset) for segment in report.undecompressed] == [
        (row["position"] + len(modern) + len(noise), row["baseOffset"]) for row in rows_of(ls.batches(batches, format="v3"))
    ]
    damage = next(finding for finding in report.findings if finding.severity == "error")
    assert (damage.rule, damage.position, damage.length) == ("L8-11", len(modern), 200)
    skipping = ls.decode(data, columns=["offset"], on_error="skip", unreadable="skip")
    assert [row["offset"] for row in rows_of(skipping)] == [0, 1, 2]
    assert [finding.rule for finding in skipping.findings] == ["L8-11", "MAP-3", "MAP-3", "MAP-3"]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    *_, summary = run("verify", "--json", path).lines
    assert (summary["undecompressed"], [(span["position"], span["length"]) for span in summary["lost"]]) == (3, [(len(modern), 200)])
    with pytest.raises(ls.UnsupportedError, match="MAP-3"):
        ls.salvage(noise + batches)
    assert ls.salvage(data, format="v3").data == modern + batches
    # A name says that nothing else is wanted.
    assert [finding.rule for finding in ls.validate(data, format="v2").findings if finding.severity == "error"] == ["L8-11"]


def test_only_a_validation_reports_that_it_read_a_proposal(tmp_path: Path):
    data = OF_A_BROKER
    for findings in (
        ls.convert(data, to="v2", format="v3").findings,
        ls.convert(data, to="v3", compression="gzip", format="v3").findings,
        ls.salvage(data, format="v3").findings,
        ls.salvage(data, order="offset", format="v3").findings,
        ls.batch_stream(data, format="v3").findings,
    ):
        assert findings == []
    paths = [tmp_path / f"{name}.log" for name in ("first", "second")]
    for path in paths:
        path.write_bytes(data)
    found = ls.validate(paths, format="v3").findings
    assert [finding.rule for finding in found].count("EXPERIMENTAL") == 1


def test_a_conversion_without_a_format_reports_that_it_writes_another(segment: Path, tmp_path: Path):
    """S-C2: a codec was asked for, and the format of the batches goes with it."""
    data = ls.encode(SOURCE) + segment.read_bytes()
    silent = ls.convert(data, compression="lz4", format="v3")
    assert [(finding.rule, finding.severity, finding.position) for finding in silent.findings] == [("S-C2", "info", len(ls.encode(SOURCE)))]
    named = ls.convert(data, to="v2", compression="lz4", format="v3")
    assert (silent.data, named.findings) == (named.data, [])
    values = ls.convert_array(pa.array([data]), compression="lz4", format="v3")
    assert pa.array(values).to_pylist() == [silent.data], "the same of a value, which has no room for findings"
    assert ls.convert(ls.encode(SOURCE), compression="lz4", format="v3").findings == []
    kept = ls.convert(segment.read_bytes(), to="v3", metadata_first=True, compression="lz4", format="v3")
    assert [row["magic"] for row in rows_of(ls.batches(kept.data, format="v3"))] == [3]
    arguments = ["convert", "--format", "v3", "--compression", "lz4", segment, "-o"]
    assert 'pass to="v3" (--to v3) to keep the format' in run(*arguments, tmp_path / "silent.log").err
    assert "S-C2" not in run(*arguments, tmp_path / "named.log", "--to", "v2").err


@pytest.mark.parametrize("depth", ["headers", "metadata", "full"])
def test_verify_reports_the_decompressed_bytes(segment: Path, depth: str):
    segment.write_bytes(ls.encode(pa.table({"value": [b"v" * 9999] * 50}), format="v3", metadata_first=True, compression="zstd"))
    *_, summary = run("verify", "--json", "--depth", depth, "--format", "v3", segment).lines
    assert summary["bytesInflated"] == ls.validate(segment.read_bytes(), depth=depth, format="v3").io_stats["bytes_inflated"]
    assert (summary["bytesInflated"] == 0, summary["bytesInflated"] > 50 * 9999) == (depth == "headers", depth == "full")
