"""aiokafka's DefaultRecordBatchBuilder, its C extension. Its levels are its own, whatever LEVEL says."""
from aiokafka.record import default_records
from aiokafka.record.memory_records import MemoryRecords
from encode_harness import run

assert default_records.DefaultRecordBatchBuilder is not default_records._DefaultRecordBatchBuilderPy, "not the C extension"
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def load(data):
    entries = MemoryRecords(data)
    batches = []
    while entries.has_next():
        batches.append([(r.timestamp, r.key, r.value, r.headers) for r in entries.next_batch()])
    return sum(map(len, batches)), batches


def encode(batches, codec, level, out):
    number = CODECS[codec]
    for batch in batches:
        builder = default_records.DefaultRecordBatchBuilder(
            magic=2, compression_type=number, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=0,
            batch_size=1 << 30,
        )
        append = builder.append
        for index, (timestamp, key, value, headers) in enumerate(batch):
            append(index, timestamp, key, value, headers)
        out.write(builder.build())


run(load, encode)
