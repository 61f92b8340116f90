"""`validate` of directories, trees, patterns and lists: the same reports as those of `logsegment verify`."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import CODEC_FILE, DAMAGED, MODERN, run

TRANSACTIONS = MODERN / "transactions-multi-segment-0"


def summaries(*paths: object) -> list[dict[str, Any]]:
    return [line for line in run("verify", "--json", *paths).lines if line["type"] == "summary"]


def summary_of(report: ls.Report) -> dict[str, Any]:
    survey = report.survey
    return {
        "file": report.path,
        "state": report.state,
        "errors": report.counts["error"],
        "warnings": report.counts["warning"],
        "batches": report.batches,
        "records": report.records,
        "safe": [run.to_dict() for run in survey.valid] if survey and survey.is_complete else None,
        "lost": [place.to_dict() for place in report.lost],
    }


def damaged_tree(root: Path) -> Path:
    """Two partitions: a segment with a flipped bit, one that is cut before another one, and an index of other bytes."""
    for name in ("codec-gzip-0", "transactions-multi-segment-0"):
        shutil.copytree(MODERN / name, root / name)
    log = root / "codec-gzip-0/00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    first = min((root / "transactions-multi-segment-0").glob("*.log"))
    first.write_bytes(first.read_bytes()[:-7])
    first.with_suffix(".index").write_bytes(b"\xff" * 16)
    return root


@pytest.mark.parametrize("path", [TRANSACTIONS, MODERN, corpus.CORPUS / "legacy-0.10.2.2/data", corpus.CORPUS / "legacy-0.7.2/data"])
def test_a_directory_has_the_reports_of_the_command(path: Path):
    report = ls.validate(path)
    expected = summaries(path)
    assert [summary_of(file) for file in report.files] == [{name: line[name] for name in summary_of(report)} for line in expected]
    assert len(expected) > 3


def test_a_damaged_tree_has_the_reports_of_the_command(tmp_path: Path):
    tree = damaged_tree(tmp_path)
    report = ls.validate(tree)
    assert [summary_of(file) for file in report.files] == [{name: line[name] for name in summary_of(report)} for line in summaries(tree)]
    assert (report.ok, report.state) == (False, "damaged")
    assert {place.path for place in report.lost} == {file.path for file in report.files if file.lost}
    assert len({place.path for place in report.lost}) == 2
    assert {"V2-31", "SEG-23"} <= {finding.rule for finding in report.findings}
    assert all(str(tree) in finding.path for finding in report.findings), "of several files each finding names its own"
    assert report.to_dict()["files"][0]["path"] == report.files[0].path
    assert sum(report.counts.values()) == len(report.findings)


def test_uploads_have_the_reports_of_the_command(tmp_path: Path):
    report = ls.validate(tiered.BUCKET, decryption_keys=tiered.KEYS)
    assert report.ok
    keys = []
    for name, key in tiered.KEYS.items():
        (tmp_path / name).write_bytes(key)
        keys += ["--key-file", f"{name}={tmp_path / name}"]
    assert [file.path for file in report.files] == [line["file"] for line in summaries(*keys, tiered.BUCKET)]


def test_patterns_lists_and_selections_are_read_like_trees(tmp_path: Path):
    tree = damaged_tree(tmp_path)
    both = [file.path for file in ls.validate(tree).files]
    assert [file.path for file in ls.validate(tree / "*-0").files] == both
    assert sorted(
        filter(None, (file.path for file in ls.validate([tree / "codec-gzip-0", tree / "transactions-multi-segment-0"]).files))
    ) == sorted(filter(None, both))
    assert {Path(file.path or "").parent.name for file in ls.validate(tree, topic="codec-gzip").files} == {"codec-gzip-0", "."} - {"."}
    assert ls.validate([CODEC_FILE, DAMAGED]).state == "damaged"
    assert [file.state for file in ls.validate([CODEC_FILE, DAMAGED]).files] == ["clean", "damaged"]
    with pytest.raises(FileNotFoundError):
        ls.validate([CODEC_FILE, tmp_path / "missing"])
    with pytest.raises(ValueError, match="nothing"):
        ls.validate(tree, topic="nothing")


def test_logs_and_segments_are_sources():
    log = ls.Log(TRANSACTIONS)
    assert ls.validate(log).findings == log.validate().findings
    assert ls.validate(log.segments[0]).findings == log.segments[0].validate().findings


def test_a_file_is_a_single_source():
    """Rules about names and neighbours of segments belong to directories."""
    report = ls.validate(CODEC_FILE)
    assert report.files == [report]
    assert report.findings == ls.validate(CODEC_FILE.read_bytes()).findings
    assert (report.state, report.batches, report.records) == ("clean", 15, 240)


def test_the_options_of_paths_are_not_ignored_for_other_sources(tmp_path: Path):
    encrypted = next(path for path in tiered.folder("enc").glob("*.log"))
    with pytest.raises(ls.tiered.SegmentKeyError):
        ls.validate(encrypted, decryption_keys={})
    assert ls.validate(encrypted, decryption_keys=tiered.KEYS).ok
    for source in (CODEC_FILE.read_bytes(), ls.FileSource(CODEC_FILE), ls.Log(TRANSACTIONS), ls.Segment(CODEC_FILE)):
        for option in ({"decryption_keys": {}}, {"layout": "{offset}.log"}):
            with pytest.raises(TypeError, match="belong to paths"):
                ls.validate(source, **option)
    for source in (CODEC_FILE.read_bytes(), ls.FileSource(CODEC_FILE)):
        with pytest.raises(TypeError, match="belong to paths"):
            ls.validate(source, topic="a")
    with pytest.raises(ValueError, match="no such topic: a"):
        ls.validate(ls.Log(TRANSACTIONS), topic="a")


def test_a_list_has_sources_of_every_kind():
    sources = [CODEC_FILE.read_bytes(), ls.Segment(CODEC_FILE), TRANSACTIONS, io.BytesIO(CODEC_FILE.read_bytes())]
    report = ls.validate(sources)
    alone = [ls.validate(source) for source in (CODEC_FILE.read_bytes(), ls.Segment(CODEC_FILE), TRANSACTIONS)]
    assert report.records == sum(report_of_file.records for report_of_file in alone) + alone[0].records
    assert len(report.files) == 3 + len(alone[2].files)


@pytest.mark.parametrize("path", [TRANSACTIONS, MODERN, corpus.CORPUS / "legacy-0.10.2.2/data"])
def test_a_log_finds_what_its_directory_has(path: Path):
    of_directory, of_log = ls.validate(path), ls.Log(path).validate()
    assert sorted(map(shape, of_directory.findings)) == sorted(map(shape, of_log.findings))
    assert (of_directory.ok, len(of_directory.lost)) == (of_log.ok, len(of_log.lost))
    assert sum(run.records for run in of_directory.safe_offsets) == sum(run.records for run in of_log.safe_offsets)


def test_a_damaged_log_has_the_verdict_of_its_directory(tmp_path: Path):
    tree = damaged_tree(tmp_path)
    of_directory, of_log = ls.validate(tree), ls.Log(tree).validate()
    assert sorted(map(shape, of_directory.findings)) == sorted(map(shape, of_log.findings))
    assert [(place.position, place.length) for place in of_directory.lost] == [(place.position, place.length) for place in of_log.lost]


def severe(report: ls.Report) -> list[tuple[str, str, str, int]]:
    return sorted(shape(finding) for finding in report.findings if finding.severity != "info")


def shape(finding: ls.Finding) -> tuple[str, str, str, int]:
    return finding.rule, finding.severity, finding.message, finding.position


class Calls(ls.Observer):
    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def planned(self, files: Sequence[tuple[str, int]]) -> None:
        self.calls += [("planned", name) for name, _ in files]

    def begin(self, path: str, size: int) -> None:
        assert size == Path(path).stat().st_size
        self.calls.append(("begin", path))

    def done(self, path: str, result: ls.Report) -> None:
        assert result.path == path
        self.calls.append(("done", path))

    def failed(self, path: str, error: Exception) -> bool:
        self.calls.append(("failed", path))
        return True


def test_an_observer_follows_each_file(tmp_path: Path):
    tree = damaged_tree(tmp_path)
    calls = Calls()
    report = ls.validate([tree / "codec-gzip-0", tmp_path / "missing"], observer=calls)
    log = str(tree / "codec-gzip-0/00000000000000000000.log")
    assert calls.calls[:4] == [("failed", str(tmp_path / "missing")), ("planned", log), ("begin", log), ("done", log)]
    assert not report.ok
    with pytest.raises(FileNotFoundError):
        ls.validate([tree / "codec-gzip-0", tmp_path / "missing"], observer=ls.Observer())


def test_an_error_of_an_observer_ends_the_work():
    class Stop(ls.Observer):
        def done(self, path: str, result: ls.Report) -> None:
            raise LookupError(path)

    with pytest.raises(LookupError):
        ls.validate(MODERN, observer=Stop())
