"""Codecs that the tests of plugins register: one that works, and one for each way not to."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logsegment.plugins import Entry, MemoryRegistry

#: What was called: name of the method, type and length of the data, the other argument.
calls: list[tuple[str, type, int, Any]] = []
#: Views that `Keeping` holds on to.
kept: list[memoryview] = []


class Deflate:
    """zlib without a frame; the level is zlib's."""

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        calls.append(("compress", type(data), len(data), level))
        return zlib.compress(data, -1 if level is None else level)

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        calls.append(("decompress", type(data), len(data), max_output))
        return zlib.decompressobj().decompress(data, max_output + 1)


class Identity:
    """Gives the view that it was given."""

    def compress(self, data: memoryview, level: int | None = None) -> memoryview:
        return data

    def decompress(self, data: memoryview, max_output: int) -> memoryview:
        return data


class Shelf:
    """Where codecs are that are made already."""

    deflate = Deflate()


class Keeping(Identity):
    """Keeps every view."""

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        kept.append(data)
        return bytes(data)

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        kept.append(data[1:])
        return bytes(data)


class Shaped(Identity):
    """Gives whatever `shape` makes of the bytes."""

    shape: Callable[[bytes], Any] = staticmethod(bytes)

    def compress(self, data: memoryview, level: int | None = None) -> Any:
        return type(self).shape(bytes(data))

    def decompress(self, data: memoryview, max_output: int) -> Any:
        return type(self).shape(bytes(data))


class Configured(Deflate):
    """Is told its level by its entry."""

    def __init__(self, level: int) -> None:
        self.level = level

    @classmethod
    def from_entry(cls, entry: Entry) -> Configured:
        return cls(int(entry.extra["level"]))

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        return super().compress(data, self.level)


class Unmakeable(Identity):
    """Fails when it is made."""

    def __init__(self) -> None:
        raise RuntimeError("no licence")


class Raising(Identity):
    """Fails."""

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        raise ArithmeticError("two and two is five")


class TooLittle(Identity):
    """Loses the last byte."""

    def decompress(self, data: memoryview, max_output: int) -> memoryview:
        return data[:-1]


class TooMuch(Identity):
    """Gives more than it may."""

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        return bytes(max_output + 1)


class Garbage(Identity):
    """Gives something else."""

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        return b"\xff" * len(data)


class Exiting(Identity):
    """Would end the program."""

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        raise SystemExit(3)


class Escaping(Identity):
    """Fails with what a terminal would obey."""

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        raise ValueError("\x1b[2J\x07\x9b31m is gone")


class PacksNot(Identity):
    """Fails to pack."""

    def compress(self, data: memoryview, level: int | None = None) -> memoryview:
        raise ArithmeticError("two and two is five")


class PacksAway(Identity):
    """Packs everything to nothing."""

    def compress(self, data: memoryview, level: int | None = None) -> memoryview:
        return data[:0]


class PacksGarbage(Identity):
    """Packs everything to the same byte."""

    def compress(self, data: memoryview, level: int | None = None) -> memoryview:
        return data[:1]


class PackingExits(Identity):
    """Would end the program when it packs."""

    def compress(self, data: memoryview, level: int | None = None) -> memoryview:
        raise SystemExit(3)


class Endless(Identity):
    """Never ends, and says that it has begun."""

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        print("begun", flush=True)
        while True:
            pass


class Hanging(Endless):
    """Never ends either, and leaves a file with the name of its process in the directory that its entry names."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory)

    @classmethod
    def from_entry(cls, entry: Entry) -> Hanging:
        return cls(str(entry.extra["directory"]))

    def decompress(self, data: memoryview, max_output: int) -> bytes:
        (self.directory / str(os.getpid())).touch()
        return super().decompress(data, max_output)


class Incomplete:
    """Packs only."""

    def compress(self, data: memoryview, level: int | None = None) -> bytes:
        return bytes(data)


def registry(**classes: type | str) -> MemoryRegistry:
    """A registry of these classes under their aliases; ids count from 3."""
    names = {alias: item if isinstance(item, str) else f"{__name__}:{item.__qualname__}" for alias, item in classes.items()}
    return MemoryRegistry(Entry(number, alias, name, "v1.0") for number, (alias, name) in enumerate(names.items(), 3))
