package io.github.logsegment.spark;

import org.apache.spark.SparkBuildInfo;

/** Classes of this package that need a newer Spark than 3.5: they are loaded by their names, and only where Spark has what they need. */
final class Newer {
  private static final String PACKAGE = "io.github.logsegment.spark.";

  private Newer() {}

  /** Return the Python data source, or null in Spark 3.5. */
  static PythonReader pythonReader() {
    return version().startsWith("3.") ? null : (PythonReader) made("PythonSource");
  }

  /** Return what makes copies for Arrow functions, or null: only Spark 4.3 takes them. */
  static BatchCopies.Factory batchCopies() {
    return version().startsWith("4.3.") ? (BatchCopies.Factory) made("ArrowBatchesFactory") : null;
  }

  static String version() {
    return SparkBuildInfo.spark_version();
  }

  private static Object made(String name) {
    try {
      return Class.forName(PACKAGE + name).getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException | LinkageError error) {
      throw new IllegalStateException("the jar of logsegment does not work with Spark " + version(), error);
    }
  }
}
