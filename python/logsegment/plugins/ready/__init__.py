"""Codecs that are ready to be registered: each needs the library that it is named after, and nothing else.

| class name for the registry | needs | settings in the entry |
| --- | --- | --- |
| `logsegment.plugins.ready.bzip2:Bzip2` | nothing | |
| `logsegment.plugins.ready.xz:Xz` | nothing | |
| `logsegment.plugins.ready.brotli:Brotli` | brotli | |
| `logsegment.plugins.ready.lz4:Lz4Dictionary` | lz4 | `dictionary` |
| `logsegment.plugins.ready.zstd:ZstdDictionary` | zstandard | `dictionary` |

`pip install "logsegment[codecs]"` brings all of these libraries. A `dictionary` is bytes in base64: what the records have in common, which
then need not stand in every batch. Nothing on the wire says which one it was (COD-Z5), so it stands in the registry and must never change
under its id.
"""

#: The class names of the table. A registry may name these without leave, and nothing else in their modules.
READY = frozenset(f"{__name__}.{name}" for name in ("bzip2:Bzip2", "xz:Xz", "brotli:Brotli", "lz4:Lz4Dictionary", "zstd:ZstdDictionary"))
