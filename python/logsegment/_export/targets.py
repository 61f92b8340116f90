"""Targets of an export as text: `iceberg:CATALOG/NAMESPACE.TABLE`, `delta:URI`, `parquet:DIR`, each with `{topic}` or without."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote, urlparse

from logsegment._export.catalogs import configured_catalog, embedded_catalog, given_table, iceberg_table
from logsegment._export.delta import delta_table, given_delta_table
from logsegment._export.parquet import ParquetDirectory
from logsegment._export.tables import LakeTable, TargetOptions

#: The place of the topic in a target.
TOPIC = "{topic}"
TargetKind: TypeAlias = Literal["iceberg", "delta", "parquet"]
_PREFIX = re.compile(r"(iceberg|delta|parquet):(.+)", re.DOTALL)


@dataclass(frozen=True)
class Target:
    """A place that tables are written to.

    Attributes:
        kind: of the tables.
        place: the URI of Delta, the directory of Parquet, or the catalog of Iceberg.
        name: of Iceberg: the namespace and the table, with a dot between them.
    """

    kind: TargetKind
    place: str
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse a target.

        Raises:
            ValueError: if it is invalid.
        """
        match = _PREFIX.fullmatch(text)
        if match is None:
            raise ValueError(f"target {text!r} is not iceberg:CATALOG/NAMESPACE.TABLE, delta:URI or parquet:DIR")
        if match[1] != "iceberg":
            kind: Any = match[1]
            return cls(kind, match[2])
        place, slash, name = match[2].rpartition("/")
        namespace, dot, table = name.rpartition(".")
        if not (slash and place and dot and namespace and table):
            raise ValueError(f"target {text!r} must have a catalog, a namespace and a table: iceberg:CATALOG/NAMESPACE.TABLE")
        return cls("iceberg", place, name)

    @property
    def text(self) -> str:
        """The target as the caller writes it."""
        return f"{self.kind}:{self.place}/{self.name}" if self.kind == "iceberg" else f"{self.kind}:{self.place}"

    @property
    def is_by_topic(self) -> bool:
        """True if each topic has a table of its own."""
        return TOPIC in self.text

    def of(self, topic: str) -> Target:
        """Return the target of a topic. The name of a table has `_` for each dot of the topic."""
        name = self.name.replace(TOPIC, topic.replace(".", "_"))
        return replace(self, place=self.place.replace(TOPIC, topic), name=name)

    def open(self, options: TargetOptions) -> LakeTable:
        """Return the table, which may not exist.

        Raises:
            ImportError: if its library is not installed.
            LakeTableError: if the catalog does not answer.
        """
        if self.kind == "delta":
            return delta_table(self.text, self.place, options)
        if self.kind == "parquet":
            return ParquetDirectory(self.text, self.place)
        namespace, _, table = self.name.rpartition(".")
        directory = self._directory()
        catalog = configured_catalog(self.place, options) if directory is None else embedded_catalog(directory, options)
        return iceberg_table(self.text, catalog, (*namespace.split("."), table))

    def _directory(self) -> str | None:
        """Return the directory of an embedded catalog; None for the name of a catalog."""
        if self.place.startswith("file:"):
            return unquote(urlparse(self.place).path)
        return self.place if self.place.startswith((".", "/")) or os.path.isdir(self.place) else None


def tables_by_topic(to: Any, options: TargetOptions) -> tuple[Callable[[str], LakeTable], bool]:
    """Return a function that opens the table of a topic, and whether each topic has its own.

    Args:
        to: a target as text, or a table of PyIceberg or deltalake.
        options: of its catalog or store.

    Raises:
        TypeError: if `to` is neither.
        ValueError: if the text is not a target.
    """
    if isinstance(to, str):
        target = Target.parse(to)
        if target.is_by_topic:
            return lambda topic: target.of(topic).open(options), True
        table = target.open(options)
        return lambda topic: table, False
    library = type(to).__module__.partition(".")[0]
    if library == "pyiceberg" and hasattr(to, "catalog"):
        given = given_table(to)
    elif library == "deltalake" and hasattr(to, "create_write_transaction"):
        given = given_delta_table(to)
    else:
        raise TypeError(
            f"to must be a target such as iceberg:./lake/kafka.orders, or a PyIceberg or deltalake table, not {type(to).__name__}"
        )
    return lambda topic: given, False
