"""aiokafka's records turned into pyarrow arrays, batch by batch: what a Python user would write without logsegment."""
import pyarrow as pa
from aiokafka.record.memory_records import MemoryRecords

NAMES = ["offset", "timestamp", "key", "value"]


def decode(data):
    """Yield one pyarrow.RecordBatch per Kafka batch of `data` (bytes)."""
    entries = MemoryRecords(data)
    tables = []
    while entries.has_next():
        batch = entries.next_batch()
        if not batch.validate_crc():
            raise ValueError("crc")
        rows = [(r.offset, r.timestamp, r.key, r.value) for r in batch]
        columns = zip(*rows)
        types = [pa.int64(), pa.int64(), pa.binary(), pa.binary()]
        arrays = [pa.array(column, type) for column, type in zip(columns, types)]
        tables.append(pa.RecordBatch.from_arrays(arrays, NAMES))
    return tables
