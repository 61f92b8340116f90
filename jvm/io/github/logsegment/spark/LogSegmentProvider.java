package io.github.logsegment.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source "logsegment". Spark finds this class before the Python data source of the same name. Batch queries of records are planned
 * and read here, without Python; streams, writes, views and queries with plugin codecs go to the Python source.
 */
public final class LogSegmentProvider implements TableProvider, DataSourceRegister {
  static final String NAME = "logsegment";

  @Override
  public String shortName() {
    return NAME;
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    String reason = LogSegmentScanBuilder.whyOff();
    if (reason == null) {
      NativePlan.Columns columns = NativePlan.columns(options);
      if (columns.reason() == null) {
        return columns.schema();
      }
      reason = columns.reason();
    }
    return PythonFallback.inferSchema(options, reason);
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new LogSegmentTable(schema, partitioning, properties);
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }
}
