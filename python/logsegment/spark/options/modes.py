"""What a read does at damage: the options `mode` and `columnNameOfCorruptRecord` of Spark's file sources.

FAILFAST fails. PERMISSIVE goes on at the next intact batch and gives a row for each place that was left out: null but for where it is, and
for the corrupt column, whose text is a finding as JSON. DROPMALFORMED goes on without a word. A torn tail is no damage.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from logsegment._core import Finding, RecordStream
from logsegment._options import OnError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

#: Columns in, others out.
Shape: TypeAlias = Callable[["pa.RecordBatch"], "pa.RecordBatch"]
#: Findings in, those that are told out.
Choice: TypeAlias = Callable[[list[Finding]], list[Finding]]
Mode: TypeAlias = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]
MODES: tuple[Mode, ...] = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
#: Names of the options.
MODE_OPTIONS = ("mode", "columnNameOfCorruptRecord")
#: Spark's name of the column, unless the option says another.
CORRUPT_RECORD = "_corrupt_record"


@dataclass(frozen=True, slots=True)
class ReadMode:
    """Checked options of what to do at damage.

    Attributes:
        name: as Spark's file sources name it.
        column: the corrupt column; it is filled when it is among the columns of the read.
    """

    name: Mode = "FAILFAST"
    column: str = CORRUPT_RECORD

    @property
    def on_error(self) -> OnError:
        """What `decode` and its kin are told."""
        return "raise" if self.name == "FAILFAST" else "skip"

    @property
    def skips(self) -> bool:
        """True when reading goes on past damage."""
        return self.name != "FAILFAST"

    def widened(self, schema: StructType) -> StructType:
        """The columns when the user names none: in PERMISSIVE the corrupt one comes last.

        Raises:
            ValueError: when another column has its name.
        """
        from pyspark.sql.types import StringType, StructField, StructType

        if self.name != "PERMISSIVE":
            return schema
        if self.column in schema.fieldNames():
            raise ValueError(f"option columnNameOfCorruptRecord: {self.column} is another column's name")
        return StructType([*schema.fields, StructField(self.column, StringType(), nullable=True)])

    def split(self, wanted: StructType, known: Sequence[str] = ()) -> tuple[StructType, CorruptColumn]:
        """The columns of a read without the corrupt one, and that one.

        Args:
            wanted: what Spark asks for.
            known: names that the corrupt column cannot have.

        Raises:
            ValueError: when the corrupt column is no nullable string, or has another column's name.
        """
        from pyspark.sql.types import StringType, StructType

        if self.column in known:
            raise ValueError(f"option columnNameOfCorruptRecord: {self.column} is another column's name")
        names = wanted.fieldNames()
        if self.column not in names:
            return wanted, CorruptColumn(self)
        if wanted[self.column].dataType != StringType() or not wanted[self.column].nullable:
            raise ValueError(f"schema: column {self.column}, which tells what is damaged, is a nullable string")
        rest = StructType([one for one in wanted.fields if one.name != self.column])
        return rest, CorruptColumn(self, names.index(self.column))


def parse_mode(options: Mapping[str, str]) -> ReadMode:
    """Check the options.

    Args:
        options: Spark's options, names in lower case.

    Raises:
        ValueError: for a mode that is none, or an empty name.
    """
    text = options.get("mode", "FAILFAST").strip().upper()
    if text not in MODES:
        raise ValueError(f"option mode must be {', '.join(MODES[:-1])} or {MODES[-1]}, not {options['mode']!r}")
    column = options.get("columnnameofcorruptrecord", CORRUPT_RECORD)
    if not column:
        raise ValueError("option columnNameOfCorruptRecord must be the name of a column, not ''")
    return ReadMode(text, column)


@dataclass(frozen=True, slots=True)
class CorruptColumn:
    """Where the corrupt column stands among those of a read; nowhere when `index` is None."""

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
        """What a stream gives, with the corrupt column, and at the end the rows of what was left out.

        Args:
            stream: of records or of batch rows.
            place: columns with the same value in all rows about damage: `path`, `topic`, `partition`. The path is told in the text too.
            is_cut: the bytes end where an entry should, so that a torn tail is damage.
            shape: makes the columns of the read out of those of the stream; None when they are the same.
            choose: leaves out findings that another task tells; None when there is no other.
        """
        shaped = shape or _same
        if self.index is None:
            for batch in stream:
                yield shaped(batch.to_pyarrow())
            return
        schema = stream.schema.to_pyarrow()
        for batch in stream:
            yield self._with_texts(shaped(batch.to_pyarrow()), None)
        if self.mode.name != "PERMISSIVE":
            return
        found = [one for one in stream.findings if is_cut or one.severity != "info"]
        if found and choose is not None:
            found = choose(found)
        if found:
            yield self._with_texts(shaped(_rows_of(schema, found, place)), [_text(one, place) for one in found])

    def _with_texts(self, rows: pa.RecordBatch, texts: list[str] | None) -> pa.RecordBatch:
        import pyarrow as pa

        at, names, columns = self.index or 0, rows.schema.names, rows.columns
        column = pa.nulls(rows.num_rows, pa.string()) if texts is None else pa.array(texts, pa.string())
        return pa.RecordBatch.from_arrays([*columns[:at], column, *columns[at:]], [*names[:at], self.mode.column, *names[at:]])


def _same(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows


def _rows_of(schema: pa.Schema, found: Sequence[Finding], place: Mapping[str, Any]) -> pa.RecordBatch:
    """A row for each finding: where it is, as far as that is known, else null."""
    import pyarrow as pa

    rows = [{**place, **_known_of(one)} for one in found]
    return pa.RecordBatch.from_arrays([pa.array([row.get(one.name) for row in rows], one.type) for one in schema], schema=schema)


def _known_of(one: Finding) -> dict[str, Any]:
    """What is known of the place of a finding, under the names of record columns and batch columns."""
    return {
        "offset": one.base_offset,
        "baseOffset": one.base_offset,
        "batchBaseOffset": one.base_offset,
        "lastOffset": one.last_offset,
        "position": one.position,
        "entryPosition": one.position,
        "size": one.length,
    }


def _text(one: Finding, place: Mapping[str, Any]) -> str:
    """The finding as JSON, with the file as its path, as in the view of findings."""
    return json.dumps(one.to_dict() | {"path": place.get("path")}, ensure_ascii=False)
