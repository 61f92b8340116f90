"""Offsets of Kafka 0.7, which are positions: a query begins and ends where an entry starts.

A segment's name tells where its first byte stands in the partition. A position inside of an entry is nobody's offset, and would leave out
or give a message that was not meant.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from logsegment._core import FileSource, RecordBatchError
from logsegment._decode import batch_stream
from logsegment.segment_files.discovery import SegmentFile
from logsegment.spark.options.offsets import Edge
from logsegment.spark.options.topics import TopicPartition


def ensure_boundary(name: TopicPartition, segments: Sequence[SegmentFile], offset: int, edge: Edge) -> None:
    """Fail for an offset of a partition of Kafka 0.7 at which no entry starts and no log ends.

    Args:
        name: for the message.
        segments: all of the partition, in order; of other versions of Kafka nothing is asked.
        offset: where the query begins or ends.
        edge: which of the two.

    Raises:
        ValueError: when it stands inside of an entry.
        OSError: when the file cannot be read.

    Source: `Log.read` in Kafka 0.7 takes any position, and its consumer fails at what stands there.
    """
    bases = [segment.base_offset or 0 for segment in segments]
    at = bisect_right(bases, offset) - 1
    if at < 0 or offset == bases[at] or not segments[at].path.endswith(".kafka"):
        return
    starts = _entry_starts(segments[at])
    position = offset - bases[at]
    after = bisect_left(starts, position)
    if after < len(starts) and starts[after] != position:
        raise ValueError(
            f"option {edge}Offsets: no entry of {name} starts at {offset}, but at {bases[at] + starts[after - 1]} and "
            f"{bases[at] + starts[after]}; offsets of Kafka 0.7 are positions"
        )


def _entry_starts(segment: SegmentFile) -> list[int]:
    """Where entries start in a file, and where the last whole one ends; as far as they can be read, since the query will tell the rest."""
    starts = [0]
    try:
        for rows in batch_stream(FileSource(segment.path), check_crc=False):
            table = rows.to_pyarrow()
            for position, size in zip(table["position"].to_pylist(), table["size"].to_pylist(), strict=True):
                starts.append(position + size)
    except RecordBatchError:
        pass
    return starts
