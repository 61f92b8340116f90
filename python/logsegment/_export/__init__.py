"""Write logs into tables of a data lake, exactly once by offsets: Iceberg, Delta and partitioned Parquet."""
