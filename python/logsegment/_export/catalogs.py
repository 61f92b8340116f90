"""Catalogs of Iceberg: those of PyIceberg's configuration, and an embedded one in a directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from logsegment._export.iceberg import NEW_PROPERTIES, IcebergTable, new_schema
from logsegment._export.tables import LakeTable, LakeTableError, TargetOptions, naming_table
from logsegment._export.transforms import Transform

#: How often a catalog is opened: two runs may create its tables at the same time.
_ATTEMPTS = 5


def iceberg_table(name: str, catalog: Any, identifier: tuple[str, ...]) -> LakeTable:
    """Return a table of an open catalog.

    Args:
        name: as the caller wrote it.
        catalog: the PyIceberg catalog.
        identifier: namespace and table.
    """

    def create(schema: Any, transforms: Sequence[Transform]) -> Any:
        from pyiceberg.exceptions import TableAlreadyExistsError

        catalog.create_namespace_if_not_exists(identifier[:-1])
        try:
            made, spec = new_schema(schema, transforms)
            catalog.create_table(identifier, made, partition_spec=spec, properties=NEW_PROPERTIES)
        except TableAlreadyExistsError:
            # Another run created it.
            pass
        return catalog.load_table(identifier)

    return IcebergTable(name, lambda: catalog.load_table(identifier), create)


def given_table(table: Any) -> LakeTable:
    """Return a PyIceberg table that the caller loaded."""
    return iceberg_table(".".join(table.name()), table.catalog, table.name())


def configured_catalog(catalog: str, options: TargetOptions) -> Any:
    """Open a catalog of PyIceberg's configuration.

    Raises:
        LakeTableError: if there is none of this name, or it does not answer.
    """
    try:
        from pyiceberg.catalog import load_catalog
    except ImportError:
        raise _not_installed() from None
    with naming_table(f"iceberg:{catalog}"):
        try:
            return load_catalog(catalog, **options)
        except ValueError as error:
            hint = f"for an embedded catalog in a new directory write iceberg:./{catalog}/..."
            raise LakeTableError(f"iceberg:{catalog}: {error}; {hint}") from None


def embedded_catalog(directory: str, options: TargetOptions) -> Any:
    """Open the catalog in a directory: `catalog.db` of SQLite, whose warehouse is the directory. Both are made if they do not exist.

    Raises:
        LakeTableError: if it cannot be opened.
        OSError: if the directory cannot be made.
    """
    try:
        from pyiceberg.catalog.sql import SqlCatalog
    except ImportError:
        raise _not_installed() from None
    place = os.path.abspath(directory)
    os.makedirs(place, exist_ok=True)
    own = {"uri": f"sqlite:///{os.path.join(place, 'catalog.db')}", "warehouse": f"file://{place}"}
    return _opened(lambda: SqlCatalog("default", **(own | dict(options))), f"iceberg:{directory}")


def _opened(make: Callable[[], Any], name: str) -> Any:
    for attempt in range(_ATTEMPTS):
        try:
            with naming_table(name):
                return make()
        except LakeTableError:
            if attempt + 1 == _ATTEMPTS:
                raise
    raise AssertionError("an attempt returns or raises")


def _not_installed() -> ImportError:
    return ImportError("export to Iceberg needs PyIceberg: pip install 'logsegment[iceberg]'")
