"""Tasks as bytes: the parts of a task go in, what the library of the jar parses comes out. `src/jvm/task.rs` reads them."""

from __future__ import annotations

import os
from struct import pack
from typing import cast

from logsegment._core import Limits, Transactions
from logsegment._options import LIMIT_NAMES, ReadOptions
from logsegment.log.piece import Part
from logsegment.spark.options.plugins import ABSENT
from logsegment.spark.read.damage import SKIPPING
from logsegment.spark.read.plan import SegmentTask

#: A number that is not given.
_NONE = -(2**63)
#: A limit that is lifted.
_UNLIMITED = 2**64 - 1


def task_bytes(task: SegmentTask, read: ReadOptions) -> bytes:
    """Return a task as bytes.

    Args:
        task: of a read that ends at damage, without plugin codecs.
        read: the options that its parts share.
    """
    limits = read.limits or Limits()
    lifted = [getattr(limits, name) for name in LIMIT_NAMES]
    numbers = [_UNLIMITED if one == "unlimited" else cast(int, one) for one in lifted]
    shared = pack(">qqq6Q", read.experimental, read.batch_size, read.batch_bytes, *numbers)
    texts = _counted(SKIPPING.encode()) + _counted(ABSENT.wanted.encode())
    return b"".join([texts, shared, pack(">i", len(task.parts)), *map(_part, task.parts)])


def _part(part: Part) -> bytes:
    source, read = part
    first, end = source.offsets or (None, None)
    ranges = [_given(one) for one in (source.end, first, end, read.start_offset, read.end_offset, *read.share, *read.times)]
    topic = pack(">q", 0) if read.topic is None else pack(">q", 1) + _counted(read.topic.encode())
    path = _counted(os.fsencode(source.path))
    ending = pack(">qqq", read.strict_tail, _given(source.next_offset), source.is_inner)
    own = pack(">q", _given(read.partition)) + ending + _transactions(read.transactions)
    return b"".join([path, pack(">q9q", source.start, *ranges), topic, own])


def _transactions(known: Transactions | None) -> bytes:
    if known is None:
        return pack(">q", 0)
    lists = (pack(">i", len(ranges)) + b"".join(pack(">qqq", *one) for one in ranges) for ranges in (known.aborted, known.undecided))
    return b"".join([pack(">qq", 1, _given(known.last_stable_offset)), *lists])


def _given(number: int | None) -> int:
    return _NONE if number is None else number


def _counted(text: bytes) -> bytes:
    return pack(">i", len(text)) + text
