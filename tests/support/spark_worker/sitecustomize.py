"""Spares the workers of Spark's daemons what each would do anew: half a second to a second of CPU.

Python runs this file as it starts where PYTHONPATH names its folder. A daemon's command is `python -m pyspark.daemon WORKER_MODULE`.
"""

import gc
import sys
from importlib import import_module

if sys.orig_argv[1:3] == ["-m", "pyspark.daemon"]:
    # Spark puts its own package on the path a second time, zipped. Python 3.11 reads the zip's directory again for every package in it
    # when a worker calls importlib.invalidate_caches, and compiles what it imports from there.
    sys.path[:] = [entry for entry in sys.path if not entry.endswith((".zip", ".jar"))]
    for module in (*sys.orig_argv[3:], "pandas", "pyarrow.compute", "logsegment.polars", "logsegment.spark"):
        import_module(module)
    # A worker collects garbage after each task: what is imported here is none.
    gc.freeze()
