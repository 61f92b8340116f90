"""Uploads that overlap, as a change of leaders leaves them: two replicas of a log with other borders of segments."""

from __future__ import annotations

import shutil
from pathlib import Path

import logsegment as ls
import tiered_corpus as tiered
from logsegment import _core


def whole_bytes(log: ls.Log) -> bytes:
    return b"".join(Path(file.path).read_bytes() for file in log)


def resegmented(directory: Path, target: Path, *borders: int, term: int = 1 << 60) -> Path:
    """The log of a directory with other borders of segments, as another replica has it, with indexes and snapshots made anew.

    The batches from `term` on are of leader epoch 1: no checksum covers it.
    """
    target.mkdir(parents=True)
    data = bytearray(whole_bytes(ls.Log(directory)))
    batches = ls.batches(bytes(data)).to_pylist()
    for row in batches:
        data[row["position"] + 12 : row["position"] + 16] = (row["baseOffset"] >= term).to_bytes(4)
    starts = [batches[0]["baseOffset"], *borders]
    for start, stop in zip(starts, [*borders, 1 << 60], strict=True):
        own = [row for row in batches if start <= row["baseOffset"] < stop]
        assert own
        assert own[0]["baseOffset"] == start
        (target / f"{start:020d}.log").write_bytes(b"".join(data[row["position"] : row["position"] + row["size"]] for row in own))
    _core.rebuild_indexes([(path, int(path.name[:20])) for path in sorted(target.glob("*.log"))], target)
    return target


def two_leaders(root: Path, directory: Path) -> tuple[Path, Path]:
    """A leader's log, and that of the leader after it: the same batches, other borders."""
    data = whole_bytes(ls.Log(directory))
    bases = [row["baseOffset"] for row in ls.batches(data).to_pylist()]
    term = bases[20]
    first = resegmented(directory, root / "first/orders-0", *bases[8::8], term=term)
    second = resegmented(directory, root / "second/orders-0", *bases[5::9], term=term)
    for place, epochs in ((first, f"0 0\n1 {term}"), (second, f"0 0\n1 {term}")):
        (place / "leader-epoch-checkpoint").write_text(f"0\n{len(epochs.splitlines())}\n{epochs}\n")
    return first, second


def upload(uploader: tiered.Uploader, directory: Path, name: str, event: int, *, skip: int = 0, most: int = 99) -> list[Path]:
    """Upload some segments of a replica, with the leaders' terms that its checkpoint tells of each."""
    log = ls.Log(directory)
    ends = [*(segment.base_offset - 1 for segment in log.segments[1:]), log.segments[-1].next_offset() - 1]
    epochs = list(log.leader_epochs)
    paths = []
    for segment, end in list(zip(log.segments, ends, strict=True))[skip:most]:
        behind = [epoch.start_offset for epoch in epochs[1:]] + [1 << 60]
        own = {
            str(epoch.epoch): max(epoch.start_offset, segment.base_offset)
            for epoch, next_ in zip(epochs, behind, strict=True)
            if epoch.start_offset <= end and next_ > segment.base_offset
        }
        paths.append(uploader.segment(Path(segment.path), end, epochs=own, event=event, name=name))
    return paths


def local_upload(root: Path, directory: Path, letter: str, kept: slice = slice(None)) -> list[Path]:
    """Upload segments as Kafka's LocalTieredStorage does: as they are, each with its own checkpoint."""
    place = root / f"kafka-tiered-storage/orders-0-{tiered.TOPIC_ID}"
    place.mkdir(parents=True, exist_ok=True)
    paths = []
    for segment in list(ls.Log(directory))[kept]:
        stem = f"{segment.base_offset:020d}-{letter * 21}A"
        for suffix in ("log", "index", "timeindex", "txnindex"):
            if (source := Path(segment.path).with_suffix(f".{suffix}")).exists():
                shutil.copyfile(source, place / f"{stem}.{suffix}")
        shutil.copyfile(directory / "leader-epoch-checkpoint", place / f"{stem}.leader_epoch_checkpoint")
        paths.append(place / f"{stem}.log")
    return paths
