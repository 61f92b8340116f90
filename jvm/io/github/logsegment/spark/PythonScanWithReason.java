package io.github.logsegment.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A scan of the Python data source. The log and the plan name the reason why Python reads it. */
final class PythonScanWithReason implements Scan {
  private static final Logger LOG = LoggerFactory.getLogger(PythonScanWithReason.class);

  private final Scan python;
  private final String reason;
  private final String described;
  private final FilterList filters;

  PythonScanWithReason(Scan python, String reason, String described, FilterList filters) {
    this.python = python;
    this.reason = reason;
    this.described = described;
    this.filters = filters;
    LOG.info("The Python reader of logsegment reads this query: {}", reason);
  }

  @Override
  public StructType readSchema() {
    return python.readSchema();
  }

  @Override
  public String description() {
    String columns = String.join(", ", python.readSchema().fieldNames());
    String options = described.isEmpty() ? "" : described + ", ";
    return python.description() + " (read in Python: " + reason + ") (" + options + "columns: [" + columns + "], filters: " + filters + ")";
  }

  @Override
  public Batch toBatch() {
    return python.toBatch();
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
