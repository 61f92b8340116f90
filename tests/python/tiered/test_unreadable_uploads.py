"""Unreadable uploads with offsets that no other upload has: every read across them reports the gap."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import run
from logsegment.analysis.diff import diff

TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
#: Told of each upload below, with the rule of the state that it is in.
STATES = {"unfinished": "TS-8", "damaged": "TS-10"}
state_of_upload = pytest.mark.parametrize("state", STATES)


def uploads_of(root: Path, state: str) -> tuple[tiered.Uploader, Path, int, int]:
    """An upload that is left out; its first offset, and the first of the next one."""
    uploader = tiered.Uploader(root, "payments")
    first, second, third, *_ = uploader.partition(TRANSACTIONS)
    manifest = second.with_suffix(".rsm-manifest")
    if state == "unfinished":
        manifest.unlink()
    else:
        manifest.write_text("{")
        # Another one has its first offsets: else it would be a segment of which every read fails.
        base, end = int(first.name[:20]), int(second.name[:20])
        uploader.segment(TRANSACTIONS / f"{first.name[:20]}.log", end, name="longer", event=1)
        assert base < end
    return uploader, second if state == "unfinished" else manifest, int(second.name[:20]), int(third.name[:20])


def told(findings: list[ls.Finding], path: Path) -> list[str]:
    return [finding.rule for finding in findings if finding.path == f"{path}@0"]


@state_of_upload
def test_batches_of_a_log(state: str, tmp_path: Path):
    uploader, path, first, behind = uploads_of(tmp_path, state)
    log = ls.Log(uploader.prefix)
    assert told(log.batches().findings, path) == [STATES[state]]
    assert told(log.batches(start_offset=behind).findings, path) == []
    assert told(log.batches(end_offset=first).findings, path) == []
    assert told(log.records().read_all().findings, path) == [STATES[state]], "as reads of records do"


@state_of_upload
def test_a_comparison(state: str, tmp_path: Path):
    uploader, path, first, behind = uploads_of(tmp_path, state)
    (comparison,) = diff(TRANSACTIONS, uploader.folder())
    missing = [item for item in comparison if getattr(item, "kind", None) == "missing"]
    assert {difference.side for difference in missing} == {"b"}
    assert first <= missing[0].first_offset <= missing[-1].last_offset < behind
    assert told(comparison.left_out, path) == [STATES[state]]
    other = tmp_path / "other"
    tiered.Uploader(other, "payments").partition(TRANSACTIONS)
    tiered.Uploader(other, "payments").partition(TRANSACTIONS, 1)
    left_out = {segment.partition: segment.left_out for segment in diff(uploader.prefix, other / "prefix")}
    assert (told(left_out[0], path), left_out[1]) == ([STATES[state]], [])


@state_of_upload
@pytest.mark.parametrize("options", [(), ("--json",), ("--quiet",)])
def test_diff_says_it_on_stderr(state: str, options: tuple[str, ...], tmp_path: Path):
    uploader, path, _first, _behind = uploads_of(tmp_path, state)
    done = run("diff", uploader.folder(), TRANSACTIONS, *options)
    assert done.code == 1
    assert done.err.count(f"{path}: warning [{STATES[state]}]") == 1
    assert "warning" not in done.text


@state_of_upload
def test_follow_says_it_once_on_stderr(state: str, tmp_path: Path):
    uploader, path, first, behind = uploads_of(tmp_path, state)
    looks = ("--interval", "0.05", "--idle-exit", "0.5", "--columns", "offset")
    done = run("follow", uploader.folder(), "--offset", "0", *looks)
    assert (done.code, done.err.count(f"{path}: warning [{STATES[state]}]")) == (0, 1)
    offsets = [line["offset"] for line in done.lines]
    assert min(offsets) < first
    assert not [offset for offset in offsets if first + 1 < offset < behind]
    for options in (("--offset", str(behind)), ()):
        done = run("follow", uploader.folder(), *options, *looks)
        assert (done.code, done.err) == (0, ""), "what is shown goes across none"


@pytest.mark.parametrize("missing", [".log", ".indexes"])
def test_the_last_upload_without_its_log_or_its_indexes(missing: str, tmp_path: Path):
    """Its manifest, which is uploaded last, tells that it was whole once, and which offsets it had."""
    uploader = tiered.Uploader(tmp_path, "payments")
    last = uploader.partition(TRANSACTIONS)[-1]
    last.with_suffix(missing).unlink()
    first, end = int(last.name[:20]), ls.Log(TRANSACTIONS).segments[-1].next_offset() - 1
    text = f"no {missing}; offsets {first} to {end} are missing"
    log = ls.Log(uploader.prefix)
    (finding,) = log.left_out
    assert (finding.severity, finding.base_offset, finding.last_offset) == ("warning", first, end)
    assert told(log.records(columns=["offset"]).read_all().findings, last) == ["TS-8"]
    assert told(log.records(columns=["offset"], end_offset=first).read_all().findings, last) == []
    assert [upload.state for upload in ls.tiered.uploads(uploader.prefix)] == ["finished"] * 5 + ["unfinished"]
    for verb in (("cat",), ("find", "--offset", "0.."), ("stats",), ("restore", tmp_path / "restored"), ("diff", TRANSACTIONS)):
        done = run(verb[0], uploader.folder(), *verb[1:])
        assert done.err.count(text) == 1, verb
        assert done.code == {"restore": 3, "diff": 1}.get(verb[0], 0), verb
    assert text in run("verify", uploader.prefix).text
    assert run("verify", uploader.prefix, "--fail-on", "warning").code == 1


@state_of_upload
def test_restore(state: str, tmp_path: Path):
    """What is missing between what is there is lost: exit code 3, as salvage has it."""
    uploader, path, _first, _behind = uploads_of(tmp_path, state)
    done = run("restore", uploader.prefix, tmp_path / "restored")
    assert (done.code, done.err.count(f"left out: {path}: ")) == (3, 1)
    restored = ls.restore(uploader.prefix, tmp_path / "again")
    assert (restored.has_gaps, restored.gone) == (True, [])


def test_restore_of_partitions_that_have_nothing_else(tmp_path: Path):
    """Such an upload may be on its way. Where there is nothing but it, nothing is made, and the exit code says so."""
    uploader = tiered.Uploader(tmp_path, "payments")
    uploader.partition(TRANSACTIONS)
    (path,) = uploader.partition(corpus.CORPUS / "modern-4.1.0/data/codec-lz4-0", 1)
    path.with_suffix(".rsm-manifest").unlink()
    done = run("restore", uploader.prefix, tmp_path / "restored")
    assert (done.code, done.err.count(f"left out: {path}: unfinished, or being deleted: no .rsm-manifest")) == (0, 1)
    assert [path.name for path in (tmp_path / "restored").iterdir()] == ["payments-0"]
    restored = ls.restore(uploader.prefix, tmp_path / "again")
    assert (restored.has_gaps, len(restored.left_out), restored.segments) == (False, 1, 6)
    done = run("restore", uploader.folder(1), tmp_path / "nothing")
    assert (done.code, done.err.count(f"{path}: unfinished, or being deleted")) == (2, 1)
    assert not (tmp_path / "nothing").exists()


@state_of_upload
def test_a_stream_of_spark(state: str, tmp_path: Path):
    """The warning comes with the micro-batch that goes across the gap, and with no other."""
    pytest.importorskip("pyspark.sql.streaming.datasource")
    from logsegment.spark import LogSegmentSource

    uploader, path, first, behind = uploads_of(tmp_path, state)
    source = LogSegmentSource({"path": str(uploader.prefix), "startingOffsets": "earliest", "failOnDataLoss": "false"})
    reader = source.streamReader(source.schema())

    def read(start: int, end: int) -> tuple[list[int], list[str]]:
        ends = ({"payments": {"0": start}}, {"payments": {"0": end}})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tasks = reader.partitions(*ends)
        rows = [row["offset"] for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]
        return rows, [str(item.message) for item in caught]

    rows, said = read(0, behind + 2)
    assert [item for item in said if f"segments are skipped: {path}: [{STATES[state]}]" in item] == said
    assert len(said) == 1
    assert min(rows) < first
    assert max(rows) >= behind
    assert read(behind, behind + 2)[1] == read(0, first)[1] == []
