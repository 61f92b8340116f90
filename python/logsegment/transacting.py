"""The transactions of a partition one by one: which producer, from where to where, how large, how long, and how each ended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from logsegment._core import FileSource, scan_transactions
from logsegment.reading import batch_stream
from logsegment.segments import SegmentFile

State = Literal["committed", "aborted", "open", "hanging"]

#: Kafka's `transaction.max.timeout.ms` by default: a coordinator aborts what is open longer.
LONGEST_MS = 15 * 60 * 1000
#: A timestamp that stands for none.
NONE = -1

_NAMES = ("position", "size", "baseOffset", "lastOffset", "count", "baseTimestamp", "maxTimestamp", "producerId", "producerEpoch")
_FIELDS = [(name, name) for name in (*_NAMES, "isTransactional", "isControl")]


@dataclass(slots=True)
class Transaction:
    """A transaction in one partition.

    Attributes:
        state: "committed" or "aborted" by its marker; "open" without one, "hanging" when it is open for longer than a coordinator allows.
        producer_id: who wrote it.
        producer_epoch: in which epoch it began.
        first_offset: of its first batch.
        last_offset: of its last batch; its marker stands behind.
        marker_offset: of its marker, None while it is open.
        batches: how many it has here.
        records: in them.
        bytes: of them, as they are stored.
        first_timestamp: ms, of its first batch; -1 for none.
        duration_ms: from there to its marker, or to the latest time in the log.
    """

    state: State
    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int
    marker_offset: int | None = None
    batches: int = 0
    records: int = 0
    bytes: int = 0
    first_timestamp: int = NONE
    duration_ms: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The attributes, with Kafka's spelling of their names."""
        return {_camel(name): value for name, value in asdict(self).items()}


def transactions_of(files: Sequence[SegmentFile], *, longest_ms: int = LONGEST_MS, experimental: bool = False) -> Iterator[Transaction]:
    """Follow the transactions of one partition; nothing is decompressed, damage is passed over.

    Args:
        files: its segments in the order of their offsets, as `logsegment.segments.find_segments` gives them.
        longest_ms: what is open for longer hangs; 15 minutes are `transaction.max.timeout.ms` of a broker.
        experimental: batches of magic 3 begin and end transactions too; as in `logsegment.decode`.

    Yields:
        The ended ones in the order of their markers, then those that are open by their first offset. A transaction that began before
        the first file counts from where its data is there.

    Raises:
        ValueError: when the files are not in the order of their offsets.
        OSError: when a file cannot be read.

    Example:
        >>> from logsegment.segments import find_segments
        >>> from logsegment.transacting import transactions_of
        >>> sum(one.state == "aborted" for one in transactions_of(find_segments("payments-0")))
        11

    Source: KIP-98 and KIP-664; `TransactionsCommand` in Kafka's tools.
    """
    sources = [FileSource(file.path) for file in files]
    aborted = set(scan_transactions(sources, experimental=experimental).aborted)
    follower = _Follower(aborted)
    for source in sources:
        with batch_stream(source, check_crc=False, on_error="skip", experimental=experimental) as stream:
            for rows in stream:
                yield from follower.ended(map(json.loads, rows.to_jsonl(fields=_FIELDS).splitlines()))
    yield from follower.open(longest_ms)


class _Follower:
    """The transactions without a marker so far."""

    def __init__(self, aborted: set[tuple[int, int, int]]) -> None:
        self._aborted = aborted
        self._open: dict[int, Transaction] = {}
        self._latest = NONE

    def ended(self, rows: Iterator[dict[str, Any]]) -> Iterator[Transaction]:
        for row in rows:
            self._latest = max(self._latest, row["maxTimestamp"] or NONE)
            if not row["isTransactional"] or row["producerId"] < 0:
                continue
            if not row["isControl"]:
                self._add(row)
            elif (ended := self._open.pop(row["producerId"], None)) is not None:
                is_aborted = (ended.producer_id, ended.first_offset, row["lastOffset"]) in self._aborted
                ended.state = "aborted" if is_aborted else "committed"
                ended.marker_offset = row["lastOffset"]
                ended.duration_ms = _between(ended.first_timestamp, row["maxTimestamp"])
                yield ended

    def open(self, longest_ms: int) -> Iterator[Transaction]:
        for one in sorted(self._open.values(), key=lambda one: one.first_offset):
            one.duration_ms = _between(one.first_timestamp, self._latest)
            one.state = "hanging" if one.duration_ms > longest_ms else "open"
            yield one

    def _add(self, row: dict[str, Any]) -> None:
        producer_id, first = row["producerId"], row["baseOffset"]
        if producer_id not in self._open:
            times = row["baseTimestamp"], row["maxTimestamp"]
            begun = min((time for time in times if time is not None and time >= 0), default=NONE)
            self._open[producer_id] = Transaction("open", producer_id, row["producerEpoch"], first, first, first_timestamp=begun)
        one = self._open[producer_id]
        one.last_offset = row["lastOffset"]
        one.batches += 1
        one.records += row["count"] or 0
        one.bytes += row["size"]


def _between(begun: int, ended: int | None) -> int:
    return 0 if begun == NONE or ended is None else max(ended - begun, 0)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
