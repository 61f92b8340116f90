"""Find the records of whole logs: `find`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeAlias, Unpack

from logsegment._core import Finding
from logsegment._options import EntryKeywords, OnError, ReadOptions, Timestamp, milliseconds
from logsegment.analysis.results import LogSource, Results, partitions_of
from logsegment.analysis.search import Conditions, RecordPlace, Search
from logsegment.segment_files.discovery import SegmentFile
from logsegment.tiered.keys import Keys

#: The Arrow columns of places.
PLACE_COLUMNS = (
    ("path", "string"),
    ("topic", "string"),
    ("partition", "int32"),
    ("offset", "int64"),
    ("timestamp", "int64"),
    ("controlType", "string"),
    ("batchBaseOffset", "int64"),
    ("entryPosition", "int64"),
    ("indexInEntry", "int32"),
)
Key: TypeAlias = bytes | str
#: The name of a header, or its name and value; with None as the value, any value.
Header: TypeAlias = str | tuple[str, bytes | None]


def find(
    source: LogSource,
    *,
    offset: int | None = None,
    start_offset: int | None = None,
    end_offset: int | None = None,
    timestamp: Timestamp | None = None,
    start_timestamp: Timestamp | None = None,
    end_timestamp: Timestamp | None = None,
    key: Key | Sequence[Key] | None = None,
    header: Header | Sequence[Header] | None = None,
    limit: int | None = None,
    on_error: OnError = "raise",
    decryption_keys: Keys | None = None,
    **options: Unpack[EntryKeywords],
) -> Places:
    """Find the places of the records that meet all conditions.

    Offsets and times are looked up through the indexes. For keys and headers, all batches within the offsets and times are read.

    Args:
        source: a path or URI of a segment, a partition directory or a tree of them; a `Log`; or several of these.
        offset: the record of this offset.
        start_offset: the first offset (inclusive).
        end_offset: the first offset after the range (exclusive).
        timestamp: the first record of each partition at or after this time; no other condition goes with it.
        start_timestamp: begin at the first record of this time or later.
        end_timestamp: end before the first record of this time or later.
        key: the key, as bytes or text; of several, one of them.
        header: a header name, or a name and a value; of several, all of them.
        limit: the number of places after which the search ends.
        on_error: "raise", or "skip" to search the valid batches past damage.
        decryption_keys: private keys of tiered storage by their ids.
        options: options of entries; see `decode`.

    Returns:
        `Places`, which searches while it is iterated.

    Raises:
        ValueError: if no condition is given, or conditions contradict each other.
        FileNotFoundError: if a path does not exist, or contains no segments.
        RecordBatchError: while iterating, if bytes on the way to the records cannot be read.
        OSError: if a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> (place,) = ls.find("orders-0", offset=100)
        >>> place.offset, place.batch_base_offset <= 100
        (100, True)

    Source: `LogSegment.translateOffset` and `LogSegment.findOffsetByTimestamp` in Kafka.
    """
    if offset is not None:
        if start_offset is not None or end_offset is not None:
            raise ValueError("offset is one record: pass start_offset and end_offset without it")
        start_offset, end_offset = offset, offset + 1
    times = (timestamp, "timestamp"), (start_timestamp, "start_timestamp"), (end_timestamp, "end_timestamp")
    at, since, until = (None if time is None else milliseconds(time, name) for time, name in times)
    wanted = Conditions(start_offset, end_offset, at, since, until, _keys(key), _headers(header))
    if wanted == Conditions():
        raise ValueError("find needs a condition: an offset, a timestamp, a key or a header")
    if at is not None and wanted != Conditions(at=at):
        raise ValueError("timestamp goes with no other condition: pass start_timestamp with other conditions")
    search = Search(wanted, ReadOptions.of(EntryKeywords, options, on_error=on_error))
    return Places(search, partitions_of(source, decryption_keys), limit)


def _keys(given: Key | Sequence[Key] | None) -> list[bytes] | None:
    if given is None:
        return None
    several = [given] if isinstance(given, (str, bytes)) else given
    return [key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key for key in several]


def _headers(given: Header | Sequence[Header] | None) -> tuple[tuple[str, bytes | None], ...]:
    if given is None:
        return ()
    is_pair = isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], (bytes, type(None)))
    several: Any = [given] if isinstance(given, str) or is_pair else given
    return tuple((one, None) if isinstance(one, str) else one for one in several)


class Places(Results[RecordPlace]):
    """The places of records, found while they are iterated.

    Attributes:
        counters (Counters): what was read so far.
    """

    def __init__(self, search: Search, partitions: Sequence[tuple[str, Sequence[SegmentFile]]], limit: int | None) -> None:
        super().__init__(islice((place for _, files in partitions for place in search.places(files)), limit))
        self._search = search
        self.counters = search.counters

    @property
    def findings(self) -> list[Finding]:
        """The findings so far: skipped damage, tails, and segments that contradict their names."""
        return [finding for _, finding in (*self._search.misnamed, *self._search.findings)]

    def to_dict(self) -> dict[str, Any]:
        """Return the places, the counters and the findings, ready for JSON."""
        places = list(self._rows())
        findings = [finding.to_dict() for finding in self.findings]
        return {"places": places, "counters": self.counters.to_dict(), "findings": findings}

    def _columns(self) -> Sequence[tuple[str, Any]]:
        return PLACE_COLUMNS

    def _rows(self) -> Iterable[dict[str, Any]]:
        return (place.to_dict() for place in self)
