"""The commit protocol, by PySpark's writer classes without a Spark: attempts, aborts, crashes, two jobs, a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StructType

import logsegment as ls
from logsegment.spark.write import SegmentStreamWriter, SegmentWriter, journal, places
from logsegment.spark.write import segments as making
from logsegment.spark.write import task as tasks
from logsegment.spark.write.journal import Mark, Move
from logsegment.spark.write.task import StagedMessage

pytestmark = pytest.mark.spark
SCHEMA = StructType().add("key", BinaryType()).add("value", BinaryType())
CELLS = [
    (kind, codec) for kind in ("v0", "v1", "v2", "0.7") for codec in ("none", "gzip", "snappy", "lz4") if (kind, codec) != ("0.7", "lz4")
]
LAST = "00000000000000000000.log"


def writer(target: Path, *, overwrite: bool = False, stream: bool = False, **options: str) -> Any:
    kind = SegmentStreamWriter if stream else SegmentWriter
    return kind({"path": str(target), "topic": "orders", **options}, SCHEMA, overwrite)


def attempt(
    one: Any, task: int, values: list[str], monkeypatch: pytest.MonkeyPatch, query: str | None = None, batch: int = 0
) -> StagedMessage:
    """What a worker would do for a task."""
    context = type("Context", (), {})()
    context.partitionId = lambda: task
    context.taskAttemptId = lambda: 7
    context.getLocalProperty = {tasks.QUERY: query, tasks.BATCH: None if query is None else str(batch)}.get
    monkeypatch.setattr(tasks.TaskContext, "get", classmethod(lambda _: context))
    rows = pa.record_batch({"key": [None] * len(values), "value": values}, pa.schema([("key", pa.binary()), ("value", pa.string())]))
    return one.write(iter([rows]))


def values(target: Path) -> list[tuple[int, str]]:
    rows = ls.Log(target / "orders-0").records(columns=["offset", "value"]).to_pyarrow().to_pylist()
    return [(row["offset"], row["value"].decode()) for row in rows]


def visible(target: Path) -> list[str]:
    """Files that count, relative to the target."""
    return sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file() and "-delete/" not in str(path))


def numbered(*texts: str) -> list[tuple[int, str]]:
    return list(enumerate(texts))


def test_tasks_are_ordered_by_their_number_and_only_named_attempts_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = writer(tmp_path / "log")
    second = attempt(one, 1, ["c", "d"], monkeypatch)
    attempt(one, 0, ["speculative"], monkeypatch)
    first = attempt(one, 0, ["a", "b"], monkeypatch)
    assert visible(tmp_path / "log") == []
    one.commit([second, first])
    assert values(tmp_path / "log") == numbered("a", "b", "c", "d")
    assert visible(tmp_path / "log") == [".lock", f"orders-0/{LAST[:20]}.index", f"orders-0/{LAST}", f"orders-0/{LAST[:20]}.timeindex"]
    assert sorted(os.listdir(tmp_path / "log")) == [".lock", "orders-0"], "nothing is left of the staging"
    assert ls.Log(tmp_path / "log").validate().findings == []


def test_of_two_messages_of_one_task_one_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = writer(tmp_path)
    one.commit([attempt(one, 0, ["a"], monkeypatch), attempt(one, 0, ["a"], monkeypatch), None])
    assert values(tmp_path) == numbered("a")


def test_abort_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = writer(tmp_path)
    message = attempt(one, 0, ["a"], monkeypatch)
    one.abort([message, None])
    assert os.listdir(tmp_path) == []


def test_a_task_that_begins_after_its_job_was_given_up_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = writer(tmp_path)
    one.abort([])
    with pytest.raises(FileNotFoundError, match="on this executor"):
        attempt(one, 0, ["late"], monkeypatch)
    assert os.listdir(tmp_path) == []


def test_a_task_whose_job_is_given_up_meanwhile_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = writer(tmp_path)

    def rows() -> Any:
        for _ in range(2):
            yield pa.record_batch({"key": pa.nulls(300, pa.binary()), "value": [bytes(1000)] * 300})
            one.abort([])

    with pytest.raises(FileNotFoundError, match="the job was aborted"):
        one.write(rows())
    assert os.listdir(tmp_path) == []


def test_a_task_that_makes_files_while_its_job_is_removed_leaves_nothing(tmp_path: Path):
    """Its files go into a directory that was listed already, and that is not empty then."""

    def make_files(directory: str) -> None:
        with suppress(FileNotFoundError):
            for number in range(100_000):
                Path(directory, str(number)).touch()

    for number in range(20):
        job = f"{number:032x}"
        directory = os.path.join(places.staging(str(tmp_path), job), "task")
        os.makedirs(directory)
        task = threading.Thread(target=make_files, args=[directory])
        task.start()
        while not os.path.exists(os.path.join(directory, "50")):
            time.sleep(0)
        places.remove_staging(str(tmp_path), job)
        task.join()
        assert os.listdir(tmp_path) == []


def test_a_task_that_fails_leaves_nothing_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = writer(tmp_path, format="0.7")
    rows = pa.record_batch({"key": [b"k"], "value": [b"v"]})
    with pytest.raises(ValueError, match=r"Keys are not supported by Kafka 0\.7"):
        one.write(iter([rows]))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(("format", "compression"), CELLS)
def test_offsets_are_patched_in_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, compression: str):
    """L8-22, L8-24, V2-31: several tasks, several batches, a second job: offsets go on, and every checksum still fits."""
    wanted = []
    for job in range(2):
        one = writer(tmp_path, format=format, compression=compression, batchBytes="400", segmentBytes="1500")
        texts = [[f"job {job} task {task} record {index} {'x' * 30}" for index in range(40)] for task in range(3)]
        one.commit([attempt(one, task, texts[task], monkeypatch) for task in (2, 0, 1)])
        wanted += [text for part in texts for text in part]
    log = ls.Log(tmp_path / "orders-0")
    named = "0.7" if format == "0.7" else "auto"
    found = log.records(columns=["offset", "value"], format=named).to_pyarrow().to_pylist()
    assert [row["value"].decode() for row in found] == wanted
    assert log.validate(format=named).ok
    assert len(log) > 2
    if format == "0.7":
        sizes = [os.path.getsize(segment.path) for segment in log.segments]
        assert [segment.base_offset for segment in log.segments] == [sum(sizes[:index]) for index in range(len(sizes))]
    else:
        assert [row["offset"] for row in found] == list(range(len(wanted)))
        assert log.validate().findings == []
        firsts = [next(iter(segment.records(columns=["offset"]))).to_pyarrow()["offset"][0].as_py() for segment in log.segments]
        assert firsts == [segment.base_offset for segment in log.segments]
    assert all(os.path.getsize(segment.path) <= 1500 for segment in log.segments)


def test_a_wrapper_of_magic_0_keeps_its_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """COD-4: a level shows in the size alone."""
    texts = [f"{index * 7919 % 1000} the same words again and again" for index in range(4000)]
    sizes = {}
    for level in ("1", "9"):
        one = writer(tmp_path / level, format="v0", compression="gzip", level=level, batchBytes="200000")
        one.commit([attempt(one, task, texts, monkeypatch) for task in range(2)])
        batches = ls.Log(tmp_path / level / "orders-0").batches().to_pylist()
        sizes[level] = batches[-1]["size"]
    assert sizes["9"] < sizes["1"]


@pytest.mark.parametrize(("compression", "low", "high"), [("gzip", "1", "9"), ("lz4", "1", "17"), ("zstd", "-20", "19")])
def test_a_level_shows_in_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str, low: str, high: str):
    texts = [f"{index * 7919 % 1000} the same words again and again" for index in range(4000)]
    sizes = []
    for level in (low, high):
        one = writer(tmp_path / level, compression=compression, level=level, batchBytes="200000")
        one.commit([attempt(one, 0, texts, monkeypatch)])
        assert values(tmp_path / level) == numbered(*texts)
        sizes.append((tmp_path / level / "orders-0" / LAST).stat().st_size)
    assert sizes[1] < sizes[0]


def test_two_jobs_at_once_both_land(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The second waits for the lock, and goes on behind the first."""
    jobs = [writer(tmp_path) for _ in range(2)]
    messages = [attempt(item, 0, [f"job {number}"] * 50, monkeypatch) for number, item in enumerate(jobs)]
    place = making.place_staged

    def slow(*arguments: Any, **options: Any) -> Any:
        time.sleep(0.2)
        return place(*arguments, **options)

    monkeypatch.setattr(making, "place_staged", slow)
    threads = [threading.Thread(target=item.commit, args=([message],)) for item, message in zip(jobs, messages, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = values(tmp_path)
    assert [offset for offset, _ in found] == list(range(100))
    assert {text for _, text in found} == {"job 0", "job 1"}


def test_existing_files_are_never_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Somebody who knows no lock makes the segment that the commit is about to make: exclusive creation, all taken back."""
    one = writer(tmp_path)
    one.commit([attempt(one, 0, ["a"], monkeypatch)])
    other = writer(tmp_path)
    message = attempt(other, 0, ["b"], monkeypatch)
    intruder = tmp_path / "orders-0" / "00000000000000000001.log"
    make = journal._make

    def late(target: str, moves: list[Move]) -> None:
        intruder.write_bytes(b"mine")
        make(target, moves)

    monkeypatch.setattr(journal, "_make", late)
    before = visible(tmp_path)
    with pytest.raises(FileExistsError, match="another writer has written here; nothing was overwritten"):
        other.commit([message])
    assert intruder.read_bytes() == b"mine"
    assert visible(tmp_path) == sorted([*before, "orders-0/00000000000000000001.log"]), "indexes and journal were taken back"


def test_the_directory_of_a_running_broker_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A broker holds `.lock` in its log directories as Java does, with a lock of the process."""
    held = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", held, tmp_path / ".lock"], stdin=-1, stdout=-1) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline() == b"held\n"
        one = writer(tmp_path)
        with pytest.raises(BlockingIOError, match="a broker uses this directory"):
            one.commit([attempt(one, 0, ["a"], monkeypatch)])
    assert visible(tmp_path) == [".lock"]


@pytest.mark.parametrize("made", [0, 1, 2, 3])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_commit_that_a_crash_interrupts_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: int, overwrite: bool
):
    first = writer(tmp_path)
    first.commit([attempt(first, 0, ["a"], monkeypatch)])
    second = writer(tmp_path, overwrite=overwrite)
    message = attempt(second, 0, ["b", "c"], monkeypatch)
    make = journal._make

    def crash(target: str, moves: list[Move]) -> None:
        make(target, moves[:made])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(journal, "_make", crash)
        with pytest.raises(KeyboardInterrupt):
            second.commit([message])
    second.abort([message])
    third = writer(tmp_path)
    third.commit([attempt(third, 0, ["d"], monkeypatch)])
    assert values(tmp_path) == numbered(*([] if overwrite else ["a"]), "b", "c", "d")
    assert sorted(os.listdir(tmp_path)) == [".lock", "orders-0"]


def test_an_unreadable_journal_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / journal.JOURNAL).write_text('{"version": 2}')
    one = writer(tmp_path)
    with pytest.raises(ValueError, match=r"\.logsegment-commit: .*cannot be read"):
        one.commit([attempt(one, 0, ["a"], monkeypatch)])


