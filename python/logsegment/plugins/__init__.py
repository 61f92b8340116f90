"""Plugin codecs (KIP-984): compression by code of other packages, which entries of a registry name.

>>> from logsegment.plugins import Entry, MemoryRegistry
>>> registry = MemoryRegistry([Entry(3, "fast", "example.fast:Codec", "v1.0")])
>>> registry.by_alias("fast").plugin_id, registry.by_id(4)
(3, None)

A batch has a number from 0 to 15. The entries of a registry, which Kafka keeps in a topic for each language of clients, name the codec of
a number. This package has the entries, the registries and the rules between entries.
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
