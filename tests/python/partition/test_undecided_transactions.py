"""TRX-5: where a marker is damaged or lost, no committed read takes for committed what was aborted. All doors agree, and tell the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import building
import logsegment as ls
import tiered_corpus as tiered
from cli_process import run
from damaged_marker import ABORTED, BORDERS, CERTAIN, COMMITTED, DAMAGE, GONE, LOST, OPEN_THERE, A, B, Written, case, entries, flip, written
from logsegment._core import Place
from logsegment._decode import decoded
from logsegment._options import ReadOptions
from logsegment.partition.transactions import transactions_of
from logsegment.segment_files.discovery import find_segments


@dataclass(frozen=True)
class Read:
    """What a door gave, its error, and the rules of its findings with the offsets that each names."""

    offsets: list[int]
    error: ls.RecordBatchError | None
    findings: list[ls.Finding]

    @property
    def withheld(self) -> set[int]:
        return {
            offset
            for finding in self.findings
            if finding.rule == "TRX-5"
            for offset in range(finding.base_offset or 0, (finding.last_offset or 0) + 1)
        }


def collected(streams: Iterator[ls.RecordStream]) -> Read:
    offsets: list[int] = []
    findings: list[ls.Finding] = []
    try:
        for stream in streams:
            try:
                for batch in stream:
                    offsets += batch.to_pyarrow().column("offset").to_pylist()
            finally:
                findings += stream.findings
    except ls.RecordBatchError as error:
        return Read(offsets, error, findings)
    return Read(offsets, None, findings)


OPTIONS = {"columns": ["offset"], "isolation": "read_committed"}


def by_log(log: Written, on_error: str) -> Read:
    return collected(ls.Log(log.directory).records(**OPTIONS, on_error=on_error) for _ in range(1))


def by_segments(log: Written, on_error: str) -> Read:
    return collected(result.records(**OPTIONS, on_error=on_error) for result in ls.Log(log.directory))


def by_threads(log: Written, on_error: str) -> Read:
    return collected(ls.Log(log.directory).records(**OPTIONS, on_error=on_error, threads=3, batch_size=2) for _ in range(1))


def by_scan(log: Written, on_error: str) -> Read:
    sources = [ls.FileSource(path) for path in log.logs]
    known = ls.scan_transactions(sources, on_error=on_error)
    return collected(decoded(source, ReadOptions(**OPTIONS, on_error=on_error, transactions=known)) for source in sources)


def by_memory(log: Written, on_error: str) -> Read:
    """A buffer that is the whole partition."""
    return collected(ls.decode(log.data, **OPTIONS, on_error=on_error) for _ in range(1))


def by_polars(log: Written, on_error: str) -> Read:
    findings: list[ls.Finding] = []
    scan = ls.polars.scan(log.directory, isolation="read_committed", on_error=on_error, findings=findings)
    try:
        frame = scan.select("offset").collect()
    except (ls.RecordBatchError, pl.exceptions.ComputeError) as error:
        return Read([], ls.RecordBatchError(str(error)), findings)
    return Read(frame["offset"].to_list(), None, findings)


def by_cat(log: Written, on_error: str) -> Read:
    done = run("cat", log.directory, "--columns", "offset", "--isolation", "read_committed", "--on-error", on_error)
    assert done.code in (0, 1), done.err
    error = ls.RecordBatchError(done.err) if on_error == "raise" and done.code else None
    return Read([line["offset"] for line in done.lines], error, [])


DOORS = [by_log, by_segments, by_threads, by_scan, by_memory, by_polars]


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("bumps", [False, True])
def test_a_sound_log_is_read_as_before(border: str, bumps: bool, tmp_path: Path):
    found = entries(bumps=bumps)
    log = written(tmp_path, found, BORDERS[border], {})
    for door in [*DOORS, by_cat]:
        for on_error in ("raise", "skip"):
            assert door(log, on_error) == Read(sorted(COMMITTED), None, []), door
    assert ls.scan_transactions([ls.FileSource(path) for path in log.logs]) == ls.Transactions([(A, 0, 6), (B, 11, 13)])


def doors(how: str) -> list[Callable[[Written, str], Read]]:
    """Those that can tell: of a marker that was cut out whole only the snapshots behind it do."""
    if how in GONE:
        return [by_log, by_segments, by_threads, by_polars]
    return DOORS


@pytest.mark.parametrize("border", [name for name in BORDERS if name != "one segment"])
@pytest.mark.parametrize("how", DAMAGE)
def test_where_a_marker_is_damaged_all_that_is_certain_is_given(how: str, border: str, tmp_path: Path):
    log = case(tmp_path, how, border)
    for door in doors(how):
        read = door(log, "skip")
        assert read.error is None, door
        assert not ABORTED & set(read.offsets), door
        assert len(set(read.offsets)) == len(read.offsets)
        assert CERTAIN <= set(read.offsets) <= COMMITTED, door
        # All that is missing is told: of a marker that was cut out whole, its own transaction.
        assert set(read.offsets) | read.withheld >= COMMITTED
        assert {0, 1, 5} <= read.withheld <= OPEN_THERE, door
        assert all(finding.severity == "error" for finding in read.findings if finding.rule == "TRX-5")


@pytest.mark.parametrize("border", [name for name in BORDERS if name != "one segment"])
@pytest.mark.parametrize("how", DAMAGE)
def test_a_read_that_raises_gives_nothing_that_was_aborted_before_it_does(how: str, border: str, tmp_path: Path):
    log = case(tmp_path, how, border)
    for door in doors(how):
        read = door(log, "raise")
        assert read.offsets == [], "the first batch is in doubt"
        assert "TRX-5" in str(read.error) or (how == "magic 3" and "MAP-3" in str(read.error)), door


@pytest.mark.parametrize("how", ["abort to commit", "longer by 128", "longer by 256", "zeros", "no control", "gone"])
def test_the_command_line_has_the_same_judgement(how: str, tmp_path: Path):
    for border in ("inside", "last"):
        log = case(tmp_path / border, how, border)
        for on_error in ("raise", "skip"):
            assert by_cat(log, on_error).offsets == by_log(log, on_error).offsets
        done = run("cat", log.directory, "--columns", "offset", "--isolation", "read_committed", "--on-error", "skip")
        assert (done.code, "[TRX-5]" in done.err) == (1, True)


@pytest.mark.parametrize("how", [how for how in DAMAGE if how not in GONE])
def test_one_file_alone_is_judged_in_the_same_way(how: str, tmp_path: Path):
    log = case(tmp_path, how, "one segment", snapshots=False)
    reads = {door.__name__: (door(log, "skip").offsets, door(log, "skip").withheld) for door in DOORS}
    assert set(map(str, reads.values())) == {str((sorted(CERTAIN), OPEN_THERE))}, reads
    assert by_cat(log, "skip").offsets == sorted(CERTAIN)
    copied = tmp_path / "copy.bin"
    copied.write_bytes(log.data)
    assert by_cat(Written(copied, b""), "skip").offsets == sorted(CERTAIN)
    assert by_cat(Written(copied, b""), "raise").offsets == []


def test_what_the_txn_verb_calls_unknown_is_withheld(tmp_path: Path):
    for number, how in enumerate(how for how in DAMAGE if how not in GONE):
        log = case(tmp_path / str(number), how, "inside")
        unknown = [item for item in transactions_of(find_segments(log.directory)) if item.state == "unknown"]
        assert {(transaction.producer_id, transaction.first_offset) for transaction in unknown} == {(A, 0), (B, 3)}, how
        known = ls.scan_transactions([ls.FileSource(path) for path in log.logs], on_error="skip")
        assert {(producer, first) for producer, first, _ in known.undecided} == {(A, 0), (B, 3)}, how


def test_a_marker_that_was_cut_out_shows_where_the_epoch_changes(tmp_path: Path):
    """KIP-890: each transaction has an epoch of its own, so that a marker stood before the first batch of a new one."""
    log = case(tmp_path, "gone", "one segment", bumps=True, snapshots=False)
    for door in DOORS:
        read = door(log, "skip")
        assert (set(read.offsets), read.withheld) == (COMMITTED, {0, 1, 5}), door
        assert door(log, "raise").offsets == []


def test_bounds_do_not_hide_undecided_transactions(tmp_path: Path):
    """Of offsets in front of the damage alone."""
    log = ls.Log(case(tmp_path, "abort to commit", "inside").directory)
    for on_error in ("raise", "skip"):
        read = collected(iter([log.records(**OPTIONS, start_offset=2, end_offset=6, on_error=on_error)]))
        assert (read.offsets, read.error is None) == ([2], on_error == "skip")
    assert read.withheld == {3, 4, 5}
    behind = collected(iter([log.records(**OPTIONS, start_offset=9)]))
    assert (behind.offsets, behind.error) == ([offset for offset in sorted(COMMITTED) if offset >= 9], None)


def test_skipping_a_damaged_batch_leaves_its_transaction_undecided(tmp_path: Path):
    """What is damaged may have been a marker: its header says nothing that counts."""
    found = entries()
    log = written(tmp_path, found, BORDERS["inside"], {5: flip(found[5], 120, 1)})
    for door in DOORS:
        read = door(log, "skip")
        assert (set(read.offsets), read.withheld) == (CERTAIN, {0, 1, 3, 4}), door
        assert [finding.rule for finding in read.findings if finding.rule != "TRX-5"] == ["V2-31"]
        assert not ABORTED & set(door(log, "raise").offsets)
    assert "V2-31" in str(by_log(log, "raise").error)


def test_the_last_of_a_transaction_stays_open_behind_damage(tmp_path: Path):
    """Without a later marker there is a last stable offset, as there is without damage; but it is told why."""
    found = {offset: item for offset, item in entries().items() if offset < 9}
    log = written(tmp_path, found, (0,), {LOST: flip(found[LOST], 69, 1)})
    for door in DOORS:
        for on_error in ("raise", "skip"):
            read = door(log, on_error)
            assert (read.offsets, read.error is None) == ([], on_error == "skip"), door
            assert on_error == "raise" or read.withheld == {0, 1}
    assert ls.scan_transactions([log.data]) == ls.Transactions([], 0, [(A, 0, 5), (B, 3, 5)])


def test_the_end_of_the_committed_offsets_is_reported_when_damage_may_have_moved_it(tmp_path: Path):
    """The second transaction of B ends in damage, and no marker of B follows. A later snapshot knows that it has ended."""
    found = entries()
    damaged = {13: flip(found[13], 69, 1)}
    whole = by_log(written(tmp_path / "snapshots", found, (0, 12, 20), damaged), "skip")
    assert (whole.offsets, whole.withheld) == (sorted(COMMITTED), {11})
    log = written(tmp_path, found, (0, 12, 20), damaged, snapshots=False)
    for door in DOORS:
        read = door(log, "skip")
        # A read of a later segment alone tells it at its first batch.
        withheld = {11, 12, 20, 21} if door in (by_segments, by_scan) else {11}
        assert (read.offsets, read.withheld) == ([2, 3, 4, 7, 9, 10], withheld), door
        raised = door(log, "raise")
        assert "TRX-5" in str(raised.error), door
        assert door is by_polars or raised.offsets == read.offsets
    before = collected(iter([ls.Log(log.directory).records(**OPTIONS, end_offset=11)]))
    assert (before.offsets, before.error) == ([2, 3, 4, 7, 9, 10], None)


PHANTOMS: dict[str, Callable[[bytes], bytes]] = {
    "transactional": lambda entry: flip(flip(entry, 22, building.TRANSACTIONAL), 43, 0x80),
    "producer": lambda entry: flip(entry, 44, 1),
}


@pytest.mark.parametrize("how", PHANTOMS)
def test_a_flipped_bit_opens_no_transaction_that_cuts_the_log_in_silence(how: str, tmp_path: Path):
    """A transaction without an end would be the last that is read, and no error would tell of it."""
    found = entries()
    hit = 14 if how == "producer" else 16
    log = written(tmp_path, found, (0, 12, 20), {hit: PHANTOMS[how](found[hit])})
    last = {16, 18, 20, 21} - {hit}
    first = {offset for offset in COMMITTED if offset < 14}
    for door in DOORS:
        read = door(log, "skip")
        assert first | last == set(read.offsets), door
        raised = door(log, "raise")
        assert raised.error is not None, door
        assert door is by_polars or set(raised.offsets) == first, door
    behind = collected(iter([ls.Log(log.directory).records(**OPTIONS, start_offset=18)]))
    assert (behind.offsets, behind.error) == ([18, 20, 21], None)


def test_a_batch_that_a_flipped_bit_puts_into_an_aborted_transaction_is_reported(tmp_path: Path):
    """It was left out without a look at its checksum."""
    found = entries()
    log = written(tmp_path, found, (0, 12, 20), {9: found[9][:43] + B.to_bytes(8) + found[9][51:]})
    for door in (by_log, by_segments, by_memory, by_scan):
        assert "V2-31" in str(door(log, "raise").error), door


def counted(found: dict[int, bytes], offset: int) -> set[int]:
    return {offset + index for index in range(int.from_bytes(found[offset][23:27]) + 1)}


@pytest.mark.slow
@pytest.mark.parametrize("borders", BORDERS.values(), ids=BORDERS)
@pytest.mark.parametrize("at", entries())
def test_a_flipped_bit_of_a_base_offset_moves_nothing_but_its_batch(at: int, borders: tuple[int, ...], tmp_path: Path):
    """No checksum covers it. The batch itself is in doubt when it belongs to a transaction, whichever bit it is."""
    found = entries()
    for bit in (0, 1, 2, 3, 4, 5, 8, 20, 32, 47, 60, 63):
        moved = at ^ (1 << bit)
        log = written(tmp_path / str(bit), found, borders, {at: flip(found[at], 7 - bit // 8, 1 << bit % 8)})
        moved_to = {moved + index - (1 << 64 if bit == 63 else 0) for index in range(len(counted(found, at)))}
        for door in (by_log, by_segments, by_memory):
            read = door(log, "skip")
            given = set(read.offsets) - moved_to
            assert given <= COMMITTED, (door, bit, read)
            assert given | read.withheld | counted(found, at) >= COMMITTED - moved_to, (door, bit, read)


@pytest.mark.parametrize("gone", [{0}, {3}, {0, 3}, {5}, {0, 5, 14}])
def test_snapshots_of_a_compacted_log_leave_no_transaction_undecided(gone: set[int], tmp_path: Path):
    """Whole batches of a transaction are gone, and with them its first offset."""
    log = written(tmp_path, entries(), (0, 6, 12, 16, 20), dict.fromkeys(gone, b""))
    kept = sorted(COMMITTED - {offset for first in gone for offset in (first, first + 1)})
    for door in [*DOORS, by_cat]:
        for on_error in ("raise", "skip"):
            assert door(log, on_error) == Read(kept, None, []), door


def test_a_preallocated_segment_that_another_follows_is_no_damage(tmp_path: Path):
    log = written(tmp_path, entries(), (0, 5, 12), {})
    for path in log.logs:
        path.write_bytes(path.read_bytes() + bytes(5000))
    for door in (by_log, by_segments, by_scan):
        for on_error in ("raise", "skip"):
            read = door(log, on_error)
            assert (read.offsets, read.error, read.withheld) == (sorted(COMMITTED), None, set()), door


@pytest.mark.parametrize("key_id", [None, "key1"])
@pytest.mark.parametrize("border", ["inside", "last", "first"])
def test_a_marker_in_a_lost_chunk_leaves_its_transaction_undecided_for_every_reader(border: str, key_id: str | None, tmp_path: Path):
    Place.forget_chunks()
    found = entries()
    log = written(tmp_path, found, BORDERS[border], {})
    uploads = tiered.Uploader(tmp_path, chunk_size=78, key_id=key_id).partition(log.directory)
    (path,) = (upload for upload in uploads if int(upload.name[:20]) == max(first for first in BORDERS[border] if first <= LOST))
    before = sum(len(value) for offset, value in found.items() if max(b for b in BORDERS[border] if b <= LOST) <= offset < LOST)
    stored = 78 + (28 if key_id else 0)
    data = bytearray(path.read_bytes())
    data[before // 78 * stored + (20 if key_id else before % 78 + 20)] ^= 1
    path.write_bytes(data)
    Place.forget_chunks()
    there = ls.Log(path.parent, decryption_keys=tiered.KEYS)
    skipped = collected(iter([there.records(**OPTIONS, on_error="skip")]))
    assert skipped.error is None
    assert not ABORTED & set(skipped.offsets)
    assert CERTAIN - {7} <= set(skipped.offsets) <= CERTAIN
    assert {0, 1} <= skipped.withheld <= OPEN_THERE
    raised = collected(iter([there.records(**OPTIONS)]))
    assert (raised.offsets, raised.error is None) == ([], False)
    keys = []
    for name, key in tiered.KEYS.items():
        (tmp_path / name).write_bytes(key)
        keys += ["--key-file", f"{name}={tmp_path / name}"]
    done = run("cat", path.parent, *keys, "--columns", "offset", "--isolation", "read_committed", "--on-error", "skip")
    assert [json.loads(line)["offset"] for line in done.out.splitlines()] == skipped.offsets
    for source in there:
        assert not ABORTED & set(collected(iter([source.records(**OPTIONS, on_error="skip")])).offsets)


@pytest.mark.spark
@pytest.mark.parametrize("snapshots", [True, False])
def test_spark_withholds_the_same_and_reports_each_batch_once(snapshots: bool, tmp_path: Path):
    """By what each task learns, and where snapshots are missing by what the driver does."""
    from pyspark.errors import PythonException

    from spark_session import spark_session

    spark = spark_session()
    for number, how in enumerate(["abort to commit", "longer by 128", "zeros"]):
        log = case(tmp_path / str(number), how, "inside", snapshots=snapshots)
        expected = by_log(log, "skip")
        reader = spark.read.format("logsegment").option("isolation", "read_committed")
        kept = reader.option("mode", "DROPMALFORMED").load(str(log.directory)).select("offset").collect()
        assert sorted(row["offset"] for row in kept) == expected.offsets
        rows = reader.option("mode", "PERMISSIVE").load(str(log.directory)).select("_corrupt_record").collect()
        told = [json.loads(row["_corrupt_record"]) for row in rows if row["_corrupt_record"]]
        doubted = sorted((finding["baseOffset"], finding["lastOffset"]) for finding in told if finding["rule"] == "TRX-5")
        assert doubted == [(0, 1), (3, 4), (5, 5)]
        with pytest.raises(PythonException, match="TRX-5"):
            reader.option("mode", "FAILFAST").load(str(log.directory)).count()


def test_undecided_transactions_are_values():
    import pickle

    known = ls.Transactions([(7, 0, 3)], 9, [(8, 1, 2)])
    assert (known.aborted, known.last_stable_offset, known.undecided) == ([(7, 0, 3)], 9, [(8, 1, 2)])
    assert pickle.loads(pickle.dumps(known)) == known
    assert known != ls.Transactions([(7, 0, 3)], 9)
    assert repr(known) == "Transactions(1 aborted, 1 undecided, last_stable_offset=9)"
