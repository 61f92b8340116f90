package io.github.logsegment.spark;

import java.util.Arrays;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Notes what a query wants, and then asks Python for the plan. Spark gets all filters back and checks the rows again, so a filter only needs
 * to leave out what surely is not wanted.
 */
final class LogSegmentScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters, SupportsPushDownLimit {
  /** The setting of a session that switches this reader off. */
  private static final String READER = "spark.logsegment.reader";

  private final ScanBuilder python;
  private final StructType schema;
  private final CaseInsensitiveStringMap options;
  private StructType wanted;
  private Predicate[] filters = new Predicate[0];
  private int limit = Integer.MAX_VALUE;

  LogSegmentScanBuilder(ScanBuilder python, StructType schema, CaseInsensitiveStringMap options) {
    this.python = python;
    this.schema = schema;
    this.options = options;
  }

  @Override
  public void pruneColumns(StructType required) {
    // Fields of headers are not pruned: a name stands for the whole column.
    wanted = new StructType(Arrays.stream(required.fieldNames()).map(schema::apply).toArray(StructField[]::new));
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    filters = predicates;
    return predicates;
  }

  @Override
  public Predicate[] pushedPredicates() {
    return new Predicate[0];
  }

  @Override
  public boolean pushLimit(int limit) {
    this.limit = limit;
    return true;
  }

  @Override
  public Scan build() {
    if (wanted == null || wanted.equals(schema)) {
      return new LogSegmentScan(schema, this::planned, () -> new PythonScanWithReason(python.build(), null, "a stream"));
    }
    // A stream has all columns.
    return planned();
  }

  private Scan planned() {
    boolean isOff = "python".equals(SparkSession.active().conf().get(READER, "auto"));
    String problem = isOff ? READER + " is python" : NativeReader.problem();
    if (problem != null) {
      return PythonSource.unplanned(python, filters, problem);
    }
    return PythonSource.plan(schema, options, filters).scan(wanted == null ? schema : wanted, limit);
  }
}
