"""`scan`: segments go in, a lazy frame comes out, which reads the columns and rows that a query wants."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, get_args

from logsegment._core import ArrowBatch, Finding, FoundSegments, SegmentLookup, decode
from logsegment._decode import ensure_topic_names, warn_of_other_topics
from logsegment._log_paths import is_of_0_7
from logsegment._options import COLUMNS, INTERNAL, Isolation, LogStartOffset, ReadKeywords, ReadOptions, ensure_one_of
from logsegment._places import absolute, redacted_uri
from logsegment._storage import Keys, StorageOptions
from logsegment._text import listed
from logsegment.log.log import Log
from logsegment.partition.reader import PartitionReader
from logsegment.polars.predicates import ANYTHING, Bounds, condition_of
from logsegment.segment_files.discovery import Paths, Topics, is_noted

if TYPE_CHECKING:
    import polars as pl


def scan(
    path: Paths,
    *,
    topic: Topics = None,
    partition: int | str | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    log_start_offset: LogStartOffset = "honour",
    isolation: Isolation = "read_uncommitted",
    io_stats: dict[str, int] | None = None,
    findings: list[Finding] | None = None,
    **options: Unpack[ReadKeywords],
) -> pl.LazyFrame:
    """Scan a log with Polars, and read on collection only what the query needs.

    Columns that a query does not name are not built. Of its filters, comparisons of `offset`, `timestamp`, `topic` and `partition` with
    literals choose partitions by their names, segments by theirs, and batches through the indexes; all filters are applied to the rows that
    are read. Rows come in frames of about `batch_bytes`, so that the streaming engine works in bounded memory. As with `Segment`, damage in
    skipped bytes is not reported.

    Args:
        path: a segment, a partition's directory or a tree of them, here, in a store or in tiered storage; or several paths, or patterns.
            The segments are listed again each time the frame is collected.
        topic: see `Log`.
        partition: see `Log`.
        replica: see `Log`.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects in tiered storage; see `Log`.
        log_start_offset: see `Log`.
        isolation: see `Log.records`.
        io_stats: counters that each read increases; see `RecordStream.io_stats`.
        findings: a list that gets the findings of each read (`RecordStream.findings`), offsets of unreadable uploads of tiered
            storage, files of work that a broker did not finish (SEG-17), and records below a log start offset.
        options: see `decode`. `columns` limits the columns of the frame; `binary` is "binary_view" by default, as in
            Polars. With `values="internal"` the fields are decoded when a query names `internal`, with `values="avro"` when it names
            `valueRecord`; the segments are opened to find the schemas of values.

    Returns:
        A `polars.LazyFrame`, with topic and partition of the directories. Its schema is known before a read.

    Raises:
        ImportError: if Polars is not installed.
        ValueError, TypeError: if an option is invalid.
        RecordBatchError, OSError: on collection, as in `Log.records`.

    Example:
        >>> import logsegment as ls
        >>> import polars as pl
        >>> orders = ls.polars.scan("orders-0")
        >>> orders.filter(pl.col("offset").is_between(10, 12)).select("offset", "key").collect().rows()
        [(10, ...), (11, ...), (12, ...)]

    Source: `polars.io.plugins.register_io_source`.
    """
    register = _register()
    places = [absolute(place) for place in ([path] if isinstance(path, str | os.PathLike) else path)]
    read = ReadOptions.of(ReadKeywords, {"binary": "binary_view", "columns": COLUMNS, **options}, isolation=isolation)
    ensure_one_of("log_start_offset", log_start_offset, get_args(LogStartOffset))
    chosen: dict[str, Any] = {"topic": topic, "partition": partition, "replica": replica, "log_start_offset": log_start_offset}
    log = partial(Log, places, decryption_keys=decryption_keys, storage_options=storage_options, layout=layout, **chosen)
    if read.is_typed:
        read = log()._planned(read)
    source = _Source(log, read, {} if io_stats is None else io_stats, [] if findings is None else findings)
    frame: pl.LazyFrame = register(
        source.frames,
        schema=source.schema(),
        is_pure=True,
        explain_name="LOGSEGMENT",
        explain_detail=listed(list(map(redacted_uri, places)), 3),
    )
    return frame


def _register() -> Any:
    try:
        from polars.io.plugins import register_io_source
    except ImportError:
        raise ImportError('logsegment.polars needs Polars: pip install "logsegment[polars]"') from None
    return register_io_source


@dataclass
class _Source:
    """The source of frames, which Polars asks each time that a query runs."""

    log: Callable[[], Log] = field(repr=False)
    options: ReadOptions
    io_stats: dict[str, int]
    findings: list[Finding] = field(repr=False)

    def schema(self) -> dict[str, Any]:
        """Return Polars' types of all columns that a query can name; no file is opened."""
        import polars as pl

        return dict(pl.DataFrame(decode(b"", replace(self.options, isolation="read_uncommitted"))).schema)

    def frames(
        self, with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows that Polars wants, in the order of the log.

        Args:
            with_columns: columns that are wanted, None for all.
            predicate: rows that are wanted.
            n_rows: how many of them, from the first one on.
            batch_size: about how many rows a frame has.
        """
        import polars as pl

        condition = condition_of(predicate)
        columns = list(self.options.columns or COLUMNS) if with_columns is None else with_columns
        needed = list(dict.fromkeys([*columns, *([] if predicate is None else predicate.meta.root_names())]))
        sizes = [self.options.batch_size, batch_size, n_rows if predicate is None else None]
        least = max(1, min(size for size in sizes if size is not None))
        log = self.log()
        self.findings += filter(is_noted, log.left_out)
        if INTERNAL in needed:
            warn_of_other_topics(self.options, (segment.topic for segment in log))
        self.findings += log._log_start_findings
        for segments in log._ordered(self.options):
            file = segments[0].file
            bounds = condition((file.topic, file.partition))
            if bounds is None or n_rows == 0:
                continue
            self.findings += FoundSegments(segment.file for segment in segments).deleted_records(bounds.start)
            if INTERNAL in needed:
                ensure_topic_names(self.options, [segment.file for segment in segments])
            # `values` adds a column, which a query may not have named.
            for batch in self._batches(
                segments, bounds, replace(self.options, columns=needed, values="raw", key_values="raw", batch_size=least)
            ):
                frame = pl.DataFrame(batch)
                frame = (frame if predicate is None else frame.filter(predicate)).select(columns)
                if n_rows is not None:
                    frame = frame.head(n_rows)
                    n_rows -= frame.height
                yield frame
                if n_rows == 0:
                    return

    def _batches(self, segments: Sequence[SegmentLookup], bounds: Bounds, options: ReadOptions) -> Generator[ArrowBatch]:
        """Yield the batches of one partition that may hold records within bounds."""
        # Offsets of Kafka 0.7 are positions after messages, by which nothing can be looked up.
        if options.format in ("0.7", "sniff") or any(is_of_0_7(segment.path) for segment in segments):
            bounds = ANYTHING
        wanted = replace(options, start_offset=bounds.start, end_offset=bounds.end)
        with PartitionReader.plan(segments, wanted, timestamp=bounds.timestamp).read() as stream:
            try:
                yield from stream
            finally:
                for name, count in stream.io_stats.items():
                    self.io_stats[name] = self.io_stats.get(name, 0) + count
                self.findings += stream.findings
