package io.github.logsegment.spark;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Segments as a table; queries are planned when they run. */
final class LogSegmentTable implements SupportsRead, SupportsWrite {
  private final StructType schema;
  private final Transform[] partitioning;
  private final Map<String, String> properties;

  LogSegmentTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    this.schema = schema;
    this.partitioning = partitioning;
    this.properties = properties;
  }

  @Override
  public String name() {
    return LogSegmentProvider.NAME;
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return schema;
  }

  /** Batch queries are read here; the rest needs the Python data source. */
  @Override
  public Set<TableCapability> capabilities() {
    if (!PythonFallback.exists()) {
      return EnumSet.of(TableCapability.BATCH_READ);
    }
    return EnumSet.of(
        TableCapability.BATCH_READ,
        TableCapability.BATCH_WRITE,
        TableCapability.MICRO_BATCH_READ,
        TableCapability.STREAMING_WRITE,
        TableCapability.TRUNCATE);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    CaseInsensitiveStringMap all = withProperties(options);
    return new LogSegmentScanBuilder(reason -> ((SupportsRead) python(reason)).newScanBuilder(StoreSettings.with(all)), schema, all);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return ((SupportsWrite) python("a write")).newWriteBuilder(StoreSettings.with(info));
  }

  /** A table of Spark's catalog has its options as properties; those of a query take precedence. */
  private CaseInsensitiveStringMap withProperties(CaseInsensitiveStringMap options) {
    Map<String, String> all = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    all.putAll(properties);
    all.putAll(options.asCaseSensitiveMap());
    return new CaseInsensitiveStringMap(all);
  }

  private Table python(String reason) {
    return PythonFallback.table(schema, partitioning, properties, reason);
  }
}
