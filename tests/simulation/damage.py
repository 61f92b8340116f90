"""Damage to the files of a partition, and what it does to the truth.

A damage replaces batches by their damaged bytes. Its state says what a correct reader makes of them (`entries.Batch.state`).
"""

from __future__ import annotations

import copy
import random
import struct
from collections.abc import Callable
from dataclasses import replace

import building
from interrupted_work import SUFFIXES, name
from tests.simulation import disk
from tests.simulation.cleaner import compact
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
    """Give each batch whose length leads past the end of its segment the state of what a reader sees."""
    data, start = segment.data, 0
    for place, batch in enumerate(segment.batches):
        is_too_long = _size_at(data, start) != len(batch.data) and len(data) < start + _size_at(data, start) < start + LARGEST
        leads_past_end = _leads_past_end(data, start, len(batch.data))
        start += len(batch.data)
        if batch.state == "valid" or not (is_too_long or leads_past_end):
            continue
        after = segment.batches[place + 1 :]
        if any(other.state in ("valid", "unsure") for other in after):
            segment.batches[place] = replace(batch, state="swallowing")
        elif is_too_long:
            # No valid batch says that the length is wrong: the log ends here.
            segment.batches[place:] = [replace(other, state="torn") for other in [batch, *after]]
        partition.warned = True


def _size_at(data: bytes, start: int) -> int:
    """Return the size that an entry claims; 0 if its length is not there."""
    field = data[start + LENGTH : start + EPOCH]
    return int.from_bytes(field, "big", signed=True) + EPOCH if len(field) == EPOCH - LENGTH else 0


def _leads_past_end(data: bytes, start: int, size: int) -> bool:
    """Return whether a wrong length leads to bytes that look like an entry that is not whole yet."""
    if _size_at(data, start) in (size, 0):
        return False
    while start < len(data):
        claimed = _size_at(data, start)
        if claimed < MAGIC + 1 or claimed >= LARGEST or data[start + MAGIC : start + MAGIC + 1] not in (b"", b"\0", b"\1", b"\2"):
            return False
        start += claimed
    return start > len(data)


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
    is_alone = state == "unsure" and len(segment.batches) == 1
    segment.batches[place] = replace(batch, data=bytes(data), state=state, is_alone=is_alone)
    partition.damaged.append(f"flip {segment.base} byte {at} of batch {batch.base_offset}")
    settle(partition, segment)


def lengthen(partition: Partition, chance: random.Random) -> None:
    """Let the length of a batch claim more than the rest of its segment, as one flipped bit can."""
    segment, place = _a_batch(partition, chance)
    batch = segment.batches[place]
    claimed = len(segment.data) + chance.choice([1, 1000, 1 << 24])
    data = batch.data[:LENGTH] + struct.pack(">i", claimed) + batch.data[EPOCH:]
    segment.batches[place] = replace(batch, data=data, state="lost")
    partition.damaged.append(f"length of batch {batch.base_offset} in {segment.base} claims {claimed}")
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
    settle(partition, segment)


def cut(partition: Partition, chance: random.Random) -> None:
    """End a segment inside a batch."""
    segment, place = _a_batch(partition, chance)
    batch = segment.batches[place]
    left = chance.randrange(1, len(batch.data))
    torn = replace(batch, data=batch.data[:left], last_offset=segment.batches[-1].last_offset, state="torn")
    segment.batches[place:] = [torn]
    segment.tail = b""
    # Its indexes have entries after its end.
    partition.warned = True
    settle(partition, segment)
    partition.damaged.append(f"cut {segment.base} after {left} bytes of batch {batch.base_offset}")


def _a_batch(partition: Partition, chance: random.Random) -> tuple[Segment, int]:
    """Return the place of a valid batch: damage to damage says nothing new."""
    places = [(segment, place) for segment in partition.segments for place, batch in enumerate(segment.batches) if batch.state == "valid"]
    return chance.choice(places)


def preallocate(partition: Partition, chance: random.Random) -> None:
    """Let zeros follow the last batch of a segment: a file that was allocated, and that nothing is missing from."""
    place = chance.randrange(len(partition.segments))
    segment, following = partition.segments[place], partition.segments[place + 1 :]
    if segment.batches and segment.batches[-1].state != "valid":
        return
    if not following or (segment.batches and segment.batches[-1].last_offset + 1 == following[0].base):
        segment.tail = bytes(chance.choice([1, 20, 5000]))


def lose_segment(partition: Partition, chance: random.Random) -> None:
    """Lose the files of a segment: its offsets are missing, as after compaction."""
    if len(partition.segments) > 1:
        place = chance.randrange(len(partition.segments) - 1)
        segment = partition.segments.pop(place)
        if place:
            partition.segments[place - 1].tail = b""
        gone = [replace(batch, data=b"", state="gone", records=()) for batch in segment.batches]
        follower = partition.segments[place]
        follower.batches[:0] = gone
        partition.warned = True
        partition.damaged.append(f"segment {segment.base} is lost")


def swap_names(partition: Partition, chance: random.Random) -> None:
    """Swap the files of two segments."""
    if partition.damaged:
        return  # an exception: where files are swapped and damaged, skipping reads miss valid batches, with an error in the findings
    full = [segment for segment in partition.segments if any(batch.state == "valid" for batch in segment.batches)]
    if len(full) > 1:
        first, second = chance.sample(full, 2)
        first.name, second.name = second.name, first.name
        partition.damaged.append(f"segments {first.base} and {second.base} are swapped")


