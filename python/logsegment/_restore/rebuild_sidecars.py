"""Files beside a log whose uploaded bytes are lost, made anew from the log itself."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from logsegment._core import RecordBatchError, rebuild_indexes
from logsegment._log_paths import snapshot_offset


def make_anew(directory: Path, names: Iterable[str]) -> dict[str, str | None]:
    """Write files of a partition's directory, by its segments, which are there.

    What a broker finds in such a file is right; its bytes need not be those that were uploaded: an index may have other entries, and a
    snapshot lacks producers of which no segment has a batch.

    Args:
        directory: the segments, and where the files belong.
        names: of the files that are wanted.

    Returns:
        For each name, None when it was written, else why it was not.

    Raises:
        OSError: when something cannot be read or written.
    """
    logs = sorted((path, int(path.stem)) for path in directory.glob("*.log"))
    why = "the batches tell of no transaction that was aborted there"
    with tempfile.TemporaryDirectory(prefix="logsegment-") as place:
        try:
            rebuild_indexes(logs, Path(place))
        except RecordBatchError as error:
            # Of the segments in front of the damage they are there.
            why = f"the log was damaged when it was uploaded: {str(error).removeprefix(f'{directory}{os.sep}')}"
        found = {name: _made(Path(place), name) for name in names}
        for name, path in found.items():
            if path is not None:
                _write(directory / name, path.read_bytes())
    return {name: why if path is None else None for name, path in found.items()}


def _made(place: Path, name: str) -> Path | None:
    """The file of a name, or a snapshot of the same state: nothing is written between an offset and the next segment."""
    offset = snapshot_offset(name)
    if offset is None:
        return path if (path := place / name).is_file() else None
    behind = ((at, path) for path in place.glob("*.snapshot") if (at := snapshot_offset(path.name)) is not None and at >= offset)
    return min(behind, default=(offset, None))[1]


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
