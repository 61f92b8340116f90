"""The offset map of a conversion from Kafka 0.7, as CSV: position of a message in, its new offset out."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from logsegment._convert.result import MapTaker
from logsegment._output import OutputFile
from logsegment.inputs.input_segment import InputSegment

#: `position` counts in the partition, as offsets of Kafka 0.7 do: a consumer that stopped there continues at the `offset` of the row.
COLUMNS = ("file", "position", "index", "offset")


class OffsetMap:
    """Rows of a map, written as they come."""

    def __init__(self, file: Any) -> None:
        self._lines = csv.writer(file, lineterminator="\n")
        self._lines.writerow(COLUMNS)

    def of(self, segment: InputSegment, base_position: int | None) -> MapTaker:
        """Return a function that takes the rows of one segment.

        Args:
            segment: a segment of Kafka 0.7.
            base_position: position of its first byte in the partition; None for that of its name.
        """
        start = (segment.base_offset or 0) if base_position is None and segment.is_of_0_7 else base_position or 0

        def take(rows: list[tuple[int, int, int]]) -> None:
            self._lines.writerows((segment.name, start + position, index, offset) for position, index, offset in rows)

        return take


@contextmanager
def staged_map(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[OffsetMap]:
    """Open a map that is complete or absent.

    Raises:
        OSError: if the file cannot be written.
    """
    with OutputFile(path, overwrite=overwrite) as output:
        text = io.TextIOWrapper(output.file, encoding="utf-8", newline="", write_through=False)
        yield OffsetMap(text)
        text.flush()
        text.detach()
