"""The registry in a cluster's compacted topics, one for each language of clients (KIP-984).

One administrator writes at a time, without a lock that a crash could leave. All have the same transactional id, and the broker
fences its earlier owner. So only the newest administrator commits, after it has read what the others committed. The entries of one
registration, in all topics, are one transaction. See docs/project/decisions/0021-plugin-registry-in-topics.md.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from logsegment._core import Finding
from logsegment.plugins import rules
from logsegment.plugins.catalog import Catalog, CatalogBuilder, Change, RegistryError, found, java_first, language_of, topic_of
from logsegment.plugins.stored_registry import Plan, StoredRegistry

#: Arguments of the registry, none of which is a setting of librdkafka.
_OWN = frozenset({"bootstrap_servers", "language", "timeout", "replication_factor", "allow"})
#: Tries of one administrator while others write.
TRIES = 10


class TopicRegistry(StoredRegistry):
    """Plugins registered in the topics of a Kafka cluster.

    The topic of its language is read for the first plugin, and again for an unknown id or alias. No connection stays open. It is pickled
    with its settings, which may have passwords, and with the entries that it has read.

    Args:
        bootstrap_servers: addresses of brokers, `host:port` with commas between them.
        language: the topic is `plugin-LANGUAGE-topic`.
        timeout: seconds to wait for an answer of the brokers.
        replication_factor: of topics that `register` makes; None for 3, or as many as there are brokers.
        allow: patterns of Python modules that entries may name: `package.*` is the package and all modules in it. Without it only
            codecs of logsegment and those that installed packages offer as entry points of the group `logsegment.codecs` are loaded.
        settings: settings of librdkafka, such as `security_protocol="SASL_SSL"` (or `**{"security.protocol": "SASL_SSL"}`).

    Raises:
        ImportError: if confluent-kafka is not installed (`pip install "logsegment[plugins]"`).
        ValueError: if `language` is not a name of a language; at the first look-up if librdkafka refuses a setting, or a file of one is
            missing.

    Example:
        >>> from logsegment.plugins import TopicRegistry
        >>> registry = TopicRegistry("broker:9092", security_protocol="SSL", ssl_ca_location="/etc/ssl/ca.pem")
        >>> registry.language
        'python'

    Source: KIP-984, "Registering plugins".
    """

    def __init__(
        self,
        bootstrap_servers: str,
        language: str = "python",
        *,
        timeout: float = 10.0,
        replication_factor: int | None = None,
        allow: Iterable[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(language, allow)
        if not isinstance(bootstrap_servers, str) or not bootstrap_servers:
            raise ValueError("bootstrap_servers must be addresses, host:port with commas between them")
        library()
        self.replication_factor = replication_factor
        self._cluster = Cluster(bootstrap_servers, settings, timeout)

    @classmethod
    def of_settings(
        cls,
        bootstrap_servers: str,
        settings: Mapping[str, Any],
        *,
        timeout: float,
        replication_factor: int | None = None,
        allow: Iterable[str] = (),
    ) -> TopicRegistry:
        """Make a registry of settings.

        Raises:
            ValueError: if a setting has the name of an argument of the registry.
        """
        for name in sorted(_OWN & settings.keys()):
            raise ValueError(f'No such configuration property: "{name}"')
        return cls(bootstrap_servers, timeout=timeout, replication_factor=replication_factor, allow=allow, **settings)

    def __repr__(self) -> str:
        # Settings may hold passwords.
        return f"TopicRegistry({self._cluster.servers!r}, {self.language!r})"

    def place(self) -> Hashable:
        """Return a key that is equal for registries of the same brokers with the same settings."""
        cluster = self._cluster
        return type(self), cluster.servers, self.language, cluster.timeout, tuple(sorted(cluster.settings.items()))

    def ensure_there(self) -> None:
        """Raise an error if a cluster has no topic of a registry, before a producer creates one.

        Raises:
            RegistryError: then, or if the brokers do not answer.
        """
        if self._cluster.topics().keys() == {""}:
            text = f"there is no topic {topic_of('java')} at {self._cluster.servers}"
            raise RegistryError(f"{text}; `logsegment plugins register` makes it")

    def check(self) -> list[Finding]:
        """Check all rules on the registered entries, and the settings of the topics.

        Raises:
            RegistryError: if the brokers do not answer.
        """
        return check_topics(self._cluster) + super().check()

    def change(self, plan: Plan) -> list[Change]:
        """Write the changes of a plan in one transaction.

        Args:
            plan: returns the changes for a catalog. It is called again if another administrator wrote meanwhile; if it raises, nothing is
                written.

        Returns:
            The changes that were written.

        Raises:
            RegistrationError: if the settings of a topic would lose entries.
            RegistryError: if the topics cannot be read or written, or other administrators write all the time.
        """
        for tried in range(TRIES):
            try:
                return self._change(plan)
            except _Fenced:
                # The later administrator may finish first.
                time.sleep(random.uniform(0, 0.2 * (tried + 1)))
        raise RegistryError(f"{TRIES} conflicting registrations by another administrator; nothing was written")

    def _load(self, language: str | None) -> Catalog:
        return self._cluster.read(language)

    def _change(self, plan: Plan) -> list[Change]:
        producer = _Transaction(self._cluster)
        catalog = self.catalog()
        changes = plan(catalog)
        if not changes:
            return []
        languages = {change.language for change in changes}
        faults = [finding for finding in check_topics(self._cluster, languages) if finding.severity == "error"]
        if faults:
            raise rules.RegistrationError(faults)
        make_topics(self._cluster, languages, self.replication_factor)
        producer.write(changes)
        self._learn(self._ensured(catalog.after(changes)))
        return changes

    def _ensured(self, expected: Catalog) -> Catalog:
        """Read what was written; raise an error if a client without the transactional id wrote meanwhile."""
        stands = self.catalog()
        foreign = [
            finding for finding in rules.check_rules(stands) if finding.severity == "error" and finding not in rules.check_rules(expected)
        ]
        if foreign:
            text = f"written, but another client changed the registry: [{foreign[0].rule}] {foreign[0].message}"
            raise RegistryError(f"{text}; `logsegment plugins check` lists all")
        return stands


class _Fenced(Exception):
    """Raised if another administrator has taken the transactional id."""


class _Transaction:
    """A producer that takes the transactional id. Its earlier owner can no longer commit."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kafka = library()
        self._errors: list[str] = []
        options = {"transactional.id": TRANSACTIONAL_ID, **cluster.options(self._errors), "enable.idempotence": True, "linger.ms": 0}
        self._producer = cluster.made(self._kafka.Producer, options)
        self._call(self._producer.init_transactions, 3 * cluster.timeout)

    def write(self, changes: list[Change]) -> None:
        """Write all records or none."""
        self._call(self._producer.begin_transaction)
        for change in changes:
            key = change.alias.encode("utf-8", "surrogateescape")
            value = None if change.entry is None else change.entry.to_json().encode()
            self._call(self._producer.produce, topic_of(change.language), value, key, 0)
        try:
            self._call(self._producer.commit_transaction, 3 * self._cluster.timeout)
        except RegistryError as error:
            raise RegistryError(f"{error}; `logsegment plugins list` shows whether the entries were written") from None

    def _call(self, function: Any, *arguments: Any) -> None:
        """Call a function, and again while its error is retriable."""
        deadline = time.monotonic() + 3 * self._cluster.timeout
        while True:
            try:
                function(*arguments)
                return
            except self._kafka.KafkaException as raised:
                error = raised.args[0]
                if error.retriable() and time.monotonic() < deadline:
                    time.sleep(0.1)
                    continue
                with suppress(self._kafka.KafkaException):
                    # Callbacks run in `poll`, which may fail for the same reason.
                    self._producer.poll(0)
                if error.txn_requires_abort():
                    self._abort()
                raise self._error_of(error) from None

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction(self._cluster.timeout)
        except self._kafka.KafkaException:
            # The broker aborts it at its timeout, or for the next administrator.
            with suppress(self._kafka.KafkaException):
                self._producer.purge()

    def _error_of(self, error: Any) -> Exception:
        kafka = self._kafka.KafkaError
        if error.code() in (kafka._FENCED, kafka.PRODUCER_FENCED, kafka.INVALID_PRODUCER_EPOCH):
            return _Fenced()
        return self._cluster.error(error, self._errors)


