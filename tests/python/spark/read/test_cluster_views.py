"""The views of a cluster in Spark are the tables of `ls.cluster`."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import corpus
import logsegment as ls
from logsegment.analysis.cluster import VIEWS

KILLED = str(corpus.TESTS / "cluster/broker")


def test_each_view_is_the_table_of_its_name(spark: SparkSession) -> None:
    expected = ls.cluster(KILLED)
    for view in VIEWS:
        frame = spark.read.format("logsegment").option("view", view).load(KILLED)
        assert frame.columns == expected.view(view).column_names
        rows = [row.asDict() for row in frame.collect()]
        assert rows == expected.view(view).to_pylist(), view


def test_a_query_names_columns(spark: SparkSession) -> None:
    lag = spark.read.format("logsegment").option("view", "lag").load(KILLED)
    assert lag.where("lag > 0").groupBy("group").sum("lag").orderBy("group").collect()[0].asDict() == {"group": "classic", "sum(lag)": 2}


@pytest.mark.parametrize(("options", "message"), [({"mode": "PERMISSIVE"}, "option mode is not valid in the view topics")])
def test_options_of_other_views(spark: SparkSession, options: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        spark.read.format("logsegment").options(view="topics", **options).load(KILLED).collect()
