"""Everything into a Spark session with one call."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.errors import AnalysisException

from logsegment.spark.datasource import HAS_SOURCES
from logsegment.spark.options.plugins import hide_settings
from logsegment.spark.source import LogSegmentSource
from logsegment.spark.udf import batch_info_udf, convert_udf, decode_udf, encode_udf, validate_udf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from logsegment._options import CodecRegistry

Options: TypeAlias = Mapping[str, Any]


def register(
    spark: SparkSession,
    *,
    decode: Options | None = None,
    encode: Options | None = None,
    convert: Options | None = None,
    batch_info: Options | None = None,
    validate: Options | None = None,
    codecs: CodecRegistry | None = None,
) -> None:
    """Register the data source "logsegment" and the SQL functions.

    There are kafka_decode, kafka_encode, kafka_convert, kafka_batch_info and kafka_validate. By default kafka_encode
    writes magic 2 without compression, and kafka_convert converts to magic 2 with the codec of each entry.
    The data source is also found without this, since PySpark imports `pyspark_logsegment` when it looks for one. The plans of the session
    hide the options `plugins.kafka.*` from here on (`spark.sql.redaction.options.regex`).

    Args:
        spark: the session, classic or Connect.
        decode: arguments of `decode_udf` for kafka_decode.
        encode: arguments of `encode_udf` for kafka_encode.
        convert: arguments of `convert_udf` for kafka_convert.
        batch_info: arguments of `batch_info_udf` for kafka_batch_info; `kind` is "arrow".
        validate: arguments of `validate_udf` for kafka_validate; `kind` is "arrow".
        codecs: a registry of plugins for all functions whose arguments do not name one. The data source has options of its own for it.

    Raises:
        RuntimeError: if the session is local and its workers run another Python, which has no logsegment. The text names the fix.
        TypeError, ValueError: if an argument is invalid.
        RegistryError: if `codecs` is a file that cannot be read.

    Example:
        >>> from logsegment.spark import register
        >>> register(spark)
        >>> spark.sql("select kafka_batch_info(cast(null as binary)) as info").first()["info"] is None
        True
        >>> register(spark, encode={"compression": "zstd"}, decode={"columns": ["offset", "value"]})

    Source: `SparkSession.dataSource` and `SparkSession.udf` in PySpark.
    """
    _ensure_same_python(spark)
    _register_source(spark)
    hide_settings(spark)
    shared: dict[str, Any] = {"codecs": codecs}
    functions = {
        "kafka_decode": decode_udf(**shared | dict(decode or {})),
        "kafka_encode": encode_udf(**shared | dict(encode or {})),
        "kafka_convert": convert_udf(**shared | dict(convert or {})),
        "kafka_batch_info": batch_info_udf(**shared | dict(batch_info or {})),
        "kafka_validate": validate_udf(**shared | dict(validate or {})),
    }
    for name, function in functions.items():
        spark.udf.register(name, function)


def _register_source(spark: SparkSession) -> None:
    """Register the data source, where PySpark has any."""
    if not HAS_SOURCES:
        return
    try:
        spark.dataSource.register(LogSegmentSource)
    except AnalysisException as error:
        # PySpark 4.0 does not replace a source, and has found this one by itself if the session has used it.
        if error.getErrorClass() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


def _ensure_same_python(spark: SparkSession) -> None:
    """Raise if the workers of a local session run a Python without logsegment.

    Spark takes `PYSPARK_PYTHON`, else the `python3` of the PATH, which is not that of an environment that was not activated.
    """
    # Spark Connect and clusters have other machines.
    context = getattr(spark, "_sc", None)
    if context is None or not context.master.startswith("local"):
        return
    workers = shutil.which(context.pythonExec) or context.pythonExec
    if os.path.dirname(os.path.abspath(workers)) == os.path.dirname(sys.executable):
        return
    try:
        done = subprocess.run([workers, "-c", "import logsegment"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        # Spark raises the error of its own.
        return
    if done.returncode:
        raise RuntimeError(
            f"Spark's workers run {workers}, which has no logsegment; before the session starts, "
            'set os.environ["PYSPARK_PYTHON"] = sys.executable, or activate the environment'
        )
