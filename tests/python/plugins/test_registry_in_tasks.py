"""Registries that travel with tasks: a process reads one once, and does without brokers that are down."""

from __future__ import annotations

import pickle
import time
from collections.abc import Hashable
from pathlib import Path
from typing import ClassVar

import pytest

from logsegment.plugins import Entry, FileRegistry, MemoryRegistry, Plugin, RegistryError, TopicRegistry, stored_registry
from logsegment.plugins.catalog import Catalog, Change
from logsegment.plugins.stored_registry import KEPT_SECONDS, Plan, StoredRegistry, TravellingRegistry
from rights import closed

FAST, SMALL = Entry(0, "fast", "a:Fast", "v1"), Entry(1, "small", "a:Small", "v1")


class Place:
    """What stands in the topic that every `Counted` reads."""

    entries: ClassVar[list[Entry]] = [FAST]
    #: Behind its last record.
    end = 1
    is_down = False
    reads = 0


class Counted(StoredRegistry):
    """A registry somewhere else."""

    def __init__(self, login: object = "anyone") -> None:
        super().__init__("python")
        self.login = login

    def place(self) -> Hashable:
        return type(self), self.login

    def change(self, plan: Plan) -> list[Change]:
        raise NotImplementedError

    def _load(self, language: str | None) -> Catalog:
        Place.reads += 1
        if Place.is_down:
            raise RegistryError("nobody answers")
        return Catalog({"python": {entry.alias: entry for entry in Place.entries}}, ends={"python": Place.end})


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was read in this process."""
    monkeypatch.setattr(stored_registry, "_HERE", {})
    monkeypatch.setattr(Place, "entries", [FAST])
    monkeypatch.setattr(Place, "end", 1)
    monkeypatch.setattr(Place, "is_down", False)
    monkeypatch.setattr(Place, "reads", 0)
    monkeypatch.setattr(Counted, "fault_seconds", 0.0)


def tasks(count: int, registry: object) -> list[TravellingRegistry]:
    """What tasks of one job are given."""
    sent = pickle.dumps(registry)
    return [pickle.loads(sent) for _ in range(count)]


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + seconds)


def test_a_process_reads_it_once_for_all_tasks_and_batches():
    job = TravellingRegistry(Counted())
    for task in tasks(100, job):
        assert task.by_id(0) == task.by_alias("fast") == FAST
        assert task.entries() == [FAST]
    assert Place.reads == 1
    for other in tasks(10, TravellingRegistry(Counted("someone else"))):
        assert other.by_id(0) == FAST
    assert Place.reads == 2, "other settings are another registry"
    for own in tasks(3, TravellingRegistry(Counted(["no", "key"]))):
        assert own.by_id(0) == FAST
    assert Place.reads == 5, "what cannot be compared belongs to its task"


def test_what_the_driver_knows_no_task_asks_for():
    job = stored_registry.travelling(Counted())
    assert isinstance(job, TravellingRegistry)
    assert job.by_id(0) == FAST
    sent = pickle.dumps(job)
    stored_registry._HERE.clear()
    assert pickle.loads(sent).by_id(0) == FAST
    assert Place.reads == 1


def test_a_change_is_seen_within_a_minute_and_an_unknown_name_at_once(monkeypatch: pytest.MonkeyPatch):
    [task] = tasks(1, TravellingRegistry(Counted()))
    assert task.by_id(0) == FAST
    Place.entries = [Entry(0, "fast", "a:Fast", "v1.1"), SMALL]
    [task] = tasks(1, TravellingRegistry(Counted()))
    assert (task.by_id(0), Place.reads) == (FAST, 1)
    later(monkeypatch, KEPT_SECONDS + 1)
    [task] = tasks(1, TravellingRegistry(Counted()))
    assert task.by_id(0).version == "v1.1"
    Place.entries = [*Place.entries, Entry(2, "new", "a:New", "v1")]
    [task] = tasks(1, TravellingRegistry(Counted()))
    assert task.by_alias("new").plugin_id == 2
    assert Place.reads == 3


def test_brokers_that_are_down_do_no_harm_to_who_knows(monkeypatch: pytest.MonkeyPatch):
    job = TravellingRegistry(Counted())
    [task] = tasks(1, job)
    assert task.by_id(0) == FAST
    Place.is_down = True
    later(monkeypatch, KEPT_SECONDS + 1)
    for task in tasks(10, TravellingRegistry(Counted())):
        assert task.by_id(0) == FAST
    assert Place.reads == 2, "they are not asked by every task"
    with pytest.raises(RegistryError, match="nobody answers"):
        task.by_id(7)


def test_a_newer_reading_of_the_driver_takes_the_place_of_an_older_one():
    [task] = tasks(1, TravellingRegistry(Counted()))
    assert task.by_id(0) == FAST
    Place.entries, Place.end = [Entry(0, "fast", "a:Fast", "v2.0")], 2
    driver = Counted()
    assert driver.by_id(0).version == "v2.0"
    for task in tasks(5, TravellingRegistry(driver)):
        assert task.by_id(0).version == "v2.0"
    assert Place.reads == 2


@pytest.mark.parametrize("ahead", [-1e9, 1e9])
def test_which_reading_is_newer_is_not_asked_of_two_clocks(ahead: float, monkeypatch: pytest.MonkeyPatch):
    """The driver's clocks are those of another machine: what it read before this process did never takes the place of that."""
    driver = Counted()
    with monkeypatch.context() as there:
        for clock in ("time", "monotonic"):
            now = getattr(time, clock)()
            there.setattr(time, clock, lambda now=now: now + ahead)
        assert driver.by_id(0) == FAST
        old = pickle.dumps(TravellingRegistry(driver))
    Place.entries, Place.end = [Entry(0, "fast", "a:Fast", "v1.1"), SMALL], 3
    [task] = tasks(1, TravellingRegistry(Counted()))
    assert task.by_id(1) == SMALL
    for late in (pickle.loads(old), *tasks(3, TravellingRegistry(Counted()))):
        assert (late.by_id(0).version, late.by_id(1)) == ("v1.1", SMALL)
    assert Place.reads == 2
    later(monkeypatch, KEPT_SECONDS + 1)
    Place.entries, Place.end = [SMALL], 4
    [task] = tasks(1, TravellingRegistry(Counted()))
    assert task.entries() == [SMALL], "and what is old is read again after a minute of this machine"


