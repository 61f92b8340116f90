"""Partitions in which a broker was interrupted while it replaced segments, and what a broker makes of them when it starts."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import logsegment as ls
from made_logs import index, make_partition

#: The files of a segment, in the order in which a broker renames them.
SUFFIXES = (".log", ".index", ".timeindex")


def name(base: int, suffix: str = ".log", mark: str = "") -> str:
    return f"{base:020}{suffix}{mark}"


def segment(directory: Path, offsets: Sequence[int], *, base: int | None = None, mark: str = "") -> None:
    """Write a segment with its indexes; `mark` is added to the names of all files."""
    scratch = directory.parent / "scratch"
    made = make_partition(scratch, "t", 0, [list(offsets)], batch_bytes=100)
    assert [record.offset for record in made] == list(offsets)
    first = offsets[0] if base is None else base
    if first != offsets[0]:
        # Indexes count from the name of the segment.
        for suffix in SUFFIXES[1:]:
            (scratch / "t-0" / name(offsets[0], suffix)).unlink()
        (scratch / "t-0" / name(offsets[0])).rename(scratch / "t-0" / name(first))
        index(scratch / "t-0")
    for suffix in SUFFIXES:
        shutil.copyfile(scratch / "t-0" / name(first, suffix), directory / name(first, suffix, mark))
    shutil.rmtree(scratch)


def rename(directory: Path, base: int, before: str, after: str) -> None:
    for suffix in SUFFIXES:
        (directory / name(base, suffix, before)).rename(directory / name(base, suffix, after))


def start_broker(directory: Path) -> None:
    """Do to the files of a directory what `LogLoader.load` in Kafka 4.3 does."""
    cleaned = min((int(file.name.split(".")[0]) for file in directory.glob("*.cleaned")), default=2**63)
    taken_back = [file for file in directory.glob("*.swap") if int(file.name.split(".")[0]) >= cleaned]
    for file in [*directory.glob("*.deleted"), *directory.glob("*.cleaned"), *taken_back]:
        file.unlink()
    first, end = 2**63, -1
    for file in directory.glob("*.log.swap"):
        base = int(file.name[:20])
        rows = ls.batches(file).to_pylist()
        first, end = min(first, base), max(end, rows[-1]["lastOffset"] + 1 if rows else base)
    for file in directory.iterdir():
        if file.suffix != ".swap" and file.name[:20].isdecimal() and first <= int(file.name[:20]) < end:
            file.unlink()
    for file in sorted(directory.glob("*.swap")):
        file.rename(file.with_suffix(""))
    for file in [*directory.glob("*.index"), *directory.glob("*.timeindex")]:
        if not file.with_suffix(".log").exists():
            file.unlink()


@dataclass(frozen=True)
class Replacement:
    """A replacement of segments by a cleaner or by a split, up to a step.

    Attributes:
        lengths: the number of offsets of each old segment.
        first, last: the segments that are replaced; the last segment of all is not.
        cuts: the offsets at which new segments begin, counted from the first offset that is replaced.
        dropped: the offsets that the cleaner drops.
        steps: how many files were renamed before the broker died.
        deleted: how many of the old segments were deleted for good.
    """

    lengths: list[int]
    first: int
    last: int
    cuts: list[int]
    dropped: frozenset[int]
    steps: int
    deleted: int

    def make(self, directory: Path) -> None:
        bases = [sum(self.lengths[:number]) for number in range(len(self.lengths))]
        for base, length in zip(bases, self.lengths, strict=True):
            segment(directory, range(base, base + length))
        old = bases[self.first : self.last + 1]
        start, end = old[0], bases[self.last + 1]
        new = [start, *sorted({start + cut for cut in self.cuts if 0 < cut < end - start})]
        for base, stop in zip(new, [*new[1:], end], strict=True):
            kept = [offset for offset in range(base, stop) if offset not in self.dropped] or [base]
            segment(directory, kept, base=base, mark=".cleaned")
        renames = [(base, suffix, ".cleaned", ".swap") for base in reversed(new) for suffix in SUFFIXES]
        renames += [(base, suffix, "", ".deleted") for base in old for suffix in SUFFIXES]
        renames += [(base, suffix, ".swap", "") for base in new for suffix in SUFFIXES]
        for base, suffix, before, after in renames[: self.steps]:
            (directory / name(base, suffix, before)).rename(directory / name(base, suffix, after))
        if self.steps >= len(renames):
            for base in old[: self.deleted]:
                for suffix in SUFFIXES:
                    (directory / name(base, suffix, ".deleted")).unlink()

    @property
    def most_steps(self) -> int:
        return 3 * (2 * (len(self.cuts) + 1) + self.last - self.first + 1)
