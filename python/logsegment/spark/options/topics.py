"""Which topic-partitions a query reads: the options `subscribe`, `subscribePattern` and `assign` over the paths.

Paths and options go in, the segments of each topic-partition come out. Nothing is opened here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from logsegment._core import Finding
from logsegment._text import listed
from logsegment.log.reader import arranged
from logsegment.segment_files.discovery import SegmentFile, found_in
from logsegment.spark.options.paths import local_paths
from logsegment.stores.uri import directory_of, shown

#: The options, of which at most one may be given.
STRATEGIES = ("subscribe", "subscribePattern", "assign")
#: Topics that Kafka keeps for itself; no pattern matches them, as in Kafka's list of topics. The last is the log of its controllers.
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
#: Topics that an error names.
NAMED_TOPICS = 20
_EXAMPLE = '{"orders":[0,1],"payments":[0]}'


class TopicPartition(NamedTuple):
    """A partition by name; files that lie in no partition directory, and of which no option tells, have no name."""

    topic: str | None
    partition: int | None

    def __str__(self) -> str:
        if self.topic is None or self.partition is None:
            return "a file in no partition directory (options topic and partition give it a name)"
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Selection:
    """Checked options of what to read; all of it when none is given.

    Attributes:
        topics: of `subscribe`.
        pattern: of `subscribePattern`; it may match anywhere in a name, as in Spark.
        partitions: of `assign`.
    """

    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    partitions: frozenset[TopicPartition] | None = None

    def ensure_there(self, found: Collection[TopicPartition]) -> None:
        """Fail when a topic that was named is not there, as a broker does.

        Raises:
            ValueError: when it is not.
        """
        there = {one.topic for one in found}
        named = self.topics if self.topics is not None else {one.topic for one in self.partitions or ()}
        if missing := sorted(str(topic) for topic in named if topic not in there):
            names = sorted(str(topic) for topic in there if topic is not None)
            raise ValueError(f"no such topic: {listed(missing, NAMED_TOPICS)}; there are {listed(names, NAMED_TOPICS) or 'none'}")

    def has(self, one: TopicPartition) -> bool:
        """True when it is to be read."""
        if self.topics is not None:
            return one.topic in self.topics
        if self.pattern is not None:
            return one.topic is not None and one.topic not in INTERNAL_TOPICS and re.search(self.pattern, one.topic) is not None
        return self.partitions is None or one in self.partitions


def parse_selection(options: Mapping[str, str]) -> Selection:
    """Check the options.

    Args:
        options: Spark's options, names in lower case.

    Raises:
        ValueError: for more than one of them, or a bad value.

    Source: `KafkaSourceProvider.validateGeneralOptions` in Spark.
    """
    given = [name for name in STRATEGIES if name.lower() in options]
    if not given:
        return Selection()
    if len(given) > 1:
        raise ValueError(f"options {' and '.join(given)}: only one of {', '.join(STRATEGIES)} can be given")
    (name,) = given
    value = options[name.lower()].strip()
    if name == "subscribe":
        return Selection(topics=_topics(value))
    if name == "subscribePattern":
        return Selection(pattern=_pattern(value))
    return Selection(partitions=parse_partitions(value))


def parse_partitions(text: str) -> frozenset[TopicPartition]:
    """Read Spark's JSON of partitions per topic.

    Raises:
        ValueError: when it is none.
    """
    try:
        lists: object = json.loads(text)
    except ValueError:
        lists = None
    if not isinstance(lists, dict) or not all(isinstance(one, list) and all(map(_is_partition, one)) for one in lists.values()):
        raise ValueError(f"option assign must be like {_EXAMPLE}, not {text!r}")
    return frozenset(TopicPartition(topic, partition) for topic, partitions in lists.items() for partition in partitions)


def discover(
    paths: Sequence[str],
    selection: Selection | None = None,
    *,
    topic: str | None = None,
    partition: int | None = None,
    has_replicas: bool = False,
    reports: bool = False,
    left_out: list[Finding] | None = None,
) -> dict[TopicPartition, list[SegmentFile]]:
    """Find the segments of the topic-partitions that are to be read.

    Args:
        paths: paths, `file:` URIs and patterns, as a user gave them. A file that two of them lead to is found once.
        selection: which topic-partitions; None for all.
        topic: of files that lie in no partition directory.
        partition: of files that lie in no partition directory.
        has_replicas: take a partition that lies in several directories.
        reports: as in `logsegment.log.reader.arranged`.
        left_out: gets what is told of uploads in tiered storage that are not read, of the partitions that are.

    Returns:
        The segments of each, in the order of their offsets.

    Raises:
        FileNotFoundError: when there is nothing at a path.
        OSError: when a directory cannot be listed.
        ValueError: when a topic that was named is not there, or two directories tell the same topic and partition.
    """
    unnamed = TopicPartition(topic, partition)
    looked = [found_in(path) for path in local_paths(tuple(paths))]
    found = {segment.path: segment for segments, _ in looked for segment in segments}
    logs: dict[TopicPartition, list[SegmentFile]] = {}
    for segment in found.values():
        name = unnamed if segment.topic is None else TopicPartition(segment.topic, segment.partition)
        logs.setdefault(name, []).append(segment)
    if selection is not None:
        selection.ensure_there(logs.keys())
        logs = {name: segments for name, segments in logs.items() if selection.has(name)}
    for name, segments in logs.items():
        if not has_replicas:
            _ensure_one_directory(name, segments)
        logs[name] = arranged(segments, reports=reports)
    if left_out is not None:
        directories = {shown(segment.directory) for segments in logs.values() for segment in segments}
        told = {finding.path: finding for _, findings in looked for finding in findings}
        is_all = selection is None or selection == Selection()
        left_out += [finding for finding in told.values() if is_all or directory_of(finding.path) in directories]
    return logs


def _ensure_one_directory(name: TopicPartition, segments: Sequence[SegmentFile]) -> None:
    """Two replicas of a partition would give every record twice."""
    directories = sorted({segment.directory for segment in segments if segment.topic is not None})
    if len(directories) > 1:
        shown = " and ".join(directories[:2]) + (f" and {len(directories) - 2} more" if len(directories) > 2 else "")
        raise ValueError(f"{name} is in {len(directories)} directories, {shown}: load one of them at a time")


def _topics(value: str) -> tuple[str, ...]:
    topics = tuple(name for part in value.split(",") if (name := part.strip()))
    if not topics:
        raise ValueError(f"option subscribe must be names of topics with commas between them, not {value!r}")
    return topics


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"option subscribePattern must be a regular expression, not {value!r}: {error}") from None
    if not value:
        raise ValueError("option subscribePattern must be a regular expression, not ''")
    return value


def _is_partition(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**31
