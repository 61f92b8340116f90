"""Every store reads, fails and writes as the file system of this machine does.

The servers are s3proxy, fake-gcs-server, Azurite and the mini cluster of Hadoop, on loopback. Tests of a single protocol are in
test_s3_store.py, test_s3_writer.py, test_gcs_azure.py and test_hdfs.py.
"""

from __future__ import annotations

import pickle
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pytest

import corpus
import every_store
import logsegment as ls
from cli_process import run
from every_store import ASKS, CHECKS_KEYS, CODECS, FIRST, LARGE, NAMES, OBJECT_STORES, RECORDS, TRANSACTIONS, Store
from faulty_place import replace_methods
from logsegment import stores
from logsegment._core import FoundSegments, Place
from logsegment._places import with_options
from logsegment.segment_files.discovery import find_segments, size_of
from logsegment.spark.write import journal, task
from loopback import free_port

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]
COLUMNS = ["key", "value", "headersRaw", "offset", "timestampMs", "partition", "topic"]
#: What a reader may fetch to find the batch of an offset: windows of headers.
LOOKED_AT = 5 * (64 << 10)
Isolation = Literal["read_uncommitted", "read_committed"]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Store]]:
    """The stores by name. Nothing about them is in the environment."""
    with pytest.MonkeyPatch.context() as environment, every_store.running(tmp_path_factory.mktemp("stores")) as named:
        every_store.clear(environment)
        yield named


@pytest.fixture(params=every_store.EVERY)
def store(request: pytest.FixtureRequest, started: Callable[[str], Store]) -> Store:
    return started(request.param)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return every_store.files_of_this_machine(tmp_path_factory.mktemp("here"))


@pytest.fixture(scope="module")
def filled() -> set[str]:
    """The names of the stores that have the files."""
    return set()


@pytest.fixture
def there(store: Store, here: Path, filled: set[str]) -> Store:
    """The store with copies of the files."""
    if store.name not in filled:
        every_store.send(here, store)
    filled.add(store.name)
    return store


def test_files_are_there_as_they_were_sent(there: Store, here: Path) -> None:
    sent = {str(path.relative_to(here)): path.read_bytes() for path in here.rglob("*") if path.is_file()}
    files = [file for name in ("kafka", "damaged") for file in Place(there.place(name)).files_below()]
    listed = {file.path[len(there.place()) + 1 :]: file for file in files}
    assert {key: file.size for key, file in listed.items()} == {key: len(content) for key, content in sent.items()}
    assert all(Place(file.path).read() == sent[key] for key, file in listed.items())
    assert [(entry.name, entry.is_directory) for entry in Place(there.place("kafka")).entries()] == [(name, True) for name in sorted(NAMES)]
    assert Place(there.place("kafka")).is_directory()
    assert not Place(there.place(f"kafka/{LARGE}/{FIRST}")).is_directory()
    assert Place(there.place(f"kafka/{LARGE}/{FIRST}")).entry().size == len(sent[f"kafka/{LARGE}/{FIRST}"])


def test_segments_are_found_with_their_sizes(there: Store, here: Path) -> None:
    before = stores.io_stats().listings
    found, mine = find_segments(there.place("kafka")), find_segments(here / "kafka")
    assert there.name == "hdfs" or stores.io_stats().listings - before <= 2
    assert [(segment.topic, segment.partition, segment.base_offset) for segment in found] == [
        (segment.topic, segment.partition, segment.base_offset) for segment in mine
    ]
    assert list(map(size_of, found)) == list(map(size_of, mine))
    assert len(found) == len(CODECS) + 6 + 1


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("name", NAMES)
def test_records_of_a_log_are_those_of_the_files(there: Store, here: Path, name: str, isolation: Isolation) -> None:
    logs = ls.Log(here / "kafka" / name), ls.Log(there.uri(f"kafka/{name}"), storage_options=there.options)
    mine, theirs = (log.records(columns=COLUMNS, isolation=isolation).to_pyarrow() for log in logs)
    assert theirs.equals(mine)
    assert mine.num_rows > 0
    assert name != LARGE or mine.num_rows == RECORDS


def test_records_of_a_range_and_of_a_tree_are_those_of_the_files(there: Store, here: Path) -> None:
    logs = ls.Log(here / "kafka"), ls.Log(there.uri("kafka"), storage_options=there.options)
    mine, theirs = (log.records(start_offset=30, end_offset=70, columns=["topic", "offset", "value"]).to_pyarrow() for log in logs)
    assert theirs.equals(mine)
    assert mine.num_rows > 200
    assert logs[0].partitions == logs[1].partitions


