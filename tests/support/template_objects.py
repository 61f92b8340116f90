"""Objects of a remote storage manager that stores the files of segments as they are, under the names of a template."""

from __future__ import annotations

import shutil
from pathlib import Path

import corpus

TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
TOPIC = "transactions"
TOPIC_ID = "MWJ6FHTfRYy67jzwZdeqSQ"
TEMPLATES = {
    "directories": "{topic}/{partition}/{offset:020}-{id}.log",
    "unpadded": "kafka={topic}-{partition:05}-{topic_id}/seg_{id}_{offset}.log",
}
#: Suffixes of the files that a broker passes to a remote storage manager, apart from the snapshot and the epochs.
_SUFFIXES = ("log", "index", "timeindex", "txnindex")


def name_of(template: str, base_offset: int, segment_id: str, partition: int = 7) -> str:
    """Return the name of a log: templates have the syntax of `str.format`."""
    fields = {"topic": TOPIC, "topic_id": TOPIC_ID, "partition": partition, "offset": base_offset, "id": segment_id}
    return template.format(**fields)


def copied(root: Path, template: str, *, source: Path = TRANSACTIONS, mark: str = "a", has_sidecars: bool = True) -> list[Path]:
    """Copy the segments of a log directory as objects, each with its own id; return the paths of the logs."""
    logs = sorted(source.glob("0*.log"))
    paths = []
    for number, log in enumerate(logs):
        base = int(log.stem)
        path = root / name_of(template, base, f"{mark}.{len(logs) - number}")
        path.parent.mkdir(parents=True, exist_ok=True)
        ends = [int(later.stem) for later in logs[number + 1 : number + 2]]
        files = {suffix: log.with_suffix(f".{suffix}") for suffix in _SUFFIXES}
        files["snapshot"] = source / f"{ends[0]:020}.snapshot" if ends else source / "none"
        files["leader_epoch_checkpoint"] = source / "leader-epoch-checkpoint"
        for suffix, file in files.items():
            if file.exists() and (has_sidecars or suffix == "log"):
                shutil.copyfile(file, path.with_name(path.name.removesuffix("log") + suffix))
        paths.append(path)
    return paths
