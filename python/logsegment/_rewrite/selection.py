"""Select the records of a rewrite: `Selection`, and the keys of callers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from logsegment._core import KeySet, PlaceSet
from logsegment._options import Timestamp, ensure_offsets, milliseconds
from logsegment._rewrite.predicate import Predicate, is_expression, predicate

#: Bytes, or text for its UTF-8 bytes; None for null.
Payload: TypeAlias = bytes | str | None
#: Keys themselves, an Arrow array of them, or the path of a file with them.
Keys: TypeAlias = Iterable[Payload] | str | os.PathLike[str] | Any
#: The name of a header, or its name and the values of which one is enough.
Header: TypeAlias = str | bytes | tuple[str | bytes, Sequence[Payload] | None]
#: First (inclusive) and end (exclusive); None for no bound.
Bounds: TypeAlias = tuple[int | None, int | None]
#: What starts a range without a first offset or time.
_LOWEST = -(1 << 63)
#: Files of keys that pyarrow reads.
_ARROW_FILES = (".arrow", ".feather", ".ipc")


class CoreSelection(NamedTuple):
    """A selection as the core takes it; None for a condition that is not given."""

    keys: KeySet | None = None
    headers: list[tuple[bytes, list[bytes | None] | None]] | None = None
    offsets: list[tuple[int, int | None]] | None = None
    times: list[tuple[int, int | None]] | None = None
    places: PlaceSet | None = None


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Records that fulfil all given conditions. Of the values of one condition, one is enough.

    Args:
        record_keys: keys of records: bytes or text in any iterable, None for the null key; an Arrow array; or the path of a file with
            one key a line, blank lines skipped (`.parquet`, `.arrow`, `.feather`: the column `key`, or the only column).
        headers: names of headers; tuples (name, list of values), of which one value is enough; or a mapping from names to a value or a
            list of values. In a list None is a null value.
        offsets: one offset, a `range`, a tuple (first, end) whose end is excluded and whose bounds may be None, or a list of these.
        times: a tuple (first, end) of timestamps, in milliseconds or as aware datetimes, or a list of these. The end is excluded. A record
            without a timestamp is in no range.

    Offsets and times are compared with each record, whatever the header of its batch claims.

    Raises:
        TypeError, ValueError: if a condition is invalid, or none is given.

    Example:
        >>> import logsegment as ls
        >>> one_tenant = ls.Selection(headers={"tenant": "acme"}, offsets=(0, 1000))
    """

    record_keys: Keys | None = None
    headers: Mapping[str | bytes, Payload | Sequence[Payload]] | Iterable[Header] | None = None
    offsets: Any = None
    times: Any = None

    def __post_init__(self) -> None:
        if all(condition is None for condition in (self.record_keys, self.headers, self.offsets, self.times)):
            raise ValueError("a Selection needs a condition: record_keys, headers, offsets or times")
        _headers(self.headers)
        _ranges(self.offsets, "offsets")
        _times(self.times)

    @staticmethod
    def joined_keys(keys: Iterable[Payload], files: Iterable[str]) -> KeySet:
        """Return the keys of a list and of files as one set, for `record_keys`.

        Args:
            keys: keys of records.
            files: paths of files of keys; see `record_keys`.

        Raises:
            OSError: if a file cannot be read.
        """
        columns = {path: _column_of(path) for path in files}
        arrays = [column for column in columns.values() if column is not None]
        return KeySet(list(keys), arrays, [path for path, column in columns.items() if column is None])


def core_selection(given: Selection | Keys | None) -> CoreSelection | Predicate | None:
    """Return a selection, or keys, as the core takes them; an expression as what finds its records in a file.

    Raises:
        TypeError, ValueError: if it is invalid.
        OSError: if a file of keys cannot be read.
    """
    if given is None:
        return None
    if is_expression(given):
        return predicate(given)
    if not isinstance(given, Selection):
        return CoreSelection(key_set(given))
    keys = None if given.record_keys is None else key_set(given.record_keys)
    return CoreSelection(keys, _headers(given.headers), _ranges(given.offsets, "offsets"), _times(given.times))


