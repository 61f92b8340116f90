"""The data source's modes at damage, in a real Spark: what fails, what is told, what is left out."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import datasource as filters
from pyspark.sql import functions as F

import building
import corpus
import logsegment as ls
from corpus import Row, rows_of
from logsegment.spark import LogSegmentSource
from made_logs import START, make_partition

pytestmark = pytest.mark.spark

SEGMENT = corpus.CORPUS / "modern-4.1.0/data/codec-none-0/00000000000000000000.log"
KAFKA_COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
FINDING = "rule string, severity string, message string, path string, position bigint, length bigint, baseOffset bigint, lastOffset bigint"


@pytest.fixture(scope="module")
def batches() -> list[Row]:
    """The batches of `SEGMENT`."""
    return rows_of(ls.batches(SEGMENT.read_bytes()))


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory, batches: list[Row]) -> Path:
    """The second batch has a wrong checksum (V2-31), the fifth a length that is none (L8-11), and the file ends inside the last."""
    data = bytearray(SEGMENT.read_bytes())
    data[batches[1]["position"] + 70] ^= 1
    data[batches[4]["position"] + 8 : batches[4]["position"] + 12] = (-5).to_bytes(4, signed=True)
    path = tmp_path_factory.mktemp("damaged") / "orders-5" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(data[:-10])
    return path


def load(spark: SparkSession, path: Path, schema: str | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("logsegment").options(**options)
    return (reader.schema(schema) if schema else reader).load(str(path))


def offsets(frame: DataFrame) -> list[int]:
    return [row["offset"] for row in frame.select("offset").orderBy("offset").collect()]


def kept(batches: list[Row], *left_out: int) -> list[int]:
    """Offsets of all batches but those of these numbers, and of the last, which is cut."""
    left = {len(batches) - 1, *left_out}
    return [offset for index, row in enumerate(batches) if index not in left for offset in range(row["baseOffset"], row["lastOffset"] + 1)]


@pytest.mark.parametrize("options", [{}, {"mode": "FAILFAST"}, {"mode": "failfast", "columnNameOfCorruptRecord": "bad"}])
def test_failfast_is_the_default_and_leaves_the_schema_a_drop_in(spark: SparkSession, damaged: Path, options: dict[str, str]):
    frame = load(spark, damaged, **options)
    assert frame.columns == KAFKA_COLUMNS
    with pytest.raises(PythonException, match=r"logsegment.ChecksumError: .*orders-5.*\[V2-31\]"):
        frame.count()


SKIPPING = "set the option mode to PERMISSIVE or DROPMALFORMED to skip damage"


@pytest.mark.parametrize("options", [{}, {"view": "batches"}, {"startingTimestamp": "1", "startingOffsetsByTimestampStrategy": "latest"}])
def test_an_error_of_damage_names_the_option_that_skips_it(spark: SparkSession, damaged: Path, options: dict[str, str]):
    with pytest.raises(Exception, match=rf"ChecksumError: .*\[V2-31\].*; {SKIPPING}|CorruptError: .*\[L8-11\].*; {SKIPPING}"):
        load(spark, damaged, **options).count()


def test_an_error_that_no_mode_avoids_names_none(spark: SparkSession, tmp_path: Path):
    path = tmp_path / "orders-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_text("not a segment at all")
    with pytest.raises(PythonException, match="not a log segment: looks like text") as raised:
        load(spark, path).count()
    assert SKIPPING not in str(raised.value)


def test_permissive_gives_a_row_for_each_damaged_place(spark: SparkSession, damaged: Path, batches: list[Row]):
    frame = load(spark, damaged, mode="PERMISSIVE")
    assert frame.columns == [*KAFKA_COLUMNS, "_corrupt_record"]
    assert frame.schema["_corrupt_record"].simpleString() == "_corrupt_record:string"
    assert frame.schema["_corrupt_record"].nullable
    intact = frame.where("_corrupt_record is null")
    assert offsets(intact) == kept(batches, 1, 4)
    assert rows_of(intact.select("key", "value", "offset").toArrow()) == rows_of(
        ls.decode(damaged.read_bytes(), columns=["key", "value", "offset"], on_error="skip")
    )
    bad = frame.where("_corrupt_record is not null").collect()
    found = sorted((json.loads(row["_corrupt_record"]) for row in bad), key=lambda span: span["position"])
    assert [(finding["rule"], finding["position"]) for finding in found] == [
        ("V2-31", batches[1]["position"]),
        ("L8-11", batches[4]["position"]),
    ]
    assert {row["path"] for row in found} == {str(damaged)}
    assert found[0]["baseOffset"] == batches[1]["baseOffset"]
    for row in bad:
        assert (row["topic"], row["partition"]) == ("orders", 5)
        assert row["offset"] == json.loads(row["_corrupt_record"])["baseOffset"]
        assert [row[name] for name in ("key", "value", "timestamp", "timestampType")] == [None] * 4


def test_the_text_is_json_that_spark_reads(spark: SparkSession, damaged: Path):
    bad = load(spark, damaged, mode="PERMISSIVE").where("_corrupt_record is not null")
    told = bad.select(F.from_json("_corrupt_record", FINDING).alias("found")).select("found.*")
    assert {(row["rule"], row["severity"], row["path"]) for row in told.collect()} == {
        ("V2-31", "error", str(damaged)),
        ("L8-11", "error", str(damaged)),
    }


def test_dropmalformed_leaves_out_what_is_damaged(spark: SparkSession, damaged: Path, batches: list[Row]):
    frame = load(spark, damaged, mode="DROPMALFORMED")
    assert frame.columns == KAFKA_COLUMNS
    assert offsets(frame) == kept(batches, 1, 4)


def test_the_corrupt_column_is_filled_only_where_the_schema_has_it(spark: SparkSession, damaged: Path, batches: list[Row]):
    """As in Spark's JSON and CSV sources."""
    without = load(spark, damaged, "offset bigint", mode="PERMISSIVE")
    assert offsets(without) == kept(batches, 1, 4)
    among = load(spark, damaged, "offset bigint, bad string, value binary", mode="PERMISSIVE", columnNameOfCorruptRecord="bad")
    assert among.columns == ["offset", "bad", "value"]
    assert among.where("bad is not null").count() == 2
    dropped = load(spark, damaged, "_corrupt_record string, offset bigint", mode="DROPMALFORMED")
    assert dropped.where("_corrupt_record is not null").count() == 0
    assert offsets(dropped) == kept(batches, 1, 4)
    sound = load(spark, SEGMENT, "offset bigint, _corrupt_record string")
    assert sound.where("_corrupt_record is not null").count() == 0
    assert offsets(sound) == kept([*batches, {}])


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        (None, {"mode": "LENIENT"}, "option mode must be FAILFAST, PERMISSIVE or DROPMALFORMED, not 'LENIENT'"),
        (
            None,
            {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "value"},
            "columnNameOfCorruptRecord: value is already the name of a column",
        ),
        (None, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": ""}, "columnNameOfCorruptRecord must be the name of a column"),
        ("offset bigint, _corrupt_record binary", {"mode": "PERMISSIVE"}, "column _corrupt_record .* must be a nullable string"),
        ("offset bigint, _corrupt_record string not null", {"mode": "PERMISSIVE"}, "column _corrupt_record .* must be a nullable string"),
    ],
)
def test_what_is_no_mode_or_column_is_refused(spark: SparkSession, damaged: Path, schema: str | None, options: Any, message: str):
    with pytest.raises(AnalysisException, match=message):
        load(spark, damaged, schema, **options).count()


