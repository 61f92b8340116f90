package io.github.logsegment.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A scan of the Python data source. The log and the plan name the reason why Python reads it. */
final class PythonScanWithReason implements Scan {
  private static final Logger LOG = LoggerFactory.getLogger(PythonScanWithReason.class);

  private final Scan python;
  /** What was planned; null for what Python plans when it is asked. */
  private final InputPartition[] partitions;
  private final String reason;

  PythonScanWithReason(Scan python, InputPartition[] partitions, String reason) {
    this.python = python;
    this.partitions = partitions;
    this.reason = reason;
    LOG.info("The Python reader of logsegment reads this query: {}", reason);
  }

  @Override
  public StructType readSchema() {
    return python.readSchema();
  }

  @Override
  public String description() {
    return python.description() + " (read in Python: " + reason + ")";
  }

  @Override
  public Batch toBatch() {
    Batch batch = python.toBatch();
    if (partitions == null) {
      return batch;
    }
    return new Batch() {
      @Override
      public InputPartition[] planInputPartitions() {
        return partitions;
      }

      @Override
      public PartitionReaderFactory createReaderFactory() {
        return batch.createReaderFactory();
      }
    };
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    return python.toMicroBatchStream(checkpointLocation);
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return python.supportedCustomMetrics();
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return python.reportDriverMetrics();
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.UNSUPPORTED;
  }
}
