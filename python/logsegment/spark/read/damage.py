"""Rows about damage: the corrupt column of `mode=PERMISSIVE`, and which task reports a damaged place.

A key or value that cannot be decoded is null in its record, and the corrupt column has the finding; DROPMALFORMED skips the record.
A skipped place becomes a row that is null except for its position and the corrupt column, whose text is a finding as JSON. If several
tasks have the place among their bytes, one of them reports it. A place reaches from the offset after the last valid batch before it to the
first offset of the next valid batch, whatever a damaged header claims. A valid batch without usable records (its marker may be lost) has
its own offsets. The task that has the first of these offsets reports the place, or the first task of a query that begins inside of it.
"""

from __future__ import annotations

import json
import re
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql.types import StringType, StructField, StructType

from logsegment._core import ArrowBatch, FileSource, Finding, InternalError, RecordBatchError, RecordStream, UnsupportedError, valid_batches
from logsegment._decode import with_findings
from logsegment._errors import hinting, in_file
from logsegment._options import ReadOptions
from logsegment._report import FAILED, is_unreadable
from logsegment._text import count
from logsegment.spark.options.read import ReadMode, SourceOptions, StreamOptions
from logsegment.spark.task_errors import shown_alone

if TYPE_CHECKING:
    import pyarrow as pa

#: What to do about an undamaged batch that cannot be read here. `src/jvm/reader.rs` has the same texts.
LEAVING_OUT = "set the option unreadable to skip to leave out such batches"
#: What to do about an error of damage.
SKIPPING = "set the option mode to PERMISSIVE or DROPMALFORMED to skip damage"
#: The same of errors without damage, by their code or rule.
HINTS = {
    "value": "set the option mode to PERMISSIVE to read such values as null",
    "outside_segment": SKIPPING.replace("skip damage", "read the segment all the same"),
    FAILED: SKIPPING.replace("skip damage", "skip batches on which a plugin fails"),
}

_LIMIT = re.compile(r"over the limit (max_\w+)")

Shape: TypeAlias = Callable[["pa.RecordBatch"], "pa.RecordBatch"]
Choice: TypeAlias = Callable[[list[Finding]], list[Finding]]


def failed(error: RecordBatchError, options: SourceOptions, path: str | None = None) -> RecordBatchError:
    """Return the error of a read with the name of the file and, if another mode would skip the damage, with the option that does so."""
    named = error if path is None else in_file(error, path)
    hint = _hint(error, options)
    return shown_alone(named if hint is None else hinting(named, hint))


def _hint(error: RecordBatchError, options: SourceOptions) -> str | None:
    """Return the option that helps with an error, if there is one."""
    if is_unreadable(error):
        limit = _LIMIT.search(str(error))
        return f"set the option limits.{limit[1]} to raise the limit, or {LEAVING_OUT.removeprefix('set ')}" if limit else LEAVING_OUT
    # A committed stream takes FAILFAST only.
    is_fixed = isinstance(options, StreamOptions) and options.read.isolation == "read_committed"
    if error.code == "not_a_segment" or isinstance(error, (UnsupportedError, InternalError)):
        return None
    if options.mode.on_error != "raise" or is_fixed:
        return None
    return HINTS.get((FAILED if error.rule == FAILED else error.code) or "", SKIPPING)


def widened(schema: StructType, mode: ReadMode) -> StructType:
    """Return the usual columns: with PERMISSIVE the corrupt column comes last.

    Raises:
        ValueError: if another column has its name.
    """
    if mode.name != "PERMISSIVE":
        return schema
    if mode.column in schema.fieldNames():
        raise _name_is_taken(mode)
    return StructType([*schema.fields, StructField(mode.column, StringType(), nullable=True)])


