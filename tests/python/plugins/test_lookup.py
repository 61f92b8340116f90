"""The look-ups of registries: tasks of a process read a registry once, and do without brokers that are down."""

from __future__ import annotations

import pickle
import time
from collections.abc import Hashable
from pathlib import Path
from typing import ClassVar

import pytest

from logsegment.plugins import Entry, FileRegistry, MemoryRegistry, Plugin, Registry, RegistryError, TopicRegistry, lookup
from logsegment.plugins.catalog import Catalog
from logsegment.plugins.lookup import KEPT_SECONDS, Store
from logsegment.plugins.topic_registry import TopicStore
from logsegment.spark.options.plugins import carrying
from rights import closed

FAST, SMALL = Entry(0, "fast", "a:Fast", "v1"), Entry(1, "small", "a:Small", "v1")


class Place:
    """The topic that every `CountedStore` reads."""

    entries: ClassVar[list[Entry]] = [FAST]
    #: The offset after its last record.
    end = 1
    is_down = False
    reads = 0


class CountedStore(Store):
    """A store elsewhere, which counts how often it is read."""

    retry_seconds = 1.0

    def __init__(self, login: object) -> None:
        self.name = "elsewhere"
        self.login = login

    def key(self) -> Hashable:
        return type(self), self.login

    def read(self, language: str | None) -> Catalog:
        Place.reads += 1
        if Place.is_down:
            raise RegistryError("nobody answers")
        return Catalog({"python": {entry.alias: entry for entry in Place.entries}}, ends={"python": Place.end})


def counted(login: object = "anyone") -> Registry:
    return Registry(CountedStore(login))


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was read in this process."""
    monkeypatch.setattr(lookup, "_HERE", {})
    monkeypatch.setattr(Place, "entries", [FAST])
    monkeypatch.setattr(Place, "end", 1)
    monkeypatch.setattr(Place, "is_down", False)
    monkeypatch.setattr(Place, "reads", 0)


def tasks(count: int, registry: Registry) -> list[Registry]:
    """Return the registries that tasks of one job get."""
    sent = pickle.dumps(registry)
    return [pickle.loads(sent) for _ in range(count)]


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + seconds)


def test_a_process_reads_it_once_for_all_tasks_and_batches():
    job = counted()
    for task in tasks(100, job):
        assert task.by_id(0) == task.by_alias("fast") == FAST
        assert task.entries() == [FAST]
    assert Place.reads == 1
    for other in tasks(10, counted("someone else")):
        assert other.by_id(0) == FAST
    assert Place.reads == 2, "other settings are another registry"
    for own in tasks(3, counted(["no", "key"])):
        assert own.by_id(0) == FAST
    assert Place.reads == 5, "what cannot be compared belongs to its task"


def test_what_the_driver_knows_no_task_asks_for():
    job = counted().for_tasks()
    assert job.by_id(0) == FAST
    sent = pickle.dumps(job)
    lookup._HERE.clear()
    assert pickle.loads(sent).by_id(0) == FAST
    assert Place.reads == 1


def test_a_change_is_seen_within_a_minute_and_an_unknown_name_at_once(monkeypatch: pytest.MonkeyPatch):
    [task] = tasks(1, counted())
    assert task.by_id(0) == FAST
    Place.entries = [Entry(0, "fast", "a:Fast", "v1.1"), SMALL]
    [task] = tasks(1, counted())
    assert (task.by_id(0), Place.reads) == (FAST, 1)
    later(monkeypatch, KEPT_SECONDS + 1)
    [task] = tasks(1, counted())
    assert task.by_id(0).version == "v1.1"
    Place.entries = [*Place.entries, Entry(2, "new", "a:New", "v1")]
    [task] = tasks(1, counted())
    assert task.by_alias("new").plugin_id == 2
    assert Place.reads == 3


def test_brokers_that_are_down_do_no_harm_to_who_knows(monkeypatch: pytest.MonkeyPatch):
    job = counted()
    [task] = tasks(1, job)
    assert task.by_id(0) == FAST
    Place.is_down = True
    later(monkeypatch, KEPT_SECONDS + 1)
    for task in tasks(10, counted()):
        assert task.by_id(0) == FAST
    assert Place.reads == 2, "they are not asked by every task"
    with pytest.raises(RegistryError, match="nobody answers"):
        task.by_id(7)


def test_a_newer_reading_of_the_driver_takes_the_place_of_an_older_one():
    [task] = tasks(1, counted())
    assert task.by_id(0) == FAST
    Place.entries, Place.end = [Entry(0, "fast", "a:Fast", "v2.0")], 2
    driver = counted()
    assert driver.by_id(0).version == "v2.0"
    for task in tasks(5, driver):
        assert task.by_id(0).version == "v2.0"
    assert Place.reads == 2


@pytest.mark.parametrize("ahead", [-1e9, 1e9])
def test_which_reading_is_newer_is_not_asked_of_two_clocks(ahead: float, monkeypatch: pytest.MonkeyPatch):
    """The driver's clocks are those of another machine: what it read before this process did never takes the place of that."""
    driver = counted()
    with monkeypatch.context() as there:
        for clock in ("time", "monotonic"):
            now = getattr(time, clock)()
            there.setattr(time, clock, lambda now=now: now + ahead)
        assert driver.by_id(0) == FAST
        old = pickle.dumps(driver)
    Place.entries, Place.end = [Entry(0, "fast", "a:Fast", "v1.1"), SMALL], 3
    [task] = tasks(1, counted())
    assert task.by_id(1) == SMALL
    for late in (pickle.loads(old), *tasks(3, counted())):
        assert (late.by_id(0).version, late.by_id(1)) == ("v1.1", SMALL)
    assert Place.reads == 2
    later(monkeypatch, KEPT_SECONDS + 1)
    Place.entries, Place.end = [SMALL], 4
    [task] = tasks(1, counted())
    assert task.entries() == [SMALL], "and what is old is read again after a minute of this machine"


