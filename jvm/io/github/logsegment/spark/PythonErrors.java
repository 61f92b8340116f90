package io.github.logsegment.spark;

import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.spark.QueryContext;
import org.apache.spark.api.python.PythonException;
import scala.collection.immutable.Map;

/** Errors of the library as the class that users of the Python reader catch. */
final class PythonErrors {
  private static final String FROM = "An exception was thrown from the columnar reader of logsegment";

  private PythonErrors() {}

  static RuntimeException of(String message) {
    try {
      return told(message);
    } catch (NoSuchMethodException older) {
      return before42(message);
    } catch (ReflectiveOperationException other) {
      return new RuntimeException(message, other);
    }
  }

  /** With the condition by which Spark throws it as it is, and with the parameters that PySpark shows: since Spark 4.2. */
  private static RuntimeException told(String message) throws ReflectiveOperationException {
    Constructor<PythonException> constructor =
        PythonException.class.getConstructor(String.class, Map.class, Throwable.class, QueryContext[].class, String.class);
    Map<String, String> parameters = new Map.Map2<>("msg", FROM, "traceback", message);
    return constructor.newInstance("PYTHON_EXCEPTION", parameters, null, new QueryContext[0], "");
  }

  private static RuntimeException before42(String message) {
    try {
      RuntimeException error = PythonException.class.getConstructor(String.class, Throwable.class).newInstance(FROM + ":\n" + message, null);
      // PySpark 4.1 raises its PythonException only for errors whose stack has a class of this package.
      StackTraceElement reader = new StackTraceElement("org.apache.spark.sql.execution.python.logsegment", "read", null, -1);
      error.setStackTrace(Stream.concat(Stream.of(reader), Arrays.stream(error.getStackTrace())).toArray(StackTraceElement[]::new));
      return error;
    } catch (ReflectiveOperationException other) {
      return new RuntimeException(message, other);
    }
  }
}
