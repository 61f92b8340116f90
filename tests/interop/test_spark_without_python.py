"""The jar alone, under each Spark: spark-sql without any Python reads files, a tree, S3 and encrypted tiered storage, with equal rows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import corpus
import s3_server
import tiered_corpus as tiered
from logsegment.spark import jar
from spark_session import columnar_options

#: The versions of `make interop`, and the installed one.
VERSIONS = [*os.environ.get("PYSPARK_VERSIONS", "").split(), pyspark.__version__]
MODERN = corpus.CORPUS / "modern-4.1.0/data"
#: The programs that the scripts of Spark call.
PROGRAMS = ("bash", "env", "dirname", "basename", "readlink", "java", "sed", "grep", "cat", "expr", "id", "uname", "tr", "head", "ps")

pytestmark = [
    pytest.mark.interop,
    pytest.mark.nightly,
    pytest.mark.spark,
    pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built: it needs a JDK"),
]

VIEW = "CREATE TEMPORARY VIEW {name} USING logsegment OPTIONS ({options});"
ROWS = "SELECT '{name}' AS place, count(*), bit_xor(xxhash64(key, value, topic, partition, offset, timestamp, headers)) FROM {name};"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[s3_server.Server]:
    with s3_server.serving(tmp_path_factory.mktemp("s3")) as server:
        server.put(MODERN / "codec-zstd-0", "logs/codec-zstd-0")
        yield server


@pytest.fixture(scope="module")
def places(server: s3_server.Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The options of each view."""
    keys = tmp_path_factory.mktemp("keys")
    for name, key in tiered.KEYS.items():
        (keys / name).write_bytes(key)
    headers = {"includeHeaders": "true"}
    store = {f"storage.{name}": value for name, value in server.options.items()}
    return {
        "segment": {"path": str(MODERN / "codec-zstd-0" / f"{0:020}.log"), **headers},
        "tree": {"path": str(MODERN), **headers},
        "chosen": {"path": str(MODERN), "subscribePattern": "codec-(zstd|lz4)$", "isolation": "read_committed", **headers},
        "store": {"path": server.uri("logs"), **store, **headers},
        "uploads": {"path": str(tiered.BUCKET), "keys": json.dumps({name: str(keys / name) for name in tiered.KEYS}), **headers},
    }


@pytest.fixture(scope="module")
def expected(places: dict[str, dict[str, str]]) -> set[tuple[str, ...]]:
    """The rows of the Python reader in the installed Spark."""
    from spark_session import spark_session

    session: SparkSession = spark_session()
    session.conf.set("spark.logsegment.reader", "python")
    try:
        found = set()
        for name, options in places.items():
            session.read.format("logsegment").options(**options).load().createOrReplaceTempView(name)
            found.add(tuple(str(value) for value in session.sql(ROWS.format(name=name).rstrip(";")).collect()[0]))
        return found
    finally:
        session.conf.unset("spark.logsegment.reader")


def home_of(version: str, tmp_path: Path) -> Path:
    """The directory of a Spark."""
    if version == pyspark.__version__:
        return Path(pyspark.__file__).parent
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(tmp_path)]
    subprocess.run([*pip, f"pyspark=={version}"], check=True)
    return tmp_path / "pyspark"


def descendants(pid: int) -> list[str]:
    """The programs of the processes that a process started, directly or not."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents.setdefault(int((entry / "stat").read_text().rpartition(")")[2].split()[1]), []).append(int(entry.name))
        except OSError:
            continue
    found, waiting = [], [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            waiting.append(child)
            try:
                found.append(Path(os.readlink(f"/proc/{child}/exe")).name)
            except OSError:
                continue
    return found


def run_sql(home: Path, text: str, place: Path) -> tuple[str, set[str]]:
    """The output of spark-sql, and the programs that ran meanwhile. Its PATH has no Python."""
    programs = place / "programs"
    programs.mkdir(parents=True)
    for name in PROGRAMS:
        if (found := shutil.which(name)) is not None:
            (programs / name).symlink_to(found)
    (place / "query.sql").write_text(text)
    environment = {"PATH": str(programs), "HOME": str(place), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
    settings = ["spark.ui.enabled=false", "spark.sql.session.timeZone=UTC", "spark.sql.shuffle.partitions=2"]
    command = [str(home / "bin/spark-sql"), "--master", "local[2]", "--jars", jar(), "-f", str(place / "query.sql")]
    command += [word for setting in settings for word in ("--conf", setting)]
    seen: set[str] = set()
    with subprocess.Popen(command, env=environment, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        is_over = threading.Event()

        def watch() -> None:
            while not is_over.wait(0.2):
                seen.update(descendants(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        output, errors = process.communicate()
        is_over.set()
        watcher.join()
    assert process.returncode == 0, errors[-4000:]
    return output, seen


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_are_equal_in_each_version(
    version: str, places: dict[str, dict[str, str]], expected: set[tuple[str, ...]], tmp_path: Path
) -> None:
    home = home_of(version, tmp_path / "packages")
    views = []
    for name, options in places.items():
        listed = ", ".join(f"`{option}` '{value}'" for option, value in options.items())
        views.append(VIEW.format(name=name, options=listed) + "\n" + ROWS.format(name=name))
    explained = "EXPLAIN SELECT offset FROM tree WHERE offset >= 3 AND topic = 'codec-zstd';"
    output, programs = run_sql(home, "\n".join([*views, explained]), tmp_path / "run")
    rows = {tuple(line.split("\t")) for line in output.splitlines() if line.count("\t") == 2}
    assert rows == expected
    assert "java" in programs
    assert not [name for name in programs if "python" in name]
    (plan,) = [line for line in output.splitlines() if "columnar reader" in line]
    for part in (f"path: {MODERN}", "columns: [topic, offset]", "[GreaterThanOrEqual, offset, 3]", "[EqualTo, topic, codec-zstd]"):
        assert part in plan


@pytest.mark.parametrize("version", VERSIONS)
def test_the_reason_is_the_error_where_there_is_no_python(version: str, tmp_path: Path) -> None:
    home = home_of(version, tmp_path / "packages")
    view = VIEW.format(name="findings", options=f"path '{MODERN / 'codec-zstd-0'}', view 'findings'")
    with pytest.raises(AssertionError, match="the JVM source of logsegment does not do this: view findings"):
        run_sql(home, view, tmp_path / "run")
