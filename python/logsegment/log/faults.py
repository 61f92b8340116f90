"""Faults of a log: what ends a read of it, with an error or without one."""

from __future__ import annotations

import os

from logsegment._core import CorruptError, FileSource, Finding, RecordBatchError, TruncatedError
from logsegment._decode import decode
from logsegment._errors import in_file
from logsegment._options import Format
from logsegment._validate import Report

#: The rule of an entry that hides intact ones: readers end there, without an error.
SWALLOWED = "SWALLOWED"
#: The rule of an entry that is not whole.
TORN = "L8-14"
#: Rules of an upload in tiered storage, whose batches are compared with its manifest and with each other: alone, a batch breaks neither.
_OFFSETS = ("TS-23", "ORD-1")


def faults_of(report: Report) -> list[Finding]:
    """The findings of a validation at which a read fails, or ends although intact entries follow."""
    return [one for one in report.findings if one.severity == "error" or one.rule == SWALLOWED]


def error_of(
    path: str | os.PathLike[str], fault: Finding, *, strict_tail: bool = False, format: Format = "auto", experimental: bool = False
) -> RecordBatchError:
    """The error with which a read ends at a fault; of what ends one in silence, an error of the same form.

    Args:
        path: of the file.
        fault: as `faults_of` gives it.
        strict_tail: as in `decode`.
        format: as in `decode`.
        experimental: as in `decode`.

    Raises:
        OSError: when the file cannot be read.
    """
    if fault.rule in _OFFSETS:
        return in_file(_told(fault, CorruptError, "offsets"), os.fspath(path))
    is_strict = strict_tail and fault.rule != SWALLOWED
    source = FileSource(path, fault.position)
    try:
        next(decode(source, columns=["offset"], strict_tail=is_strict, format=format, experimental=experimental), None)
    except RecordBatchError as error:
        return in_file(error, os.fspath(path))
    if fault.rule == TORN:
        return in_file(_told(fault, TruncatedError, "truncated"), os.fspath(path))
    return in_file(_told(fault, CorruptError, "length"), os.fspath(path))


def _told(fault: Finding, kind: type[RecordBatchError], code: str) -> RecordBatchError:
    """Return the error that a finding is."""
    place = [f"at byte {fault.position}"]
    if code == "offsets":
        place += [f"base offset {fault.base_offset}", f"field {fault.field}"]
    error = kind(f"[{fault.rule}] {', '.join(place)}: {fault.message}")
    error.__dict__.update(code=code, rule=fault.rule, position=fault.position, base_offset=fault.base_offset)
    if code == "offsets":
        error.__dict__.update(field=fault.field)
    return error
