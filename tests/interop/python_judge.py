"""Program: what kafka-python or aiokafka makes of inputs, one JSON line each: failure, records before it, digests of their rows.

Arguments: package, file of inputs (each behind its length), index of the first one. It runs apart from the tests, with bounded memory and
time, since these packages were not written for hostile bytes.
"""

from __future__ import annotations

import json
import resource
import signal
import struct
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from python_peers import RecordClasses
from rows import Row
from verdicts import READS, of_rows, untimed

#: Of address space, beside what the process has.
MEMORY = 1 << 30
#: Of processor time, for one input.
SECONDS = 3


class TakesTooLong(Exception):
    """More than `SECONDS`."""


def main(package: str, packed: str, first: str) -> None:
    warnings.simplefilter("ignore")
    classes = RecordClasses(package)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGVTALRM, stop)
    for data in list(unpacked(Path(packed).read_bytes()))[int(first) :]:
        print(json.dumps(judged(classes, data)), flush=True)


def judged(classes: RecordClasses, data: bytes) -> tuple[str, int, str, tuple[str, ...]]:
    rows: list[Row] = []
    failure = READS
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        for entry in classes.entries(data):
            rows += entry
    except Exception as error:
        failure = f"{type(error).__name__}: {error}".splitlines()[0]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    verdict = of_rows(failure, untimed(rows))
    return verdict.failure, verdict.records, verdict.digest, verdict.fields


def stop(_signal: int, _frame: FrameType | None) -> None:
    raise TakesTooLong(f"more than {SECONDS} s")


def unpacked(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        end = at + 4 + struct.unpack_from(">i", data, at)[0]
        yield data[at + 4 : end]
        at = end


if __name__ == "__main__":
    main(*sys.argv[1:])
