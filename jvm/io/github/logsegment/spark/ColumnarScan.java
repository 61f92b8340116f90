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
  private final ColumnarReaderFactory factory;
  private final ColumnarTask[] tasks;
  private final List<?> filters;

  ColumnarScan(ColumnarReaderFactory factory, ColumnarTask[] tasks, List<?> filters) {
    this.factory = factory;
    this.tasks = tasks;
    this.filters = filters;
  }

  @Override
  public StructType readSchema() {
    return factory.schema();
  }

  @Override
  public String description() {
    String pushed = filters.stream().map(Object::toString).collect(Collectors.joining(", "));
    String most = factory.limit() == Integer.MAX_VALUE ? "" : ", limit of a task: " + factory.limit();
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
    return factory;
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
