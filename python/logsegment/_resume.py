"""Output directories that an interrupted run leaves unfinished, and a later run completes.

The finished parts are in a hidden directory next to the output, with a journal that lists them. A part counts as finished if the
journal has it with the same inputs. The hidden directory disappears when the output is complete.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from logsegment._output import local_path, output_directory

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: The name, the size and the version of each input of a part.
Inputs: TypeAlias = Sequence[Sequence[str | float | None]]
_JOURNAL = "journal.jsonl"
_PARTS = "parts"
#: The version of the journal.
_VERSION = 1


@dataclass
class Journal:
    """The finished parts of an output.

    Attributes:
        parts: the directory that contains them.
        finished: the entries of finished parts by name.
    """

    parts: Path
    file: Path | None = None
    finished: dict[str, dict[str, Any]] = field(default_factory=dict)

    def entry(self, name: str, inputs: Inputs) -> dict[str, Any] | None:
        """Return the entry of a part that was finished with the same inputs; otherwise remove what is there of the part."""
        known = self.finished.get(name)
        if known is not None and known["inputs"] == [list(source) for source in inputs] and (self.parts / name).is_dir():
            return known
        if self.file is not None and (self.parts / name).exists():
            shutil.rmtree(self.parts / name)
        return None

    def add(self, name: str, inputs: Inputs, **more: Any) -> None:
        """Remember that a part is finished. Its files must be on the disk."""
        if self.file is not None:
            _append(self.file, {"part": name, "inputs": [list(source) for source in inputs], **more})


@contextmanager
def resumable_directory(
    path: str | os.PathLike[str], task: Mapping[str, Any], *, resumes: bool, may_be_empty: bool = False
) -> Iterator[Journal]:
    """Yield the journal of an output directory, which gets its name when the `with` block ends without an error.

    Args:
        path: the output.
        task: options that decide what the parts contain; a run with other options does not take them.
        resumes: keep the finished parts at an error, and take those of an earlier run.
        may_be_empty: accept an existing empty directory.

    Raises:
        FileExistsError: if the output exists.
        ValueError: if the earlier run had other options, or the path is a URI of an object store.
        BlockingIOError: if another process writes this output.
    """
    if not resumes:
        with output_directory(path, may_be_empty=may_be_empty) as hidden:
            yield Journal(hidden)
        return
    target = Path(os.path.abspath(local_path(path)))
    if target.exists() and not (may_be_empty and target.is_dir() and not any(target.iterdir())):
        raise FileExistsError(17, "the output exists", str(path))
    work = target.with_name(f".{target.name}.resume")
    (work / _PARTS).mkdir(parents=True, exist_ok=True)
    with _locked(work, path):
        yield (journal := _opened(work, dict(task), path))
        with output_directory(path, may_be_empty=may_be_empty) as hidden:
            for part in journal.parts.iterdir():
                part.rename(hidden / part.name)
        shutil.rmtree(work)


@contextmanager
def _locked(work: Path, path: str | os.PathLike[str]) -> Iterator[None]:
    with open(work / "lock", "w") as lock:
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, "another process writes this output", str(path)) from None
        yield


def _opened(work: Path, task: dict[str, Any], path: str | os.PathLike[str]) -> Journal:
    file, parts = work / _JOURNAL, work / _PARTS
    entries = _entries(file)
    head = {"version": _VERSION, "task": task}
    if not entries:
        file.write_text("")
        _append(file, head)
    elif entries[0] != head:
        raise ValueError(f"resume: an interrupted run of {os.fspath(path)} had other options; use the same, or remove {work}")
    finished = {entry["part"]: entry for entry in entries[1:]}
    for part in parts.iterdir():
        if part.name not in finished:
            shutil.rmtree(part)
    return Journal(parts, file, finished)


def _entries(file: Path) -> list[dict[str, Any]]:
    """Return the entries of a journal; the last line may be cut."""
    entries = []
    for line in file.read_text().splitlines(keepends=True) if file.exists() else ():
        if line.endswith("\n"):
            entries.append(json.loads(line))
    return entries


def _append(file: Path, entry: dict[str, Any]) -> None:
    with open(file, "a") as journal:
        journal.write(json.dumps(entry, separators=(",", ":")) + "\n")
        journal.flush()
        os.fsync(journal.fileno())