def key_set(keys: Keys) -> KeySet:
    """Return keys as a set.

    Raises:
        TypeError: if they are not keys.
        OSError: if their file cannot be read.
    """
    if isinstance(keys, KeySet):
        return keys
    if isinstance(keys, str | os.PathLike):
        path = os.fspath(keys)
        column = _column_of(path)
        return KeySet(files=[path]) if column is None else KeySet(arrays=[column])
    if hasattr(keys, "__arrow_c_array__") or hasattr(keys, "__arrow_c_stream__"):
        return KeySet(arrays=[keys])
    if isinstance(keys, bytes | bytearray | memoryview | Mapping) or not isinstance(keys, Iterable):
        wanted = "a list of keys, an Arrow array, the path of a file, a Selection or an expression of pyarrow"
        raise TypeError(f"keys must be {wanted}, not {type(keys).__name__}")
    return KeySet(list(keys))


def _column_of(path: str) -> Any:
    """Return the column of keys of a Parquet or Arrow file; None for a file of lines.

    Raises:
        ValueError: if no column is named `key` and there are several.
    """
    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        table = pq.ParquetFile(path).read()
    elif path.endswith(_ARROW_FILES):
        import pyarrow as pa

        with pa.OSFile(path) as file:
            table = pa.ipc.open_file(file).read_all()
    else:
        return None
    names = table.column_names
    if "key" in names:
        return table["key"]
    if len(names) != 1:
        raise ValueError(f"{path}: no column is named key, and there are {len(names)} columns")
    return table[names[0]]


def _payload(value: Payload, argument: str) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise TypeError(f"{argument}: bytes, str or None is needed, not {type(value).__name__}")


def _headers(given: Any) -> list[tuple[bytes, list[bytes | None] | None]] | None:
    if given is None:
        return None
    if isinstance(given, str | bytes):
        given = [given]
    if isinstance(given, Mapping):
        return [(_name(name), _values(values)) for name, values in given.items()]
    return [
        (_name(header[0]), None if header[1] is None else _values(header[1])) if isinstance(header, tuple) else (_name(header), None)
        for header in given
    ]


def _name(name: Any) -> bytes:
    payload = _payload(name, "headers")
    if payload is None:
        raise TypeError("headers: a name is bytes or str, not None")
    return payload


def _values(values: Any) -> list[bytes | None]:
    many = [values] if values is None or isinstance(values, str | bytes) else list(values)
    return [_payload(value, "headers") for value in many]


def _ranges(given: Any, argument: str) -> list[tuple[int, int | None]] | None:
    if given is None:
        return None
    ranges = [_bounds(bounds, argument) for bounds in (given if isinstance(given, list) else [given])]
    for first, end in ranges:
        ensure_offsets(None if first == _LOWEST else first, end, (argument, argument))
    return ranges


def _bounds(given: Any, argument: str) -> tuple[int, int | None]:
    if isinstance(given, int):
        return given, given + 1
    if isinstance(given, range) and given.step == 1:
        return given.start, max(given.start, given.stop)
    if not isinstance(given, tuple) or len(given) != 2 or not all(bound is None or isinstance(bound, int) for bound in given):
        raise TypeError(f"{argument}: a number, a range with step 1 or a tuple (first, end) is needed, not {given!r}")
    first, end = given
    if first is not None and end is not None and end < first:
        raise ValueError(f"{argument}: the range {given!r} ends before it starts")
    return _LOWEST if first is None else first, end


def _times(given: Any) -> list[tuple[int, int | None]] | None:
    if given is None:
        return None
    return [_bounds(_in_milliseconds(bounds), "times") for bounds in (given if isinstance(given, list) else [given])]


def _in_milliseconds(given: Any) -> tuple[int | None, int | None]:
    if not isinstance(given, tuple) or len(given) != 2:
        raise TypeError(f"times: a tuple (first, end) is needed, not {given!r}")
    first, end = (None if time is None else _milliseconds(time) for time in given)
    return first, end


def _milliseconds(time: Timestamp) -> int:
    return milliseconds(time, "times")
