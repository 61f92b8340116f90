"""The streaming reader: offsets of growing partitions become micro-batches."""
