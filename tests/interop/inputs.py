"""Bytes for which verdicts are compared: the fronts of clean files, the hostile cases, and seeded mutations of the clean ones.

A stretch is whole entries of a file, 4 KiB or one entry. Half of the mutations have length and checksum put right, so that what lies
behind the checksum is judged too.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from aiokafka.record.util import calc_crc32c

import corpus
import hostile

STRETCH = 4096
SEED = 20_260_801
MUTATIONS = 4000
LENGTH = struct.Struct(">i")


@dataclass(frozen=True)
class Input:
    name: str
    data: bytes


def inputs() -> list[Input]:
    """All of them; Kafka 0.7 has no peer here."""
    fronts = clean()
    return [*fronts, *damaged_on_purpose(), *mutated(fronts)]


def clean() -> list[Input]:
    fronts = {front(case.read()): str(case) for case in corpus.cases() if case.format != "0.7"}
    return [Input(name, data) for data, name in fronts.items() if data]


def damaged_on_purpose() -> list[Input]:
    return [Input(str(case), case.read()) for case in hostile.cases() if not case.is_bomb and case.format != "0.7"]


def mutated(fronts: list[Input]) -> Iterator[Input]:
    short = [source for source in fronts if len(source.data) <= 4 * STRETCH]
    for number in range(MUTATIONS):
        source = short[number % len(short)]
        chance = random.Random(SEED + number)
        is_resealed = number % 2 == 1
        made = resealed(source.data, chance) if is_resealed else damaged(source.data, chance)
        yield Input(f"{source.name}#{number}{'-resealed' if is_resealed else ''}", made)


def front(data: bytes) -> bytes:
    end = 0
    for start, stop in entries(data):
        if start and stop > STRETCH:
            break
        end = stop
    return data[:end]


def entries(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each entry lies, by the length fields."""
    at = 0
    while at + 17 <= len(data):
        stop = at + 12 + LENGTH.unpack_from(data, at + 8)[0]
        if stop > len(data):
            return
        yield at, stop
        at = stop


def damaged(data: bytes, chance: random.Random) -> bytes:
    """One damage anywhere, a length field, or a cut at the end."""
    kind = chance.randrange(8)
    if kind == 0:
        return data[: chance.randrange(len(data))]
    if kind == 1:
        at = chance.choice(list(entries(data)))[0] + 8
        claim = chance.choice([0, -1, 13, 14, 48, 49, 1 << 30, -(1 << 31), LENGTH.unpack_from(data, at)[0] + chance.choice([-1, 1])])
        return data[:at] + LENGTH.pack(claim) + data[at + 4 :]
    start = chance.choice(list(entries(data)))[0]
    at = min(start + chance.randrange(61), len(data) - 1) if kind < 5 else chance.randrange(len(data))
    return changed(data, at, chance)


def resealed(data: bytes, chance: random.Random) -> bytes:
    """One or two changes behind the checksum of an entry, which is right again; so is the length."""
    start, stop = chance.choice(list(entries(data)))
    is_v2 = data[start + 16] >= 2
    covered, fields = (21, 40) if is_v2 else (16, 22)
    body = data[start + covered : stop]
    for _ in range(chance.randrange(1, 3)):
        at = chance.randrange(len(body)) if chance.randrange(2) else min(chance.randrange(fields), len(body) - 1)
        body = changed(body, at, chance) or b"\0"
    head = bytearray(data[start : start + covered])
    LENGTH.pack_into(head, 8, covered + len(body) - 12)
    checksum = calc_crc32c(body) if is_v2 else zlib.crc32(body)
    struct.pack_into(">I", head, 17 if is_v2 else 12, checksum & 0xFFFFFFFF)
    return data[:start] + bytes(head) + body + data[stop:]


def changed(data: bytes, at: int, chance: random.Random) -> bytes:
    """A flipped bit, another byte, zeros, bytes cut out or put in, a run that stands twice."""
    length = chance.randrange(1, 40)
    kind = chance.randrange(9)
    if kind < 3:
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    if kind < 5:
        return data[:at] + bytes([chance.choice([0, 1, 2, 3, 4, 5, 8, 16, 32, 64, 127, 128, 129, 254, 255])]) + data[at + 1 :]
    if kind == 5:
        return data[:at] + bytes(min(length, len(data) - at)) + data[at + length :]
    if kind == 6:
        return data[:at] + data[at + length :]
    if kind == 7:
        return data[:at] + chance.randbytes(length) + data[at:]
    return data[: at + length] + data[at:]