def test_a_batch_of_a_stream_lands_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def send(batch: int, text: str, query: str = "q") -> None:
        one = writer(tmp_path, stream=True)
        message = attempt(one, 0, [text], monkeypatch, query, batch)
        writer(tmp_path, stream=True).commit([message], batch)

    for batch, text in [(0, "a"), (1, "b"), (1, "b"), (0, "a"), (2, "c")]:
        send(batch, text)
    assert values(tmp_path) == numbered("a", "b", "c")
    send(0, "another query", query="r")
    assert values(tmp_path) == numbered("a", "b", "c", "another query")
    assert sorted(os.listdir(tmp_path)) == sorted([journal.BATCHES, ".lock", "orders-0"])


def test_a_batch_whose_commit_crashed_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = writer(tmp_path, stream=True)
    message = attempt(one, 0, ["a"], monkeypatch, "q", 0)

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(journal, "_finish", crash)
        with pytest.raises(KeyboardInterrupt):
            one.commit([message], 0)
    again = writer(tmp_path, stream=True)
    again.commit([attempt(again, 0, ["a"], monkeypatch, "q", 0)], 0)
    assert values(tmp_path) == numbered("a")
    assert journal.is_committed(str(tmp_path), Mark("q", 0))
    assert not journal.is_committed(str(tmp_path), Mark("q", 1))


