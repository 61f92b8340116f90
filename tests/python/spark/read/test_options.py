"""The batch options in a real Spark, and what it tells its users."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from made_logs import START, Made, make_partition

pytestmark = pytest.mark.spark

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Made]]:
    root = tmp_path_factory.mktemp("tree")
    made = make_partition(root, "orders", 0, [list(range(100)), list(range(100, 250)), list(range(250, 300))])
    made += make_partition(root, "orders", 1, [list(range(0, 90, 3)), list(range(120, 200, 7))])
    made += make_partition(root, "payments", 0, [list(range(1000, 1100)), list(range(1100, 1150))])
    return root, made


@pytest.fixture(params=["true", "false"])
def pushdown(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[bool]:
    spark.conf.set(PUSHDOWN, request.param)
    yield request.param == "true"
    spark.conf.unset(PUSHDOWN)


def load(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("logsegment").options(**options).load(str(path))


def places(frame: DataFrame) -> list[tuple[str, int, int]]:
    return sorted((row.topic, row.partition, row.offset) for row in frame.select("topic", "partition", "offset").collect())


def expected(
    made: list[Made], start: int = 0, end: int = 2**63, topics: tuple[str, ...] = ("orders", "payments")
) -> list[tuple[str, int, int]]:
    return sorted(
        (segment.topic, segment.partition, segment.offset) for segment in made if segment.topic in topics and start <= segment.offset < end
    )


def test_a_query_over_kafka_goes_on_working_with_a_path_for_its_servers(spark: SparkSession, tree: tuple[Path, list[Made]]):
    path, made = tree
    ends = {"orders": {"0": 260, "1": -1}}
    frame = load(
        spark,
        path,
        **{"kafka.bootstrap.servers": "host:9092", "subscribe": "orders", "startingOffsets": "earliest"},
        endingOffsets=json.dumps(ends),
        includeHeaders="true",
        failOnDataLoss="false",
    )
    assert frame.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
    assert places(frame) == [place for place in expected(made, topics=("orders",)) if place[1] == 1 or place[2] < 260]


def test_times_and_patterns(spark: SparkSession, tree: tuple[Path, list[Made]]):
    path, made = tree
    told = {"subscribePattern": "^pay", "startingTimestamp": str(START + 1020), "endingTimestamp": str(START + 1110)}
    assert places(load(spark, path, **told)) == expected(made, 1020, 1110, ("payments",))


def test_tasks_are_cut_as_asked_for(spark: SparkSession, tree: tuple[Path, list[Made]]):
    path, made = tree
    frame = load(spark, path, maxRecordsPerPartition="50", assign='{"orders":[0],"payments":[0]}')
    assert frame.rdd.getNumPartitions() == 2 + 3 + 1 + 2 + 1
    assert places(frame) == [place for place in expected(made) if place[:2] != ("orders", 1)]


def test_nothing_to_read_is_no_rows(spark: SparkSession, tree: tuple[Path, list[Made]]):
    assert load(spark, tree[0], subscribePattern="^none").count() == 0


FILTERS = [
    "offset = 120",
    "offset > 97 and offset < 103",
    "offset >= 249 and offset <= 1000",
    "offset in (3, 299, 1149) and partition = 0",
    "topic = 'payments' and offset is not null",
    "topic in ('orders', 'none') and partition >= 1",
    f"timestamp >= timestamp_millis({START + 1100})",
    f"timestamp = timestamp_millis({START + 7})",
    f"timestamp < timestamp_millis({START + 7}) or offset = 1",
    "partition = 7",
    "offset % 50 = 1 and not (offset = 51)",
    "topic like 'ord%' and offset < 5",
    "topic like '%ments' and topic like '%y%'",
    "topic <> 'orders'",
    "topic <=> 'orders' and partition not in (0, 5)",
    "topic > 'orders' or topic is null",
    "topic >= 'orders' and topic < 'p' and partition < 1",
]


def test_filters_give_the_same_pushed_or_not(spark: SparkSession, tree: tuple[Path, list[Made]], pushdown: bool):
    """With pushdown switched off in Spark, the option does nothing and breaks nothing."""
    whole = load(spark, tree[0]).coalesce(1).cache()
    for text in FILTERS if pushdown else FILTERS[:2]:
        found = load(spark, tree[0], pushFilters="true").where(text)
        assert places(found.coalesce(1)) == places(whole.where(text)), text
    whole.unpersist()


def test_a_frame_for_each_side_of_a_union_gives_all_rows(spark: SparkSession, tree: tuple[Path, list[Made]]):
    """PySpark 4.3 plans both sides of one frame as the last one: the guide and a warning say so. The last line tells when it is mended."""
    spark.conf.set(PUSHDOWN, "true")
    try:
        texts = ("offset < 20 and topic = 'orders'", "offset > 1130")
        one, other = (load(spark, tree[0], pushFilters="true").where(text) for text in texts)
        right = sorted(expected(tree[1], 0, 20) + expected(tree[1], 1131))
        assert places(one.union(other)) == right
        frame = load(spark, tree[0], pushFilters="true")
        # The columnar reader has a plan of its own for each side.
        is_planned_apart = spark.conf.get("spark.logsegment.reader") == "auto"
        assert (places(frame.where(texts[0]).union(frame.where(texts[1]))) == right) == is_planned_apart
    finally:
        spark.conf.unset(PUSHDOWN)


def test_pushed_filters_spare_tasks(spark: SparkSession, tree: tuple[Path, list[Made]]):
    spark.conf.set(PUSHDOWN, "true")
    try:
        frame = load(spark, tree[0], pushFilters="true")
        assert frame.rdd.getNumPartitions() == 3
        assert frame.where("topic = 'orders' and offset between 110 and 120").rdd.getNumPartitions() == 2
        assert frame.where(f"timestamp >= timestamp_millis({START + 1100})").rdd.getNumPartitions() == 1
        for text in ("topic like 'pay%'", "topic like '%ments'", "topic like '%aym%'", "topic <> 'orders'", "partition > 0"):
            assert frame.where(text).rdd.getNumPartitions() == 1, text
        assert frame.where("partition not in (0, 7)").select("partition").distinct().collect() == [(1,)]
    finally:
        spark.conf.unset(PUSHDOWN)


def test_times_mean_the_same_in_every_time_zone_of_a_session(spark: SparkSession, tree: tuple[Path, list[Made]]):
    path, made = tree
    zone = spark.conf.get("spark.sql.session.timeZone")
    wanted = sorted((segment.topic, segment.partition, segment.offset) for segment in made if segment.timestamp >= START + 1100)
    for other in ("America/New_York", "Asia/Kolkata"):
        spark.conf.set("spark.sql.session.timeZone", other)
        spark.conf.set(PUSHDOWN, "true")
        try:
            pushed = load(spark, path, pushFilters="true").where(f"timestamp >= timestamp_millis({START + 1100})")
            assert pushed.rdd.getNumPartitions() == 1
            assert places(pushed) == wanted
            assert load(spark, path).where(f"unix_millis(timestamp) - offset <> {START}").count() == 0
        finally:
            spark.conf.set("spark.sql.session.timeZone", zone)
            spark.conf.unset(PUSHDOWN)


def test_columns_that_are_named_are_built_and_no_others(spark: SparkSession, tree: tuple[Path, list[Made]]):
    frame = load(spark, tree[0], columns="offset, producerId")
    assert frame.columns == ["offset", "producerId"]
    assert frame.count() == len(tree[1])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"startingOffsets": "latest"}, "option startingOffsets must not be latest in a batch query"),
        (
            {"startingOffsets": '{"orders":{"0":0}}', "subscribe": "orders"},
            "must name all topic-partitions that are read .*: orders-1 is missing",
        ),
        ({"subscribe": "ordres"}, "no such topic: ordres; there are orders, payments"),
        ({"upTo": "logEnd"}, "option upTo is not valid in a batch query"),
        ({"startingOffset": "earliest"}, r"unknown option startingoffset \(did you mean startingOffsets\?\)"),
    ],
)
def test_a_mistake_is_one_readable_message(spark: SparkSession, tree: tuple[Path, list[Made]], options: dict[str, str], told: str):
    with pytest.raises(AnalysisException, match=told):
        load(spark, tree[0], **options).count()


def test_a_segment_that_goes_away_is_one_readable_message(spark: SparkSession, tmp_path: Path):
    make_partition(tmp_path, "orders", 0, [list(range(10)), list(range(10, 20))])
    frame = load(spark, tmp_path)
    lenient = load(spark, tmp_path, failOnDataLoss="false")
    assert frame.rdd.getNumPartitions() == lenient.rdd.getNumPartitions() == 1
    rows, left = frame.rdd, lenient.rdd
    (tmp_path / "orders-0" / f"{0:020}.log").unlink()
    with pytest.raises(Exception, match=r"FileNotFoundError: .*set failOnDataLoss to false"):
        rows.count()
    assert sorted(row.offset for row in left.collect()) == list(range(10, 20))
