"""Functions that read logs take what their verbs take: directories, trees, patterns, lists, logs and segments give the same results."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import logsegment as ls
from cli_process import CODEC_FILE, MODERN, TRANSACTIONS, run

TOPIC = "transactions-multi-segment"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two partitions, one with a damaged batch."""
    root = tmp_path / "data"
    for name in ("codec-gzip-0", f"{TOPIC}-0"):
        shutil.copytree(MODERN / name, root / name)
    log = root / "codec-gzip-0/00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[16] = 9
    log.write_bytes(data)
    return root


def sources_of(tree: Path) -> dict[str, tuple[list[str], Any]]:
    """The arguments of the command line, and the source in Python."""
    partitions = sorted(map(str, tree.iterdir()))
    pattern = str(tree / "*-0")
    return {
        "tree": ([str(tree)], tree),
        "pattern": ([pattern], pattern),
        "list": (partitions, partitions),
        "partition": (partitions[-1:], partitions[-1]),
        "file": ([str(CODEC_FILE)], CODEC_FILE),
        "file and partition": ([str(CODEC_FILE), partitions[-1]], [CODEC_FILE, partitions[-1]]),
        "log": ([str(tree)], ls.Log(tree)),
        "segment": ([str(CODEC_FILE)], ls.Segment(CODEC_FILE)),
    }


SOURCES = ("tree", "pattern", "list", "partition", "file", "file and partition", "log", "segment")


def statistics(stats: ls.Stats) -> Any:
    return json.loads(json.dumps(stats.to_dict()))


def lines_of(verb: str, *arguments: Any) -> list[dict[str, Any]]:
    done = run(verb, "--json", "--quiet", *arguments)
    assert done.code in (0, 1, 2), done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.parametrize("name", SOURCES)
def test_statistics_are_those_of_the_verb(tree: Path, name: str):
    paths, source = sources_of(tree)[name]
    (expected,) = lines_of("stats", *paths)
    assert statistics(ls.stats(source)) == expected
    assert expected["batches"] > 2
    if isinstance(source, ls.Log | ls.Segment):
        assert statistics(source.stats()) == expected


def test_statistics_of_a_topic_are_those_of_the_verb(tree: Path):
    (expected,) = lines_of("stats", tree, "--topic", TOPIC, "--partition", "0")
    assert statistics(ls.stats(tree, topic=TOPIC, partition=0)) == expected
    assert expected["files"] == len(list((tree / f"{TOPIC}-0").glob("*.log")))
    with pytest.raises(ValueError, match="none"):
        ls.stats(tree, topic="none")


def test_statistics_of_a_stream_are_those_of_standard_input():
    data = CODEC_FILE.read_bytes()
    expected = json.loads(run("stats", "--json", "--what-if", "v3", "-", stdin=data).out)
    with CODEC_FILE.open("rb") as stream:
        found = statistics(ls.stats(stream, what_if="v3"))
    for times in (found["whatIfV3"], expected["whatIfV3"]):
        for name in ("seconds", "secondsMain", "secondsAdditional"):
            del times[name]
    assert found == expected


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("condition", [("offset", "3", {"offset": 3}), ("since", "0", {"start_timestamp": 0})])
def test_places_are_those_of_the_verb(tree: Path, name: str, condition: tuple[str, str, dict[str, int]]):
    option, text, arguments = condition
    paths, source = sources_of(tree)[name]
    expected = lines_of("find", "--on-error", "skip", f"--{option}", text, *paths)
    assert expected
    found = list(ls.find(source, on_error="skip", **arguments))
    assert [{"file": place.path} | place.to_dict() for place in found] == [row | {"path": row["file"]} for row in expected]
    if isinstance(source, ls.Log | ls.Segment):
        assert list(source.find(on_error="skip", **arguments)) == found
    (first,) = lines_of("find", "--on-error", "skip", f"--{option}", text, "--limit", "1", *paths)
    assert [place.offset for place in ls.find(source, on_error="skip", limit=1, **arguments)] == [first["offset"]]


def test_an_observer_lets_a_search_go_on_after_damage(tree: Path):
    class Told(ls.Observer):
        def __init__(self) -> None:
            self.errors: list[tuple[str, Exception]] = []

        def failed(self, path: str, error: Exception) -> bool:
            self.errors.append((path, error))
            return True

    told = Told()
    with pytest.raises(ls.RecordBatchError):
        list(ls.find(tree, key=b"none"))
    assert list(ls.find(tree, start_timestamp=0, observer=told))
    ((path, error),) = told.errors
    assert path == str(tree / "codec-gzip-0/00000000000000000000.log")
    assert isinstance(error, ls.RecordBatchError)


