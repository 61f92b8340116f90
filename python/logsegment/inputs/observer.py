"""Follow the work of functions that read several files: `Observer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logsegment._core import Finding


class Observer:
    """Follows a function that reads several files, such as `validate` or `salvage`, while it works.

    Every method does nothing by default: override the methods that are of interest, and pass an instance as `observer`. The methods are
    called in the thread of the caller. An exception in one of them ends the work, and nothing is written.

    Attributes:
        wants_position: True to get the position within files. Local files are then read front to back where the function allows it.
        NOT_CHECKED: the end of the path with which `failed` gets the error of files next to logs.

    Example:
        >>> import logsegment as ls
        >>> class Names(ls.Observer):
        ...     def done(self, path, result):
        ...         print(path.rpartition("/")[2], result.ok)
        >>> report = ls.validate("orders-0", observer=Names())
        00000000000000000000.log True
    """

    wants_position = False
    NOT_CHECKED = "files not checked"

    def planned(self, files: Sequence[tuple[str, int]]) -> None:
        """Called once with the name and the bytes of each file that will be read; 0 bytes for a stream."""

    def noted(self, findings: Sequence[Finding]) -> None:
        """Called with findings about files that are not read, and about log start offsets, before a file is read.

        Without an observer, the findings about log start offsets are warnings of Python.
        """

    def begin(self, path: str, size: int) -> None:
        """Called before a file is read, with its name and its bytes."""

    def read(self, position: int) -> None:
        """Called with the bytes of the file that were read so far, if `wants_position` is True."""

    def done(self, path: str, result: Any) -> None:
        """Called with the result of a file, such as its `Report`; `path` is a directory for findings about its other files."""

    def changed(self, path: str, text: str) -> None:
        """Called by `follow` with a change of a log that is not growth, such as a truncation."""

    def failed(self, path: str, error: Exception) -> bool:
        """Called for a file that cannot be read; return True to go on with the others where the function can. Otherwise it raises."""
        return False
