"""Files in object stores and HDFS: URIs go in, ranges of bytes, listings and clear errors come out; a commit puts files there.

`pyarrow.fs` does the talking and is imported only when a URI is used. What a user must never see printed, keys and passwords, stays in
`StoreUri`, which shows none of it.
"""

from logsegment.stores.errors import ChangedError, ShortReadError
from logsegment.stores.files import StoredFile, io_stats, open_file, read_file, version_of
from logsegment.stores.listing import Entry, entries, entry_of, exists, glob, has_magic, is_directory, walk
from logsegment.stores.uri import StoreUri, is_stored, placed, shown
from logsegment.stores.writing import put_bytes, put_file, remove, remove_directory, settle, unsettle

__all__ = [
    "ChangedError",
    "Entry",
    "ShortReadError",
    "StoreUri",
    "StoredFile",
    "entries",
    "entry_of",
    "exists",
    "glob",
    "has_magic",
    "io_stats",
    "is_directory",
    "is_stored",
    "open_file",
    "placed",
    "put_bytes",
    "put_file",
    "read_file",
    "remove",
    "remove_directory",
    "settle",
    "shown",
    "unsettle",
    "version_of",
    "walk",
]
