"""Sidecar files are hints: whatever they say, the same rows are given as without them."""

from __future__ import annotations

import importlib.util
import random
import struct
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import building
import logsegment as ls
from logsegment.analysis.find import Conditions, Search
from logsegment.segment_files.discovery import find_segments
from slow import slow_after

HAS_SPARK = importlib.util.find_spec("pyspark") is not None
pytestmark = pytest.mark.filterwarnings("ignore:indexes are unusable")

START = 1_600_000_000_000
Batches = list[dict[str, Any]]


def partition(root: Path, choices: random.Random) -> Path:
    """Write a partition whose times go up and down, with transactions that are committed, aborted and open."""
    directory = root / "orders-0"
    directory.mkdir(parents=True)
    offset, open_since = 0, dict.fromkeys((7, 8), False)
    for _ in range(choices.randint(1, 4)):
        first, parts = offset, []
        for _ in range(choices.randint(3, 14)):
            producer = choices.choice([*open_since, None, None])
            if producer is None:
                count = choices.randint(1, 4)
                times = [START + choices.randrange(5000) for _ in range(count)]
                table = pa.table({"timestampMs": times, "value": [b"x" * choices.randrange(60)] * count})
                parts.append(ls.encode(table, base_offset=offset))
                offset += count
            elif open_since[producer] and choices.random() < 0.6:
                parts.append(building.marker(choices.randint(0, 1), producer, offset))
                open_since[producer], offset = False, offset + 1
            else:
                parts.append(building.transactional_batch([b"in a transaction"], producer, offset))
                open_since[producer], offset = True, offset + 1
        (directory / f"{first:020}.log").write_bytes(b"".join(parts))
    return directory


def index(batches: Batches, base: int, choices: random.Random) -> bytes:
    """Some batches, in order, with their true offsets and positions."""
    chosen = [row for row in batches if choices.random() < 0.5]
    return b"".join(struct.pack(">ii", row["lastOffset"] - base, row["position"]) for row in chosen)


def time_index(batches: Batches, base: int, choices: random.Random) -> bytes:
    """Some batches, in order, with their true offsets and times, which increase; those with the largest times may be missing."""
    entries: list[tuple[int, int]] = []
    for row in batches:
        if choices.random() < 0.6 and (not entries or row["maxTimestamp"] > entries[-1][0]):
            entries.append((row["maxTimestamp"], row["lastOffset"] - base))
    return b"".join(struct.pack(">qi", *entry) for entry in entries)


def snapshot(batches: Batches, choices: random.Random) -> bytes:
    """A sound file with any of the producers, whose transactions are open or not."""
    rows = b""
    producers = [producer for producer in (7, 8, 9) if choices.random() < 0.6]
    for producer in producers:
        first = choices.choice([-1, *(row["baseOffset"] for row in batches)])
        last = batches[-1]["lastOffset"]
        rows += struct.pack(">qhiqiqiq", producer, 0, 0, last, 0, START, 0, first)
    body = struct.pack(">i", len(producers)) + rows
    return struct.pack(">hI", 1, building.crc32c(body)) + body


def aborted(batches: Batches, choices: random.Random) -> bytes:
    """A `.txnindex` of transactions that never were."""
    rows = sorted(choices.sample(range(batches[-1]["lastOffset"] + 1), min(2, len(batches))))
    return b"".join(struct.pack(">hqqqq", 0, choices.choice([7, 8]), 0, last, last + 1) for last in rows)


def noise(_: Batches, choices: random.Random) -> bytes:
    return choices.randbytes(choices.randrange(200))