def test_a_file_that_is_no_log_is_asked_about(tmp_path: Path):
    text = tmp_path / "notes.txt"
    text.write_text("no log at all\n" * 9)
    with pytest.raises(ls.InvalidError):
        ls.find(text, offset=1)
    assert run("find", text, "--offset", "1").code == 2
    with CODEC_FILE.open("rb") as stream, pytest.raises(ValueError, match="only once"):
        ls.find(stream, offset=1)


def compared(paths: Sequence[str], other: Path) -> list[dict[str, Any]]:
    return [row for row in lines_of("diff", *paths, other) if row["type"] == "summary"]


@pytest.mark.parametrize("name", ["tree", "pattern", "list", "partition", "log"])
def test_differences_are_those_of_the_verb(tree: Path, tmp_path: Path, name: str):
    other = tmp_path / "other"
    shutil.copytree(tree, other)
    max((other / f"{TOPIC}-0").glob("*.log")).unlink()
    paths, source = sources_of(tree)[name]
    right = other / f"{TOPIC}-0" if name == "partition" else other
    # The command line takes one path a side, or a pattern.
    expected = compared(paths if len(paths) == 1 else [str(tree)], right)
    assert len(expected) == (1 if name == "partition" else 2)
    found = ls.diff(source, right)
    assert found.state == "different"
    assert [{"type": "summary"} | comparison.summary() for comparison in found] == expected


def test_a_segment_is_compared_like_its_file():
    segment = ls.Segment(sorted(TRANSACTIONS.glob("*.log"))[0])
    assert ls.diff(segment, segment.path).state == "same"
    assert [list(found) for found in ls.diff([segment], [segment.path])] == [[]]


def test_a_list_of_files_is_compared_as_one_tree():
    files = sorted(TRANSACTIONS.glob("*.log"))
    assert len(files) > 1
    (found,) = ls.diff(files, TRANSACTIONS.parent, topic=TOPIC, partition=0)
    assert (list(found), found.state) == ([], "same")
    (short,) = ls.diff(files[:1], TRANSACTIONS.parent, topic=TOPIC, partition=0)
    assert {difference.side for difference in short} == {"a"}


@pytest.mark.parametrize("name", SOURCES)
def test_transactions_are_those_of_the_verb(tree: Path, name: str):
    paths, source = sources_of(tree)[name]
    done = run("txn", "--all", "--json", *paths)
    expected = [json.loads(line) for line in done.out.splitlines()]
    found = ls.transactions(source)
    assert [transaction.to_dict() for transaction in found] == expected
    assert [transaction for partition in found.partitions for transaction in partition] == list(found)
    assert bool(found.findings) == bool(done.err), "damage is reported by both"
    assert bool(expected) == (name not in ("file", "segment"))


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("limits", [{}, {"limit": 7}, {"tail": 3}, {"start_offset": 2, "end_offset": 20}])
def test_records_are_those_of_the_verb(tree: Path, name: str, limits: dict[str, int]):
    paths, source = sources_of(tree)[name]
    bounds = ["--offset", "2..20"] if "end_offset" in limits else [word for key, at in limits.items() for word in (f"--{key}", str(at))]
    columns = ["topic", "partition", "offset", "timestampMs"]
    done = run("cat", "--on-error", "skip", "--columns", ",".join(columns), *bounds, *paths)
    expected = [json.loads(line) for line in done.out.splitlines()]
    assert expected
    assert ls.read_records(source, columns=columns, on_error="skip", **limits).to_pylist() == expected
    if not limits:
        assert ls.read_records(source, columns=columns, on_error="skip").to_pyarrow().to_pylist() == expected


@pytest.mark.parametrize("name", SOURCES)
def test_batches_are_those_of_the_verb(tree: Path, name: str):
    paths, source = sources_of(tree)[name]
    expected = [json.loads(line) for line in run("batches", "--json", "--on-error", "skip", *paths).out.splitlines()]

    class Named(ls.Observer):
        path = ""
        findings: list[ls.Finding]

        def begin(self, path: str, size: int) -> None:
            self.path = path

        def done(self, path: str, result: ls.FileRead) -> None:
            self.findings = [*getattr(self, "findings", []), *result.findings]

    named = Named()
    rows = [
        {"file": named.path} | row
        for batch in ls.read_batches(source, on_error="skip", observer=named)
        for row in json.loads("[" + batch.to_jsonl().decode().replace("\n", ",")[:-1] + "]")
    ]
    assert rows == expected
    assert any(finding.severity == "error" for finding in named.findings) == (name in ("tree", "pattern", "list", "log"))