@pytest.mark.parametrize("name", [*CODECS, LARGE])
def test_records_of_a_source_and_of_a_segment_are_those_of_the_file(there: Store, here: Path, name: str) -> None:
    mine, uri = here / "kafka" / name / FIRST, there.uri(f"kafka/{name}/{FIRST}")
    source = ls.FileSource(uri, storage_options=there.options)
    for theirs in (source, pickle.loads(pickle.dumps(source))):
        for threads in (1, 2):
            assert ls.decode(theirs, columns=COLUMNS, threads=threads).to_pyarrow().equals(ls.decode(mine, columns=COLUMNS).to_pyarrow())
    assert corpus.rows_of(ls.batches(source)) == corpus.rows_of(ls.batches(mine))
    segments = ls.Segment(mine), ls.Segment(uri, storage_options=there.options)
    rows = [segment.records(columns=["offset", "value"], start_offset=50, end_offset=150).to_pyarrow() for segment in segments]
    assert rows[0].equals(rows[1])
    assert rows[0].num_rows == 100
    there.assert_no_secret(repr(source), repr(segments[1]), str(segments[1].path))


def test_sidecar_files_are_read_there_too(there: Store, here: Path) -> None:
    logs = ls.Log(there.uri(f"kafka/{TRANSACTIONS}"), storage_options=there.options), ls.Log(here / "kafka" / TRANSACTIONS)
    for theirs, mine in zip(logs[0].segments, logs[1].segments, strict=True):
        for sidecar in ("offset_index", "time_index", "aborted_transactions", "producer_snapshot"):
            assert list(getattr(theirs, sidecar)) == list(getattr(mine, sidecar))
        assert theirs.offset_for_timestamp(0) == mine.offset_for_timestamp(0)
    assert list(logs[0].leader_epochs) == list(logs[1].leader_epochs)
    assert list(logs[0].producer_snapshot) == list(logs[1].producer_snapshot)


@pytest.mark.parametrize("name", [f"kafka/{TRANSACTIONS}", f"kafka/{LARGE}", f"damaged/{every_store.DAMAGED}"])
def test_validation_finds_the_same(there: Store, here: Path, name: str) -> None:
    theirs, mine = ls.Log(there.uri(name), storage_options=there.options).validate(), ls.Log(here / name).validate()
    assert every_store.shape(theirs.findings) == every_store.shape(mine.findings)
    assert mine.ok is theirs.ok is not name.startswith("damaged")
    reports = ls.validate(ls.FileSource(there.uri(f"{name}/{FIRST}"), storage_options=there.options)), ls.validate(here / name / FIRST)
    assert every_store.shape(reports[0].findings) == every_store.shape(reports[1].findings)
    there.assert_no_secret(*map(str, theirs.findings), *map(repr, theirs.findings), *(finding.path[:] for finding in theirs.findings))
    indexes = [finding.path for finding in theirs.findings if ".index" in finding.path]
    assert all(path.startswith(there.uri(name)) for path in indexes)
    assert bool(indexes) is name.startswith("damaged")


def test_polars_scans_what_is_there(there: Store, here: Path) -> None:
    def rows(frame: pl.LazyFrame) -> pl.DataFrame:
        wanted = frame.filter(pl.col("offset").is_between(10, 60)).select("topic", "partition", "offset", "key", "value")
        return wanted.sort("topic", "partition", "offset").collect()

    theirs = rows(ls.polars.scan(there.uri("kafka"), storage_options=there.options, isolation="read_committed"))
    assert theirs.equals(rows(ls.polars.scan(here / "kafka", isolation="read_committed")))
    assert theirs.height > 200


