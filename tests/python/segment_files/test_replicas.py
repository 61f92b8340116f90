"""A partition in several directories: refused by every API that returns or writes records, and read from one directory by an option."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import logsegment as ls
from cli_process import run
from damage import long_search
from logsegment.spark.options.read import parse_options
from made_logs import make_partition
from partition_readers import READERS, Rows, by_cat, by_log

#: The largest partition; replicas are shorter or as long.
MOST = 6


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions `sale-0` and `stock-1` of each length, in segments of two records."""
    root = tmp_path_factory.mktemp("logs")
    for length in range(1, MOST + 1):
        for topic, partition in (("sale", 0), ("stock", 1)):
            segments = [list(range(start, min(start + 2, length))) for start in range(0, length, 2)]
            make_partition(root / str(length), topic, partition, segments)
    return root


@pytest.fixture
def jbod(logs: Path, tmp_path: Path) -> Path:
    """`sale-0` on two disks, with 3 and 5 records, and `stock-1` on the second one."""
    shutil.copytree(logs / "3" / "sale-0", tmp_path / "jbod" / "disk1" / "sale-0")
    shutil.copytree(logs / "5" / "sale-0", tmp_path / "jbod" / "disk2" / "sale-0")
    shutil.copytree(logs / "4" / "stock-1", tmp_path / "jbod" / "disk2" / "stock-1")
    return tmp_path / "jbod"


readers = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


def test_two_disks_of_a_user_are_refused():
    place = Path(__file__).parents[2] / "finds" / "two-replicas" / "jbod"
    with pytest.raises(ValueError, match="sale-0 is in 2 directories"):
        by_log([str(place)])
    assert [len(by_log([str(place)], replica)) for replica in ("longest", "first")] == [8, 5]


@readers
def test_a_partition_in_two_directories_is_refused_by_name(read: Callable[..., Rows], jbod: Path):
    with pytest.raises(ValueError, match=r"(?s)sale-0 is in 2 directories: .*disk1.sale-0, .*disk2.sale-0; choose one with .*replica"):
        read([str(jbod)], None)
    assert len(read([str(jbod / "disk2")], None)) == 9


@readers
@pytest.mark.parametrize(
    ("replica", "expected"), [("longest", 5), ("first", 3), ("{jbod}/disk1", 3), ("{jbod}/disk2/sale-0", 5)], ids=lambda value: str(value)
)
def test_an_option_chooses_the_replica_and_no_other_partition_is_affected(
    read: Callable[..., Rows], replica: str, expected: int, jbod: Path
):
    found = read([str(jbod)], replica.format(jbod=jbod))
    assert found == [("sale", 0, offset) for offset in range(expected)] + [("stock", 1, offset) for offset in range(4)]


@readers
@pytest.mark.parametrize("replica", ["{jbod}", "{jbod}/disk3", "{jbod}/disk2/stock-1"])
def test_a_path_that_chooses_no_replica_is_refused(read: Callable[..., Rows], replica: str, jbod: Path):
    with pytest.raises(ValueError, match="replica"):
        read([str(jbod)], replica.format(jbod=jbod))


def test_the_longest_replica_is_the_one_whose_valid_batches_end_last(jbod: Path):
    log = jbod / "disk2" / "sale-0" / f"{4:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + bytes([log.read_bytes()[-1] ^ 1]))
    (jbod / "disk2" / "sale-0" / f"{2:020}.log").write_bytes(b"")
    # Offset 4 is damaged, and offsets 2 and 3 are gone: the first disk has more.
    assert len(by_log([str(jbod / "disk*" / "sale-0")], "longest")) == 3


