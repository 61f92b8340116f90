"""Records below a log start offset were deleted: every reader of a partition agrees about them, and no writer brings them back."""

from __future__ import annotations

import itertools
import shutil
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cli_process
import corpus
import logsegment as ls
import object_store
from log_starts import CHECKPOINT, offsets_of, read_by_every_api, read_by_spark, write_by_every_verb, write_checkpoint
from logsegment._core import FoundSegments
from logsegment._options import PartitionOptions
from made_logs import index, make_partition

TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
KINDS = [("v2", "none"), ("v2", "zstd"), ("v1", "none"), ("v1", "gzip"), ("v0", "snappy")]


def make_log(root: Path, segments: list[list[int]], kinds: list[tuple[str, str]], batch_bytes: int) -> list[int]:
    """Write a partition with a segment for each list of offsets, each in its own format and codec; return all offsets."""
    shutil.rmtree(root, ignore_errors=True)
    directory = root / "orders-0"
    directory.mkdir(parents=True)
    for offsets, (form, codec) in zip(segments, itertools.cycle(kinds), strict=False):
        keys, values = [b"k%d" % (offset % 3) for offset in offsets], [b"v" * 20] * len(offsets)
        table = pa.table({"offset": pa.array(offsets, pa.int64()), "key": keys, "value": values})
        ls.encode(table, format=form, compression=codec, batch_bytes=batch_bytes, out=directory / f"{offsets[0]:020}.log")
    index(directory)
    return [offset for offsets in segments for offset in offsets]


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[list[int]], list[tuple[str, str]], int, int]:
    """Offsets of segments with gaps, as compaction leaves them, formats and codecs, the size of batches, and a log start offset."""
    steps = draw(st.lists(st.lists(st.sampled_from([1, 1, 1, 2, 7]), min_size=1, max_size=12), min_size=1, max_size=3))
    offset, segments = draw(st.sampled_from([0, 0, 5])), []
    for own in steps:
        offsets = []
        for step in own:
            offsets.append(offset)
            offset += step
        segments.append(offsets)
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    return segments, kinds, draw(st.sampled_from([1, 120, 100_000])), draw(st.integers(0, offset + 3))


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(logs())
def test_every_api_reads_the_same_records(tmp_path: Path, log: tuple[list[list[int]], list[tuple[str, str]], int, int]):
    segments, kinds, batch_bytes, start = log
    everything = make_log(tmp_path / "disk", segments, kinds, batch_bytes)
    write_checkpoint(tmp_path / "disk", "orders-0", start)
    end = everything[-1] + 1
    expected = [offset for offset in everything if offset >= start] if start <= end else everything
    for name, found in read_by_every_api(tmp_path / "disk").items():
        assert found == expected, name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        counted = ls.stats(tmp_path / "disk")
        comparison = ls.diff(tmp_path / "disk", tmp_path / "disk", deep=True)
        assert comparison.state == "same"
        assert sum(item.totals.same_records for item in comparison) == len(expected)
    if not counted.uncounted:
        assert counted.records == len(expected)
    for name, copy in write_by_every_verb(tmp_path / "disk", tmp_path / "out").items():
        again = ls.Log(copy)
        assert offsets_of(again, control=True) == expected, name
        assert again.segments[-1].next_offset() == end, name
        assert not [finding for finding in again.validate().findings if finding.severity != "info"], name


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A partition with offsets 0 to 39 in two segments of several batches, and a log start offset inside of a batch."""
    root = tmp_path / "disk"
    make_partition(root, "orders", 0, [list(range(20)), list(range(20, 40))])
    write_checkpoint(root, "orders-0", 7)
    return root


def test_a_finding_counts_the_deleted_records(disk: Path):
    stream = ls.Log(disk).records()
    (finding,) = [finding for finding in stream.findings if finding.rule == "SEG-19"]
    assert (finding.severity, finding.base_offset, finding.last_offset) == ("info", 0, 6)
    assert finding.message.startswith("7 records below the log start offset 7")
    assert [finding.rule for finding in ls.find(disk, key="a").findings] == ["SEG-19"]
    assert [finding["rule"] for finding in ls.stats(disk).to_dict()["partitionFindings"]] == ["SEG-19"]
    findings: list[Any] = []
    ls.polars.scan(disk, findings=findings).collect()
    assert [finding.rule for finding in findings] == ["SEG-19"]
    assert "SEG-19" in [finding.rule for finding in ls.Log(disk).validate().findings]
    assert "7 records below the log start offset 7" in cli_process.run("cat", disk).err
    assert "SEG-19" in cli_process.run("verify", disk).text
    assert cli_process.run("verify", "--fail-on", "warning", disk).code == 0


def test_a_read_from_the_log_start_offset_on_has_no_finding(disk: Path):
    assert ls.Log(disk).records(start_offset=7).findings == []
    assert offsets_of(ls.Log(disk), start_offset=3, end_offset=9) == [7, 8]


def test_deleted_records_are_read_on_request(disk: Path):
    every = list(range(40))
    assert offsets_of(ls.Log(disk, log_start_offset="ignore")) == every
    assert offsets_of(ls.Log(disk), log_start_offset="ignore") == every
    assert offsets_of(ls.Log(disk, log_start_offset="ignore"), log_start_offset="honour") == every[7:]
    assert ls.polars.scan(disk, log_start_offset="ignore").collect().height == 40
    assert len(list(ls.find(disk, start_offset=0, log_start_offset="ignore"))) == 40
    assert ls.stats(disk, log_start_offset="ignore").records == 40
    assert ls.diff(disk, disk, log_start_offset="ignore").to_dict()["partitions"][0]["sameRecords"] == 40
    assert len(cli_process.run("cat", disk, "--ignore-log-start-offset").lines) == 40
    for name, found in read_by_spark(disk, logStartOffset="ignore").items():
        assert found == every, name
    with pytest.raises(ValueError, match="log_start_offset must be"):
        ls.Log(disk, log_start_offset="yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="logStartOffset must be honour or ignore"):
        read_by_spark(disk, logStartOffset="yes")


def test_writers_keep_deleted_records_on_request(disk: Path, tmp_path: Path):
    assert ls.rewrite(disk, tmp_path / "a", drop=[b"x"], log_start_offset="ignore").dropped == 0
    ls.split(disk, tmp_path / "b", offsets=[9], log_start_offset="ignore")
    ls.join(disk, tmp_path / "c", log_start_offset="ignore")
    assert cli_process.run("convert", disk, "--ignore-log-start-offset", "-o", tmp_path / "d").code == 0
    for copy in "abcd":
        assert offsets_of(ls.Log(tmp_path / copy)) == list(range(40))


def test_files_and_batches_are_read_whole(disk: Path, tmp_path: Path):
    path = disk / f"orders-0/{0:020}.log"
    assert offsets_of(ls.Log(path)) == offsets_of(ls.Segment(path)) == list(range(20))  # type: ignore[arg-type]
    assert ls.decode(path).read_all().num_rows == 20
    assert len(cli_process.run("cat", path).lines) == 20
    assert sum(ls.Log(disk).batches().to_pyarrow()["count"].to_pylist()) == 40
    assert len(list(ls.find(path, start_offset=0))) == 20
    assert read_by_spark(path.parent) == {"Spark batch": list(range(7, 40)), "Spark stream": list(range(7, 40))}
    assert cli_process.run("salvage", disk, "--output", tmp_path / "all").code == 0
    assert offsets_of(ls.Log(tmp_path / "all")) == list(range(40))


def test_writers_count_the_records_that_they_cut(disk: Path, tmp_path: Path):
    done = ls.rewrite(disk, tmp_path / "a", drop=[b"x"])
    assert (done.records, done.dropped, done.below_log_start) == (40, 7, 7)
    assert done.to_dict()["belowLogStart"] == 7
    assert ls.compact(disk, dry_run=True).below_log_start == 7
    for verb in (["convert"], ["split", "--at-offset", "30"], ["join"], ["rewrite", "--drop", "key=x"]):
        told = cli_process.run(verb[0], disk, *verb[1:], "--output", tmp_path / verb[0])
        assert told.code == 0, told.err
        assert "7 records below the log start offset" in told.err or "7 below the log start offset" in told.err, told.err
    parts = ls.split(disk, tmp_path / "b", offsets=[30]).parts
    assert sum(part.length for part in parts) == sum(path.stat().st_size for path in (disk / "orders-0").glob("*.log"))


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_transactions_around_a_log_start_offset_are_read_alike(tmp_path: Path, isolation: Any):
    """A transaction may begin below the offset and end above it."""
    whole = ls.Log(TRANSACTIONS)
    last = whole.segments[-1].next_offset()
    assert last is not None
    root = tmp_path / "disk"
    shutil.copytree(TRANSACTIONS, root / TRANSACTIONS.name)
    for start in range(1, last + 1, 7):
        write_checkpoint(root, TRANSACTIONS.name, start)
        for control in (False, True):
            expected = offsets_of(whole, isolation=isolation, control=control, start_offset=start)
            assert offsets_of(ls.Log(root), isolation=isolation, control=control) == expected
            for name, copy in write_by_every_verb(root, tmp_path / "out").items() if start in (8, 22) else ():
                assert offsets_of(ls.Log(copy), isolation=isolation, control=control) == expected, (name, start)
            shutil.rmtree(tmp_path / "out", ignore_errors=True)


def test_an_offset_above_the_end_does_not_count_and_warns_of_what_a_broker_would_do(disk: Path):
    write_checkpoint(disk, "orders-0", 41)
    with pytest.warns(UserWarning, match=r"SEG-20.*above the log end offset 40.*deletes all segments, with 40 records"):
        stream = ls.Log(disk).records()
    assert [(finding.rule, finding.severity) for finding in stream.findings] == [("SEG-20", "warning")]
    assert stream.read_all().num_rows == 40
    with pytest.warns(UserWarning, match="SEG-20"):
        assert read_by_spark(disk)["Spark batch"] == list(range(40))
    done = cli_process.run("cat", disk)
    assert (done.code, len(done.lines)) == (0, 40)
    assert "warning [SEG-20]" in done.err
    assert cli_process.run("verify", "--fail-on", "warning", disk).code == 1


def test_an_offset_at_the_end_leaves_nothing(disk: Path, tmp_path: Path):
    write_checkpoint(disk, "orders-0", 40)
    assert set(map(tuple, read_by_every_api(disk).values())) == {()}
    for name, copy in write_by_every_verb(disk, tmp_path / "out").items():
        assert [path.name for path in sorted((copy / "orders-0").glob("*.log"))] == [f"{40:020}.log"], name


def test_a_difference_between_replicas_below_the_log_start_offset_is_none(disk: Path, tmp_path: Path):
    """One broker has deleted the segment, another one has not yet."""
    other = tmp_path / "other"
    shutil.copytree(disk, other)
    (other / CHECKPOINT).unlink()
    assert ls.diff(disk, other).to_dict()["partitions"][0]["missingInA"] == 7
    write_checkpoint(disk, "orders-0", 20)
    write_checkpoint(other, "orders-0", 20)
    (other / f"orders-0/{0:020}.log").unlink()
    done = cli_process.run("diff", disk, other)
    assert (done.code, "20 records below the log start offset 20" in done.err) == (0, True)


def test_damage_does_not_hide_whether_an_offset_is_above_the_end(disk: Path):
    path = disk / f"orders-0/{20:020}.log"
    data = bytearray(path.read_bytes())
    data[8] ^= 0x40
    path.write_bytes(data)
    write_checkpoint(disk, "orders-0", 35)
    assert offsets_of(ls.Log(disk), on_error="skip") == list(range(35, 40))


def test_a_damaged_base_offset_at_the_end_brings_no_deleted_records_back(tmp_path: Path):
    """Found by a simulated history: the last batch seemed to end before the log start offset, which then did not count."""
    make_log(tmp_path, [list(range(12))], [("v2", "none")], 100)
    write_checkpoint(tmp_path, "orders-0", 5)
    log = tmp_path / "orders-0" / f"{0:020}.log"
    last = ls.batches(log).to_pylist()[-1]
    data = bytearray(log.read_bytes())
    data[last["position"]] ^= 0x80
    log.write_bytes(data)
    assert offsets_of(ls.Log(tmp_path), on_error="skip") == list(range(5, last["baseOffset"]))


def test_a_segment_that_a_broker_has_rolled_meanwhile_counts(disk: Path, monkeypatch: pytest.MonkeyPatch):
    files = ls.Log(disk)._files[0].siblings()
    listed = [file for file in ls.Log(disk, log_start_offset="ignore")._files if file.base_offset == 0]
    write_checkpoint(disk, "orders-0", 30)
    (placed, *_), findings = FoundSegments(listed).with_log_starts(PartitionOptions())
    assert (placed.log_start, findings, len(files)) == (30, [], 2)


def test_a_log_start_offset_counts_in_a_store(disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(disk, tmp_path / "bucket/cluster")
    with object_store.serving(tmp_path) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert offsets_of(ls.Log("s3://bucket/cluster/orders-0")) == list(range(7, 40))
