"""Errors as they leave a Spark task: of a worker's exception a user sees the text alone."""

from __future__ import annotations

import logsegment as ls


def located(error: ls.RecordBatchError, where: str) -> ls.RecordBatchError:
    """The same error with the file or column in front of its message."""
    same = type(error)(f"{where}: {error}")
    same.__dict__.update(error.__dict__)
    return same
