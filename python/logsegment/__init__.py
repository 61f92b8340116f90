"""Read, check, write and convert the record batches and log segments of Apache Kafka as Arrow columns, without a broker.

>>> import logsegment as ls
>>> stream = ls.decode(ls.FileSource("00000000000000000000.log"), topic="orders", partition=0)
>>> table = stream.to_pyarrow()
>>> table.column_names[:2]
['key', 'value']

Bytes are parsed by a native core (`logsegment._core`); this package holds arguments and documentation, the Spark source and the
command line. pyarrow, pyspark, polars and pandas are imported only by what needs them.
"""

from typing import TYPE_CHECKING

from logsegment import compat
from logsegment._arrays import batch_info_array, decode_array, explode_array, validate_array
from logsegment._convert import ConversionLoss, Converted, StoppedAt, convert, convert_array
from logsegment._core import (
    ArrowArray,
    ArrowBatch,
    ArrowTable,
    ChecksumError,
    CodecError,
    CorruptError,
    FileSource,
    Finding,
    InternalError,
    InvalidError,
    LimitError,
    Limits,
    LossError,
    RecordBatchError,
    RecordStream,
    Transactions,
    TruncatedError,
    UnknownCompressionError,
    UnsupportedError,
    __version__,
    scan_transactions,
)
from logsegment._decode import BatchTable, batch_stream, batches, decode
from logsegment._encode import CompressionPolicy, encode, encode_array
from logsegment._inspect import Field, Problem, inspect
from logsegment._lazy import lazily
from logsegment._lz4 import Lz4Frames, break_lz4, check_lz4, fix_lz4, lz4_header_checksum
from logsegment._salvage import KeptRange, LostRange, Salvage, salvage
from logsegment._validate import Report, validate
from logsegment.log.log import Log
from logsegment.log.segment import Segment

if TYPE_CHECKING:
    from logsegment import broker, plugins, polars, tiered
    from logsegment._restore.restore import restore
    from logsegment.analysis.diff import diff
    from logsegment.analysis.find import find
    from logsegment.analysis.stats import stats
    from logsegment.analysis.train_dictionary import train_dictionary
    from logsegment.analysis.transactions import transactions

_PLACES = {
    **{name: f"logsegment.{name}" for name in ("broker", "plugins", "polars", "tiered")},
    **{name: f"logsegment.analysis.{name}" for name in ("diff", "find", "stats", "train_dictionary", "transactions")},
    "restore": "logsegment._restore.restore",
}
__getattr__, __dir__ = lazily(__name__, _PLACES)

__all__ = [
    "ArrowArray",
    "ArrowBatch",
    "ArrowTable",
    "BatchTable",
    "ChecksumError",
    "CodecError",
    "ConversionLoss",
    "Converted",
    "CompressionPolicy",
    "CorruptError",
    "Field",
    "FileSource",
    "Finding",
    "InternalError",
    "InvalidError",
    "KeptRange",
    "LimitError",
    "Limits",
    "Log",
    "LossError",
    "LostRange",
    "Lz4Frames",
    "Problem",
    "RecordBatchError",
    "RecordStream",
    "Report",
    "Salvage",
    "Segment",
    "StoppedAt",
    "Transactions",
    "TruncatedError",
    "UnknownCompressionError",
    "UnsupportedError",
    "__version__",
    "batch_info_array",
    "batch_stream",
    "batches",
    "break_lz4",
    "broker",
    "check_lz4",
    "compat",
    "convert",
    "convert_array",
    "decode",
    "decode_array",
    "diff",
    "encode",
    "encode_array",
    "explode_array",
    "find",
    "fix_lz4",
    "inspect",
    "lz4_header_checksum",
    "plugins",
    "polars",
    "restore",
    "salvage",
    "scan_transactions",
    "stats",
    "tiered",
    "train_dictionary",
    "transactions",
    "validate",
    "validate_array",
]