def lie_about_time(partition: Partition, chance: random.Random) -> None:
    """Let a batch header claim another largest timestamp than its records have, under a right checksum."""
    _lie(partition, chance, "time", 35, lambda value: value + chance.choice([-1000, 1, 10**6]))


def lie_about_offset(partition: Partition, chance: random.Random) -> None:
    """Let a batch header claim an earlier last offset than its last record has, under a right checksum."""
    batches = partition.segments[-1].batches
    if batches and batches[-1].state == "valid" and batches[-1].magic == 2 and len(batches[-1].records) > 1:
        last = batches[-1]
        if partition.log_start >= last.last_offset:
            return  # by its headers the log would end before its log start offset
        claimed = last.last_offset - last.base_offset - 1
        data = building.resealed(last.data[:23] + struct.pack(">i", claimed) + last.data[27:])
        batches[-1] = replace(last, data=data, last_offset=last.last_offset - 1)
        partition.lies.add("offset")
        partition.warned = True


def _lie(partition: Partition, chance: random.Random, about: str, at: int, change: Callable[[int], int]) -> None:
    segment, place = _a_batch(partition, chance)
    batch = segment.batches[place]
    if batch.magic < 2 or batch.timestamp_type or not batch.records:
        return
    (value,) = struct.unpack_from(">q", batch.data, at)
    data = building.resealed(batch.data[:at] + struct.pack(">q", change(value)) + batch.data[at + 8 :])
    segment.batches[place] = replace(batch, data=data)
    partition.lies.add(about)
    partition.warned = True


def spoil_sidecar(partition: Partition, chance: random.Random) -> None:
    """Remove a sidecar file, or replace its bytes: no row depends on it."""
    files = disk.files(partition)
    names = sorted(name for name in files if not name.endswith(".log"))
    name = chance.choice(names)
    data = files[name]
    at = chance.randrange(len(data) + 1)
    other = files[chance.choice(names)]
    garbage = chance.randbytes(chance.choice([1, 12, 80]))
    changed = [None, b"", garbage, data[:at], data[:at] + garbage, bytes(len(data)), other, data[:at] + bytes(len(data) - at)]
    partition.sidecars[name] = chance.choice(changed)
    partition.warned = True


def spoil_checkpoint(partition: Partition, chance: random.Random) -> None:
    """Replace the checkpoint of log start offsets by one that does not count: garbage, or that of another log."""
    claimed = f"0\n1\n{partition.topic} {partition.number} {partition.next_offset + chance.choice([1, 10**6])}\n".encode()
    garbage = chance.randbytes(chance.choice([1, 12]))
    partition.checkpoint = chance.choice([claimed, garbage, b"1" + claimed[1:], claimed[:7], b"0\n2" + claimed[3:]])
    partition.log_start = partition.segments[0].base
    partition.warned = True


def interrupt_swap(partition: Partition, chance: random.Random) -> None:
    """End a broker while its cleaner replaces the closed segments by one, after some of the renames (`interrupted_work`)."""
    if len(partition.segments) < 2 or partition.magic < 2 or partition.damaged:
        return
    before = disk.files(partition)
    old = [segment.base for segment in partition.segments[:-1]]
    after = copy.deepcopy(partition)
    after.is_compacted = True
    compact(after, chance)
    first = Segment(old[0], [batch for segment in after.segments if segment.base in old for batch in segment.batches])
    after.segments = [first, after.segments[-1]]
    replaced = disk.files(after)
    new = {name(old[0], suffix, ".cleaned"): replaced[name(old[0], suffix)] for suffix in SUFFIXES if name(old[0], suffix) in replaced}
    listing = {**before, **new}
    if not first.batches or first.batches[-1].last_offset < old[-1]:
        return  # a broker deletes the segments that begin before the end of the new one
    renames = [(old[0], suffix, ".cleaned", ".swap") for suffix in SUFFIXES]
    renames += [(base, suffix, "", ".deleted") for base in old for suffix in SUFFIXES]
    renames += [(old[0], suffix, ".swap", "") for suffix in SUFFIXES]
    steps = chance.randint(0, len(renames))
    for base, suffix, mark, next_mark in renames[:steps]:
        if name(base, suffix, mark) in listing:
            listing[name(base, suffix, next_mark)] = listing.pop(name(base, suffix, mark))
    if steps >= len(SUFFIXES):
        # All files are ready: a broker goes on with the replacement when it starts.
        partition.segments = after.segments
    partition.layout = listing
    partition.warned = True


DAMAGES: dict[str, tuple[Callable[[Partition, random.Random], None], int]] = {
    "flip": (flip, 4),
    "lengthen": (lengthen, 1),
    "zero": (zero, 1),
    "cut": (cut, 1),
    "preallocate": (preallocate, 1),
    "lose_segment": (lose_segment, 1),
    "swap_names": (swap_names, 1),
    "lie_about_time": (lie_about_time, 1),
    "lie_about_offset": (lie_about_offset, 1),
    "interrupt_swap": (interrupt_swap, 2),
    "spoil_sidecar": (spoil_sidecar, 4),
    "spoil_checkpoint": (spoil_checkpoint, 1),
}