def test_what_crashed_jobs_left_is_removed_when_it_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    old, young = (places.staging(str(tmp_path), job * 32) for job in "ab")
    for directory in (old, young):
        os.makedirs(os.path.join(directory, "task"))
    long_ago = time.time() - places.ABANDONED_AFTER - 60
    for path in (os.path.join(old, "task"), old):
        os.utime(path, (long_ago, long_ago))
    one = writer(tmp_path)
    one.commit([attempt(one, 0, ["a"], monkeypatch)])
    assert not os.path.exists(old)
    assert os.path.exists(young)
    assert ls.Log(tmp_path).records(columns=["offset"]).read_all().num_rows == 1


def test_readers_pass_over_what_is_staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = writer(tmp_path)
    first.commit([attempt(first, 0, ["a"], monkeypatch)])
    second = writer(tmp_path)
    message = attempt(second, 0, ["b"], monkeypatch)
    seen = []
    place = making.place_staged

    def looking(*arguments: Any, **options: Any) -> Any:
        placed = place(*arguments, **options)
        seen.append(ls.Log(tmp_path).records(columns=["offset"]).read_all().num_rows)
        return placed

    monkeypatch.setattr(making, "place_staged", looking)
    second.commit([message])
    assert seen == [1]


def test_a_torn_log_is_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """SEG-2: a broker that recovers would cut everything behind the torn entry."""
    one = writer(tmp_path)
    one.commit([attempt(one, 0, ["a", "b"], monkeypatch)])
    log = tmp_path / "orders-0" / LAST
    other = writer(tmp_path)
    log.write_bytes(log.read_bytes() + b"\0" * 7 + b"\x09\0\0")
    size = log.stat().st_size
    told = rf"{LAST}: the log ends inside an entry at byte {size - 10} of {size}"
    with pytest.raises(ValueError, match=told):
        other.commit([attempt(other, 0, ["c"], monkeypatch)])
    with pytest.raises(ValueError, match=told):
        writer(tmp_path)


