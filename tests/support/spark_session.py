"""One Spark session for all test files that need it."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import corpus
import logsegment
from logsegment.spark import jar

#: Small, without a web server, in UTC as the columns are.
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.driver.memory": "1g",
}
#: The folder of sitecustomize.py, which Python workers run when they start.
WORKER_MODULES = Path(__file__).parent / "spark_worker"
#: What relative paths in examples lead to, as docs/how-to/README.md lists it: name -> where it is in the corpus.
PLACES = {
    "00000000000000000000.log": "codec-zstd-0/00000000000000000000.log",
    "orders-0": "codec-zstd-0",
    "payments-0": "transactions-multi-segment-0",
}
#: The same in the corpus of typed values.
TYPED = ("alpha-avro-refs-0", "_schemas-0")


@cache
def spark_session() -> SparkSession:
    """A session on local[2] in which nothing of ours is registered."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("logsegment tests")
    for name, value in (OPTIONS | columnar_options()).items():
        builder = builder.config(name, value)
    # A relative path in a query is relative to where the session was started, whatever a test changes to later.
    with contextlib.chdir(start_directory()), pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(WORKER_MODULES), prepend=os.pathsep)
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    atexit.register(spark.stop)
    return spark


def program_environment(*folders: Path) -> dict[str, str]:
    """Return the environment of a program that starts a Spark: it and its local workers find logsegment and the modules in `folders`."""
    places = (WORKER_MODULES, Path(logsegment.__file__).parents[1], *folders, os.environ.get("PYTHONPATH", ""))
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places)), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def columnar_options() -> dict[str, str]:
    """The settings of a session with the columnar reader; none where it was not built."""
    try:
        return {"spark.jars": jar()}
    except FileNotFoundError:
        return {}


def start_directory() -> Path:
    """A directory of links to the files that examples name; it goes when the tests end."""
    made = tempfile.TemporaryDirectory(prefix="logsegment-spark-")
    atexit.register(made.cleanup)
    for name, source in PLACES.items():
        (Path(made.name) / name).symlink_to(corpus.CORPUS / "modern-4.1.0/data" / source)
    for name in TYPED:
        (Path(made.name) / name).symlink_to(corpus.TESTS / "values" / name)
    (Path(made.name) / "examples").symlink_to(corpus.TESTS.parent / "examples")
    return Path(made.name)
