"""Plugin codecs (KIP-984): compression by code that is installed beside logsegment, named by entries of a registry.

>>> from logsegment.plugins import Entry, MemoryRegistry
>>> registry = MemoryRegistry([Entry(3, "fast", "example.fast:Codec", "v1.0")])
>>> registry.by_alias("fast").plugin_id, registry.by_id(4)
(3, None)

A batch says only a number from 0 to 15. What stands behind it is told by entries, which Kafka keeps in a topic for each language of
clients. This package holds entries, the places where they are kept, and the rules for them; the numbers on the wire are the native core's.
"""

from logsegment.plugins.catalog import Catalog, Change, RegistryError
from logsegment.plugins.codec import Codec
from logsegment.plugins.entry import Entry, EntryError, Plugin
from logsegment.plugins.file_registry import FileRegistry
from logsegment.plugins.registry import MemoryRegistry, Registry
from logsegment.plugins.rules import RegistrationError
from logsegment.plugins.topic_registry import TopicRegistry

__all__ = [
    "Catalog",
    "Change",
    "Codec",
    "Entry",
    "EntryError",
    "FileRegistry",
    "MemoryRegistry",
    "Plugin",
    "RegistrationError",
    "Registry",
    "RegistryError",
    "TopicRegistry",
]
