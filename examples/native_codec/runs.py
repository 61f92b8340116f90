"""The Python side of a codec in C: a class whose objects have a capsule. The library stands beside this file."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

#: Libraries are called otherwise on macOS and on Windows.
LIBRARY = {"darwin": "libruns.dylib", "win32": "runs.dll"}.get(sys.platform, "libruns.so")
#: The name says what the capsule points to. It is kept as long as any capsule may be.
NAME = b"logsegment.codec"


class Runs:
    """Runs of equal bytes, in C: see runs.c."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(Path(__file__).with_name(LIBRARY)))
        table = ctypes.addressof(ctypes.c_char.in_dll(self._library, "runs_codec"))
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
        self.__logsegment_codec__ = new(table, NAME, None)
