"""The plugin registry in the topics of a real broker: written by administrators and by Java's own producer, read by any language."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eras
import logsegment as ls
import rows
from cli_process import run
from counting_proxy import counting
from kraft import Broker
from logsegment.cli import app
from logsegment.plugins import Entry, Plugin, RegistrationError, Registry, RegistryError, TopicRegistry
from logsegment.plugins import topic_registry as clusters
from logsegment.plugins.rules import registration
from loopback import free_port
from peers import Peer

pytestmark = pytest.mark.interop
BOTH = {"java": "org.example.Fast", "python": "example.fast:Codec"}
FAST = Plugin("fast", BOTH, "v1.0", extra={"vendor": "Übung"})
SMALL = Plugin("small", BOTH, "v1.0")
PASSWORD = "only-for-this-test"
#: A second listener, and topics that appear when they are asked for: who only looks must not make any.
MORE = """
listeners=PLAINTEXT://127.0.0.1:{plain},CONTROLLER://127.0.0.1:{controller},SASL_SSL://localhost:{secure}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL_SSL://localhost:{secure}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="{password}";
ssl.keystore.type=PKCS12
ssl.keystore.location={keys}
ssl.keystore.password={password}
ssl.key.password={password}
auto.create.topics.enable=true
controller.quorum.voters=1@127.0.0.1:{controller}
"""
WRITER = """
import sys
from logsegment.plugins import Plugin, TopicRegistry
registry = TopicRegistry(sys.argv[1], timeout=20)
sys.stdin.readline()
registry.register([Plugin(sys.argv[2], {"java": "a.B", "python": "a:B"}, "v1")])
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    eras.need(*eras.NEEDED_COMMANDS, "keytool")
    place = tmp_path_factory.mktemp("plugins")
    plain, controller, secure = (free_port() for _ in range(3))
    keys, name = place / "keys.p12", "localhost"
    store = ["-keystore", str(keys), "-storetype", "PKCS12", "-storepass", PASSWORD, "-alias", "broker"]
    made = ["-genkeypair", "-keyalg", "EC", "-dname", f"CN={name}", "-ext", f"SAN=dns:{name}", "-validity", "30"]
    eras.run(["keytool", *made, *store], place)
    eras.run(["keytool", "-exportcert", "-rfc", "-file", str(place / "ca.pem"), *store], place)
    properties = MORE.format(plain=plain, controller=controller, secure=secure, keys=keys, password=PASSWORD)
    one = Broker(place / "broker", properties)
    one.servers = f"127.0.0.1:{plain}"
    one.secure, one.ca = f"{name}:{secure}", place / "ca.pem"
    one.start()
    yield one
    one.stop()


@pytest.fixture
def servers(broker: Broker) -> Iterator[str]:
    """A cluster without plugins."""
    yield broker.servers
    admin = broker.admin()
    for gone in admin.delete_topics(registry_topics(broker) or ["plugin-none-topic"], operation_timeout=30).values():
        gone.exception(60)
    deadline = time.monotonic() + 60
    while registry_topics(broker):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def registry_topics(broker: Broker) -> list[str]:
    return sorted(topic for topic in broker.admin().list_topics(timeout=30).topics if topic.startswith("plugin-"))


def produce(peer: Peer, servers: str, topic: str, records: list[tuple[bytes | None, bytes | None]], scratch: Path) -> None:
    """Write with the producer of Kafka's own clients."""
    spec = scratch / "plugins.spec"
    rows.save_spec(spec, [[rows.Row(0, 1_700_000_000_000, 0, key, value) for key, value in records]], 2, "none")
    peer.ask("produce", servers, topic, str(spec))


def java_value(alias: str, plugin_id: Any, **more: Any) -> bytes:
    """What someone types into a file for the Java producer."""
    fields = {"pluginID": plugin_id, "pluginAlias": alias, "pluginClassName": f"org.example.{alias}", "pluginVersion": "v1.0"}
    return json.dumps(fields | more, indent=1).encode()


