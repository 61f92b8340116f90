"""The corpus as cases: bytes written by Kafka, and rows in which its own classes' truth and our columns can be compared.

A case is a file of log entries. `expected_*` read truth files, `rows_of` turns Arrow columns into the same dicts. Bytes longer than
4 KiB stand as `Digest`, as the truth files have them. Tests parametrize over `cases()`, and walk with `seen_all` so that a
missing file cannot pass as a shorter list.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import logsegment as ls

TESTS = Path(__file__).resolve().parents[1]
CORPUS = TESTS / "corpus"
Row = dict[str, Any]

#: Longer keys and values stand as sha256 in the truth files.
LONGEST_PLAIN = 4096
#: Columns that a record row of the truth files tells about; `timestampType` and those after it come from its batch.
RECORD_COLUMNS = ["offset", "timestampMs", "sequence", "key", "value", "headers", "controlType", "timestampType", "isControl"]
RECORD_COLUMNS += ["isTransactional", "magic", "compression", "producerId", "producerEpoch", "partitionLeaderEpoch"]
RECORD_COLUMNS += ["batchBaseOffset", "entryPosition", "indexInEntry"]
#: Columns of `ls.batches`, all of which the truth files have.
BATCH_COLUMNS = ["position", "size", "baseOffset", "lastOffset", "count", "magic", "attributes", "compression", "timestampType"]
BATCH_COLUMNS += ["baseTimestamp", "maxTimestamp", "crc", "isValid", "producerId", "producerEpoch", "baseSequence", "lastSequence"]
BATCH_COLUMNS += ["partitionLeaderEpoch", "isTransactional", "isControl", "deleteHorizonMs"]
#: Columns that Kafka's consumer told about.
CONSUMED_COLUMNS = ["offset", "timestampMs", "timestampType", "partitionLeaderEpoch", "key", "value", "headers"]
#: What Kafka 0.7 has no fields for: columns of batches and of records.
NO_FIELDS = {"timestampType": "NoTimestampType", "maxTimestamp": -1, "producerId": -1, "producerEpoch": -1, "baseSequence": -1}
NO_FIELDS |= {"lastSequence": -1, "partitionLeaderEpoch": -1, "isTransactional": False, "isControl": False, "deleteHorizonMs": None}
NO_RECORD_FIELDS = {"timestamp": -1, "sequence": -1, "headers": []}
TIMESTAMP_TYPES = {"CreateTime": 0, "LogAppendTime": 1, "NoTimestampType": -1}


class Digest(NamedTuple):
    """Bytes that are too long to be written out."""

    sha256: str
    length: int


@dataclass(frozen=True)
class Case:
    """One file of log entries with its truth. `batches` and `records` count all of them, control records too."""

    file: str
    set: str
    kind: str
    sha256: str
    truth: Path
    #: "0.7" where the bytes do not say it, else "auto".
    format: str
    magics: tuple[int, ...]
    codecs: tuple[str, ...]
    features: tuple[str, ...]
    batches: int
    records: int
    consumer_truth: tuple[Path, ...]

    @property
    def path(self) -> Path:
        return CORPUS / self.file

    @property
    def partition(self) -> tuple[str, int]:
        """Topic and partition of a segment in a partition directory."""
        topic, _, partition = self.path.parent.name.rpartition("-")
        return topic, int(partition)

    @property
    def formats(self) -> frozenset[str]:
        """Formats of its entries, by the names of the option `format`."""
        return formats_of(self.format, self.magics)

    @property
    def options(self) -> Row:
        """What a reader must be told besides the bytes."""
        return {"format": self.format} if self.format == "0.7" else {}

    @property
    def source(self) -> Any:
        """Its bytes; of 0.7 the file, which is named after the position of its first byte (L7-22)."""
        return ls.FileSource(self.path) if self.format == "0.7" else self.read()

    def read(self) -> bytes:
        return self.path.read_bytes()

    def __str__(self) -> str:
        return self.file.replace("/data/", "/")


@dataclass(frozen=True)
class Conversion:
    """What Kafka's classes made of a case: `output`, or the class of the error in its place. `line` is all that is told about it."""

    source: Case
    output: Case | None
    error: str | None
    line: Row

    @property
    def is_down(self) -> bool:
        return self.line["op"] == "downConvert"

    def __str__(self) -> str:
        made = [f"{self.source}-to-v{self.line['toMagic']}", self.line.get("timestampType", "")]
        return "-".join(filter(None, made))


