"""Segments in HDFS are read and written as those on disk: in Python, on the command line, in Spark.

It is Hadoop's mini cluster, on loopback.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import corpus
import eras
import hdfs_server
import logsegment as ls
from logsegment import _core
from loopback import free_port

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]
DATA = corpus.CORPUS / "modern-4.1.0/data"
NAMES = ("codec-none-0", "codec-zstd-0", "transactions-multi-segment-0")
FIRST = f"{0:020}.log"
TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hdfs_server.Server]:
    eras.need(*hdfs_server.NEEDED_COMMANDS)
    running = hdfs_server.Server(tmp_path_factory.mktemp("hdfs"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions of the corpus, and one large segment of 10,000 records with its indexes."""
    place = tmp_path_factory.mktemp("here") / "kafka"
    for name in NAMES:
        shutil.copytree(DATA / name, place / name)
    (place / "large-0").mkdir()
    ls.encode(pa.table({"value": [b"v" * 2000] * 10_000}), out=place / "large-0" / FIRST, batch_bytes=16 << 10)
    _core.rebuild_indexes([(place / "large-0" / FIRST, 0)], place / "large-0")
    return place


@pytest.fixture(scope="module")
def answers(server: hdfs_server.Server, here: Path) -> dict[str, Any]:
    from spark_session import program_environment

    environment = program_environment(TESTS / "support", TESTS / "interop") | server.environment
    command = [sys.executable, str(Path(__file__).with_name("hdfs_main.py")), server.uri(), str(here)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=540)
    assert done.returncode == 0, done.stderr[-6000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_records_are_those_of_the_files(answers: dict[str, Any]) -> None:
    plain = {name: ls.Log(DATA / name).records(columns=["offset"]).to_pyarrow().num_rows for name in NAMES} | {"large-0": 10_000}
    committed = plain | {NAMES[2]: ls.Log(DATA / NAMES[2]).records(columns=["offset"], isolation="read_committed").to_pyarrow().num_rows}
    assert answers["records"] == {name: [plain[name], committed[name]] for name in plain}


def test_validation_finds_the_same(answers: dict[str, Any]) -> None:
    assert answers["findings"] == dict.fromkeys([*NAMES, "large-0"], True)


def test_one_per_cent_of_the_offsets_fetches_about_one_per_cent(answers: dict[str, Any], here: Path) -> None:
    size = (here / "large-0" / FIRST).stat().st_size
    assert answers["slice"]["rows"] == 100
    assert size * 0.009 < answers["slice"]["bytes"] < size * 0.02 + (here / "large-0" / FIRST).with_suffix(".index").stat().st_size


def test_the_command_line_takes_uris(answers: dict[str, Any]) -> None:
    assert [(one["code"], one["same"]) for one in answers["command"]] == [(0, True)] * 2
    assert all(one["lines"] > 5 for one in answers["command"])


@pytest.mark.parametrize("what", ["log", "file"])
def test_what_is_missing_is_a_file_not_found(answers: dict[str, Any], server: hdfs_server.Server, what: str) -> None:
    assert answers["missing"][what].startswith(f"FileNotFoundError: [Errno 2] No such file or directory: '{server.uri('none-0')}")


@pytest.mark.parametrize("made", [0, 1, 2, 3])
def test_a_commit_that_a_crash_interrupts_is_finished_by_the_next(answers: dict[str, Any], made: int) -> None:
    """Files are renamed there, where an object store copies them."""
    assert answers["crashes"][str(made)] == [[0, "a"], [1, "b"], [2, "c"], [3, "d"]]


def test_spark_reads_the_files_there(answers: dict[str, Any]) -> None:
    assert answers["spark"]["there"] == answers["spark"]["here"]
    assert len(answers["spark"]["here"]) == 4


def test_spark_appends_and_refuses_a_second_task(answers: dict[str, Any]) -> None:
    first, second, refused = answers["spark"]["told"]
    assert (first, second) == ("no error but None",) * 2
    assert "tasks 0 and 1 both have rows of orders-0: offsets cannot be changed in a store" in refused
    assert answers["spark"]["written"] == [[offset, str(offset % 100)] for offset in range(200)]
    suffixes = ("index", "log", "timeindex")
    assert answers["spark"]["left"] == ["orders-0", *(f"orders-0/{base:020}.{suffix}" for base in (0, 100) for suffix in suffixes)]


def test_a_stream_of_spark_follows(answers: dict[str, Any]) -> None:
    assert answers["spark"]["followed"] == [150, 50]


def test_a_name_node_that_is_gone_is_a_connection_error(server: hdfs_server.Server) -> None:
    uri = f"hdfs://127.0.0.1:{free_port()}/orders-0"
    told = "import sys, logsegment as ls\ntry: ls.Log(sys.argv[1])\nexcept ConnectionError as error: print(error)"
    environment = os.environ | server.environment | {"PYTHONPATH": str(Path(ls.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", told, uri], env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip().endswith(f"'{uri}'"), done.stderr[-4000:]
    assert "the store does not respond" in done.stdout
