"""Four segments as each uploader leaves them, and what may happen to one of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import corpus
import logsegment as ls
import tiered_corpus as tiered

TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
#: The second of four segments, and the last one.
SECOND, LAST = 1, 3


def source(root: Path) -> Path:
    """A log directory of four segments."""
    directory = root / "source/payments-0"
    directory.mkdir(parents=True)
    for file in TRANSACTIONS.glob("0*"):
        if int(file.stem) <= 64:
            shutil.copyfile(file, directory / file.name)
    return directory


def of_aiven(root: Path) -> list[Path]:
    return tiered.Uploader(root, "payments").partition(source(root))


def of_kafka(root: Path) -> list[Path]:
    """`LocalTieredStorage` (TS-60, TS-61)."""
    folder = root / f"prefix/payments-0-{tiered.TOPIC_ID}"
    folder.mkdir(parents=True)
    paths = []
    for number, log in enumerate(sorted(source(root).glob("*.log"))):
        for file in log.parent.glob(f"{log.stem}.*"):
            if file.suffix in (".log", ".index", ".timeindex", ".txnindex"):
                paths.append(Path(shutil.copyfile(file, folder / f"{log.stem}-{number:022}{file.suffix}")))
    return sorted(path for path in paths if path.suffix == ".log")


def of_pinterest(root: Path) -> list[Path]:
    """TS-80, TS-82, TS-83."""
    folder = root / "prefix/cluster/payments-0"
    folder.mkdir(parents=True)
    for file in source(root).iterdir():
        if file.suffix in (".log", ".index", ".timeindex"):
            shutil.copyfile(file, folder / file.name)
    paths = sorted(folder.glob("*.log"))
    (folder / "offset.wm").write_text(paths[-1].stem)
    return paths


LAYOUTS = {"kafka": of_kafka, "pinterest": of_pinterest, "aiven": of_aiven}


def middle(data: bytes) -> int:
    """Where the batch in the middle of a segment begins."""
    rows = ls.batches(data).to_pylist()
    return int(rows[len(rows) // 2]["position"])


def flipped(data: bytes) -> bytes:
    at = middle(data) + 30
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "flip": flipped,
    "cut": lambda data: data[: middle(data) + 30],
    "cut between batches": lambda data: data[: middle(data)],
}
