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
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from logsegment._core import Finding
from logsegment.plugins import rules
from logsegment.plugins.catalog import Catalog, Change, Record, RegistryError, java_first, language_of, topic_of
from logsegment.plugins.lookup import Plan, Store
from logsegment.plugins.registry import Registry

#: Every administrator's producer has this id, so that the broker lets only the newest of them commit.
TRANSACTIONAL_ID = "logsegment-plugins"
#: Tries of one administrator while others write.
TRIES = 10
#: Seconds to wait for an answer.
TIMEOUT = 10.0
#: Replicas of a topic, if there are as many brokers.
REPLICAS = 3
#: Properties that no setting changes: a reader takes committed records only, and creates no topic.
_READER = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "allow.auto.create.topics": False,
    "fetch.wait.max.ms": 50,
}
_WRITER = {"enable.idempotence": True, "linger.ms": 0}
#: Messages that are read at once, and most earlier errors in a message.
_MESSAGES = 500
_MAX_ERRORS = 3
#: Settings with secret values.
_SECRET = re.compile(r"password|passphrase|secret|token|key\.pem|oauthbearer\.config|jaas", re.IGNORECASE)
#: A shorter piece of such a value occurs in ordinary words.
_LEAST_HIDDEN = 4
_QUIET = logging.getLogger("logsegment.plugins.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False


class TopicRegistry(Registry):
    """Plugins registered in the topics of a Kafka cluster.

    The topic of its language is read for the first plugin, and again for an unknown id or alias. No connection stays open. It is pickled
    with its settings, which may have passwords, and with the entries that it has read.

    Args:
        bootstrap_servers: addresses of brokers, `host:port` with commas between them.
        language: the topic is `plugin-LANGUAGE-topic`.
        timeout: seconds to wait for an answer of the brokers.
        replication_factor: of topics that `register` makes; None for 3, or as many as there are brokers.
        allow: see `Registry`.
        settings: settings of librdkafka, such as `security_protocol="SASL_SSL"` (or `**{"security.protocol": "SASL_SSL"}`).

    Raises:
        ImportError: if confluent-kafka is not installed (`pip install "logsegment[plugins]"`).
        ValueError, TypeError: as `Registry`. ValueError at the first look-up if librdkafka refuses a setting, or a file of one is missing.

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
        timeout: float = TIMEOUT,
        replication_factor: int | None = None,
        allow: Iterable[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(TopicStore(bootstrap_servers, settings, timeout, replication_factor), language, allow=allow)


class TopicStore(Store):
    """The records in the topics of a cluster. Each operation opens connections of its own.

    Args:
        servers: `bootstrap.servers`.
        settings: librdkafka's, by their names, with dots or underscores.
        timeout: see `TopicRegistry`, as the others.
        replication_factor: of new topics.
    """

    retry_seconds = 1.0
    error_seconds = 10.0

    def __init__(self, servers: str, settings: Mapping[str, Any], timeout: float = TIMEOUT, replication_factor: int | None = None) -> None:
        if not isinstance(servers, str) or not servers:
            raise ValueError("bootstrap_servers must be addresses, host:port with commas between them")
        library()
        self.name = servers
        self.timeout = timeout
        self.replication_factor = replication_factor
        self._settings = {_dotted(name): _text(value) for name, value in settings.items()}

    def key(self) -> Hashable:
        """Return a key that is equal for stores of the same brokers with the same settings."""
        return type(self), self.name, self.timeout, tuple(sorted(self._settings.items()))

    def read(self, language: str | None) -> Catalog:
        """Read the committed records of the topic of a language, or of all languages, to the end.

        Raises:
            RegistryError: if the brokers do not answer, the language has no topic, or a topic is not that of a registry.
        """
        with self._client(library().Consumer, _READER, {"group.id": TRANSACTIONAL_ID}) as consumer:
            names = [topic_of(language)] if language else []
            metadata = consumer.list_topics(*names, timeout=self.timeout).topics
            topics = {name: metadata[name] for name in metadata if language_of(name)}
            for name, topic in topics.items():
                self._ensure_readable(name, topic)
            return self._consumed(consumer, list(topics))

    def absence(self) -> str | None:
        """Return a text if the cluster has no topic of a registry, which a producer could create."""
        with self._admin() as admin:
            topics, _ = self._topics(admin)
        return None if topics else self._no_topic(topic_of("java"))

    def check(self) -> list[Finding]:
        """Check the settings of the topics."""
        with self._admin() as admin:
            return self._check(admin, *self._topics(admin))

    def change(self, plan: Plan) -> tuple[list[Change], Catalog]:
        """Write the changes of a plan in one transaction.

        Raises:
            RegistrationError: if the settings of a topic would lose entries.
            RegistryError: if the topics cannot be read or written, or other administrators write all the time.
        """
        for tried in range(TRIES):
            try:
                with self._client(library().Producer, _WRITER, {"transactional.id": TRANSACTIONAL_ID}) as producer:
                    return self._change(producer, plan)
            except _Fenced:
                # The later administrator may finish first.
                time.sleep(random.uniform(0, 0.2 * (tried + 1)))
        raise RegistryError(f"{TRIES} conflicting registrations by another administrator; nothing was written")

    def _change(self, producer: Any, plan: Plan) -> tuple[list[Change], Catalog]:
        # The broker fences the earlier owner of the id, and waits until its commit is written.
        self._call(producer, producer.init_transactions, 3 * self.timeout)
        catalog = self.read(None)
        changes = plan(catalog)
        if not changes:
            return [], catalog
        self._prepare({change.language for change in changes})
        self._write(producer, changes)
        written = self.read(None)
        self._ensure_own(written, catalog.after(changes))
        return changes, written

    def _prepare(self, languages: set[str]) -> None:
        """Check the topics that will be written, and create those that are missing."""
        with self._admin() as admin:
            topics, brokers = self._topics(admin)
            written = {language: topic for language, topic in topics.items() if language in languages}
            errors = [finding for finding in self._check(admin, written, brokers) if finding.severity == "error"]
            if errors:
                raise rules.RegistrationError(errors)
            if missing := sorted(languages - topics.keys(), key=java_first):
                self._create(admin, missing, self.replication_factor or min(REPLICAS, brokers))

    def _create(self, admin: Any, languages: list[str], replicas: int) -> None:
        kafka, module = library(), import_module("confluent_kafka.admin")
        compact = {"cleanup.policy": "compact"}
        new = [module.NewTopic(topic_of(language), num_partitions=1, replication_factor=replicas, config=compact) for language in languages]
        for created in admin.create_topics(new, operation_timeout=self.timeout, request_timeout=self.timeout).values():
            try:
                created.result(2 * self.timeout)
            except kafka.KafkaException as error:
                # Another administrator was faster.
                if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def _write(self, producer: Any, changes: list[Change]) -> None:
        """Write all records or none."""
        self._call(producer, producer.begin_transaction)
        for change in changes:
            key = change.alias.encode("utf-8", "surrogateescape")
            value = None if change.entry is None else change.entry.to_json().encode()
            self._call(producer, producer.produce, topic_of(change.language), value, key, 0)
        try:
            self._call(producer, producer.commit_transaction, 3 * self.timeout)
        except library().KafkaException as error:
            error.add_note("`logsegment plugins list` shows whether the entries were written")
            raise

    def _ensure_own(self, written: Catalog, expected: Catalog) -> None:
        """Raise an error if a client without the transactional id wrote meanwhile."""
        known = rules.check_rules(expected)
        foreign = [finding for finding in rules.check_rules(written) if finding.severity == "error" and finding not in known]
        if foreign:
            text = f"written, but another client changed the registry: [{foreign[0].rule}] {foreign[0].message}"
            raise RegistryError(f"{text}; `logsegment plugins check` lists all")

    def _call(self, producer: Any, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function of a producer, and again while its error is retriable."""
        kafka = library()
        deadline = time.monotonic() + 3 * self.timeout
        while True:
            try:
                function(*arguments)
                return
            except kafka.KafkaException as raised:
                error = raised.args[0]
                if error.retriable() and time.monotonic() < deadline:
                    time.sleep(0.1)
                    continue
                if error.txn_requires_abort():
                    self._abort(producer)
                raise

    def _abort(self, producer: Any) -> None:
        exception = library().KafkaException
        try:
            producer.abort_transaction(self.timeout)
        except exception:
            # The broker aborts it at its timeout, or for the next administrator.
            with suppress(exception):
                producer.purge()

    def _check(self, admin: Any, topics: Mapping[str, Any], brokers: int) -> list[Finding]:
        findings: list[Finding] = []
        for language, policy in self._policies(admin, sorted(topics, key=java_first)).items():
            replicas = min((len(partition.replicas) for partition in topics[language].partitions.values()), default=0)
            findings += rules.check_topic(language, policy, replicas, min(REPLICAS, brokers))
        return findings

    def _policies(self, admin: Any, languages: list[str]) -> dict[str, str]:
        """Return the `cleanup.policy` of each topic."""
        resource = import_module("confluent_kafka.admin").ConfigResource
        resources = {language: resource(resource.Type.TOPIC, topic_of(language)) for language in languages}
        answers = admin.describe_configs(list(resources.values()), request_timeout=self.timeout) if resources else {}
        return {language: answers[resource].result(2 * self.timeout)["cleanup.policy"].value for language, resource in resources.items()}

    def _topics(self, admin: Any) -> tuple[dict[str, Any], int]:
        """Return the metadata of the topics by language, and the number of brokers."""
        metadata = admin.list_topics(timeout=self.timeout)
        return {language: topic for name, topic in metadata.topics.items() if (language := language_of(name))}, len(metadata.brokers)

    def _ensure_readable(self, name: str, topic: Any) -> None:
        if topic.error is not None and topic.error.code() == library().KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise RegistryError(self._no_topic(name))
        if topic.error is not None:
            raise RegistryError(f"topic {name} at {self.name}: {topic.error.str()}")
        rules.ensure_one_partition(f"topic {name} at {self.name}", len(topic.partitions))

    def _no_topic(self, name: str) -> str:
        return f"there is no topic {name} at {self.name}; `logsegment plugins register` makes it"

    def _consumed(self, consumer: Any, topics: list[str]) -> Catalog:
        kafka = library()
        records: list[Record] = []
        ends: dict[str, int] = {}
        languages = {name: language for name in topics if (language := language_of(name))}
        if topics:
            consumer.assign([kafka.TopicPartition(name, 0, kafka.OFFSET_BEGINNING) for name in topics])
        deadline = time.monotonic() + self.timeout
        while len(ends) < len(languages):
            for message in consumer.consume(_MESSAGES, timeout=0.1):
                language, error = languages[message.topic()], message.error()
                if error is None:
                    records.append(Record(language, message.key(), message.value(), message.offset()))
                elif error.code() == kafka.KafkaError._PARTITION_EOF:
                    ends[language] = message.offset() or 0
                else:
                    raise kafka.KafkaException(error)
            unread = [name for name, language in languages.items() if language not in ends]
            if unread and time.monotonic() > deadline:
                text = f"{min(unread)} could not be read to its end in {self.timeout:g} s"
                raise kafka.KafkaException(kafka.KafkaError(kafka.KafkaError._TIMED_OUT, text))
        return Catalog.of_records(records, languages.values(), ends)

    def _admin(self) -> Any:
        """Open a client for the settings of topics."""
        return self._client(import_module("confluent_kafka.admin").AdminClient)

    @contextmanager
    def _client(self, kind: Any, fixed: Mapping[str, Any] | None = None, defaults: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """Open a client of librdkafka, whose errors become errors of the registry.

        Args:
            kind: its class.
            fixed: properties that no setting changes.
            defaults: properties that settings may change.

        Raises:
            ValueError: if librdkafka refuses a setting or its value, or a file is missing.
            _Fenced: if another administrator has taken the transactional id.
            RegistryError: if an operation fails.
        """
        kafka, errors = library(), list[str]()
        callbacks: dict[str, Any] = {"error_cb": lambda error: errors.append(error.str()), "logger": _QUIET}
        own = {"bootstrap.servers": self.name, **(fixed or {}), **callbacks}
        try:
            client = kind({"client.id": "logsegment", **(defaults or {}), **self._settings, **own})
        except kafka.KafkaException as raised:
            raise ValueError(self._without_secrets(f"settings of Kafka at {self.name}: {raised.args[0].str()}")) from None
        try:
            yield client
        except kafka.KafkaException as raised:
            with suppress(kafka.KafkaException):
                # Callbacks run in `poll`, which may fail for the same reason.
                client.poll(0)
            raise self._error(raised, errors) from None
        finally:
            if kind is kafka.Consumer:
                client.close()

    def _error(self, raised: Any, errors: list[str]) -> Exception:
        """Return an error of librdkafka in one sentence, with earlier errors."""
        kafka, error = library().KafkaError, raised.args[0]
        if error.code() in (kafka._FENCED, kafka.PRODUCER_FENCED, kafka.INVALID_PRODUCER_EPOCH):
            return _Fenced()
        earlier = f" ({'; '.join(dict.fromkeys(errors[-_MAX_ERRORS:]))})" if errors else ""
        hints = "".join(f"; {note}" for note in getattr(raised, "__notes__", ()))
        return RegistryError(self._without_secrets(f"Kafka at {self.name}: {error.str()}{earlier}") + hints)

    def _without_secrets(self, text: str) -> str:
        """Return a text without the words of secret settings: librdkafka quotes values, or parts of them."""
        secret = " ".join(value for name, value in self._settings.items() if _SECRET.search(name) and isinstance(value, str))
        for word in sorted(re.split(r"[\s=,;]+", secret), key=len, reverse=True):
            if len(word) >= _LEAST_HIDDEN:
                text = text.replace(word, "[hidden]")
        return text


class _Fenced(Exception):
    """Raised if another administrator has taken the transactional id."""


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
