"""Where another implementation judges bytes otherwise than we do, and why: the list that docs/reference/compatibility.md shows.

A line says who, what we say, what they say (both as patterns of `fnmatch`), what is different, and the reason. A difference without a
line fails the test, and so does a line without a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

JAVA = ("3.9.1", "4.3.1")
PYTHON = ("kafka-python", "aiokafka")
EVERYBODY = (*JAVA, *PYTHON)


@dataclass(frozen=True)
class Listed:
    """`what` is a word of `verdicts.difference`."""

    peers: tuple[str, ...]
    ours: str
    theirs: str
    what: str
    reason: str

    def covers(self, peer: str, ours: str, theirs: str, what: str) -> bool:
        return peer in self.peers and what == self.what and fnmatchcase(ours, self.ours) and fnmatchcase(theirs, self.theirs)


KAFKA_PYTHON, AIOKAFKA = ("kafka-python",), ("aiokafka",)
READS = "reads"
#: A compressed batch is read without a look at its bytes.
UNOPENED = "reads, one unopened"
NO_LZ4 = "aiokafka refuses LZ4 in magic 0, and gives what it read before"

DIFFERENCES: tuple[Listed, ...] = (
    Listed(EVERYBODY, "COD-6 *", READS, "verdict", "a length over `max_batch_bytes` (256 MiB) is refused; they take it for a torn tail"),
    Listed(EVERYBODY, READS, "*ecord size*less than the minimum record overhead*", "verdict", "zeros up to the end end the input (FND-17)"),
    Listed(
        (*JAVA, *AIOKAFKA),
        "V2-47 *",
        READS,
        "verdict",
        "the key of a marker is looked at with its record; Kafka's consumer looks at it where it judges transactions, aiokafka likewise",
    ),
    Listed(
        EVERYBODY,
        UNOPENED,
        "*",
        "verdict",
        "a batch that says it has no records is not decompressed (V2-10), as by Kafka's plain iterator; its consumer opens all but zstd",
    ),
    Listed(PYTHON, "L8-2 *", READS, "verdict", "checksums of inner messages are not compared"),
    Listed(PYTHON, "L8-13 *", READS, "verdict", "a magic that belongs to no format is treated as magic 2, or 0 and 1 inside of a wrapper"),
    Listed(PYTHON, "MAP-3 *", READS, "verdict", "magic 3 is treated as magic 2"),
    Listed(PYTHON, "L8-22 *", READS, "verdict", "a compressed message without messages gives none"),
    Listed(PYTHON, "L8-27 *", READS, "verdict", "offsets below those that can be are counted all the same"),
    Listed(PYTHON, "COD-G1 *", READS, "verdict", "an empty value passes for a gzip stream of nothing"),
    Listed(PYTHON, "COD-L12 *", READS, "verdict", "LZ4 blocks that depend on each other are read; brokers refuse them"),
    Listed(PYTHON, "COD-S5 *", READS, "verdict", "a chunk of snappy-java that is cut short is read as far as it goes"),
    Listed(AIOKAFKA, "COD-L15 *", READS, "verdict", "a skippable LZ4 frame is skipped; Kafka refuses it"),
    Listed(AIOKAFKA, "V2-37 *", READS, "verdict", "a second LZ4 frame is read; Kafka reads the first one only"),
    Listed(AIOKAFKA, "*", "UnsupportedCodecError*LZN is not supported*", "verdict", NO_LZ4),
    Listed(AIOKAFKA, "*", "UnsupportedCodecError*LZN is not supported*", "count", NO_LZ4),
    Listed(
        PYTHON,
        "COD-S9 *",
        "killed by signal SIGABRT",
        "count",
        "reserves what a snappy block claims, gigabytes, and does not live to give what came before",
    ),
    Listed(AIOKAFKA, READS, READS, "timestamp_type", "the type is that of the inner message; Kafka takes the wrapper's"),
    Listed(KAFKA_PYTHON, READS, READS, "value", "a negative length is an empty value where it is not -1; Kafka takes any for null"),
    Listed(KAFKA_PYTHON, READS, READS, "timestamp", "a timestamp over 63 bits does not wrap"),
    Listed(
        KAFKA_PYTHON,
        READS,
        READS,
        "offset",
        "an offset over 63 bits does not wrap; an inner message that is cut off shifts no offsets, which it does in Kafka (FND-10)",
    ),
    Listed(KAFKA_PYTHON, READS, READS, "count", "gives the rest of an inner message that is cut off; Kafka drops it (FND-10)"),
    Listed(
        AIOKAFKA,
        READS,
        "SystemError: Negative size *",
        "verdict",
        "a negative length of a key or value is null, as in Kafka, whichever it is",
    ),
    Listed(
        AIOKAFKA,
        READS,
        "CorruptRecord*: Corrupted compressed message",
        "verdict",
        "an inner message that is cut off is dropped, as Kafka drops it (FND-10)",
    ),
    Listed(
        AIOKAFKA,
        READS,
        "CorruptRecord*: Can't read N bytes from pos N",
        "verdict",
        "an inner message that is cut off is dropped, as Kafka drops it (FND-10)",
    ),
    Listed(
        AIOKAFKA,
        READS,
        "UnicodeDecodeError*",
        "verdict",
        "names of headers are bytes; as text they get replacement characters, as in Kafka",
    ),
    Listed(
        AIOKAFKA,
        READS,
        "DecompressionError: snappy*",
        "verdict",
        "an empty snappy stream, an end of it that was cut, its version: as snappy-java judges them",
    ),
    Listed(
        KAFKA_PYTHON,
        READS,
        "UncompressError*",
        "verdict",
        "an empty snappy stream, an end of it that was cut, its version: as snappy-java judges them",
    ),
    Listed(
        PYTHON,
        READS,
        "*ERROR_contentChecksum_invalid",
        "verdict",
        "the content checksum of an LZ4 frame is not compared, as in Kafka (FND-9)",
    ),
    Listed(PYTHON, READS, "*ERROR_frameType_unknown", "verdict", "bytes after an LZ4 frame are skipped, as in Kafka (FND-8)"),
    Listed(PYTHON, READS, "BadGzipFile*", "verdict", "bytes after the last gzip member are skipped, as in Kafka (FND-8)"),
    Listed(PYTHON, READS, "CorruptRecord*Invalid record size*", "verdict", "bits of a varint above the 32nd are dropped, as in Kafka"),
    Listed(
        PYTHON,
        READS,
        "CorruptRecord*unconsumed bytes*",
        "verdict",
        "what a batch holds that says it has no records is not checked, as in Kafka's consumer",
    ),
    Listed(KAFKA_PYTHON, "L8-8 *", READS, "verdict", "the length of a key or value is not compared with the message"),
    Listed(KAFKA_PYTHON, "L8-33 *", READS, "verdict", "the magic of an inner message is not checked"),
    Listed(KAFKA_PYTHON, "COD-G3 *", READS, "verdict", "a gzip stream that is cut is read as far as it goes"),
    Listed(KAFKA_PYTHON, "COD-Z6 *", READS, "verdict", "a zstd frame that is cut is read as far as it goes"),
    Listed(
        KAFKA_PYTHON,
        READS,
        "error: *",
        "verdict",
        "a negative length is null, and an inner message that is cut off is dropped, as in Kafka",
    ),
    Listed(KAFKA_PYTHON, READS, "IndexError*", "verdict", "an inner message that is cut off is dropped, as Kafka drops it (FND-10)"),
    Listed(
        KAFKA_PYTHON,
        READS,
        "CorruptRecord*UnicodeDecodeError*",
        "verdict",
        "names of headers are bytes; as text they get replacement characters, as in Kafka",
    ),
)


def listed(peer: str, ours: str, theirs: str, what: str) -> Listed | None:
    return next((line for line in DIFFERENCES if line.covers(peer, ours, theirs, what)), None)
