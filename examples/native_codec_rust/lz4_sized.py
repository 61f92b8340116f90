"""The Python side of a codec in Rust: a class whose objects have a capsule. The library stands beside this file."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

#: What cargo calls the library.
LIBRARY = {"darwin": "liblz4_sized.dylib", "win32": "lz4_sized.dll"}.get(sys.platform, "liblz4_sized.so")
#: The name says what the capsule points to. It is kept as long as any capsule may be.
NAME = b"logsegment.codec"


class Lz4Sized:
    """One LZ4 block behind its size, in Rust: see src/lib.rs."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(Path(__file__).with_name(LIBRARY)))
        table = ctypes.addressof(ctypes.c_char.in_dll(self._library, "LZ4_SIZED_CODEC"))
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
        self.__logsegment_codec__ = new(table, NAME, None)
