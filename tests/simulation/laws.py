"""The laws about reads: each function takes a scene and raises `LawBroken`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

import logsegment as ls
import logsegment.polars
from tests.simulation import command
from tests.simulation.entries import Batch
from tests.simulation.partition import Partition, Segment, fates
from tests.simulation.truth import (
    COLUMNS,
    Outcome,
    Query,
    as_row,
    drawn,
    expected,
    holds,
    holds_messages,
    is_unsure,
    read,
    require,
)


@dataclass
class Scene:
    """A partition, its directory, an empty directory for outputs, and the random numbers of this check."""

    partition: Partition
    directory: Path
    scratch: Path
    chance: random.Random

    @property
    def is_healthy(self) -> bool:
        return not self.partition.damaged

    @property
    def batches(self) -> list[Batch]:
        """All batches. What an API sees that knows the neighbours of a segment: a torn batch of a closed segment is lost."""
        return self.partition.seen

    @property
    def is_visibly_damaged(self) -> bool:
        """Damage that a read of everything meets."""
        return any(batch.state in ("lost", "swallowing", "misplaced") and batch.last_offset >= self.log_start for batch in self.batches)

    @property
    def has_unsure_rows(self) -> bool:
        """Records that have no certain offset (`truth.is_unsure`)."""
        return any(batch.state == "unsure" or holds_messages(batch) for batch in self.batches)

    @property
    def log_start(self) -> int:
        return self.partition.log_start


Law: TypeAlias = Callable[[Scene], None]


def path_of(scene: Scene, segment: Segment) -> Path:
    return scene.directory / f"{segment.name:020}.log"


def a_segment(scene: Scene) -> Segment:
    return scene.chance.choice(scene.partition.segments)


def decode(scene: Scene) -> None:
    """`decode` of a segment returns its rows."""
    segment = a_segment(scene)
    query = drawn(scene.partition, scene.chance, has_times=False)
    if query.isolation == "read_committed":
        query = Query(**{**vars(query), "isolation": "read_uncommitted"})
    source: Any = path_of(scene, segment)
    if scene.chance.random() < 0.5:
        source = source.read_bytes()
    threads = scene.chance.choice([1, 1, 2])
    batch_size = scene.chance.choice([1, 3, 65536])
    outcome = read(lambda: ls.decode(source, columns=COLUMNS, threads=threads, batch_size=batch_size, **query.offsets, **query.options))
    holds(segment.alone, query, outcome)


def validate(scene: Scene) -> None:
    """`validate` has an error exactly if `decode` raises, counts what is valid, and finds nothing above info in a healthy segment."""
    segment = a_segment(scene)
    source = path_of(scene, segment)
    report = ls.validate(source)
    raised = read(lambda: ls.decode(source, columns=COLUMNS)).error
    require(report.ok == (raised is None), "validate and decode disagree", raised, report.findings)
    states = Counter(batch.state for batch in segment.alone)
    if not states.keys() - {"valid", "torn"} and not scene.partition.warned:
        loud = [finding for finding in report.findings if finding.severity != "info"]
        require(not loud, "a finding about a healthy segment", loud)
    require(not (states["lost"] and report.ok) or states["swallowing"], "damage without an error", report.findings)
    require(not (states["swallowing"] and not report.lost), "damage without a lost range", report.findings)


def batches(scene: Scene) -> None:
    """`batches` returns a row for each valid batch."""
    segment = a_segment(scene)
    rows = ls.batches(path_of(scene, segment), on_error="skip").to_pylist()
    places: list[tuple[object, ...]] = []
    position = 0
    for batch in segment.batches:
        if batch.state == "valid":
            places.append((position, len(batch.data), batch.last_offset, batch.magic, batch.producer_id, batch.transactional))
        position += len(batch.data)
    known = {place[0] for place in places}
    found = [
        (row["position"], row["size"], row["lastOffset"], row["magic"], _id(row["producerId"]), bool(row["isTransactional"]))
        for row in rows
        if row["position"] in known
    ]
    require(found == places, "rows of batches differ", found, places)
    if scene.is_healthy:
        require(len(rows) == len(places), "more rows than batches", len(rows), len(places))


def _id(value: int | None) -> int:
    return -1 if value is None else value


def segment_records(scene: Scene) -> None:
    """`Segment.records` returns the rows of its file."""
    segment = a_segment(scene)
    query = drawn(scene.partition, scene.chance)
    if query.isolation == "read_committed":
        query = Query(**{**vars(query), "isolation": "read_uncommitted"})
    opened = ls.Segment(path_of(scene, segment), mmap=scene.chance.random() < 0.3)
    outcome = read(lambda: opened.records(columns=COLUMNS, **query.offsets, **query.times, **query.options))
    is_last = segment is scene.partition.segments[-1]
    holds(segment.named if is_last else segment.closed, query, outcome)


def log_records(scene: Scene) -> None:
    """`Log.records` returns the rows of the partition from its log start offset on."""
    query = drawn(scene.partition, scene.chance)
    threads = scene.chance.choice([1, 1, 3])
    outcome = read(
        lambda: ls.Log(scene.directory).records(columns=COLUMNS, threads=threads, **query.offsets, **query.times, **query.options)
    )
    holds(scene.batches, query, outcome, scene.log_start)


def log_start_ignored(scene: Scene) -> None:
    """`log_start_offset="ignore"` returns the records below the log start offset, too."""
    query = Query(on_error="skip", control=True)
    outcome = read(lambda: ls.Log(scene.directory, log_start_offset="ignore").records(columns=COLUMNS, **query.options))
    holds(scene.batches, query, outcome)


def times(scene: Scene) -> None:
    """`Log.offset_for_timestamp` returns the first record of this time or later."""
    if not scene.is_healthy or not scene.partition.magic or scene.partition.lies:
        return
    rows = expected(scene.batches, Query(control=True), scene.log_start)
    at = scene.chance.choice([row[1] for row in rows] or [0]) + scene.chance.choice([-1, 0, 1])
    wanted = next((row[0] for row in rows if row[1] >= at), None)
    found = ls.Log(scene.directory).offset_for_timestamp(at)
    require(found == wanted, "another offset for a timestamp", at, found, wanted)


def polars_scan(scene: Scene) -> None:
    """`polars.scan` with a random predicate returns the rows for which it is true."""
    query = drawn(scene.partition, scene.chance, has_times=False)
    query = Query(**{**vars(query), "start": None, "end": None})
    bound = scene.chance.randint(scene.partition.segments[0].base, scene.partition.next_offset)
    key = scene.chance.choice(scene.partition.keys)
    predicate, has = scene.chance.choice(PREDICATES[: 1 if scene.partition.lies else None])
    findings: list[Any] = []

    def scan() -> Any:
        frame = ls.polars.scan(scene.directory, columns=COLUMNS, findings=findings, **query.options)
        return frame.filter(predicate(bound, key)).collect()

    outcome = _collected(scan)
    outcome.findings = findings
    truth = [row for row in expected(scene.batches, query, scene.log_start) if has(row, bound, key)]
    if scene.is_healthy or (query.on_error == "skip" and query.isolation == "read_uncommitted"):
        has_no_place = is_unsure(scene.batches)
        require(outcome.error is None, "an error", query, outcome.error)
        rows, wanted = ([row for row in side if not has_no_place(row)] for side in (outcome.rows, truth))
        require(rows == wanted, "rows differ", query, bound, key, [row[0] for row in rows], [row[0] for row in wanted])


PREDICATES: list[tuple[Callable[[int, bytes], pl.Expr], Callable[[Any, int, bytes], bool]]] = [
    (lambda bound, key: pl.lit(True), lambda row, bound, key: True),
    (lambda bound, key: pl.col("offset") >= bound, lambda row, bound, key: row[0] >= bound),
    (lambda bound, key: pl.col("offset") < bound, lambda row, bound, key: row[0] < bound),
    (lambda bound, key: pl.col("offset") == bound, lambda row, bound, key: row[0] == bound),
    (lambda bound, key: pl.col("offset").is_between(bound - 3, bound + 3), lambda row, bound, key: bound - 3 <= row[0] <= bound + 3),
    (lambda bound, key: pl.col("key") == key, lambda row, bound, key: row[3] == key),
    (lambda bound, key: pl.col("key").is_null() | (pl.col("offset") > bound), lambda row, bound, key: row[3] is None or row[0] > bound),
    (
        lambda bound, key: (pl.col("offset") >= bound + 2) | (pl.col("offset") == bound - 1),
        lambda row, bound, key: row[0] >= bound + 2 or row[0] == bound - 1,
    ),
    (lambda bound, key: ~(pl.col("offset") > bound), lambda row, bound, key: row[0] <= bound),
]


def _collected(collect: Callable[[], Any]) -> Outcome:
    try:
        return Outcome([as_row(row) for row in collect().to_dicts()])
    except (ls.RecordBatchError, pl.exceptions.PolarsError) as error:
        return Outcome([], error)  # type: ignore[arg-type]


def duckdb_rows(scene: Scene) -> None:
    """DuckDB returns the rows of a log."""
    if not scene.is_healthy or scene.partition.lies:
        return
    import duckdb

    log = ls.Log(scene.directory)  # noqa: F841  DuckDB finds it by its name
    bound = scene.chance.randint(scene.partition.segments[0].base, scene.partition.next_offset)
    found = duckdb.sql(f'select "offset", key, value from log where "offset" >= {bound}').fetchall()
    truth = [(row[0], row[3], row[4]) for row in expected(scene.batches, Query(start=bound), scene.log_start)]
    require(sorted(found) == truth, "rows differ", bound, [row[0] for row in found], [row[0] for row in truth])


def find(scene: Scene) -> None:
    """`find` returns the places of the records that match."""
    key = scene.chance.choice(scene.partition.keys)
    places = _found(scene, key=key)
    truth = [row[0] for row in expected(scene.batches, Query(on_error="skip"), scene.log_start) if row[3] == key]
    if not scene.has_unsure_rows:
        require(places == truth, "other places of a key", key, places, truth)
    start, end = sorted(scene.chance.randint(scene.partition.segments[0].base, scene.partition.next_offset + 1) for _ in range(2))
    if start < end and not scene.has_unsure_rows and not scene.partition.lies:
        query = Query(on_error="skip", control=True, start=start, end=end)
        truth = [row[0] for row in expected(scene.batches, query, scene.log_start)]
        places = _found(scene, start_offset=start, end_offset=end)
        require(places == truth, "other places of a range", start, end, places, truth)


def _found(scene: Scene, **options: Any) -> list[int]:
    return [place.offset for place in ls.find(scene.directory, on_error="skip", **options)]


def cat(scene: Scene) -> None:
    """`cat` prints the rows, and its exit code is 1 where something is damaged."""
    query = drawn(scene.partition, scene.chance)
    query = Query(**{**vars(query), "since": None, "until": None})
    words: list[str | Path] = ["cat", scene.directory, "--columns", ",".join(COLUMNS), "--bytes", "hex"]
    words += ["--on-error", query.on_error, "--isolation", query.isolation]
    words += ["--control"] if query.control else []
    if query.start is not None or query.end is not None:
        if query.start == query.end:
            return
        start, end = ("" if bound is None else str(bound) for bound in (query.start, query.end))
        words += ["--offset", f"{start}..{end}"]
    ended = command.run(*words)
    rows = [as_row(_from_hex(line)) for line in ended.lines]
    error = ls.RecordBatchError(ended.err) if ended.code and query.on_error == "raise" else None
    holds(scene.batches, query, Outcome(rows, error, [ended.err] if ended.code else []), scene.log_start)
    if scene.is_healthy:
        require(ended.code == 0, "exit code of a healthy log", ended.code, ended.err)
    elif query.is_everything and query.isolation == "read_uncommitted" and scene.is_visibly_damaged:
        is_hidden = query.on_error == "raise" and any(batch.state == "swallowing" for batch in scene.batches)
        require(ended.code == 1 or is_hidden, "exit code of a damaged log", words, ended.code, ended.err)


def _from_hex(line: dict[str, Any]) -> dict[str, Any]:
    def value(text: str | None) -> bytes | None:
        return None if text is None else bytes.fromhex(text)

    headers = [{"key": header["key"], "value": value(header["value"])} for header in line["headers"]]
    kind = ("NoTimestampType", "CreateTime", "LogAppendTime").index(line["timestampType"]) - 1
    return {**line, "timestampType": kind, "key": value(line["key"]), "value": value(line["value"]), "headers": headers}


def verify(scene: Scene) -> None:
    """`verify` ends with 0 for a healthy log, with no finding above info, and with 1 where something is damaged."""
    ended = command.run("verify", scene.directory, "--json")
    lines = ended.lines
    if not any(batch.state not in ("valid", "torn") or holds_messages(batch) for batch in scene.batches):
        loud = [line for line in lines if line["type"] == "finding" and line["severity"] != "info"]
        require(scene.partition.warned or not loud, "a finding about a healthy log", loud)
        require(ended.code == 0, "exit code of a healthy log", ended.code, ended.out)
        records = sum(line["records"] or 0 for line in lines if line["type"] == "summary")
        truth = sum(len(batch.records) for batch in scene.batches if batch.state == "valid")
        require(records == truth, "another number of records", records, truth)
    elif any(batch.state in ("lost", "swallowing", "misplaced") for batch in scene.batches):
        require(ended.code == 1, "exit code of a damaged log", ended.code, ended.out)


def stats(scene: Scene) -> None:
    """`stats` counts records and batches of a healthy log."""
    if not scene.is_healthy or any(batch.magic < 2 and batch.codec != "none" for batch in scene.batches):
        return  # the headers of compressed messages do not count records
    found = ls.stats(scene.directory)
    start = scene.log_start
    seen = [batch for batch in scene.batches if batch.last_offset >= start]
    truth = sum(record.offset >= start for batch in seen for record in batch.records)
    require(found.records == truth, "another number of records", found.records, truth)


def txn(scene: Scene) -> None:
    """`transactions` lists each transaction with its state."""
    if not scene.is_healthy:
        return
    found = sorted((row["firstOffset"], row["state"]) for row in ls.transactions(scene.directory).to_arrow().to_pylist())
    truth: list[tuple[int, str]] = []
    open_ids: dict[int, int] = {}
    for batch, fate in zip(scene.batches, fates(scene.batches), strict=True):
        if batch.control:
            open_ids.pop(batch.producer_id, None)
        elif batch.transactional and batch.producer_id not in open_ids:
            open_ids[batch.producer_id] = batch.base_offset
            truth.append((batch.base_offset, fate))
    if scene.partition.warned:  # by a wrong clock
        found = [(offset, "open" if state == "hanging" else state) for offset, state in found]
    require(found == sorted(truth), "other transactions", found, sorted(truth))


def diff(scene: Scene) -> None:
    """A healthy log is the same as itself."""
    if scene.is_healthy:
        ended = command.run("diff", scene.directory, scene.directory)
        require(ended.code == 0, "a difference to itself", ended.code, ended.out, ended.err)


#: Laws and how often they are drawn.
READ_LAWS: dict[Law, int] = {
    decode: 4,
    validate: 4,
    batches: 3,
    segment_records: 4,
    log_records: 8,
    log_start_ignored: 1,
    times: 2,
    polars_scan: 4,
    duckdb_rows: 1,
    find: 2,
    cat: 3,
    verify: 4,
    stats: 1,
    txn: 1,
    diff: 1,
}
