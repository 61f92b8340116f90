"""Imports what Spark's Python workers need once, in their daemon: each worker saves 0.5 to 1 s of CPU.

Python runs this file as it starts where PYTHONPATH names its folder. A daemon's command is `python -m pyspark.daemon WORKER_MODULE`; the
runner of a stream's source is a process of its own, `python -m pyspark.sql.streaming.python_streaming_source_runner`.
"""

import gc
import os
import sys
from importlib import import_module

#: What Spark adds to PYTHONPATH: its package and py4j, each zipped, and a jar.
SPARKS_OWN = ("pyspark.zip", "py4j-", "spark-core")

started = sys.orig_argv[1:]
if len(started) > 1 and started[0] == "-m" and started[1].startswith("pyspark."):
    # Spark puts its own packages on the path a second time, zipped. When a worker calls importlib.invalidate_caches, Python before 3.13
    # reads a zip's directory again for every package in it; what is imported from there is compiled each time.
    sys.path[:] = [entry for entry in sys.path if not os.path.basename(entry).startswith(SPARKS_OWN)]
if started[:2] == ["-m", "pyspark.daemon"]:
    for module in (*started[2:], "pandas", "pyarrow.compute", "logsegment.spark"):
        import_module(module)
    # A worker calls gc.collect after each task: frozen objects are not walked, and their pages stay shared with the daemon.
    gc.freeze()