@pytest.mark.parametrize(
    "verb",
    [
        ["stats"],
        ["txn"],
        ["follow"],
        ["rewrite", "--drop", "offsets=0..1", "-o", "{out}"],
        ["convert", "-o", "{out}"],
        ["compact", "-o", "{out}"],
        ["split", "--at-offset", "1", "-o", "{out}"],
        ["join", "-o", "{out}"],
    ],
    ids=lambda verb: verb[0],
)
def test_every_verb_that_reads_or_writes_records_refuses(verb: list[str], jbod: Path, tmp_path: Path):
    name, *options = [item.format(out=tmp_path / "out") for item in verb]
    done = run(name, jbod, *options)
    assert done.code == 2
    assert "sale-0 is in 2 directories" in done.err
    assert "--replica" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda jbod, out, **how: ls.stats(jbod, **how).records,
        lambda jbod, out, **how: list(ls.transactions(jbod, **how)),
        lambda jbod, out, **how: ls.rewrite(jbod, out, drop=["k"], **how),
        lambda jbod, out, **how: ls.compact(jbod, out, **how),
        lambda jbod, out, **how: ls.split(jbod, out, offsets=[1], **how),
        lambda jbod, out, **how: ls.join(jbod, out, **how),
    ],
    ids=["stats", "transactions", "rewrite", "compact", "split", "join"],
)
def test_every_function_that_reads_or_writes_records_refuses(call: Callable[..., Any], jbod: Path, tmp_path: Path):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match=r"sale-0 is in 2 directories: .*replica="):
        call(jbod, out)
    assert not out.exists()
    call(jbod, out, replica="longest")
    if out.exists():
        # A compaction drops records without a key, and keeps the end.
        assert sorted(path.name for path in out.iterdir()) == ["sale-0", "stock-1"]
        assert ls.Segment(sorted((out / "sale-0").glob("*.log"))[-1]).next_offset() == 5


def test_verify_batches_salvage_and_diff_take_each_replica_under_its_own_path(jbod: Path, tmp_path: Path):
    done = run("verify", jbod, "--json")
    lines = list(map(json.loads, done.out.splitlines()))
    files = {os.path.relpath(line["file"], jbod) for line in lines if line["file"].endswith(".log")}
    assert (done.code, len(files), {os.path.dirname(file) for file in files}) == (0, 7, {"disk1/sale-0", "disk2/sale-0", "disk2/stock-1"})
    (replicas,) = [line for line in lines if line.get("rule") == "SEG-18"]
    assert (replicas["severity"], replicas["file"]) == ("info", str(jbod))
    assert "sale-0 is in 2 directories" in replicas["message"]
    assert "1 partition in several directories" in run("verify", jbod).text

    rows = map(json.loads, run("batches", jbod, "--json").out.splitlines())
    assert {os.path.relpath(row["file"], jbod) for row in rows} == files

    assert run("salvage", jbod, "-o", tmp_path / "saved").code == 0
    assert {os.path.relpath(path, tmp_path / "saved") for path in (tmp_path / "saved").rglob("*.log")} == {
        file if "sale" in file else os.path.relpath(file, "disk2") for file in files
    }
    assert (tmp_path / "saved" / "disk1" / "sale-0" / f"{0:020}.index").exists()

    done = run("diff", jbod / "disk2" / "sale-0", jbod)
    assert done.code == 1
    assert "disk1/sale-0: missing in B: offsets 3 to 4" in done.text
    assert "disk2/sale-0: the same" in done.text
    assert run("diff", jbod, jbod).code == 0
    assert {file.name for file in ls.diff(jbod, jbod)} == {"disk1/sale-0", "disk2/sale-0", "stock-1"}


def test_a_diff_of_replicas_whose_paths_do_not_pair_is_refused(jbod: Path, tmp_path: Path):
    other = tmp_path / "other"
    shutil.copytree(jbod, other)
    (other / "disk1").rename(other / "d1")
    with pytest.raises(ValueError, match=r"sale-0 is in 2 directories of .*pass one directory of each"):
        list(ls.diff(jbod, other))


def test_a_link_to_a_directory_that_is_there_is_read_once(jbod: Path, tmp_path: Path):
    disk, link = jbod / "disk2", tmp_path / "current"
    link.symlink_to(disk)
    (disk / "also-7").symlink_to(disk / "sale-0")
    for read in READERS.values():
        for paths in ([disk], [disk, link], [link], [link, disk], [disk / "sale-0", link / "stock-1", link / "sale-0"]):
            assert len(read(list(map(str, paths)), None)) == 9, (read, paths)
    done = run("verify", disk, link, "--json")
    lines = list(map(json.loads, done.out.splitlines()))
    assert sum(line["type"] == "summary" and line["file"].endswith(".log") for line in lines) == 5
    assert "SEG-18" not in done.text
    assert len(by_cat([str(disk), str(link / "sale-0" / f"{0:020}.log")], None)) == 9


