"""Errors with the name of their file, for whoever reads several in one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from logsegment._core import RecordBatchError
from logsegment._places import redacted_uri


def in_file(error: RecordBatchError, path: str) -> RecordBatchError:
    """The same error with its file in front of its text and as its `path`; one that names its file is given back as it is."""
    return error if error.path is not None else renamed(error, path)


def renamed(error: RecordBatchError, path: str) -> RecordBatchError:
    """The same error of a copy of a file, with the name of the file itself."""
    name = redacted_uri(path)
    same = _with_text(error, f"{name}: {without_file(error)}")
    same.path = name
    return same


def hinting(error: RecordBatchError, hint: str) -> RecordBatchError:
    """Return the same error with a hint after its text."""
    return _with_text(error, f"{error}; {hint}")


def without_file(error: RecordBatchError) -> str:
    """The text of an error without the file that it names."""
    return str(error).removeprefix(f"{error.path}: ")


def _with_text(error: RecordBatchError, text: str) -> RecordBatchError:
    same = type(error)(text)
    same.__dict__.update(error.__dict__)
    return same


@contextmanager
def naming_file(path: str) -> Iterator[None]:
    """Name the file in errors about its bytes that are raised inside of it."""
    try:
        yield
    except RecordBatchError as error:
        raise in_file(error, path) from None
