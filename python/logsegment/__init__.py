"""Read, check, write and convert the record batches and log segments of Apache Kafka as Arrow columns, without a broker.

>>> import logsegment as ls
>>> stream = ls.decode(ls.FileSource("00000000000000000000.log"), topic="orders", partition=0)
>>> table = stream.to_pyarrow()
>>> table.column_names[:2]
['key', 'value']

Bytes are parsed by a native core (`logsegment._core`); this package holds arguments and documentation, the Spark source and the
command line. pyarrow, pyspark, polars and pandas are imported only by what needs them.
"""

from logsegment import _early_signals as _early_signals  # isort: skip
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
)

from logsegment import _registration as _registration  # isort: skip
from logsegment._lazy import lazily

# Instead of the one of typing, which takes longer to load than all of the above.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from logsegment import broker, compat, plugins, polars, schemas, stores, tiered
    from logsegment._arrays import batch_info_array, decode_array, explode_array, validate_array
    from logsegment._convert.arrays import convert_array
    from logsegment._convert.convert import convert
    from logsegment._convert.result import ConversionLoss, Converted, StoppedAt
    from logsegment._decode import BatchTable, batch_stream, batches, decode
    from logsegment._encode import CompressionPolicy, encode, encode_array
    from logsegment._export.export import export
    from logsegment._export.result import Export
    from logsegment._inspect import Field, Problem, inspect
    from logsegment._lz4 import Lz4Frames, break_lz4, check_lz4, fix_lz4, lz4_header_checksum
    from logsegment._read.batches import read_batches
    from logsegment._read.follow import follow
    from logsegment._read.kafka_dump import kafka_dump
    from logsegment._read.reader import FileRead, LogReader
    from logsegment._read.records import read_records
    from logsegment._report import Report
    from logsegment._restore.restore import restore
    from logsegment._rewrite.account import Rewrite, RewriteRange, RewrittenFile
    from logsegment._rewrite.arrangement import Arrangement, SegmentPart
    from logsegment._rewrite.compact import compact
    from logsegment._rewrite.rewrite import rewrite
    from logsegment._rewrite.selection import Selection
    from logsegment._rewrite.split_join import join, split
    from logsegment._salvage.result import KeptRange, Salvage
    from logsegment._salvage.salvage import salvage
    from logsegment._survey import LostRange, SafeRange
    from logsegment.analysis.cluster import Cluster, cluster
    from logsegment.analysis.cluster_plan import Plan
    from logsegment.analysis.committed_offsets import CommittedOffset, committed_offsets
    from logsegment.analysis.diff import Comparison, Diff, diff
    from logsegment.analysis.diff_sides import Difference
    from logsegment.analysis.find import Places, RecordPlace, find
    from logsegment.analysis.recompression import Recompression
    from logsegment.analysis.series import Histogram, Series, SeriesPoint
    from logsegment.analysis.stats import stats
    from logsegment.analysis.stats_result import PartitionStats, Stats
    from logsegment.analysis.train_dictionary import TrainedDictionary, train_dictionary
    from logsegment.analysis.transactions import PartitionTransactions, TransactionList, transactions
    from logsegment.analysis.v3_savings import V3Savings
    from logsegment.analysis.validation import validate
    from logsegment.inputs.observer import Observer
    from logsegment.log.explain import Explanation, explain
    from logsegment.log.log import Log
    from logsegment.log.segment import Segment
    from logsegment.partition.reader import scan_transactions
    from logsegment.partition.transactions import Transaction

