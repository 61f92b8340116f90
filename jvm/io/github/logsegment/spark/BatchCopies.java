package io.github.logsegment.spark;

import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Batches as copies, for a consumer that keeps them longer than a reader does. */
interface BatchCopies {
  ColumnarBatch copied(NativeColumn[] columns, int rows);

  /** Makes the copies of a task. */
  interface Factory {
    /** Return null if the consumer of the batches makes rows of them. */
    BatchCopies ifAsked(StructType schema);
  }
}
