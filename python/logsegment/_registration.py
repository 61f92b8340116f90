"""Register the part of the package that the core uses: classes of URIs and counters, functions for key rings and plugin registries."""

from __future__ import annotations

import importlib
from typing import Any

from logsegment._core import Place, register_package


class StoreUri(str):
    """A URI that is printed and formatted without user and settings, which may be secret. As a string it is whole.

    Example:
        >>> from logsegment._core import Place
        >>> place = Place("s3://bucket/orders-0", {"aws_secret_access_key": "secret"}).path
        >>> print(place)
        s3://bucket/orders-0
    """

    __slots__ = ()

    def __str__(self) -> str:
        return Place.redacted_uri(self)

    def __repr__(self) -> str:
        return repr(Place.redacted_uri(self))

    def __format__(self, spec: str) -> str:
        return format(Place.redacted_uri(self), spec)


class IoStats(dict[str, int]):
    """Counters by name; each is an attribute too.

    bytes_read: bytes taken from the source.
    entries_read: entries whose header was parsed.
    entries_skipped: entries that were not opened, since the call needed nothing from them.
    entries_decompressed: entries that were decompressed.
    bytes_inflated: decompressed bytes.
    bytes_checksummed: bytes of entries with a verified checksum; a search after damage verifies more.
    records: records returned.
    bytes_copied: bytes of keys, values and headers that were copied into columns.
    avro_values, json_values, protobuf_values: keys and values that were decoded by schemas of these formats.
    raw_values: keys and values that name no schema and are not JSON, with `values="auto"`.
    range_requests: ranges requested from a store (S3, GCS, Azure, HDFS).
    bytes_fetched: bytes that the store returned.
    """

    def __getattr__(self, name: str) -> int:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


# Few processes read uploads or have plugins: the modules are loaded when they are needed.


def _data_key(ring: str, key_id: str, wrapped: bytes, name: str) -> bytes:
    keys = importlib.import_module("logsegment.tiered.keys")
    unwrapped: bytes = keys.ring_of_text(ring).data_key(key_id, wrapped, name)
    return unwrapped


def _resolver(registry: object, is_of_brokers: bool) -> Any:
    return importlib.import_module("logsegment.plugins.resolver").resolver(registry, is_of_brokers)


def _registry_error(text: str) -> Any:
    return importlib.import_module("logsegment.plugins").RegistryError(text)


register_package(StoreUri, IoStats, _registry_error, _data_key, _resolver)
