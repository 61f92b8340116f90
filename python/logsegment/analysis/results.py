"""The base of what `find`, `diff` and `transactions` return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Results(ABC, Generic[T]):
    """Results that are found while they are iterated, and kept for the next iteration.

    The rows of `to_arrow` and of the Arrow stream (`__arrow_c_stream__`) have the names of `to_dict`. Both need pyarrow.
    """

    def __init__(self, found: Iterator[T]) -> None:
        self._found = found
        self._kept: list[T] = []

    def __iter__(self) -> Iterator[T]:
        at = 0
        while at < len(self._kept) or self._has_more():
            yield self._kept[at]
            at += 1

    def once(self) -> Iterator[T]:
        """Return an iterator over the results that were not found yet, which does not keep them."""
        return self._found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._kept):,} found so far; iterate over it, or call to_arrow())"

    def to_arrow(self) -> Any:
        """Return the results as a `pyarrow.Table`.

        Raises:
            ImportError: if pyarrow is not installed.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError("an Arrow table of results needs pyarrow: pip install pyarrow; to_dict() needs nothing") from None
        fields = [(name, getattr(pa, kind)()) if isinstance(kind, str) else (name, kind(pa)) for name, kind in self._columns()]
        return pa.Table.from_pylist(list(self._rows()), pa.schema(fields))

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @abstractmethod
    def _columns(self) -> Sequence[tuple[str, Any]]:
        """Return the name of each Arrow column, and its type: the name of a function of pyarrow, or a function that takes pyarrow."""

    @abstractmethod
    def _rows(self) -> Iterable[dict[str, Any]]:
        """Yield the rows by column name."""

    def _has_more(self) -> bool:
        for match in self._found:
            self._kept.append(match)
            return True
        return False
