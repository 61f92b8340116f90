"""What a user of Spark is told when files cannot be read: one clear error for each, through real queries.

Others stand beside what they are about: a missing path, a directory without segments and a segment deleted after planning in
test_source.py, one that was cut in read/test_ranges.py, lost offsets of a stream in stream/test_stream.py.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

import corpus
from spark_session import program_environment, spark_session

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SOURCE = corpus.CORPUS / "modern-4.1.0/data/codec-none-0/00000000000000000000.log"


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """What queries said over files that may not be read, in a process to which they are refused also when it is root's."""
    root = tmp_path_factory.mktemp("refused")
    for name in ("file-0", "closed-0", "kept", "logs/t-0"):
        (root / name).mkdir(parents=True)
        shutil.copy(SOURCE, root / name / SOURCE.name)
    (root / "kept" / SOURCE.name).unlink()
    (root / "file-0" / SOURCE.name).chmod(0)
    closed = {root / "closed-0": 0, root / "kept": 0o500, root / "logs/t-0": 0o500}
    for directory, rights in closed.items():
        directory.chmod(rights)
    try:
        command = [sys.executable, str(corpus.TESTS / "support" / "spark_unprivileged.py"), str(root)]
        done = subprocess.run(command, env=program_environment(), capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stdout + done.stderr
        return root, json.loads(done.stdout.splitlines()[-1])
    finally:
        for directory in closed:
            directory.chmod(0o700)


@pytest.mark.skipif(sys.platform != "linux", reason="takes capabilities away as Linux has them")
@pytest.mark.parametrize(
    ("query", "kind", "place"),
    [
        ("file", "PythonException", f"file-0/{SOURCE.name}"),
        ("directory", "AnalysisException", "closed-0"),
        ("stream of file", "StreamingQueryException", f"file-0/{SOURCE.name}"),
        ("stream of directory", "StreamingQueryException", "closed-0"),
    ],
)
def test_a_refused_file_is_one_error_that_names_it(refused: tuple[Path, dict[str, Any]], query: str, kind: str, place: str):
    root, told = refused
    message = told[query]
    assert message.startswith(f"{kind}: "), message
    assert f"PermissionError: [Errno 13] Permission denied: '{root / place}'" in message
    assert len([line for line in message.splitlines() if line.startswith("PermissionError")]) == 1, message


@pytest.mark.skipif(sys.platform != "linux", reason="takes capabilities away as Linux has them")
def test_a_refused_file_is_a_finding_in_the_view(refused: tuple[Path, dict[str, Any]]):
    root, told = refused
    path = str(root / "file-0" / SOURCE.name)
    assert told["findings"] == [{"rule": "IO", "severity": "error", "message": "the file cannot be read: Permission denied", "path": path}]


@pytest.mark.skipif(sys.platform != "linux", reason="takes capabilities away as Linux has them")
@pytest.mark.parametrize(("query", "place"), [("write", "kept/_staging-0."), ("write behind a log", f"logs/t-0/{SOURCE.stem[:-3]}240.")])
def test_a_refused_write_is_one_error_that_names_the_place_and_leaves_nothing(refused: tuple[Path, dict[str, Any]], query: str, place: str):
    root, told = refused
    (line,) = [line for line in told[query].splitlines() if line.lstrip().startswith("PermissionError")]
    assert "PermissionError: [Errno 13] Permission denied: '" in line
    assert f"'{root / place}" in line
    left = sorted(str(path.relative_to(root)) for name in ("kept", "logs") for path in (root / name).rglob("*"))
    assert left == ["logs/.lock", "logs/t-0", f"logs/t-0/{SOURCE.name}"]


def test_a_stream_of_nothing_fails_at_load(tmp_path: Path):
    with pytest.raises(AnalysisException, match=rf"No such file or directory: '{tmp_path}/gone'"):
        spark_session().readStream.format("logsegment").load(str(tmp_path / "gone"))


def test_a_stream_of_a_directory_that_is_no_log_fails_when_it_starts(tmp_path: Path):
    spark: SparkSession = spark_session()
    (tmp_path / "logs").mkdir()
    query = spark.readStream.format("logsegment").load(str(tmp_path / "logs")).writeStream.format("noop")
    with pytest.raises(StreamingQueryException, match=rf"no log segments .* in this directory or below: '{tmp_path}/logs'"):
        query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