def test_what_is_registered_is_found_in_every_language(broker: Broker, servers: str) -> None:
    with pytest.raises(RegistryError, match=f"there is no topic plugin-python-topic at {servers}; `logsegment plugins register` makes it"):
        TopicRegistry(servers).by_alias("fast")
    with pytest.raises(RegistryError, match=f"there is no topic plugin-java-topic at {servers}; `logsegment plugins register` makes it"):
        TopicRegistry(servers).remove(["fast"])
    assert registry_topics(broker) == [], "who only looks makes no topic, and who removes what is not there neither"
    written = TopicRegistry(servers).register([FAST, SMALL])
    assert [(change.language, change.alias) for change in written] == [
        ("java", "fast"),
        ("java", "small"),
        ("python", "fast"),
        ("python", "small"),
    ]
    python, java = TopicRegistry(servers), TopicRegistry(servers, "java")
    assert isinstance(python, Registry)
    assert python.by_alias("fast") == python.by_id(0) == Entry(0, "fast", "example.fast:Codec", "v1.0", {"vendor": "Übung"})
    assert [(entry.plugin_id, entry.class_name) for entry in java.entries()] == [(0, "org.example.Fast"), (1, "org.example.Fast")]
    assert (python.by_id(9), python.by_alias("nobody")) == (None, None)
    assert python.check() == []
    assert registry_topics(broker) == ["plugin-java-topic", "plugin-python-topic"]
    assert TopicRegistry(servers).register([FAST]) == []
    ends = python.catalog().ends
    TopicRegistry(servers).remove(["fast"])
    later = python.catalog().ends
    assert ends.keys() == later.keys() == {"java", "python"}
    assert all(later[language] > ends[language] > 0 for language in ends), "by offsets it is told which reading is newer"
    assert [entry.alias for entry in TopicRegistry(servers).entries()] == ["small"]
    assert [change.entry.plugin_id for change in TopicRegistry(servers).register([FAST]) if change.entry] == [0, 0]


