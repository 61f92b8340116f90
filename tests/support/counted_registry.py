"""A registry that is read like that of a cluster's topics, by each process for itself, and that leaves a file for each reading."""

from __future__ import annotations

import os
import uuid
from collections.abc import Hashable
from pathlib import Path

from logsegment.plugins import Catalog, Entry, Registry
from logsegment.plugins.lookup import Store


class CountedStore(Store):
    """A store of one entry. Every read makes a file `PID-...` in a directory."""

    retry_seconds = 1.0

    def __init__(self, directory: str, entry: Entry) -> None:
        self.name = directory
        self.entry = entry

    def key(self) -> Hashable:
        return type(self), self.name

    def read(self, language: str | None) -> Catalog:
        Path(self.name, f"{os.getpid()}-{uuid.uuid4().hex}").touch()
        return Catalog({"python": {self.entry.alias: self.entry}}, ends={"python": 1})


def counted_registry(directory: str, entry: Entry) -> Registry:
    """Return a registry of one entry, which allows the codecs of tests."""
    return Registry(CountedStore(directory, entry), allow=["plugin_codecs"])


def readings(directory: Path) -> list[int]:
    """The process of each reading."""
    return sorted(int(path.name.partition("-")[0]) for path in directory.iterdir())
