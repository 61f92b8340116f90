"""Options of the JVMs that tests start, each for seconds or minutes.

C2 and a parallel collector would take twice the CPU for a query of a few rows.
"""

OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
#: Of Spark: of the driver, of the program that starts it, and of the master and the workers of a cluster.
SPARK_VARIABLES = ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS", "SPARK_DAEMON_JAVA_OPTS")
