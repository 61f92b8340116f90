"""The transactions of a partition one by one: which producer, from where to where, how large, how long, and how each ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from logsegment._core import FileSource, Finding, scan_markers
from logsegment._decode import batch_stream
from logsegment._options import Timestamp, milliseconds
from logsegment._text import camel_case
from logsegment.log.faults import SWALLOWED, TORN
from logsegment.log.reader import arranged
from logsegment.segment_files.discovery import SegmentFile
from logsegment.stores.uri import shown

State = Literal["committed", "aborted", "open", "hanging", "unknown"]
#: Called with a file and what is damaged in it.
Told = Callable[[SegmentFile, Finding], object]

#: Kafka's `transaction.max.timeout.ms` by default: a coordinator aborts what is open longer.
LONGEST_MS = 15 * 60 * 1000
#: A timestamp that stands for none.
NONE = -1
#: Before this magic there are messages, whose checksum is another one.
_FIRST_OF_BATCHES = 2

_NAMES = ("position", "size", "baseOffset", "lastOffset", "count", "baseTimestamp", "maxTimestamp", "producerId", "producerEpoch", "magic")
_FIELDS = [(name, name) for name in (*_NAMES, "isTransactional", "isControl", "isValid")]


@dataclass(slots=True)
class Transaction:
    """A transaction in one partition.

    Attributes:
        state: "committed" or "aborted" by its marker; "open" without one, "hanging" when it is open for longer than a coordinator allows.
            "unknown" when damage lies behind its begin: its marker may have been there, and what follows may be of another transaction.
        producer_id: who wrote it.
        producer_epoch: in which epoch it began.
        first_offset: of its first batch.
        last_offset: of its last batch; its marker stands behind.
        marker_offset: of its marker, None while it is open.
        batches: how many it has here.
        records: in them.
        bytes: of them, as they are stored.
        first_timestamp: ms, of its first batch; -1 for none.
        duration_ms: from there to its marker, or while it is open to `now` of `transactions_of`.
        path, topic, partition: where it is, if the caller knows: the directory or file, and what the name of the directory says.
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
    path: str = ""
    topic: str | None = None
    partition: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON, the place first."""
        place = {"path": self.path, "topic": self.topic, "partition": self.partition}
        return place | {camel_case(name): value for name, value in asdict(self).items()}


def transactions_of(
    files: Sequence[SegmentFile],
    *,
    longest_ms: int = LONGEST_MS,
    now: Timestamp | None = None,
    experimental: bool = False,
    told: Told | None = None,
) -> Iterator[Transaction]:
    """Follow the transactions of one partition; nothing is decompressed.

    A batch whose checksum does not match counts as not there, and so does its marker.

    Args:
        files: its segments, as `logsegment.segment_files.discovery.find_segments` returns them.
        longest_ms: what is open for longer hangs; 15 minutes are `transaction.max.timeout.ms` of a broker.
        now: the time up to which open transactions last, milliseconds since the epoch or an aware datetime; by default the newest
            timestamp of the partition. An idle partition needs the time of the clock, since its newest timestamp gets old.
        experimental: batches of magic 3 begin and end transactions too; as in `logsegment.decode`.
        told: called with each damage that was passed over, and its file.

    Yields:
        The ended ones in the order of their markers, then those that are open by their first offset. A transaction that began before
        the first file counts from where its data is there.

    Raises:
        UnsupportedError: for a batch of magic 3 without `experimental` (MAP-3).
        ValueError: when the files are not in the order of their offsets, or `now` has no time zone.
        OSError: when a file cannot be read.

    Example:
        >>> from logsegment.segment_files.discovery import find_segments
        >>> from logsegment.log.transactions import transactions_of
        >>> sum(one.state == "aborted" for one in transactions_of(find_segments("payments-0")))
        11

    Source: KIP-98 and KIP-664; `TransactionsCommand` in Kafka's tools.
    """
    until = None if now is None else milliseconds(now)
    follower = _Follower()
    begun: int | None = None
    files = arranged(files, reports=True)
    for index, file in enumerate(files):
        if file.finding is not None and told is not None:
            told(file, file.finding)
        source, has_next = FileSource(file.path), index + 1 < len(files)
        follower.ends = _ends(source, experimental=experimental)
        with batch_stream(source, on_error="skip", experimental=experimental) as stream:
            first = None
            seen = 0
            for rows in stream:
                found = [json.loads(line) for line in rows.to_jsonl(fields=_FIELDS).splitlines()]
                first = next((row["baseOffset"] for row in found), None) if first is None else first
                _ensure_order(begun, first, file)
                seen += follower.damaged(file, stream.findings[seen:], told, has_next=has_next)
                yield from follower.ended(_told(file, found, told))
            follower.damaged(file, stream.findings[seen:], told, has_next=has_next)
        follower.doubt_all()
        begun = begun if first is None else first
    yield from follower.open(longest_ms, until)


def _ends(source: FileSource, *, experimental: bool) -> dict[tuple[int, int], bool]:
    """Whether the markers of a file commit, by producer id and offset."""
    return {(producer, offset): is_commit for producer, offset, is_commit in scan_markers(source, experimental=experimental)}


def _ensure_order(begun: int | None, first: int | None, file: SegmentFile) -> None:
    if begun is not None and first is not None and first < begun:
        raise ValueError(f"files must stand in the order of their offsets: {file.path} begins at offset {first}, one before it at {begun}")


def _told(file: SegmentFile, rows: Iterable[dict[str, Any]], told: Told | None) -> Iterator[dict[str, Any]]:
    """The same rows; those of bad checksums are told."""
    for row in rows:
        if row["isValid"] is False and told is not None:
            told(file, _bad_checksum(file, row))
        yield row


def _bad_checksum(file: SegmentFile, row: dict[str, Any]) -> Finding:
    text = f"the entry of last offset {row['lastOffset']} does not have the checksum that it names"
    place = f"{shown(file.path)}@{row['position']}"
    return Finding(_rule(file, row["magic"]), "error", text, place, row["position"], row["size"], row["baseOffset"], row["lastOffset"])


def _rule(file: SegmentFile, magic: int) -> str:
    if file.path.endswith(".kafka"):
        return "L7-12"
    return "V2-31" if magic >= _FIRST_OF_BATCHES else "L8-2"


class _Follower:
    """The transactions without a marker so far.

    Attributes:
        ends: the markers of the file that is read: whether they commit, by producer id and offset.
    """

    def __init__(self) -> None:
        self.ends: dict[tuple[int, int], bool] = {}
        self._open: dict[int, Transaction] = {}
        self._doubtful: set[int] = set()
        self._damages: list[int] = []
        self._latest = NONE

    def damaged(self, file: SegmentFile, findings: Sequence[Finding], told: Told | None, *, has_next: bool = False) -> int:
        """Keep where the file is damaged, until the rows behind it come; give their number. A torn tail is none in the last."""
        for finding in findings:
            if finding.severity == "error" or finding.rule == SWALLOWED or (finding.rule == TORN and has_next):
                self._damages.append(finding.position)
                if told is not None:
                    told(file, finding)
        return len(findings)

    def ended(self, rows: Iterable[dict[str, Any]]) -> Iterator[Transaction]:
        self._damages.sort(reverse=True)
        for row in rows:
            if row["isValid"] is False:
                self._doubtful.update(self._open)
                continue
            if self._damages and self._damages[-1] <= row["position"]:
                self._doubt(row["position"])
            self._latest = max(self._latest, row["maxTimestamp"] or NONE)
            if not row["isTransactional"] or row["producerId"] < 0:
                continue
            if not row["isControl"]:
                self._add(row)
            elif (marker := (row["producerId"], row["lastOffset"])) in self.ends and row["producerId"] in self._open:
                yield self._end(row, is_commit=self.ends[marker])

    def doubt_all(self) -> None:
        """The file ends: whatever is damaged in it lies behind."""
        if self._damages:
            self._doubt(max(self._damages))

    def _doubt(self, position: int) -> None:
        """The marker of each open transaction may have been in what is damaged."""
        self._damages = [damage for damage in self._damages if damage > position]
        self._doubtful.update(self._open)

    def _end(self, row: dict[str, Any], *, is_commit: bool) -> Transaction:
        ended = self._open.pop(row["producerId"])
        ended.state = self._state(ended, "committed" if is_commit else "aborted")
        ended.marker_offset = row["lastOffset"]
        ended.duration_ms = _between(ended.first_timestamp, row["maxTimestamp"])
        return ended

    def _state(self, one: Transaction, state: State) -> State:
        is_doubtful = one.producer_id in self._doubtful
        self._doubtful.discard(one.producer_id)
        return "unknown" if is_doubtful else state

    def open(self, longest_ms: int, now: int | None) -> Iterator[Transaction]:
        """Return the transactions without a marker, by their first offset; `now` is by default the newest timestamp."""
        until = self._latest if now is None else now
        for one in sorted(self._open.values(), key=lambda one: one.first_offset):
            one.duration_ms = _between(one.first_timestamp, until)
            one.state = self._state(one, "hanging" if one.duration_ms > longest_ms else "open")
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
