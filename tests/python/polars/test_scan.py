"""`logsegment.polars.scan`: the rows that a query wants are those of `decode`, and no more is read than it wants."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import corpus
import logsegment as ls
import tiered_corpus as tiered
from logsegment._options import ReadOptions
from logsegment.polars.predicates import Bounds, condition_of
from logsegment.polars.scan import _Source
from made_logs import START, make_partition
from slow import slow_after

MODERN = corpus.CORPUS / "modern-4.1.0" / "data"
MULTI = MODERN / "multi-segment-0"
TRANSACTIONS = MODERN / "transactions-multi-segment-0"
COLUMNS = ["offset", "topic", "partition", "timestamp", "timestampMs", "key", "value", "headers", "magic", "isControl"]
#: Trees of partitions by their formats; of 0.7 offsets are positions, by which nothing is looked up.
TREES = ["modern-4.1.0/data", "legacy-0.10.2.2/data", "legacy-0.11.0.3/data", "legacy-0.8.2.2/data", "legacy-0.7.2/data"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
col = pl.col


@cache
def decoded(tree: str) -> pl.DataFrame:
    """All records of a tree by `decode`, file by file."""
    partitions = [partition for partition in corpus.partitions() if partition.directory.parent == corpus.CORPUS / tree]
    corpus.seen_all(partitions, at_least=3)
    frames = []
    for partition in sorted(partitions, key=lambda segment: (segment.topic, segment.partition)):
        for case in partition.segments:
            stream = ls.decode(
                ls.FileSource(case.path),
                columns=COLUMNS,
                control=True,
                topic=partition.topic,
                partition=partition.partition,
                format=partition.format,
            )
            frames.append(stream.to_polars())
    return pl.concat(frames)


def scanned(tree: str, **options: Any) -> pl.LazyFrame:
    return ls.polars.scan(corpus.CORPUS / tree, columns=COLUMNS, control=True, **options)


@st.composite
def leaves(draw: st.DrawFn) -> pl.Expr:
    """A comparison with values that are in the trees, at their edges, or nowhere."""
    name = draw(st.sampled_from(["offset", "timestamp", "timestampMs", "topic", "partition", "magic"]))
    values = {
        "offset": st.integers(-2, 400) | st.sampled_from([-(2**63), 2**63 - 1, 1000]),
        "timestamp": st.integers(-2, 300_000).map(lambda ms: EPOCH + timedelta(milliseconds=1_700_000_000_000 + ms, microseconds=ms % 2))
        | st.sampled_from([EPOCH, EPOCH - timedelta(milliseconds=1), EPOCH - timedelta(milliseconds=2)]),
        "timestampMs": st.integers(1_700_000_000_000, 1_700_000_300_000) | st.integers(-2, 2),
        "topic": st.sampled_from(["codec-zstd", "multi-segment", "transactions-multi-segment", "nowhere", "v1-gzip", "v0-none"]),
        "partition": st.integers(-1, 3),
        "magic": st.integers(0, 2),
    }[name]
    kind = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "between", "eq_missing", "not in"]))
    one = col(name)
    match kind:
        case "in" | "not in":
            found = one.is_in(draw(st.lists(values, max_size=3)))
            return found if kind == "in" else ~found
        case "between":
            closed: Any = draw(st.sampled_from(["both", "left", "right", "none"]))
            return one.is_between(pl.lit(draw(values)), pl.lit(draw(values)), closed=closed)
        case "eq_missing":
            return one.eq_missing(draw(values))
    value = draw(values)
    left, right = (one, pl.lit(value)) if draw(st.booleans()) else (pl.lit(value), one)
    return {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[kind]


def joined(pair: tuple[pl.Expr, pl.Expr, bool]) -> pl.Expr:
    one, other, both = pair
    return one & other if both else one | other


PREDICATES = st.recursive(leaves(), lambda inner: st.tuples(inner, inner, st.booleans()).map(joined))


@pytest.mark.parametrize("tree", slow_after(1, TREES))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(predicate=PREDICATES)
def test_rows_of_any_predicate_are_those_of_decode(tree: str, predicate: pl.Expr):
    assert_frame_equal(scanned(tree).filter(predicate).collect(), decoded(tree).filter(predicate))


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_all_rows_are_those_of_decode_in_both_engines(tree: str, engine: Any):
    assert_frame_equal(scanned(tree).collect(engine=engine), decoded(tree))


def test_the_schema_is_known_before_anything_is_read(tmp_path: Path):
    frame = ls.polars.scan(tmp_path / "nowhere", columns=["offset", "internal", "headersRaw", *COLUMNS[1:]])
    assert frame.collect_schema()["timestamp"] == pl.Datetime("us", "UTC")
    assert frame.collect_schema()["headers"] == pl.List(pl.Struct({"key": pl.String, "value": pl.Binary}))
    assert ls.polars.scan(tmp_path).collect_schema().names() == ls.decode(b"").to_polars().columns
    with pytest.raises(FileNotFoundError):
        frame.collect()


def counted(path: Path, **options: Any) -> tuple[pl.LazyFrame, dict[str, int]]:
    stats: dict[str, int] = {}
    return ls.polars.scan(path, io_stats=stats, **options), stats


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two topics of two partitions, each of three segments with 300 batches or so."""
    for topic in ("orders", "clicks"):
        for partition in (0, 1):
            make_partition(tmp_path, topic, partition, [list(range(at, at + 1000)) for at in (0, 1000, 2000)], interval=400)
    return tmp_path


