"""Commits of an export: optimistic, again after a conflict, and never twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

from logsegment._core import Finding, InternalError
from logsegment._export.log_reader import ReadChunk
from logsegment._export.offset_ranges import OffsetRanges
from logsegment._export.state import ExportState, LostOffsets, Partition
from logsegment._export.tables import CommitConflict, LakeTable, LakeTableError, WrittenFile
from logsegment._options import Isolation

T = TypeVar("T")
#: How often a commit is tried, and the seconds of the first and of the longest wait between attempts.
ATTEMPTS = 10
FIRST_WAIT = 0.1
LONGEST_WAIT = 20.0
#: Errors that no further attempt changes, by their names in PyIceberg.
_FINAL = frozenset({"BadRequestError", "UnauthorizedError", "ForbiddenError", "NoSuchTableError", "ValidationError", "ValidationException"})


@dataclass(frozen=True)
class Commit:
    """A commit of an export.

    Attributes:
        table: the table.
        id: of the snapshot of Iceberg, or the version of Delta.
        rows: rows that it added.
        files: data files that it added.
        size: their bytes.
    """

    table: str
    id: int
    rows: int
    files: int
    size: int

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON."""
        return {"table": self.table, "id": self.id, "rows": self.rows, "files": self.files, "bytes": self.size}


@dataclass
class Pending:
    """The ranges, rows and findings that the next commit adds."""

    ranges: dict[Partition, OffsetRanges] = field(default_factory=dict)
    lost: list[LostOffsets] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    rows: Counter[Partition] = field(default_factory=Counter)

    def add(self, partition: Partition, chunk: ReadChunk) -> None:
        """Add what was read."""
        if chunk.ranges:
            self.ranges[partition] = self.ranges.get(partition, OffsetRanges()) | chunk.ranges
        self.rows[partition] += 0 if chunk.rows is None else chunk.rows.num_rows
        self.lost += chunk.lost
        self.findings += chunk.findings


class Overtaken(Exception):
    """Another run committed some of the same offsets. What is missing must be found anew."""


class Committer:
    """Commits files to a table together with the state.

    Args:
        table: the table.
        isolation: how records are read.
        known: returns the state of the loaded version, by its commits and by rows of other writers.

    Attributes:
        state: the state of the loaded version.
    """

    def __init__(self, table: LakeTable, isolation: Isolation, known: Callable[[], ExportState]) -> None:
        self._table = table
        self._isolation = isolation
        self._known = known
        self._layout = table.layout
        self.state = known()

    def commit(self, files: Sequence[WrittenFile], pending: Pending) -> Commit | None:
        """Commit; return None if neither rows nor the state change.

        Raises:
            Overtaken: if another run committed some of the offsets. Nothing was committed.
            LakeTableError: if the table cannot be committed to. The files may be part of it nevertheless, if the catalog did not answer.
        """
        commit_id = uuid4().hex
        problem: Exception | None = None
        for attempt in range(ATTEMPTS):
            state = self.state.adding(pending.ranges, pending.lost, self._isolation)
            if not files and (state.ranges, state.lost) == (self.state.ranges, self.state.lost):
                return None
            try:
                number = self._table.commit(files, state, commit_id)
            except CommitConflict as conflict:
                problem = conflict
            except (LakeTableError, OSError) as error:
                if not may_pass(error):
                    raise
                problem = error
            else:
                self.state = state
                return self._account(number, files)
            _wait(attempt)
            persistently(self._table.refresh)
            # An attempt may have been successful although it ended with an error.
            made = self._table.commit_of(commit_id)
            if made is not None:
                self.state = state
                return self._account(made, files)
            self._take_in_others(pending)
        raise LakeTableError(f"{self._table.name}: the commit failed {ATTEMPTS} times: {problem}") from problem

    def _account(self, number: int, files: Sequence[WrittenFile]) -> Commit:
        rows, size = sum(file.rows for file in files), sum(file.size for file in files)
        return Commit(self._table.name, number, rows, len(files), size)

    def _take_in_others(self, pending: Pending) -> None:
        """Continue from the state that others have made.

        Raises:
            Overtaken: if the table has some of the same offsets now.
            LakeTableError: if the table has other columns or another partitioning now.
        """
        if self._table.layout != self._layout:
            raise LakeTableError(f"{self._table.name}: its columns or its partitioning were changed meanwhile; export again")
        self.state = self._known()
        if self.state.overlaps(pending.ranges):
            raise Overtaken


def persistently(call: Callable[[], T]) -> T:
    """Call a function of a table until it succeeds, at most `ATTEMPTS` times.

    Raises:
        LakeTableError, OSError: the last error.
    """
    for attempt in range(ATTEMPTS):
        try:
            return call()
        except (LakeTableError, OSError) as error:
            if attempt + 1 == ATTEMPTS or not may_pass(error):
                raise
        _wait(attempt)
    raise InternalError("an attempt returns or raises")


def may_pass(error: OSError) -> bool:
    """Return True for an error of a catalog or a store that a later attempt may not meet."""
    if isinstance(error, LakeTableError):
        return type(error.__cause__).__name__ not in _FINAL
    return (
        not isinstance(error, (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError)) and error.errno not in _LASTING
    )


#: No space, a quota, a size limit: what frees it is not a matter of seconds.
_LASTING = frozenset({27, 28, 30, 122})


def _wait(attempt: int) -> None:
    """Wait before the next attempt, longer each time, so that two runs do not meet again."""
    time.sleep(min(FIRST_WAIT * 2**attempt, LONGEST_WAIT) * random.uniform(0.5, 1.0))
