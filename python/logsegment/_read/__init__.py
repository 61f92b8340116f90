"""Read many files as one: `read_records`, `read_batches` and `follow`."""
