package io.github.logsegment.spark;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column in Arrow's layout, in memory that the library owns or, if it is a copy, in an array. One class for all types: the calls of
 * generated code then have one target.
 */
final class NativeColumn extends ColumnVector {
  /** Longs of a column in the answer of the library; src/jvm/columns.rs writes them. */
  private static final int NUMBERS = 5;
  /** Bytes of a decimal in Arrow, whatever its precision is. */
  private static final int DECIMAL_BYTES = 16;

  private final NativeColumn[] children;
  /** What addresses are relative to: the array of a copy; null for memory of the library. */
  private byte[] block;
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
    } else if (type instanceof MapType map) {
      children = new NativeColumn[] {new NativeColumn(map.keyType()), new NativeColumn(map.valueType())};
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

  /** Copy rows to the heap, where they stay when the library frees its memory. The buffers of the copy begin with the first of them. */
  NativeColumn copied(int start, int count) {
    NativeColumn copy = new NativeColumn(dataType());
    copy.rows = count;
    int begin = hasOffsets() && count > 0 ? getInt(start) : 0;
    int end = hasOffsets() && count > 0 ? getInt(start + count) : 0;
    int bits = padded((count + 7) / 8);
    int data = padded(firstBytes(count));
    int total = Math.addExact(bits + data, hasText() ? end - begin : 0);
    copy.block = new byte[total];
    copy.first = Platform.BYTE_ARRAY_OFFSET + bits;
    copy.second = copy.first + data;
    copyBits(validity, firstBit + start, count, copy.block, 0);
    copy.validity = hasNull() ? Platform.BYTE_ARRAY_OFFSET : 0;
    if (dataType() instanceof BooleanType) {
      copyBits(first, firstRow + start, count, copy.block, bits);
    } else if (!hasOffsets()) {
      Platform.copyMemory(block, first + rowBytes() * (firstRow + start), copy.block, copy.first, firstBytes(count));
    } else {
      for (int row = 0; count > 0 && row <= count; row++) {
        Platform.putInt(copy.block, copy.first + 4L * row, getInt(start + row) - begin);
      }
    }
    if (hasText()) {
      Platform.copyMemory(block, second + begin, copy.block, copy.second, end - begin);
    }
    boolean isList = dataType() instanceof ArrayType || dataType() instanceof MapType;
    for (int index = 0; index < children.length; index++) {
      copy.children[index] = isList ? children[index].copied(begin, end - begin) : children[index].copied(start, count);
    }
    return copy;
  }

  /** Bytes of a copy without its children. */
  int bytes() {
    return block.length;
  }

  /** Rows of a copy. */
  int rows() {
    return rows;
  }

  /** Write a copy without its children to this address; returns the addresses where its buffers begin, and the one behind the last. */
  long[] write(long address) {
    Platform.copyMemory(block, Platform.BYTE_ARRAY_OFFSET, null, address, block.length);
    long data = address + first - Platform.BYTE_ARRAY_OFFSET;
    long text = address + second - Platform.BYTE_ARRAY_OFFSET;
    long end = address + block.length;
    if (dataType() instanceof StructType) {
      return new long[] {address, data};
    }
    return hasText() ? new long[] {address, data, text, end} : new long[] {address, data, text};
  }

  private boolean hasText() {
    return dataType() instanceof StringType || dataType() instanceof BinaryType;
  }

  private boolean hasOffsets() {
    return hasText() || dataType() instanceof ArrayType || dataType() instanceof MapType;
  }

  private int rowBytes() {
    if (dataType() instanceof DecimalType) {
      return DECIMAL_BYTES;
    }
    return dataType() instanceof StructType ? 0 : dataType().defaultSize();
  }

  /** Bytes of the first buffer. */
  private int firstBytes(int rows) {
    if (dataType() instanceof BooleanType) {
      return (rows + 7) / 8;
    }
    return hasOffsets() ? 4 * (rows + 1) : Math.multiplyExact(rowBytes(), rows);
  }

  private static int padded(int bytes) {
    return Math.addExact(bytes, 7) & ~7;
  }

  /** Copy bits to the beginning of a byte; without an address, all of them are set. */
  private void copyBits(long address, long from, int count, byte[] target, int at) {
    int bytes = (count + 7) / 8;
    if (address == 0) {
      Arrays.fill(target, at, at + bytes, (byte) 0xff);
    } else if ((from & 7) == 0) {
      Platform.copyMemory(block, address + (from >> 3), target, Platform.BYTE_ARRAY_OFFSET + at, bytes);
    } else {
      for (int index = 0; index < count; index++) {
        target[at + (index >> 3)] |= (byte) ((bit(address, from + index) ? 1 : 0) << (index & 7));
      }
    }
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
    return Platform.getByte(block, first + firstRow + row);
  }

  @Override
  public short getShort(int row) {
    return Platform.getShort(block, first + 2 * (firstRow + row));
  }

  @Override
  public int getInt(int row) {
    return Platform.getInt(block, first + 4 * (firstRow + row));
  }

  @Override
  public long getLong(int row) {
    return Platform.getLong(block, first + 8 * (firstRow + row));
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = getInt(row);
    return UTF8String.fromAddress(block, second + start, getInt(row + 1) - start);
  }

  @Override
  public byte[] getBinary(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = getInt(row);
    byte[] bytes = new byte[getInt(row + 1) - start];
    Platform.copyMemory(block, second + start, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
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
    return Platform.getFloat(block, first + 4 * (firstRow + row));
  }

  @Override
  public double getDouble(int row) {
    return Platform.getDouble(block, first + 8 * (firstRow + row));
  }

  @Override
  public ColumnarMap getMap(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = getInt(row);
    return new ColumnarMap(children[0], children[1], start, getInt(row + 1) - start);
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    if (isNullAt(row)) {
      return null;
    }
    long at = first + DECIMAL_BYTES * (firstRow + row);
    boolean isLittle = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    long low = Platform.getLong(block, isLittle ? at : at + 8);
    if (precision <= Decimal.MAX_LONG_DIGITS()) {
      return Decimal.createUnsafe(low, precision, scale);
    }
    long high = Platform.getLong(block, isLittle ? at + 8 : at);
    BigInteger digits = new BigInteger(ByteBuffer.allocate(DECIMAL_BYTES).putLong(high).putLong(low).array());
    return Decimal.apply(new BigDecimal(digits, scale), precision, scale);
  }

  /** Spark frees vectors after each batch; these are used again. */
  @Override
  public void closeIfFreeable() {}

  /** The reader frees the memory. */
  @Override
  public void close() {}

  private boolean bit(long address, long index) {
    return (Platform.getByte(block, address + (index >> 3)) >> (index & 7) & 1) != 0;
  }
}
