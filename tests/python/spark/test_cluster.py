"""A real standalone cluster: the source and the functions on executors that share nothing with the driver but the files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
from spark_cluster import standalone
from spark_session import program_environment

APPLICATION = corpus.TESTS / "support" / "spark_cluster_main.py"
#: Far more than it needs alone.
SECONDS = 600
DATA = corpus.CORPUS / "modern-4.1.0/data"
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(SECONDS + 60)]
PARTITIONS = ["codec-none-0", "codec-zstd-0", "transactions-multi-segment-0"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the application said."""
    directory = tmp_path_factory.mktemp("cluster")
    segments = directory / "segments"
    segments.mkdir()
    for name in PARTITIONS:
        shutil.copytree(DATA / name, segments / name)
    with standalone(directory) as master:
        # Not the session of the other tests: a process can have one cluster only.
        command = [sys.executable, str(APPLICATION), master, str(segments), str(directory)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=program_environment(), cwd=directory)
    assert done.returncode == 0, done.stderr[-6000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found | {"place": directory}


def tables() -> dict[str, list[Any]]:
    """Records of each segment file of a partition, decoded here."""
    return {
        name: [ls.decode(path.read_bytes()).read_all().to_pyarrow() for path in sorted((DATA / name).glob("*.log"))] for name in PARTITIONS
    }


def test_both_executors_work(answers: dict[str, Any]) -> None:
    assert answers["rows"]["executors"] == 2
    assert all(answers["rows"]["read"])
    assert len(answers["rows"]["read"]) == 2


def test_the_source_reads_every_record(answers: dict[str, Any]) -> None:
    expected = []
    for name, found in tables().items():
        topic, _, partition = name.rpartition("-")
        offsets = [offset for table in found for offset in table["offset"].to_pylist()]
        values = [value for table in found for value in table["value"].to_pylist()]
        expected.append([topic, int(partition), len(offsets), sum(offsets), sum(len(value) for value in values if value is not None)])
    assert answers["rows"]["totals"] == sorted(expected)


def test_the_columnar_reader_gives_the_rows_and_errors_of_the_one_in_python(answers: dict[str, Any]) -> None:
    """Each executor gets the jar from the driver and loads the library of it."""
    found = answers["columnar"]
    if found is None:
        pytest.skip("the columnar reader is not built: it needs a JDK")
    assert found["totals"] == answers["rows"]["totals"]
    assert "damaged-0/00000000000000000000.log: [V2-31] at byte 0" in found["damaged"]
    assert len(list(answers["place"].glob("work-*/app-*/*/logsegment-spark.jar"))) == answers["rows"]["executors"]


def test_the_functions_give_every_record(answers: dict[str, Any]) -> None:
    files = sum(len(found) for found in tables().values())
    records = sum(table.num_rows for found in tables().values() for table in found)
    of_records = ("decode_udf", "encode_udf", "decode_batches", "convert_udf")
    assert answers["functions"] == dict.fromkeys(of_records, records) | {"batch_info_udf": files, "validate_udf": files}


def test_what_executors_write_is_all_there(answers: dict[str, Any]) -> None:
    """Their tasks stage files on their own, the driver puts them in order."""
    assert answers["written"] == copied(answers)


def test_a_stream_copies_all_of_it_in_micro_batches(answers: dict[str, Any]) -> None:
    """From a stream's source to a stream's sink, on executors: each micro-batch is a segment of its own."""
    assert answers["streamed"]["totals"] == copied(answers)
    assert answers["streamed"]["segments"] >= 3


def copied(answers: dict[str, Any]) -> list[Any]:
    """Topic, partition, records, first and last offset, bytes of values of a copy: offsets count from 0 there."""
    return [[topic, partition, count, 0, count - 1, size] for topic, partition, count, _, size in answers["rows"]["totals"]]


def test_a_task_that_ran_twice_at_once_is_there_once(answers: dict[str, Any]) -> None:
    """Speculation: the second try was faster, and the first had staged rows already."""
    found = answers["speculated"]
    assert found["tries"] == 2
    assert found["rows"] == [20_000, 20_000, 20_000, 19_999]
    assert found["left"] == [".lock", "slow-0"]


def test_a_rewrite_on_executors_writes_what_one_here_writes(answers: dict[str, Any], tmp_path: Path) -> None:
    found, place = answers["rewritten"], answers["place"]
    keys = [bytes.fromhex(key) for key in found["keys"]]
    expected = ls.rewrite(place / "segments", tmp_path / "out", drop=keys)
    assert found["dropped"] == expected.dropped > 0
    assert [file["ranges"] for file in found["account"]] == [file["ranges"] for file in expected.to_dict()["files"]]
    assert files_of(place / "rewritten") == files_of(tmp_path / "out")


def files_of(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file() and path.name != ".lock"}


def plain_totals(answers: dict[str, Any]) -> list[int]:
    """Records, sum of offsets (those that were written anew count from 0), bytes of values."""
    totals = answers["rows"]["totals"]
    counts = [count for _, _, count, _, _ in totals]
    return [sum(counts), sum(count * (count - 1) // 2 for count in counts), sum(size for *_, size in totals)]


@pytest.mark.parametrize("way", ["source", "decode_udf", "encode_udf"])
def test_executors_resolve_plugins_by_what_travels_with_their_tasks(answers: dict[str, Any], way: str) -> None:
    """Written with an alias, read when the registry's file was gone. The codec's module came by addPyFile."""
    assert answers["plugins"]["codecs"] == ["sent"]
    assert answers["plugins"][way] == plain_totals(answers)


@pytest.mark.parametrize(
    ("alias", "told"),
    [
        ("raising", r'CodecError: .*/raising-0/0+\.log: \[S-P6\] at byte \d+, base offset 1.*"raising".*ArithmeticError: two and two'),
        ("gone", r'UnsupportedError: .*/gone-0/0+\.log: \[S-P20\] at byte \d+, base offset 1.*"gone".*no\.such:Gone.*v1\.0'),
    ],
)
def test_a_broken_plugin_fails_its_task_with_one_readable_line(answers: dict[str, Any], alias: str, told: str) -> None:
    """S-P6, S-P20: and nothing else; the executors go on."""
    assert re.search(told, answers["plugins"]["refused"][alias]), answers["plugins"]["refused"][alias]
    assert answers["plugins"]["rest"] == ["first", "last"], "in the mode that drops what is damaged"
    assert answers["plugins"]["lost executors"] == []


def test_a_worker_process_reads_the_registry_once_and_not_for_each_batch(answers: dict[str, Any]) -> None:
    found = answers["plugins"]["readings"]
    assert (found["decoded"], found["driver"]) == (400, 0)
    assert found["readings"] == found["processes"] >= 2, "on both executors"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("missing", "FileNotFoundError: [Errno 2] No such file or directory: "),
        ("no log", "no log segments"),
        ("deleted", "gone-0/00000000000000000000.log"),
        ("damaged", "damaged-0/00000000000000000000.log: [V2-31] at byte 0"),
    ],
)
def test_each_fault_is_one_clear_error(answers: dict[str, Any], fault: str, told: str) -> None:
    lines = [line for line in answers["faults"][fault].splitlines() if told in line]
    assert lines, answers["faults"][fault]
