"""The laws about verbs that write: what is erased is gone, all else is there, and nothing is left over after an error."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import logsegment as ls
from tests.simulation import command
from tests.simulation.cleaner import DELETE_RETENTION, compacted_rows
from tests.simulation.entries import CODECS
from tests.simulation.laws import Law, Scene, a_segment, path_of
from tests.simulation.partition import last_stable
from tests.simulation.truth import ABSENT, COLUMNS, READABLE, Query, Row, expected, holds_messages, read, require, rows_of

EVERYTHING = Query(control=True)


def rows_in(path: Path) -> list[Row]:
    """Return all rows of a log that must be whole."""
    outcome = read(lambda: ls.Log(path).records(columns=COLUMNS, **EVERYTHING.options))
    require(outcome.error is None, "an output is damaged", outcome.error)
    return outcome.rows


def truth_of(scene: Scene) -> list[Row]:
    return expected(scene.batches, EVERYTHING, scene.log_start)


def same_rows(rows: list[Row], truth: list[Row], what: str) -> None:
    require(rows == truth, what, [row[0] for row in truth if row not in rows], [row[0] for row in rows if row not in truth])


def healthy(path: Path) -> None:
    ended = command.run("verify", path, "--json")
    loud = [line for line in ended.lines if line["type"] == "finding" and line["severity"] == "error"]
    require(ended.code == 0 and not loud, "an output is not healthy", loud, ended.err)


def logs_in(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.rglob("*.log")))


def written(scene: Scene, write: Callable[[Path], Any]) -> Path | None:
    """Return the output, or None after an error: damage, or a loss that is not allowed. Then nothing is left over."""
    out = scene.scratch / "out"
    before = fingerprint(scene.directory)
    try:
        write(out)
    except ls.InternalError:
        raise
    except (ls.RecordBatchError, ValueError) as error:
        is_unsure = any(batch.state == "unsure" for batch in scene.batches)
        require(isinstance(error, ls.RecordBatchError) or is_unsure, "an error that is not about data", error)
        require(not list(scene.scratch.iterdir()), "files are left over after an error", list(scene.scratch.iterdir()))
        is_refused = isinstance(error, ls.LossError) and scene.partition.magic < 2
        require(is_refused or any(batch.state != "valid" for batch in scene.batches), "an error without damage", error)
        return None
    require(fingerprint(scene.directory) == before, "the source has changed")
    unread = [
        batch.base_offset for batch in scene.batches if batch.state in ("lost", "swallowing") and batch.last_offset >= scene.log_start
    ]
    require(not unread, "damage was written without an error", unread)
    require([path.name for path in scene.scratch.iterdir()] == ["out"], "files are left over", list(scene.scratch.iterdir()))
    # A base offset that no checksum covers may place the records of its batch anywhere.
    return None if any(batch.state == "unsure" for batch in scene.batches) else out


def fingerprint(directory: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(directory.iterdir())}


def salvage(scene: Scene) -> None:
    """`salvage` of a file keeps the valid batches byte for byte, accounts for all bytes, and is a fixed point."""
    segment = a_segment(scene)
    saved = ls.salvage(path_of(scene, segment))
    kept = b"".join(batch.data for batch in segment.batches if batch.state in ("valid", "unsure"))
    if not any(map(holds_messages, segment.batches)):
        require(saved.data == kept, "other bytes are kept", len(saved.data), len(kept), segment.base)
    lengths = sum(part.length for part in [*saved.kept, *saved.lost])
    require(lengths == len(segment.data), "ranges do not add up", lengths, len(segment.data))
    # Records that cannot be read under a right checksum, as of a compressed message below its inner offsets, are kept and named.
    errors = {finding.rule for finding in ls.validate(saved.data).findings if finding.severity == "error"}
    unreadable = {finding.rule for finding in saved.undecodable}
    require(errors <= unreadable, "what was salvaged has an error that is not reported", ls.validate(saved.data).findings)
    again = ls.salvage(saved.data)
    require(again.data == saved.data and not again.lost, "salvaged twice is not salvaged once", again.lost)


def salvage_log(scene: Scene) -> None:
    """`logsegment salvage` writes a healthy log with the rows that a read gives that skips damage, and no others."""
    out, again = scene.scratch / "out", scene.scratch / "again"
    ended = command.run("salvage", scene.directory, "--output", out)
    states = {batch.state for batch in scene.batches}
    if "offset" in scene.partition.lies:
        return  # offsets that contradict each other are set aside
    if states <= {"valid"}:
        require(ended.code == 0, "exit code of a healthy log", ended.code, ended.err)
    elif states & {"lost", "swallowing"}:
        require(ended.code == 3, "exit code of a log with lost bytes", ended.code, ended.err)
    if not states & {"valid", "misplaced"}:
        return
    require(out.exists(), "nothing was written", ended.err)
    healthy(out)
    rows = rows_in(out)
    if not scene.has_unsure_rows and "misplaced" not in states:
        same_rows(rows, expected(scene.batches, EVERYTHING), "salvaged rows differ")
    else:
        known = {row[3:5] for row in rows_of(scene.batches)}
        require({row[3:5] for row in rows} <= known, "salvaged rows that were not written")
        # Where the first batches of a misnamed file are lost, nothing proves its other name, and batches are set aside.
        are_all = len(rows) >= len(expected(scene.batches, EVERYTHING))
        require(are_all or ended.code == 3, "valid records are not saved, with exit code 0", ended.code, ended.err)
    twice = command.run("salvage", out, "--output", again)
    require(twice.code == 0 and logs_in(again) == logs_in(out), "salvaged twice is not salvaged once", twice.code, twice.err)


def rewrite(scene: Scene) -> None:
    """`rewrite` erases the records of some keys from all files, and keeps all others."""
    keys = scene.chance.sample(scene.partition.keys, scene.chance.randint(1, len(scene.partition.keys)))
    kind = scene.chance.choice(["drop", "drop", "tombstone", "keep"])
    options: dict[str, Any] = {kind: keys, "allow_lower_end": True}
    if scene.chance.random() < 0.3:
        options["compression"] = scene.chance.choice(CODECS[scene.partition.magic])
    out = written(scene, lambda out: ls.rewrite(scene.directory, out, **options))
    if out is None:
        return
    rows = []
    for row in truth_of(scene):
        if row[6] is None and kind == "tombstone" and row[3] in keys:
            row = (*row[:4], None, *row[5:])
        if row[6] is not None or kind == "tombstone" or (row[3] in keys) == (kind == "keep"):
            rows.append(row)
    same_rows(rows_in(out), rows, f"rows after {kind}")
    healthy(out)
    if all(batch.codec == "none" for batch in scene.batches) and "compression" not in options:
        data = b"".join(file.read_bytes() for file in out.rglob("*") if file.is_file())
        held = {row[4] for row in rows}
        gone = [row[0] for row in rows_of(scene.batches) if row[4] and len(row[4]) > 10 and row[4] not in held and row[4] in data]
        require(not gone, "erased values are in the output", kind, keys, gone)


def rewrite_nothing(scene: Scene) -> None:
    """`rewrite` that drops nothing writes the same log."""
    out = written(scene, lambda out: ls.rewrite(scene.directory, out, drop=[b"no such key"]))
    if out is not None:
        same_rows(rows_in(out), truth_of(scene), "rows after dropping nothing")
        if scene.log_start <= scene.partition.segments[0].base:
            require(logs_in(out) == valid_bytes(scene), "bytes after dropping nothing")
            ended = command.run("diff", scene.directory, out)
            # A torn end is information everywhere else, and damage in a comparison.
            is_torn = any(batch.state == "torn" for batch in scene.batches)
            require(ended.code == 0 or is_torn, "a difference after dropping nothing", ended.code, ended.out, ended.err)


def compact(scene: Scene) -> None:
    """`compact` keeps the latest record of each key, and compact twice is compact once."""
    if any(batch.state == "gone" for batch in scene.batches):
        return  # whether a transaction is open whose marker is gone depends on more than the markers
    if scene.partition.is_open_before:
        return  # nothing is compacted after an open transaction, also where a producer snapshot alone shows it
    now = scene.partition.time + scene.chance.choice([0, 3 * DELETE_RETENTION])
    options = {"now": now, "allow_lower_end": True}
    out = written(scene, lambda out: ls.compact(scene.directory, out, **options))
    stable = last_stable([batch for batch in scene.batches if batch.state not in ABSENT])
    if out is None or stable < scene.log_start:
        return  # an open transaction below the log start offset is not in the output, so that a second compaction goes further
    rows = rows_in(out)
    wanted = compacted_rows(scene.batches, scene.log_start, now)
    same_rows([row for row in rows if row[6] is None], wanted, "rows after compaction")
    healthy(out)
    again = scene.scratch / "again"
    ls.compact(out, again, **options)
    magic = scene.partition.magic
    late = scene.scratch / "late"
    ls.compact(out, late, now=now + 3 * DELETE_RETENTION, allow_lower_end=True)
    left = [row for row in wanted if row[4] is not None or row[0] >= stable or magic < 2]
    same_rows([row for row in rows_in(late) if row[6] is None], left, "rows after tombstones are old")
    # A marker may go one compaction after the records of its transaction.
    once, twice = ([row for row in side if row[6] is None] for side in (rows, rows_in(again)))
    same_rows(twice, once, "compact twice is not compact once")


def split_and_join(scene: Scene) -> None:
    """`split` moves the bytes of a log into other files, and `join` moves them back."""
    if all(batch.state != "valid" or batch.last_offset < scene.log_start for batch in scene.batches):
        return  # nothing is written of a log without batches
    first, last = scene.partition.segments[0].base, scene.partition.next_offset
    offsets = sorted({scene.chance.randint(first, last) for _ in range(scene.chance.choice([1, 2, 4]))})
    cut = scene.scratch / "cut"

    def write(out: Path) -> None:
        try:
            ls.split(scene.directory, cut, offsets=offsets)
            ls.join(cut, out)
        finally:
            if cut.exists():
                cut.rename(scene.scratch.parent / "cut")

    try:
        out = written(scene, write)
        if out is None:
            return
        same_rows(rows_in(out), truth_of(scene), "rows of the joined log")
        healthy(out)
        if scene.log_start <= first:
            require(logs_in(out) == logs_in(scene.scratch.parent / "cut"), "join of split is not the log")
            require(logs_in(out) == valid_bytes(scene), "join of split is not the log")
    finally:
        remove(scene.scratch.parent / "cut")


def remove(directory: Path) -> None:
    import shutil

    shutil.rmtree(directory, ignore_errors=True)


def convert(scene: Scene) -> None:
    """`convert` of a segment to another codec and back keeps the rows; to another format, where no loss is reported."""
    segment = a_segment(scene)
    magic = scene.partition.magic
    to = scene.chance.choice([magic, magic, *(other for other in (0, 1, 2) if other != magic)])
    codec = scene.chance.choice(CODECS[to])
    states = {batch.state for batch in segment.closed}
    try:
        there = ls.convert(path_of(scene, segment).read_bytes(), to=f"v{to}", compression=codec)
    except ls.InternalError:
        raise
    except ls.LossError:
        require(to < magic, "a loss to a newer format", to, magic)
        return
    except ls.RecordBatchError as error:
        require(states != {"valid"} or (to < magic), "an error without damage", error)
        return
    # Entries of the format and the codec are copied without a look at their checksums.
    alone = {batch.state for batch in segment.alone}
    require(to == magic or not alone & {"lost", "swallowing"}, "damage was converted without an error")
    if states - {"valid"}:
        return
    back = ls.convert(there.data, to=f"v{magic}", compression="gzip", allow_loss=True)
    query = Query(control=True)
    for data in (there.data, back.data):
        outcome = read(lambda data=data: ls.decode(data, columns=COLUMNS, **query.options))  # type: ignore[misc]
        require(outcome.error is None, "the result of a conversion is damaged", magic, to, codec, outcome.error)
        rows = outcome.rows
        wanted = rows_of(segment.batches)
        if 0 in (magic, to):
            rows, wanted = ([(row[0], *row[3:5]) for row in side] for side in (rows, wanted))  # type: ignore[assignment]
        require(rows == wanted, "rows after a conversion", magic, to, codec, rows[:1], wanted[:1])


def valid_bytes(scene: Scene) -> bytes:
    return b"".join(batch.data for batch in scene.batches if batch.state in READABLE)


#: Laws and how often they are drawn.
WRITE_LAWS: dict[Law, int] = {salvage: 3, salvage_log: 2, rewrite: 2, rewrite_nothing: 1, compact: 2, split_and_join: 1, convert: 2}