def test_partitions_are_chosen_by_their_names(tree: Path):
    frame, stats = counted(tree)
    found = frame.filter((col("topic") == "orders") & (col("partition") > 0)).collect()
    whole = sum(path.stat().st_size for path in (tree / "orders-1").glob("*.log"))
    assert (found.height, stats["bytes_read"]) == (3000, whole)


def test_batches_are_chosen_by_offset_and_time_through_the_indexes(tree: Path):
    wanted = [
        (col("offset") == 1500, 4),
        (col("offset").is_between(1500, 1501), 8),
        (col("offset").is_in([1500, 1501]), 8),
        ((col("topic") == "orders") & (col("partition") == 0) & (col("offset") == 1500), 1),
        ((col("topic") == "orders") & (col("offset") < 1) | (col("topic") == "clicks") & (col("offset") >= 2999), 4),
        (col("timestamp") >= EPOCH + timedelta(milliseconds=START + 2999), 4),
        (col("timestampMs") > START + 2998, 4),
    ]
    for predicate, height in wanted:
        frame, stats = counted(tree, columns=["offset", "topic", "partition", "timestamp", "timestampMs"])
        assert frame.filter(predicate).collect().height == height
        assert 0 < stats["bytes_read"] < 4 * 1500
        assert stats["entries_read"] <= 12


def test_what_cannot_be_reads_nothing(tree: Path):
    offset = col("offset")
    for predicate in (offset > 10**9, (offset > 5) & (offset < 5), col("topic").is_in([]), col("topic") == "no", pl.lit(False)):
        frame, stats = counted(tree)
        assert frame.filter(predicate).collect().shape == (0, 8)
        assert stats.get("bytes_read", 0) == 0


def test_columns_that_are_not_wanted_are_not_built(tree: Path):
    frame, stats = counted(tree, binary="binary")
    assert frame.select(col("offset").max()).collect().item() == 2999
    assert stats["bytes_copied"] == 0
    frame, stats = counted(tree, binary="binary")
    assert frame.filter(col("value").is_not_null()).select("offset").collect().shape == (12000, 1)
    assert stats["bytes_copied"] == 12000 * 20


def test_a_head_reads_no_further(tree: Path):
    for path in sorted(tree.rglob("*.log"))[1:]:
        path.write_bytes(b"\xff" * 4000)
    frame, stats = counted(tree)
    assert frame.head(3).collect()["offset"].to_list() == [0, 1, 2]
    assert stats["entries_read"] < 10
    assert frame.head(3).collect(engine="streaming").height == 3


