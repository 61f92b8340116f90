"""Options of the JVMs that tests start, each for seconds or minutes.

C2 and a parallel collector would take twice the CPU for a query of a few rows.
"""

from pathlib import Path

OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
#: An archive that is not of this JVM, or not of its classes, is left aside without a word.
SILENT = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")
#: Spark's classes as a JVM keeps them (tests/support/spark_archive.py).
SPARK_ARCHIVE = Path(__file__).resolve().parents[2] / "target/jvm/spark.jsa"
SPARK_OPTIONS = (*OPTIONS, *SILENT, f"-XX:SharedArchiveFile={SPARK_ARCHIVE}")
#: Of Spark: of the driver, and of the master and the workers of a cluster; and of the program that starts a driver.
SPARK_VARIABLES = {"SPARK_SUBMIT_OPTS": SPARK_OPTIONS, "SPARK_DAEMON_JAVA_OPTS": SPARK_OPTIONS, "SPARK_LAUNCHER_OPTS": OPTIONS}
