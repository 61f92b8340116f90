package io.github.logsegment.spark;

import java.util.Arrays;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column in memory that the library owns, in Arrow's layout. One class for all types: the calls of generated code then have one target.
 */
final class NativeColumn extends ColumnVector {
  /** Longs of a column in the answer of the library; src/jvm/columns.rs writes them. */
  private static final int NUMBERS = 5;

  private final NativeColumn[] children;
  private int rows;
  private long validity;
  private long firstBit;
  private long first;
  private long firstRow;
  private long second;

  private NativeColumn(DataType type) {
    super(type);
    if (type instanceof ArrayType array) {
      children = new NativeColumn[] {new NativeColumn(array.elementType())};
    } else if (type instanceof StructType struct) {
      children = of(struct);
    } else {
      children = new NativeColumn[0];
    }
  }

  static NativeColumn[] of(StructType schema) {
    return Arrays.stream(schema.fields()).map(StructField::dataType).map(NativeColumn::new).toArray(NativeColumn[]::new);
  }

  /** Longs of columns with their children. */
  static long numbers(NativeColumn[] columns) {
    return Arrays.stream(columns).mapToLong(one -> NUMBERS + numbers(one.children)).sum();
  }

  /** Move to the rows that are described at this address; returns the address behind the description. */
  long move(long at, int rows) {
    this.rows = rows;
    validity = Platform.getLong(null, at);
    firstBit = Platform.getLong(null, at + 8);
    first = Platform.getLong(null, at + 16);
    firstRow = Platform.getLong(null, at + 24);
    second = Platform.getLong(null, at + 32);
    at += 8 * NUMBERS;
    for (NativeColumn child : children) {
      at = child.move(at, 0);
    }
    return at;
  }

  @Override
  public boolean isNullAt(int row) {
    return validity != 0 && !bit(validity, firstBit + row);
  }

  @Override
  public boolean hasNull() {
    return validity != 0;
  }

  @Override
  public int numNulls() {
    int nulls = 0;
    for (int row = 0; validity != 0 && row < rows; row++) {
      nulls += isNullAt(row) ? 1 : 0;
    }
    return nulls;
  }

  @Override
  public boolean getBoolean(int row) {
    return bit(first, firstRow + row);
  }

  @Override
  public byte getByte(int row) {
    return Platform.getByte(null, first + firstRow + row);
  }

  @Override
  public short getShort(int row) {
    return Platform.getShort(null, first + 2 * (firstRow + row));
  }

  @Override
  public int getInt(int row) {
    return Platform.getInt(null, first + 4 * (firstRow + row));
  }

  @Override
  public long getLong(int row) {
    return Platform.getLong(null, first + 8 * (firstRow + row));
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = getInt(row);
    return UTF8String.fromAddress(null, second + start, getInt(row + 1) - start);
  }

  @Override
  public byte[] getBinary(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = getInt(row);
    byte[] bytes = new byte[getInt(row + 1) - start];
    Platform.copyMemory(null, second + start, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
    return bytes;
  }

  @Override
  public ColumnarArray getArray(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = getInt(row);
    return new ColumnarArray(children[0], start, getInt(row + 1) - start);
  }

  @Override
  public ColumnVector getChild(int index) {
    return children[index];
  }

  @Override
  public float getFloat(int row) {
    throw new UnsupportedOperationException();
  }

  @Override
  public double getDouble(int row) {
    throw new UnsupportedOperationException();
  }

  @Override
  public ColumnarMap getMap(int row) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    throw new UnsupportedOperationException();
  }

  /** Spark frees vectors after each batch; these are used again. */
  @Override
  public void closeIfFreeable() {}

  /** The reader frees the memory. */
  @Override
  public void close() {}

  private static boolean bit(long address, long index) {
    return (Platform.getByte(null, address + (index >> 3)) >> (index & 7) & 1) != 0;
  }
}
