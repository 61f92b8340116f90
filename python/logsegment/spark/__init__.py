"""Spark: the data source "logsegment", and functions over binary columns of raw record batches.

>>> from logsegment.spark import decode_batches
>>> decode = decode_batches(column="batch", keep=["id"])
>>> rows = raw.mapInArrow(decode, decode.schema(raw.schema))
>>> rows.columns[:3]
['id', 'key', 'value']

pyarrow and pandas are imported by what needs them, not here: PySpark imports the data source whenever it looks for one.
"""

try:
    from logsegment.spark.committed_offsets import committed_offsets
    from logsegment.spark.decode_values import decode_values
    from logsegment.spark.jvm.jar import jar, session_options
    from logsegment.spark.load import load
    from logsegment.spark.map_in_arrow import BatchDecoder, decode_batches
    from logsegment.spark.next_offsets import next_offsets
    from logsegment.spark.register import register
    from logsegment.spark.rewriting import rewrite
    from logsegment.spark.schema import record_schema
    from logsegment.spark.source import LogSegmentSource
    from logsegment.spark.udf import batch_info_udf, convert_udf, decode_udf, encode_udf, validate_udf
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "pyspark":
        raise
    raise ImportError('logsegment.spark needs PySpark: pip install "logsegment[spark]"') from None

__all__ = [
    "BatchDecoder",
    "LogSegmentSource",
    "batch_info_udf",
    "committed_offsets",
    "convert_udf",
    "decode_batches",
    "decode_udf",
    "decode_values",
    "encode_udf",
    "jar",
    "load",
    "next_offsets",
    "record_schema",
    "register",
    "rewrite",
    "session_options",
    "validate_udf",
]
