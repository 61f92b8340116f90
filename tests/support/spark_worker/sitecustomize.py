"""Spares Spark's Python processes what each would do anew: half a second to a second of CPU.

Python runs this file as it starts where PYTHONPATH names its folder. A daemon's command is `python -m pyspark.daemon WORKER_MODULE`; the
runner of a stream's source is a process of its own, `python -m pyspark.sql.streaming.python_streaming_source_runner`.
"""

import gc
import sys
from importlib import import_module

started = sys.orig_argv[1:]
if len(started) > 1 and started[0] == "-m" and started[1].startswith("pyspark."):
    # Spark puts its own package on the path a second time, zipped. Python 3.11 reads the zip's directory again for every package in it
    # when a worker calls importlib.invalidate_caches, and compiles what it imports from there.
    sys.path[:] = [entry for entry in sys.path if not entry.endswith((".zip", ".jar"))]
if started[:2] == ["-m", "pyspark.daemon"]:
    for module in (*started[2:], "pandas", "pyarrow.compute", "logsegment.spark"):
        import_module(module)
    # A worker collects garbage after each task: what is imported here is none.
    gc.freeze()