class Asked:
    """What Polars asks a source for, and the frames that it gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.predicates: list[pl.Expr | None] = []
        self.sizes: list[int] = []
        frames = _Source.frames

        def spy(source: Any, columns: Any, predicate: Any, rows: Any, size: Any) -> Iterator[pl.DataFrame]:
            self.predicates.append(predicate)
            for frame in frames(source, columns, predicate, rows, size):
                self.sizes.append(frame.height)
                yield frame

        monkeypatch.setattr(_Source, "frames", spy)


def test_frames_come_one_after_the_other_in_the_size_that_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    asked = Asked(monkeypatch)
    assert ls.polars.scan(MULTI, batch_size=7).collect().height == sum(asked.sizes)
    assert max(asked.sizes) == 7
    source = _Source(partial(ls.Log, MULTI), ReadOptions(columns=["offset"]), {}, [])
    assert {frame.height for frame in source.frames(None, None, None, 5)} <= {1, 2, 3, 4, 5}
    assert [frame.height for frame in source.frames(None, None, 8, 5)] == [5, 3]
    assert [frame.height for frame in source.frames(["offset"], col("offset") > 3, 2, None)] == [2]
    assert list(source.frames(None, None, 0, None)) == []


A, B = ("a", 0), ("b", None)
T = EPOCH + timedelta(milliseconds=5, microseconds=1)
UNDERSTOOD = [
    (col("offset") == 5, Bounds(5, 6), Bounds(5, 6)),
    (col("offset") > 5, Bounds(6), Bounds(6)),
    (col("offset").is_between(3, 5, closed="right"), Bounds(4, 6), Bounds(4, 6)),
    (col("offset").is_in([3, 9]), Bounds(3, 10), Bounds(3, 10)),
    (~(col("offset") > 3), Bounds(None, 4), Bounds(None, 4)),
    ((col("offset") < 2) & (col("offset") > 2), None, None),
    ((col("offset") < 2) | (col("offset") == 8), Bounds(None, 9), Bounds(None, 9)),
    ((col("offset") < 2) | (col("magic") == 1), Bounds(), Bounds()),
    (col("offset") > 2**63 - 1, None, None),
    (col("offset") + 1 > 5, Bounds(), Bounds()),
    (col("offset") > 1.5, Bounds(), Bounds()),
    (col("timestamp") > T, Bounds(timestamp=5), Bounds(timestamp=5)),
    (col("timestamp") < T, Bounds(), Bounds()),
    (col("timestamp") >= EPOCH - timedelta(milliseconds=1), Bounds(), Bounds()),
    (col("timestamp").is_in([None, T], nulls_equal=True), Bounds(), Bounds()),
    (col("timestampMs") >= 7, Bounds(timestamp=7), Bounds(timestamp=7)),
    (col("topic") == "a", Bounds(), None),
    (col("topic").is_in(["b", "c"]), None, Bounds()),
    (col("topic") < "b", Bounds(), None),
    (col("partition") <= 0, Bounds(), None),
    (col("partition") == pl.lit(0, pl.Int64), Bounds(), None),
    (col("partition").is_in([None, 3], nulls_equal=True), None, Bounds()),
    (col("partition").is_in([None, 3]), None, None),
    ((col("topic") == "a") & (col("offset") < 3) | (col("topic") == "b") & (col("timestamp") >= T), Bounds(None, 3), Bounds(timestamp=5)),
    (pl.lit(False), None, None),
]


@pytest.mark.parametrize(("predicate", "of_a", "of_b"), UNDERSTOOD, ids=[str(index) for index in range(len(UNDERSTOOD))])
def test_predicates_become_bounds_of_each_partition(
    predicate: pl.Expr, of_a: Bounds | None, of_b: Bounds | None, monkeypatch: pytest.MonkeyPatch
):
    """In the form in which Polars hands them on: should a later one write them in another way, this tells."""
    asked = Asked(monkeypatch)
    ls.polars.scan(MULTI, columns=COLUMNS).filter(predicate).collect()
    condition = condition_of(asked.predicates[-1])
    assert (condition(A), condition(B)) == (of_a, of_b)


def test_an_unsupported_predicate_prunes_nothing():
    deep = col("offset") > 1
    for value in range(3000):
        deep = deep & (col("offset") != value)
    for predicate in (deep, col("offset").cum_sum() > 3, None):
        assert condition_of(predicate)(A) == Bounds()


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_damage_is_the_error_that_decode_raises(tree: Path, engine: Any):
    path = tree / "orders-1" / f"{1000:020}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ls.ChecksumError) as expected:
        ls.Log(tree).records().read_all()
    with pytest.raises(ls.ChecksumError) as raised:
        ls.polars.scan(tree).collect(engine=engine)
    assert (str(raised.value), raised.value.position) == (str(expected.value), expected.value.position)
    assert ls.polars.scan(tree).filter(col("partition") == 0).collect(engine=engine).height == 6000
    findings: list[ls.Finding] = []
    skipped = ls.polars.scan(tree, on_error="skip", findings=findings).filter(col("offset") >= 900).collect(engine=engine)
    assert 6000 < skipped.height < 4 * 2100
    assert [finding.severity for finding in findings] == ["error"]
    assert str(path) in findings[0].path


def test_a_skipping_scan_gives_what_decode_gives_whatever_damaged_headers_claim(tree: Path):
    """A batch whose offsets and times claim to be beyond the wanted ones hides none behind it."""
    path = tree / "orders-0" / f"{1000:020}.log"
    data = bytearray(path.read_bytes())
    positions = [row["position"] for row in ls.batches(bytes(data)).to_pylist()]
    for at in positions[50:60]:
        data[at : at + 8] = (10**12).to_bytes(8, "big")
        data[at + 35 : at + 43] = bytes(8)
    path.write_bytes(data)
    whole = ls.decode(bytes(data), on_error="skip", columns=["offset", "value"]).to_polars()
    frame = ls.polars.scan(path, on_error="skip", columns=["offset", "value", "timestamp"])
    for is_indexed in (True, False):
        for predicate in (col("offset").is_between(1200, 1900), col("offset") >= 1700, col("offset") < 1800):
            assert_frame_equal(frame.filter(predicate).select("offset", "value").collect(), whole.filter(predicate))
        if is_indexed:
            path.with_suffix(".index").unlink()


def test_committed_reads_are_those_of_a_log():
    for predicate in (col("offset") >= 0, col("offset").is_between(30, 60)):
        whole = ls.Log(TRANSACTIONS).records(columns=["offset", "value"], isolation="read_committed").to_polars()
        frame = ls.polars.scan(TRANSACTIONS, columns=["offset", "value"], isolation="read_committed")
        assert_frame_equal(frame.filter(predicate).collect(), whole.filter(predicate))


def test_what_polars_holds_shows_no_key():
    source = _Source(partial(ls.Log, tiered.BUCKET, decryption_keys=tiered.KEYS), ReadOptions(), {}, [])
    assert not tiered.leaks(repr(source))
    assert tiered.leaks(repr(source.log)), "the keys are there to be shown"


def test_tiered_storage_is_scanned_as_a_log_is():
    log = ls.Log(tiered.BUCKET, decryption_keys=tiered.KEYS)
    names = ["topic", "partition", "offset", "timestamp", "value"]
    whole = log.records(columns=names).to_polars()
    frame = ls.polars.scan(tiered.BUCKET, decryption_keys=tiered.KEYS, columns=names)
    middle = whole["timestamp"].sort()[whole.height // 2]
    for predicate in (col("offset") >= 0, col("offset").is_between(5, 20), col("timestamp") >= middle, col("topic") == whole["topic"][-1]):
        assert_frame_equal(frame.filter(predicate).collect(), whole.filter(predicate))


def test_an_unreadable_upload_is_reported(tmp_path: Path):
    paths = tiered.Uploader(tmp_path, "payments").partition(TRANSACTIONS)
    paths[2].with_suffix(".rsm-manifest").write_text("{")
    findings: list[ls.Finding] = []
    frame = ls.polars.scan(tmp_path, columns=["offset", "value"], on_error="skip", findings=findings)
    stream = ls.Log(tmp_path).records(columns=["offset", "value"], on_error="skip")
    assert_frame_equal(frame.collect(), stream.to_polars())
    assert sorted(map(str, findings)) == sorted(map(str, stream.findings))
    assert [finding.severity for finding in findings] == ["error"]
    with pytest.raises(ls.tiered.ManifestError):
        ls.polars.scan(tmp_path).collect()


def test_duckdb_asks_the_lazy_frame_for_the_columns_and_rows_that_it_wants(tree: Path):
    records, stats = counted(tree, binary="binary")
    with duckdb.connect() as connection:
        connection.register("records", records)
        query = 'select topic, max("offset") from records where "offset" between 1500 and 1502 and topic = \'orders\' group by topic'
        assert connection.execute(query).fetchall() == [("orders", 1502)]
    assert (stats["bytes_copied"], stats["entries_read"] < 10) == (0, True)


def test_invalid_arguments_are_rejected_by_the_call(tmp_path: Path):
    with pytest.raises(ValueError, match="unknown record column"):
        ls.polars.scan(tmp_path, columns=["offest"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'start_offset'"):
        ls.polars.scan(tmp_path, start_offset=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="one string"):
        ls.polars.scan(tmp_path, columns="offset")


def test_a_tree_that_grows_is_listed_anew(tmp_path: Path):
    make_partition(tmp_path, "orders", 0, [[0, 1]])
    frame = ls.polars.scan(tmp_path)
    assert frame.collect().height == 2
    shutil.copytree(tmp_path / "orders-0", tmp_path / "orders-1")
    assert frame.collect().height == 4


def test_without_polars_there_is_a_hint():
    code = (
        "import sys; sys.modules['polars'] = None\n"
        "import logsegment as ls\n"
        "try: ls.polars.scan('.')\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert 'pip install "logsegment[polars]"' in done.stdout
