package io.github.logsegment.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import net.razorvine.pickle.Unpickler;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Spark's Python data source "logsegment", of Spark 4.0 and newer: the only class that names Spark's internal ones. */
final class PythonSource implements PythonReader {
  /** The option by which Python knows what Java asks; logsegment.spark.jvm.planning reads it. */
  private static final String PLAN = "jvm.plan";
  private static final String MODULE = "logsegment.spark.jvm.planning";

  static {
    Unpickler.registerConstructor(MODULE, "SchemasNote", arguments -> new Note((String) arguments[0], (byte[]) arguments[1]));
  }

  /** The version of the Python package, and the schemas of values and keys. */
  record Note(String version, byte[] schemas) {}

  /** A provider of its own for each plan: one remembers what it planned first. */
  @Override
  public TableProvider provider() {
    PythonDataSourceV2 provider = new PythonDataSourceV2();
    provider.setShortName(LogSegmentProvider.NAME);
    return provider;
  }

  @Override
  public byte[] schemas(StructType schema, CaseInsensitiveStringMap options) {
    Map<String, String> all = new HashMap<>(StoreSettings.with(options).asCaseSensitiveMap());
    all.put(PLAN, json(Map.of("version", NativeReader.VERSION)));
    SupportsRead table = (SupportsRead) provider().getTable(schema, new Transform[0], all);
    InputPartition[] partitions = table.newScanBuilder(new CaseInsensitiveStringMap(all)).build().toBatch().planInputPartitions();
    Note note = unpickled(partitions[0]);
    if (!note.version().equals(NativeReader.VERSION)) {
      throw new IllegalStateException(
          "the jar of logsegment is of version " + NativeReader.VERSION + ", the Python package of version " + note.version()
              + "; set spark.jars to logsegment.spark.jar() of the package");
    }
    return note.schemas();
  }

  private static Note unpickled(InputPartition partition) {
    try {
      return (Note) new Unpickler().loads(((PythonInputPartition) partition).pickedPartition());
    } catch (IOException error) {
      throw new IllegalStateException("the answer of logsegment's Python package cannot be read", error);
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
