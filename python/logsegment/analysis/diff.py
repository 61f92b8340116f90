"""Compare two replicas, or a backup and its source: `diff`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Literal, Unpack

from logsegment._core import BatchHeader, BufferFile, Place, compare_records, different_columns, equal_rows
from logsegment._options import EntryKeywords, LogStartOffset, PartitionOptions, ReadOptions
from logsegment._storage import NO_ACCESS, Access, Keys, StorageOptions, reached
from logsegment.analysis.diff_pairs import Pair, chosen_pairs, pairs_of
from logsegment.analysis.diff_sides import (
    BATCHING,
    FIRST,
    LAST,
    RECORD,
    SAME,
    Difference,
    DiffOptions,
    Piece,
    Records,
    Side,
    Totals,
    first_offset_of,
)
from logsegment.analysis.results import Results
from logsegment.analysis.table_diff import Finder, TableComparisons, is_table
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs, LogSource, inputs_of
from logsegment.segment_files.discovery import find_segments, is_noted
from logsegment.segment_files.log_start import RULES as LOG_START_RULES

State = Literal["same", "different", "undecompressed", "damaged"]
#: The states from best to worst.
STATES: tuple[State, ...] = ("same", "undecompressed", "damaged", "different")

_COLUMNS = (
    *(("topic", "string"), ("partition", "int32"), ("type", "string"), ("side", "string"), ("firstOffset", "int64")),
    *(("lastOffset", "int64"), ("records", "int64"), ("fields", lambda pa: pa.list_(pa.string())), ("file", "string")),
    *(("rule", "string"), ("severity", "string"), ("position", "int64"), ("length", "int64"), ("message", "string")),
)


def diff(
    a: LogSource,
    b: Any,
    *,
    topic: str | None = None,
    partition: int | None = None,
    batches: bool = False,
    deep: bool = False,
    check_crc: bool = True,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    log_start_offset: LogStartOffset = "honour",
    target_options: Mapping[str, str] | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Diff:
    """Compare the records of two segments, two partition directories, or two trees of them, partition by partition.

    A table of Iceberg or Delta is compared row by row with the records of its log: which offsets are missing, doubled or different.

    Batches with the same offsets, count, size and checksum contain the same records, so they are not decompressed. The checksum covers
    everything but the base offset, length, leader epoch and magic of a batch, and the offset and length of an older message. Other
    batches are decoded. Their records are compared by offset, timestamp, key, value, headers, and whether they are control records.
    Segment borders, batches, codec, format, producers and the type of a timestamp do not count.

    Args:
        a: a file, a partition directory or a tree, here or in a store; a prefix of tiered storage; a pattern (`orders-*`); a `Log` or
            `Segment`; a whole `FileSource`; a buffer with the bytes of a segment; or a list of these, which is read as one tree.
        b: the same; partitions of two trees are paired by topic and partition. Or a table: `"iceberg:..."`, `"delta:..."`, or a table of
            PyIceberg or deltalake, with the columns topic, partition and offset; see `export`. Its isolation is that of its export, or
            "read_committed". The columns timestamp, key, value and headers are compared, and partitions that `a` lacks are not.
        topic: compare only the partitions of this topic.
        partition: compare only partitions of this number.
        batches: report also the same records in other batches, or in batches with other headers.
        deep: decode every batch, so that nothing depends on the 32 bits of a checksum.
        check_crc: verify the checksums of both sides. Without it, records are read only where the stored checksums differ.
        decryption_keys: private keys of tiered storage by their ids, for both sides.
        storage_options: options of the store of URIs, for both sides; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`. A side without such objects is read without it.
        log_start_offset: see `Log`, which has its own; for both sides.
        target_options: see `export`; of a table.
        observer: gets the findings about each partition before it is compared; see `Observer`.
        options: options of entries; see `decode`. Offsets of Kafka 0.7 are positions, which only the same batches share.

    Returns:
        A `Diff`, which compares while it is iterated.

    Raises:
        ValueError: if the two sides cannot be paired, neither has the topic and partition, or a side can be read only once.
        InvalidError: if a file that was named is not a log segment.
        RecordBatchError: while iterating, if a file has none of the formats.
        OSError: if a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> for partition in ls.diff("orders-0", "orders-0"):
        ...     print(list(partition), partition.state, partition.totals.same_records)
        [] same 240

    Source: KIP-98 for what a checksum covers; `ReplicaVerificationTool` in Kafka.
    """
    read = ReadOptions.of(EntryKeywords, options, check_crc=check_crc)
    own = DiffOptions(read, with_batches=batches, is_deep=deep)
    if is_table(a) or is_table(b):
        if is_table(a) or batches or (isinstance(b, str) and b.startswith("parquet:")):
            raise ValueError("a log is compared with a table of Iceberg or Delta as b, by records: leave out batches")
        starts = PartitionOptions(log_start_offset=log_start_offset)
        inputs = inputs_of(a, (storage_options, decryption_keys, layout), selection=(topic, partition), options=starts)
        inputs.ensure_segments(options)
        found = TableComparisons(inputs, b, target_options or {}, read).partitions()
        return Diff(_noted((Comparison(pair, own, found=differences) for pair, differences in found), observer))
    sides = [_side(source, (storage_options, decryption_keys, layout), log_start_offset) for source in (a, b)]
    for side in sides:
        side.ensure_positions("diff")
        side.ensure_segments(options)
    buffers = [buffer for side in sides for buffer in side.buffers]
    pairs = chosen_pairs(pairs_of(*sides), topic, partition)
    return Diff(_noted((Comparison(pair, own, buffers) for pair in pairs), observer))


def _noted(comparisons: Iterable[Comparison], observer: Observer | None) -> Iterator[Comparison]:
    """Yield comparisons, after the observer has got the findings about their partitions."""
    for comparison in comparisons:
        if observer is not None:
            observer.noted([finding for finding in comparison.left_out if finding.rule in LOG_START_RULES or is_noted(finding)])
        yield comparison


def _side(source: LogSource, access: Access, log_start_offset: LogStartOffset) -> Inputs:
    """Return the segments of a side, also those of a partition in several directories."""
    several: Any = list(source) if isinstance(source, list | tuple) else [source]
    if access != NO_ACCESS:
        several = [_fitting(os.fspath(reached(place, *access))) if isinstance(place, str | os.PathLike) else place for place in several]
    return inputs_of(several, options=log_start_offset)


def _fitting(place: str) -> str:
    """Return a path with its layout if a name there fits it, else without: a replica of uploads may be a log directory."""
    other = Place(place).without_layout().path
    if other != place:
        try:
            find_segments(place)
        except FileNotFoundError:
            return other
    return place


class Comparison(Results[Difference]):
    """The differences of one partition, found while it is iterated.

    Attributes:
        name (str): the partition, or the directory where its name contains no partition.
        topic (str or None), partition (int or None): from the name of the directory.
        a (list[SegmentFile]), b (list[SegmentFile]): the files of both sides; none where a side lacks the partition. Of a comparison with a
            table both are the files of the log.
        left_out (list[Finding]): uploads of tiered storage on either side that are not read, as in `Log.left_out`; records below log
            start offsets, which are not compared (SEG-19), and log start offsets that do not count or are not known (SEG-20, SEG-21).
        totals (Totals): counts so far.
    """

    def __init__(self, pair: Pair, options: DiffOptions, buffers: Sequence[BufferFile] = (), found: Finder | None = None) -> None:
        # They can be read as long as the comparison has them.
        self._buffers = buffers
        self.totals = Totals()
        super().__init__(_differences(pair, options, self.totals) if found is None else found(self.totals))
        self.topic, self.partition, self.name = pair.topic, pair.partition, pair.name
        self.a, self.b = pair.a, pair.b
        self.left_out = pair.left_out
        self._with_batches = options.with_batches

    @property
    def state(self) -> State:
        """The state, which is final after the iteration.

        "different" if a side lacks records or has other records, else "damaged" or "undecompressed" if some could not be read.
        "undecompressed" means that only plugins were missing or failed.
        """
        totals = self.totals
        has_others = totals.missing_a or totals.missing_b or totals.doubled or totals.changed
        if not (self.a and self.b) or has_others or (totals.batches and self._with_batches):
            return "different"
        if totals.undecompressed and not totals.damage:
            return "undecompressed"
        return "damaged" if totals.damage or totals.unreadable else "same"

    def summary(self) -> dict[str, Any]:
        """Return the state and the counts so far, ready for JSON."""
        totals = self.totals
        place = {"topic": self.topic, "partition": self.partition, "name": self.name, "state": self.state}
        counts = {"sameRecords": totals.same_records, "sameBatches": totals.same_batches, "missingInA": totals.missing_a}
        counts |= {"missingInB": totals.missing_b, "doubled": totals.doubled, "changed": totals.changed, "unreadable": totals.unreadable}
        counts |= {"batchStretches": totals.batches, "damaged": totals.damage, "undecompressed": totals.undecompressed}
        return place | {"inA": bool(self.a), "inB": bool(self.b)} | counts

    def to_dict(self) -> dict[str, Any]:
        """Return the summary and the differences, ready for JSON."""
        differences = [found.to_dict() for found in self]
        return self.summary() | {"differences": differences}

    def __repr__(self) -> str:
        return f"Comparison({self.name!r}, {self.state} so far)"

    def _columns(self) -> Sequence[tuple[str, Any]]:
        return _COLUMNS

    def _rows(self) -> Iterable[dict[str, Any]]:
        place = {"topic": self.topic, "partition": self.partition}
        return (
            place | {"firstOffset": difference.first_offset, "lastOffset": difference.last_offset} | difference.to_dict()
            for difference in self
        )


class Diff(Results[Comparison]):
    """The comparisons of all partitions of both sides. The rows of `to_arrow` are the differences of all of them."""

    @property
    def state(self) -> State:
        """The worst state of the partitions, all of which are compared first."""
        for comparison in self:
            for _ in comparison:
                pass
        return max((comparison.state for comparison in self), key=STATES.index, default="same")

    def to_dict(self) -> dict[str, Any]:
        """Return the state and the comparisons, ready for JSON."""
        partitions = [comparison.to_dict() for comparison in self]
        return {"state": self.state, "partitions": partitions}

    def _columns(self) -> Sequence[tuple[str, Any]]:
        return _COLUMNS

    def _rows(self) -> Iterable[dict[str, Any]]:
        return (row for comparison in self for row in comparison._rows())


def _differences(pair: Pair, options: DiffOptions, totals: Totals) -> Iterator[Difference]:
    if pair.a and pair.b:
        with closing(Side("a", pair.a, options)) as a, closing(Side("b", pair.b, options)) as b:
            yield from Comparing(a, b, totals, options).found()


@dataclass(slots=True)
class MismatchRange:
    """Batches of both sides that do not agree, up to where they agree again."""

    a: list[Piece] = field(default_factory=list)
    b: list[Piece] = field(default_factory=list)
    first: int = LAST
    last: int = FIRST
    fields: set[str] = field(default_factory=set)

    def take(self, side: Side) -> None:
        """Add the next batch of a side."""
        if side.batches is None:
            return
        pieces, path = (self.a if side.name == "a" else self.b), side.batches.path
        (header,) = side.advance()
        end = header.position + header.size
        if pieces and pieces[-1][0] == path and pieces[-1][2] == header.position:
            pieces[-1] = (path, pieces[-1][1], end)
        else:
            pieces.append((path, header.position, end))
        self.first = min(self.first, first_offset_of(header))
        self.last = max(self.last, header.last_offset)


class Comparing:
    """The work of one comparison. It yields differences and damage in the order in which they are met."""

    def __init__(self, a: Side, b: Side, totals: Totals, options: DiffOptions) -> None:
        self.a, self.b = a, b
        self.totals = totals
        self._options = options
        self._runs = Runs(totals)

    def found(self) -> Iterator[Difference]:
        """Compare to the end."""
        while self.a.batches is not None or self.b.batches is not None:
            if same := self._same_batches():
                self.b.advance(same)
                self.totals.same_batches += same
                self.totals.same_records += sum(header.count or 0 for header in self.a.advance(same))
                yield from self._runs.ended()
            elif (missing := self._missing_batch()) is not None:
                yield from self._runs.add(missing)
            else:
                yield from self._compare(self._stretch())
            yield from self._damage()
        yield from self._runs.ended()
        yield from self._damage()

    def _same_batches(self, most: int | None = None) -> int:
        """Return how many of the next batches agree."""
        if self._options.is_deep or self.a.batches is None or self.b.batches is None or self.a.has_deleted or self.b.has_deleted:
            return 0
        fields = self._options.fields
        return equal_rows(self.a.rows(most).select(fields), self.b.rows(most).select(fields))

    def _missing_batch(self) -> Difference | None:
        """Take the next batch of one side if the other side has nothing there; its header counts the records."""
        if self._options.is_deep:
            return None
        x, y = self.a.header(), self.b.header()
        for header, other, has, lacks in ((x, y, self.a, self.b), (y, x, self.b, self.a)):
            if header is None or header.base_offset is None or header.count is None or has.has_deleted:
                continue
            first, last = header.base_offset, header.last_offset
            is_before = other is None or (other.base_offset is not None and last < other.base_offset)
            if is_before and not lacks.is_lost(first, last):
                has.advance()
                return Difference("missing", lacks.name, first, last, header.count)
        return None

    def _stretch(self) -> MismatchRange:
        """Take batches of both sides until the next ones agree, those that end first before the others."""
        a, b, stretch = self.a, self.b, MismatchRange()
        while a.batches is not None or b.batches is not None:
            if (stretch.a or stretch.b) and self._same_batches(1):
                break
            x, y = a.header(), b.header()
            takes_a, takes_b = _ends_first(x, y), _ends_first(y, x)
            if x is not None and y is not None and takes_a and takes_b:
                names = (*SAME, *BATCHING)
                stretch.fields |= set(different_columns(a.rows(1).select(names), b.rows(1).select(names)))
            else:
                stretch.fields.add("lastOffset")
            for side, is_taken in ((a, takes_a), (b, takes_b)):
                if is_taken:
                    stretch.take(side)
        return stretch

    def _compare(self, stretch: MismatchRange) -> Iterator[Difference]:
        """Decode a stretch and compare its records."""
        same = different = 0
        whole = stretch.first, stretch.last
        ours, theirs = Records(self.a.records(stretch.a, whole)), Records(self.b.records(stretch.b, whole))
        while (some := ours.rows or theirs.rows) is not None:
            # A side without rows is at its end.
            ended = some.slice(0, 0)
            runs, taken_a, taken_b = compare_records(ours.rows or ended, theirs.rows or ended)
            for kind, records, offsets, columns in runs:
                if kind == "same":
                    yield from self._runs.ended()
                    same += records
                    continue
                different += records
                for found in self._differing(kind, offsets, columns):
                    yield from self._runs.add(found)
            ours.skip(taken_a)
            theirs.skip(taken_b)
        self.totals.same_records += same
        if stretch.fields and stretch.a and stretch.b and not different and not (self.a.damage or self.b.damage):
            yield from self._batches(stretch, same)

    def _differing(self, kind: Literal["changed", "a", "b"], offsets: list[int], columns: list[str]) -> Iterator[Difference]:
        """Yield the differences of records that both sides have, or only one of them."""
        if kind == "changed":
            yield Difference("changed", None, offsets[0], offsets[-1], len(offsets), tuple(RECORD[name] for name in columns))
            return
        side = self.b if kind == "a" else self.a
        for offset in offsets:
            yield Difference("unreadable" if side.is_lost(offset, offset) else "missing", side.name, offset, offset, 1)

    def _batches(self, stretch: MismatchRange, records: int) -> Iterator[Difference]:
        """Report that the same records are in other batches."""
        if self._options.with_batches:
            yield from self._runs.add(Difference("batches", None, *(stretch.first, stretch.last), records, tuple(sorted(stretch.fields))))
            yield from self._runs.ended()
        else:
            self.totals.batches += 1

    def _damage(self) -> Iterator[Difference]:
        for side in (self.a, self.b):
            # The checksum of every batch that is decompressed was verified.
            undecompressed = sum(damaged.finding is not None and damaged.finding.unopened is not None for damaged in side.damage)
            self.totals.undecompressed += undecompressed
            self.totals.damage += len(side.damage) - undecompressed
            yield from side.damage
            side.damage.clear()


def _ends_first(header: BatchHeader | None, other: BatchHeader | None) -> bool:
    """Return whether a batch ends before the next batch of the other side, or with it."""
    return header is not None and (other is None or header.last_offset <= other.last_offset)


@dataclass(slots=True)
class Runs:
    """Joins differences of the same kind that follow each other."""

    totals: Totals
    _run: Difference | None = field(default=None)

    def add(self, found: Difference) -> Iterator[Difference]:
        """Add a difference; yield the run before it, unless the difference continues it."""
        self._count(found)
        run = self._run
        if run is not None and (run.kind, run.side, run.fields) == (found.kind, found.side, found.fields):
            run.last_offset = max(run.last_offset, found.last_offset)
            run.records += found.records
            return
        yield from self.ended()
        self._run = found

    def ended(self) -> Iterator[Difference]:
        """Yield the current run, which ends here."""
        if self._run is not None:
            yield self._run
            self._run = None

    def _count(self, found: Difference) -> None:
        name = f"missing_{found.side}" if found.kind == "missing" else found.kind
        setattr(self.totals, name, getattr(self.totals, name) + (1 if found.kind == "batches" else found.records))
