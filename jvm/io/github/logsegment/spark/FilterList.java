package io.github.logsegment.spark;

import java.util.List;
import java.util.stream.Collectors;

/** Filters as `Filters` names them: the name, the column and the value, or Not with a filter inside. */
record FilterList(List<List<Object>> filters) {
  @Override
  public String toString() {
    return filters.stream().map(Object::toString).collect(Collectors.joining(", ", "[", "]"));
  }

  /** Write the filters as the library reads them. */
  void write(FieldsOut out) {
    out.list(filters, filter -> write(out, filter, false));
  }

  @SuppressWarnings("unchecked")
  private static void write(FieldsOut out, List<Object> filter, boolean isNegated) {
    if (filter.get(0).equals("Not")) {
      write(out, (List<Object>) filter.get(2), !isNegated);
      return;
    }
    List<Object> values = filter.get(2) instanceof List<?> several ? (List<Object>) several : List.of(filter.get(2));
    out.flag(isNegated).text((String) filter.get(0)).text((String) filter.get(1));
    out.list(values, value -> {
      boolean isText = value instanceof String;
      out.flag(isText);
      if (isText) {
        out.text((String) value);
      } else {
        out.number(((Number) value).longValue());
      }
    });
  }
}
