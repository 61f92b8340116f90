package io.github.logsegment.spark;

import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.BinaryView;
import org.apache.spark.unsafe.types.UTF8String;

/** A copy of a column that Spark takes for one of Arrow. Who asks for its vector must be done with it before asking for one of another batch. */
final class ArrowColumn extends ArrowColumnVector {
  private final NativeColumn rows;
  private final FieldVector empty;
  private final ArrowBatches batches;
  private final Object batch;

  ArrowColumn(NativeColumn rows, FieldVector empty, ArrowBatches batches, Object batch) {
    super(empty);
    this.rows = rows;
    this.empty = empty;
    this.batches = batches;
    this.batch = batch;
  }

  @Override
  public ValueVector getValueVector() {
    return batches.vector(rows, empty.getField(), batch);
  }

  @Override
  public boolean hasNull() {
    return rows.hasNull();
  }

  @Override
  public int numNulls() {
    return rows.numNulls();
  }

  @Override
  public boolean isNullAt(int row) {
    return rows.isNullAt(row);
  }

  @Override
  public boolean getBoolean(int row) {
    return rows.getBoolean(row);
  }

  @Override
  public byte getByte(int row) {
    return rows.getByte(row);
  }

  @Override
  public short getShort(int row) {
    return rows.getShort(row);
  }

  @Override
  public int getInt(int row) {
    return rows.getInt(row);
  }

  @Override
  public long getLong(int row) {
    return rows.getLong(row);
  }

  @Override
  public float getFloat(int row) {
    return rows.getFloat(row);
  }

  @Override
  public double getDouble(int row) {
    return rows.getDouble(row);
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    return rows.getDecimal(row, precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    return rows.getUTF8String(row);
  }

  @Override
  public byte[] getBinary(int row) {
    return rows.getBinary(row);
  }

  /** Of Spark 4.3; older ones do not have the class, and do not call this. */
  @Override
  public BinaryView getBinaryView(int row) {
    return rows.getBinaryView(row);
  }

  @Override
  public ColumnarArray getArray(int row) {
    return rows.getArray(row);
  }

  @Override
  public ColumnarMap getMap(int row) {
    return rows.getMap(row);
  }

  /** Of a list, whose rows are read with `getArray`. */
  @Override
  public ArrowColumnVector getChild(int index) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void closeIfFreeable() {}

  @Override
  public void close() {}
}
