package io.github.logsegment.spark;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads one task. The library owns the memory of a batch until the next one is asked for, and of the last one until the reader is closed:
 * Spark copies rows out of a batch before it asks for the next. Where it does not, batches are copies.
 */
final class ColumnarTaskReader implements PartitionReader<ColumnarBatch> {
  private static final Logger LOG = LoggerFactory.getLogger(ColumnarTaskReader.class);

  private final NativeColumn[] columns;
  private final StructType schema;
  private final long numbers;
  private final long numbersLength;
  private ColumnarBatch batch;
  private ArrowBatches copies;
  private long handle;
  private long left;
  private long batches;

  ColumnarTaskReader(byte[] task, StructType schema, int limit) {
    String problem = NativeReader.problem();
    if (problem != null) {
      throw new IllegalStateException(problem);
    }
    this.schema = schema;
    columns = NativeColumn.of(schema);
    batch = new ColumnarBatch(columns);
    left = limit;
    numbersLength = NativeReader.HEAD + NativeColumn.numbers(columns);
    numbers = Platform.allocateMemory(8 * numbersLength);
    Platform.setMemory(numbers, (byte) 0, 8 * numbersLength);
    handle = opened(task);
    if (handle == 0) {
      Platform.freeMemory(numbers);
      throw PythonErrors.of("logsegment.InternalError: internal error, please report it: a Spark task could not be opened");
    }
  }

  @Override
  public boolean next() {
    if (left <= 0 || handle == 0) {
      return false;
    }
    long rows = NativeReader.next(handle, numbers, numbersLength);
    if (rows == NativeReader.FAILED) {
      throw PythonErrors.of(text(number(0), (int) number(1)));
    }
    if (rows == NativeReader.END) {
      text(number(0), (int) number(1)).lines().forEach(LOG::warn);
      left = 0;
      return false;
    }
    if (batches == 0) {
      copies = ArrowBatches.ifAsked(schema);
    }
    int given = (int) Math.min(rows, left);
    left -= given;
    batches++;
    long at = numbers + 8L * NativeReader.HEAD;
    for (NativeColumn column : columns) {
      at = column.move(at, given);
    }
    if (copies == null) {
      batch.setNumRows(given);
    } else {
      batch = copies.copied(columns, given);
    }
    return true;
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return handle == 0 ? new CustomTaskMetric[0] : ReaderMetrics.of(batches, number(2), number(3), number(4), number(5));
  }

  @Override
  public void close() {
    if (handle != 0) {
      NativeReader.close(handle);
      Platform.freeMemory(numbers);
      handle = 0;
    }
  }

  private long number(int index) {
    return Platform.getLong(null, numbers + 8L * index);
  }

  private static String text(long address, int length) {
    byte[] bytes = new byte[length];
    Platform.copyMemory(null, address, bytes, Platform.BYTE_ARRAY_OFFSET, length);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static long opened(byte[] data) {
    long address = Platform.allocateMemory(data.length);
    try {
      Platform.copyMemory(data, Platform.BYTE_ARRAY_OFFSET, null, address, data.length);
      return NativeReader.open(address, data.length);
    } finally {
      Platform.freeMemory(address);
    }
  }
}
