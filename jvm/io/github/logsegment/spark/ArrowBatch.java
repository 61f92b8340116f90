package io.github.logsegment.spark;

import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * A batch whose columns are of Arrow for the function that takes them, and are not when Spark keeps them beside its results. Spark 4.3 would
 * take what it keeps for Arrow too where one function follows another, and would then read results of the first one after it has overwritten
 * them; other columns it keeps as rows there. It asks for the first column of the first batch to see what it is, then in each batch for all
 * columns in their order to keep them, then for those of the function.
 */
final class ArrowBatch extends ColumnarBatch {
  private final ArrowColumn[] arrow;
  private boolean isLookedAt;
  private int kept;

  ArrowBatch(ColumnVector[] copies, ArrowColumn[] arrow, int rows, boolean isFirst) {
    super(copies, rows);
    this.arrow = arrow;
    isLookedAt = !isFirst;
  }

  @Override
  public ColumnVector column(int index) {
    if (!isLookedAt) {
      isLookedAt = true;
      return arrow[index];
    }
    if (index == kept) {
      kept++;
      return super.column(index);
    }
    return arrow[index];
  }
}
