package io.github.logsegment.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.razorvine.pickle.Unpickler;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Spark's Python data source "logsegment": the only class that names Spark's internal ones. */
final class PythonSource {
  /** The option by which Python knows that it plans for Java; logsegment.spark.jvm.planning reads it. */
  private static final String PLAN = "jvm.plan";
  private static final String MODULE = "logsegment.spark.jvm.planning";

  static {
    Unpickler.registerConstructor(MODULE, "PlanNote", arguments -> new Note((String) arguments[0], (String) arguments[1], (byte[]) arguments[2]));
    Unpickler.registerConstructor(MODULE, "ColumnarTask", arguments -> (byte[]) arguments[0]);
  }

  private PythonSource() {}

  /** What Python says about a plan: its version, why Python reads the rows, or null, and what all tasks share. */
  record Note(String version, String reason, byte[] query) {}

  /** A plan: the scan of Python, its partitions without the note, the note, and the filters of the query. */
  record Plan(Scan python, InputPartition[] partitions, Note note, List<?> filters) {
    Scan scan(StructType wanted, int limit) {
      if (note.reason() != null) {
        return new PythonScanWithReason(python, partitions, note.reason());
      }
      ColumnarTask[] tasks = Arrays.stream(partitions).map(one -> new ColumnarTask((byte[]) unpickled(one))).toArray(ColumnarTask[]::new);
      return new ColumnarScan(new ColumnarReaderFactory(wanted, limit, note.query()), tasks, filters);
    }
  }

  /** A provider of its own for each plan: one remembers what it planned first. */
  static TableProvider provider() {
    PythonDataSourceV2 provider = new PythonDataSourceV2();
    provider.setShortName(LogSegmentProvider.NAME);
    return provider;
  }

  /** A scan that Python plans when the query runs. */
  static Scan unplanned(ScanBuilder builder, Predicate[] filters, String reason) {
    return new PythonScanWithReason(built(builder, filters), null, reason);
  }

  static Plan plan(StructType schema, CaseInsensitiveStringMap options, Predicate[] filters) {
    List<List<Object>> told = Filters.told(filters);
    Map<String, String> all = new HashMap<>(options.asCaseSensitiveMap());
    all.put(PLAN, json(Map.of("version", NativeReader.VERSION, "filters", told)));
    SupportsRead table = (SupportsRead) provider().getTable(schema, new Transform[0], all);
    Scan scan = built(table.newScanBuilder(new CaseInsensitiveStringMap(all)), filters);
    InputPartition[] partitions = scan.toBatch().planInputPartitions();
    Note note = (Note) unpickled(partitions[0]);
    if (!note.version().equals(NativeReader.VERSION)) {
      throw new IllegalStateException(
          "the jar of logsegment is of version " + NativeReader.VERSION + ", the Python package of version " + note.version()
              + "; set spark.jars to logsegment.spark.jar() of the package");
    }
    return new Plan(scan, Arrays.copyOfRange(partitions, 1, partitions.length), note, told);
  }

  /** Push filters as Spark does it: PySpark looks at its own setting. */
  private static Scan built(ScanBuilder builder, Predicate[] filters) {
    if (filters.length > 0 && builder instanceof SupportsPushDownFilters pushing) {
      pushing.pushFilters(Filters.forPython(filters));
    }
    return builder.build();
  }

  private static Object unpickled(InputPartition partition) {
    try {
      return new Unpickler().loads(((PythonInputPartition) partition).pickedPartition());
    } catch (IOException error) {
      throw new IllegalStateException("a task of logsegment's Python package cannot be read", error);
    }
  }

  private static String json(Object value) {
    try {
      return new ObjectMapper().writeValueAsString(value);
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    }
  }
}