def test_a_torn_tail_is_no_damage(spark: SparkSession, tmp_path: Path, batches: list[Row]):
    path = tmp_path / "orders-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(SEGMENT.read_bytes()[:-10])
    frame = load(spark, path, mode="PERMISSIVE")
    assert frame.where("_corrupt_record is not null").count() == 0
    assert offsets(frame) == kept(batches)


def test_damage_outside_of_the_wanted_offsets_is_not_reported(spark: SparkSession, damaged: Path, batches: list[Row]):
    start, end = batches[2]["baseOffset"], batches[4]["baseOffset"]
    ends = {"startingOffsets": f'{{"orders":{{"5":{start}}}}}', "endingOffsets": f'{{"orders":{{"5":{end}}}}}'}
    frame = load(spark, damaged, mode="PERMISSIVE", **ends)
    assert offsets(frame) == list(range(start, end))
    inside = load(spark, damaged, mode="PERMISSIVE", startingOffsets=f'{{"orders":{{"5":{batches[1]["baseOffset"]}}}}}')
    assert sorted(
        json.loads(row[0])["rule"] for row in inside.where("_corrupt_record is not null").select("_corrupt_record").collect()
    ) == [
        "L8-11",
        "V2-31",
    ]


def test_a_committed_read_goes_on_past_damage(spark: SparkSession, tmp_path: Path):
    """TXN-4: the transaction behind the damage is aborted, the one before it committed."""
    parts = [
        building.transactional_batch([b"kept"], 1, 0),
        building.marker(1, 1, 1),
        building.simple_batch([b"lost"], 2),
        building.transactional_batch([b"aborted"], 2, 3),
        building.marker(0, 2, 4),
        building.simple_batch([b"plain"], 5),
    ]
    broken = bytearray(parts[2])
    broken[-1] ^= 1
    path = tmp_path / "orders-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(b"".join([*parts[:2], bytes(broken), *parts[3:]]))
    frame = load(spark, path, mode="PERMISSIVE", isolation="read_committed")
    assert sorted((row["offset"], row["value"]) for row in frame.where("_corrupt_record is null").collect()) == [
        (0, b"kept"),
        (5, b"plain"),
    ]
    (bad,) = frame.where("_corrupt_record is not null").collect()
    assert (bad["offset"], json.loads(bad["_corrupt_record"])["rule"]) == (2, "V2-31")
    assert offsets(load(spark, path, mode="DROPMALFORMED", isolation="read_committed")) == [0, 5]