def test_a_file_is_read_where_the_job_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It may lie on the driver only; a relative path is the driver's."""
    monkeypatch.chdir(tmp_path)
    registry = FileRegistry("plugins.json")
    with pytest.raises(RegistryError, match=r"no registry /.*plugins\.json"):
        stored_registry.travelling(registry)
    registry.register([Plugin("fast", {"java": "a.Fast", "python": "a:Fast"}, "v1")])
    job = stored_registry.travelling(registry)
    assert repr(job) == f"FileRegistry('{tmp_path}/plugins.json', 'python')"
    sent = pickle.dumps(job)
    stored_registry._HERE.clear()
    (tmp_path / "plugins.json").unlink()
    task = pickle.loads(sent)
    assert task.by_id(0).class_name == "a:Fast"
    assert (task.by_id(1), task.by_alias("small")) == (None, None), "what the driver did not find is nobody's where there is no file"
    with pytest.raises(RegistryError, match="no registry"):
        task.refresh()
    assert task.by_id(0).class_name == "a:Fast"
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
    [task] = tasks(1, stored_registry.travelling(FileRegistry(path)))
    with closed(path.parent, 0o000):
        assert (task.by_id(0).alias, task.by_id(1)) == ("fast", None)
        with pytest.raises(RegistryError, match="Permission denied"):
            FileRegistry(path).by_id(1)


def test_each_job_has_the_file_as_its_driver_read_it(tmp_path: Path):
    path = tmp_path / "plugins.json"
    registry = FileRegistry(path)
    registry.register([Plugin("fast", {"java": "a.Fast", "python": "a:Fast"}, "v1.0")])
    first = stored_registry.travelling(registry)
    registry.register([Plugin("fast", {"java": "a.Fast", "python": "a:Faster"}, "v1.1")])
    second = stored_registry.travelling(registry)
    for job, version in ((first, "v1.0"), (second, "v1.1"), (first, "v1.0")):
        assert tasks(1, job)[0].by_id(0).version == version


def test_what_is_kept_nowhere_travels_as_it_is():
    memory = MemoryRegistry([FAST])
    assert stored_registry.travelling(memory) is memory
    assert stored_registry.travelling(None) is None


def test_topics_are_distinguished_by_servers_and_settings():
    pytest.importorskip("confluent_kafka")
    one = TopicRegistry("a:9092", sasl_password="secret", security_protocol="SASL_SSL")
    same = TopicRegistry("a:9092", **{"security.protocol": "SASL_SSL", "sasl.password": "secret"})
    assert one.place() == same.place()
    others = [
        TopicRegistry("a:9092"),
        TopicRegistry("b:9092", **{"security.protocol": "SASL_SSL", "sasl.password": "secret"}),
        TopicRegistry("a:9092", "java", **{"security.protocol": "SASL_SSL", "sasl.password": "secret"}),
    ]
    assert len({other.place() for other in [one, *others]}) == 4
    assert "secret" not in repr(stored_registry.travelling(one))


def test_what_librdkafka_quotes_of_a_secret_is_hidden():
    """It tells the rest of a text that it does not understand: the words of secret settings are taken out, whatever surrounds them."""
    pytest.importorskip("confluent_kafka")
    settings = {"enable_sasl_oauthbearer_unsecure_jwt": True, "sasl_oauthbearer_config": "principal=admin,sword=fish4711 scope"}
    registry = TopicRegistry("127.0.0.1:9", timeout=1, security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER", **settings)
    with pytest.raises(RegistryError, match=r"Kafka at 127\.0\.0\.1:9: ") as raised:
        registry.entries()
    assert "fish4711" not in str(raised.value)
    cluster = registry._cluster
    assert repr(cluster) == "Cluster('127.0.0.1:9')"
    quoted = cluster._refusal("Unrecognized beginning at: sword=fish4711 scope", ["and sword=fish4711"])
    assert str(quoted) == "Unrecognized beginning at: [hidden]=[hidden] [hidden] (and [hidden]=[hidden])"
