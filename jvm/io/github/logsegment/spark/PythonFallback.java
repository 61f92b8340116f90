package io.github.logsegment.spark;

import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What the library does not do goes to the Python data source, with the reason. Where there is no Python, the reason is the error. */
final class PythonFallback {
  private PythonFallback() {}

  static boolean exists() {
    return Newer.pythonReader() != null;
  }

  static StructType inferSchema(CaseInsensitiveStringMap options, String reason) {
    return asked(reason, python -> python.provider().inferSchema(StoreSettings.with(options)));
  }

  static Table table(StructType schema, Transform[] partitioning, Map<String, String> properties, String reason) {
    return asked(reason, python -> python.provider().getTable(schema, partitioning, properties));
  }

  static byte[] schemas(StructType schema, CaseInsensitiveStringMap options) {
    return asked("values with schemas", python -> python.schemas(schema, options));
  }

  /** Push filters as Spark does it: PySpark looks at its own setting. */
  static Scan scan(ScanBuilder builder, Predicate[] filters) {
    if (filters.length > 0 && builder instanceof SupportsPushDownFilters) {
      ((SupportsPushDownFilters) builder).pushFilters(Filters.forPython(filters));
    }
    return builder.build();
  }

  private static <T> T asked(String reason, Function<PythonReader, T> question) {
    PythonReader python = Newer.pythonReader();
    if (python == null) {
      throw missing(reason, "Spark " + Newer.version() + " has no Python data sources, see logsegment.spark.load");
    }
    try {
      return question.apply(python);
    } catch (RuntimeException error) {
      throw because(reason, error);
    } catch (Exception checked) {
      // Scala declares no exceptions.
      throw because(reason, checked);
    }
  }

  private static RuntimeException because(String reason, Exception error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      String text = String.valueOf(cause.getMessage());
      if (text.contains("Cannot run program") || text.contains("DATA_SOURCE_NOT_EXIST") || text.contains("DATA_SOURCE_NOT_FOUND")) {
        return missing(reason, "the driver has no Python with the package logsegment (" + text.lines().findFirst().orElse("") + ")");
      }
    }
    return PlanErrors.thrown(error);
  }

  private static RuntimeException missing(String reason, String problem) {
    return PlanErrors.of("the JVM source of logsegment does not do this: " + reason + "; the Python source does, but " + problem);
  }
}