def test_an_entry_is_that_of_the_verb(tree: Path):
    partition = tree / f"{TOPIC}-0"
    for source, options in (
        (partition, {"offset": 30}),
        (CODEC_FILE, {}),
        (CODEC_FILE, {"at": 100}),
        (tree / "codec-gzip-0/00000000000000000000.log", {}),
        (tree / "codec-gzip-0", {"offset": 3}),
    ):
        done = run("explain", "--json", source, *(word for name, at in options.items() for word in (f"--{name}", str(at))))
        shown = ls.explain(source, **options)
        found = {"file": shown.path, **shown.entry.to_dict()}
        assert json.loads(done.out) == found | ({} if shown.next_entry is None else {"next": shown.next_entry.to_dict()})
        assert done.code == (0 if shown.ok else 1)
    assert not ls.explain(tree / "codec-gzip-0/00000000000000000000.log").ok
    assert ls.explain(ls.Log(partition), offset=30).entry == ls.explain(partition, offset=30).entry
    with pytest.raises(ValueError, match="pass one file"):
        ls.explain(partition)


def test_new_records_are_those_of_the_verb(tree: Path):
    partition = tree / f"{TOPIC}-0"
    done = run("follow", "--offset", "5", "--idle-exit", "0", "--columns", "offset", partition)
    expected = [json.loads(line) for line in done.out.splitlines()]
    assert expected
    for source in (partition, str(tree / "trans*-0"), [partition], ls.Log(partition)):
        assert ls.follow(source, offset=5, idle_exit=0, columns=["offset"]).to_pylist() == expected


@pytest.mark.parametrize("name", SOURCES)
def test_lz4_frames_are_those_of_the_files(tmp_path: Path, tree: Path, name: str):
    shutil.copytree(MODERN / "codec-lz4-0", tree / "codec-lz4-0")
    paths, source = sources_of(tree)[name]
    told: dict[str, list[ls.Lz4Frames]] = {}

    class Told(ls.Observer):
        def done(self, path: str, result: list[ls.Lz4Frames]) -> None:
            told[path] = result

    (tree / "codec-gzip-0/00000000000000000000.log").write_bytes(CODEC_FILE.read_bytes())
    found = ls.check_lz4(source, observer=Told())
    assert sum(frames.count for frames in found) == sum(frames.count for rows in told.values() for frames in rows)
    done = run("lz4", "check", *paths)
    assert done.code == (0 if all(frames.ok for frames in found) else 1)
    assert {line.partition(": ")[0] for line in done.text.splitlines() if not line.startswith("  ")} == told.keys()


def test_lz4_frames_are_rewritten_into_a_file(tmp_path: Path):
    log = MODERN / "codec-lz4-0/00000000000000000000.log"
    assert run("lz4", "break", log.parent, "--output", tmp_path / "verb.log").code == 0
    assert ls.break_lz4(log.parent, topic="codec-lz4", out=tmp_path / "function.log") is None
    assert (tmp_path / "function.log").read_bytes() == (tmp_path / "verb.log").read_bytes() == ls.break_lz4(log)
    with pytest.raises(FileExistsError):
        ls.fix_lz4(log, out=tmp_path / "function.log")
    ls.fix_lz4(tmp_path / "verb.log", out=tmp_path / "function.log", overwrite=True)
    assert ls.check_lz4(tmp_path / "function.log")[0].form == "correct"
    with pytest.raises(ValueError, match="one segment"):
        ls.fix_lz4(TRANSACTIONS)
    with pytest.raises(ValueError, match="never overwritten"):
        ls.fix_lz4(tmp_path / "verb.log", out=tmp_path / "verb.log", overwrite=True)


def test_a_dictionary_is_that_of_the_verb(tmp_path: Path):
    pytest.importorskip("zstandard")
    out = tmp_path / "made.dict"
    assert run("plugins", "train", MODERN, "--topic", "codec-none", "--size", "1024", "--output", out).code == 0
    for source in (MODERN, str(MODERN / "codec-*"), [MODERN / "codec-none-0"], ls.Log(MODERN)):
        assert ls.train_dictionary(source, topic="codec-none", size=1024).dictionary == out.read_bytes()
