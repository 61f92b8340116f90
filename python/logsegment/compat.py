"""What a request version or a client release may carry, and Kafka's error code where it may not.

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
    """An error of Kafka's protocol.

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
    """Versions of Produce or Fetch that carry the same.

    Attributes:
        first, last: the versions, last inclusive; None for all that follow.
        since: the first release of Kafka that has them.
        until: the last release whose brokers serve them; None for today's.
        format: the newest record format in them.
        zstd: whether zstd is allowed.
        note: what else to know.
    """

    first: int
    last: int | None
    since: str
    until: str | None
    format: str
    zstd: bool
    note: str


@dataclass(frozen=True)
class Client:
    """Releases of Kafka's own clients that carry the same; a row holds until the next one begins.

    Attributes:
        since: the first release of the row.
        produce, fetch: highest request versions in its last release; None in Kafka 0.7, and where newer ones change nothing here.
        writes: the format that its producer writes.
        reads: the formats that its consumer reads.
        compressions: the codecs that it knows.
        lz4_written, lz4_read: which LZ4 header checksums it writes and takes (KIP-57); empty without LZ4.
        note: what else to know.
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
    """What becomes of records in a request.

    Attributes:
        error: what Kafka answers when it refuses them, else None.
        converted: the format that brokers up to 3.9 convert them to, when they do.
        advice: what to upgrade or to set; empty when nothing is to be done.
    """

    error: KafkaError | None
    converted: str | None
    advice: str

    @property
    def ok(self) -> bool:
        """True when they are not refused."""
        return self.error is None


#: Kafka's error codes that record data can cause, by code.
ERRORS: dict[int, KafkaError] = {code: KafkaError(code, name, when) for code, name, when in compat_errors()}
#: What Produce carries, by version.
PRODUCE: tuple[RequestVersions, ...] = tuple(RequestVersions(*row) for row in compat_versions("produce"))
#: What Fetch carries, by version.
FETCH: tuple[RequestVersions, ...] = tuple(RequestVersions(*row) for row in compat_versions("fetch"))
#: What releases of Kafka's clients carry, oldest first.
CLIENTS: tuple[Client, ...] = tuple(
    Client(since, produce, fetch, writes, tuple(reads), tuple(compressions), lz4_written, lz4_read, note)
    for since, produce, fetch, writes, reads, compressions, lz4_written, lz4_read, note in compat_clients()
)


def produce(api_version: int, *, format: AnyFormat = "v2", compression: str = "none") -> Verdict:
    """Tell what a broker answers to a Produce request with such records.

    Args:
        api_version: version of the request.
        format: format of the records.
        compression: "none", "gzip", "snappy", "lz4" or "zstd".

    Returns:
        A `Verdict`.

    Raises:
        ValueError: for a negative version or an unknown format.
        UnknownCompressionError: for another name of a codec.

    Example:
        >>> import logsegment as ls
        >>> ls.compat.produce(6, compression="zstd").error.code
        76
        >>> ls.compat.produce(7, compression="zstd").ok
        True

    Source: `ProduceRequest.validateRecords` in Kafka's clients; KIP-110, whose text has 74 for the code that shipped as 76.
    """
    return _verdict("produce", api_version, format, compression)


def fetch(api_version: int, *, format: AnyFormat = "v2", compression: str = "none") -> Verdict:
    """Tell what a broker makes of such records for a Fetch request.

    Args:
        api_version: version of the request.
        format: format of the records in the log.
        compression: their codec.

    Returns:
        A `Verdict`; `converted` names the format that brokers up to 3.9 convert them to. For zstd that a topic of `compression.type`
        "producer" holds beside other codecs, see `broker.fetch`.

    Raises:
        ValueError: for a negative version or an unknown format.
        UnknownCompressionError: for another name of a codec.

    Example:
        >>> import logsegment as ls
        >>> ls.compat.fetch(3, compression="lz4").converted
        'v1'

    Source: `KafkaApis.handleFetchRequest` in Kafka 3.9.
    """
    return _verdict("fetch", api_version, format, compression)


def client(release: str) -> Client:
    """Find the row of a release of Kafka's clients.

    Args:
        release: such as "0.8.2.2" or "2.1".

    Returns:
        A `Client`.

    Raises:
        ValueError: when the text is no release, or one before 0.7.0.

    Example:
        >>> import logsegment as ls
        >>> ls.compat.client("2.0").compressions
        ('none', 'gzip', 'snappy', 'lz4')

    Source: FORMAT of the releases, KIP-57, KIP-110.
    """
    row = compat_client(release)
    if row is None:
        raise ValueError(f"release must be one of Kafka from 0.7.0 on, such as '0.9.0.1', not {release!r}")
    return CLIENTS[row]


def _verdict(api: str, api_version: int, format: str, compression: str) -> Verdict:
    code, converted, advice = compat_verdict(api, api_version, format, compression)
    return Verdict(None if code is None else ERRORS[code], converted, advice)
