package io.github.logsegment.spark;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
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
import org.apache.spark.sql.types.StringType;

/**
 * Filters of Spark as lists of a name (that of PySpark's filter), a column and a value. Times are Spark's own microseconds, which no calendar
 * has changed. Filters that a plan cannot use are left out.
 */
final class Filters {
  private static final Set<String> COLUMNS = Set.of("topic", "partition", "offset", "timestamp");
  private static final String TIME = "timestamp";
  /** PySpark's filters by the names of Spark's predicates. */
  private static final Map<String, String> NAMES =
      Map.of(
          "=", "EqualTo",
          "<=>", "EqualTo",
          ">", "GreaterThan",
          ">=", "GreaterThanOrEqual",
          "<", "LessThan",
          "<=", "LessThanOrEqual",
          "STARTS_WITH", "StringStartsWith",
          "ENDS_WITH", "StringEndsWith",
          "CONTAINS", "StringContains");
  /** Comparisons with their sides exchanged. */
  private static final Map<String, String> TURNED = Map.of("=", "=", "<=>", "<=>", ">", "<", ">=", "<=", "<", ">", "<=", ">=");
  /** Times that Python has in every zone, in microseconds. */
  private static final long FIRST = micros("0001-01-03T00:00:00Z");
  private static final long LAST = micros("9999-12-29T00:00:00Z");

  private Filters() {}

  static List<List<Object>> told(Predicate[] predicates) {
    List<List<Object>> all = new ArrayList<>();
    for (Predicate predicate : predicates) {
      List<Object> told = told(predicate);
      if (told != null) {
        all.add(told);
      }
    }
    return all;
  }

  /** The filters as PySpark takes them over. Times that Python does not have are left out. */
  static Filter[] forPython(Predicate[] predicates) {
    List<Filter> all = new ArrayList<>();
    for (List<Object> told : told(predicates)) {
      Filter filter = filter(told);
      if (filter != null) {
        all.add(filter);
      }
    }
    return all.toArray(Filter[]::new);
  }

  private static List<Object> told(Predicate predicate) {
    Expression[] children = predicate.children();
    switch (predicate.name()) {
      case "NOT":
        return children[0] instanceof Predicate child ? not(told(child)) : null;
      case "<>":
        return not(compared("=", children));
      case "IN":
        return in(children);
      default:
        return compared(predicate.name(), children);
    }
  }

  private static List<Object> not(List<Object> told) {
    return told == null ? null : Arrays.asList("Not", told.get(1), told);
  }

  private static List<Object> compared(String name, Expression[] children) {
    if (children.length != 2) {
      return null;
    }
    boolean isTurned = children[0] instanceof Literal && TURNED.containsKey(name);
    String column = column(children[isTurned ? 1 : 0]);
    Object value = value(children[isTurned ? 0 : 1]);
    String filter = NAMES.get(isTurned ? TURNED.get(name) : name);
    return column == null || value == null || filter == null ? null : Arrays.asList(filter, column, value);
  }

  private static List<Object> in(Expression[] children) {
    String column = column(children[0]);
    List<Object> values = new ArrayList<>();
    for (Expression child : Arrays.copyOfRange(children, 1, children.length)) {
      if (!(child instanceof Literal<?> literal)) {
        return null;
      }
      if (literal.value() != null) {
        values.add(value(literal));
      }
    }
    return column == null ? null : Arrays.asList("In", column, values);
  }

  private static String column(Expression expression) {
    if (!(expression instanceof NamedReference reference) || reference.fieldNames().length != 1) {
      return null;
    }
    String name = reference.fieldNames()[0];
    return COLUMNS.contains(name) ? name : null;
  }

  /** The value of a literal: a text, a number, or a time in microseconds; null for anything else. */
  private static Object value(Expression expression) {
    if (!(expression instanceof Literal<?> literal) || literal.value() == null) {
      return null;
    }
    return literal.dataType() instanceof StringType ? literal.value().toString() : literal.value() instanceof Number ? literal.value() : null;
  }

  private static Filter filter(List<Object> told) {
    String column = (String) told.get(1);
    if (told.get(0).equals("Not")) {
      @SuppressWarnings("unchecked")
      Filter child = filter((List<Object>) told.get(2));
      return child == null ? null : new Not(child);
    }
    List<?> values = told.get(2) instanceof List<?> several ? several : List.of(told.get(2));
    if (column.equals(TIME) && !values.stream().allMatch(Filters::isInPython)) {
      return null;
    }
    Object[] plain = values.stream().map(value -> column.equals(TIME) ? instant((Long) value) : value).toArray();
    switch ((String) told.get(0)) {
      case "EqualTo":
        return new EqualTo(column, plain[0]);
      case "GreaterThan":
        return new GreaterThan(column, plain[0]);
      case "GreaterThanOrEqual":
        return new GreaterThanOrEqual(column, plain[0]);
      case "LessThan":
        return new LessThan(column, plain[0]);
      case "LessThanOrEqual":
        return new LessThanOrEqual(column, plain[0]);
      case "In":
        return new In(column, plain);
      case "StringStartsWith":
        return new StringStartsWith(column, (String) plain[0]);
      case "StringEndsWith":
        return new StringEndsWith(column, (String) plain[0]);
      default:
        return new StringContains(column, (String) plain[0]);
    }
  }

  private static boolean isInPython(Object micros) {
    return micros instanceof Long time && time >= FIRST && time <= LAST;
  }

  private static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }

  private static long micros(String time) {
    return Instant.parse(time).getEpochSecond() * 1_000_000L;
  }
}
