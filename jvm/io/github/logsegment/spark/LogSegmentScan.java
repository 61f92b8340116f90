package io.github.logsegment.spark;

import java.util.function.Supplier;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/** A scan of all columns. Spark builds it for batch queries and for streams alike, so it is planned when Spark says what it is for. */
final class LogSegmentScan implements Scan {
  private final StructType schema;
  private final Supplier<Scan> batch;
  private final Supplier<Scan> stream;
  private Scan planned;

  LogSegmentScan(StructType schema, Supplier<Scan> batch, Supplier<Scan> stream) {
    this.schema = schema;
    this.batch = batch;
    this.stream = stream;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public synchronized MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    planned = stream.get();
    return planned.toMicroBatchStream(checkpointLocation);
  }

  @Override
  public Batch toBatch() {
    return planned().toBatch();
  }

  @Override
  public String description() {
    return planned().description();
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return planned().supportedCustomMetrics();
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return planned().reportDriverMetrics();
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return planned().columnarSupportMode();
  }

  private synchronized Scan planned() {
    if (planned == null) {
      planned = batch.get();
    }
    return planned;
  }
}
