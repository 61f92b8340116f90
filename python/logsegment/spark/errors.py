"""Errors as they leave a Spark task: of a worker's exception a user sees the text alone."""

from __future__ import annotations

from logsegment._core import RecordBatchError


def located(error: RecordBatchError, where: str, first_row: int = 0) -> RecordBatchError:
    """The same error with the column in front of its message, and the row that it has counted from `first_row` on."""
    text = str(error)
    if error.row is not None:
        text = text.replace(f"in row {error.row},", f"in row {error.row + first_row},", 1)
    same = type(error)(f"{where}: {text}")
    same.__dict__.update(error.__dict__)
    same.row = None if error.row is None else error.row + first_row
    return same
