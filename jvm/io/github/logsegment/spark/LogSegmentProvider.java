package io.github.logsegment.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source "logsegment". Spark finds this class before the Python data source of the same name, and it asks that one for schemas,
 * plans, streams and writes. Only the rows of plain batch queries are read here.
 */
public final class LogSegmentProvider implements TableProvider, DataSourceRegister {
  static final String NAME = "logsegment";

  private final TableProvider python = PythonSource.provider();

  @Override
  public String shortName() {
    return NAME;
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return python.inferSchema(StoreSettings.with(options));
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new LogSegmentTable(python.getTable(schema, partitioning, properties), schema);
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }
}
