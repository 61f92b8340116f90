"""What Spark's boundary costs by itself: a data source and a mapInArrow function that yield ready Arrow batches.

They decode nothing and open no segment. The batches come from an Arrow file that `measure.py` filled with what our
own entry point yields, so that schema and size are the same.
"""

import json

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition


class ReadyPartition(InputPartition):
    def __init__(self, path, rows):
        self.path = path
        self.rows = rows


class ReadyReader(DataSourceReader):
    """Yields the one batch of the file again and again until the partition has its rows."""

    def __init__(self, path, rows):
        self.path = path
        self.rows = rows

    def partitions(self):
        return [ReadyPartition(self.path, rows) for rows in self.rows]

    def read(self, partition):
        batch = ready_batch(partition.path)
        left = partition.rows
        while left:
            rows = min(left, batch.num_rows)
            yield batch.slice(0, rows)
            left -= rows


class ReadySource(DataSource):
    """Options: `ready`, the Arrow file; `rows`, a JSON array with the rows of each partition."""

    @classmethod
    def name(cls):
        return "ready"

    def reader(self, schema):
        return ReadyReader(self.options["ready"], json.loads(self.options["rows"]))


def yield_ready(path):
    """A function for mapInArrow: for each input batch as many ready rows as its column `records` adds up to."""

    def run(batches):
        ready = ready_batch(path)
        for batch in batches:
            left = sum(batch.column("records").to_pylist())
            while left:
                rows = min(left, ready.num_rows)
                yield ready.slice(0, rows)
                left -= rows

    return run


def write_ready(path, batch):
    """Store one pyarrow.RecordBatch as the Arrow file that the stand-ins read."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


def ready_batch(path):
    with pa.OSFile(path, "rb") as file:
        return pa.ipc.open_file(file.read_buffer()).get_batch(0)
