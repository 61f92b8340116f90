"""Free ports of this machine's loopback."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from itertools import cycle

#: Ports below those that the kernel hands out, a range for each worker of pytest-xdist: between being found and being used,
#: no other worker and no client can take one.
FIRST, SHARE, WORKERS = 12_000, 1_000, 20


def candidates() -> Iterator[int]:
    """The ports of this worker, in turn and again; the first one differs between processes."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    first, start = FIRST + worker * SHARE, os.getpid() % SHARE
    return cycle(first + (start + step) % SHARE for step in range(SHARE))


_CANDIDATES = candidates()


def free_port() -> int:
    """A port that nobody uses."""
    for port in _CANDIDATES:
        with socket.socket() as probe:
            # As servers do: a port whose last connection is still closing can be used.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("an endless iterator has ended")