def split(wanted: StructType, mode: ReadMode, known: Sequence[str] = ()) -> tuple[StructType, CorruptColumn]:
    """Return the columns of a read without the corrupt column, and that column.

    Args:
        wanted: the columns that Spark asks for.
        mode: of the read.
        known: names that the corrupt column cannot have.

    Raises:
        ValueError: if the corrupt column is not a nullable string, or has the name of another column.
    """
    if mode.column in known:
        raise _name_is_taken(mode)
    names = wanted.fieldNames()
    if mode.column not in names:
        return wanted, CorruptColumn(mode)
    if wanted[mode.column].dataType != StringType() or not wanted[mode.column].nullable:
        raise ValueError(f"schema: column {mode.column} (descriptions of damage) must be a nullable string")
    rest = StructType([field for field in wanted.fields if field.name != mode.column])
    return rest, CorruptColumn(mode, names.index(mode.column))


@dataclass(frozen=True, slots=True)
class CorruptColumn:
    """The place of the corrupt column among the columns of a read; `index` is None if it is not one of them."""

    mode: ReadMode = field(default_factory=ReadMode)
    index: int | None = None

    def batches(
        self,
        stream: RecordStream,
        place: Mapping[str, Any],
        *,
        is_cut: bool = False,
        shape: Shape | None = None,
        choose: Choice | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a stream with the corrupt column, and then the rows of the skipped places.

        Args:
            stream: of records or of batch rows.
            place: `path`, `topic` and `partition` of the rows about damage. The text has the path too.
            is_cut: the bytes end where an entry should end, so that a torn tail is damage.
            shape: makes the columns of the read out of the columns of the stream; None if they are the same.
            choose: leaves out the findings that another task reports; None if this task reports all.
        """
        shaped = shape or _same
        if self.index is None:
            for batch, findings in with_findings(stream):
                if batch is not None:
                    yield shaped(self._kept(batch, findings))
            warn_of_unread(stream.findings, place)
            return
        schema = stream.schema.to_pyarrow()
        rest: list[Finding] = []
        for batch, findings in with_findings(stream):
            rest += [finding for finding in findings if not is_of_value(finding)]
            if batch is not None:
                rows = self._kept(batch, findings)
                yield self._with_texts(shaped(rows), _texts(rows, findings, place))
        if self.mode.name != "PERMISSIVE":
            warn_of_unread(stream.findings, place)
            return
        found = [finding for finding in rest if is_cut or finding.severity != "info"]
        if found and choose is not None:
            found = choose(found)
        if found:
            yield self._with_texts(shaped(_rows_of(schema, found, place)), [_text(finding, place) for finding in found])

    def _kept(self, batch: ArrowBatch, findings: Sequence[Finding]) -> pa.RecordBatch:
        rows = batch.to_pyarrow()
        return _without_bad_values(rows, findings) if self.mode.name == "DROPMALFORMED" else rows

    def _with_texts(self, rows: pa.RecordBatch, texts: Sequence[str | None] | None) -> pa.RecordBatch:
        import pyarrow as pa

        at, names, columns = self.index or 0, rows.schema.names, rows.columns
        column = pa.nulls(rows.num_rows, pa.string()) if texts is None else pa.array(texts, pa.string())
        return pa.RecordBatch.from_arrays([*columns[:at], column, *columns[at:]], [*names[:at], self.mode.column, *names[at:]])


@dataclass(frozen=True, slots=True)
class Share:
    """The offsets of a segment that a task has.

    Attributes:
        first: first offset of the segment.
        start: first offset of the task; None for all.
        end: first offset after the task; None for all.
        resumes: another task or an earlier micro-batch has the offsets before `start`; else the query begins there.
    """

    first: int
    start: int | None
    end: int | None
    resumes: bool = False

    def reports(self, begin: int, end: int | None) -> bool:
        """Return True if this task reports the place from offset `begin` to before `end`, which is None if it is not known."""
        if self.start is not None and not self.resumes and (end is None or end > self.start):
            begin = max(begin, self.start)
        return (self.start is None or self.start <= begin) and (self.end is None or begin < self.end)


def reported_by(found: Sequence[Finding], source: FileSource, share: Share, options: SourceOptions) -> list[Finding]:
    """Return the findings that a task reports.

    Args:
        found: the findings in the bytes of `source`.
        source: what the task reads: from a valid batch before its first offset on, or from the beginning of the segment.
        share: the offsets of the task.
        options: of the query.

    Raises:
        OSError: if the file cannot be read.
    """
    if (share.start is None and share.end is None) or not found:
        return list(found)
    valid = _ValidBatches(source, options)
    return [finding for finding in found if finding == source.finding or share.reports(*valid.offsets(finding.position, share.first))]


def warn_of_unread(findings: Sequence[Finding], place: Mapping[str, Any]) -> None:
    """Warn with the number of batches that `unreadable` left out, where no column reports them."""
    unread = [finding for finding in findings if is_unreadable(finding)]
    if unread:
        rules = ", ".join(sorted({finding.rule for finding in unread}))
        text = f"{place.get('path')}: {count(len(unread), 'batch')} left out, undamaged but not readable here ({rules})"
        warnings.warn(text, UserWarning, stacklevel=2)


def _name_is_taken(mode: ReadMode) -> ValueError:
    return ValueError(f"option columnNameOfCorruptRecord: {mode.column} is already the name of a column")


def _same(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows


def is_of_value(finding: Finding) -> bool:
    """Return True for a finding about a key or a value that cannot be decoded: its record is there, with null in its place."""
    return finding.rule.startswith("SCH-")


def _texts(rows: pa.RecordBatch, findings: Sequence[Finding], place: Mapping[str, Any]) -> list[str | None] | None:
    """Return the text of the corrupt column for each row; None if all keys and values could be decoded."""
    bad = {finding.base_offset: finding for finding in reversed(findings) if is_of_value(finding)}
    if not bad:
        return None
    found = map(bad.get, rows.column("offset").to_pylist())
    return [None if finding is None else _text(finding, place) for finding in found]


def _without_bad_values(rows: pa.RecordBatch, findings: Sequence[Finding]) -> pa.RecordBatch:
    """Leave out the records whose key or value cannot be decoded."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bad = [finding.base_offset for finding in findings if is_of_value(finding)]
    return rows.filter(pc.invert(pc.is_in(rows.column("offset"), pa.array(bad, pa.int64())))) if bad else rows


def _rows_of(schema: pa.Schema, found: Sequence[Finding], place: Mapping[str, Any]) -> pa.RecordBatch:
    """Make a row for each finding, with its place as far as that is known."""
    import pyarrow as pa

    rows = [{**place, **_known_of(finding)} for finding in found]
    return pa.RecordBatch.from_arrays([pa.array([row.get(field.name) for row in rows], field.type) for field in schema], schema=schema)


def _known_of(finding: Finding) -> dict[str, Any]:
    """Return the place of a finding under the names of record columns and batch columns."""
    return {
        "offset": finding.base_offset,
        "baseOffset": finding.base_offset,
        "batchBaseOffset": finding.base_offset,
        "lastOffset": finding.last_offset,
        "position": finding.position,
        "entryPosition": finding.position,
        "size": finding.length,
    }


def _text(finding: Finding, place: Mapping[str, Any]) -> str:
    """Return a finding as JSON, with the file as its path, as in the view of findings."""
    return json.dumps(finding.to_dict() | {"path": place.get("path")}, ensure_ascii=False)


class _ValidBatches:
    """The valid batches of a source, and the one after it."""

    def __init__(self, source: FileSource, options: SourceOptions) -> None:
        own = valid_batches(source, _reading(options))
        # The batch after a source that is cut limits the damage before it.
        after = () if source.end is None else islice(valid_batches(FileSource(source.path, source.end), _reading(options, batch_size=1)), 1)
        self._batches = [*own, *after]

    def offsets(self, position: int, first_of_all: int) -> tuple[int, int | None]:
        """Return the offsets that the place at `position` may have: the first, and the first one after them; None without a valid batch."""
        at = bisect_left(self._batches, position, key=lambda batch: batch.position)
        least = self._batches[at - 1].last_offset + 1 if at else first_of_all
        if at == len(self._batches):
            return least, None
        batch = self._batches[at]
        if batch.position == position:
            return least if batch.base_offset is None else batch.base_offset, batch.last_offset + 1
        return least, batch.last_offset if batch.base_offset is None else batch.base_offset


def _reading(options: SourceOptions, batch_size: int = 65536) -> ReadOptions:
    return replace(options.read, on_error="skip", unreadable="skip", batch_size=batch_size, codecs=None)
