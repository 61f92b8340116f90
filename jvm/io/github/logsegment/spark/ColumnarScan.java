package io.github.logsegment.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** A planned scan whose rows are read here. The plan shows the path, the options, the columns and the filters. */
final class ColumnarScan implements Scan, Batch {
  private final ColumnarReaderFactory factory;
  private final ColumnarTask[] tasks;
  private final String described;
  private final FilterList filters;

  ColumnarScan(ColumnarReaderFactory factory, ColumnarTask[] tasks, String described, FilterList filters) {
    this.factory = factory;
    this.tasks = tasks;
    this.described = described;
    this.filters = filters;
  }

  @Override
  public StructType readSchema() {
    return factory.schema();
  }

  @Override
  public String description() {
    String most = factory.limit() == Integer.MAX_VALUE ? "" : ", limit of a task: " + factory.limit();
    String columns = String.join(", ", factory.schema().fieldNames());
    return "logsegment (columnar reader, tasks: " + tasks.length + ", pushed filters: " + filters + most + ", " + described + ", columns: [" + columns + "])";
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
