"""What is asked of both sources: names of questions and options of the readers, values as Python objects where Spark wants JSON."""

from __future__ import annotations

import json
from typing import Any

from topics import START

COMMITTED = {"kafka.isolation.level": "read_committed"}
#: Over all topics.
EVERYTHING: dict[str, dict[str, Any]] = {
    "everything": {},
    "committed": COMMITTED,
    "headers": {"includeHeaders": "true"},
    "committed with headers": COMMITTED | {"includeHeaders": "true"},
}
#: Which topic-partitions.
TOPICS: dict[str, dict[str, Any]] = {
    "subscribe": {"subscribe": "t-many, t-zstd"},
    "subscribePattern": {"subscribePattern": "t-(many|magic[01])"},
    "a pattern that leaves internal topics": {"subscribePattern": ".*"},
    "assign": {"assign": {"t-many": [0, 2], "t-transactions": [1]}},
}
MANY = {"subscribe": "t-many"}
MINUTES = {str(partition): START + minute * 60_000 for partition, minute in ((0, 1), (1, 3), (2, 0))}
#: From where to where, by offsets.
OFFSETS: dict[str, dict[str, Any]] = {
    "earliest to latest": MANY | {"startingOffsets": "earliest", "endingOffsets": "latest"},
    "offsets": MANY
    | {"startingOffsets": {"t-many": {"0": 61, "1": -2, "2": 10}}, "endingOffsets": {"t-many": {"0": 290, "1": 5, "2": -1}}},
    "nothing in two": MANY
    | {"startingOffsets": {"t-many": {"0": 400, "1": 7, "2": 9}}, "endingOffsets": {"t-many": {"0": -1, "1": 7, "2": 13}}},
    "inside of transactions": COMMITTED
    | {
        "assign": {"t-transactions": [0, 1]},
        "startingOffsets": {"t-transactions": {"0": 7, "1": 8}},
        "endingOffsets": {"t-transactions": {"0": 61, "1": 62}},
    },
    "in holes": {
        "subscribe": "t-compacted",
        "startingOffsets": {"t-compacted": {"0": 3}},
        "endingOffsets": {"t-compacted": {"0": 395}},
    },
    "after records deleted on request": {"subscribe": "trimmed"},
    "before what is there, and going on": {
        "subscribe": "trimmed",
        "startingOffsets": {"trimmed": {"0": 5}},
        "failOnDataLoss": "false",
    },
    "a time of records deleted on request": {"subscribe": "trimmed", "startingTimestamp": START + 20_000},
    "inside of wrappers": {
        "subscribe": "t-magic1",
        "startingOffsets": {"t-magic1": {"0": 7}},
        "endingOffsets": {"t-magic1": {"0": 23}},
    },
}
#: From where to where, by times.
TIMES: dict[str, dict[str, Any]] = {
    "startingTimestamp": MANY | {"startingTimestamp": START + 90_500},
    "times": MANY
    | {"startingTimestamp": START + 61_000, "endingTimestamp": START + 250_000, "startingOffsetsByTimestampStrategy": "latest"},
    "byTimestamp": MANY | {"startingOffsetsByTimestamp": {"t-many": MINUTES}},
    "ending by timestamp": MANY | {"endingOffsetsByTimestamp": {"t-many": MINUTES}},
    "an end without a beginning": MANY | {"endingTimestamp": START + 200_000},
    "an end behind every time": MANY | {"endingTimestamp": START + 10**9},
    "from offsets to times": MANY
    | {"startingOffsets": {"t-many": {"0": 20, "1": 30, "2": 0}}, "endingOffsetsByTimestamp": {"t-many": MINUTES}},
    "a time before a time in offsets": MANY | {"startingTimestamp": START + 9_000, "startingOffsets": {"t-many": {"0": 99}}},
    "behind the end, to the latest": {
        "subscribe": "t-many,t-untimed",
        "startingTimestamp": START + 5_000,
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "some without times": {"subscribe": "t-untimed", "startingTimestamp": 1},
    "times that stand for words": MANY | {"startingTimestamp": -2, "endingTimestamp": -1},
    "one of them for each": MANY | {"startingOffsetsByTimestamp": {"t-many": {"0": -2, "1": -1, "2": START}}},
    "after compaction": {"subscribe": "t-compacted", "startingTimestamp": START + 200_000},
    # Markers are of the time when they were written, which is later than every record's here.
    "of markers": {"subscribe": "t-transactions", "startingTimestamp": START + 100_000},
}
#: How much at a time.
TASKS: dict[str, dict[str, Any]] = {
    "minPartitions": MANY | {"minPartitions": "7"},
    "maxRecordsPerPartition": MANY | {"maxRecordsPerPartition": "90"},
    "both": MANY | {"minPartitions": "5", "maxRecordsPerPartition": "170", "startingOffsets": {"t-many": {"0": 35, "1": 5, "2": 200}}},
}
#: Of streams, which take what is there in micro-batches.
STREAMS: dict[str, dict[str, Any]] = {
    "everything": {"subscribePattern": "t-.*", "includeHeaders": "true", "startingOffsets": "earliest"},
    "shares": {
        "subscribe": "t-many,t-zstd,t-transactions,t-empty,t-compacted",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "300",
    },
    "committed": COMMITTED | {"subscribe": "t-transactions", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "40"},
    "from offsets": MANY | {"startingOffsets": {"t-many": {"0": 350, "1": -2, "2": 7}}, "maxOffsetsPerTrigger": "100"},
    "from a time": MANY | {"startingTimestamp": START + 90_500, "maxOffsetsPerTrigger": "500", "maxRecordsPerPartition": "50"},
    "deleted on request": {"subscribe": "trimmed", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "60", "minPartitions": "3"},
}
#: What both refuse.
REFUSED: dict[str, dict[str, Any]] = {
    "two ways": {"subscribe": "t-many", "subscribePattern": "t-.*"},
    "latest at the start": MANY | {"startingOffsets": "latest"},
    "earliest at the end": MANY | {"endingOffsets": "earliest"},
    "-1 at the start": MANY | {"startingOffsets": {"t-many": {"0": -1, "1": 0, "2": 0}}},
    "-2 at the end": MANY | {"endingOffsets": {"t-many": {"0": -2, "1": 0, "2": 0}}},
    "a partition left out": MANY | {"startingOffsets": {"t-many": {"0": 1}}},
    "a partition too many": {"subscribe": "t-zstd", "startingOffsets": {"t-zstd": {"0": 1, "1": 1}}},
    "no JSON": MANY | {"startingOffsets": "first"},
    "behind every time": MANY | {"startingTimestamp": START + 10**9},
    "behind its end, by time": MANY
    | {"startingOffsets": {"t-many": {"0": 290, "1": 0, "2": 0}}, "endingOffsetsByTimestamp": {"t-many": MINUTES}},
    "minPartitions of nothing": MANY | {"minPartitions": "0"},
    "no such topic": {"subscribe": "t-nowhere"},
    "a bad assignment": {"assign": "t-many"},
    "before what is there": {"subscribe": "trimmed", "startingOffsets": {"trimmed": {"0": 5}}},
    "behind what is there": {"subscribe": "t-zstd", "startingOffsets": {"t-zstd": {"0": 100_000}}},
}


def as_text(options: dict[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
