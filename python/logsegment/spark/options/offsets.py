"""Limits of offsets, as Spark writes them: JSON of offsets, `earliest`, `latest`, and times.

Options go in, an `OffsetLimit` for the start and the end of a read comes out. Names, precedence and restrictions are those of Spark's Kafka
source.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from logsegment._text import listed
from logsegment.spark.options.topics import TopicPartition

#: In Spark's JSON: the first offset that is there.
EARLIEST = -2
#: In Spark's JSON: after the last offset that is there.
LATEST = -1

Edge: TypeAlias = Literal["starting", "ending"]
#: What to do if no record is late enough for a starting time.
NoMatch: TypeAlias = Literal["error", "latest"]
Offsets: TypeAlias = dict[TopicPartition, int]

#: Topic-partitions that an error names.
NAMED_MISTAKES = 5

_WORDS = {"earliest": EARLIEST, "latest": LATEST}
#: What each edge takes in a batch query and in a stream.
_ADVICE = {"starting": "-2 means earliest", "ending": "-1 means latest"}
_EXAMPLE = '{"orders":{"0":23,"1":-1},"payments":{"0":-2}}'
_TIMES_EXAMPLE = '{"orders":{"0":1650000000000}}'


@dataclass(frozen=True, slots=True)
class OffsetLimit:
    """The start or the end of a read. One of the first four attributes is set.

    Attributes:
        everywhere: EARLIEST or LATEST, for all topic-partitions.
        offsets: for each topic-partition; EARLIEST and LATEST are among the values.
        timestamp: milliseconds since the epoch, for all topic-partitions.
        timestamps: milliseconds for each topic-partition.
        no_match: for starting times.
    """

    everywhere: int | None = None
    offsets: Offsets | None = None
    timestamp: int | None = None
    timestamps: Offsets | None = None
    no_match: NoMatch = "error"

    @property
    def named(self) -> Offsets | None:
        """Return the values of topic-partitions, which must be exactly those that are read."""
        return self.offsets if self.offsets is not None else self.timestamps

    def time_of(self, name: TopicPartition) -> int | None:
        """Return the time of a topic-partition in ms; None if the limit is none, or one of the times that brokers treat as words."""
        time = self.timestamp if self.timestamps is None else self.timestamps[name]
        return None if time in (EARLIEST, LATEST) else time

    def option(self, edge: Edge) -> str:
        """Return the name of the option that set it."""
        if self.timestamp is not None:
            return f"{edge}Timestamp"
        return f"{edge}Offsets" if self.timestamps is None else f"{edge}OffsetsByTimestamp"


def parse_offsets(text: str, option: str) -> Offsets:
    """Parse Spark's JSON of offsets per topic and partition.

    Args:
        text: like `{"orders":{"0":23,"1":-1}}`.
        option: name of the option, for the error.

    Raises:
        ValueError: if it is something else.
    """
    return _numbers(text, option, _EXAMPLE)


def offsets_of(value: object) -> Offsets:
    """Read offsets by topic, and by partition in decimal digits, as PySpark passes the offsets of a stream.

    Raises:
        TypeError, ValueError, AttributeError: if it is something else.
    """
    if not isinstance(value, dict):
        raise TypeError
    return {TopicPartition(topic, _partition(key)): _number(offset) for topic, ones in value.items() for key, offset in ones.items()}


def by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Return offsets by topic, and by partition in decimal digits, in order.

    Example:
        >>> from logsegment.spark.options.offsets import by_topic
        >>> from logsegment.spark.options.topics import TopicPartition
        >>> by_topic({TopicPartition("orders", 1): 7, TopicPartition("orders", 0): -1})
        {'orders': {'0': -1, '1': 7}}

    Source: `JsonUtils.partitionOffsets` in Spark.
    """
    topics: dict[str, dict[str, int]] = {}
    for offset in sorted(offsets, key=lambda name: (name.topic or "", -1 if name.partition is None else name.partition)):
        topics.setdefault(offset.topic or "", {})[str(offset.partition)] = offsets[offset]
    return topics


def parse_limit(options: Mapping[str, str], edge: Edge, default: int) -> OffsetLimit:
    """Parse a limit: a time for all takes precedence over times for each, and these over offsets.

    Args:
        options: Spark's options, names in lower case.
        edge: "starting" or "ending".
        default: EARLIEST or LATEST.

    Raises:
        ValueError: for an invalid value.

    Source: `KafkaSourceProvider.getKafkaOffsetRangeLimit` in Spark.
    """
    no_match = _no_match(options.get("startingoffsetsbytimestampstrategy", "error"))
    timestamp = options.get(f"{edge}timestamp")
    if timestamp is not None:
        return OffsetLimit(timestamp=_long(timestamp.strip(), f"{edge}Timestamp"), no_match=no_match)
    timestamps = options.get(f"{edge}offsetsbytimestamp")
    if timestamps is not None:
        times = _numbers(timestamps.strip(), f"{edge}OffsetsByTimestamp", _TIMES_EXAMPLE)
        return OffsetLimit(timestamps=times, no_match=no_match)
    text = options.get(f"{edge}offsets", "").strip()
    if f"{edge}offsets" not in options:
        return OffsetLimit(everywhere=default)
    if text.lower() in _WORDS:
        return OffsetLimit(everywhere=_WORDS[text.lower()])
    offsets = parse_offsets(text, f"{edge}Offsets")
    for name, offset in offsets.items():
        if offset < EARLIEST:
            raise ValueError(f"option {edge}Offsets: {offset} for {name} is not an offset; {_ADVICE[edge]}")
    return OffsetLimit(offsets=offsets)


