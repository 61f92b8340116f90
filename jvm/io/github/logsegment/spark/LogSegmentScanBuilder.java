package io.github.logsegment.spark;

import java.util.Arrays;
import java.util.function.Function;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Notes what a query wants, and then asks the library for the plan. Spark gets all filters back and checks the rows again, so a filter only
 * needs to leave out what surely is not wanted.
 */
final class LogSegmentScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters, SupportsPushDownLimit {
  /** The setting of a session that switches this reader off. */
  private static final String READER = "spark.logsegment.reader";

  /** Makes a builder of the Python source, for a reason. */
  private final Function<String, ScanBuilder> python;
  private final StructType schema;
  private final CaseInsensitiveStringMap options;
  private StructType wanted;
  private Predicate[] filters = new Predicate[0];
  private int limit = Integer.MAX_VALUE;

  LogSegmentScanBuilder(Function<String, ScanBuilder> python, StructType schema, CaseInsensitiveStringMap options) {
    this.python = python;
    this.schema = schema;
    this.options = options;
  }

  /** Return why the library is not asked, or null. */
  static String whyOff() {
    boolean isOff = "python".equals(SQLConf.get().getConfString(READER, "auto"));
    return isOff ? READER + " is python" : NativeReader.problem();
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
      return new LogSegmentScan(schema, this::planned, this::stream);
    }
    // A stream has all columns.
    return planned();
  }

  private Scan stream() {
    return new PythonScanWithReason(python.apply("a stream").build(), "a stream", "", Filters.of(filters));
  }

  private Scan planned() {
    FilterList pushed = Filters.of(filters);
    String reason = whyOff();
    String described = "";
    if (reason == null) {
      NativePlan.Tasks plan = NativePlan.tasks(schema, options, pushed, () -> PythonFallback.schemas(schema, options));
      if (plan.reason() == null) {
        ColumnarTask[] tasks = plan.tasks().stream().map(ColumnarTask::new).toArray(ColumnarTask[]::new);
        StructType columns = wanted == null ? schema : wanted;
        return new ColumnarScan(new ColumnarReaderFactory(columns, limit, plan.query()), tasks, plan.described(), pushed);
      }
      reason = plan.reason();
      described = plan.described();
    }
    return new PythonScanWithReason(PythonFallback.scan(python.apply(reason), filters), reason, described, pushed);
  }
}
