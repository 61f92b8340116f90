"""Look up the formats and codecs of request versions and client releases, and Kafka's error codes for the others.

>>> import logsegment as ls
>>> ls.compat.fetch(9, compression="zstd").error.name
'UNSUPPORTED_COMPRESSION_TYPE'
>>> ls.compat.client("0.9.0.1").lz4_read
'broken'

`PRODUCE` and `FETCH` are the tables by request version, `CLIENTS` by release of the Java clients, `ERRORS` by error code.

Sources: KIP-57, KIP-74, KIP-110, KIP-467, KIP-896; `ProduceRequest.json`, `FetchRequest.json`, `Errors` of Kafka's clients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from logsegment._core import compat_client, compat_clients, compat_errors, compat_verdict, compat_versions

__all__ = [
    "CLIENTS",
    "ERRORS",
    "FETCH",
    "PRODUCE",
    "Client",
    "KafkaError",
    "RequestVersions",
    "Verdict",
    "client",
    "fetch",
    "produce",
]

AnyFormat: TypeAlias = Literal["0.7", "v0", "v1", "v2"]


@dataclass(frozen=True)
class KafkaError:
    """Error of Kafka's protocol.

    Attributes:
        code: the number on the wire.
        name: the name in `org.apache.kafka.common.protocol.Errors`.
        when: when record data causes it.
    """

    code: int
    name: str
    when: str


@dataclass(frozen=True)
class RequestVersions:
    """Range of versions of Produce or Fetch with the same rules.

    Attributes:
        first, last: the versions, last inclusive; None for all later versions.
        since: the first release of Kafka with these versions.
        until: the last release of brokers with these versions; None for current ones.
        format: the newest record format in these versions.
        zstd: True if zstd is allowed.
        note: a remark, or empty.
        zstd_since: the first release of brokers that no longer reject zstd in these versions, or None.
    """

    first: int
    last: int | None
    since: str
    until: str | None
    format: str
    zstd: bool
    note: str
    zstd_since: str | None = None


@dataclass(frozen=True)
class Client:
    """Range of releases of Kafka's own clients with the same rules, up to the next row.

    Attributes:
        since: the first release of the row.
        produce, fetch: highest request versions of the last release in the row; None in Kafka 0.7, and if newer versions change nothing.
        writes: the format of the producer.
        reads: the formats of the consumer.
        compressions: the supported codecs.
        lz4_written, lz4_read: LZ4 header checksums of the producer, and those that the consumer accepts (KIP-57); empty without LZ4.
        note: a remark, or empty.
    """

    since: str
    produce: int | None
    fetch: int | None
    writes: str
    reads: tuple[str, ...]
    compressions: tuple[str, ...]
    lz4_written: str
    lz4_read: str
    note: str


@dataclass(frozen=True)
class Verdict:
    """Response of a broker to records in a request.

    Attributes:
        error: the error of a broker that rejects the records, otherwise None.
        converted: the format to which brokers up to 3.9 convert the records, or None.
        advice: what to upgrade or to set, or empty.
    """

    error: KafkaError | None
    converted: str | None
    advice: str

    @property
    def ok(self) -> bool:
        """Return True if the records are accepted."""
        return self.error is None


#: Kafka's error codes that record data can cause, by code.
ERRORS: dict[int, KafkaError] = {code: KafkaError(code, name, when) for code, name, when in compat_errors()}
#: Formats and codecs of Produce, by version.
PRODUCE: tuple[RequestVersions, ...] = tuple(RequestVersions(*row) for row in compat_versions("produce"))
#: Formats and codecs of Fetch, by version.
FETCH: tuple[RequestVersions, ...] = tuple(RequestVersions(*row) for row in compat_versions("fetch"))
#: Formats and codecs of releases of Kafka's clients, oldest first.
CLIENTS: tuple[Client, ...] = tuple(
    Client(since, produce, fetch, writes, tuple(reads), tuple(compressions), lz4_written, lz4_read, note)
    for since, produce, fetch, writes, reads, compressions, lz4_written, lz4_read, note in compat_clients()
)


def produce(api_version: int, *, format: AnyFormat = "v2", compression: str = "none", release: str | None = None) -> Verdict:
    """Return the response of a broker to a Produce request with such records.

    Args:
        api_version: version of the request.
        format: format of the records.
        compression: "none", "gzip", "snappy", "lz4" or "zstd".
        release: release of the broker, such as "3.9.1" or "4.0"; None for brokers up to 3.9.

    Returns:
        A `Verdict`. Its error is 35 if brokers of the release do not support the version (KIP-896).

    Raises:
        ValueError: if the version is negative, or the format or release unknown.
        UnknownCompressionError: if the codec is unknown.

    Example:
        >>> import logsegment as ls
        >>> ls.compat.produce(6, compression="zstd").error.code
        76
        >>> ls.compat.produce(7, compression="zstd").ok
        True

    Source: `ProduceRequest.validateRecords` in Kafka's clients; KIP-110, whose text has 74 for the code that shipped as 76.
    """
    return _verdict("produce", api_version, release, format, compression)


def fetch(api_version: int, *, format: AnyFormat = "v2", compression: str = "none", release: str | None = None) -> Verdict:
    """Return the response of a broker to a Fetch request for such records.

    Args:
        api_version: version of the request.
        format: format of the records in the log.
        compression: codec of the records.
        release: release of the broker, such as "3.9.1" or "4.0"; None for brokers up to 3.9, which reject zstd below version 10 (KIP-110)
            and convert for versions below 4. Brokers from 4.0 on return stored batches in every version that they support.

    Returns:
        A `Verdict`. Its error is 35 if brokers of the release do not support the version (KIP-896). For a topic of `compression.type`
        "producer" with zstd and other codecs, see `broker.fetch`.

    Raises:
        ValueError: if the version is negative, or the format or release unknown.
        UnknownCompressionError: if the codec is unknown.

    Example:
        >>> import logsegment as ls
        >>> ls.compat.fetch(3, compression="lz4").converted
        'v1'
        >>> ls.compat.fetch(9, compression="zstd", release="4.0").ok
        True

    Source: `KafkaApis.handleFetchRequest` in Kafka 3.9 and 4.0.
    """
    return _verdict("fetch", api_version, release, format, compression)


def client(release: str) -> Client:
    """Find the row of a release of Kafka's clients.

    Args:
        release: such as "0.8.2.2" or "2.1".

    Returns:
        A `Client`.

    Raises:
        ValueError: if the text is not a release of Kafka from 0.7.0 on.

    Example:
        >>> import logsegment as ls
        >>> ls.compat.client("2.0").compressions
        ('none', 'gzip', 'snappy', 'lz4')

    Source: the clients of the releases, KIP-57, KIP-110.
    """
    row = compat_client(release)
    if row is None:
        raise ValueError(f"release must be a release of Kafka from 0.7.0 on, such as '0.9.0.1', not {release!r}")
    return CLIENTS[row]


def _verdict(api: str, api_version: int, release: str | None, format: str, compression: str) -> Verdict:
    code, converted, advice = compat_verdict(api, api_version, release, format, compression)
    return Verdict(None if code is None else ERRORS[code], converted, advice)
