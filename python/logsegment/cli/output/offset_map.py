"""The file that tells which new offset each message of Kafka 0.7 got, as CSV, one line a message."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager

from logsegment._convert import MapTaker
from logsegment.cli.inputs import InputSegment
from logsegment.cli.output.files import whole_file

#: `position` counts in the partition, as offsets of Kafka 0.7 do: a consumer that stopped there goes on at the `offset` beside it.
COLUMNS = ("file", "position", "index", "offset")


class OffsetMap:
    """Rows of a map, written as they come."""

    def __init__(self, file: io.TextIOBase) -> None:
        self._lines = csv.writer(file, lineterminator="\n")
        self._lines.writerow(COLUMNS)

    def of(self, segment: InputSegment, base_position: int | None) -> MapTaker:
        """What takes the rows of one segment.

        Args:
            segment: a segment of Kafka 0.7.
            base_position: where its first byte stands in the partition; None for what its name tells.
        """
        start = (segment.base_offset or 0) if base_position is None and segment.is_of_0_7 else base_position or 0

        def take(rows: list[tuple[int, int, int]]) -> None:
            self._lines.writerows((segment.name, start + position, index, offset) for position, index, offset in rows)

        return take


@contextmanager
def offset_map(path: str | None, overwrite: bool) -> Iterator[OffsetMap | None]:
    """A map that appears whole or not at all; None without a path."""
    if path is None:
        yield None
        return
    with whole_file(path, overwrite) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
        yield OffsetMap(text)
        text.flush()
        text.detach()