# `import logsegment` loads the native core alone. The rest is loaded when a name is first used.
_MODULES = {
    "logsegment": ("broker", "compat", "plugins", "polars", "schemas", "stores", "tiered"),
    "logsegment._arrays": ("batch_info_array", "decode_array", "explode_array", "validate_array"),
    "logsegment._convert.arrays": ("convert_array",),
    "logsegment._convert.convert": ("convert",),
    "logsegment._convert.result": ("ConversionLoss", "Converted", "StoppedAt"),
    "logsegment._decode": ("BatchTable", "batch_stream", "batches", "decode"),
    "logsegment._encode": ("CompressionPolicy", "encode", "encode_array"),
    "logsegment._inspect": ("Field", "Problem", "inspect"),
    "logsegment._lz4": ("Lz4Frames", "break_lz4", "check_lz4", "fix_lz4", "lz4_header_checksum"),
    "logsegment._restore.restore": ("restore",),
    "logsegment._rewrite.account": ("Rewrite", "RewriteRange", "RewrittenFile"),
    "logsegment._rewrite.arrangement": ("Arrangement", "SegmentPart"),
    "logsegment._rewrite.split_join": ("join", "split"),
    "logsegment._rewrite.compact": ("compact",),
    "logsegment._rewrite.rewrite": ("rewrite",),
    "logsegment._rewrite.selection": ("Selection",),
    "logsegment._salvage.result": ("KeptRange", "Salvage"),
    "logsegment._salvage.salvage": ("salvage",),
    "logsegment._survey": ("LostRange", "SafeRange"),
    "logsegment._read.batches": ("read_batches",),
    "logsegment._read.kafka_dump": ("kafka_dump",),
    "logsegment._read.follow": ("follow",),
    "logsegment._read.reader": ("FileRead", "LogReader"),
    "logsegment._read.records": ("read_records",),
    "logsegment._report": ("Report",),
    "logsegment.analysis.cluster": ("Cluster", "cluster"),
    "logsegment.analysis.cluster_plan": ("Plan",),
    "logsegment.analysis.committed_offsets": ("CommittedOffset", "committed_offsets"),
    "logsegment.analysis.diff": ("Comparison", "Diff", "diff"),
    "logsegment.analysis.diff_sides": ("Difference",),
    "logsegment.analysis.find": ("Places", "RecordPlace", "find"),
    "logsegment.analysis.recompression": ("Recompression",),
    "logsegment.analysis.series": ("Histogram", "SeriesPoint", "Series"),
    "logsegment.analysis.stats": ("stats",),
    "logsegment.analysis.stats_result": ("PartitionStats", "Stats"),
    "logsegment.analysis.train_dictionary": ("TrainedDictionary", "train_dictionary"),
    "logsegment.analysis.transactions": ("PartitionTransactions", "TransactionList", "transactions"),
    "logsegment.analysis.v3_savings": ("V3Savings",),
    "logsegment.analysis.validation": ("validate",),
    "logsegment._export.export": ("export",),
    "logsegment._export.result": ("Export",),
    "logsegment.inputs.observer": ("Observer",),
    "logsegment.log.explain": ("Explanation", "explain"),
    "logsegment.log.log": ("Log",),
    "logsegment.partition.reader": ("scan_transactions",),
    "logsegment.log.segment": ("Segment",),
    "logsegment.partition.transactions": ("Transaction",),
}
__getattr__, __dir__ = lazily(__name__, _MODULES)

__all__ = [
    "Arrangement",
    "ArrowArray",
    "ArrowBatch",
    "ArrowTable",
    "BatchTable",
    "ChecksumError",
    "Cluster",
    "CodecError",
    "CommittedOffset",
    "Comparison",
    "ConversionLoss",
    "Converted",
    "CompressionPolicy",
    "CorruptError",
    "Diff",
    "Difference",
    "Explanation",
    "Export",
    "Field",
    "FileRead",
    "FileSource",
    "Finding",
    "Histogram",
    "InternalError",
    "InvalidError",
    "KeptRange",
    "LimitError",
    "Limits",
    "Log",
    "LogReader",
    "LossError",
    "LostRange",
    "Lz4Frames",
    "Observer",
    "Plan",
    "PartitionStats",
    "PartitionTransactions",
    "Places",
    "SeriesPoint",
    "Problem",
    "RecordBatchError",
    "RecordPlace",
    "RecordStream",
    "Recompression",
    "Report",
    "Rewrite",
    "RewriteRange",
    "RewrittenFile",
    "SafeRange",
    "Salvage",
    "Segment",
    "SegmentPart",
    "Selection",
    "Series",
    "Stats",
    "StoppedAt",
    "TrainedDictionary",
    "Transaction",
    "TransactionList",
    "Transactions",
    "TruncatedError",
    "UnknownCompressionError",
    "UnsupportedError",
    "V3Savings",
    "__version__",
    "batch_info_array",
    "batch_stream",
    "batches",
    "break_lz4",
    "broker",
    "check_lz4",
    "cluster",
    "committed_offsets",
    "compact",
    "compat",
    "convert",
    "convert_array",
    "decode",
    "decode_array",
    "diff",
    "encode",
    "encode_array",
    "explain",
    "explode_array",
    "export",
    "find",
    "fix_lz4",
    "follow",
    "inspect",
    "join",
    "kafka_dump",
    "lz4_header_checksum",
    "plugins",
    "polars",
    "read_batches",
    "read_records",
    "restore",
    "rewrite",
    "salvage",
    "scan_transactions",
    "schemas",
    "split",
    "stats",
    "stores",
    "tiered",
    "train_dictionary",
    "transactions",
    "validate",
    "validate_array",
]
