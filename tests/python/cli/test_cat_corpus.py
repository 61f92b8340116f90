"""Every case of the corpus comes out of `logsegment cat` as Kafka's own classes read it (rules L7, L8, V2, CTL, COD, TXN)."""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import corpus
from cli_process import run
from corpus import CONSUMED_COLUMNS, RECORD_COLUMNS, TIMESTAMP_TYPES, Case, Partition

PARTITIONS = corpus.partitions()
#: Files that are in no partition directory, together by their directory.
LOOSE = {
    directory: [case for case in corpus.cases() if case.kind != "segment" and case.path.parent == directory]
    for directory in sorted({case.path.parent for case in corpus.cases() if case.kind != "segment"})
}


#: In JSON `timestamp` is the stored number.
TRUTH_COLUMNS = ",".join(RECORD_COLUMNS).replace("timestampMs", "timestamp")


def row_of(line: dict[str, Any], columns: list[str]) -> corpus.Row:
    """A line as the truth has it: bytes, not text; numbers for timestamp types."""
    row = {name: line["timestamp" if name == "timestampMs" else name] for name in columns}
    for name in ("key", "value"):
        row[name] = corpus.normalise(bytes_of(row[name]))
    row["headers"] = [(header["key"], corpus.normalise(bytes_of(header["value"]))) for header in row["headers"]]
    row["timestampType"] = TIMESTAMP_TYPES[row["timestampType"]]
    return row


def bytes_of(written: Any) -> bytes | None:
    """The form `auto`: a string is text, an object says how its bytes are written."""
    if written is None:
        return None
    if isinstance(written, str):
        return written.encode()
    assert written.keys() == {"base64"}
    raw = base64.b64decode(written["base64"], validate=True)
    with pytest.raises(UnicodeDecodeError):
        raw.decode()
    return raw


@cache
def lines_of_set(name: str) -> dict[tuple[str, int], list[corpus.Row]]:
    """The records of all partition directories of a set, read by one process, by topic and partition."""
    directories = [partition.directory for partition in PARTITIONS if partition.segments[0].set == name]
    done = run("cat", *directories, "--control", "--columns", "topic,partition," + TRUTH_COLUMNS)
    assert done.code == 0, done.err
    found: dict[tuple[str, int], list[corpus.Row]] = {}
    for line in done.lines:
        found.setdefault((line["topic"], line["partition"]), []).append(line)
    return found


def test_the_walk_sees_every_case():
    walked = [case for partition in PARTITIONS for case in partition.segments] + [case for cases in LOOSE.values() for case in cases]
    assert sorted(walked, key=str) == sorted(corpus.cases(), key=str)
    corpus.seen_all(walked, corpus.manifest()["counts"]["cases"])
    corpus.seen_all(corpus.consumed_partitions(), 16)


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
def test_partition_directories_give_their_truth(partition: Partition):
    """Topic and partition are told by the directory, the order of segments by their names."""
    lines = lines_of_set(partition.segments[0].set).get((partition.topic, partition.partition), [])
    expected = [row for case in partition.segments for row in corpus.expected_records(case)]
    assert [row_of(line, RECORD_COLUMNS) for line in lines] == expected


def test_no_record_comes_out_that_no_truth_has():
    sets = {partition.segments[0].set for partition in PARTITIONS}
    found = sum(len(lines) for name in sets for lines in lines_of_set(name).values())
    assert found == sum(case.records for partition in PARTITIONS for case in partition.segments) > 30_000


@pytest.mark.parametrize("directory", LOOSE, ids=lambda directory: directory.relative_to(corpus.CORPUS).as_posix())
def test_files_outside_of_partitions_give_their_truth(directory: Path):
    cases: list[Case] = LOOSE[directory]
    done = run("cat", *(case.path for case in cases), "--control", "--columns", "topic," + TRUTH_COLUMNS)
    assert done.code == 0
    expected = [row for case in cases for row in corpus.expected_records(case)]
    assert [row_of(line, RECORD_COLUMNS) for line in done.lines] == expected
    is_snapshot = cases[0].kind == "kraft-snapshot"
    assert is_snapshot or {line["topic"] for line in done.lines} == {None}


@pytest.mark.parametrize(("partition", "isolation"), corpus.consumed_partitions(), ids=str)
def test_isolation_levels_give_what_kafkas_consumer_returned(partition: Partition, isolation: str):
    """TXN: transactions reach over segments."""
    columns = ",".join(CONSUMED_COLUMNS).replace("timestampMs", "timestamp")
    done = run("cat", partition.directory, "--columns", columns, "--isolation", isolation, "--quiet")
    assert (done.code, done.err) == (0, "")
    assert [row_of(line, CONSUMED_COLUMNS) for line in done.lines] == corpus.expected_consumed(partition.consumed[isolation])
