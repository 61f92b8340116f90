package io.github.logsegment.spark;

import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The Python data source "logsegment", where Spark has one. */
interface PythonReader {
  TableProvider provider();

  /** Return the schemas of the values and of the keys of a query as the library reads them. */
  byte[] schemas(StructType schema, CaseInsensitiveStringMap options);
}
