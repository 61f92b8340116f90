"""The views of the data source: batch headers (`view=batches`), the findings of a validation (`view=findings`), and those of a cluster.

Nothing is decompressed for batch headers. Each row has the file that it is about, so that a `groupBy` shows which segments are damaged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_schema

from logsegment._core import FileSource, Finding, FoundSegments, RecordBatchError, SegmentFile, batch_stream, findings_table
from logsegment._decode import batches
from logsegment._options import PartitionOptions
from logsegment._places import directory_of, redacted_uri
from logsegment._validate import SegmentContext, validate_segment, validated
from logsegment.log.segment import Segment
from logsegment.spark.datasource import DataSourceReader, InputPartition
from logsegment.spark.options.names import CLUSTER_VIEWS, VIEWS, View, warn_of_ignored
from logsegment.spark.options.read import ViewOptions, parse_view, view_of
from logsegment.spark.options.topics import Discovered, TopicPartition, discover, warn_of_gaps
from logsegment.spark.read.cluster import cluster_reader, cluster_schema
from logsegment.spark.read.damage import CorruptColumn, failed, split, widened
from logsegment.spark.read.plan import grouped, task_files
from logsegment.spark.read.task_stats import TaskStats
from logsegment.spark.schema import chosen_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

#: The columns that both views have.
PLACE = ("path", "topic", "partition")
#: Bytes of the small segments that share a task. For batch headers most of these bytes are not read.
TASK_BYTES: dict[View, int] = {"batches": 2 << 30, "findings": 64 << 20}
#: The rule of a file that cannot be read at all.
UNREADABLE = "IO"


@dataclass(frozen=True)
class ViewPart:
    """A segment of a task.

    Attributes:
        file: the segment.
        name: its topic-partition.
        is_first: it is the first segment of its directory, and reports the findings of files that belong to no segment.
        left_out: findings of files of the directory that are not read, for the first segment.
        previous: the segment before it in its directory.
        is_followed: another segment follows it in its directory.
    """

    file: SegmentFile
    name: TopicPartition
    is_first: bool
    left_out: tuple[Finding, ...] = ()
    previous: SegmentFile | None = None
    is_followed: bool = False


@dataclass(frozen=True)
class ViewTask(InputPartition):
    """The segments that one task reads."""

    parts: tuple[ViewPart, ...]


def view_schema(given: Mapping[str, str]) -> StructType:
    """Return the columns of a view if the user names none: the file, its topic and partition, and the columns of a row.

    Raises:
        ValueError: as `parse_view`.
    """
    if view_of(given) in CLUSTER_VIEWS:
        return cluster_schema(given)
    options = parse_view(given)
    return widened(_columns(options.view), options.mode)


def view_reader(given: Mapping[str, str], schema: StructType) -> DataSourceReader:
    """Return a reader of the columns of a view that are in `schema`.

    Raises:
        ValueError: as `parse_view`, and if a column is unknown or of another type.
    """
    if view_of(given) in CLUSTER_VIEWS:
        return cluster_reader(given, schema)
    options = parse_view(given)
    warn_of_ignored(given, VIEWS[options.view])
    ours = _columns(options.view)
    if options.view == "findings":
        return FindingsReader(options, chosen_of(schema, ours), CorruptColumn())
    rest, corrupt = split(schema, options.mode, ours.fieldNames())
    return BatchesReader(options, chosen_of(rest, ours), corrupt)


def _columns(view: View) -> StructType:
    import pyarrow as pa

    own = pa.schema(batches(b"").schema if view == "batches" else findings_table([]).schema)
    place = [("path", pa.string()), ("topic", pa.string()), ("partition", pa.int32())]
    return from_arrow_schema(pa.schema([*place, *(field for field in own if field.name not in PLACE)]))


class ViewReader(DataSourceReader):
    """Plans the tasks of a view, and reads the segments of each."""

    def __init__(self, options: ViewOptions, columns: list[str], corrupt: CorruptColumn) -> None:
        self.options = options
        self.columns = columns
        self.corrupt = corrupt

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks: one for each segment, or for several small ones."""
        options = self.options
        reports = options.view == "findings" or options.read.skips_damage
        # A user may ask which replica of a partition is damaged.
        found = discover(options.paths, options.selection, partition=None, reports=reports)
        if options.view == "findings":
            starts = found.from_log_starts(PartitionOptions())
            below = [finding for files in starts.logs.values() for finding in FoundSegments(files).deleted_records()]
            found = replace(found, left_out=[*found.left_out, *starts.log_starts, *below])
        if options.view == "batches":
            # The view of findings has a row for each.
            warn_of_gaps(found.left_out)
        else:
            _, replicas = FoundSegments(file for files in found.logs.values() for file in files).replicas()
            found = replace(found, left_out=[*found.left_out, *replicas])
        return list(_grouped(_parts(found), TASK_BYTES[options.view]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task, in a worker process."""
        # Without any task Spark makes one of its own.
        if not isinstance(partition, ViewTask):
            return
        with TaskStats(self.options.io_stats).written() as stats:
            yield from (rows for part in partition.parts for rows in self._rows(part, stats) if rows.num_rows)

    @abstractmethod
    def _rows(self, part: ViewPart, stats: TaskStats) -> Iterable[pa.RecordBatch]:
        """Yield the rows of one segment."""

    def _placed(self, rows: pa.RecordBatch, path: str | list[str], part: ViewPart) -> pa.RecordBatch:
        """Return the wanted columns, with the file, topic and partition."""
        import pyarrow as pa

        count = rows.num_rows
        place: dict[str, Callable[[], pa.Array]] = {
            "path": lambda: pa.array(path, pa.string()) if isinstance(path, list) else pa.repeat(pa.scalar(path, pa.string()), count),
            "topic": lambda: pa.repeat(pa.scalar(part.name.topic, pa.string()), count),
            "partition": lambda: pa.repeat(pa.scalar(part.name.partition, pa.int32()), count),
        }
        columns = [place[name]() if name in place else rows.column(name) for name in self.columns]
        return pa.RecordBatch.from_arrays(columns, self.columns)


class BatchesReader(ViewReader):
    """Reads the headers of all batches, and nothing else unless it verifies checksums or searches past damage."""

    def _rows(self, part: ViewPart, stats: TaskStats) -> Iterator[pa.RecordBatch]:
        source = part.file.source()
        path = str(source.path)
        place = {"path": path, **part.name._asdict()}
        try:
            stream = batch_stream(source, self.options.read)
            with stats.counting(stream, place):
                yield from self.corrupt.batches(stream, place, shape=lambda rows: self._placed(rows, path, part))
        except RecordBatchError as error:
            raise failed(error, self.options, path) from None


class FindingsReader(ViewReader):
    """Validates segments. No file fails the query."""

    def _rows(self, part: ViewPart, stats: TaskStats) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        found = [finding for finding in self._found(part, stats) if _is_reported_here(finding, part)]
        files = [_file_of(finding, part) for finding in found]
        for rows in pa.table(findings_table(found)).combine_chunks().to_batches():
            yield self._placed(rows, files, part)

    def _found(self, part: ViewPart, stats: TaskStats) -> list[Finding]:
        """Return the findings of a segment and its sidecar files; a file that cannot be read is a finding too."""
        path, read, depth = part.file.path, self.options.read, self.options.depth
        around = SegmentContext(previous=part.previous, is_followed=part.is_followed, reports_shared=part.is_first)
        unreadable: list[Finding] = []
        try:
            report = validate_segment(part.file, depth, read, around)
        except OSError as error:
            unreadable = [_unreadable(error, path)]
            # It may be a sidecar file that cannot be read.
            try:
                report = validated(FileSource(path), depth, read, is_surveyed=False)
            except OSError as other:
                return [_unreadable(other, path)]
        stats.note(report.io_stats, {"path": path, **part.name._asdict()})
        return [*report.findings, *unreadable, *part.left_out]


def _parts(found: Discovered) -> list[ViewPart]:
    """Return all segments in order, each with its neighbours in its directory."""
    firsts = {file.directory: file for files in found.logs.values() for file in reversed(files)}
    known = {redacted_uri(directory) for directory in firsts}
    left_out: dict[str, list[Finding]] = {}
    for finding in found.left_out:
        directory = directory_of(finding.path)
        # The first task has the findings of directories without a readable segment.
        left_out.setdefault(directory if directory in known else redacted_uri(next(iter(firsts))), []).append(finding)
    parts = []
    for name, files in found.logs.items():
        for file, before, after in zip(files, [None, *files], [*files[1:], None], strict=False):
            is_first = firsts[file.directory] is file
            own = tuple(left_out.get(redacted_uri(file.directory), ())) if is_first else ()
            is_followed = after is not None and firsts[after.directory] is not after and _follows(after, file)
            previous = None if is_first or before is None or not _follows(file, before) else before
            parts.append(ViewPart(file, name, is_first, own, previous, is_followed))
    return parts


def _follows(file: SegmentFile, before: SegmentFile) -> bool:
    """Return True if the base offset of a segment is not before that of another one."""
    return file.base_offset is not None and before.base_offset is not None and file.base_offset >= before.base_offset


def _grouped(parts: Sequence[ViewPart], most_bytes: int) -> Iterator[ViewTask]:
    """Yield tasks of about as many bytes, in order; a larger segment is alone."""
    return map(ViewTask, grouped(parts, lambda part: (_size_of(part), 1), (most_bytes, task_files(len(parts)))))


def _size_of(part: ViewPart) -> int:
    """Return the bytes of a file; 0 if it cannot be opened, which its task reports."""
    try:
        return Segment(part.file).size
    except OSError:
        return 0


def _unreadable(error: OSError, path: str) -> Finding:
    return Finding(UNREADABLE, "error", f"the file cannot be read: {error.strerror or error}", f"{error.filename or path}@0", 0, 0)


def _file_of(finding: Finding, part: ViewPart) -> str:
    """Return the file of a finding (`<file>@<position>`): the segment, or a sidecar file."""
    file, at, _ = finding.path.rpartition("@")
    return file if at and not file.endswith(("/entry", "entry")) else redacted_uri(part.file.path)


def _is_reported_here(finding: Finding, part: ViewPart) -> bool:
    """Return False for a finding that another segment reports: files of no segment (snapshots, epochs) are validated with each one."""
    stem, file = redacted_uri(part.file.path).rpartition(".")[0], _file_of(finding, part)
    return part.is_first or finding.rule.startswith("IDX-") or (file.startswith(stem) and not file.endswith(".snapshot"))
