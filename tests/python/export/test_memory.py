"""The memory of an export, as the peak of the resident set of its process: below `--memory`, whatever the log's length."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lake
import logsegment as ls

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read as Linux tells it")
MIB = 1 << 20
#: The log of the slow test in MiB: `make interop` sets it to 20 times the memory.
LOG_MIB = int(os.environ.get("EXPORT_LOG_MIB", "768"))
DAY = 86_400_000


def made(directory: Path, tables: Iterator[pa.Table], size: int) -> Path:
    """Write a partition of segments of at most 256 MiB until it has this size."""
    directory.mkdir(parents=True)
    offset = written = 0
    while written < size:
        with (directory / f"{offset:020}.log").open("wb") as file:
            while file.tell() < 256 * MIB and written + file.tell() < size:
                table = next(tables)
                ls.encode(table, base_offset=offset, batch_bytes=64 << 10, out=file)
                offset += table.num_rows
            written += file.tell()
    return directory


def in_order() -> Iterator[pa.Table]:
    """Records of a kibibyte, one after the other in time."""
    values = pa.array([random.Random(number).randbytes(400) * 2 for number in range(10_000)], pa.binary())
    time = 1_700_000_000_000
    while True:
        yield pa.table({"value": values, "timestampMs": pa.array(range(time, time + 10_000), pa.int64())})
        time += 10_000


def in_turns() -> Iterator[pa.Table]:
    """Records of 300 days in turns."""
    values = pa.array([random.Random(number).randbytes(300) for number in range(10_000)], pa.binary())
    times = pa.array([number % 300 * DAY for number in range(10_000)], pa.int64())
    while True:
        yield pa.table({"value": values, "timestampMs": times})


def records(source: Path) -> int:
    return sum(map(len, ls.Log(source).records(columns=["offset"])))


def peak(source: Path, to: str, memory: int) -> int:
    """The largest resident set of one run of the command, in bytes."""
    shown = "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    code = f"from logsegment.cli import main; assert main() == 0; {shown}"
    words = [sys.executable, "-c", code, "export", source, "--to", to, "--memory", f"{memory // MIB}MiB", "--quiet"]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, timeout=3000)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1]) << 10


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_a_long_log(kind: str, tmp_path: Path) -> None:
    """Several times the allowed memory, 20 times in `make interop`."""
    memory = 320 * MIB if LOG_MIB < 5000 else 512 * MIB
    source = made(tmp_path / "orders-0", in_order(), LOG_MIB * MIB)
    to = f"iceberg:{tmp_path}/lake/kafka.records" if kind == "iceberg" else f"delta:{tmp_path}/lake"
    assert peak(source, to, memory) < memory
    if kind == "iceberg":
        table = lake.iceberg(tmp_path / "lake", "kafka.records")
        assert int(table.current_snapshot().summary.additional_properties["total-records"]) == records(source)


@pytest.mark.slow
def test_records_of_many_days_in_turns(tmp_path: Path) -> None:
    """Rows of each day wait on disk: a file for each day, none of a few rows."""
    source = made(tmp_path / "orders-0", in_turns(), 96 * MIB)
    assert peak(source, f"iceberg:{tmp_path}/lake/kafka.records", 320 * MIB) < 320 * MIB
    table = lake.iceberg(tmp_path / "lake", "kafka.records")
    files = table.inspect.files()["record_count"].to_pylist()
    assert (len(files), sum(files)) == (300, records(source))
    assert lake.digest(lake.iceberg_rows(tmp_path / "lake", "kafka.records")) == lake.digest(lake.decoded_rows(source))
