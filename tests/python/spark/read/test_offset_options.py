"""The options that say what a batch query reads, against Spark's own rules for them (`KafkaSourceProvider`, `KafkaOffsetReaderAdmin`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from logsegment.spark.options.names import BATCH, STREAM, WRITE, ensure_known, ensure_known_somewhere
from logsegment.spark.options.offsets import EARLIEST, LATEST, OffsetLimit, batch_limits, by_topic, ensure_assigned, parse_offsets
from logsegment.spark.options.read import parse_options
from logsegment.spark.options.topics import TopicPartition, TopicSelection, discover, parse_selection

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def limits(**options: str) -> tuple[OffsetLimit, OffsetLimit]:
    return batch_limits({name.lower(): value for name, value in options.items()})


def test_all_that_is_there_is_read_by_default():
    assert limits() == (OffsetLimit(everywhere=EARLIEST), OffsetLimit(everywhere=LATEST))


def test_words_and_json_are_taken_with_blanks_and_in_any_case():
    assert limits(startingOffsets=" EARLIEST ", endingOffsets="Latest") == limits()
    start, end = limits(startingOffsets=' {"a":{"0":5,"1":-2}} ', endingOffsets='{"a":{"0":9,"1":-1}}')
    assert (start.offsets, end.offsets) == ({A0: 5, A1: -2}, {A0: 9, A1: -1})


def test_a_time_for_all_goes_before_times_for_each_and_these_before_offsets():
    told = {"startingOffsets": "earliest", "startingOffsetsByTimestamp": '{"a":{"0":7}}', "startingTimestamp": " 9 "}
    assert limits(**told)[0] == OffsetLimit(timestamp=9)
    del told["startingTimestamp"]
    assert limits(**told)[0] == OffsetLimit(timestamps={A0: 7})
    told["startingOffsetsByTimestampStrategy"] = "LATEST"
    assert limits(**told)[0].no_match == "latest"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets must not be latest in a batch query"),
        ({"endingOffsets": "earliest"}, "endingOffsets must not be earliest in a batch query"),
        ({"startingOffsets": '{"a":{"0":-1}}'}, r"startingOffsets must not be latest \(-1\) in a batch query, as it is for a-0"),
        ({"endingOffsets": '{"a":{"0":-2}}'}, r"endingOffsets must not be earliest \(-2\) in a batch query, as it is for a-0"),
        ({"startingOffsets": '{"a":{"0":-3}}'}, "startingOffsets: -3 for a-0 is not an offset; -2 means earliest"),
        ({"endingOffsets": '{"a":{"0":5,"1":-9}}'}, "endingOffsets: -9 for a-1 is not an offset"),
        ({"startingOffsets": "yesterday"}, "startingOffsets must be like .*, not 'yesterday'"),
        ({"startingOffsets": '{"a":[0]}'}, "startingOffsets must be like"),
        ({"startingOffsets": '{"a":{"x":0}}'}, "startingOffsets must be like"),
        ({"startingOffsets": '{"a":{"0":1.5}}'}, "startingOffsets must be like"),
        ({"startingOffsets": ""}, "startingOffsets must be like"),
        ({"startingTimestamp": "noon"}, "startingTimestamp must be one number of milliseconds since 1970, not 'noon'"),
        ({"endingTimestamp": str(2**63)}, "endingTimestamp must be a number of 64 bits"),
        ({"endingOffsetsByTimestamp": "7"}, "endingOffsetsByTimestamp must be like"),
        ({"startingOffsetsByTimestampStrategy": "earliest"}, "startingOffsetsByTimestampStrategy must be error or latest"),
        ({"startingOffsets": '{"a":{"0":5}}', "endingOffsets": '{"a":{"0":4}}'}, "5 and 4 for a-0"),
        ({"startingOffsets": '{"a":{"0":5}}', "endingOffsets": '{"b":{"0":9}}'}, "must name the same topic-partitions; only one names a-0"),
        (
            {"startingOffsetsByTimestamp": '{"a":{"0":5}}', "endingOffsetsByTimestamp": '{"a":{"0":4}}'},
            "startingOffsetsByTimestamp must not be after endingOffsetsByTimestamp",
        ),
    ],
)
def test_what_spark_refuses_is_refused(options: dict[str, str], told: str):
    with pytest.raises(ValueError, match=told):
        limits(**options)


def test_offsets_must_name_all_that_is_read_and_nothing_else():
    limit = OffsetLimit(offsets={A0: 5})
    ensure_assigned(limit, {A0: None}, "starting")
    with pytest.raises(ValueError, match=r"startingOffsets .*: a-1 is missing"):
        ensure_assigned(limit, {A0: None, A1: None}, "starting")
    with pytest.raises(ValueError, match=r"endingOffsetsByTimestamp must name .*: a-0 is not read$"):
        ensure_assigned(OffsetLimit(timestamps={A0: 5}), {}, "ending")


def test_offsets_are_written_as_spark_writes_them_and_read_again():
    offsets = {TopicPartition("b", 0): -2, A1: 7, A0: 2**62, TopicPartition("a", 10): -1}
    text = json.dumps(by_topic(offsets), separators=(",", ":"))
    assert text == '{"a":{"0":4611686018427387904,"1":7,"10":-1},"b":{"0":-2}}'
    assert parse_offsets(text, "startingOffsets") == offsets


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"subscribe": "a", "assign": '{"a":[0]}'}, "options subscribe and assign: only one of"),
        ({"subscribe": " , "}, "subscribe must be names of topics"),
        ({"subscribepattern": " "}, "subscribePattern must be a regular expression"),
        ({"subscribepattern": "("}, "subscribePattern must be a regular expression, not '\\('"),
        ({"assign": "a-0"}, "assign must be like"),
        ({"assign": '{"a":{"0":1}}'}, "assign must be like"),
        ({"assign": '{"a":[-1]}'}, "assign must be like"),
    ],
)
def test_a_bad_selection_is_an_error(options: dict[str, str], told: str):
    with pytest.raises(ValueError, match=told):
        parse_selection(options)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("orders-0", "orders-1", "orders-2", "payments-0", "__consumer_offsets-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "00000000000000000000.log").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["__consumer_offsets-0", "orders-0", "orders-1", "orders-2", "payments-0"]),
        ({"subscribe": "payments, orders"}, ["orders-0", "orders-1", "orders-2", "payments-0"]),
        ({"subscribe": "__consumer_offsets"}, ["__consumer_offsets-0"]),
        ({"subscribepattern": "r.e"}, ["orders-0", "orders-1", "orders-2"]),
        ({"subscribepattern": ".*"}, ["orders-0", "orders-1", "orders-2", "payments-0"]),
        ({"subscribepattern": "none"}, []),
        ({"assign": '{"orders":[2,0,7]}'}, ["orders-0", "orders-2"]),
    ],
)
def test_topic_partitions_are_chosen_as_spark_chooses_them(tree: Path, options: dict[str, str], expected: list[str]):
    """A pattern matches anywhere in a name, but no internal topic; an assigned partition that is not there is passed over."""
    assert sorted(map(str, discover([str(tree)], parse_selection(options)).logs)) == expected


@pytest.mark.parametrize("options", [{"subscribe": "orders,parments"}, {"assign": '{"parments":[0]}'}])
def test_a_topic_that_is_not_there_is_an_error(tree: Path, options: dict[str, str]):
    with pytest.raises(ValueError, match=r"no such topic: parments; .*payments"):
        discover([str(tree)], parse_selection(options))


def test_an_error_lists_the_first_of_many_names():
    there = [TopicPartition(f"t{number:03}", 0) for number in range(500)]
    with pytest.raises(ValueError, match=r"no such topic: orders; .*and 480 more"):
        TopicSelection(topics=("orders",)).ensure_there(there)
    with pytest.raises(ValueError, match=r"t000-0 is missing, .*and 495 more"):
        ensure_assigned(OffsetLimit(offsets={}), dict.fromkeys(there), "starting")


def test_two_replicas_of_a_partition_are_an_error(tree: Path):
    other = tree / "other-disk" / "orders-0"
    other.mkdir(parents=True)
    (other / "00000000000000000000.log").touch()
    with pytest.raises(ValueError, match="orders-0 is in 2 directories"):
        discover([str(tree)])
    assert len(discover([str(tree)], TopicSelection(topics=("payments",))).logs) == 1


def test_files_without_a_directory_have_the_topic_of_the_options(tmp_path: Path):
    (tmp_path / "dump.bin").touch()
    (found,) = discover([str(tmp_path / "dump.bin")], TopicSelection(unnamed=TopicPartition("orders", 3))).logs
    assert found == TopicPartition("orders", 3)


def test_batch_and_streaming_queries_have_their_own_options():
    ensure_known_somewhere({"maxOffsetsPerTrigger": "1", "ENDINGOFFSETS": "latest", "kafka.x": "1"})
    with pytest.raises(ValueError, match=r"option endingOffsets .*in a streaming query"):
        ensure_known({"endingOffsets": "latest"}, STREAM)
    with pytest.raises(ValueError, match="option subscribe is not valid in a write"):
        ensure_known({"subscribe": "a"}, WRITE)
    with pytest.raises(ValueError, match=r"option upTo .*in a batch query"):
        ensure_known({"upTo": "logEnd"}, BATCH)


def test_options_of_triggers_are_ignored_in_a_batch_with_one_warning():
    """As Spark's Kafka source does."""
    with pytest.warns(UserWarning, match=r"kafka.a; .*batch query: maxOffsetsPerTrigger, maxTriggerDelay") as caught:
        parse_options({"path": "/a", "maxOffsetsPerTrigger": "1", "maxTriggerDelay": "1m", "kafka.a": "b"})
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("minPartitions", "0"),
        ("maxRecordsPerPartition", "0"),
        ("maxRecordsPerPartition", str(2**63)),
        ("maxPartitionBytes", "1 MB"),
        ("failOnDataLoss", "no"),
        ("pushFilters", "1"),
        ("columns", " "),
        ("columns", "key,key"),
    ],
)
def test_a_bad_value_names_its_option(name: str, value: str):
    with pytest.raises(ValueError, match=f"option {name} must be"):
        parse_options({"path": "/a", name: value})