def write_sidecars(directory: Path, choices: random.Random) -> None:
    """Write files that are missing, noise, or in agreement with the log in each entry and not the whole truth."""
    for log in directory.glob("*.log"):
        base = int(log.stem)
        batches = ls.batches(ls.FileSource(log)).to_pylist()
        makers: dict[str, Callable[[], bytes]] = {
            ".index": lambda batches=batches, base=base: index(batches, base, choices),
            ".timeindex": lambda batches=batches, base=base: time_index(batches, base, choices),
            ".snapshot": lambda batches=batches: snapshot(batches, choices),
            ".txnindex": lambda batches=batches: aborted(batches, choices),
        }
        for suffix, make in makers.items():
            path, luck = log.with_suffix(suffix), choices.random()
            path.unlink(missing_ok=True)
            if luck < 0.75:
                path.write_bytes(make())
            elif luck < 0.9:
                path.write_bytes(noise(batches, choices))
    epochs = sorted(choices.sample(range(50), 3))
    lines = "".join(f"{epoch} {offset}\n" for epoch, offset in enumerate(epochs))
    (directory / "leader-epoch-checkpoint").write_text(f"0\n3\n{lines}")


def answers(directory: Path, offsets: tuple[int, int], times: tuple[int, int]) -> dict[str, Any]:
    """What each reader gives."""
    found: dict[str, Any] = {}
    start, end = times
    log = ls.Log(directory)
    for isolation in ("read_uncommitted", "read_committed"):
        for on_error in ("raise", "skip"):
            how = {"columns": ["offset"], "isolation": isolation, "on_error": on_error}
            read = [
                log.records(start_offset=offsets[0], end_offset=offsets[1], **how),
                log.records(start_timestamp=start, end_timestamp=end, **how),
                *(result.records(start_timestamp=start, **how) for result in log),
            ]
            found[f"{isolation} {on_error}"] = [stream.to_pyarrow()["offset"].to_pylist() for stream in read]
        frame = ls.polars.scan(directory, columns=["offset", "timestamp"], isolation=isolation)
        late = pl.col("timestamp").dt.epoch("ms") >= start
        found[f"polars {isolation}"] = frame.filter(late).collect()["offset"].to_list()
        if HAS_SPARK:
            found[f"spark {isolation}"] = spark_offsets(directory, start, isolation)
    found["find"] = [place.offset for place in Search(Conditions(at=start)).places(find_segments(directory))]
    found["time"] = log.offset_for_timestamp(start)
    return found


def spark_offsets(directory: Path, start: int, isolation: str) -> list[int]:
    """Return the offsets that a batch query from a time on gives."""
    from logsegment.spark import LogSegmentSource

    options = {"startingTimestamp": str(start), "startingOffsetsByTimestampStrategy": "latest", "isolation": isolation}
    source = LogSegmentSource({"path": str(directory), **options})
    reader: Any = source.reader(source.schema())
    return [row["offset"] for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]


@pytest.mark.parametrize("seed", slow_after(3, range(30)))
def test_no_sidecar_file_changes_what_a_reader_gives(tmp_path: Path, seed: int):
    choices = random.Random(seed)
    directory = partition(tmp_path, choices)
    end = ls.Log(directory).batches().to_pylist()[-1]["lastOffset"] + 1
    asked = []
    for _ in range(3):
        first, last = sorted(choices.randrange(end + 2) for _ in range(2))
        asked.append(((first, last), tuple(START + time for time in sorted(choices.randrange(5500) for _ in range(2)))))
    expected = [answers(directory, *item) for item in asked]
    for _ in range(3):
        write_sidecars(directory, choices)
        assert [answers(directory, *item) for item in asked] == expected


def test_a_time_before_the_first_entry_of_a_time_index_counts(tmp_path: Path):
    """The index agrees with the log in each entry: 100 at offset 1, 200 at offset 2."""
    log = tmp_path / "orders-0" / f"{0:020}.log"
    log.parent.mkdir()
    batches = [
        ls.encode(pa.table({"timestampMs": [time], "value": [b""]}), base_offset=offset)
        for offset, time in enumerate((2000, 100, 200, 3000))
    ]
    log.write_bytes(b"".join(batches))
    ends = list(accumulate(map(len, batches)))
    log.with_suffix(".index").write_bytes(struct.pack(">iiii", 1, ends[0], 2, ends[1]))
    log.with_suffix(".timeindex").write_bytes(struct.pack(">qiqi", 100, 1, 200, 2))
    for opened in (ls.Segment(log), ls.Log(log.parent)):
        assert [row["offset"] for row in opened.records(columns=["offset"], start_timestamp=1500).read_all().to_pylist()] == [0, 1, 2, 3]