def test_it_is_read_again_for_an_unknown_name_and_never_for_a_known_one(servers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    read = clusters.TopicStore.read
    monkeypatch.setattr(clusters.TopicStore, "read", lambda self, language: reads.append(language) or read(self, language))
    TopicRegistry(servers).register([FAST])
    registry = TopicRegistry(servers)
    registry.retry_seconds = 60
    reads.clear()
    for _ in range(1000):
        assert registry.by_id(0).alias == registry.by_alias("fast").alias
    assert reads == ["python"]
    assert registry.by_alias("small") is None
    for _ in range(1000):
        assert registry.by_alias("small") is None
    assert reads == ["python"] * 2, "an unknown name is looked for once in a while"
    TopicRegistry(servers).register([SMALL])
    reads.clear()
    assert registry.by_id(1).alias == "small"
    travelled = pickle.loads(pickle.dumps(registry))
    assert travelled.by_alias("small") == registry.by_id(1)
    assert reads == ["python"], "what its driver knew, a task does not ask for"
    assert travelled.by_alias("nobody") is None
    assert reads == ["python"] * 2


def test_entries_that_java_wrote_by_hand_are_understood(servers: str, broker: Broker, peer: Callable[[str], Peer], scratch: Path) -> None:
    """Also those of a language that no one here has heard of."""
    topics = ["plugin-java-topic", "plugin-elixir-topic"]
    broker.create_topics(topics, **{"cleanup.policy": "compact"})
    java = peer("4.3.1")
    old = java_value("fast", 4, pluginVersion="v0.9")
    produce(
        java, servers, topics[0], [(b"gone", java_value("gone", 2)), (b"fast", old), (b"fast", java_value("fast", 4, site=["a"]))], scratch
    )
    produce(java, servers, topics[0], [(b"gone", None)], scratch)
    produce(java, servers, topics[1], [(b"fast", java_value("fast", 4, pluginClassName="Fast.Codec"))], scratch)
    registry = TopicRegistry(servers, "java")
    assert registry.entries() == [Entry(4, "fast", "org.example.fast", "v1.0", {"site": ["a"]})]
    assert TopicRegistry(servers, "elixir").by_id(4).class_name == "Fast.Codec"
    assert registry.check() == []
    with pytest.raises(RegistrationError, match="no entry for elixir"):
        registry.register([SMALL])
    written = TopicRegistry(servers).register([Plugin("fast", {"python": "example.fast:Codec"}, "v1.0")])
    assert [(change.language, change.entry.plugin_id) for change in written if change.entry] == [("python", 4)]
    assert TopicRegistry(servers).by_id(4).class_name == "example.fast:Codec"


def test_damage_is_reported_where_it_is_asked_for_and_found_by_check(
    servers: str, broker: Broker, peer: Callable[[str], Peer], scratch: Path
) -> None:
    broker.create_topics(["plugin-java-topic"], **{"cleanup.policy": "compact"})
    broker.create_topics(["plugin-python-topic"], **{"cleanup.policy": "delete"})
    java = peer("4.3.1")
    produce(
        java,
        servers,
        "plugin-java-topic",
        [(b"good", java_value("good", 1)), (b"one", java_value("one", 2)), (b"two", java_value("two", 2))],
        scratch,
    )
    damaged = [
        (b"good", java_value("good", 1)),
        (b"high", java_value("high", 16)),
        (b"torn", b'{"pluginID": 3'),
        (b"key", java_value("other", 5)),
    ]
    produce(java, servers, "plugin-python-topic", [*damaged, (None, java_value("none", 6)), (b"\xff", b"\xfe")], scratch)
    registry = TopicRegistry(servers)
    assert registry.by_alias("good").plugin_id == 1
    with pytest.raises(RegistryError, match="plugin-python-topic, offset 1: key 'high': pluginID is 16, not 0 to 15"):
        registry.by_alias("high")
    with pytest.raises(RegistryError, match="no readable entry has id 3; plugin-python-topic, offset"):
        registry.by_id(3)
    with pytest.raises(RegistryError, match="id 2 is that of 'one' and 'two'"):
        TopicRegistry(servers, "java").by_id(2)
    findings = [
        (finding.rule, finding.path, finding.base_offset, finding.field) for finding in registry.check() if finding.severity == "error"
    ]
    assert ("S-P12", "plugin-python-topic", None, "cleanup.policy") in findings
    assert ("S-P15", "plugin-java-topic", None, "pluginID") in findings
    offsets = [offset for _, path, offset, _ in findings if path == "plugin-python-topic" and offset is not None]
    assert sorted(offsets) == [1, 2, 3, 4, 5]
    with pytest.raises(RegistrationError, match="nothing was written"):
        registry.register([SMALL])


def test_topics_that_would_lose_or_split_entries_are_refused(servers: str, broker: Broker) -> None:
    broker.create_topics(["plugin-java-topic"], **{"cleanup.policy": "compact,delete"})
    with pytest.raises(RegistrationError, match=r"cleanup\.policy of plugin-java-topic is 'compact,delete' and must be 'compact'"):
        TopicRegistry(servers).register([FAST])
    assert TopicRegistry(servers, "java").entries() == []
    broker.create_topics(["plugin-go-topic"], partitions=3, **{"cleanup.policy": "compact"})
    for call in (TopicRegistry(servers, "go").entries, TopicRegistry(servers).check, lambda: TopicRegistry(servers).register([FAST])):
        with pytest.raises(RegistryError, match=r"plugin-go-topic at .* has 3 partitions and must have 1"):
            call()


def test_more_replicas_than_brokers_is_one_clear_error(servers: str, broker: Broker) -> None:
    with pytest.raises(RegistryError, match=rf"Kafka at {servers}: .*(?i:replicat)"):
        TopicRegistry(servers, replication_factor=2).register([FAST])
    assert registry_topics(broker) == []
    assert len(TopicRegistry(servers, replication_factor=1).register([FAST])) == 2


def test_an_administrator_who_comes_in_between_is_seen(servers: str) -> None:
    """The broker fences the one who came first: it plans again, with what the other has committed."""
    first, second = TopicRegistry(servers), TopicRegistry(servers)
    seen = []

    def plan(catalog: Any) -> Any:
        seen.append(catalog.aliases())
        if len(seen) == 1:
            second.register([SMALL])
        return registration(catalog, [FAST])

    written = first.change(plan)
    assert seen == [[], ["small"]]
    assert [change.entry.plugin_id for change in written if change.entry] == [1, 1]
    assert [(entry.plugin_id, entry.alias) for entry in TopicRegistry(servers).entries()] == [(0, "small"), (1, "fast")]


def test_administrators_at_once_do_not_give_two_aliases_one_id(servers: str) -> None:
    """S-P11: processes of their own, let go together."""
    aliases = [f"alias{number}" for number in range(3)]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, servers, alias], stdin=subprocess.PIPE, stderr=subprocess.PIPE) for alias in aliases
    ]
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    told = [writer.communicate(timeout=200)[1].decode() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(aliases), told
    entries = TopicRegistry(servers).entries()
    assert sorted(entry.alias for entry in entries) == aliases
    assert [entry.plugin_id for entry in entries] == [0, 1, 2]
    assert TopicRegistry(servers).check() == []


def test_an_administrator_who_dies_half_way_leaves_nothing(servers: str) -> None:
    """All or nothing over all topics: the open transaction is seen by nobody, and ends when the next one comes."""
    from confluent_kafka import Producer

    TopicRegistry(servers).register([SMALL])
    dying = Producer({"bootstrap.servers": servers, "transactional.id": clusters.TRANSACTIONAL_ID})
    dying.init_transactions(60)
    dying.begin_transaction()
    dying.produce("plugin-java-topic", java_value("half", 1), b"half", 0)
    assert dying.flush(30) == 0
    assert [entry.alias for entry in TopicRegistry(servers, "java").entries()] == ["small"]
    assert [change.entry.plugin_id for change in TopicRegistry(servers).register([FAST]) if change.entry] == [1, 1]
    assert [entry.alias for entry in TopicRegistry(servers, "java").entries()] == ["small", "fast"]


def test_settings_of_tls_and_sasl_reach_the_broker(servers: str, broker: Broker) -> None:
    login = {"sasl_mechanism": "PLAIN", "sasl.username": "admin", "sasl_password": PASSWORD}
    secure = {"security_protocol": "SASL_SSL", "ssl_ca_location": str(broker.ca), "broker_address_family": "v4"} | login
    registry = TopicRegistry(broker.secure, **secure)
    assert len(registry.register([FAST])) == 2
    travelled = pickle.loads(pickle.dumps(TopicRegistry(broker.secure, **secure)))
    assert travelled.by_alias("fast").plugin_id == 0
    assert PASSWORD not in repr(travelled)
    with pytest.raises(RegistryError, match=r"(?i)authentication"):
        TopicRegistry(broker.secure, timeout=3, **(secure | {"sasl_password": "wrong"})).entries()
    with pytest.raises(RegistryError, match=r"(?i)certificate"):
        TopicRegistry(broker.secure, timeout=3, **{name: value for name, value in secure.items() if name != "ssl_ca_location"}).entries()


def test_no_broker_is_one_clear_error_and_is_not_waited_for_by_every_batch() -> None:
    eras.need("java")
    registry = TopicRegistry(f"127.0.0.1:{free_port()}", timeout=1)
    began = time.monotonic()
    for _ in range(100):
        with pytest.raises(RegistryError, match=r"Kafka at 127\.0\.0\.1:\d+: .*(Connection refused|transport failure)") as raised:
            registry.by_id(3)
        assert "Traceback" not in str(raised.value)
    assert time.monotonic() - began < 60
    with pytest.raises(ValueError, match=r'No such configuration property: "no\.such\.setting"'):
        TopicRegistry("127.0.0.1:9", no_such_setting=1).entries()
    with pytest.raises(ValueError, match=r"ssl\.ca\.location failed"):
        TopicRegistry("127.0.0.1:9", security_protocol="SSL", ssl_ca_location="/missing.pem").entries()


def test_the_command_line_registers_in_topics(servers: str, broker: Broker, tmp_path: Path) -> None:
    """`logsegment plugins`, over TLS and SASL from a file of properties."""
    plugins, properties = tmp_path / "plugins.json", tmp_path / "admin.properties"
    plugins.write_text(json.dumps([{"pluginAlias": "fast", "pluginClassName": BOTH, "pluginVersion": "v1.0"}]))
    properties.write_text(
        f"# who asks\nsecurity.protocol=SASL_SSL\nssl.ca.location={broker.ca}\nbroker.address.family=v4\n"
        f"sasl.mechanism=PLAIN\nsasl.username=admin\nsasl.password={PASSWORD}\n"
    )
    where = ("--bootstrap-servers", broker.secure, "--command-config", properties)
    done = run("plugins", "register", *where, plugins)
    assert (done.code, done.err, done.text.count(" new\n")) == (0, "", 2)
    done = run("plugins", "list", "--bootstrap-servers", servers, "--json")
    assert [(line["language"], line["pluginID"]) for line in done.lines] == [("java", 0), ("python", 0)]
    assert run("plugins", "check", *where).text == "clean\n"
    done = run("plugins", "remove", "--bootstrap-servers", servers, "--yes", "fast", "--language", "java")
    assert (done.code, "[S-P13]" in done.err) == (1, True)
    assert run("plugins", "remove", "--bootstrap-servers", servers, "--yes", "fast").code == 0
    assert TopicRegistry(servers).entries() == []
    done = run("plugins", "list", "--bootstrap-servers", f"127.0.0.1:{free_port()}", "--setting", "log_level=0", "--timeout", "1")
    assert (done.code, done.out, "Traceback" in done.err) == (2, b"", False)
    assert "logsegment: Kafka at 127.0.0.1:" in done.err


READER = """
import sys
import logsegment as ls
from logsegment.plugins import TopicRegistry
stream = ls.decode(ls.FileSource(sys.argv[1]), codecs=TopicRegistry(sys.argv[2]), columns=["value", "compression"])
print(stream.to_pyarrow().to_pylist() == [{"value": b"%d" % number * 50, "compression": "small"} for number in range(1000)])
"""


def test_batches_of_a_plugin_are_read_by_who_knows_only_the_servers(servers: str, tmp_path: Path) -> None:
    """S-P17, S-P19, S-P20: written here, read in another process."""
    small = Plugin("small", {"java": "org.example.Bzip2", "python": "logsegment.plugins.ready:Bzip2"}, "v1.0")
    TopicRegistry(servers).register([FAST, small])
    registry = TopicRegistry(servers)
    table = pa.table({"value": [b"%d" % number * 50 for number in range(1000)]})
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(ls.encode(table, compression="small", codecs=registry))
    assert segment.read_bytes()[21:23] == b"\x01\x05", "plugin id 1, codec 5"
    done = subprocess.run([sys.executable, "-c", READER, segment, servers], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
    with pytest.raises(ls.UnknownCompressionError, match="Unknown compression name: nobody"):
        ls.encode(table, compression="nobody", codecs=registry)
    with pytest.raises(ls.UnsupportedError, match=r"fast.*example\.fast:Codec.*v1\.0"):
        ls.encode(table, compression="fast", codecs=registry)
    nowhere = TopicRegistry(f"127.0.0.1:{free_port()}", timeout=1)
    with pytest.raises((ls.RecordBatchError, OSError), match=r"Kafka at 127\.0\.0\.1"):
        ls.decode(segment.read_bytes(), codecs=nowhere).to_pyarrow()


BZIP2 = {"java": "org.example.Bzip2", "python": "logsegment.plugins.ready:Bzip2"}
SMALL_VALUES = [b"order %d" % number for number in range(400)]


def small_segment(servers: str, place: Path) -> Path:
    """A partition whose batches the plugin "small" packed; it has id 1."""
    TopicRegistry(servers).register([FAST, Plugin("small", BZIP2, "v1.0")])
    data = ls.encode(pa.table({"value": SMALL_VALUES}), compression="small", codecs=TopicRegistry(servers), batch_bytes=512)
    (place / "orders-0").mkdir(parents=True)
    segment = place / "orders-0/00000000000000000000.log"
    segment.write_bytes(data)
    return segment


def cat_fails(segment: Path, servers: str, *more: str | Path) -> str:
    """What `cat` says of a registry that does not help."""
    done = run("cat", segment, "--bootstrap-servers", servers, "--timeout", "3", *more)
    assert (done.code, done.out, "Traceback" in done.err) in ((1, b"", False), (2, b"", False)), done
    return done.err


def ensure_each_verb_tells(segment: Path, servers: str, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    """As `cat`: one line and an exit code; `batches` and `stats` show what headers tell before."""
    for verb in ("verify", "convert", "explain", "stats", "batches"):
        more = ["--compression", "gzip", "-o", str(segment.with_name("converted.log"))] if verb == "convert" else []
        capfd.readouterr()
        code = app.run([verb, str(segment), "--bootstrap-servers", servers, "--timeout", "3", *more])
        out, err = capfd.readouterr()
        assert (code in (1, 2), words in " ".join((err + out).split()), "Traceback" in err) == (True, True, False), (verb, code, out, err)
        assert not segment.with_name("converted.log").exists()


def test_verbs_know_only_the_servers(servers: str, broker: Broker, tmp_path: Path) -> None:
    """Registered, written, read and converted on the command line; settings of TLS and SASL from a file."""
    plugins, properties = tmp_path / "plugins.json", tmp_path / "client.properties"
    plugins.write_text(json.dumps([{"pluginAlias": "small", "pluginClassName": BZIP2, "pluginVersion": "v1.0"}]))
    login = f"sasl.mechanism=PLAIN\nsasl.username=admin\nsasl.password={PASSWORD}\nbroker.address.family=v4\n"
    properties.write_text(f"security.protocol=SASL_SSL\nssl.ca.location={broker.ca}\n{login}")
    assert run("plugins", "register", "--bootstrap-servers", servers, plugins).code == 0
    plain, packed = tmp_path / "plain.log", tmp_path / "packed.log"
    plain.write_bytes(ls.encode(pa.table({"value": SMALL_VALUES}), batch_bytes=512))
    where, secure = ("--bootstrap-servers", servers), ("--bootstrap-servers", broker.secure, "--command-config", properties)
    done = run("convert", plain, "-o", packed, "--compression", "small", *secure)
    assert (done.code, done.out) == (0, b""), done.err
    assert {row["compression"] for row in run("batches", "--json", packed, *where).lines} == {"small"}
    assert run("cat", "--columns", "offset,value", packed, *secure).out == run("cat", "--columns", "offset,value", plain).out
    assert run("verify", packed, *where).code == 0
    assert run("convert", packed, "-o", "-", "--compression", "none", *where).out == plain.read_bytes()
    done = run("convert", plain, "-o", tmp_path / "no.log", "--compression", "nobody", *where)
    assert (done.code, "'nobody' is not one of" in done.err) == (2, True)
    assert PASSWORD not in cat_fails(packed, broker.secure, "--command-config", properties, "--setting", "sasl.username=nobody")
    assert run("cat", packed, *where, "--registry", plugins).code == 2
    assert run("cat", packed, "--setting", "a=b").code == 2


def test_a_reader_gets_the_error_of_the_registry(
    servers: str,
    broker: Broker,
    peer: Callable[[str], Peer],
    tmp_path: Path,
    scratch: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No broker, no topic, tombstone, damaged JSON, an id out of range, two aliases of one id: each is one line."""
    monkeypatch.setattr(app, "stop_on_signals", lambda: None)
    monkeypatch.setenv("COLUMNS", "400")
    segment = small_segment(servers, tmp_path)
    nobody = f"127.0.0.1:{free_port()}"
    assert "Connection refused" in (told := cat_fails(segment, nobody)) or "transport failure" in told
    ensure_each_verb_tells(segment, nobody, f"the plugin registry failed: RegistryError: Kafka at {nobody}: ", capfd)
    java, topic = peer("4.3.1"), "plugin-python-topic"
    good = java_value("small", 1, pluginClassName=BZIP2["python"])

    def after(*records: tuple[bytes, bytes | None]) -> str:
        produce(java, servers, topic, list(records), scratch)
        return cat_fails(segment, servers)

    assert "Unknown compression name: plugin:1" in after((b"small", None))
    assert f"{topic}, offset" in (told := after((b"small", b'{"pluginID": 1,')))
    assert "key 'small'" in told
    ensure_each_verb_tells(segment, servers, f"{topic}, offset", capfd)
    assert "pluginID is 16, not 0 to 15" in after((b"small", java_value("small", 16)))
    ensure_each_verb_tells(segment, servers, "pluginID is 16, not 0 to 15", capfd)
    assert "id 1 is that of 'other' and 'small'" in after((b"other", java_value("other", 1)), (b"small", good)).replace(
        "'small' and 'other'", "'other' and 'small'"
    )
    ensure_each_verb_tells(segment, servers, "id 1 is that of ", capfd)
    produce(java, servers, topic, [(b"other", None)], scratch)
    assert len(run("cat", segment, "--bootstrap-servers", servers).lines) == len(SMALL_VALUES), "what Java's producer wrote by hand is read"
    admin = broker.admin()
    for gone in admin.delete_topics([topic], operation_timeout=30).values():
        gone.result(60)
    assert f"there is no topic {topic} at {servers}" in cat_fails(segment, servers)
    ensure_each_verb_tells(segment, servers, f"there is no topic {topic} at {servers}", capfd)


def secure_options(broker: Broker) -> dict[str, str]:
    """Spark's options of the registry, over TLS and SASL."""
    return {
        "plugins.kafka.bootstrap.servers": broker.secure,
        "plugins.kafka.security.protocol": "SASL_SSL",
        "plugins.kafka.ssl.ca.location": str(broker.ca),
        "plugins.kafka.broker.address.family": "v4",
        "plugins.kafka.sasl.mechanism": "PLAIN",
        "plugins.kafka.sasl.username": "admin",
        "plugins.kafka.sasl.password": PASSWORD,
    }


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(660)
def test_executors_of_a_cluster_know_only_the_servers(servers: str, broker: Broker, tmp_path: Path) -> None:
    """Two executors that are processes of their own: settings travel with the tasks, and no batch or task is a connection."""
    from spark_cluster import standalone
    from spark_session import program_environment

    TopicRegistry(servers).register([FAST, Plugin("small", BZIP2, "v1.0")])
    target = tmp_path / "log"
    application = Path(__file__).with_name("plugin_cluster_main.py")
    environment = program_environment(Path(__file__).resolve().parents[1] / "support")
    with standalone(tmp_path) as master, counting(servers) as proxy:
        known = {"plugins.kafka.bootstrap.servers": proxy.servers}
        command = [sys.executable, str(application), master, str(target), json.dumps(secure_options(broker)), json.dumps(known)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    assert PASSWORD not in done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    names = list((target / "orders-0").glob("*.log"))
    assert {row["compression"] for name in names for row in ls.batches(name.read_bytes(), codecs=TopicRegistry(servers)).to_pylist()} == {
        "small"
    }
    assert found["secure"]["values"] == sorted(value.decode() for value in SMALL_VALUES)
    assert (found["secure"]["tasks"] >= 10, found["secure"]["executors"]) == (True, 2)
    assert (found["known"], found["by function"]) == ([len(SMALL_VALUES)] * 3, len(SMALL_VALUES))
    # On a slow machine processes are started anew, and what is known grows old.
    assert 2 <= proxy.connections < 20, "for more than 40 tasks, and more batches"


@pytest.mark.spark
def test_spark_knows_only_the_servers(servers: str, broker: Broker, tmp_path: Path) -> None:
    """Written with an alias and read by many tasks, over TLS and SASL. The broker is asked by each process, not by each task or batch."""
    from logsegment.spark import decode_udf
    from spark_session import spark_session

    spark = spark_session()
    TopicRegistry(servers).register([FAST, Plugin("small", BZIP2, "v1.0")])
    secure = secure_options(broker)
    frame = spark.createDataFrame([(bytearray(value),) for value in SMALL_VALUES], "value binary").coalesce(1)
    target = str(tmp_path / "log")
    options = {"topic": "orders", "compression": "small", "batchBytes": "200", "segmentBytes": "800"}
    frame.write.format("logsegment").options(**options, **secure).mode("append").save(target)
    names = sorted(path.name for path in (tmp_path / "log/orders-0").glob("*.log"))
    assert len(names) >= 2, "the test is about several segments"
    read = spark.read.format("logsegment").options(minPartitions="20", **secure).load(target)
    assert sorted(bytes(row[0]) for row in read.select("value").collect()) == sorted(SMALL_VALUES)
    assert PASSWORD not in read._jdf.queryExecution().toString()
    with counting(servers) as proxy:
        known = {"plugins.kafka.bootstrap.servers": proxy.servers}
        many = spark.read.format("logsegment").options(minPartitions="20", **known).load(target)
        assert many.rdd.getNumPartitions() >= 10
        batches = spark.read.format("logsegment").options(view="batches", **known).load(target)
        assert [row[0] for row in batches.select("compression").distinct().collect()] == ["small"]
        assert batches.count() >= 20
        assert [many.count() for _ in range(3)] == [len(SMALL_VALUES)] * 3
        raw = spark.read.format("binaryFile").option("pathGlobFilter", "*.log").load(f"{target}/orders-0").repartition(8)
        decode = decode_udf(columns=["value"], codecs=TopicRegistry(proxy.servers))
        assert raw.select(decode("content").alias("r")).selectExpr("inline(r)").count() == len(SMALL_VALUES)
        # On a slow machine processes are started anew, and what is known grows old.
        assert 1 <= proxy.connections < 20, "for more than 60 tasks, and more batches"
    wrong = spark.read.format("logsegment").options(**(secure | {"plugins.kafka.sasl.password": "wrong-secret", "plugins.timeout": "3"}))
    with pytest.raises(Exception, match=r"the plugin registry failed: RegistryError: Kafka at localhost.*(?i:authentication)") as raised:
        wrong.load(target).count()
    assert "wrong-secret" not in str(raised.value)


def test_s_p18_and_s_p21_the_brokers_part_asks_javas_topic(
    servers: str, broker: Broker, peer: Callable[[str], Peer], scratch: Path
) -> None:
    """The registry is opened for Python; ids and aliases are those of Java's entries, one of which Java's own producer wrote."""
    small = Plugin("small", {"java": "org.example.Bzip2", "python": "logsegment.plugins.ready:Bzip2"}, "v1.0")
    TopicRegistry(servers).register([FAST, small])
    produce(peer("4.3.1"), servers, "plugin-java-topic", [(b"late", java_value("late", 9))], scratch)
    registry = TopicRegistry(servers)
    table = pa.table({"value": [b"%d" % number * 50 for number in range(100)]})
    packed = ls.encode(table, compression="small", codecs=registry)
    kept = ls.broker.append(packed, first_offset=30, codecs=registry)
    assert (kept.data[16:], kept.first_offset, kept.last_offset) == (packed[16:], 30, 129)
    again = ls.broker.append(ls.encode(table, compression="zstd"), first_offset=30, compression="small", codecs=registry)
    assert again.data[21:23] == b"\x01\x05", "plugin id 1, codec 5"
    assert ls.decode(again.data, columns=["value"], codecs=registry).to_pyarrow().to_pylist() == table.to_pylist()
    with pytest.raises(ls.UnsupportedError, match="plugin-python-topic has no entry") as raised:
        ls.broker.append(packed, first_offset=0, compression="late", codecs=registry)
    assert (raised.value.rule, raised.value.kafka_error_code) == ("S-P20", 76)
    TopicRegistry(servers, "java").remove(["small"])
    with pytest.raises(ls.UnknownCompressionError, match="plugin:1") as raised:
        ls.broker.append(packed, first_offset=0, codecs=TopicRegistry(servers))
    assert (raised.value.rule, raised.value.kafka_error_code) == ("S-P18", -1)
