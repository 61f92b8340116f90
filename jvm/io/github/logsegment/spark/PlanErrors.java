package io.github.logsegment.spark;

import java.lang.reflect.Constructor;
import java.util.Arrays;
import org.apache.spark.sql.AnalysisException;

/** Errors of a plan as Spark's `AnalysisException`, whose text is the sentence of the library alone. */
final class PlanErrors {
  private PlanErrors() {}

  static RuntimeException of(String message) {
    return thrown(exception(message));
  }

  /** The constructor that takes a text has other parameters in each version of Spark: all but the text are empty. */
  private static Throwable exception(String message) {
    for (Constructor<?> constructor : AnalysisException.class.getDeclaredConstructors()) {
      Class<?>[] types = constructor.getParameterTypes();
      boolean isOfText = types.length > 4 && types[0] == String.class && types[1].getName().equals("scala.Option");
      if (!isOfText) {
        continue;
      }
      Object[] arguments = Arrays.stream(types).map(PlanErrors::empty).toArray();
      arguments[0] = message;
      try {
        return (Throwable) constructor.newInstance(arguments);
      } catch (ReflectiveOperationException | RuntimeException other) {
        return new IllegalArgumentException(message);
      }
    }
    return new IllegalArgumentException(message);
  }

  private static Object empty(Class<?> type) {
    try {
      if (type.getName().equals("scala.Option")) {
        return type.getMethod("empty").invoke(null);
      }
      if (type.getName().equals("scala.collection.immutable.Map")) {
        Object module = Class.forName("scala.collection.immutable.Map$").getField("MODULE$").get(null);
        return module.getClass().getMethod("empty").invoke(module);
      }
      return type.isArray() ? java.lang.reflect.Array.newInstance(type.getComponentType(), 0) : null;
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }

  /** `AnalysisException` is checked, and Spark throws it where nothing declares it. */
  static RuntimeException thrown(Throwable error) {
    PlanErrors.<RuntimeException>raise(error);
    return null;
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> void raise(Throwable error) throws T {
    throw (T) error;
  }
}
