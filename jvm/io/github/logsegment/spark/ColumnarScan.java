package io.github.logsegment.spark;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** A planned scan whose rows are read here. */
final class ColumnarScan implements Scan, Batch {
  private final StructType schema;
  private final ColumnarTask[] tasks;
  private final int limit;
  private final List<?> filters;

  ColumnarScan(StructType schema, ColumnarTask[] tasks, int limit, List<?> filters) {
    this.schema = schema;
    this.tasks = tasks;
    this.limit = limit;
    this.filters = filters;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    String pushed = filters.stream().map(Object::toString).collect(Collectors.joining(", "));
    String most = limit == Integer.MAX_VALUE ? "" : ", limit of a task: " + limit;
    return "logsegment (columnar reader, tasks: " + tasks.length + ", pushed filters: [" + pushed + "]" + most + ")";
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    return tasks;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new ColumnarReaderFactory(schema, limit);
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.SUPPORTED;
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return ReaderMetrics.all();
  }
}
