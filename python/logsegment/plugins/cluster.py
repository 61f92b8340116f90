"""A Kafka cluster through confluent-kafka: connections that are opened for one question, the registry's topics, and errors in one sentence.

What the records mean is known by `catalog`. librdkafka's own log is silent; what it had to tell stands in the error.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from logsegment.plugins.catalog import Catalog, CatalogBuilder, language_of, topic_of
from logsegment.plugins.known import RegistryError

#: Every administrator's producer has this id, so that the broker lets only the newest of them commit.
TRANSACTIONAL_ID = "logsegment-plugins"
_QUIET = logging.getLogger("logsegment.plugins.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False
#: Settings whose values nobody is to see.
_SECRET = re.compile(r"password|passphrase|secret|token|key\.pem|oauthbearer\.config|jaas", re.IGNORECASE)
#: A shorter piece of such a value would be found in words that have nothing to do with it.
_LEAST_HIDDEN = 4


class Cluster:
    """The brokers behind some addresses.

    Args:
        servers: `bootstrap.servers`.
        settings: librdkafka's, by their names, with dots or underscores.
        timeout: how long an answer is waited for, in seconds.
    """

    def __init__(self, servers: str, settings: Mapping[str, Any], timeout: float) -> None:
        self.servers = servers
        self.settings = {_dotted(name): _text(value) for name, value in settings.items()}
        self.timeout = timeout

    def __repr__(self) -> str:
        # Settings may hold passwords.
        return f"Cluster({self.servers!r})"

    def read(self, language: str | None) -> Catalog:
        """Read what is committed in the topic of a language, or of all languages that have one, to the end.

        Raises:
            RegistryError: when the brokers do not answer, the language has no topic, or a topic is not one of a registry.
        """
        with self.consumer() as (consumer, told):
            topics = self._topics(consumer, language)
            return self._consumed(consumer, topics, told)

    def topics(self) -> dict[str, Any]:
        """The metadata of the registry's topics by their languages, and the number of brokers as "" (no language has this name)."""
        with self.consumer() as (consumer, _):
            found = self._metadata(consumer)
            return {language_of(name) or "": topic for name, topic in found.topics.items() if language_of(name)} | {"": len(found.brokers)}

    @contextmanager
    def consumer(self) -> Iterator[tuple[Any, list[str]]]:
        """A consumer of committed records that belongs to no group, and what goes wrong in it."""
        kafka = library()
        told: list[str] = []
        options = {
            "group.id": TRANSACTIONAL_ID,
            **self.options(told),
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "allow.auto.create.topics": False,
            "fetch.wait.max.ms": 50,
        }
        consumer = self.made(kafka.Consumer, options)
        try:
            yield consumer, told
        except kafka.KafkaException as error:
            # Callbacks run when they are asked for.
            consumer.poll(0)
            raise self.error(error.args[0], told) from None
        finally:
            consumer.close()

    def options(self, told: list[str]) -> dict[str, Any]:
        """The settings of any client."""
        told_by: dict[str, Any] = {"error_cb": lambda error: told.append(error.str()), "logger": _QUIET}
        return {"client.id": "logsegment", **self.settings, "bootstrap.servers": self.servers, **told_by}

    def made(self, client: Any, options: dict[str, Any]) -> Any:
        """Make a client.

        Raises:
            ValueError: for a setting that librdkafka does not have, a value that it does not take, or a file that is not there.
        """
        try:
            return client(options)
        except library().KafkaException as error:
            raise ValueError(self._without_secrets(f"settings of Kafka at {self.servers}: {error.args[0].str()}")) from None

    def error(self, error: Any, told: list[str]) -> RegistryError:
        """An error of librdkafka in one sentence, with what it told before."""
        return self._refusal(f"Kafka at {self.servers}: {error.str()}", told)

    def _refusal(self, text: str, told: list[str]) -> RegistryError:
        more = f" ({'; '.join(dict.fromkeys(told[-_TOLD:]))})" if told else ""
        return RegistryError(self._without_secrets(text + more))

    def _without_secrets(self, text: str) -> str:
        """The text without the words of secret settings: librdkafka quotes what it does not understand, or the rest of it."""
        secret = " ".join(value for name, value in self.settings.items() if _SECRET.search(name) and isinstance(value, str))
        for word in sorted(re.split(r"[\s=,;]+", secret), key=len, reverse=True):
            if len(word) >= _LEAST_HIDDEN:
                text = text.replace(word, "[hidden]")
        return text

    def _topics(self, consumer: Any, language: str | None) -> dict[str, str]:
        """The topics to read, by name, with their languages."""
        found = self._metadata(consumer, topic_of(language) if language else None).topics
        topics = {name: one for name in found if (one := language_of(name)) and language in (None, one)}
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
            raise RegistryError(f"{text}: clients of different languages would put an alias into different ones")

    def _metadata(self, consumer: Any, topic: str | None = None) -> Any:
        return consumer.list_topics(topic, timeout=self.timeout) if topic else consumer.list_topics(timeout=self.timeout)

    def _consumed(self, consumer: Any, topics: dict[str, str], told: list[str]) -> Catalog:
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
                    raise self.error(error, told)
            if waiting and time.monotonic() > deadline:
                raise self._refusal(f"{min(waiting)} at {self.servers} could not be read to its end in {self.timeout:g} s", told)
        return builder.finish()


def library() -> Any:
    """Import confluent-kafka.

    Raises:
        ImportError: with how to install it.
    """
    try:
        import confluent_kafka
    except ImportError:
        raise ImportError("a registry in topics needs confluent-kafka: pip install 'logsegment[plugins]'") from None
    return confluent_kafka


def _dotted(name: str) -> str:
    """The name of a setting as librdkafka has it."""
    return name if "." in name or name == "log_level" or name.endswith("_cb") else name.replace("_", ".")


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


#: Messages that are asked for at once, and errors that are told at most.
_MESSAGES = 500
_TOLD = 3
