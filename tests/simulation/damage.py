"""Damage to the files of a partition, and what it does to the truth.

A damage replaces batches by their damaged bytes. Its state says what a correct reader makes of them (`entries.Batch.state`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tests.simulation.entries import Batch
from tests.simulation.partition import Partition, Segment

#: In an entry of magic 2: offset, length, leader epoch, magic; the checksum covers what follows itself.
LENGTH, EPOCH, MAGIC = 8, 12, 16
#: The default of `max_batch_bytes`: a larger claim is an error, not the end of what was written so far.
LARGEST = 256 << 20


def state_of(before: Batch, data: bytes) -> str:
    """Return the state of a batch of which these bytes are left, as many as before."""
    changed = {place for place, (old, new) in enumerate(zip(before.data, data, strict=True)) if old != new}
    if not changed:
        return before.state
    if changed <= set(range(LENGTH)):
        return "unsure"
    if before.magic == 2 and changed <= set(range(EPOCH, MAGIC)):
        return before.state
    return "lost"


def settle(partition: Partition, segment: Segment) -> None:
    """Give each batch whose length claims more than the rest of its segment the state of what a reader sees."""
    rest = len(segment.data)
    for place, batch in enumerate(segment.batches):
        claimed = int.from_bytes(batch.data[LENGTH:EPOCH], "big", signed=True) + EPOCH if len(batch.data) >= EPOCH else 0
        is_too_long = claimed != len(batch.data) and rest < claimed < LARGEST
        rest -= len(batch.data)
        if batch.state == "valid" or not is_too_long:
            continue
        after = segment.batches[place + 1 :]
        if any(other.state in ("valid", "unsure") for other in after):
            segment.batches[place] = replace(batch, state="swallowing")
        else:
            # No valid batch says that the length is wrong: the log ends here.
            segment.batches[place:] = [replace(other, state="torn") for other in [batch, *after]]
        partition.warned = True


def flip(partition: Partition, chance: random.Random) -> None:
    """Flip a bit."""
    segment, place = _a_batch(partition, chance)
    batch = segment.batches[place]
    # Half of the bits are in the header, where each field has a meaning of its own.
    at = chance.randrange(min(len(batch.data), 61)) if chance.random() < 0.5 else chance.randrange(len(batch.data))
    data = bytearray(batch.data)
    data[at] ^= 1 << chance.randrange(8)
    state = state_of(batch, bytes(data))
    partition.warned |= EPOCH <= at < MAGIC
    segment.batches[place] = replace(batch, data=bytes(data), state=state)
    partition.damaged.append(f"flip {segment.base} byte {at} of batch {batch.base_offset}")
    settle(partition, segment)


def zero(partition: Partition, chance: random.Random) -> None:
    """Zero bytes in the middle of a segment."""
    segment, place = _a_batch(partition, chance)
    if place == len(segment.batches) - 1:
        return
    batch = segment.batches[place]
    start = chance.randrange(len(batch.data))
    data = batch.data[:start] + bytes(len(batch.data) - start)
    segment.batches[place] = replace(batch, data=data, state=state_of(batch, data))
    partition.damaged.append(f"zero {segment.base} batch {batch.base_offset} from byte {start}")


def cut(partition: Partition, chance: random.Random) -> None:
    """End a segment inside a batch."""
    segment, place = _a_batch(partition, chance)
    batch = segment.batches[place]
    left = chance.randrange(1, len(batch.data))
    torn = replace(batch, data=batch.data[:left], last_offset=segment.batches[-1].last_offset, state="torn")
    segment.batches[place:] = [torn]
    # Its indexes have entries after its end.
    partition.warned = True
    settle(partition, segment)
    partition.damaged.append(f"cut {segment.base} after {left} bytes of batch {batch.base_offset}")


def _a_batch(partition: Partition, chance: random.Random) -> tuple[Segment, int]:
    """Return the place of a valid batch: damage to damage says nothing new."""
    places = [(segment, place) for segment in partition.segments for place, batch in enumerate(segment.batches) if batch.state == "valid"]
    return chance.choice(places)


DAMAGES: dict[str, tuple[Callable[[Partition, random.Random], None], int]] = {
    "flip": (flip, 4),
    "zero": (zero, 1),
    "cut": (cut, 1),
}
