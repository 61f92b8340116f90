"""Which topics are compressed: the two settings of the 0.7 producer, for writers of several topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from logsegment._core import UnknownCompressionError
from logsegment._options import Compression

#: The codecs of 0.7 by their ids, which is how its producer names them.
CODEC_IDS: dict[str, Compression] = {"0": "none", "1": "gzip", "2": "snappy"}


@dataclass(frozen=True, init=False)
class CompressionPolicy:
    """A codec, and the topics that it is for.

    Without a codec nothing is compressed; with a codec and no topics, every topic; with topics, only these. Names are compared exactly.

    Args:
        codec: "none", "gzip", "snappy", "lz4" or "zstd".
        topics: names of the topics; none for all of them.

    Raises:
        UnknownCompressionError: for a codec that is none.
        TypeError: for one string in the place of names.

    Example:
        >>> import logsegment as ls
        >>> policy = ls.CompressionPolicy("gzip", topics=["orders"])
        >>> policy.codec_for("orders"), policy.codec_for("payments")
        ('gzip', 'none')

    Source: `DefaultEventHandler` in Kafka 0.7.
    """

    codec: Compression
    topics: frozenset[str]

    def __init__(self, codec: Compression = "none", topics: Iterable[str] = ()) -> None:
        if codec not in get_args(Compression):
            raise UnknownCompressionError(f"[COD-1] Unknown compression name: {codec}")
        if isinstance(topics, str):
            raise TypeError("topics must be names, not one string")
        object.__setattr__(self, "codec", codec)
        object.__setattr__(self, "topics", frozenset(topics))

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> CompressionPolicy:
        """Make the policy of a 0.7 producer's properties.

        Args:
            properties: of them `compression.codec`, an id (0 none, 1 gzip, 2 snappy), and `compressed.topics`, names with commas between
                them, are looked at. Spaces belong to a name.

        Returns:
            The policy; that of no compression when neither is there.

        Raises:
            ValueError: for an id that 0.7 does not know.

        Example:
            >>> import logsegment as ls
            >>> ls.CompressionPolicy.from_properties({"compression.codec": "2", "compressed.topics": "orders,payments"}).codec_for("orders")
            'snappy'

        Source: `AsyncProducerConfig` and `CompressionCodec` in Kafka 0.7.
        """
        codec = str(properties.get("compression.codec", "0")).strip()
        if codec not in CODEC_IDS:
            raise ValueError(f"[L7-5] {codec} is an unknown compression codec")
        topics = properties.get("compressed.topics") or ""
        return cls(CODEC_IDS[codec], [topic for topic in topics.split(",") if topic])

    def codec_for(self, topic: str) -> Compression:
        """Tell the codec of a topic."""
        is_compressed = not self.topics or topic in self.topics
        return self.codec if is_compressed else "none"
