package io.github.logsegment.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The settings of a session for Hadoop's file systems, such as spark.hadoop.fs.s3a.access.key. Python gets them as an option that no plan
 * has, and takes them as defaults of the options storage.NAME; logsegment.spark.options.storage reads them.
 */
final class StoreSettings {
  private static final String OPTION = "jvm.hadoop";
  private static final Pattern NAMES = Pattern.compile(
      "fs[.]defaultFS|fs[.]azure[.]account[.]key[.].+|fs[.]s3a[.](bucket[.].+[.])?"
          + "(access[.]key|secret[.]key|session[.]token|endpoint|endpoint[.]region|path[.]style[.]access|connection[.]ssl[.]enabled)");
  /** The file of Hadoop's own defaults, which nobody has set. */
  private static final String DEFAULTS = "core-default.xml";

  private StoreSettings() {}

  /** Return the options of a query with the settings of the active session. */
  static CaseInsensitiveStringMap with(CaseInsensitiveStringMap options) {
    Map<String, String> settings = ofSession();
    if (settings.isEmpty()) {
      return options;
    }
    Map<String, String> all = new HashMap<>(options.asCaseSensitiveMap());
    all.put(OPTION, json(settings));
    return new CaseInsensitiveStringMap(all);
  }

  static LogicalWriteInfo with(LogicalWriteInfo info) {
    return new WriteInfo(info, with(info.options()));
  }

  /** Return the settings as Spark gives them to Hadoop: those of the context, and those of the session in their place. */
  private static Map<String, String> ofSession() {
    SparkSession session = SparkSession.active();
    Configuration hadoop = session.sparkContext().hadoopConfiguration();
    Map<String, String> found = new TreeMap<>();
    for (Map.Entry<String, String> one : hadoop) {
      String name = one.getKey();
      if (NAMES.matcher(name).matches() && isSet(hadoop, name)) {
        found.put(name, hadoop.get(name));
      }
    }
    CollectionConverters.asJava(session.conf().getAll()).forEach((name, value) -> {
      if (NAMES.matcher(name).matches()) {
        found.put(name, value);
      }
    });
    return found;
  }

  private static boolean isSet(Configuration hadoop, String name) {
    String[] sources = hadoop.getPropertySources(name);
    return sources == null || sources.length == 0 || !DEFAULTS.equals(sources[sources.length - 1]);
  }

  private static String json(Map<String, String> settings) {
    try {
      return new ObjectMapper().writeValueAsString(settings);
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    }
  }

  /** A write with other options. Not a record: the text of one has its values. */
  private static final class WriteInfo implements LogicalWriteInfo {
    private final LogicalWriteInfo info;
    private final CaseInsensitiveStringMap options;

    WriteInfo(LogicalWriteInfo info, CaseInsensitiveStringMap options) {
      this.info = info;
      this.options = options;
    }

    @Override
    public CaseInsensitiveStringMap options() {
      return options;
    }

    @Override
    public String queryId() {
      return info.queryId();
    }

    @Override
    public StructType schema() {
      return info.schema();
    }

    @Override
    public Optional<StructType> rowIdSchema() {
      return info.rowIdSchema();
    }

    @Override
    public Optional<StructType> metadataSchema() {
      return info.metadataSchema();
    }
  }
}
