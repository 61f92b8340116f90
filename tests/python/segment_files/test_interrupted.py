"""Work that a broker did not finish (SEG-17): what is read is what a broker has after its start, and every file with records is named."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import logsegment as ls
from cli_process import run
from damage import EXAMPLES, search
from interrupted_work import Replacement, name, rename, segment, start_broker
from logsegment.spark.options.read import parse_options
from logsegment.spark.read.plan import WantedRows, plan_tasks
from partition_readers import READERS, by_log

readers = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


def offsets_after_start(directory: Path) -> list[int]:
    copy = directory.parent / "started" / directory.name
    shutil.copytree(directory, copy)
    start_broker(copy)
    offsets = [offset for _, _, offset in by_log([str(copy)])]
    shutil.rmtree(copy.parent)
    return offsets


def findings(directory: Path) -> dict[str, ls.Finding]:
    """Return the findings of interrupted work by the names of their files."""
    return {
        os.path.basename(finding.path).removesuffix("@0"): finding for finding in ls.Log(directory).left_out if finding.rule == "SEG-17"
    }


def severities(directory: Path) -> dict[str, str]:
    return {name: finding.severity for name, finding in findings(directory).items()}


@pytest.fixture
def cart(tmp_path: Path) -> Path:
    directory = tmp_path / "cart-0"
    directory.mkdir()
    return directory


@pytest.fixture
def swap(cart: Path) -> Path:
    """Segments 0 and 10 were cleaned into one, and the broker died before the new segment had its name."""
    segment(cart, range(10), mark=".deleted")
    segment(cart, range(10, 20), mark=".deleted")
    segment(cart, [1, 4, 6, 9, 12, 17, 18], base=0, mark=".swap")
    segment(cart, range(20, 25))
    return cart


FOUND = Path(__file__).parents[2] / "finds" / "interrupted-swap" / "a"


def test_a_directory_of_a_user_is_read_as_its_broker_reads_it():
    assert by_log([str(FOUND)]) == [("cart", 0, offset) for offset in range(25)]
    assert set(severities(FOUND / "cart-0").values()) == {"info"}


@readers
def test_a_swap_is_completed_as_a_view(read: Any, swap: Path):
    files = {file: file.read_bytes() for file in swap.iterdir()}
    assert [offset for _, _, offset in read([str(swap)])] == [1, 4, 6, 9, 12, 17, 18, *range(20, 25)] == offsets_after_start(swap)
    assert {file: file.read_bytes() for file in swap.iterdir()} == files


def test_every_verb_names_the_files_that_it_took_and_left(swap: Path, tmp_path: Path):
    assert severities(swap) == {name(0, mark=".swap"): "info", name(0, mark=".deleted"): "info", name(10, mark=".deleted"): "info"}
    found: list[ls.Finding] = []
    ls.polars.scan(swap, findings=found).collect()
    assert len([finding for finding in found if finding.rule == "SEG-17"]) == 3
    assert len([finding for finding in ls.Log(swap).records().findings if finding.rule == "SEG-17"]) == 3
    verbs = [["cat"], ["stats"], ["find", "--offset", "12"], ["txn"], ["verify"], ["batches"], ["diff", swap]]
    outputs = [["salvage"], ["convert"], ["compact"], ["join"], ["split", "--at-offset", "4"], ["rewrite", "--drop", "offsets=4..5"]]
    for verb, *options in [*verbs, *([*verb, "-o", tmp_path / verb[0]] for verb in outputs)]:
        done = run(verb, swap, *options)
        assert done.code == 0, (verb, done.err)
        text = done.text + done.err
        assert all(file in text for file in findings(swap)), (verb, text)
    for verb, *_ in outputs:
        (place,) = [path.parent for path in (tmp_path / verb).rglob(name(0))]
        assert {file.suffix for file in place.iterdir()} <= {".log", ".index", ".timeindex", ".snapshot", ""}
        # A compaction drops records without a key, and keeps the end.
        assert ls.Segment(max(place.glob("*.log"))).next_offset() == 25
    assert run("cat", swap, "--quiet").err == ""
    assert run("verify", swap, "--fail-on", "warning").code == 0


def test_results_in_python_name_them_too(swap: Path, tmp_path: Path):
    results: dict[str, Any] = {
        "find": ls.find(swap, offset=12).findings,
        "rewrite": ls.rewrite(swap, tmp_path / "rewritten", drop=[b"no such key"]).findings,
        "compact": ls.compact(swap, tmp_path / "compacted").findings,
        "split": ls.split(swap, tmp_path / "split", offsets=4).partition_findings,
        "join": ls.join(swap, tmp_path / "joined").partition_findings,
    }
    rules = {name: [finding.rule for finding in found] for name, found in results.items()}
    assert rules == dict.fromkeys(results, ["SEG-17"] * 3)
    assert [finding["rule"] for finding in ls.stats(swap).partition_findings] == ["SEG-17"] * 3
    assert [finding["rule"] for finding in ls.stats(ls.Log(swap)).partition_findings] == ["SEG-17"] * 3
    assert json.loads(run("stats", swap, "--json").text)["partitionFindings"] == ls.stats(swap).partition_findings


def test_the_indexes_of_a_swap_are_used_and_checked(swap: Path):
    (first, _) = ls.Log(swap).segments
    assert first.offset_index.findings == []
    assert first.time_index.findings == []
    (swap / name(0, ".index", ".swap")).write_bytes(b"\xff" * 8)
    lines = list(map(json.loads, run("verify", swap, "--json").out.splitlines()))
    assert any(name(0, ".index", ".swap") in line.get("path", "") and line["rule"] != "SEG-17" for line in lines)


def test_the_whole_range_of_all_swaps_is_replaced_as_a_broker_does(cart: Path):
    segment(cart, range(10), mark=".swap")
    segment(cart, range(10, 20))
    segment(cart, range(20, 30), mark=".swap")
    segment(cart, range(20, 25))
    segment(cart, range(30, 35))
    assert [offset for _, _, offset in by_log([str(cart)])] == offsets_after_start(cart) == [*range(10), *range(20, 35)]
    found = findings(cart)
    assert severities(cart) == {name(0, mark=".swap"): "info", name(20, mark=".swap"): "info", name(10): "warning", name(20): "info"}
    assert (found[name(10)].base_offset, found[name(10)].last_offset) == (10, 19)


def test_a_swap_at_or_after_a_file_of_a_cleaner_is_taken_back(cart: Path):
    segment(cart, range(30))
    segment(cart, range(10), mark=".cleaned")
    segment(cart, range(10, 20), mark=".swap")
    segment(cart, range(20, 30), mark=".swap")
    segment(cart, range(30, 33))
    assert [offset for _, _, offset in by_log([str(cart)])] == offsets_after_start(cart) == [*range(33)]
    assert set(severities(cart).values()) == {"info"}
    # An index of the cleaner counts as well as its log.
    (cart / name(0, mark=".cleaned")).rename(cart / name(0, mark=".swap"))
    assert [offset for _, _, offset in by_log([str(cart)])] == offsets_after_start(cart) == [*range(33)]


def test_a_swap_without_a_batch_replaces_the_segment_of_its_name_alone(cart: Path):
    segment(cart, range(10))
    segment(cart, range(10, 20))
    (cart / name(0, mark=".swap")).touch()
    assert [offset for _, _, offset in by_log([str(cart)])] == offsets_after_start(cart) == [*range(10, 20)]


def test_files_that_a_healthy_broker_keeps_for_a_minute_are_information(cart: Path):
    segment(cart, range(10), mark=".deleted")
    segment(cart, range(10, 20), mark=".deleted")
    segment(cart, [21, 24], base=20)
    segment(cart, range(20, 30), mark=".deleted")
    segment(cart, range(30, 40), mark=".deleted")
    segment(cart, range(40, 45))
    assert set(severities(cart).values()) == {"info"}
    assert len(severities(cart)) == 4
    assert run("verify", cart, "--fail-on", "warning").code == 0


@pytest.mark.parametrize("mark", [".deleted", ".cleaned", ".swap"])
def test_records_that_would_fill_a_hole_are_a_warning(mark: str, cart: Path):
    segment(cart, range(10))
    segment(cart, range(10, 20), mark=mark)
    segment(cart, range(20, 25))
    if mark == ".swap":
        (cart / name(5, ".index", ".cleaned")).touch()
    (found,) = findings(cart).values()
    assert (found.severity, found.base_offset, found.last_offset) == ("warning", 10, 19)
    done = run("verify", cart, "--fail-on", "warning")
    assert done.code == 1
    assert "offsets 10 to 19" in done.text
    assert "offsets 10 to 19" in run("cat", cart, "--quiet").err
    assert run("salvage", cart, "-o", cart.parent / "saved").code == 3
    with pytest.warns(UserWarning, match=r"SEG-17.*offsets 10 to 19"):
        plan_tasks(parse_options({"path": str(cart)}), WantedRows())


@pytest.mark.parametrize("mark", [".deleted", ".cleaned"])
def test_records_after_the_end_are_a_warning(mark: str, cart: Path):
    segment(cart, range(10))
    segment(cart, range(8, 14), mark=mark)
    (found,) = findings(cart).values()
    assert (found.severity, found.base_offset, found.last_offset) == ("warning", 10, 13)


def test_records_that_a_segment_lacks_inside_are_a_warning(cart: Path):
    segment(cart, [0, 1, 2, 3, 9])
    (log,) = cart.glob("*.log")
    segment(cart, range(4, 9), mark=".deleted")
    (found,) = findings(cart).values()
    if len(ls.batches(log).to_pylist()) > 1:
        assert found.severity == "warning"


def test_records_below_the_log_start_offset_are_information(cart: Path):
    segment(cart, range(10))
    segment(cart, range(10, 20), mark=".deleted")
    segment(cart, range(20, 25))
    (cart.parent / "log-start-offset-checkpoint").write_text("0\n1\ncart 0 20\n")
    assert severities(cart) == {name(10, mark=".deleted"): "info"}
    (cart.parent / "log-start-offset-checkpoint").write_text("0\n1\ncart 0 15\n")
    (found,) = findings(cart).values()
    assert (found.severity, found.base_offset, found.last_offset) == ("warning", 15, 19)
    (cart.parent / "log-start-offset-checkpoint").write_bytes(b"\x2f\x18\xd0\x94")
    with pytest.warns(UserWarning, match="SEG-21"):
        assert severities(cart) == {name(10, mark=".deleted"): "warning"}


def test_files_without_records_are_not_named(cart: Path):
    segment(cart, range(10))
    (cart / name(10, mark=".deleted")).touch()
    (cart / name(20, mark=".cleaned")).write_bytes(bytes(500))
    (cart / name(30, ".index", ".deleted")).write_bytes(bytes(8))
    (cart / name(40, mark=".deleted")).mkdir()
    assert findings(cart) == {}


def test_a_directory_of_interrupted_work_alone_names_it(cart: Path):
    segment(cart, range(10), mark=".deleted")
    with pytest.raises(FileNotFoundError, match=r"no log segments.*log\.deleted"):
        ls.Log(cart)
    rename(cart, 0, ".deleted", ".swap")
    assert len(by_log([str(cart)])) == 10


def test_a_file_that_is_named_is_read_as_it_is(swap: Path):
    assert ls.Segment(swap / name(0, mark=".swap")).next_offset() == 19
    assert len(by_log([str(swap / name(10, mark=".deleted"))])) == 10


@st.composite
def replacements(draw: st.DrawFn) -> Replacement:
    lengths = draw(st.lists(st.integers(1, 6), min_size=2, max_size=5))
    first = draw(st.integers(0, len(lengths) - 2))
    last = draw(st.integers(first, len(lengths) - 2))
    most = sum(lengths[first : last + 1])
    cuts = draw(st.lists(st.integers(1, most), max_size=2, unique=True))
    # A split drops nothing.
    dropped = draw(st.frozensets(st.integers(0, sum(lengths)), max_size=6)) if not cuts else frozenset()
    steps = draw(st.integers(0, 3 * (2 * (len(cuts) + 1) + last - first + 1)))
    return Replacement(lengths, first, last, cuts, dropped, steps, draw(st.integers(0, 1)) * (last - first + 1))


@pytest.mark.slow
@settings(search, max_examples=max(EXAMPLES // 20, 10))
@given(made=replacements())
def test_every_api_reads_what_a_broker_has_after_its_start_at_every_step(made: Replacement, tmp_path_factory: pytest.TempPathFactory):
    directory = tmp_path_factory.mktemp("step") / "cart-0"
    directory.mkdir()
    made.make(directory)
    names = sorted(file.name for file in directory.iterdir())
    expected = offsets_after_start(directory)
    for api, read in READERS.items():
        assert [offset for _, _, offset in read([str(directory)], None)] == expected, (api, names)
    assert sorted(file.name for file in directory.iterdir()) == names
    # The broker loses nothing at any step, and no file has records that are missing.
    assert "warning" not in severities(directory).values(), names
    named = {file for file in names if ".log." in file}
    assert set(findings(directory)) >= named, names
    shutil.rmtree(directory.parent)
