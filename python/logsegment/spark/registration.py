"""Everything into a Spark session with one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logsegment.spark.functions import batch_info_udf, convert_udf, decode_udf, encode_udf, validate_udf
from logsegment.spark.source import LogSegmentSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register the data source "logsegment" and the SQL functions.

    There are kafka_decode, kafka_encode, kafka_convert, kafka_batch_info and kafka_validate.
    kafka_encode writes magic 2 without compression, kafka_convert converts to magic 2 with the codec of each entry; `encode_udf` and
    `convert_udf` make functions with other options.
    The data source is also found without this, since PySpark imports `pyspark_logsegment` when it looks for one.

    Args:
        spark: the session, classic or Connect.

    Example:
        >>> from logsegment.spark import register
        >>> register(spark)
        >>> spark.sql("select kafka_batch_info(cast(null as binary)) as info").first()["info"] is None
        True

    Source: `SparkSession.dataSource` and `SparkSession.udf` in PySpark.
    """
    spark.dataSource.register(LogSegmentSource)
    functions = {
        "kafka_decode": decode_udf(),
        "kafka_encode": encode_udf(),
        "kafka_convert": convert_udf(),
        "kafka_batch_info": batch_info_udf(),
        "kafka_validate": validate_udf(),
    }
    for name, function in functions.items():
        spark.udf.register(name, function)
