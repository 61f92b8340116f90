"""Checkpoint files that a power loss left empty or filled with other bytes: every API reads on with a warning, and `verify` names them."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest

import cli_process
import corpus
import logsegment as ls
from growing import GrowingLog
from log_starts import CHECKPOINT, offsets_of, read_by_every_api, read_by_spark, write_by_every_verb, write_checkpoint
from made_logs import make_partition

FIND = corpus.TESTS / "finds/checkpoint-garbage"
GARBAGE = {
    "bytes": b"\x2f\x18\xd0\x94\x00\xff",
    "empty": b"",
    "zeros": bytes(64),
    "another version": b"1\n1\norders 0 7\n",
    "too few lines": b"0\n2\norders 0 7\n",
    "cut": b"0\n1\norde",
    "no number": b"0\n1\norders 0 x\n",
}


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    root = tmp_path / "disk"
    make_partition(root, "orders", 0, [list(range(10)), list(range(10, 20))])
    return root


@pytest.mark.parametrize("garbage", GARBAGE)
def test_every_api_reads_from_the_first_segment_with_a_warning(disk: Path, garbage: str):
    (disk / CHECKPOINT).write_bytes(GARBAGE[garbage])
    with pytest.warns(UserWarning, match=rf"{CHECKPOINT}: \[SEG-21\]"):
        stream = ls.Log(disk).records()
    assert [(finding.rule, finding.severity) for finding in stream.findings] == [("SEG-21", "warning")]
    assert stream.read_all().num_rows == 20
    with pytest.warns(UserWarning, match="SEG-21"):
        assert set(map(tuple, read_by_spark(disk).values())) == {tuple(range(20))}
    with pytest.warns(UserWarning, match="SEG-21"):
        assert read_by_spark(disk, mode="DROPMALFORMED")["Spark batch"] == list(range(20))
    done = cli_process.run("verify", "--fail-on", "warning", disk)
    assert (done.code, CHECKPOINT in done.text) == (1, True)
    assert cli_process.run("verify", disk).code == 0


def test_a_broker_that_has_written_no_checkpoint_yet_is_healthy(disk: Path):
    """It makes the files when it starts, and writes them after half a minute; those of the cleaner when it has compacted a log."""
    names = ("cleaner-offset-checkpoint", CHECKPOINT, "recovery-point-offset-checkpoint", "replication-offset-checkpoint")
    for name in names:
        (disk / name).touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ls.Log(disk).records().read_all().num_rows == 20
    assert cli_process.run("verify", "--fail-on", "warning", disk).code == 0
    for name in names[1:]:
        (disk / name).write_bytes(b"0\n0\n")
    assert cli_process.run("verify", "--fail-on", "warning", disk).code == 0
    # Of a broker that has written the others it was lost.
    (disk / CHECKPOINT).write_bytes(b"")
    assert cli_process.run("verify", "--fail-on", "warning", disk).code == 1


def test_the_find_of_a_trial(tmp_path: Path):
    assert set(map(tuple, read_by_every_api(FIND).values())) == {tuple(range(10))}
    done = cli_process.run("cat", FIND)
    assert (done.code, len(done.lines)) == (0, 10)
    assert f"{CHECKPOINT}: warning [SEG-21]" in done.err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for copy in write_by_every_verb(FIND, tmp_path / "out").values():
            assert offsets_of(ls.Log(copy)) == list(range(10))
        assert (ls.stats(FIND).records, ls.diff(FIND, FIND).state) == (10, "same")
    # A file that is named has no log start offset, so that the checkpoint does not matter.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_by_spark(FIND / f"pay-0/{0:020}.log")["Spark batch"] == list(range(10))


def test_the_findings_of_spark_have_a_row(disk: Path):
    from logsegment.spark import LogSegmentSource

    def findings() -> list[tuple[str, str]]:
        source = LogSegmentSource({"path": str(disk), "view": "findings"})
        reader = source.reader(source.schema())
        rows = [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]
        return [(row["rule"], row["severity"]) for row in rows if row["rule"].startswith("SEG-")]

    write_checkpoint(disk, "orders-0", 4)
    assert findings() == [("SEG-19", "info")]
    write_checkpoint(disk, "orders-0", 44)
    assert findings() == [("SEG-20", "warning")]
    (disk / CHECKPOINT).write_bytes(b"")
    assert findings() == [("SEG-21", "warning")]


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "replication-offset-checkpoint", "cleaner-offset-checkpoint"])
def test_verify_names_every_checkpoint_file(disk: Path, name: str, garbage: str):
    (disk / name).write_bytes(GARBAGE[garbage])
    rules = [(finding.rule, finding.severity) for finding in ls.Log(disk).validate().findings if name in finding.path]
    assert set(rules) == {("SEG-9", "warning")}
    assert "SEG-9" in cli_process.run("verify", disk).text


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        (b"", False),
        (bytes(100), False),
        (b"\x9c\x01garbage", False),
        (b"version=1\nnode.id=1\n", False),
        (b"version=1\ncluster.id=x\n", False),
        (b"version=7\ncluster.id=x\nnode.id=1\n", False),
        (b"#\n#Fri Nov 27 10:05:00 UTC 2026\ncluster.id=x\ndirectory.id=y\nnode.id=1\nversion=1\n", True),
        (b"#\nbroker.id=3\nversion=0\ncluster.id=x\n", True),
        (b"version = 1\r\nnode.id: 1\r\ncluster.id=x\r\n", True),
    ],
)
def test_verify_checks_the_properties_of_a_log_directory(disk: Path, text: bytes, is_valid: bool):
    (disk / "meta.properties").write_bytes(text)
    rules = [finding.rule for finding in ls.Log(disk).validate().findings if finding.severity != "info"]
    assert rules == ([] if is_valid else ["SEG-21"])
    assert cli_process.run("verify", "--fail-on", "warning", disk).code == (0 if is_valid else 1)


@pytest.mark.parametrize(("name", "rule"), [("partition.metadata", "SEG-10"), ("leader-epoch-checkpoint", "SEG-9")])
@pytest.mark.parametrize("garbage", [b"", b"\x2f\x18\xd0\x94", bytes(40)])
def test_verify_checks_the_files_of_a_partition(tmp_path: Path, name: str, rule: str, garbage: bytes):
    log = GrowingLog(tmp_path / "disk")
    log.append(3)
    (log.directory / name).write_bytes(garbage)
    found = [finding for finding in ls.Log(log.root).validate().findings if finding.rule == rule]
    assert found
    assert {finding.severity for finding in found} == {"warning"}
    assert name in cli_process.run("verify", log.root).text


def test_an_empty_file_of_leader_epochs_is_right_where_no_batch_has_one(disk: Path):
    """Kafka 0.11 leaves it so."""
    (disk / "orders-0/leader-epoch-checkpoint").write_bytes(b"")
    assert [finding for finding in ls.Log(disk).validate().findings if finding.severity != "info"] == []


def test_a_healthy_log_directory_has_no_warning(disk: Path):
    for name in (CHECKPOINT, "recovery-point-offset-checkpoint", "replication-offset-checkpoint", "cleaner-offset-checkpoint"):
        (disk / name).write_text("0\n1\norders 0 3\n")
    assert cli_process.run("verify", "--fail-on", "warning", disk).code == 0
    # The directory of a partition alone: the files above it are not those of the argument.
    (disk / "cleaner-offset-checkpoint").write_bytes(bytes(10))
    assert cli_process.run("verify", "--fail-on", "warning", disk / "orders-0").code == 0
    assert cli_process.run("verify", "--fail-on", "warning", disk).code == 1


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_stream_that_waits_for_the_high_watermark_fails(tmp_path: Path, garbage: str):
    from logsegment.spark import LogSegmentSource, record_schema

    log = GrowingLog(tmp_path / "disk")
    log.append(3)
    (log.root / "replication-offset-checkpoint").write_bytes(GARBAGE[garbage])
    source = LogSegmentSource({"path": str(log.root), "startingOffsets": "earliest"})
    reader = source.streamReader(record_schema(["offset"]))
    with pytest.raises(ValueError, match=r"replication-offset-checkpoint: .*upTo=logEnd"):
        reader.initialOffset()
    assert read_by_spark(log.root)["Spark stream"] == [0, 1, 2]


def test_a_checkpoint_file_that_is_not_a_file_is_none(disk: Path):
    (disk / CHECKPOINT).mkdir()
    assert offsets_of(ls.Log(disk)) == list(range(20))
    shutil.rmtree(disk / CHECKPOINT)
