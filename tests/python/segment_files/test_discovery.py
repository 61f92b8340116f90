"""Which files are segments, and of which partition (SEG-1, SEG-12)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import logsegment as ls
from logsegment._core import SegmentFile
from logsegment._log_paths import partition_of
from logsegment._places import redacted_uri
from logsegment.inputs.sources import inputs_of, partitions_of
from logsegment.segment_files.discovery import find_segments, found_in
from made_logs import make_partition

FIRST, SECOND = "00000000000000000000.log", "00000000000000000100.log"


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(root: Path, found: list[SegmentFile]) -> list[str]:
    return [os.path.relpath(segment.path, root) for segment in found]


def test_a_partition_directory_gives_its_segments_in_order(tmp_path: Path):
    make(tmp_path, f"orders-3/{SECOND}", f"orders-3/{FIRST}", "orders-3/leader-epoch-checkpoint")
    found = find_segments(tmp_path / "orders-3")
    assert [(segment.topic, segment.partition, segment.base_offset) for segment in found] == [("orders", 3, 0), ("orders", 3, 100)]
    assert {segment.directory for segment in found} == {str(tmp_path / "orders-3")}


def test_a_tree_gives_partitions_by_number(tmp_path: Path):
    make(tmp_path, f"a/t-10/{FIRST}", f"a/t-2/{FIRST}", f"b/s-0/{FIRST}", f"a/s-1/{FIRST}", "a/meta.properties")
    assert names(tmp_path, find_segments(tmp_path)) == [f"a/s-1/{FIRST}", f"a/t-2/{FIRST}", f"a/t-10/{FIRST}", f"b/s-0/{FIRST}"]


@pytest.mark.parametrize("name", ["x.log", "0.log", f"{FIRST}.deleted", f"{FIRST}.cleaned", "00000000000000000000.index"])
def test_other_files_of_a_directory_are_no_segments(tmp_path: Path, name: str):
    make(tmp_path, f"t-0/{FIRST}", f"t-0/{name}")
    assert names(tmp_path, find_segments(tmp_path)) == [f"t-0/{FIRST}"]


@pytest.mark.parametrize("mark", ["delete", "future", "stray"])
def test_a_partition_that_kafka_gave_up_is_read_only_when_named(tmp_path: Path, mark: str):
    given_up = f"t-0.{'0a' * 16}-{mark}"
    make(tmp_path, f"t-0/{FIRST}", f"{given_up}/{FIRST}", f"lost+found/{FIRST}")
    assert names(tmp_path, find_segments(tmp_path)) == [f"t-0/{FIRST}"]
    (named,) = find_segments(tmp_path / given_up)
    assert (named.topic, named.partition) == ("t", 0)


def test_a_file_is_taken_whatever_its_name(tmp_path: Path):
    make(tmp_path, "t-7/dump.bin", "somewhere/dump.bin")
    assert find_segments(tmp_path / "t-7/dump.bin") == [SegmentFile(str(tmp_path / "t-7/dump.bin"), "t", 7, None)]
    assert find_segments(tmp_path / "somewhere/dump.bin")[0].topic is None


def test_relative_paths_find_their_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make(tmp_path, f"t-7/{FIRST}")
    monkeypatch.chdir(tmp_path / "t-7")
    assert [find_segments(path)[0].partition for path in (".", FIRST, f"../t-7/{FIRST}")] == [7, 7, 7]


def test_a_segment_of_tiered_storage_has_an_id_in_its_name(tmp_path: Path):
    """SEG-12."""
    make(tmp_path, "t-7/00000000000000000042-PnnzqOgSQ4yNq8gSgDWTTw.log")
    assert find_segments(tmp_path)[0].base_offset == 42


@pytest.mark.parametrize(
    ("directory", "expected"),
    [
        ("/d/__consumer_offsets-49", ("__consumer_offsets", 49)),
        ("/d/a-b-1", ("a-b", 1)),
        ("/d/a.b_c-0", ("a.b_c", 0)),
        ("/d/a-2147483647", ("a", 2**31 - 1)),
        ("/d/a-2147483648", (None, None)),
        ("/d/a b-0", (None, None)),
        ("/d/-0", (None, None)),
        ("/d/a-", (None, None)),
        ("/d/a-\u0661", (None, None)),
    ],
)
def test_the_name_of_a_directory_gives_topic_and_partition(directory: str, expected: object):
    assert partition_of(directory) == expected


def test_links_are_followed_but_not_in_circles(tmp_path: Path):
    make(tmp_path, f"disk/t-0/{FIRST}")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/link").symlink_to(tmp_path / "disk")
    (tmp_path / "disk/up").symlink_to(tmp_path / "disk")
    assert names(tmp_path, find_segments(tmp_path / "tree")) == [f"tree/link/t-0/{FIRST}"]


def test_neighbours_of_a_segment_are_its_directory(tmp_path: Path):
    make(tmp_path, f"t-0/{FIRST}", f"t-0/{SECOND}", "t-0/dump.bin")
    (segment,) = find_segments(tmp_path / "t-0" / SECOND)
    assert names(tmp_path, segment.siblings()) == [f"t-0/{FIRST}", f"t-0/{SECOND}"]
    (other,) = find_segments(tmp_path / "t-0/dump.bin")
    assert other.siblings() == [other]


def test_nothing_to_read_is_an_error_that_names_the_path(tmp_path: Path):
    make(tmp_path, "empty/notes.txt")
    with pytest.raises(FileNotFoundError, match=r"no log segment.*empty"):
        find_segments(tmp_path / "empty")
    with pytest.raises(FileNotFoundError, match=r"No such file.*missing"):
        find_segments(tmp_path / "missing")


#: The number of the partition in each directory.
PARTITIONS = {"day[1]": 0, "day1": 1}


@pytest.fixture(params=["local", "store"])
def root(request: pytest.FixtureRequest, tmp_path: Path, as_bucket: Any) -> str:
    """Return the path or URI of a directory with logs: a name of a directory is a pattern that matches the other one."""
    for day, partition in PARTITIONS.items():
        make_partition(tmp_path / day, "orders", partition, [list(range(10)), list(range(10, 20))])
    if request.param == "local":
        return str(tmp_path)
    as_bucket(tmp_path)
    return "s3://bucket"


@pytest.mark.parametrize(
    ("name", "found"), [("day[1]", ["day[1]"]), ("day[[]1]", ["day[1]"]), ("day*", ["day1", "day[1]"]), ("day[0-9]", ["day1"])]
)
def test_a_name_that_exists_is_not_a_pattern(root: str, name: str, found: list[str]):
    expected = [f"{day}/orders-{PARTITIONS[day]}/{segment:020}.log" for day in found for segment in (0, 10)]
    path = f"{root}/{name}"
    assert [within(root, file) for file in found_in(path)[0]] == expected
    assert [within(root, segment.file) for segment in inputs_of(str(path)).segments if segment.file] == expected
    log = ls.Log(path)
    assert ([within(root, segment) for segment in log.segments], log.records(columns=[]).read_all().num_rows) == (expected, 20 * len(found))
    assert [(f"{root}/{day}/orders-{PARTITIONS[day]}", 2) for day in found] == [
        (redacted_uri(name), len(files)) for name, files in partitions_of(path)
    ]
    assert [place.offset for place in ls.find(path, offset=12)] == [12] * len(found)


def within(root: str, file: SegmentFile | ls.Segment) -> str:
    return redacted_uri(file.path).removeprefix(root).strip("/")


def test_several_paths_name_each_file_once_in_the_order_of_the_partitions(root: str):
    first, second = f"{root}/day1/orders-1", f"{root}/day[1]/orders-0"
    segments = [f"{0:020}.log", f"{10:020}.log"]
    expected = [f"day[1]/orders-0/{segments[0]}", f"day[1]/orders-0/{segments[1]}", f"day1/orders-1/{segments[1]}"]
    paths = [f"{second}/{segments[1]}", f"{first}/{segments[1]}", second]
    assert [within(root, file) for file in found_in(paths)[0]] == expected
    assert [within(root, file) for _, files in partitions_of(paths) for file in files] == expected
    assert [within(root, segment.file) for segment in inputs_of(list(map(str, paths))).segments if segment.file] == expected
    assert [within(root, segment) for segment in ls.Log(paths).segments] == expected
    assert [file.is_listed for file in found_in(paths)[0]] == [True, True, False]


def test_each_path_without_segments_is_reported(tmp_path: Path):
    make(tmp_path, f"orders-0/{FIRST}")
    failed: list[Exception] = []
    found, _ = found_in([tmp_path / "none", f"{tmp_path}/x*", tmp_path / "orders-0"], failed=failed.append)
    assert names(tmp_path, found) == [f"orders-0/{FIRST}"]
    assert [type(error) for error in failed] == [FileNotFoundError, FileNotFoundError]
    with pytest.raises(FileNotFoundError):
        found_in([tmp_path / "orders-0", tmp_path / "none"])


def test_a_failure_on_the_way_is_not_the_error_of_another_file(tmp_path: Path):
    """A pattern also tries files that are no directories."""
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "checkpoint").write_text("0")
    (tmp_path / "orders-0" / f"{0:020}.log").symlink_to(tmp_path / "gone")
    with pytest.raises(FileNotFoundError, match="orders-0"):
        ls.Log(tmp_path / "*/*.log")


def test_a_committed_read_of_nothing_looks_for_no_markers(tmp_path: Path):
    make_partition(tmp_path, "orders", 0, [list(range(10))])
    (tmp_path / "orders-0" / f"{100:020}.log").symlink_to(tmp_path / "gone")
    log = ls.Log(tmp_path / "orders-0")
    assert log.records(isolation="read_committed", start_offset=5, end_offset=5).read_all().num_rows == 0
    with pytest.raises(FileNotFoundError):
        log.records(isolation="read_committed", start_offset=5).read_all()