@dataclass(frozen=True)
class Partition:
    """A partition directory, its segments in the order of their offsets."""

    directory: Path
    topic: str
    partition: int
    segments: tuple[Case, ...]
    #: Isolation level -> what Kafka's consumer returned.
    consumed: dict[str, Path]

    @property
    def format(self) -> str:
        """As that of its segments."""
        return self.segments[0].format

    def __str__(self) -> str:
        return f"{self.segments[0].set}/{self.directory.name}"


@cache
def cases() -> tuple[Case, ...]:
    """Every case of the manifest, those of mixed formats and the empty ones too."""
    return tuple(map(case_of, manifest()["cases"]))


#: The name that some walks know it by.
all_cases = cases


def mixed_cases() -> list[Case]:
    """Logs with magic 0, 1 and 2 one after the other."""
    return [case for case in cases() if len(case.formats) > 1]


@cache
def conversions() -> tuple[Conversion, ...]:
    """Every conversion that Kafka's classes made, or refused to make."""
    lists = sorted(CORPUS.glob("conversions-*/conversions.jsonl"))
    return tuple(conversion_of(path.parent, json.loads(line)) for path in lists for line in path.read_text().splitlines())


def partitions() -> list[Partition]:
    """Partition directories, those that Kafka's consumer read and those that it did not."""
    grouped: dict[Path, list[Case]] = {}
    for case in cases():
        if case.kind == "segment":
            grouped.setdefault(case.path.parent, []).append(case)
    return [partition_of(directory, found) for directory, found in sorted(grouped.items())]


def consumed_partitions() -> list[tuple[Partition, str]]:
    """Each partition that Kafka's consumer read, with each isolation level in which it did."""
    return [(partition, isolation) for partition in partitions() for isolation in sorted(partition.consumed)]


def seen_all(seen: Iterable[Any], at_least: int) -> None:
    """Fail a walk that saw less than it must."""
    count = len(list(seen))
    assert count >= at_least, f"saw {count} cases, the manifest lists {at_least}"


def expected_batches(case: Case, *, resolve: bool = False) -> list[Row]:
    """The truth about every entry, with the columns of `ls.batches`; what only unpacking tells is null unless `resolve`d (L8-28)."""
    return [batch_row(row, resolve=resolve) for row in truth_of(case.truth).batches]


def expected_records(case: Case, *, control: bool = True) -> list[Row]:
    """The truth about every record, with `RECORD_COLUMNS`."""
    return [row for row in truth_of(case.truth).records if control or not row["isControl"]]


class Truth(NamedTuple):
    """What a truth file tells: a row for each batch as it stands there, and a row of `RECORD_COLUMNS` for each record."""

    batches: list[Row]
    records: list[Row]


@cache
def truth_of(path: Path) -> Truth:
    """A truth file, read once in a process: nobody may change the rows."""
    batches: dict[int, Row] = {}
    seen: dict[int, int] = {}
    rows = []
    for row in truth_rows(path):
        if row["type"] == "batch":
            batches[row["batch"]] = row
        elif row["type"] == "record":
            index = seen[row["batch"]] = seen.get(row["batch"], -1) + 1
            rows.append(record_row(row, batches[row["batch"]], index))
    return Truth(list(batches.values()), rows)


def expected_consumed(path: Path) -> list[Row]:
    """What Kafka's consumer returned, with `CONSUMED_COLUMNS`."""
    return [consumed_row(row) for row in truth_rows(path) if row["type"] == "consumed"]


def rows_of(stream: Any, columns: list[str] | None = None) -> list[Row]:
    """Rows of anything that gives Arrow data, with long bytes as digests and headers as pairs. Errors of ours stay typed."""
    import pyarrow as pa

    table = stream.to_pyarrow() if hasattr(stream, "to_pyarrow") else pa.table(stream)
    chosen = table.select(columns) if columns else table
    return [{name: normalise(value) for name, value in row.items()} for row in chosen.to_pylist()]


def normalise(value: Any) -> Any:
    if isinstance(value, bytes):
        return value if len(value) <= LONGEST_PLAIN else Digest(hashlib.sha256(value).hexdigest(), len(value))
    if isinstance(value, list):
        return [(header["key"], normalise(header["value"])) for header in value]
    return value