def test_a_file_is_read_where_the_job_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It may lie on the driver only; a relative path is the driver's."""
    monkeypatch.chdir(tmp_path)
    registry = FileRegistry("plugins.json")
    with pytest.raises(RegistryError, match=r"no registry /.*plugins\.json"):
        registry.for_tasks()
    registry.register([Plugin("fast", {"java": "a.Fast", "python": "a:Fast"}, "v1")])
    job = registry.for_tasks()
    assert repr(job) == f"FileRegistry('{tmp_path}/plugins.json', 'python')"
    sent = pickle.dumps(job)
    lookup._HERE.clear()
    (tmp_path / "plugins.json").unlink()
    task = pickle.loads(sent)
    assert task.by_id(0).class_name == "a:Fast"
    assert (task.by_id(1), task.by_alias("small")) == (None, None), "what the driver did not find is nobody's where there is no file"
    task.refresh()
    assert task.by_id(0).class_name == "a:Fast", "without the file the entries stay"
    (tmp_path / "plugins.json").write_text("{")
    with pytest.raises(RegistryError, match="it is not JSON"):
        task.by_id(1)
    (tmp_path / "plugins.json").unlink()
    registry.register([Plugin("small", {"java": "a.Small", "python": "a:Small"}, "v1")])
    assert task.by_alias("small").plugin_id == 0, "a file that is there is read for an unknown name"


def test_a_file_that_may_not_be_read_is_as_good_as_none(tmp_path: Path):
    """The home of who submitted the job, on the machine of an executor that works for somebody else."""
    path = tmp_path / "home/plugins.json"
    path.parent.mkdir()
    FileRegistry(path).register([Plugin("fast", {"java": "a.Fast", "python": "a:Fast"}, "v1")])
    [task] = tasks(1, FileRegistry(path).for_tasks())
    with closed(path.parent, 0o000):
        assert (task.by_id(0).alias, task.by_id(1)) == ("fast", None)
        with pytest.raises(RegistryError, match="Permission denied"):
            FileRegistry(path).by_id(1)


def test_each_job_has_the_file_as_its_driver_read_it(tmp_path: Path):
    path = tmp_path / "plugins.json"
    registry = FileRegistry(path)
    registry.register([Plugin("fast", {"java": "a.Fast", "python": "a:Fast"}, "v1.0")])
    first = registry.for_tasks()
    registry.register([Plugin("fast", {"java": "a.Fast", "python": "a:Faster"}, "v1.1")])
    second = registry.for_tasks()
    for job, version in ((first, "v1.0"), (second, "v1.1"), (first, "v1.0")):
        assert tasks(1, job)[0].by_id(0).version == version


def test_what_is_kept_nowhere_travels_as_it_is():
    memory = MemoryRegistry([FAST])
    [task] = tasks(1, carrying({"codecs": memory})["codecs"])
    assert task.entries() == [FAST]
    assert carrying({"codecs": None, "limits": None}) == {"codecs": None, "limits": None}


def test_topics_are_distinguished_by_servers_and_settings():
    pytest.importorskip("confluent_kafka")
    secure = {"security.protocol": "SASL_SSL", "sasl.password": "secret"}
    store = TopicStore("a:9092", {"sasl_password": "secret", "security_protocol": "SASL_SSL"})
    assert store.key() == TopicStore("a:9092", secure).key()
    others = [TopicStore("a:9092", {}), TopicStore("b:9092", secure), TopicStore("a:9092", secure, 3.0)]
    assert len({other.key() for other in [store, *others]}) == 4
    registry = TopicRegistry("a:9092", **secure)
    for shown in (registry, registry.for_tasks(), registry.in_language("java"), store):
        assert "secret" not in repr(shown)


def test_what_librdkafka_quotes_of_a_secret_is_hidden():
    """It tells the rest of a text that it does not understand: the words of secret settings are taken out, whatever surrounds them."""
    pytest.importorskip("confluent_kafka")
    settings = {"enable_sasl_oauthbearer_unsecure_jwt": True, "sasl_oauthbearer_config": "principal=admin,sword=fish4711 scope"}
    registry = TopicRegistry("127.0.0.1:9", timeout=1, security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER", **settings)
    with pytest.raises(RegistryError, match=r"Kafka at 127\.0\.0\.1:9: ") as raised:
        registry.entries()
    assert "fish4711" not in str(raised.value)
    store = TopicStore("127.0.0.1:9", settings)
    text = "Unrecognized beginning at: sword=fish4711 scope (and sword=fish4711)"
    assert store._without_secrets(text) == "Unrecognized beginning at: [hidden]=[hidden] [hidden] (and [hidden]=[hidden])"