def test_the_path_of_a_link_counts_if_nothing_else_leads_there(logs: Path, tmp_path: Path):
    (tmp_path / "sale-3").symlink_to(logs / "2" / "sale-0")
    assert by_log([str(tmp_path)], None) == [("sale", 3, 0), ("sale", 3, 1)]


def test_directories_that_are_not_named_after_a_partition_are_no_replicas(logs: Path, tmp_path: Path):
    for name in ("one", "two"):
        shutil.copytree(logs / "2" / "sale-0", tmp_path / name)
    assert ls.Log([tmp_path / "one", tmp_path / "two"], topic="sale", partition=0).records(columns=[]).read_all().num_rows == 4


def test_an_invalid_option_is_refused(jbod: Path):
    with pytest.raises(TypeError, match="replica must be"):
        ls.Log(jbod, replica=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="option replica must be"):
        parse_options({"path": str(jbod), "replica": " "})


@dataclass
class Tree:
    """Directories below a root, what they hold, and the arguments of a read."""

    #: Disk, topic and partition: the number of records.
    held: dict[tuple[str, str], int]
    #: Links: a path below the root to a disk, or to a partition of it.
    links: dict[str, str]
    #: Paths below the root.
    arguments: list[str]
    replica: str | None

    def make(self, root: Path, logs: Path) -> None:
        for (disk, name), length in self.held.items():
            shutil.copytree(logs / str(length) / name, root / disk / name)
        for name, target in self.links.items():
            (root / name).symlink_to(root / target)

    def expected(self) -> Rows | None:
        """Return the rows; None if the read is refused."""
        reached: dict[str, list[str]] = {}
        for argument in self.arguments:
            target = self.links.get(argument, argument)
            below = [f"{disk}/{name}" for disk, name in sorted(self.held)]
            for place in below:
                if target in ("", place, place.split("/")[0]) and place not in reached.setdefault(place.split("/")[1], []):
                    reached[place.split("/")[1]].append(place)
        rows: Rows = []
        for name, places in reached.items():
            place = self._chosen(places)
            if place is None:
                return None
            topic, partition = name.split("-")
            rows += [(topic, int(partition), offset) for offset in range(self.held[tuple(place.split("/"))])]  # type: ignore[index]
        is_known = self.replica in (None, "longest", "first") or any(
            self.replica in (place, place.split("/")[0]) for places in reached.values() for place in places
        )
        return sorted(rows) if is_known else None

    def _chosen(self, places: list[str]) -> str | None:
        if len(places) < 2 or self.replica == "first":
            return places[0]
        if self.replica == "longest":
            return max(places, key=lambda place: self.held[tuple(place.split("/"))])  # type: ignore[index]
        inside = [place for place in places if self.replica in (place, place.split("/")[0])]
        return inside[0] if len(inside) == 1 else None


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    places = [(disk, name) for disk in ("d1", "d2", "d3") for name in ("sale-0", "stock-1")]
    held = draw(st.dictionaries(st.sampled_from(places), st.integers(1, MOST), min_size=1))
    paths = sorted({disk for disk, _ in held} | {f"{disk}/{name}" for disk, name in held})
    links = {f"link-to-{number}": draw(st.sampled_from(paths)) for number in range(draw(st.integers(0, 2)))}
    # A partition is named by its directory, so that a link as an argument leads to a disk.
    links = {name: target for name, target in links.items() if "/" not in target}
    arguments = draw(st.one_of(st.just([""]), st.lists(st.sampled_from([*paths, *links]), min_size=1, max_size=4)))
    replica = draw(st.one_of(st.none(), st.sampled_from(["longest", "first", *paths])))
    return Tree(held, links, arguments, replica)


@pytest.mark.slow
@long_search
@given(tree=trees())
def test_every_api_reads_the_same_rows_of_a_generated_tree_or_refuses_it(tree: Tree, logs: Path, tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("tree")
    tree.make(root, logs)
    paths = [str(root / argument) for argument in tree.arguments]
    replica = str(root / tree.replica) if tree.replica not in (None, "longest", "first") else tree.replica
    expected = tree.expected()
    for name, read in READERS.items():
        if expected is None:
            with pytest.raises(ValueError, match="replica"):
                read(paths, replica)
        else:
            assert read(paths, replica) == expected, name
    shutil.rmtree(root)
