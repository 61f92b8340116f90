"""Segments of tiered storage, read where they are: Aiven's remote storage manager, Kafka's LocalTieredStorage, Pinterest's uploader.

>>> import logsegment as ls
>>> log = ls.Log("bucket", decryption_keys={"key1": "key1.der", "key2": "key2.der"})
>>> log.partitions[0], len(log.segments)
(('to-pic.a', 1), 13)

`logsegment.Log`, the command line and the Spark source read a prefix as if it were a log directory. This package adds the list of the
uploads and the errors. The guide's page on tiered storage explains the rules (TS).
"""

from typing import TYPE_CHECKING

from logsegment._core import ChunkError, ManifestError, SegmentKeyError
from logsegment._lazy import lazily

if TYPE_CHECKING:
    from logsegment.tiered.listing import Upload, uploads

__getattr__, __dir__ = lazily(__name__, {"logsegment.tiered.listing": ("Upload", "uploads")})

__all__ = ["ChunkError", "ManifestError", "SegmentKeyError", "Upload", "uploads"]
