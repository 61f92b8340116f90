"""Files on this machine, in object stores and in HDFS: ranges of bytes, listings, and commits of new files.

`StoreUri` prints no keys and passwords of a URI.
"""

from logsegment._core import StoredFile
from logsegment.stores.errors import ChangedError, ShortReadError, StorageOptionError
from logsegment.stores.files import io_stats, open_file, read_file, version_of
from logsegment.stores.listing import DirectoryEntry, entries, entry_of, exists, is_directory, matching, names_in, walk
from logsegment.stores.uri import StoreUri, is_stored, placed, shown
from logsegment.stores.writing import put_bytes, put_file, remove, remove_directory, settle, sync_directory, unsettle

__all__ = [
    "ChangedError",
    "DirectoryEntry",
    "ShortReadError",
    "StorageOptionError",
    "StoreUri",
    "StoredFile",
    "entries",
    "entry_of",
    "exists",
    "io_stats",
    "is_directory",
    "is_stored",
    "matching",
    "names_in",
    "open_file",
    "placed",
    "put_bytes",
    "put_file",
    "read_file",
    "remove",
    "remove_directory",
    "settle",
    "shown",
    "sync_directory",
    "unsettle",
    "version_of",
    "walk",
]
