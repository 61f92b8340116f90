package io.github.logsegment.spark;

import org.apache.spark.sql.connector.read.InputPartition;

/** A task as Python wrote it; only the library reads the bytes. */
record ColumnarTask(byte[] data) implements InputPartition {}
