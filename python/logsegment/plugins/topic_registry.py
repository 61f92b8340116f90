"""The registry in a cluster's compacted topics, one for each language of clients (KIP-984).

One administrator writes at a time, without a lock that a crash could leave behind. All have the same transactional id: the broker fences
whoever held it before, so of several only the newest commits, and it has read what the others committed. The entries of one registration,
in all topics, are one transaction. See docs/decisions/0021-plugin-registry-in-topics.md.
"""

from __future__ import annotations

import random
import time
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from logsegment._core import Finding
from logsegment.plugins import rules
from logsegment.plugins.catalog import Catalog, Change, topic_of
from logsegment.plugins.cluster import TRANSACTIONAL_ID, Cluster, library
from logsegment.plugins.known import RegistryError
from logsegment.plugins.stored import Plan, StoredRegistry
from logsegment.plugins.topic_settings import judge_topics, make_topics

#: What the registry is made of besides settings of librdkafka, which has none with these names.
_OWN = frozenset({"bootstrap_servers", "language", "timeout", "replication_factor", "allow"})
#: Administrators that may come in between before one gives up.
TRIES = 10


class TopicRegistry(StoredRegistry):
    """Plugins registered in the topics of a Kafka cluster.

    The topic of its language is read when the first plugin is asked for, and again when an unknown id or alias turns up. No connection
    stays open. It pickles with its settings, passwords among them, and with what it has read.

    Args:
        bootstrap_servers: addresses of brokers, `host:port` with commas between them.
        language: whose topic is read: `plugin-LANGUAGE-topic`.
        timeout: how long an answer of the brokers is waited for, in seconds.
        replication_factor: of topics that `register` makes; None for 3, or as many as there are brokers.
        allow: patterns of Python modules that entries may name: `package.*` is the package and all modules in it. Without it only
            codecs of logsegment and those that installed packages offer as entry points of the group `logsegment.codecs` are loaded.
        settings: settings of librdkafka, such as `security_protocol="SASL_SSL"` (or `**{"security.protocol": "SASL_SSL"}`).

    Raises:
        ImportError: when confluent-kafka is not installed (`pip install "logsegment[plugins]"`).
        ValueError: for a language that is no name; at the first look-up for settings that librdkafka does not take, or whose files are not
            there.

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
        """Make a registry of settings that were read from somewhere.

        Raises:
            ValueError: for one that librdkafka does not have, but the registry as an argument.
        """
        for name in sorted(_OWN & settings.keys()):
            raise ValueError(f'No such configuration property: "{name}"')
        return cls(bootstrap_servers, timeout=timeout, replication_factor=replication_factor, allow=allow, **settings)

    def __repr__(self) -> str:
        # Settings may hold passwords.
        return f"TopicRegistry({self._cluster.servers!r}, {self.language!r})"

    def place(self) -> Hashable:
        """What two registries have in common that ask the same brokers in the same name."""
        cluster = self._cluster
        return type(self), cluster.servers, self.language, cluster.timeout, tuple(sorted(cluster.settings.items()))

    def ensure_there(self) -> None:
        """Refuse a cluster without any topic of a registry, before a producer makes others.

        Raises:
            RegistryError: when it is refused, or the brokers do not answer.
        """
        if self._cluster.topics().keys() == {""}:
            text = f"there is no topic {topic_of('java')} at {self._cluster.servers}"
            raise RegistryError(f"{text}; `logsegment plugins register` makes it")

    def check(self) -> list[Finding]:
        """Hold all rules against what is registered, and look at the settings of the topics.

        Raises:
            RegistryError: when the brokers do not answer.
        """
        return judge_topics(self._cluster) + super().check()

    def change(self, plan: Plan) -> list[Change]:
        """Write what a plan makes of the catalog, in one transaction.

        Args:
            plan: gives the changes for a catalog. It is called again when another administrator came in between; what it raises leaves
                the registry as it was.

        Returns:
            What was written.

        Raises:
            RegistrationError: when the settings of a topic would lose entries.
            RegistryError: when the topics cannot be read or written, or others came in between again and again.
        """
        for tried in range(TRIES):
            try:
                return self._change(plan)
            except _Fenced:
                # Whoever came later may finish first.
                time.sleep(random.uniform(0, 0.2 * (tried + 1)))
        raise RegistryError(f"{TRIES} times another administrator registered at the same moment; nothing was written")

    def _load(self, language: str | None) -> Catalog:
        return self._cluster.read(language)

    def _change(self, plan: Plan) -> list[Change]:
        producer = _Transaction(self._cluster)
        catalog = self.catalog()
        changes = plan(catalog)
        if not changes:
            return []
        languages = {change.language for change in changes}
        faults = [finding for finding in judge_topics(self._cluster, languages) if finding.severity == "error"]
        if faults:
            raise rules.RegistrationError(faults)
        make_topics(self._cluster, languages, self.replication_factor)
        producer.write(changes)
        self._learn(self._ensured(catalog.after(changes)))
        return changes

    def _ensured(self, expected: Catalog) -> Catalog:
        """Read what was written, and whether somebody wrote meanwhile who does not ask for the transactional id."""
        stands = self.catalog()
        foreign = [finding for finding in rules.judge(stands) if finding.severity == "error" and finding not in rules.judge(expected)]
        if foreign:
            text = f"written, but meanwhile another client wrote by itself: [{foreign[0].rule}] {foreign[0].message}"
            raise RegistryError(f"{text}; `logsegment plugins check` tells all")
        return stands


class _Fenced(Exception):
    """Another administrator has taken the transactional id."""


class _Transaction:
    """A producer that holds the transactional id from here on; whoever held it before can no longer commit."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kafka = library()
        self._told: list[str] = []
        options = {"transactional.id": TRANSACTIONAL_ID, **cluster.options(self._told), "enable.idempotence": True, "linger.ms": 0}
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
            raise RegistryError(f"{error}; whether all was written or nothing, `logsegment plugins list` tells") from None

    def _call(self, function: Any, *arguments: Any) -> None:
        """Call, again while the error says so."""
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
                self._producer.poll(0)
                if error.txn_requires_abort():
                    self._abort()
                raise self._told_as(error) from None

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction(self._cluster.timeout)
        except self._kafka.KafkaException:
            # The broker does it when the transaction's time is over, or when the next administrator comes.
            self._producer.purge()

    def _told_as(self, error: Any) -> Exception:
        kafka = self._kafka.KafkaError
        if error.code() in (kafka._FENCED, kafka.PRODUCER_FENCED, kafka.INVALID_PRODUCER_EPOCH):
            return _Fenced()
        return self._cluster.error(error, self._told)
