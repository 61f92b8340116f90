"""Read partitions: their readers, transactions, log ends, and new records of growing logs."""