def test_questions_about_logs_have_the_same_answers(there: Store, here: Path) -> None:
    """`find`, `stats`, `transactions`, and no difference."""

    def told(answer: Any, place: str) -> list[dict[str, Any]]:
        rows = pa.table(answer.to_arrow()).to_pylist()
        return [row | {"path": row["path"].removeprefix(place)} if "path" in row else row for row in rows]

    mine, theirs = str(here / "kafka"), there.uri("kafka")
    asked: list[Callable[..., Any]] = [
        lambda place, **options: ls.find(place, offset=33, **options),
        lambda place, **options: ls.find(place, timestamp=5000, **options),
        lambda place, **options: ls.transactions(place, **options),
    ]
    for ask in asked:
        expected = told(ask(mine), mine)
        assert told(ask(theirs, storage_options=there.options), theirs) == expected
        assert expected
    sources = (
        ls.FileSource(f"{theirs}/{TRANSACTIONS}/{FIRST}", storage_options=there.options),
        ls.FileSource(f"{mine}/{TRANSACTIONS}/{FIRST}"),
    )
    assert ls.scan_transactions([sources[0]]) == ls.scan_transactions([sources[1]])
    committed = [ls.decode(source, columns=COLUMNS, isolation="read_committed").to_pyarrow() for source in sources]
    assert committed[0].equals(committed[1])
    counted = [ls.stats(mine), ls.stats(theirs, storage_options=there.options)]
    assert len({(span.records, span.first_offset, span.last_offset, span.bytes) for span in counted}) == 1
    compared = list(ls.diff(mine, theirs, storage_options=there.options, deep=True))
    assert [(list(pair), pair.state) for pair in compared] == [([], "same")] * len(NAMES)


