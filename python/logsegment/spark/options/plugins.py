"""Plugin codecs in Spark: a registry from a query's options, or from the argument `codecs` of a function, that travels with the tasks.

A file is read on the driver, topics by the executors: once in each worker process, when it meets the first batch of a plugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from logsegment._options import CodecRegistry
from logsegment.plugins import FileRegistry, Registry
from logsegment.plugins.registry import Absent
from logsegment.plugins.topic_registry import TIMEOUT as SECONDS
from logsegment.plugins.topic_registry import TopicStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Names of the options. Those with the prefix `SETTING` are settings of Spark's Kafka source.
FILE = "plugins.path"
SETTING = "plugins.kafka."
SERVERS = f"{SETTING}bootstrap.servers"
TIMEOUT = "plugins.timeout"
ALLOW = "plugins.allow"
PLUGINS = (FILE, SERVERS, TIMEOUT, ALLOW)
#: The registry of queries without one; its errors name the options.
ABSENT = Absent(f"the option {FILE} or {SERVERS}")
#: The options whose values Spark hides in plans. Its own pattern for all settings hides passwords, secrets and tokens, but not all of
#: librdkafka's names, such as `ssl.key.pem`.
REDACTION = "spark.sql.redaction.options.regex"
HIDDEN = "(?i)plugins[.]kafka[.](?!bootstrap)"


def is_plugin_setting(name: str) -> bool:
    """Return True for a setting of the connection to the brokers of the registry, which librdkafka knows."""
    return name.lower().startswith(SETTING)


def plugins_option(options: Mapping[str, str]) -> CodecRegistry:
    """Return the registry of a query, or `ABSENT`.

    Args:
        options: Spark's options, names in lower case.

    Raises:
        ValueError: for settings without servers, a file and servers, or an invalid value. The error shows no setting, which may be a
            password.
        RegistryError: if the file cannot be read.
        ImportError: if there are servers, and no confluent-kafka.
    """
    settings: dict[str, Any] = {name.removeprefix(SETTING): value for name, value in options.items() if is_plugin_setting(name)}
    servers, file = settings.pop("bootstrap.servers", None), options.get(FILE)
    if servers is None and (settings or TIMEOUT in options):
        others = ", ".join(sorted(f"{SETTING}{name}" for name in settings) or [TIMEOUT])
        raise ValueError(f"option {others} needs a registry in topics: {SERVERS} (its brokers) is missing")
    if servers is not None and file is not None:
        raise ValueError(f"options {FILE} and {SERVERS} both set a registry; pass one of them")
    for name, value in ((FILE, file), (SERVERS, servers)):
        if value is not None and not value.strip():
            raise ValueError(f"option {name} must not be empty")
    if file is None and servers is None:
        if ALLOW in options:
            raise ValueError(f"option {ALLOW} needs a registry; set {FILE} or {SERVERS}")
        return ABSENT
    allow = tuple(pattern.strip() for pattern in options.get(ALLOW, "").split(",") if pattern.strip())
    if file is not None:
        return FileRegistry(file, allow=allow).for_tasks()
    return Registry(TopicStore(str(servers), settings, _seconds(options)), allow=allow).for_tasks()


def hide_settings(spark: SparkSession) -> None:
    """Hide the settings of brokers in the plans of a session, and keep hidden what is hidden already."""
    pattern = spark.conf.get(REDACTION, "")
    if pattern is None or HIDDEN not in pattern:
        spark.conf.set(REDACTION, f"{pattern}|{HIDDEN}" if pattern else HIDDEN)


def carrying(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a function with their registry, if any, ready to travel to tasks.

    Raises:
        RegistryError: if it is a file that cannot be read.
    """
    codecs = options.get("codecs")
    return {**options, "codecs": codecs.for_tasks()} if isinstance(codecs, Registry) else dict(options)


def _seconds(options: Mapping[str, str]) -> float:
    text = options.get(TIMEOUT, f"{SECONDS:g}")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"option {TIMEOUT} must be seconds, above 0, not {text!r}")
    return seconds
