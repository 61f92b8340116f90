"""The topic-partitions of a query: paths and the options `subscribe`, `subscribePattern`, `assign` go in, the segments of each come out."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from logsegment._core import Finding, FoundSegments, ReplicaChoice, ReplicaError, SegmentFile, is_internal_topic
from logsegment._decode import other_topics
from logsegment._options import INTERNAL, PartitionOptions
from logsegment._places import absolute, directory_of
from logsegment._text import listed
from logsegment.partition.reader import order_by_offsets
from logsegment.segment_files.discovery import ONE_REPLICA, WORK, found_in, is_gap, is_taken, replica_text

#: The options; at most one may be given.
STRATEGIES = ("subscribe", "subscribePattern", "assign")
#: Kafka's internal topics, which no pattern matches; the last is the log of the controllers.
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
#: Topics that an error names.
NAMED_TOPICS = 20
#: Files that a warning names; it counts the others.
NAMED = 3
_EXAMPLE = '{"orders":[0,1],"payments":[0]}'


class TopicPartition(NamedTuple):
    """A partition by name; a file outside of partition directories has no name unless the options set one."""

    topic: str | None
    partition: int | None

    def __str__(self) -> str:
        if self.topic is None or self.partition is None:
            return "a file outside a partition directory (set the options topic and partition)"
        return f"{self.topic}-{self.partition}"


NO_NAME = TopicPartition(None, None)


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """The topic-partitions to read; all if no attribute is set.

    Attributes:
        topics: of `subscribe`.
        pattern: of `subscribePattern`; it may match anywhere in a name, as in Spark.
        partitions: of `assign`.
        unnamed: the name of files outside of partition directories.
    """

    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    partitions: frozenset[TopicPartition] | None = None
    unnamed: TopicPartition = NO_NAME

    @property
    def is_all(self) -> bool:
        """Return True if all topic-partitions are selected."""
        return self.topics is None and self.pattern is None and self.partitions is None

    def ensure_there(self, found: Collection[TopicPartition]) -> None:
        """Raise if a named topic is missing, as a broker does.

        Raises:
            ValueError: if one is missing.
        """
        there = {segment.topic for segment in found}
        named = self.topics if self.topics is not None else {partition.topic for partition in self.partitions or ()}
        if missing := sorted(str(topic) for topic in named if topic not in there):
            names = sorted(str(topic) for topic in there if topic is not None)
            raise ValueError(f"no such topic: {listed(missing, NAMED_TOPICS)}; there are {listed(names, NAMED_TOPICS) or 'none'}")

    def has(self, partition: TopicPartition) -> bool:
        """Return True if the topic-partition is to be read."""
        if self.topics is not None:
            return partition.topic in self.topics
        if self.pattern is not None:
            return (
                partition.topic is not None
                and partition.topic not in INTERNAL_TOPICS
                and re.search(self.pattern, partition.topic) is not None
            )
        return self.partitions is None or partition in self.partitions


def parse_selection(options: Mapping[str, str], unnamed: TopicPartition = NO_NAME) -> TopicSelection:
    """Parse the options.

    Args:
        options: Spark's options, names in lower case.
        unnamed: the name of files outside of partition directories.

    Raises:
        ValueError: for more than one of them, or an invalid value.

    Source: `KafkaSourceProvider.validateGeneralOptions` in Spark.
    """
    given = [name for name in STRATEGIES if name.lower() in options]
    if not given:
        return TopicSelection(unnamed=unnamed)
    if len(given) > 1:
        raise ValueError(f"options {' and '.join(given)}: only one of {', '.join(STRATEGIES)} can be given")
    (name,) = given
    value = options[name.lower()].strip()
    if name == "subscribe":
        return TopicSelection(topics=_topics(value), unnamed=unnamed)
    if name == "subscribePattern":
        return TopicSelection(pattern=_pattern(value), unnamed=unnamed)
    return TopicSelection(partitions=_partitions(value), unnamed=unnamed)


@dataclass(frozen=True, slots=True)
class Discovered:
    """Segments at the paths of a query.

    Attributes:
        logs: the segments of each selected topic-partition, in the order of their offsets.
        left_out: findings of the files of these partitions that are not read.
        log_starts: log start offsets of these partitions that do not count or are not known (SEG-20, SEG-21).
    """

    logs: dict[TopicPartition, list[SegmentFile]]
    left_out: list[Finding]
    log_starts: list[Finding] = field(default_factory=list)

    def from_log_starts(self, options: PartitionOptions) -> Discovered:
        """Return the segments with the log start offsets of their partitions."""
        placed, findings = FoundSegments(segment for segments in self.logs.values() for segment in segments).with_log_starts(options)
        following = iter(placed)
        logs = {name: [next(following) for _ in segments] for name, segments in self.logs.items()}
        return replace(self, logs=logs, log_starts=findings)


def discover(
    paths: Sequence[str],
    selection: TopicSelection | None = None,
    *,
    partition: PartitionOptions | None = ONE_REPLICA,
    reports: bool = False,
    requires_topics: bool = True,
) -> Discovered:
    """Find the segments of the selected topic-partitions.

    Args:
        paths: paths, `file:` URIs and patterns, as a user gave them; a file of two of them is found once.
        selection: which topic-partitions; None for all.
        partition: which directory is read of a partition that is in several; None for all of them.
        reports: as in `logsegment.partition.reader.order_by_offsets`.
        requires_topics: raise if a named topic is missing.

    Raises:
        FileNotFoundError: if a path does not exist.
        OSError: if a directory cannot be listed.
        ValueError: if a named topic is missing, or a partition is in several directories and the options choose none of them.
    """
    selection = selection or TopicSelection()
    found, findings = found_in(local_paths(tuple(paths)), has_patterns=False, options=None)
    logs: dict[TopicPartition, list[SegmentFile]] = {}
    for segment in found:
        name = selection.unnamed if segment.topic is None else TopicPartition(segment.topic, segment.partition)
        logs.setdefault(name, []).append(segment)
    if requires_topics:
        selection.ensure_there(logs.keys())
    logs = {name: segments for name, segments in logs.items() if selection.has(name)}
    if partition is not None:
        logs = _of_one_replica(logs, partition)
    logs = {name: order_by_offsets(segments, reports=reports) for name, segments in logs.items()}
    chosen = [segment for segments in logs.values() for segment in segments]
    return Discovered(logs, FoundSegments(chosen, findings).findings_among(found if selection.is_all else None))


def local_paths(paths: tuple[str, ...]) -> list[str]:
    """Return absolute paths and URIs of stores, with `file:` URIs and patterns resolved.

    Raises:
        ValueError: for a `file:` URI of another machine.
        FileNotFoundError: if a path does not exist.
        OSError: if a store does not answer.
    """
    return [absolute(found) for found in FoundSegments.expanded(paths, must_exist=True)]


def warn_of_gaps(left_out: Iterable[Finding]) -> None:
    """Warn once of the offsets that no readable upload of tiered storage has: their rows are missing; and of interrupted work."""
    found = list(left_out)
    warn_of_uploads(finding for finding in found if is_gap(finding) and finding.rule != WORK)
    warn_of_work(found)


def warn_of_work(left_out: Iterable[Finding]) -> None:
    """Warn once of work that a broker did not finish, where its files change what is read or have records that nothing else has."""
    found = [finding for finding in left_out if finding.rule == WORK]
    directories = {directory_of(finding.path) for finding in found if finding.severity == "warning" or is_taken(finding)}
    texts = [f"{finding.path.rpartition('@')[0]}: {finding.message}" for finding in found if directory_of(finding.path) in directories]
    if texts:
        more = f"; and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
        warnings.warn(f"[{WORK}] a broker was interrupted: {'; '.join(texts[:NAMED])}{more}", UserWarning, stacklevel=4)


def warn_of_topics(columns: Iterable[str], topics: Iterable[str | None]) -> None:
    """Warn if the column `internal` is wanted and none of the topics is internal."""
    named = dict.fromkeys(topics)
    if INTERNAL in columns and not any(name is not None and is_internal_topic(name) for name in named) and (text := other_topics(named)):
        warnings.warn(f"option values: {text}", UserWarning, stacklevel=3)


def warn_of_uploads(left_out: Iterable[Finding]) -> None:
    """Warn once of segments that are not read, so that their rows are missing."""
    texts = [f"{finding.path.rpartition('@')[0]}: [{finding.rule}] {finding.message}" for finding in left_out]
    if texts:
        more = f"; and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
        warnings.warn(f"segments are skipped: {'; '.join(texts[:NAMED])}{more}", UserWarning, stacklevel=4)


def _of_one_replica(logs: Mapping[TopicPartition, list[SegmentFile]], options: PartitionOptions) -> dict[TopicPartition, list[SegmentFile]]:
    """Return the segments without those of other replicas of a partition, which would give every record twice."""
    try:
        kept = ReplicaChoice(options).of([segment for segments in logs.values() for segment in segments])
    except ReplicaError as error:
        raise ValueError(replica_text(error, "the option replica")) from None
    paths = {segment.path[:] for segment in kept}
    return {name: [segment for segment in segments if segment.path[:] in paths] for name, segments in logs.items()}


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


def _partitions(text: str) -> frozenset[TopicPartition]:
    """Parse Spark's JSON of partitions per topic."""
    try:
        lists: object = json.loads(text)
    except ValueError:
        lists = None
    if not isinstance(lists, dict) or not all(isinstance(numbers, list) and all(map(_is_partition, numbers)) for numbers in lists.values()):
        raise ValueError(f"option assign must be like {_EXAMPLE}, not {text!r}")
    return frozenset(TopicPartition(topic, partition) for topic, partitions in lists.items() for partition in partitions)


def _is_partition(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**31
