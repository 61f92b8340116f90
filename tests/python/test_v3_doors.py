"""The switch of the proposed format v3 on the command line and in Spark; its rules are in test_v3.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls
from cli_process import run
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


@pytest.mark.parametrize("switch", [["--experimental"], ["--format", "v3"]], ids=lambda switch: switch[0])
def test_every_verb_takes_the_switch(segment: Path, switch: list[str], tmp_path: Path):
    cat = run("cat", *switch, segment)
    assert (cat.code, [line["offset"] for line in cat.lines]) == (0, [0, 1, 2])
    assert [line["magic"] for line in run("batches", "--json", *switch, segment).lines] == [3]
    assert run("verify", "--depth", "metadata", *switch, segment).code == 0
    assert [line["children"][3]["value"] for line in run("explain", "--json", *switch, segment).lines] == [3]
    (told,) = run("stats", "--json", *switch, segment).lines
    assert (told["formats"], told["records"], told["damage"]) == ({"v3": 1}, 3, [])
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
        assert done.code == 1, arguments
        assert "experimental" in done.err + done.text
    done = run("salvage", "--output", tmp_path / "saved.log", segment)
    assert (done.code, (tmp_path / "saved.log").read_bytes()) == (3, b"")


@pytest.mark.spark
def test_spark_takes_the_option(spark: Any, segment: Path):
    read = spark.read.format("logsegment").option("experimental", "true")
    assert sorted(row.offset for row in read.load(str(segment.parent)).collect()) == [0, 1, 2]
    assert [row.magic for row in read.option("view", "batches").load(str(segment.parent)).collect()] == [3]
    found = read.option("view", "findings").option("depth", "metadata").load(str(segment.parent)).collect()
    assert [row.rule for row in found if row.severity != "info"] == []
    with pytest.raises(Exception, match='format="v3" or experimental=True'):
        spark.read.format("logsegment").load(str(segment.parent)).collect()


def test_the_table_of_batches_says_that_they_are_experimental(segment: Path, tmp_path: Path):
    for switch in (["--experimental"], ["--format", "v3"]):
        assert run("batches", *switch, segment).text.count("EXPERIMENTAL v3") == 1
        assert "v3 (experimental): 1" in run("stats", *switch, segment).text
    assert "[EXPERIMENTAL]" in run("batches", "--format", "v3", segment).err
    assert "[EXPERIMENTAL]" not in run("batches", "--experimental", segment).err
    modern = tmp_path / "v2.log"
    modern.write_bytes(ls.encode(SOURCE))
    assert "EXPERIMENTAL" not in run("batches", "--experimental", modern).text
