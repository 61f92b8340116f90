"""One Spark session for all test files that need it."""

from __future__ import annotations

import atexit
import os
import sys
from functools import cache

from pyspark.sql import SparkSession

#: Small, without a web server, in UTC as the columns are.
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.driver.memory": "1g",
}


@cache
def spark_session() -> SparkSession:
    """A session on local[2] in which nothing of ours is registered."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("logsegment tests")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    atexit.register(spark.stop)
    return spark