def truth_rows(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@cache
def manifest() -> Row:
    return json.loads((CORPUS / "manifest.json").read_text())


def formats_of(family: str, magics: Iterable[int]) -> frozenset[str]:
    """The names of formats; magic 0 and 1 of Kafka 0.7 are other bytes (MAP-1)."""
    return frozenset({"0.7"} if family == "0.7" else {f"v{magic}" for magic in magics})


def conversion_of(directory: Path, line: Row) -> Conversion:
    by_file = {case.file: case for case in cases()}
    output = by_file[f"{directory.name}/data/{line['output']}"] if "output" in line else None
    error = line["error"].partition(":")[0].rpartition(".")[2] if "error" in line else None
    return Conversion(by_file[line["input"]], output, error, line)


def case_of(line: Row) -> Case:
    return Case(
        file=line["file"],
        set=line["set"],
        kind=line["kind"],
        sha256=line["sha256"],
        truth=CORPUS / line["truth"],
        format=line["format"],
        magics=tuple(line["magics"]),
        codecs=tuple(line["codecs"]),
        features=tuple(line["features"]),
        batches=line["batches"],
        records=line["records"],
        consumer_truth=tuple(CORPUS / name for name in line.get("consumerTruth", ())),
    )


def partition_of(directory: Path, found: list[Case]) -> Partition:
    segments = tuple(sorted(found, key=lambda case: case.path.name))
    consumed = {path.name.split(".")[-3]: path for path in segments[0].consumer_truth}
    topic, partition = segments[0].partition
    return Partition(directory, topic, partition, segments, consumed)


def batch_row(row: Row, *, resolve: bool) -> Row:
    """A batch row of the truth as our columns."""
    if row.get("format") == "0.7":
        row = NO_FIELDS | row | {"lastOffset": row["nextOffset"], "attributes": row["attributes"] or 0}
    if is_record_batch(row):
        return {column: row[column] for column in BATCH_COLUMNS}
    is_plain = row["compression"] == "none"
    known = {"count": row["recordsRead"] if is_plain or resolve else None, "baseTimestamp": row["maxTimestamp"] if is_plain else -1}
    if not is_plain and not resolve and row.get("format") != "0.7":
        known["baseOffset"] = None
    return {column: (row | known)[column] for column in BATCH_COLUMNS}


def is_record_batch(row: Row) -> bool:
    return bool(row["magic"] == 2)


def record_row(row: Row, batch: Row, index: int) -> Row:
    """A record row of the truth as our columns; what it does not hold comes from its batch."""
    from_batch = ("isControl", "isTransactional", "magic", "compression", "producerId", "producerEpoch", "partitionLeaderEpoch")
    if batch.get("format") == "0.7":
        batch = NO_FIELDS | batch
        row = NO_RECORD_FIELDS | row | {"offset": row["nextOffset"]}
    return {
        "offset": row["offset"],
        "timestampMs": row["timestamp"],
        "sequence": row["sequence"],
        "key": blob(row, "key"),
        "value": blob(row, "value"),
        "headers": headers(row["headers"]),
        "controlType": row.get("controlType"),
        "timestampType": TIMESTAMP_TYPES[batch["timestampType"]],
        **{column: batch[column] for column in from_batch},
        "batchBaseOffset": batch["baseOffset"],
        "entryPosition": batch["position"],
        "indexInEntry": index,
    }


def consumed_row(row: Row) -> Row:
    return {
        "offset": row["offset"],
        "timestampMs": row["timestamp"],
        "timestampType": TIMESTAMP_TYPES[row["timestampType"]],
        "partitionLeaderEpoch": row["leaderEpoch"],
        "key": blob(row, "key"),
        "value": blob(row, "value"),
        "headers": headers(row["headers"]),
    }


def blob(row: Row, field: str) -> bytes | Digest | None:
    if f"{field}_sha256" in row:
        return Digest(row[f"{field}_sha256"], row[f"{field}_len"])
    return plain(row[field])


def headers(pairs: list[list[Any]]) -> list[tuple[str, Any]]:
    return [(key, Digest(value["sha256"], value["len"]) if isinstance(value, dict) else plain(value)) for key, value in pairs]


def plain(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
