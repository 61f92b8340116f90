"""What is fetched of a store: each segment once, and the next one while this one is read."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import corpus
import logsegment as ls
import object_store
import tiered_corpus as tiered
from cli_process import Done
from logsegment import stores
from made_logs import make_partition

TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"


def fetched_by(call: Callable[[], object]) -> int:
    before = stores.io_stats().bytes_fetched
    call()
    return stores.io_stats().bytes_fetched - before


@pytest.fixture
def log(tmp_path: Path, as_bucket: Callable[[Path], None]) -> Path:
    """A partition of four segments of two MB, which is a bucket too."""
    segments = [list(range(start, start + 4000)) for start in range(0, 16_000, 4000)]
    make_partition(tmp_path, "orders", 0, segments, value_bytes=500, batch_bytes=20_000, interval=4096)
    as_bucket(tmp_path)
    return tmp_path / "orders-0"


def damage(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(data)


@pytest.mark.parametrize("damaged", [None, 100, 8, 10, 1_000_000])
def test_validation_fetches_each_byte_once(damaged: int | None, log: Path):
    """The headers are held against the files next to the logs without a second request, up to an entry that cannot be framed."""
    first = min(log.glob("*.log"))
    if damaged is not None:
        damage(first, damaged)
    here, there = ls.Log(log), ls.Log("s3://bucket/orders-0")
    size = sum(path.stat().st_size for path in log.iterdir())
    reports: list[ls.Report] = []
    fetched = fetched_by(lambda: reports.append(there.validate()))
    expected = here.validate()
    assert [(finding.rule, finding.position, finding.length, finding.message) for finding in reports[0].findings] == [
        (finding.rule, finding.position, finding.length, finding.message) for finding in expected.findings
    ]
    assert expected.ok is (damaged is None)
    # A damaged segment is read again, for what is safe in it, and from the damage on for the files next to it.
    again = 0 if damaged is None else 2 * first.stat().st_size
    assert fetched <= 1.1 * (size + again)


@pytest.mark.parametrize("damaged", [None, 100, 8])
def test_the_command_line_fetches_each_byte_once(damaged: int | None, log: Path, here: Callable[..., Done]):
    """Its lines are those about the same files of this machine."""
    first = min(log.glob("*.log"))
    if damaged is not None:
        damage(first, damaged)
    # Another partition of the same bucket: the headers of one directory are not those of the other.
    shutil.copytree(log, log.parent / "orders-1")
    size = 2 * sum(path.stat().st_size for path in log.iterdir())
    theirs: list[Done] = []
    fetched = fetched_by(lambda: theirs.append(here("verify", "--json", "s3://bucket")))
    mine = here("verify", "--json", log.parent)
    assert theirs[0].text.replace("s3://bucket", str(log.parent)) == mine.text
    assert theirs[0].code == mine.code == (0 if damaged is None else 1)
    again = 0 if damaged is None else 4 * first.stat().st_size
    assert fetched <= 1.06 * (size + again)


def test_indexes_of_a_damaged_log_in_a_store_are_held_against_it(log: Path, here: Callable[..., Done]):
    damage(min(log.glob("*.index")), 4 * 8 + 7)
    damage(min(log.glob("*.log")), 1_000_000)
    theirs, mine = here("verify", "--json", "s3://bucket/orders-0"), here("verify", "--json", log)
    assert theirs.text.replace("s3://bucket/orders-0", str(log)) == mine.text
    assert "IDX-2" in {line.get("rule") for line in mine.lines}


def test_indexes_that_contradict_a_log_in_a_store_are_found(log: Path):
    index = min(log.glob("*.index"))
    damage(index, 4 * 8 + 7)
    rules = {finding.rule for finding in ls.Log("s3://bucket/orders-0").validate().findings}
    assert rules == {finding.rule for finding in ls.Log(log).validate().findings} == {"IDX-2"}


def test_transactions_in_a_store_are_held_against_their_index(tmp_path: Path, as_bucket: Callable[[Path], None]):
    """Markers are kept whole."""
    log = tmp_path / "payments-0"
    log.mkdir()
    for path in TRANSACTIONS.iterdir():
        (log / path.name).write_bytes(path.read_bytes())
    as_bucket(tmp_path)
    assert ls.Log("s3://bucket/payments-0").validate().ok
    for path in log.glob("*.txnindex"):
        path.unlink()
    found = [(finding.rule, finding.message) for finding in ls.Log("s3://bucket/payments-0").validate().findings]
    assert found == [(finding.rule, finding.message) for finding in ls.Log(log).validate().findings]
    assert "IDX-4" in {rule for rule, _ in found}


def test_the_next_segment_is_requested_while_one_is_read(log: Path, monkeypatch: pytest.MonkeyPatch):
    """The server holds the ranges of the second segment back until the third one is asked for."""
    _, first, second, *_ = sorted(log.glob("*.log"))
    is_asked = threading.Event()
    met: list[bool] = []
    answer = object_store.Handler._object

    def held(self: object_store.Handler, path: Path) -> None:
        if path == second:
            is_asked.set()
        if path == first and "Range" in self.headers:
            met.append(is_asked.wait(30))
        answer(self, path)

    monkeypatch.setattr(object_store.Handler, "_object", held)
    assert ls.Log("s3://bucket/orders-0").records(columns=["offset"]).read_all().num_rows == 16_000
    assert met
    assert all(met)


def test_the_command_line_requests_the_next_segment_while_one_is_read(
    log: Path, here: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
):
    """The server holds the second range of the first segment back until the whole second segment is asked for."""
    first, second, *_ = sorted(log.glob("*.log"))
    is_asked = threading.Event()
    met: list[bool] = []
    answer = object_store.Handler._object

    def held(self: object_store.Handler, path: Path) -> None:
        wanted = self.headers.get("Range", "")
        # Before it validates, the command line looks at the front and the end of each segment.
        if path == second and wanted == f"bytes=0-{path.stat().st_size - 1}":
            is_asked.set()
        if path == first and wanted.startswith(f"bytes={1 << 20}-"):
            met.append(is_asked.wait(20))
        answer(self, path)

    monkeypatch.setattr(object_store.Handler, "_object", held)
    assert here("verify", "s3://bucket/orders-0").code == 0
    assert met == [True]


def test_files_next_to_segments_are_requested_several_at_a_time(log: Path, monkeypatch: pytest.MonkeyPatch):
    """The server holds the first time index back until the last one is asked for. Files that do not exist are not asked for."""
    first, *_, last = sorted(log.glob("*.timeindex"))
    is_asked = threading.Event()
    met: list[bool] = []
    requests: list[tuple[str, str]] = []
    answer = object_store.Handler._object

    def held(self: object_store.Handler, path: Path) -> None:
        requests.append((self.command, path.suffix))
        if path == last:
            is_asked.set()
        if path == first:
            met.append(is_asked.wait(20))
        answer(self, path)

    monkeypatch.setattr(object_store.Handler, "_object", held)
    assert ls.Log("s3://bucket/orders-0").validate().ok
    assert met == [True]
    assert {("HEAD", ".timeindex"), ("HEAD", ".index"), ("GET", ".txnindex"), ("HEAD", ".txnindex")}.isdisjoint(requests)


def held_until(monkeypatch: pytest.MonkeyPatch, waits: Callable[[Path, str], bool], frees: Callable[[Path, str], bool]) -> list[bool]:
    """Hold requests back until another one arrives; return for each of them whether it did. A request is a path and its range."""
    is_asked = threading.Event()
    met: list[bool] = []
    answer = object_store.Handler._object

    def held(self: object_store.Handler, path: Path) -> None:
        wanted = self.headers.get("Range", "")
        if frees(path, wanted):
            is_asked.set()
        if waits(path, wanted):
            met.append(is_asked.wait(20))
        answer(self, path)

    monkeypatch.setattr(object_store.Handler, "_object", held)
    return met


def is_request_for(file: Path, path: Path, _: str) -> bool:
    return path == file


def is_range_of(file: Path, path: Path, wanted: str) -> bool:
    return path == file and wanted != ""


def test_the_ends_of_segments_are_requested_several_at_a_time(log: Path, monkeypatch: pytest.MonkeyPatch):
    first, *_, last = sorted(log.glob("*.log"))
    front = "bytes=0-65535"
    met = held_until(
        monkeypatch, lambda path, wanted: (path, wanted) == (first, front), lambda path, wanted: (path, wanted) == (last, front)
    )
    assert ls.Log("s3://bucket/orders-0").validate().ok
    assert met == [True]


def test_the_ends_of_a_range_are_looked_up_in_several_segments_at_a_time(log: Path, monkeypatch: pytest.MonkeyPatch):
    first, *_, third, _ = sorted(log.glob("*.index"))
    met = held_until(monkeypatch, lambda path, _: path == first, lambda path, _: path == third)
    assert ls.Log("s3://bucket/orders-0").records(columns=["offset"], end_offset=15_000).read_all().num_rows == 15_000
    assert met == [True]


def test_the_error_of_the_first_segment_counts_although_a_later_one_arrives_before(log: Path, monkeypatch: pytest.MonkeyPatch):
    first, _, third, _ = sorted(log.glob("*.log"))
    is_refused = threading.Event()
    answer = object_store.Handler._object

    def refused(self: object_store.Handler, path: Path) -> None:
        if path == first:
            is_refused.wait(20)
        if path in (first, third):
            is_refused.set()
            return self._answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        return answer(self, path)

    monkeypatch.setattr(object_store.Handler, "_object", refused)
    with pytest.raises(PermissionError, match=first.name):
        ls.Log("s3://bucket/orders-0").records(columns=["offset"], end_offset=15_000)


def test_files_of_uploads_are_requested_ahead(log: Path, monkeypatch: pytest.MonkeyPatch):
    """The first log waits for the third one, and the first index for one of the last."""
    stored = tiered.Uploader(log.parent, chunk_size=100_000, compresses=True, key_id="key1").partition(log)
    first, _, third, _ = sorted(stored[0].parent.glob("*.log"))
    indexes = sorted(stored[0].parent.glob("*.indexes"))
    there = ls.Log("s3://bucket/prefix", decryption_keys=tiered.KEYS)
    for waiting, later in ((first, third), (indexes[0], indexes[-2])):
        with monkeypatch.context() as patch:
            met = held_until(patch, partial(is_range_of, waiting), partial(is_request_for, later))
            assert there.validate().ok
        assert met
        assert all(met)


def test_the_command_line_opens_logs_ahead_when_it_writes_a_file(
    log: Path, here: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first, _, third, _ = sorted(log.glob("*.log"))
    met = held_until(
        monkeypatch, lambda path, wanted: path == first and wanted.startswith(f"bytes={1 << 20}-"), lambda path, wanted: path == third
    )
    assert here("cat", "--parquet", tmp_path / "out.parquet", "s3://bucket/orders-0").code == 0
    assert all(met)


def test_chunks_of_an_upload_are_fetched_once_and_ahead(log: Path):
    uploader = tiered.Uploader(log.parent, chunk_size=100_000, compresses=True, key_id="key1")
    stored = uploader.partition(log)
    size = sum(path.stat().st_size for path in stored)
    there = ls.Log("s3://bucket/prefix", decryption_keys=tiered.KEYS)
    rows: list[int] = []
    fetched = fetched_by(lambda: rows.append(there.records(columns=["offset"]).read_all().num_rows))
    assert rows == [16_000]
    assert size <= fetched <= 1.1 * size + sum(path.stat().st_size for path in stored[0].parent.glob("*.rsm-manifest"))
