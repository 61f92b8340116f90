"""The table of writers and readers: which cells there are, which are impossible, and which fail for a reason that is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

MAGICS = {"v0": 0, "v1": 1, "v2": 2}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ALL = ("v0", "v1", "v2")


@dataclass(frozen=True)
class Party:
    """A writer or a reader. `lacks` are codecs that came after it."""

    name: str
    formats: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    note: str = ""


WRITERS = {
    party.name: party
    for party in (
        Party("logsegment", ALL, note="`ls.encode`"),
        Party("logsegment convert", ALL, note="`ls.convert` of what Kafka 3.9.1 wrote in v2 without compression"),
        Party("Kafka 0.8.2.2", ("v0",), note="Scala `ByteBufferMessageSet`"),
        Party("Kafka 0.9.0.1", ("v0",), note="Java `MemoryRecords`"),
        Party("Kafka 0.10.2.2", ("v0", "v1"), note="Java `MemoryRecordsBuilder`"),
        Party("Kafka 0.11.0.3", ALL, ("zstd",), note="Java `MemoryRecordsBuilder`"),
        Party("Kafka 2.4.1", ALL, note="Java `MemoryRecordsBuilder`"),
        Party("Kafka 3.9.1", ALL, note="Java `MemoryRecordsBuilder`"),
        Party("Java producer 4.3.1", ("v2",), note="`KafkaProducer`, through a 4.3.1 broker"),
        Party("librdkafka", ("v2",), note="confluent-kafka, through a 4.3.1 broker"),
        Party("franz-go", ("v2",), note="kgo, through a 4.3.1 broker"),
        Party("kafka-python", ALL, note="its record builders"),
        Party("aiokafka", ALL, note="its record builders"),
    )
}

READERS = {
    party.name: party
    for party in (
        Party("logsegment", ALL, note="`ls.decode`, after `ls.validate` found no error"),
        Party("Kafka 0.8.2.2", ("v0",), note="Scala `ByteBufferMessageSet`, checksums verified"),
        Party("Kafka 0.9.0.1", ("v0",), note="Java `MemoryRecords`, checksums verified"),
        Party("Kafka 0.10.2.2", ("v0", "v1"), note="Java `MemoryRecords`, checksums verified"),
        Party("Kafka 0.11.0.3", ALL, ("zstd",), note="Java `MemoryRecords`, checksums verified"),
        Party("Kafka 2.4.1", ALL, note="Java `MemoryRecords`, checksums verified"),
        Party("Kafka 3.9.1", ALL, note="Java `MemoryRecords`, checksums verified"),
        Party("dump-log 4.3.1", ALL, note="`kafka-dump-log --deep-iteration`: every batch valid, offsets and sizes equal"),
        Party("Java consumer 4.3.1", ALL, note="from a 4.3.1 broker started on the file"),
        Party("librdkafka", ALL, note="confluent-kafka, from a 4.3.1 broker started on the file"),
        Party("franz-go", ALL, note="kgo, `ProcessFetchPartition`"),
        Party("kafka-python", ALL, note="its `MemoryRecords`"),
        Party("aiokafka", ALL, note="its `MemoryRecords`"),
    )
}


class Made(NamedTuple):
    """One file of the table: who wrote it, and how."""

    writer: str
    format: str
    codec: str

    def __str__(self) -> str:
        return "-".join(re.sub(r"[^a-z0-9.]+", "_", part.lower()) for part in self)


@dataclass(frozen=True)
class Explained:
    """Cells that fail, because of what another project does. They are run all the same, and must fail like this."""

    reason: str
    #: What the error says.
    says: str
    writer: str = ".*"
    reader: str = ".*"
    format: str = ".*"
    codec: str = ".*"

    def covers(self, made: Made, reader: str) -> bool:
        asked = ((self.writer, made.writer), (self.format, made.format), (self.codec, made.codec), (self.reader, reader))
        return all(re.fullmatch(pattern, name) for pattern, name in asked)


EXPLAINED = (
    Explained(
        "aiokafka refuses LZ4 in magic 0, to write it and to read it",
        "LZ4 is not supported for broker version 0.8/0.9",
        reader="aiokafka",
        format="v0",
        codec="lz4",
    ),
    Explained(
        "aiokafka refuses LZ4 in magic 0, to write it and to read it",
        "LZ4 is not supported for broker version 0.8/0.9",
        writer="aiokafka",
        format="v0",
        codec="lz4",
    ),
    Explained(
        "franz-go insists on the correct header checksum in magic 0 too, where all of Kafka writes the broken one",
        "lz4: invalid header checksum: got 82; expected 1a",
        reader="franz-go",
        format="v0",
        codec="lz4",
    ),
)


def files() -> list[Made]:
    """Everything that the writers can write."""
    return [
        Made(writer.name, kind, codec)
        for writer in WRITERS.values()
        for kind in writer.formats
        for codec in CODECS
        if impossible(writer, kind, codec) is None
    ]


def impossible(party: Party, kind: str, codec: str) -> str | None:
    """Why a writer or reader has no cell for a format and codec; None if it has."""
    if codec == "zstd" and kind != "v2":
        return "zstd is of magic 2 alone (KIP-110)"
    if kind not in party.formats:
        return f"{party.name} does not know {kind}"
    if codec in party.lacks:
        return f"{codec} came after {party.name}"
    return None


def explanation(made: Made, reader: str) -> Explained | None:
    return next((item for item in EXPLAINED if item.covers(made, reader)), None)


def pairs() -> Iterator[tuple[str, str]]:
    """Every writer with every reader that has a format in common with it."""
    for writer in WRITERS.values():
        for reader in READERS.values():
            if set(writer.formats) & set(reader.formats):
                yield writer.name, reader.name
