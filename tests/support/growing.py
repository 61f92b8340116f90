"""A log directory with partitions into which batches are appended, rolled, cut and deleted as a broker does it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

import logsegment as ls

TIME = 1_700_000_000_000


class GrowingLog:
    """A partition's directory below a log directory."""

    def __init__(self, root: Path, topic: str = "orders", partition: int = 0, *, start: int = 0) -> None:
        self.root = root
        self.name = f"{topic}-{partition}"
        self.directory = root / self.name
        self.directory.mkdir(parents=True)
        self.next = start
        self.roll()

    def roll(self) -> Path:
        """Go on in a new segment."""
        self.segment = self.directory / f"{self.next:020d}.log"
        self.segment.touch()
        # Where a preallocated one is written to.
        self._end: int | None = None
        return self.segment

    def append(self, *counts: int, size: int = 20, **options: Any) -> None:
        """Append batches of so many records with values of about `size` bytes."""
        for count in counts:
            self.write(self.encode(count, size, **options))
            self.next += count

    def encode(self, count: int, size: int = 20, **options: Any) -> bytes:
        """The next batch."""
        offsets = range(self.next, self.next + count)
        columns = {"offset": offsets, "value": [b"%020d" % offset + b"x" * (size - 20) for offset in offsets]}
        times = {"timestampMs": [TIME + offset for offset in offsets]}
        return ls.encode(pa.table(columns | times), batch_bytes=1 << 20, **({"partition_leader_epoch": 0} | options))

    def write(self, data: bytes) -> None:
        with self.segment.open("r+b") as file:
            file.seek(*((0, os.SEEK_END) if self._end is None else (self._end,)))
            file.write(data)
            self._end = None if self._end is None else file.tell()

    def preallocate(self, zeros: int) -> None:
        """Give the segment room for so many bytes more, as a broker does with `preallocate=true`."""
        self._end = self.segment.stat().st_size
        os.truncate(self.segment, self._end + zeros)

    def marker(self, kind: str, producer_id: int) -> None:
        """End a transaction."""
        columns = {"offset": [self.next], "value": pa.array([None], pa.binary()), "controlType": [kind], "timestampMs": [TIME + self.next]}
        producer = {"producer_id": producer_id, "producer_epoch": 0}
        self.write(ls.encode(pa.table(columns), transactional=True, partition_leader_epoch=0, **producer))
        self.next += 1

    def in_transaction(self, count: int, producer_id: int) -> None:
        """Append a batch of a transaction."""
        self.append(count, transactional=True, producer_id=producer_id, producer_epoch=0, base_sequence=0)

    def cut(self, offset: int) -> None:
        """Truncate the log as a follower of a new leader does: batches from `offset` on go."""
        for segment in sorted(self.directory.glob("*.log"), reverse=True):
            if int(segment.stem) >= offset and int(segment.stem) > 0:
                segment.unlink()
                continue
            rows = ls.batches(ls.FileSource(segment)).to_pylist()
            size = next((row["position"] for row in rows if row["lastOffset"] >= offset), segment.stat().st_size)
            with segment.open("r+b") as file:
                file.truncate(size)
            self._end = None
            self.segment, self.next = segment, offset
            return

    def high_watermark(self, offset: int | None) -> None:
        """What the broker says of this partition alone; None leaves it out."""
        lines = [] if offset is None else [f"{self.name.rpartition('-')[0]} {self.name.rpartition('-')[2]} {offset}\n"]
        (self.root / "replication-offset-checkpoint").write_text(f"0\n{len(lines)}\n{''.join(lines)}")
