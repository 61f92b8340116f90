package io.github.logsegment.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What tasks count. Spark's web page makes an object of each class by its name. */
public final class ReaderMetrics {
  private static final String[] NAMES = {"arrowBatches", "bytesRead", "bytesDecompressed", "batchesRead", "batchesSkipped"};

  private ReaderMetrics() {}

  static CustomMetric[] all() {
    return new CustomMetric[] {new ArrowBatches(), new BytesRead(), new BytesDecompressed(), new BatchesRead(), new BatchesSkipped()};
  }

  static CustomTaskMetric[] of(long... values) {
    CustomTaskMetric[] metrics = new CustomTaskMetric[values.length];
    for (int index = 0; index < values.length; index++) {
      metrics[index] = new Value(NAMES[index], values[index]);
    }
    return metrics;
  }

  private record Value(String name, long value) implements CustomTaskMetric {}

  abstract static class Sum extends CustomSumMetric {
    private final int index;
    private final String description;

    Sum(int index, String description) {
      this.index = index;
      this.description = description;
    }

    @Override
    public String name() {
      return NAMES[index];
    }

    @Override
    public String description() {
      return description;
    }
  }

  public static final class ArrowBatches extends Sum {
    public ArrowBatches() {
      super(0, "number of columnar batches");
    }
  }

  public static final class BytesRead extends Sum {
    public BytesRead() {
      super(1, "bytes read of segments");
    }
  }

  public static final class BytesDecompressed extends Sum {
    public BytesDecompressed() {
      super(2, "bytes decompressed");
    }
  }

  public static final class BatchesRead extends Sum {
    public BatchesRead() {
      super(3, "number of record batches read");
    }
  }

  public static final class BatchesSkipped extends Sum {
    public BatchesSkipped() {
      super(4, "number of record batches skipped unopened");
    }
  }
}
