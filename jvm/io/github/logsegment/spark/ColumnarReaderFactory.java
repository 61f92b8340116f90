package io.github.logsegment.spark;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Makes the reader of a task on an executor. `query` is what all tasks share, as Python wrote it; Spark sends it once for a stage. */
record ColumnarReaderFactory(StructType schema, int limit, byte[] query) implements PartitionReaderFactory {
  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException("the reader of logsegment is columnar");
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    return new ColumnarTaskReader(data(((ColumnarTask) partition).data()), schema, limit);
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  /** The columns and the most rows, and after these what Python wrote. */
  private byte[] data(byte[] task) {
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      DataOutputStream out = new DataOutputStream(bytes);
      out.writeInt(schema.size());
      for (String name : schema.fieldNames()) {
        byte[] text = name.getBytes(StandardCharsets.UTF_8);
        out.writeInt(text.length);
        out.write(text);
      }
      out.writeLong(limit);
      out.write(query);
      out.write(task);
      return bytes.toByteArray();
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }
}