#: Every administrator's producer has this id, so that the broker lets only the newest of them commit.
TRANSACTIONAL_ID = "logsegment-plugins"
_QUIET = logging.getLogger("logsegment.plugins.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False
#: Settings with secret values.
_SECRET = re.compile(r"password|passphrase|secret|token|key\.pem|oauthbearer\.config|jaas", re.IGNORECASE)
#: A shorter piece of such a value occurs in ordinary words.
_LEAST_HIDDEN = 4


class Cluster:
    """The brokers of a cluster. A connection is opened for each question.

    Args:
        servers: `bootstrap.servers`.
        settings: librdkafka's, by their names, with dots or underscores.
        timeout: seconds to wait for an answer.
    """

    def __init__(self, servers: str, settings: Mapping[str, Any], timeout: float) -> None:
        self.servers = servers
        self.settings = {_dotted(name): _text(value) for name, value in settings.items()}
        self.timeout = timeout

    def __repr__(self) -> str:
        # Settings may hold passwords.
        return f"Cluster({self.servers!r})"

    def read(self, language: str | None) -> Catalog:
        """Read the committed records of the topic of a language, or of all languages, to the end.

        Raises:
            RegistryError: if the brokers do not answer, the language has no topic, or a topic is not that of a registry.
        """
        with self.consumer() as (consumer, errors):
            topics = self._topics(consumer, language)
            return self._consumed(consumer, topics, errors)

    def topics(self) -> dict[str, Any]:
        """Return the metadata of the topics by language, and the number of brokers as ""."""
        with self.consumer() as (consumer, _):
            found = self._metadata(consumer)
            return {language_of(name) or "": topic for name, topic in found.topics.items() if language_of(name)} | {"": len(found.brokers)}

    @contextmanager
    def consumer(self) -> Iterator[tuple[Any, list[str]]]:
        """Open a consumer of committed records without a group; yield it with a list of its errors."""
        kafka = library()
        errors: list[str] = []
        options = {
            "group.id": TRANSACTIONAL_ID,
            **self.options(errors),
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "allow.auto.create.topics": False,
            "fetch.wait.max.ms": 50,
        }
        consumer = self.made(kafka.Consumer, options)
        try:
            yield consumer, errors
        except kafka.KafkaException as error:
            with suppress(kafka.KafkaException):
                # Callbacks run in `poll`, which may fail for the same reason.
                consumer.poll(0)
            raise self.error(error.args[0], errors) from None
        finally:
            consumer.close()

    def options(self, errors: list[str]) -> dict[str, Any]:
        """Return the settings of any client. Its errors are added to a list."""
        callbacks: dict[str, Any] = {"error_cb": lambda error: errors.append(error.str()), "logger": _QUIET}
        return {"client.id": "logsegment", **self.settings, "bootstrap.servers": self.servers, **callbacks}

    def made(self, client: Any, options: dict[str, Any]) -> Any:
        """Make a client.

        Raises:
            ValueError: if librdkafka refuses a setting or its value, or a file is missing.
        """
        try:
            return client(options)
        except library().KafkaException as error:
            raise ValueError(self._without_secrets(f"settings of Kafka at {self.servers}: {error.args[0].str()}")) from None

    def error(self, error: Any, errors: list[str]) -> RegistryError:
        """Return an error of librdkafka in one sentence, with earlier errors."""
        return self._refusal(f"Kafka at {self.servers}: {error.str()}", errors)

    def _refusal(self, text: str, errors: list[str]) -> RegistryError:
        more = f" ({'; '.join(dict.fromkeys(errors[-_MAX_ERRORS:]))})" if errors else ""
        return RegistryError(self._without_secrets(text + more))

    def _without_secrets(self, text: str) -> str:
        """Return a text without the words of secret settings: librdkafka quotes values, or parts of them."""
        secret = " ".join(value for name, value in self.settings.items() if _SECRET.search(name) and isinstance(value, str))
        for word in sorted(re.split(r"[\s=,;]+", secret), key=len, reverse=True):
            if len(word) >= _LEAST_HIDDEN:
                text = text.replace(word, "[hidden]")
        return text

    def _topics(self, consumer: Any, language: str | None) -> dict[str, str]:
        """Return the topics to read, by name, with their languages."""
        found = self._metadata(consumer, topic_of(language) if language else None).topics
        topics = {name: known for name in found if (known := language_of(name)) and language in (None, known)}
        for name in topics:
            self._ensure_readable(name, found[name])
        return topics

    def _ensure_readable(self, name: str, topic: Any) -> None:
        kafka = library()
        if topic.error is not None and topic.error.code() == kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise RegistryError(f"there is no topic {name} at {self.servers}; `logsegment plugins register` makes it")
        if topic.error is not None:
            raise RegistryError(f"topic {name} at {self.servers}: {topic.error.str()}")
        if len(topic.partitions) != 1:
            text = f"topic {name} at {self.servers} has {len(topic.partitions)} partitions and must have 1"
            raise RegistryError(f"{text}: clients of different languages would write an alias to different partitions")

    def _metadata(self, consumer: Any, topic: str | None = None) -> Any:
        return consumer.list_topics(topic, timeout=self.timeout) if topic else consumer.list_topics(timeout=self.timeout)

    def _consumed(self, consumer: Any, topics: dict[str, str], errors: list[str]) -> Catalog:
        kafka = library()
        builder = CatalogBuilder()
        for language in topics.values():
            builder.language(language)
        waiting = set(topics)
        if waiting:
            consumer.assign([kafka.TopicPartition(name, 0, kafka.OFFSET_BEGINNING) for name in topics])
        deadline = time.monotonic() + self.timeout
        while waiting:
            for message in consumer.consume(_MESSAGES, timeout=0.1):
                error = message.error()
                if error is None:
                    builder.add(topics[message.topic()], message.key(), message.value(), message.offset())
                elif error.code() == kafka.KafkaError._PARTITION_EOF:
                    waiting.discard(message.topic())
                    builder.end(topics[message.topic()], message.offset() or 0)
                else:
                    raise self.error(error, errors)
            if waiting and time.monotonic() > deadline:
                raise self._refusal(f"{min(waiting)} at {self.servers} could not be read to its end in {self.timeout:g} s", errors)
        return builder.finish()


def library() -> Any:
    """Import confluent-kafka.

    Raises:
        ImportError: if it is not installed.
    """
    try:
        import confluent_kafka
    except ImportError:
        raise ImportError("a registry in topics needs confluent-kafka: pip install 'logsegment[plugins]'") from None
    return confluent_kafka


def _dotted(name: str) -> str:
    """Return the name of a setting in librdkafka."""
    return name if "." in name or name == "log_level" or name.endswith("_cb") else name.replace("_", ".")


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


#: Messages that are read at once, and most earlier errors in a message.
_MESSAGES = 500
_MAX_ERRORS = 3


#: Replicas of a topic, if there are as many brokers.
REPLICAS = 3


def check_topics(cluster: Cluster, languages: Iterable[str] | None = None) -> list[Finding]:
    """Check the settings of the topics that exist.

    Args:
        cluster: the cluster.
        languages: of the topics; None for all.

    Raises:
        RegistryError: if the brokers do not answer, or refuse to.
    """
    topics = cluster.topics()
    brokers = topics.pop("")
    asked = sorted(topics if languages is None else topics.keys() & set(languages), key=java_first)
    policies = _policies(cluster, asked)
    findings = []
    for language in asked:
        policy, replicas = policies[language], _replicas(topics[language])
        if policy != "compact":
            text = f"cleanup.policy of {topic_of(language)} is {policy!r} and must be 'compact': otherwise entries are deleted by age"
            findings.append(found("S-P12", text, language, field="cleanup.policy"))
        if replicas < min(REPLICAS, brokers):
            text = f"{topic_of(language)} has {replicas} of {min(REPLICAS, brokers)} possible replicas: the loss of a broker can lose it"
            findings.append(found("S-P9", text, language, severity="warning", field="replication.factor"))
    return findings


def make_topics(cluster: Cluster, languages: Iterable[str], replicas: int | None) -> None:
    """Create the topics that are missing.

    Args:
        cluster: the cluster.
        languages: of the topics.
        replicas: of each; None for three, or as many as there are brokers.

    Raises:
        RegistryError: if a topic cannot be created.
    """
    topics = cluster.topics()
    brokers = topics.pop("")
    missing = sorted(set(languages) - topics.keys(), key=java_first)
    if not missing:
        return
    kafka, admin = _admin(cluster)
    new = [
        admin.NewTopic(
            topic_of(language),
            num_partitions=1,
            replication_factor=replicas or min(REPLICAS, brokers),
            config={"cleanup.policy": "compact"},
        )
        for language in missing
    ]
    errors: list[str] = []
    client = cluster.made(admin.AdminClient, cluster.options(errors))
    for made in client.create_topics(new, operation_timeout=cluster.timeout, request_timeout=cluster.timeout).values():
        try:
            made.result(2 * cluster.timeout)
        except kafka.KafkaException as error:
            # Another administrator was faster.
            if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                raise cluster.error(error.args[0], errors) from None


def _policies(cluster: Cluster, languages: list[str]) -> dict[str, str]:
    """Return the `cleanup.policy` of each topic."""
    if not languages:
        return {}
    kafka, admin = _admin(cluster)
    errors: list[str] = []
    client = cluster.made(admin.AdminClient, cluster.options(errors))
    resources = {language: admin.ConfigResource(admin.ConfigResource.Type.TOPIC, topic_of(language)) for language in languages}
    answers = client.describe_configs(list(resources.values()), request_timeout=cluster.timeout)
    try:
        return {language: answers[resource].result(2 * cluster.timeout)["cleanup.policy"].value for language, resource in resources.items()}
    except kafka.KafkaException as error:
        raise cluster.error(error.args[0], errors) from None


def _replicas(topic: Any) -> int:
    return min((len(partition.replicas) for partition in topic.partitions.values()), default=0)


def _admin(cluster: Cluster) -> tuple[Any, Any]:
    return library(), import_module("confluent_kafka.admin")
