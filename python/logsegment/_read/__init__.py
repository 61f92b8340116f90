"""Read many files as one: `read_records`, `read_batches`, `kafka_dump` and `follow`."""
