"""Two replicas, or a backup and its source: the same records at the same offsets? `diff`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Literal

from logsegment._core import Limits
from logsegment._options import Format
from logsegment.analysis.diff.comparing import Comparing
from logsegment.analysis.diff.differences import Damage, Difference, Totals
from logsegment.analysis.diff.pairing import Pair, pairs_of
from logsegment.analysis.diff.sides import SAME, UNCOVERED, Options, Side

if TYPE_CHECKING:
    from logsegment.plugins import Registry

__all__ = ["Comparison", "Damage", "Difference", "Totals", "diff"]

State = Literal["same", "different", "unopened", "damaged"]


class Comparison:
    """What differs between the two sides of one partition, found while it is gone through, once.

    Attributes:
        name (str): the partition, or the directory where its name tells none.
        topic (str or None), partition (int or None): as the directories tell.
        a (list[SegmentFile]), b (list[SegmentFile]): the files of both sides; none where a side lacks the partition.
        left_out (list[Finding]): uploads of tiered storage on either side that are not read, as `Log.left_out` tells them: what they alone
            have is missing there.
        totals (Totals): counts so far.
    """

    def __init__(self, pair: Pair, found: Iterator[Difference | Damage], totals: Totals, *, with_batches: bool) -> None:
        self.topic, self.partition = pair.topic, pair.partition
        self.a, self.b = pair.a, pair.b
        self.left_out = pair.left_out
        self.name = pair.name
        self.totals = totals
        self._found = found
        self._with_batches = with_batches

    @property
    def state(self) -> State:
        """Whether a side lacks records or has others ("different"), else whether not all could be read; right at the end.

        "unopened" when all that was in the way is that plugins are missing here or failed, else "damaged".
        """
        totals = self.totals
        if not (self.a and self.b) or totals.missing_a or totals.missing_b or totals.changed or (totals.batches and self._with_batches):
            return "different"
        if totals.unopened and not totals.damage:
            return "unopened"
        return "damaged" if totals.damage or totals.unreadable else "same"

    def __iter__(self) -> Iterator[Difference | Damage]:
        return self._found

    def __repr__(self) -> str:
        return f"Comparison({self.name!r}, {self.state} so far)"


def diff(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    *,
    batches: bool = False,
    deep: bool = False,
    check_crc: bool = True,
    format: Format = "auto",
    experimental: bool = False,
    codecs: Registry | None = None,
    limits: Limits | None = None,
) -> Iterator[Comparison]:
    """Compare the records of two segments, two partition directories, or two trees of them, partition by partition.

    Batches whose offsets, count, size and checksum agree on both sides hold the same records, so they are not unpacked: the checksum
    covers everything but base offset, length, leader epoch and magic of a batch (of which the leader epoch alone is not compared), and the
    offset and length of an older message. All else is decoded and compared by offset, timestamp, key, value, headers, and whether it is a
    control record. Segment borders, batches, codec, format, producers and the type of a timestamp do not count.

    Args:
        a: a file, a partition directory or a tree, here or in a store, or a prefix of tiered storage.
        b: the same; partitions of two trees are paired by topic and partition.
        batches: the same records in other batches, or with other headers of batches, are a difference too.
        deep: decode every batch, so that nothing rests on 32 bits of a checksum.
        check_crc: verify the checksums of both sides. Without it they are believed, and where they agree no records are read at all.
        format: as in `logsegment.decode`. Offsets of Kafka 0.7 are positions: only the same batches have the same.
        experimental: as in `logsegment.decode`.
        codecs: as in `logsegment.decode`.
        limits: as in `logsegment.decode`.

    Yields:
        A `Comparison` for each partition of either side; go through one before the next.

    Raises:
        ValueError: when the two sides cannot be paired.
        OSError: when a file cannot be read.

    Example:
        >>> from logsegment.analysis.diff import diff
        >>> for partition in diff("orders-0", "orders-0"):
        ...     print(list(partition), partition.state, partition.totals.same_records)
        [] same 240

    Source: KIP-98 for what a checksum covers; `ReplicaVerificationTool` in Kafka.
    """
    how = {"format": format, "experimental": experimental, "codecs": codecs, "limits": limits}
    for pair in pairs_of(a, b):
        options = Options(how, check_crc, (*SAME, UNCOVERED) if batches else SAME)
        totals = Totals()
        found = _found(pair, options, totals, is_deep=deep, with_batches=batches)
        yield Comparison(pair, found, totals, with_batches=batches)


def _found(pair: Pair, options: Options, totals: Totals, *, is_deep: bool, with_batches: bool) -> Iterator[Difference | Damage]:
    if pair.a and pair.b:
        with closing(Side("a", pair.a, options)) as a, closing(Side("b", pair.b, options)) as b:
            yield from Comparing(a, b, totals, is_deep=is_deep, with_batches=with_batches).found()
