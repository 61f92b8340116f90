"""Arrow arrays with wrong offsets, views or indexes, as a faulty library may export them. They change after pyarrow made them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

RECORD = pa.struct([("key", pa.binary()), ("value", pa.binary())])
ITEMS = pa.array([{"key": b"k", "value": b"v"}] * 2, RECORD)
VIEW = struct.Struct("<i4sii")


class Exported:
    """An array that gives nothing but its capsules, so that nobody validates it on the way."""

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.array.__arrow_c_array__(requested_schema)


class Invalid:
    """An array of two slots, which are valid until it is exported."""

    def __init__(self, type: pa.DataType, valid: bytes, wrong: bytes, *data: bytes, children: Sequence[pa.Array] | None = None) -> None:
        self.slots, self.wrong = bytearray(valid), wrong
        self.array = pa.Array.from_buffers(type, 2, [None, pa.py_buffer(self.slots), *map(pa.py_buffer, data)], children=children)

    def export(self) -> Exported:
        """The array alone."""
        self.slots[:] = self.wrong
        return Exported(self.array)

    def export_rows(self, name: str, **others: pa.Array) -> Exported:
        """A record batch with the array as one of its columns."""
        rows = pa.StructArray.from_arrays([*others.values(), self.array], [*others, name])
        self.slots[:] = self.wrong
        return Exported(rows)


class InvalidIndexes(Invalid):
    """The same for a dictionary of two values."""

    def __init__(self, *wrong: int) -> None:
        super().__init__(pa.int32(), struct.pack("<ii", 0, 1), struct.pack("<ii", *wrong))
        self.array = pa.DictionaryArray.from_arrays(self.array, pa.array([b"a", b"b"]), safe=False)


def offsets(form: str, *numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}{form}", *numbers)


def view(length: int, buffer: int, offset: int) -> bytes:
    return VIEW.pack(length, b"data", buffer, offset)


#: Columns of bytes that no dictionary encodes.
BYTES: dict[str, Callable[[], Invalid]] = {
    "decreasing offsets": lambda: Invalid(pa.binary(), offsets("i", 0, 1, 2), offsets("i", 0, 100, 2), b"abcdef"),
    "negative offset": lambda: Invalid(pa.binary(), offsets("i", 0, 1, 2), offsets("i", -1, 1, 2), b"abcdef"),
    "decreasing long offsets": lambda: Invalid(pa.large_binary(), offsets("q", 0, 1, 2), offsets("q", 0, 100, 2), b"abcdef"),
    "view of no buffer": lambda: Invalid(pa.binary_view(), view(20, 0, 0) * 2, view(20, 0, 0) + view(20, 3, 0), b"x" * 20),
    "view past its buffer": lambda: Invalid(pa.binary_view(), view(20, 0, 0) * 2, view(20, 0, 0) + view(20, 0, 9), b"x" * 20),
}
DICTIONARIES: dict[str, Callable[[], Invalid]] = {
    "index past the dictionary": lambda: InvalidIndexes(0, 2),
    "negative index": lambda: InvalidIndexes(0, -1),
}
LISTS: dict[str, Callable[[], Invalid]] = {
    name: lambda wrong=wrong: Invalid(pa.list_(RECORD), offsets("i", 0, 1, 2), offsets("i", *wrong), children=[ITEMS])
    for name, wrong in {"decreasing": (0, 1, 0), "past the items": (0, 1, 9), "negative": (-1, 0, 1), "in the middle": (0, 5, 2)}.items()
}
