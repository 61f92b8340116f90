"""The two entry points as pairs of data frames: ours, and the stand-in with the same schema, batch size and rows."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from benches.paths import corpus
from benches.segments import entries, write_directory
from benches.spark.standin import ReadySource, write_ready, yield_ready

RAW_ROWS_PER_ARROW_BATCH = 256  # 16 KiB each: 4 MiB of raw batches cross to Python at a time


def data_source_frames(spark, name, directory, segments):
    """(ours, ceiling, rows) of `spark.read.format("logsegment")` over a partition directory."""
    log = directory / "bench-0"
    rows = write_directory(name, log, segments)
    return source_frames(spark, [log], rows, directory / "source.arrow")


def source_frames(spark, directories, rows, ready):
    """(ours, ceiling, rows) of the Python reader over directories that hold so many rows; `ready` is the file that the ceiling reads."""
    paths = [str(directory) for directory in directories]
    ours = spark.read.format("logsegment").option("reader", "python").load(paths)
    write_ready(ready, first_batch_of_source(paths, ours.schema))
    counts = ours.groupBy(F.spark_partition_id()).count().collect()
    per_partition = [row["count"] for row in counts]
    assert sum(per_partition) == rows, f"{sum(per_partition)} rows instead of {rows}"
    spark.dataSource.register(ReadySource)
    reader = spark.read.format("ready").schema(ours.schema)
    ceiling = reader.option("ready", str(ready)).option("rows", json.dumps(per_partition)).load()
    assert ceiling.count() == rows
    return ours, ceiling, rows


def first_batch_of_source(paths, schema):
    """The first batch that our data source yields, taken from its reader without Spark."""
    from pyspark_logsegment import DefaultSource

    reader = DefaultSource({"paths": json.dumps(paths)}).reader(schema)
    return next(iter(reader.read(reader.partitions()[0])))


def map_in_arrow_frames(spark, name, directory, segments):
    """(ours, ceiling, rows) of mapInArrow over a Parquet file with one raw batch a row."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from logsegment.spark import decode_batches

    raw, rows = write_raw_batches(name, directory, segments)
    frame = spark.read.parquet(str(raw))
    decode = decode_batches(column="batch")
    outputs = list(decode(iter([first_raw_batches(raw)])))
    schema = from_arrow_schema(outputs[0].schema)
    ready = directory / "map.arrow"
    write_ready(ready, largest(outputs))
    ours = frame.mapInArrow(decode, schema)
    ceiling = frame.mapInArrow(yield_ready(str(ready)), schema)
    assert ours.count() == ceiling.count() == rows
    return ours, ceiling, rows


def write_raw_batches(name, directory, files):
    """Write `files` equal Parquet files with the columns batch (binary) and records (int64); returns (path, rows)."""
    data = corpus(name).read_bytes()
    found = [(data[position : position + size], count) for position, size, count in entries(data)]
    batches, counts = zip(*found, strict=True)
    table = pa.table({"batch": pa.array(batches, pa.binary()), "records": pa.array(counts, pa.int64())})
    target = directory / "raw"
    target.mkdir(parents=True, exist_ok=True)
    for index in range(files):
        path = target / f"{index}.parquet"
        if not path.exists():
            pq.write_table(table, path, compression="none", use_dictionary=False, row_group_size=1024)
    return target, files * sum(counts)


def first_raw_batches(raw):
    """As many raw batches as Spark hands to mapInArrow at a time."""

    return next(pq.ParquetFile(raw / "0.parquet").iter_batches(RAW_ROWS_PER_ARROW_BATCH))


def largest(batches):
    return max(batches, key=lambda batch: batch.num_rows)
