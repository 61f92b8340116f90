"""How many bytes this process reads, from whatever file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

COUNTERS = Path("/proc/self/io")
#: Of tests that count.
counting = pytest.mark.skipif(not COUNTERS.exists(), reason="the bytes that a process read are told by Linux alone")


def bytes_read(call: Callable[[], object]) -> int:
    """By a call."""

    def counter() -> int:
        return int(COUNTERS.read_text().split()[1])

    before = counter()
    call()
    return counter() - before