def test_an_empty_last_segment_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As a broker leaves it: an active segment without records, with room in its indexes."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    for suffix, size in (("log", 0), ("index", 0), ("timeindex", 12)):
        (directory / f"00000000000000000042.{suffix}").write_bytes(bytes(size))
    one = writer(tmp_path)
    one.commit([attempt(one, 0, ["a"], monkeypatch)])
    assert values(tmp_path) == [(42, "a")]
    assert ls.Log(directory).validate().findings == []


def test_logs_of_0_7_and_later_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = writer(tmp_path, format="0.7")
    one.commit([attempt(one, 0, ["a"], monkeypatch)])
    with pytest.raises(ValueError, match=r"Kafka 0\.7.* option format"):
        writer(tmp_path)


def test_overwrite_replaces_all_partitions_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "payments-3").mkdir()
    (tmp_path / "payments-3" / LAST).write_bytes(b"")
    (tmp_path / "notes.txt").write_text("mine")
    topic_id = "version: 0\ntopic_id: AAAAAAAAQAGAAAAAAAAAAQ"
    for text in ("a", "b"):
        one = writer(tmp_path, overwrite=True)
        one.commit([attempt(one, 0, [text], monkeypatch)])
        if text == "a":
            (tmp_path / "orders-0/partition.metadata").write_text(topic_id)
    assert values(tmp_path) == numbered("b")
    assert (tmp_path / "orders-0/partition.metadata").read_text() == topic_id, "a broker knows the topic by it"
    assert sorted(os.listdir(tmp_path)) == [".lock", "notes.txt", "orders-0"]


def test_missing_staged_files_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As on a cluster without a shared directory."""
    one = writer(tmp_path)
    message = attempt(one, 0, ["a"], monkeypatch)
    os.unlink(os.path.join(places.staging(str(tmp_path), message.job), message.parts[0].path))
    with pytest.raises(FileNotFoundError, match="the same directory on the driver and on all executors"):
        one.commit([message])
    assert visible(tmp_path) == [".lock"]


def test_a_cut_staged_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = writer(tmp_path)
    message = attempt(one, 0, ["a"], monkeypatch)
    path = Path(places.staging(str(tmp_path), message.job)) / message.parts[0].path
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ls.TruncatedError):
        one.commit([message])
    assert visible(tmp_path) == [".lock"]


@pytest.mark.parametrize("place", ["task", "commit"])
def test_a_full_disk_is_one_error_and_nothing_is_visible(tmp_path: Path, place: str):
    """A limit of the process on the size of files stands for the disk: a task's file, or the segment made of several of them."""
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path / "log"), place], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    kind, _, text = done.stdout.partition(": ")
    assert kind == "OSError"
    assert "File too large" in text
    assert str(tmp_path) in text
    assert [name for name in visible(tmp_path / "log") if name != ".lock"] == []


FULL = """
import resource, signal, sys
import pyarrow as pa
from pyspark.sql.types import BinaryType, StructType
from logsegment.spark.write import SegmentWriter
target, place = sys.argv[1:]
one = SegmentWriter({"path": target, "topic": "orders"}, StructType().add("value", BinaryType()), False)
rows = pa.record_batch({"value": [bytes(1000)] * 300})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
try:
    limit(200_000 if place == "task" else 500_000)
    messages = [one.write(iter([rows]))]
    from dataclasses import replace
    messages.append(replace(one.write(iter([rows])), task=1))
    one.commit(messages)
    print("no error")
except Exception as error:
    one.abort([])
    print(f"{type(error).__name__}: {error}")
"""