@pytest.mark.parametrize("cut", [{"minPartitions": "4"}, {"maxRecordsPerPartition": "7"}], ids=str)
def test_a_segment_that_is_cut_into_tasks_reports_damage_once(spark: SparkSession, damaged: Path, batches: list[Row], cut: dict[str, str]):
    frame = load(spark, damaged, mode="PERMISSIVE", **cut)
    # Headers behind those that cannot be read make no cuts by bytes.
    assert frame.rdd.getNumPartitions() > (8 if "maxRecordsPerPartition" in cut else 0)
    rules = [json.loads(row[0])["rule"] for row in frame.where("_corrupt_record is not null").select("_corrupt_record").collect()]
    assert sorted(rules) == ["L8-11", "V2-31"]
    assert offsets(frame.where("_corrupt_record is null")) == kept(batches, 1, 4)


@pytest.mark.parametrize("is_indexed", [True, False])
@pytest.mark.parametrize("field", [23, 8], ids=["lastOffsetDelta", "batchLength"])
def test_a_damaged_header_hides_no_valid_batch_from_any_task(tmp_path: Path, field: int, is_indexed: bool):
    """It claims all offsets to come, or all bytes: those that are cut or looked up by headers must not believe it."""
    make_partition(tmp_path, "orders", 0, [list(range(300))])
    log = tmp_path / "orders-0" / f"{0:020}.log"
    rows = rows_of(ls.batches(log.read_bytes()))
    (victim,) = [row for row in rows if row["baseOffset"] <= 100 <= row["lastOffset"]]
    data = bytearray(log.read_bytes())
    claimed = 1000 if field == 23 else rows[-1]["position"] - victim["position"] - 20
    data[victim["position"] + field : victim["position"] + field + 4] = claimed.to_bytes(4)
    log.write_bytes(data)
    if not is_indexed:
        log.with_suffix(".index").unlink()
    left = [offset for offset in range(300) if not victim["baseOffset"] <= offset <= victim["lastOffset"]]
    for options in (
        {},
        {"maxRecordsPerPartition": "7"},
        {"minPartitions": "9"},
        {"endingOffsets": '{"orders":{"0":290}}'},
        {"startingOffsets": '{"orders":{"0":95}}', "endingOffsets": '{"orders":{"0":200}}', "maxRecordsPerPartition": "13"},
        {"startingOffsets": f'{{"orders":{{"0":{victim["lastOffset"] + 1}}}}}'},
    ):
        start, end = (
            json.loads(options[name])["orders"]["0"] if name in options else None for name in ("startingOffsets", "endingOffsets")
        )
        wanted = [offset for offset in left if (start or 0) <= offset < (end or 300)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = read_here(log, mode="PERMISSIVE", **options)
        assert sorted(row["offset"] for row in found if row["_corrupt_record"] is None) == wanted, options
        bad = [json.loads(row["_corrupt_record"]) for row in found if row["_corrupt_record"] is not None]
        is_asked_for = (start or 0) <= victim["baseOffset"]
        assert [span["position"] for span in bad] == [victim["position"]] * is_asked_for, options


@pytest.mark.parametrize("is_indexed", [True, False])
@pytest.mark.parametrize(("field", "claimed"), [(8, 3000), (8, 1 << 20), (8, -5), (16, 0x7F000000)], ids=["some", "all", "none", "magic"])
def test_a_time_is_found_behind_a_damaged_header(tmp_path: Path, field: int, claimed: int, is_indexed: bool):
    """By the options that name one, and by a pushed filter, which spares nothing then."""
    make_partition(tmp_path, "orders", 0, [list(range(300))])
    log = tmp_path / "orders-0" / f"{0:020}.log"
    (victim,) = [row for row in rows_of(ls.batches(log.read_bytes())) if row["baseOffset"] <= 100 <= row["lastOffset"]]
    data = bytearray(log.read_bytes())
    data[victim["position"] + field : victim["position"] + field + 4] = claimed.to_bytes(4, signed=True)
    log.write_bytes(data)
    if not is_indexed:
        log.with_suffix(".timeindex").unlink()
    left = [offset for offset in range(300) if not victim["baseOffset"] <= offset <= victim["lastOffset"]]
    queries: list[tuple[dict[str, str], list[Any], range]] = [
        ({"startingTimestamp": str(START + 200)}, [], range(200, 300)),
        ({"startingTimestamp": str(START + 50), "endingTimestamp": str(START + 250)}, [], range(50, 250)),
        ({"pushFilters": "true"}, [filters.GreaterThanOrEqual(("timestamp",), at(START + 200))], range(200, 300)),
    ]
    for options, pushed, wanted in queries:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = read_here(log, pushed, mode="PERMISSIVE", **options)
        offsets = {row["offset"] for row in found if row["_corrupt_record"] is None}
        assert sorted(offsets & {*wanted}) == [offset for offset in left if offset in wanted], options
        assert pushed or offsets <= {*wanted}


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def read_here(path: Path, pushed: Sequence[Any] = (), **options: str) -> list[Row]:
    """Rows of a reader without Spark around it."""
    source = LogSegmentSource({"path": str(path), **options})
    reader = source.reader(source.schema())
    if pushed:
        reader.pushFilters(pushed)
    return [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]
