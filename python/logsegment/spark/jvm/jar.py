"""The jar of the columnar reader, and the settings of a session that uses it."""

from __future__ import annotations

from pathlib import Path

_JAR = Path(__file__).with_name("logsegment-spark.jar")


def jar() -> str:
    """Return the path of the jar with the columnar reader, for Spark's setting `spark.jars`.

    Spark sends the jar to its executors. The library for this platform is in it.

    Raises:
        FileNotFoundError: if this installation has no jar: it was built without a JDK. The data source works without it, in Python.

    Example:
        >>> from logsegment.spark import jar
        >>> builder = SparkSession.builder.config("spark.jars", jar())  # doctest: +SKIP
    """
    if not _JAR.exists():
        raise FileNotFoundError(f"{_JAR}: this installation of logsegment was built without the jar; the Python reader works without it")
    return str(_JAR)


def session_options() -> dict[str, str]:
    """Return the settings with which a new session reads with the columnar reader.

    The settings count when the JVM starts: pass them to the builder of the first session, or to spark-submit. A session with jars of its
    own takes them and `jar()`, with a comma between.

    Raises:
        FileNotFoundError: as of `jar`.

    Example:
        >>> from logsegment.spark import session_options
        >>> spark = SparkSession.builder.config(map=session_options()).getOrCreate()  # doctest: +SKIP
    """
    return {"spark.jars": jar()}
