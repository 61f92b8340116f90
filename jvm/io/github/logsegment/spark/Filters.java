package io.github.logsegment.spark;

import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.StringContains;
import org.apache.spark.sql.sources.StringEndsWith;
import org.apache.spark.sql.sources.StringStartsWith;

/** Filters of Spark as lists of a name (that of PySpark's filter), a column and a value. Filters that a plan cannot use are left out. */
final class Filters {
  private static final Set<String> COLUMNS = Set.of("topic", "partition", "offset", "timestamp");

  private Filters() {}

  static List<List<Object>> told(Filter[] filters) {
    List<List<Object>> all = new ArrayList<>();
    for (Filter filter : filters) {
      List<Object> told = told(filter);
      if (told != null && COLUMNS.contains(told.get(1)) && told.get(2) != null) {
        all.add(told);
      }
    }
    return all;
  }

  private static List<Object> told(Filter filter) {
    if (filter instanceof EqualTo one) {
      return told("EqualTo", one.attribute(), one.value());
    } else if (filter instanceof EqualNullSafe one) {
      return told("EqualTo", one.attribute(), one.value());
    } else if (filter instanceof GreaterThan one) {
      return told("GreaterThan", one.attribute(), one.value());
    } else if (filter instanceof GreaterThanOrEqual one) {
      return told("GreaterThanOrEqual", one.attribute(), one.value());
    } else if (filter instanceof LessThan one) {
      return told("LessThan", one.attribute(), one.value());
    } else if (filter instanceof LessThanOrEqual one) {
      return told("LessThanOrEqual", one.attribute(), one.value());
    } else if (filter instanceof StringStartsWith one) {
      return told("StringStartsWith", one.attribute(), one.value());
    } else if (filter instanceof StringEndsWith one) {
      return told("StringEndsWith", one.attribute(), one.value());
    } else if (filter instanceof StringContains one) {
      return told("StringContains", one.attribute(), one.value());
    } else if (filter instanceof Not one) {
      List<Object> child = told(one.child());
      return child == null || child.get(2) == null ? null : Arrays.asList("Not", child.get(1), child);
    } else if (filter instanceof In one) {
      return told("In", one.attribute(), Arrays.stream(one.values()).filter(Objects::nonNull).map(Filters::plain).toList());
    }
    return null;
  }

  private static List<Object> told(String name, String column, Object value) {
    return Arrays.asList(name, column, value instanceof List ? value : plain(value));
  }

  /** Times as microseconds; whatever else columns hold is a number or a text. */
  private static Object plain(Object value) {
    if (value instanceof Timestamp time) {
      return micros(time.toInstant());
    }
    return value instanceof Instant time ? (Object) micros(time) : value;
  }

  private static long micros(Instant time) {
    return TimeUnit.SECONDS.toMicros(time.getEpochSecond()) + time.getNano() / 1000;
  }
}