def test_one_per_cent_of_the_offsets_fetches_about_one_per_cent(there: Store, here: Path) -> None:
    size, index = ((here / "kafka" / LARGE / FIRST).with_suffix(suffix).stat().st_size for suffix in (".log", ".index"))
    before = stores.io_stats().bytes_fetched
    log = ls.Log(there.uri(f"kafka/{LARGE}"), storage_options=there.options)
    rows = log.records(columns=["offset"], start_offset=5000, end_offset=5000 + RECORDS // 100).read_all().num_rows
    fetched = stores.io_stats().bytes_fetched - before
    assert rows == RECORDS // 100
    assert size * 0.009 < fetched < size * 0.02 + LOOKED_AT + index


def test_the_command_line_takes_options(there: Store, here: Path) -> None:
    uri, mine = there.uri(f"kafka/{TRANSACTIONS}"), str(here / "kafka" / TRANSACTIONS)
    for verb in (
        ["cat", "--offset", "10..20", "--columns", "offset,key,value"],
        ["cat", "--isolation", "read_committed", "--columns", "offset,value"],
        ["verify", "--json"],
        ["batches", "--json"],
    ):
        theirs, expected = run(*verb, *there.flags, uri), run(*verb, mine)
        assert (theirs.code, expected.code) == (0, 0), theirs.err
        assert theirs.text.replace(uri, mine) == expected.text
        assert expected.text
        there.assert_no_secret(theirs.text, theirs.err)
    missing = run("cat", *there.flags, there.uri("none-0"))
    assert (missing.code, missing.text) == (2, "")
    assert f"{there.uri('none-0')}: No such file or directory" in missing.err
    damaged = run("verify", "--json", *there.flags, there.uri("damaged"))
    assert damaged.code == 1
    there.assert_no_secret(missing.err, damaged.text, damaged.err)


def test_patterns_are_found(there: Store) -> None:
    found = FoundSegments.expanded([there.place("kafka/codec-[gl]*-0")], must_exist=True)
    assert list(map(str, found)) == [there.uri("kafka/codec-gzip-0"), there.uri("kafka/codec-lz4-0")]
    with pytest.raises(FileNotFoundError, match="matches"):
        FoundSegments.expanded([there.place("kafka/nothing-*")], must_exist=True)


def test_uploads_of_tiered_storage_are_restored(there: Store, here: Path, tmp_path: Path) -> None:
    """From the layout of Kafka's `LocalTieredStorage` (SEG-12)."""
    source, uploads = here / "kafka" / TRANSACTIONS, tmp_path / "tiered/kafka-tiered-storage/orders-7-PnnzqOgSQ4yNq8gSgDWTTw"
    uploads.mkdir(parents=True)
    for file in source.glob("0*"):
        if file.suffix in (".log", ".index", ".timeindex", ".txnindex"):
            shutil.copyfile(file, uploads / f"{file.stem}-abcdefghijklmnop-_1234{file.suffix}")
    every_store.send(tmp_path, there)
    restored = ls.restore(there.uri("tiered"), tmp_path / "restored", storage_options=there.options)
    assert (restored.partitions, restored.segments) == ([str(tmp_path / "restored/orders-7")], 6)
    for file in source.glob("*.log"):
        assert (tmp_path / "restored/orders-7" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("name", ["with a space", "100%", "%41", "a+b&c=d", "ünïcödé-日本", "(1)[x]", "semi;colon,comma", "at@sign", "a*b"])
def test_names_are_taken_as_they_are(store: Store, name: str) -> None:
    """Each directory is written, listed, read and removed under the same name. A URI has `%25` for a percent sign."""
    segment = ls.encode(pa.table({"value": [name.encode()]}))
    key = f"names/{name}/orders-0/{FIRST}".replace("%", "%25")
    Place(store.place(key)).put(segment)
    assert [entry.name for entry in Place(store.place("names")).entries()] == [name]
    (found,) = Place(store.place("names")).files_below()
    assert Place(found.path).read() == segment
    log = ls.Log(store.uri(f"names/{name}".replace("%", "%25")), storage_options=store.options)
    assert log.records().to_pyarrow()["value"].to_pylist() == [name.encode()]
    assert ls.decode(ls.FileSource(store.uri(key), storage_options=store.options)).read_all().num_rows == 1
    moved = store.place(f"names/{name} moved/{FIRST}".replace("%", "%25"))
    Place(moved).settle(Place(store.place(key)))
    assert Place(moved).read() == segment
    Place(store.place("names")).remove(tree=True)
    assert not Place(store.place("names")).exists()


@ASKS
def test_what_is_missing_is_a_file_not_found(there: Store, ask: Callable[..., Any]) -> None:
    """A file as well as a directory: an empty log is another thing."""
    uri = there.uri(f"kafka/none-0/{FIRST}" if ask is every_store.read else "kafka/none-0")
    with pytest.raises(FileNotFoundError, match="No such file or directory") as raised:
        ask(uri, there)
    there.assert_clean(raised.value, uri)


@pytest.mark.parametrize("store", OBJECT_STORES, indirect=True)
def test_a_file_of_a_missing_bucket_is_a_file_not_found(store: Store) -> None:
    uri = f"{store.missing_root}/{FIRST}"
    with pytest.raises(FileNotFoundError) as raised:
        every_store.read(uri, store)
    store.assert_clean(raised.value, uri)


@pytest.mark.parametrize("store", every_store.LISTS_MISSING_BUCKETS, indirect=True)
@pytest.mark.parametrize("key", ["", "/kafka"])
def test_a_missing_bucket_is_a_file_not_found(store: Store, key: str) -> None:
    uri = f"{store.missing_root}{key}"
    for ask in (find_segments, lambda uri: Place(uri).entries()):
        with pytest.raises(FileNotFoundError) as raised:
            ask(with_options(uri, store.options))
        store.assert_clean(raised.value, uri)
    with pytest.raises(FileNotFoundError) as raised:
        Place(with_options(f"{uri}/a", store.options)).put(b"a")
    store.assert_clean(raised.value, f"{uri}/a")


@pytest.mark.parametrize("store", CHECKS_KEYS, indirect=True)
@ASKS
def test_a_wrong_key_is_a_permission_error(there: Store, ask: Callable[..., Any]) -> None:
    """A store that is kept open is not given to a reader with other keys."""
    uri = there.uri(f"kafka/{LARGE}/{FIRST}" if ask is every_store.read else f"kafka/{LARGE}")
    ask(uri, there)
    with pytest.raises(PermissionError, match="the store refused the request") as raised:
        ask(uri, there, **there.wrong_options)
    there.assert_clean(raised.value, uri)
    ask(uri, there)


@pytest.mark.parametrize("store", CHECKS_KEYS, indirect=True)
def test_a_write_with_a_wrong_key_leaves_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(9 << 20))
    wrong = with_options(store.uri("unwritten/a.log"), store.wrong_options)
    for put in (lambda: Place(wrong).put(b"a"), lambda: Place(wrong).put_file(str(tmp_path / "large"))):
        with pytest.raises(PermissionError, match="the store refused the request") as raised:
            put()
        store.assert_clean(raised.value, store.uri("unwritten/a.log"))
    assert not Place(store.place("unwritten")).exists()


@pytest.mark.parametrize("store", OBJECT_STORES, indirect=True)
def test_a_store_that_is_down_is_a_connection_error(store: Store) -> None:
    assert store.gate is not None
    address = f"127.0.0.1:{free_port()}"
    down = {name: value.replace(store.gate.address, address) for name, value in store.options.items()}
    uri = store.uri("orders-0")
    with pytest.raises(ConnectionError, match="the store does not respond") as raised:
        find_segments(with_options(uri, down))
    store.assert_clean(raised.value, uri)


@pytest.mark.parametrize("store", OBJECT_STORES, indirect=True)
@ASKS
def test_a_request_that_is_refused_is_a_permission_error(there: Store, monkeypatch: pytest.MonkeyPatch, ask: Callable[..., Any]) -> None:
    """The answer repeats the options."""
    uri = there.uri(f"kafka/{LARGE}/{FIRST}" if ask is every_store.read else f"kafka/{LARGE}")
    monkeypatch.setattr(there.gate, "reason", f"<Error><Code>Denied</Code><Id>{' '.join(there.options.values())}</Id></Error>".encode())
    monkeypatch.setattr(there.gate, "refuses", lambda method, path: method == "GET")
    with pytest.raises(PermissionError, match="the store refused the request") as raised:
        ask(uri, there)
    there.assert_clean(raised.value, uri)


@pytest.mark.parametrize("store", OBJECT_STORES, indirect=True)
def test_the_environment_has_what_options_have(there: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options take precedence."""
    for name, value in there.options.items():
        monkeypatch.setenv(name.upper(), value)
    assert ls.Log(there.uri(f"kafka/{LARGE}")).records(columns=["offset"]).read_all().num_rows == RECORDS
    monkeypatch.setenv(next(iter(there.options)).upper(), "another-value-of-the-tests")
    assert ls.Log(there.uri(f"kafka/{LARGE}"), storage_options=there.options).records(columns=["offset"]).read_all().num_rows == RECORDS


def test_a_file_that_is_replaced_while_it_is_read(store: Store, here: Path) -> None:
    key = f"changing-0/{FIRST}"
    stream = every_store.reading(store, here, key)
    content = (here / "kafka" / LARGE / FIRST).read_bytes()
    Place(store.place(key)).put(content[: len(content) // 2])
    with pytest.raises(stores.ChangedError, match="was replaced") as raised:
        stream.read_all()
    store.assert_clean(raised.value, store.uri(key))


def test_a_file_that_is_replaced_by_one_of_the_same_size(store: Store, here: Path) -> None:
    """No record of the other file is returned, and its damage is not reported."""
    key = f"changing-1/{FIRST}"
    stream = every_store.reading(store, here, key)
    Place(store.place(key)).put((here / "kafka" / LARGE / FIRST).read_bytes()[:-1] + b"x")
    with pytest.raises(stores.ChangedError, match="was replaced") as raised:
        stream.read_all()
    store.assert_clean(raised.value, store.uri(key))


def test_a_file_that_is_removed_while_it_is_read(store: Store, here: Path) -> None:
    key = f"going-0/{FIRST}"
    stream = every_store.reading(store, here, key)
    Place(store.place(key)).remove()
    with pytest.raises(FileNotFoundError) as raised:
        stream.read_all()
    store.assert_clean(raised.value, store.uri(key))


def test_bytes_of_another_file_of_the_same_size_are_not_given(store: Store) -> None:
    place = store.place("replaced")
    Place(place).put(b"a" * 100)
    file = Place(place).open()
    assert file.read_at(0, 10) == b"a" * 10
    Place(place).put(b"b" * 100)
    for ask in (file.ensure_same, lambda: file.read_at(0, 10)):
        with pytest.raises(stores.ChangedError, match="was replaced") as raised:
            ask()
        store.assert_clean(raised.value, store.uri("replaced"))


def test_a_staged_file_is_moved_once_and_missed_when_it_is_gone(store: Store) -> None:
    """To repeat a step is harmless."""
    source, place = store.place("settled/staged/a.log"), store.place("settled/orders-0/a.log")
    Place(source).put(b"a")
    for _ in range(2):
        Place(place).settle(Place(source))
        assert Place(place).read() == b"a"
    for _ in range(2):
        Place(place).settle(Place(source), undo=True)
        assert not Place(place).exists()
        assert Place(source).read() == b"a"
    for _ in range(2):
        Place(source).remove()
        Place(store.place("settled/orders-0")).remove(tree=True)
    with pytest.raises(FileNotFoundError, match="No such file or directory") as raised:
        Place(place).settle(Place(source))
    store.assert_clean(raised.value, store.uri("settled/staged/a.log"))


@pytest.mark.parametrize("store", every_store.HAS_PARTS, indirect=True)
def test_a_file_of_several_parts_is_there_whole_or_not(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = random.Random(1).randbytes((17 << 20) + 5)
    (tmp_path / "large").write_bytes(content)
    Place(store.place("parts/large")).put_file(str(tmp_path / "large"))
    assert Place(store.place("parts/large")).read() == content
    if store.gate is None:
        return
    # The second part is refused.
    sent: list[str] = []
    monkeypatch.setattr(store.gate, "refuses", lambda method, path: method == "PUT" and not sent.append(path) and len(set(sent)) == 2)
    with pytest.raises(PermissionError, match="the store refused the request") as raised:
        Place(store.place("parts/refused")).put_file(str(tmp_path / "large"))
    store.assert_clean(raised.value, store.uri("parts/refused"))
    assert Place(store.place("parts")).names() == ["large"]


def test_a_writer_goes_on_after_the_end_of_a_log(store: Store) -> None:
    for texts in (["a", "b"], ["c"]):
        every_store.write(store, "written", *texts)
    assert every_store.values(store, "written/orders-0") == [(0, "a"), (1, "b"), (2, "c")]
    assert every_store.files(store, "written") == every_store.files_of(0, 2)
    assert ls.Log(store.uri("written"), storage_options=store.options).validate().findings == []


def test_the_slower_of_two_writers_leaves_nothing(store: Store) -> None:
    slow, fast = every_store.writer(store, "race"), every_store.writer(store, "race")
    message = every_store.attempt(slow, "slow")
    fast.commit([every_store.attempt(fast, "fast", "fast")])
    with pytest.raises(ValueError, match="race/orders-0 ended at offset 0 when its task started, and ends at 2 now") as raised:
        slow.commit([message])
    store.assert_no_secret(str(raised.value))
    assert every_store.values(store, "race") == [(0, "fast"), (1, "fast")]
    assert every_store.files(store, "race") == every_store.files_of(0)


def test_an_abort_and_a_task_that_fails_leave_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    one = every_store.writer(store, "aborted")
    one.abort([every_store.attempt(one, "a"), None])
    assert every_store.files(store, "aborted") == []

    def fail(place: Place, source: str) -> None:
        place.put_file(source)
        if source.endswith(".timeindex"):
            raise PermissionError(13, "refused", place.path)

    replace_methods(monkeypatch, task, put_file=fail)
    with pytest.raises(PermissionError):
        every_store.attempt(every_store.writer(store, "aborted"), "a")
    assert every_store.files(store, "aborted") == []


@pytest.mark.parametrize("store", OBJECT_STORES, indirect=True)
def test_a_commit_that_is_refused_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The objects of the first partition, which were sent before, are removed."""
    one = every_store.writer(store, "refused", partitions="2", batchBytes="1")
    message = every_store.attempt(one, "a", "b")
    assert [part.partition for part in message.parts] == [0, 1]
    with monkeypatch.context() as refusing:
        refusing.setattr(store.gate, "refuses", lambda method, path: method == "PUT" and f"refused/orders-1/{FIRST}" in unquote(path))
        with pytest.raises(PermissionError, match=r"refused/orders-1/0+\.log") as raised:
            one.commit([message])
    store.assert_no_secret(str(raised.value))
    assert every_store.files(store, "refused") == []


@pytest.mark.parametrize("made", [0, 2, 3])
def test_a_commit_that_a_crash_interrupts_is_finished_by_the_next(store: Store, monkeypatch: pytest.MonkeyPatch, made: int) -> None:
    """After so many moves. HDFS renames files, and an object store copies them."""
    key, move = f"crash-{made}", journal._make
    every_store.write(store, key, "a")
    one = every_store.writer(store, key)
    message = every_store.attempt(one, "b", "c")

    def crash(place: str, moves: list[journal.Move]) -> None:
        move(place, moves[:made])
        raise KeyboardInterrupt

    with monkeypatch.context() as crashing:
        crashing.setattr(journal, "_make", crash)
        with pytest.raises(KeyboardInterrupt):
            one.commit([message])
    one.abort([message])
    left = Place(store.place(f"{key}/{journal.JOURNAL}")).read()
    assert left is not None
    store.assert_no_secret(left.decode(), *every_store.files(store, key))
    two = every_store.writer(store, key)
    assert every_store.values(store, f"{key}/orders-0") == [(0, "a"), (1, "b"), (2, "c")], "the next writer finishes it first"
    two.commit([every_store.attempt(two, "d")])
    assert every_store.values(store, f"{key}/orders-0") == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]
    assert every_store.files(store, key) == every_store.files_of(0, 1, 3)
