"""Schemas of keys and values: from the `_schemas` topic's own segments, from a registry, from files, or a single one.

>>> import logsegment as ls
>>> schemas = ls.schemas.single({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]})
>>> len(schemas), next(iter(schemas)).type
(1, 'AVRO')

A schema registry keeps its schemas in a topic, so that the segments of a cluster's disks have the values and their schemas side by side.
Each function returns a `SchemaSet`: immutable, and pickled with a query.
"""

from logsegment.schemas.directory import from_directory, from_path, single
from logsegment.schemas.model import Schema, SchemaReference, SchemaSet, SubjectVersion
from logsegment.schemas.registry import from_registry
from logsegment.schemas.registry_log import from_log

__all__ = [
    "Schema",
    "SchemaReference",
    "SchemaSet",
    "SubjectVersion",
    "from_directory",
    "from_log",
    "from_path",
    "from_registry",
    "single",
]
