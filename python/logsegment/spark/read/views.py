"""The data source's views of what is not a record: `view=batches` and `view=findings`.

The headers of all batches, with nothing decompressed, or what validation finds. Each row tells the file that it is about, so that a
`groupBy` answers which of many segments is damaged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pyspark.sql.datasource import DataSourceReader, InputPartition

from logsegment._core import FileSource, Finding, Limits, RecordBatchError, findings_table
from logsegment._decode import batch_stream, batches
from logsegment._errors import in_file
from logsegment._options import Depth, ReadOptions
from logsegment._validate import validate
from logsegment.log.neighbours import Surroundings, validate_segment
from logsegment.log.segment import Segment
from logsegment.segment_files.discovery import SegmentFile
from logsegment.spark.options.entry_limits import limits_option
from logsegment.spark.options.modes import CorruptColumn, ReadMode, parse_mode
from logsegment.spark.options.plugins import plugins_option
from logsegment.spark.options.read import (
    BATCHES_VIEW,
    FINDINGS_VIEW,
    Door,
    boolean,
    ensure_known,
    integer,
    lowered,
    paths_of,
    warn_of_ignored,
)
from logsegment.spark.options.topics import Selection, TopicPartition, discover, parse_selection
from logsegment.spark.read.packing import packed, task_files
from logsegment.spark.read.task_stats import TaskStats, io_stats_option
from logsegment.spark.read.warnings import warn_of_gaps
from logsegment.spark.schema import chosen_of
from logsegment.stores.uri import directory_of, shown

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from logsegment.plugins import Registry

View: TypeAlias = Literal["records", "batches", "findings"]
VIEWS: tuple[View, ...] = ("records", "batches", "findings")
DOORS: dict[View, Door] = {"batches": BATCHES_VIEW, "findings": FINDINGS_VIEW}
DEPTHS: tuple[Depth, ...] = ("headers", "metadata", "full")
#: Columns that tell of what a row is.
PLACE = ("path", "topic", "partition")
#: Bytes of segments that a task takes together: below it a task costs more than it does. Of a view of headers most bytes are not read.
TASK_BYTES: dict[View, int] = {"batches": 2 << 30, "findings": 64 << 20}
#: Rule of a file that cannot be read at all, as of the error that a read of it raises.
UNREADABLE = "IO"


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """Checked options of a view."""

    view: View
    paths: tuple[str, ...]
    selection: Selection
    topic: str | None
    partition: int | None
    mode: ReadMode
    check_crc: bool
    depth: Depth
    experimental: bool
    batch_size: int
    io_stats: str | None
    codecs: Registry | None
    limits: Limits | None


@dataclass(frozen=True)
class Part:
    """A segment of a task, the one before it in its directory, and whether another one follows there.

    `is_first` is said of one in each directory, which also tells of files of none, and of uploads left out.
    """

    file: SegmentFile
    topic: str | None
    partition: int | None
    is_first: bool
    left_out: tuple[Finding, ...] = ()
    previous: SegmentFile | None = None
    is_followed: bool = False


@dataclass(frozen=True)
class ViewTask(InputPartition):
    """What one task reads."""

    parts: tuple[Part, ...]


def view_of(given: Mapping[str, str]) -> View:
    """The option `view`.

    Raises:
        ValueError: when it is none.
    """
    text = lowered(given).get("view", "records").strip().lower()
    if text not in VIEWS:
        raise ValueError(f"option view must be records, batches or findings, not {text!r}")
    return text


def parse_view(given: Mapping[str, str]) -> ViewOptions:
    """Check the options of a view other than `records`.

    Raises:
        ValueError: for an option that means nothing there, a bad value, no path.
    """
    view, options = view_of(given), lowered(given)
    ensure_known(given, DOORS[view])
    depth = options.get("depth", "full").strip().lower()
    if depth not in DEPTHS:
        raise ValueError(f"option depth must be headers, metadata or full, not {options['depth']!r}")
    return ViewOptions(
        view=view,
        paths=paths_of(options),
        selection=parse_selection(options),
        topic=options.get("topic"),
        partition=integer(options, "partition", at_least=0),
        mode=parse_mode(options),
        # Comparing checksums reads every byte, which a look at headers shall not.
        check_crc=boolean(options, "checkCrc", view == "findings"),
        depth=depth,
        experimental=boolean(options, "experimental", False),
        batch_size=integer(options, "batchSize", at_least=1) or 65536,
        io_stats=io_stats_option(options),
        codecs=plugins_option(options),
        limits=limits_option(options),
    )


def view_schema(given: Mapping[str, str]) -> StructType:
    """Columns of a view when the user names none: the file, its topic and partition, and what a row tells.

    Raises:
        ValueError: as `parse_view`.
    """
    options = parse_view(given)
    return options.mode.widened(_columns(options.view))


def view_reader(given: Mapping[str, str], schema: StructType) -> DataSourceReader:
    """A reader of the columns of a view that are in `schema`.

    Raises:
        ValueError: as `parse_view`, and when a column is unknown or of another type.
    """
    options = parse_view(given)
    warn_of_ignored(given, DOORS[options.view])
    ours = _columns(options.view)
    if options.view == "findings":
        return FindingsReader(options, chosen_of(schema, ours), CorruptColumn())
    rest, corrupt = options.mode.split(schema, ours.fieldNames())
    return BatchesReader(options, chosen_of(rest, ours), corrupt)


def _columns(view: View) -> StructType:
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    own = pa.schema(batches(b"").schema if view == "batches" else findings_table([]).schema)
    place = [("path", pa.string()), ("topic", pa.string()), ("partition", pa.int32())]
    return from_arrow_schema(pa.schema([*place, *(one for one in own if one.name not in PLACE)]))


class ViewReader(DataSourceReader):
    """Plans the tasks of a view, and runs through the segments of each."""

    def __init__(self, options: ViewOptions, columns: list[str], corrupt: CorruptColumn) -> None:
        self.options = options
        self.columns = columns
        self.corrupt = corrupt

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks: a segment each, or several small ones."""
        options = self.options
        # Which replica of a partition is damaged is worth asking, so all of them are looked at.
        told: list[Finding] = []
        logs = discover(
            options.paths,
            options.selection,
            topic=options.topic,
            partition=options.partition,
            has_replicas=True,
            reports=options.view == "findings" or options.mode.skips,
            left_out=told,
        )
        if options.view == "batches":
            # The view of findings has a row for each.
            warn_of_gaps(told)
        firsts = {file.directory: file for files in logs.values() for file in reversed(files)}
        left_out: dict[str, list[Finding]] = {}
        known = {shown(directory) for directory in firsts}
        for finding in told:
            directory = directory_of(finding.path)
            # The first task has those of directories in which nothing can be read.
            left_out.setdefault(directory if directory in known else shown(next(iter(firsts))), []).append(finding)

        def part(file: SegmentFile, before: SegmentFile | None, behind: SegmentFile | None, name: TopicPartition) -> Part:
            is_first = firsts[file.directory] is file
            own = tuple(left_out.get(shown(file.directory), ())) if is_first else ()
            is_followed = behind is not None and firsts[behind.directory] is not behind and _follows(behind, file)
            previous = None if is_first or before is None or not _follows(file, before) else before
            return Part(file, *name, is_first, own, previous, is_followed)

        rows = ((name, around) for name, files in logs.items() for around in zip(files, [None, *files], [*files[1:], None], strict=False))
        return list(_packed([part(*around, name) for name, around in rows], TASK_BYTES[options.view]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Rows of one task, in a worker process."""
        # Spark makes a task of nothing when there is nothing to read.
        if not isinstance(partition, ViewTask):
            return
        with TaskStats(self.options.io_stats).written() as stats:
            yield from (rows for part in partition.parts for rows in self._rows(part, stats) if rows.num_rows)

    @abstractmethod
    def _rows(self, part: Part, stats: TaskStats) -> Iterable[pa.RecordBatch]:
        """Rows of one file, or of a range of it."""

    def _placed(self, rows: pa.RecordBatch, path: str | list[str], part: Part) -> pa.RecordBatch:
        """The wanted columns, with those that tell the place."""
        import pyarrow as pa

        count = rows.num_rows
        place: dict[str, Callable[[], pa.Array]] = {
            "path": lambda: pa.array(path, pa.string()) if isinstance(path, list) else pa.repeat(pa.scalar(path, pa.string()), count),
            "topic": lambda: pa.repeat(pa.scalar(part.topic, pa.string()), count),
            "partition": lambda: pa.repeat(pa.scalar(part.partition, pa.int32()), count),
        }
        columns = [place[name]() if name in place else rows.column(name) for name in self.columns]
        return pa.RecordBatch.from_arrays(columns, self.columns)


class BatchesReader(ViewReader):
    """Headers of all batches. Between them nothing is read, unless checksums are compared or damage is searched."""

    def _rows(self, part: Part, stats: TaskStats) -> Iterator[pa.RecordBatch]:
        source = part.file.source()
        path = str(source.path)
        place = {"path": path, "topic": part.topic, "partition": part.partition}
        try:
            stream = batch_stream(
                source,
                check_crc=self.options.check_crc,
                on_error=self.options.mode.on_error,
                batch_size=self.options.batch_size,
                codecs=self.options.codecs,
                limits=self.options.limits,
                experimental=self.options.experimental,
            )
            with stats.counting(stream, path, part.topic, part.partition):
                yield from self.corrupt.batches(stream, place, shape=lambda rows: self._placed(rows, path, part))
        except RecordBatchError as error:
            raise in_file(error, path) from None


class FindingsReader(ViewReader):
    """What validation finds. No file fails the query."""

    def _rows(self, part: Part, stats: TaskStats) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        found = [one for one in self._found(part, stats) if _is_told_here(one, part)]
        files = [_file_of(one, part) for one in found]
        for rows in pa.table(findings_table(found)).combine_chunks().to_batches():
            yield self._placed(rows, files, part)

    def _found(self, part: Part, stats: TaskStats) -> list[Finding]:
        """Findings of a segment and of the files beside it; what cannot be read is a finding too."""
        asked: dict[str, Any] = {"depth": self.options.depth, "check_crc": self.options.check_crc}
        asked |= {"experimental": self.options.experimental, "codecs": self.options.codecs, "limits": self.options.limits}
        path = part.file.path
        unreadable: list[Finding] = []
        try:
            around = Surroundings(previous=part.previous, is_followed=part.is_followed, reports_shared=part.is_first)
            read = ReadOptions(**{name: value for name, value in asked.items() if name != "depth"})
            report = validate_segment(part.file, self.options.depth, read, around)
        except OSError as error:
            unreadable = [_unreadable(error, path)]
            # A file beside it may be the one that cannot be read.
            try:
                report = validate(FileSource(path), **asked)
            except OSError as other:
                return [_unreadable(other, path)]
        stats.note(report.io_stats, path, part.topic, part.partition)
        return [*report.findings, *unreadable, *part.left_out]


def _follows(file: SegmentFile, before: SegmentFile) -> bool:
    """Whether the names say that one of two segments of a directory comes behind the other."""
    return file.base_offset is not None and before.base_offset is not None and file.base_offset >= before.base_offset


def _packed(parts: Sequence[Part], most_bytes: int) -> Iterator[ViewTask]:
    """Tasks of about as many bytes, in order; a larger segment is alone."""
    return map(ViewTask, packed(parts, lambda part: (_size_of(part), 1), (most_bytes, task_files(len(parts)))))


def _size_of(part: Part) -> int:
    """Bytes of a file; 0 when nobody can tell. Its task will say why."""
    try:
        return Segment(part.file).size
    except OSError:
        return 0


def _unreadable(error: OSError, path: str) -> Finding:
    return Finding(UNREADABLE, "error", f"the file cannot be read: {error.strerror or error}", f"{error.filename or path}@0", 0, 0)


def _file_of(one: Finding, part: Part) -> str:
    """The file that a finding is about: the segment, or one beside it (`<file>@<position>`)."""
    file, at, _ = one.path.rpartition("@")
    return file if at and not file.endswith(("/entry", "entry")) else shown(part.file.path)


def _is_told_here(one: Finding, part: Part) -> bool:
    """Files that belong to no segment alone (snapshots, epochs) are looked at with each; what they hold by themselves is told once."""
    stem, file = shown(part.file.path).rpartition(".")[0], _file_of(one, part)
    return part.is_first or one.rule.startswith("IDX-") or (file.startswith(stem) and not file.endswith(".snapshot"))
