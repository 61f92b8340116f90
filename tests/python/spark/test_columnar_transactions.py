"""Committed reads by the columnar reader: the rows and the errors of the Python reader, with the transactions in the data of the tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import both_readers
import corpus
import damaged_marker
from spark_session import columnar_options

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built: it needs a JDK"),
]

COMMITTED = {"isolation": "read_committed"}
PARTITIONS = [partition for partition in corpus.partitions() if "read_committed" in partition.consumed]
DAMAGED = [(how, border) for how in damaged_marker.DAMAGE for border in damaged_marker.BORDERS]


@pytest.mark.parametrize("cut", [{}, {"minPartitions": "3"}, {"maxRecordsPerPartition": "7"}], ids=str)
def test_committed_records_are_those_of_the_python_reader(spark: SparkSession, cut: dict[str, str]):
    assert PARTITIONS
    for partition in PARTITIONS:
        directory = partition.segments[0].path.parent
        options = {"includeHeaders": "true", **COMMITTED, **cut}
        both_readers.ensure_equal(both_readers.in_python(directory, **options), both_readers.in_jvm(spark, directory, **options), directory)


def test_a_pruned_query_counts_committed_records_only(spark: SparkSession):
    directory = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
    committed = both_readers.frame_of(spark, directory, **COMMITTED)
    assert committed.count() == len(both_readers.in_python(directory, **COMMITTED))
    assert 0 < committed.count() < both_readers.frame_of(spark, directory).count()


@pytest.mark.parametrize("damage", DAMAGED[::5], ids=str)
def test_an_undecided_transaction_is_the_error_of_the_python_reader(spark: SparkSession, damage: tuple[str, str], tmp_path: Path):
    """TRX-5."""
    log = damaged_marker.case(tmp_path, *damage)
    python, columnar = both_readers.in_python(log.directory, **COMMITTED), both_readers.in_jvm(spark, log.directory, **COMMITTED)
    both_readers.ensure_equal(python, columnar)


def test_records_of_an_open_transaction_are_left_out(spark: SparkSession, tmp_path: Path):
    found = damaged_marker.entries()
    open_from_14 = {offset: entry for offset, entry in found.items() if offset != 17}
    log = damaged_marker.written(tmp_path, open_from_14, (0, 12), {})
    table = both_readers.in_jvm(spark, log.directory, **COMMITTED)
    assert not isinstance(table, str)
    assert sorted(table["offset"].to_pylist()) == [2, 3, 4, 7, 9, 10]
    both_readers.ensure_equal(both_readers.in_python(log.directory, **COMMITTED), table)
