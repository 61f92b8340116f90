"""A registry that is read like that of a cluster's topics, by each process for itself, and that leaves a file for each reading."""

from __future__ import annotations

import os
import uuid
from collections.abc import Hashable
from pathlib import Path

from logsegment.plugins import Catalog, Change, Entry
from logsegment.plugins.stored_registry import Plan, StoredRegistry


class CountedRegistry(StoredRegistry):
    """One entry. Every reading makes a file `PID-...` in a directory."""

    def __init__(self, directory: str, entry: Entry) -> None:
        super().__init__("python", ["plugin_codecs"])
        self.directory = directory
        self.entry = entry

    def place(self) -> Hashable:
        return type(self), self.directory

    def change(self, plan: Plan) -> list[Change]:
        raise NotImplementedError

    def _load(self, language: str | None) -> Catalog:
        Path(self.directory, f"{os.getpid()}-{uuid.uuid4().hex}").touch()
        return Catalog({"python": {self.entry.alias: self.entry}}, ends={"python": 1})


def readings(directory: Path) -> list[int]:
    """The process of each reading."""
    return sorted(int(path.name.partition("-")[0]) for path in directory.iterdir())
