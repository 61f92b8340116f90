"""Errors of tasks as people see them: the sentence about the bytes first, without the traceback of a worker."""

from __future__ import annotations

import os
import sys
from typing import TypeVar

from pyspark import TaskContext

from logsegment._core import InternalError

E = TypeVar("E", bound=Exception)


def shown_alone(error: E) -> E:
    """Return an error of bad data or a missing file. In a task, PySpark then shows it without a traceback.

    A worker ends after its task has failed, so that the setting of PySpark counts for this error only. A bug keeps its traceback.
    """
    if TaskContext.get() is not None and not isinstance(error, InternalError):
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        # PySpark 3.5 does not know the setting.
        sys.tracebacklimit = 0
    return error
