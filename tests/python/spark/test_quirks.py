"""The options `quirks`, `zstdDictionaries` and `format` of reads in Spark, in both readers, in the view of findings, and in functions."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import both_readers
import building
import hostile
import logsegment as ls
from logsegment.spark.options.read import parse_options
from spark_session import columnar_options

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not columnar_options(), reason="the columnar reader is not built: it needs a JDK"),
]

NAME = "00000000000000000000.log"
CASES = {"v2-lz4-kafka-broken-checksum": "lz4-header-checksum", "v2-lz4-dependent-blocks": "lz4-dependent-blocks"}


def partition_of(tmp_path: Path, data: bytes) -> Path:
    partition = tmp_path / "orders-0"
    partition.mkdir()
    (partition / NAME).write_bytes(data)
    return partition


@pytest.mark.parametrize("name", CASES)
def test_both_readers_take_quirks_and_name_them(spark: SparkSession, tmp_path: Path, name: str):
    data = next(case for case in hostile.cases() if case.name == name).read()
    partition, quirk = partition_of(tmp_path, data), CASES[name]
    wanted = ls.decode(data, columns=["offset"], quirks=[quirk]).to_pyarrow()["offset"].to_pylist()
    for options in ({"quirks": quirk}, {"quirks": f" {quirk} , lz4-header-checksum"}):
        python, columnar = both_readers.in_python(partition, **options), both_readers.in_jvm(spark, partition, **options)
        both_readers.ensure_equal(python, columnar, options)
        assert isinstance(python, pa.Table)
        assert python["offset"].to_pylist() == wanted
    for refused in (both_readers.in_python(partition), both_readers.in_jvm(spark, partition)):
        assert isinstance(refused, str)
        assert f"readable with the quirk {quirk}" in refused
        assert "set the option unreadable to skip" in refused
    skipped = both_readers.in_jvm(spark, partition, unreadable="skip")
    both_readers.ensure_equal(both_readers.in_python(partition, unreadable="skip"), skipped)
    view = spark.read.format("logsegment").option("view", "findings")
    severities = {
        row.severity
        for options, wanted in (({}, "error"), ({"quirks": quirk}, "warning"))
        for row in view.options(**options).load(str(partition)).collect()
        if row.rule.startswith("COD-L") and row.severity != wanted
    }
    assert severities == set()


def test_both_readers_take_dictionaries(spark: SparkSession, tmp_path: Path):
    zstandard = pytest.importorskip("zstandard")
    samples = [f"the record number {number} of the topic orders of shop {number % 7}".encode() for number in range(2000)]
    dictionary = zstandard.train_dictionary(4096, samples)
    packed = zstandard.ZstdCompressor(dict_data=dictionary).compress(building.record(value=samples[7]))
    partition = partition_of(tmp_path, building.batch(packed, count=1, attributes=building.ZSTD))
    file = tmp_path / "orders.dict"
    file.write_bytes(dictionary.as_bytes())
    for given in (str(file), f'["{file}"]'):
        python, columnar = (
            both_readers.in_python(partition, zstdDictionaries=given),
            both_readers.in_jvm(spark, partition, zstdDictionaries=given),
        )
        both_readers.ensure_equal(python, columnar)
        assert isinstance(python, pa.Table)
        assert python["value"].to_pylist() == [samples[7]]
    assert "needs the dictionary" in str(both_readers.in_jvm(spark, partition))


def test_both_readers_read_a_proposal_by_name(spark: SparkSession, tmp_path: Path):
    first, second = ls.encode(pa.table({"value": [b"a"]})), ls.encode(pa.table({"value": [b"b"]}), format="v3", base_offset=1)
    partition = partition_of(tmp_path, first + second)
    python, columnar = both_readers.in_python(partition, format="v3"), both_readers.in_jvm(spark, partition, format="v3")
    both_readers.ensure_equal(python, columnar)
    assert isinstance(python, pa.Table)
    assert python["value"].to_pylist() == [b"a", b"b"]
    for refused in (both_readers.in_python(partition), both_readers.in_jvm(spark, partition)):
        assert 'format="v3"' in str(refused)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"quirks": "lz5"}, 'option quirks must be "lz4-header-checksum" or "lz4-dependent-blocks", not \'lz5\''),
        ({"format": "v2"}, "option format must be auto or v3, not 'v2'"),
        ({"zstdDictionaries": "["}, "option zstdDictionaries must be paths"),
        ({"experimental": "true"}, "unknown option experimental"),
    ],
)
def test_invalid_values_are_errors(tmp_path: Path, options: dict[str, str], text: str):
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_options({"path": str(tmp_path), **options})
