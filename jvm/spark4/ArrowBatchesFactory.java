package io.github.logsegment.spark;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.types.StructType;

/** Makes copies for Spark's evaluation of Arrow functions. */
final class ArrowBatchesFactory implements BatchCopies.Factory {
  /** What asks for batches before it makes rows, if the first of them is not of Arrow. */
  private static final String CONSUMER = "org.apache.spark.sql.execution.python.ColumnarArrowEvalPython";

  /**
   * A scan is not told who reads it, but the calls that lead here say it. Other versions of Spark may ask in another order or in another
   * thread, and get rows.
   */
  @Override
  public BatchCopies ifAsked(StructType schema) {
    TaskContext task = TaskContext.get();
    if (task == null || schema.isEmpty()) {
      return null;
    }
    boolean isAsked = StackWalker.getInstance().walk(calls -> calls.anyMatch(call -> call.getClassName().startsWith(CONSUMER)));
    return isAsked ? new ArrowBatches(schema, task) : null;
  }
}
