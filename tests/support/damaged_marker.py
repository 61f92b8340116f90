"""A partition with transactions, one of whose markers is damaged or lost: which offsets are certain, and which are undecided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import building
import made_logs

A, B, C = 7, 8, 9
ABORT, COMMIT = 0, 1
#: Where the marker stands that is damaged: that of the producer A behind its first transaction.
LOST = 6
#: What the log holds: offsets that were committed, those of transactions that are open at the damaged marker, and aborted ones.
COMMITTED = {2, 3, 4, 7, 9, 10, 14, 15, 16, 18, 20, 21}
OPEN_THERE = {0, 1, 3, 4, 5}
ABORTED = {0, 1, 5, 11}
#: Without what is in doubt, and whatever else is damaged.
CERTAIN = COMMITTED - OPEN_THERE


def data(producer: int, offset: int, count: int = 1, *, epoch: int = 0, size: int = 100) -> bytes:
    """A batch of a transaction."""
    return building.batch(
        building.records([b"x" * size] * count),
        count=count,
        base_offset=offset,
        attributes=building.TRANSACTIONAL,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=offset,
    )


def plain(offset: int, count: int = 1) -> bytes:
    return building.simple_batch([b"plain" * 20] * count, offset)


def entries(*, bumps: bool = False) -> dict[int, bytes]:
    """The batches of a log by their base offsets; where a producer `bumps` its epoch each transaction has its own (KIP-890)."""
    second, third = (1, 2) if bumps else (0, 0)
    listed = [
        data(A, 0, 2),
        plain(2),
        data(B, 3, 2),
        data(A, 5),
        building.marker(ABORT, A, LOST, coordinator_epoch=0x1020304),
        plain(7),
        building.marker(COMMIT, B, 8),
        data(A, 9, 2, epoch=second),
        data(B, 11, epoch=second),
        building.marker(COMMIT, A, 12),
        building.marker(ABORT, B, 13),
        data(A, 14, 2, epoch=third),
        plain(16),
        building.marker(COMMIT, A, 17),
        data(C, 18),
        building.marker(COMMIT, C, 19),
        plain(20, 2),
    ]
    return {int.from_bytes(item[:8]): item for item in listed}


#: First offsets of the segments; the damaged marker is inside of one, the last or the first.
BORDERS = {"inside": (0, 12, 20), "last": (0, 7, 20), "first": (0, 6, 12), "one segment": (0,)}


def flip(entry: bytes, at: int, bit: int) -> bytes:
    return entry[:at] + bytes([entry[at] ^ bit]) + entry[at + 1 :]


#: What happens to the bytes of a marker; `None` stands for bytes that are gone.
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "checksum": lambda entry: flip(entry, 17, 1),
    "abort to commit": lambda entry: flip(entry, 69, 1),
    "coordinator epoch": lambda entry: flip(entry, 76, 1),
    "producer": lambda entry: flip(entry, 50, 8),
    "other producer": lambda entry: entry[:43] + B.to_bytes(8) + entry[51:],
    "producer below 0": lambda entry: flip(entry, 43, 0x80),
    "no control": lambda entry: flip(entry, 22, building.CONTROL),
    "no transaction": lambda entry: flip(entry, 22, building.TRANSACTIONAL),
    "compressed": lambda entry: flip(entry, 22, building.LZ4),
    "other last offset": lambda entry: flip(entry, 26, 1),
    "count": lambda entry: flip(entry, 60, 1),
    "magic 0": lambda entry: flip(entry, 16, 2),
    "magic 3": lambda entry: flip(entry, 16, 1),
    "magic 6": lambda entry: flip(entry, 16, 4),
    "zeros": lambda entry: bytes(len(entry)),
    "half zeros": lambda entry: entry[:40] + bytes(len(entry) - 40),
    "noise": lambda entry: bytes(37 * at % 251 for at in range(len(entry))),
    "longer by 1": lambda entry: flip(entry, 11, 1),
    "longer by 128": lambda entry: flip(entry, 11, 0x80),
    "longer by 256": lambda entry: flip(entry, 10, 1),
    "longer by 16 MiB": lambda entry: flip(entry, 8, 1),
    "negative length": lambda entry: flip(entry, 8, 0x80),
    "shorter by 2": lambda entry: flip(entry, 11, 2),
    "shorter by 64": lambda entry: flip(entry, 11, 0x40),
    "cut in its header": lambda entry: entry[:30],
    "cut in its record": lambda entry: entry[:-3],
    "gone": lambda entry: b"",
}
#: The file alone does not tell that anything is missing.
GONE = {"gone"}


@dataclass(frozen=True)
class Written:
    """A partition, and the damaged place of it."""

    directory: Path
    data: bytes

    @property
    def logs(self) -> list[Path]:
        return sorted(self.directory.glob("*.log"))


def written(root: Path, found: dict[int, bytes], borders: tuple[int, ...], damaged: dict[int, bytes], *, snapshots: bool = True) -> Written:
    """Write a partition as a broker would have, and then damage it."""
    directory = root / "orders-0"
    directory.mkdir(parents=True)
    parts = [b""]
    for is_damaged in (False, True):
        for first, behind in zip(borders, [*borders[1:], 1 << 40], strict=True):
            chosen = [damaged.get(offset, item) if is_damaged else item for offset, item in found.items() if first <= offset < behind]
            (directory / f"{first:020}.log").write_bytes(b"".join(chosen))
            parts += chosen if is_damaged else []
        if not is_damaged:
            made_logs.index(directory)
    if not snapshots:
        for file in directory.glob("*.snapshot"):
            file.unlink()
    return Written(directory, b"".join(parts))


def case(root: Path, how: str, border: str, *, bumps: bool = False, snapshots: bool = True) -> Written:
    found = entries(bumps=bumps)
    return written(root, found, BORDERS[border], {LOST: DAMAGE[how](found[LOST])}, snapshots=snapshots)
