"""The laws about places: several partitions, two disks, uploads in tiered storage, interrupted swaps, and Spark's tasks."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import logsegment as ls
import tiered_corpus
from tests.simulation import disk
from tests.simulation.laws import Law, Scene
from tests.simulation.partition import Partition, Segment, append
from tests.simulation.truth import COLUMNS, Query, drawn, expected, holds, read, require
from tests.simulation.write_laws import healthy, rows_in, same_rows

TOPIC_ID = tiered_corpus.TOPIC_ID


def tree(scene: Scene) -> None:
    """A tree of two partitions returns the rows of each, and `partition` selects one."""
    if scene.log_start > scene.partition.segments[0].base or scene.partition.checkpoint is not None:
        return
    root = scene.scratch / "tree"
    shutil.copytree(scene.directory, root / scene.partition.name)
    other = Partition(scene.chance, scene.partition.topic, 1)
    for _ in range(2):
        append(other, scene.chance)
    disk.write(other, root)
    query = Query(on_error="skip", control=True)
    both = {0: expected(scene.batches, query), 1: expected(other.batches, query)}
    if scene.has_unsure_rows:
        del both[0]
    for number, truth in both.items():
        outcome = read(lambda number=number: ls.Log(root, partition=number).records(columns=COLUMNS, **query.options))  # type: ignore[misc]
        same_rows(outcome.rows, truth, f"rows of partition {number} of a tree")
    if len(both) == 2:
        outcome = read(lambda: ls.Log(root).records(columns=COLUMNS, **query.options))
        require(sorted(outcome.rows, key=repr) == sorted(both[0] + both[1], key=repr), "rows of a tree", len(outcome.rows))


def replicas(scene: Scene) -> None:
    """A partition on two disks is refused without `replica`, which chooses one; no record is read twice."""
    if not scene.is_healthy or scene.partition.log_start > scene.partition.segments[0].base or scene.partition.checkpoint is not None:
        return
    behind = copy.deepcopy(scene.partition)
    last = behind.segments[-1]
    if len(last.batches) < 2 or behind.layout is not None:
        return
    del last.batches[scene.chance.randrange(1, len(last.batches)) :]
    behind.next_offset = last.batches[-1].last_offset + 1
    behind.sidecars = {}
    other = disk.write(behind, scene.scratch / "disk2")
    directories = [other, scene.directory]
    scene.chance.shuffle(directories)
    try:
        ls.Log([str(path) for path in directories]).records(columns=COLUMNS).read_all()
        require(False, "a partition in two directories is read without `replica`")
    except ls.RecordBatchError:
        raise
    except ValueError:
        pass
    query = drawn(scene.partition, scene.chance)
    truths = {"longest": scene.partition, "first": scene.partition if directories[0] == scene.directory else behind, str(other): behind}
    for replica, chosen in truths.items():
        log = ls.Log([str(path) for path in directories], replica=replica)
        outcome = read(lambda log=log: log.records(columns=COLUMNS, **query.offsets, **query.times, **query.options))  # type: ignore[misc]
        holds(chosen.seen, query, outcome)


def tiered(scene: Scene) -> None:
    """Closed segments in tiered storage, in any layout, return their rows; `restore` gives the log directory back."""
    uploads = [(segment, after.base) for segment, after in zip(scene.partition.segments, scene.partition.segments[1:], strict=False)]
    uploads = [(segment, end) for segment, end in uploads if segment.batches]
    if not scene.is_healthy or not uploads or any(segment.tail for segment, _ in uploads):
        return
    # Objects do not change, so that what was read of them is kept by their names.
    bucket = scene.scratch / f"bucket-{scene.chance.getrandbits(32)}"
    layout = scene.chance.choice([_of_kafka, _of_aiven, _of_pinterest])
    layout(scene, uploads, bucket)
    batches = [batch for segment, _ in uploads for batch in segment.batches]
    query = drawn(scene.partition, scene.chance)
    outcome = read(lambda: ls.Log(bucket / "prefix").records(columns=COLUMNS, **query.offsets, **query.times, **query.options))
    holds(batches, query, outcome)
    restored = scene.scratch / "restored"
    try:
        ls.restore(bucket / "prefix", restored)
    except ls.TruncatedError as error:
        # Where nothing tells the size of an upload, a garbage index looks like that of a log whose end is missing.
        require(scene.partition.sidecars and "its indexes have offset" in str(error), "a restore fails", error)
        return
    same_rows(rows_in(restored), expected(batches, Query(control=True)), "rows of a restored log")
    healthy(restored)


def _of_kafka(scene: Scene, uploads: list[tuple[Segment, int]], bucket: Path) -> None:
    folder = bucket / f"prefix/{scene.partition.name}-{TOPIC_ID}"
    folder.mkdir(parents=True)
    for number, (segment, _) in enumerate(uploads):
        for suffix, data in _members(scene, segment).items():
            (folder / f"{segment.base:020}-{number:022}{suffix}").write_bytes(data)


def _of_pinterest(scene: Scene, uploads: list[tuple[Segment, int]], bucket: Path) -> None:
    folder = bucket / f"prefix/cluster/{scene.partition.name}"
    folder.mkdir(parents=True)
    for segment, _ in uploads:
        for suffix, data in _members(scene, segment).items():
            if suffix != ".txnindex":
                (folder / f"{segment.base:020}{suffix}").write_bytes(data)
    (folder / "offset.wm").write_text(f"{uploads[-1][0].base:020}")


def _of_aiven(scene: Scene, uploads: list[tuple[Segment, int]], bucket: Path) -> None:
    compresses = scene.chance.random() < 0.5
    chunk_size = scene.chance.choice([100, 1000])
    uploader = tiered_corpus.Uploader(bucket, scene.partition.topic, chunk_size=chunk_size, compresses=compresses)
    for segment, end in uploads:
        uploader.segment(scene.directory / f"{segment.name:020}.log", end - 1, epochs=_epochs(scene.partition, segment, end))
    # The epochs of deleted records are not known any more.
    if scene.chance.random() < 0.4 and max(scene.log_start, scene.partition.epochs[0][1]) <= uploads[0][0].base:
        # Another leader uploaded from the same offset, and closed its segment elsewhere.
        place = scene.chance.randrange(len(uploads))
        segment = uploads[place][0]
        batches = [*segment.batches, *(batch for later, _ in uploads[place + 1 : place + 2] for batch in later.batches)]
        batches = batches[: scene.chance.randint(1, len(batches))]
        data, end = b"".join(batch.data for batch in batches), batches[-1].last_offset + 1
        log = scene.directory / f"{segment.name:020}.log"
        uploader.segment(log, end - 1, data=data, epochs=_epochs(scene.partition, segment, end), name="again")


def _epochs(partition: Partition, segment: Segment, end: int) -> dict[str, int]:
    """Return the leader epochs of the offsets of a segment."""
    begun = [(epoch, max(start, segment.base)) for epoch, start in partition.epochs if start < end]
    # Records below the log start offset have no epochs any more.
    begun = begun or [(0, segment.base)]
    followers = [start for _, start in begun[1:]] + [end]
    return {str(epoch): start for (epoch, start), follower in zip(begun, followers, strict=True) if follower > segment.base}


def _members(scene: Scene, segment: Segment) -> dict[str, bytes]:
    files = disk.files(scene.partition)
    suffixes = (".log", ".index", ".timeindex", ".txnindex")
    return {suffix: files[name] for suffix in suffixes if (name := f"{segment.base:020}{suffix}") in files}


def spark(scene: Scene) -> None:
    """The tasks of a Spark query, batch and stream, return the offsets of the log."""
    if not scene.is_healthy:
        return
    import log_starts

    truth = [row[0] for row in expected(scene.batches, Query(), scene.log_start)]
    options: dict[str, Any] = {"isolation": "read_committed"} if scene.chance.random() < 0.3 else {}
    if options:
        truth = [row[0] for row in expected(scene.batches, Query(isolation="read_committed"), scene.log_start)]
    found: dict[str, list[int]] = log_starts.read_by_spark(scene.directory.parent, **options)
    for reader, offsets in found.items():
        require(offsets == truth, f"offsets of {reader}", options, offsets, truth)


#: Laws and how often they are drawn.
PLACE_LAWS: dict[Law, int] = {tree: 1, replicas: 2, tiered: 3, spark: 1}
