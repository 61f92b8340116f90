"""Segments of tiered storage where they lie: Aiven's remote storage manager, Kafka's LocalTieredStorage, Pinterest's uploader.

>>> import logsegment as ls
>>> log = ls.Log("bucket", keys={"key1": "key1.der", "key2": "key2.der"})
>>> log.partitions[0], len(log.segments)
(('to-pic.a', 1), 13)

`logsegment.Log`, the command line and the Spark source read a prefix as if it were a log directory; here are the parts of their own:
which uploads there are, the errors, and giving a log directory back. Rules (TS) are those of the guide's page on tiered storage.
"""

from typing import TYPE_CHECKING

from logsegment._lazy import lazily
from logsegment.tiered.errors import ChunkError, ManifestError, SegmentKeyError

if TYPE_CHECKING:
    from logsegment.tiered.catalog import uploads
    from logsegment.tiered.upload import Upload

__getattr__, __dir__ = lazily(__name__, {"uploads": "logsegment.tiered.catalog", "Upload": "logsegment.tiered.upload"})

__all__ = ["ChunkError", "ManifestError", "SegmentKeyError", "Upload", "uploads"]