def batch_limits(options: Mapping[str, str]) -> tuple[OffsetLimit, OffsetLimit]:
    """Parse both limits of a batch query, with their restrictions; by default it reads all.

    Args:
        options: Spark's options, names in lower case.

    Raises:
        ValueError: for an invalid value or combination.

    Source: `KafkaSourceProvider.validateBatchOptions` and `checkOffsetLimitValidity` in Spark.
    """
    starting = parse_limit(options, "starting", EARLIEST)
    ending = parse_limit(options, "ending", LATEST)
    for edge, limit, forbidden, word in (("starting", starting, LATEST, "latest"), ("ending", ending, EARLIEST, "earliest")):
        if limit.everywhere == forbidden:
            raise ValueError(f"option {edge}Offsets must not be {word} in a batch query")
        if never := sorted(str(partition) for partition, offset in (limit.offsets or {}).items() if offset == forbidden):
            raise ValueError(f"option {edge}Offsets must not be {word} ({forbidden}) in a batch query, as it is for {never[0]}")
    _ensure_ordered(starting, ending)
    return starting, ending


def ensure_assigned(limit: OffsetLimit, assigned: Mapping[TopicPartition, object], edge: Edge) -> None:
    """Refuse a limit that leaves a topic-partition out, or names one that is not read.

    Raises:
        ValueError: for such a limit.
    """
    if limit.named is None or limit.named.keys() == assigned.keys():
        return
    mistakes = [f"{partition} is missing" for partition in sorted(map(str, assigned.keys() - limit.named.keys()))]
    mistakes += [f"{partition} is not read" for partition in sorted(map(str, limit.named.keys() - assigned.keys()))]
    advice = f"; {_ADVICE[edge]}" if limit.offsets is not None else ""
    what = f"option {limit.option(edge)} must name all topic-partitions that are read and no others"
    raise ValueError(f"{what}: {listed(mistakes, NAMED_MISTAKES)}{advice}")


def _ensure_ordered(starting: OffsetLimit, ending: OffsetLimit) -> None:
    """Refuse limits of different topic-partitions, and a start after its end."""
    names = starting.option("starting"), ending.option("ending")
    befores, afters = (_times(limit) for limit in (starting, ending))
    for partition in befores.keys() | afters.keys() if None in befores or None in afters else ():
        since, until = (times.get(partition, times.get(None)) for times in (befores, afters))
        if since is not None and until is not None and since > until >= 0:
            raise ValueError(f"option {names[0]} must not be after {names[1]}: {since} and {until}")
    for what, before, after in (
        ("Offsets", starting.offsets, ending.offsets),
        ("OffsetsByTimestamp", starting.timestamps, ending.timestamps),
    ):
        if before is None or after is None:
            continue
        if differing := sorted(map(str, before.keys() ^ after.keys())):
            raise ValueError(f"options starting{what} and ending{what} must name the same topic-partitions; only one names {differing[0]}")
        for partition, start in before.items():
            if start > after[partition] >= 0:
                raise ValueError(f"option starting{what} must not be after ending{what}: {start} and {after[partition]} for {partition}")


def _times(limit: OffsetLimit) -> dict[TopicPartition | None, int]:
    """Return the times of a limit by topic-partition; None stands for all."""
    times: dict[TopicPartition | None, int] = {} if limit.timestamp is None else {None: limit.timestamp}
    times.update((limit.timestamps or {}).items())
    return times


def _numbers(text: str, option: str, example: str) -> Offsets:
    try:
        return offsets_of(json.loads(text))
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"option {option} must be like {example}, not {text!r}") from None


def _partition(key: str) -> int:
    if not key.isdecimal():
        raise ValueError
    return int(key)


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise TypeError
    return value


def _long(text: str, option: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise ValueError(f"option {option} must be one number of milliseconds since 1970, not {text!r}") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"option {option} must be a number of 64 bits, not {text}")
    return number


def _no_match(text: str) -> NoMatch:
    lower = text.lower()
    if lower == "error":
        return "error"
    if lower == "latest":
        return "latest"
    raise ValueError(f"option startingOffsetsByTimestampStrategy must be error or latest, not {text!r}")
