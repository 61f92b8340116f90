package io.github.logsegment.spark;

import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Plans of the library: options, columns and filters go in, the columns or the tasks come out. No Python process takes part. */
final class NativePlan {
  private static final Logger LOG = LoggerFactory.getLogger(NativePlan.class);
  /** What the library asks; src/jvm/questions.rs has the same numbers. */
  private static final long PATTERN = 1;
  private static final long DATA_KEY = 2;
  private static final long SCHEMAS = 3;
  /** What `planned` of the library returns. */
  private static final long RESULT = 0;
  private static final long QUESTION = 1;

  private NativePlan() {}

  /** The columns of a query, or the reason why only Python knows them. */
  record Columns(String reason, StructType schema) {}

  /** The tasks of a query and what they share, or the reason why Python reads it; and the options that a plan shows. */
  record Tasks(String reason, String described, byte[] query, List<byte[]> tasks) {}

  static Columns columns(CaseInsensitiveStringMap options) {
    FieldsIn found = asked(request(false, options, new StructType(), new FilterList(List.of())), () -> null);
    described(found);
    String reason = found.givenText();
    return new Columns(reason, reason == null ? (StructType) DataType.fromJson(found.text()) : null);
  }

  /** `schemas` asks Python for the schemas of keys and values. */
  static Tasks tasks(StructType schema, CaseInsensitiveStringMap options, FilterList filters, Supplier<byte[]> schemas) {
    FieldsIn found = asked(request(true, options, schema, filters), schemas);
    String described = described(found);
    String reason = found.givenText();
    if (reason != null) {
      return new Tasks(reason, described, null, null);
    }
    found.list(FieldsIn::text).forEach(LOG::warn);
    return new Tasks(null, described, found.bytes(), found.list(FieldsIn::bytes));
  }

  private static String described(FieldsIn found) {
    return found.list(one -> one.text() + ": " + one.text()).stream().collect(Collectors.joining(", "));
  }

  private static byte[] request(boolean wantsTasks, CaseInsensitiveStringMap options, StructType schema, FilterList filters) {
    FieldsOut out = new FieldsOut();
    int cores = Math.max(Runtime.getRuntime().availableProcessors(), SparkContext.getOrCreate().defaultParallelism());
    out.flag(wantsTasks).number(cores);
    pairs(out, options.asCaseSensitiveMap());
    pairs(out, StoreSettings.ofSession());
    out.list(List.of(schema.fields()), (StructField field) -> out.text(field.name()).text(field.dataType().json()).flag(field.nullable()));
    filters.write(out);
    return out.toBytes();
  }

  private static void pairs(FieldsOut out, Map<String, String> pairs) {
    out.list(pairs.entrySet(), pair -> out.text(pair.getKey()).text(pair.getValue()));
  }

  /** Ask the library, and answer what it asks. */
  private static FieldsIn asked(byte[] request, Supplier<byte[]> schemas) {
    long handle = withBytes(request, address -> NativeReader.plan(address, request.length));
    if (handle == 0) {
      throw new IllegalStateException("logsegment.InternalError: internal error, please report it: a plan could not be started");
    }
    long place = Platform.allocateMemory(16);
    try {
      byte[] answer = new byte[0];
      while (true) {
        byte[] own = answer;
        long state = withBytes(own, address -> NativeReader.planned(handle, address, own.length, place));
        byte[] bytes = NativeReader.bytes(Platform.getLong(null, place), (int) Platform.getLong(null, place + 8));
        if (state == RESULT) {
          return new FieldsIn(bytes);
        }
        if (state != QUESTION) {
          throw PlanErrors.of(new String(bytes, java.nio.charset.StandardCharsets.UTF_8));
        }
        answer = answer(new FieldsIn(bytes), schemas);
      }
    } finally {
      Platform.freeMemory(place);
      NativeReader.closePlan(handle);
    }
  }

  private static byte[] answer(FieldsIn question, Supplier<byte[]> schemas) {
    long kind = question.number();
    try {
      if (kind == PATTERN) {
        Pattern pattern = Pattern.compile(question.text());
        List<Boolean> found = question.list(FieldsIn::text).stream().map(topic -> pattern.matcher(topic).find()).toList();
        FieldsOut out = new FieldsOut().flag(true);
        return out.list(found, out::flag).toBytes();
      }
      if (kind == DATA_KEY) {
        return DataKeys.answer(question.bytes(), question.bytes());
      }
      if (kind == SCHEMAS) {
        return new FieldsOut().flag(true).bytes(schemas.get()).toBytes();
      }
      return refused("the library asks question " + kind + ", which this jar does not know");
    } catch (PatternSyntaxException error) {
      String text = error.getMessage().lines().findFirst().orElse("");
      return refused("option subscribePattern must be a regular expression, not '" + error.getPattern() + "': " + text);
    }
  }

  private static byte[] refused(String text) {
    return new FieldsOut().flag(false).text(text).toBytes();
  }

  private static long withBytes(byte[] bytes, java.util.function.LongUnaryOperator call) {
    long address = Platform.allocateMemory(Math.max(bytes.length, 1));
    try {
      Platform.copyMemory(bytes, Platform.BYTE_ARRAY_OFFSET, null, address, bytes.length);
      return call.applyAsLong(address);
    } finally {
      Platform.freeMemory(address);
    }
  }
}
