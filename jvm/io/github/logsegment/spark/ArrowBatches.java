package io.github.logsegment.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.ReferenceManager;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.spark.SparkBuildInfo;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Batches for Arrow functions of Python, which Spark writes to the worker without making rows of them. Spark keeps the columns of batches
 * that wait for their results, and reads them after the reader went on and even after it was closed: each batch is a copy on the heap.
 * Vectors of Arrow are made of the columns that a function takes; their memory is freed when those of another batch are asked for.
 */
final class ArrowBatches {
  /** What asks for batches before it makes rows, if the first of them is not of Arrow. */
  private static final String CONSUMER = "org.apache.spark.sql.execution.python.ColumnarArrowEvalPython";

  private final StructType schema;
  private final List<Long> blocks = new ArrayList<>();
  private Object written;
  private boolean isBegun;

  private ArrowBatches(StructType schema, TaskContext task) {
    this.schema = schema;
    task.addTaskCompletionListener((TaskCompletionListener) context -> free());
  }

  /**
   * Return batches for who asks for the first one, or null if that is not Spark's evaluation of Arrow functions. A scan is not told who reads
   * it, but the calls that lead here say it. Other versions of Spark may ask in another order or in another thread, and get rows.
   */
  static ArrowBatches ifAsked(StructType schema) {
    String version = SparkBuildInfo.spark_version();
    TaskContext task = TaskContext.get();
    if (!version.startsWith("4.3.") || task == null || schema.isEmpty()) {
      return null;
    }
    boolean isAsked = StackWalker.getInstance().walk(calls -> calls.anyMatch(call -> call.getClassName().startsWith(CONSUMER)));
    return isAsked ? new ArrowBatches(schema, task) : null;
  }

  ColumnarBatch copied(NativeColumn[] columns, int rows) {
    NativeColumn[] copies = new NativeColumn[columns.length];
    ArrowColumn[] arrow = new ArrowColumn[columns.length];
    for (int index = 0; index < copies.length; index++) {
      FieldVector empty = field(schema.apply(index).name(), columns[index].dataType()).createVector(ArrowUtils.rootAllocator());
      copies[index] = columns[index].copied(0, rows);
      arrow[index] = new ArrowColumn(copies[index], empty, this, copies);
    }
    boolean isFirst = !isBegun;
    isBegun = true;
    return new ArrowBatch(copies, arrow, rows, isFirst);
  }

  /** Return a column of a batch as Arrow has it. */
  FieldVector vector(NativeColumn column, Field field, Object batch) {
    if (written != batch) {
      free();
      written = batch;
    }
    FieldVector vector = field.createVector(ArrowUtils.rootAllocator());
    load(vector, column);
    return vector;
  }

  private void load(FieldVector vector, NativeColumn column) {
    long block = Platform.allocateMemory(Math.max(column.bytes(), 1));
    blocks.add(block);
    long[] edges = column.write(block);
    List<ArrowBuf> buffers = new ArrayList<>();
    for (int index = 0; index + 1 < edges.length; index++) {
      buffers.add(new ArrowBuf(ReferenceManager.NO_OP, null, edges[index + 1] - edges[index], edges[index]));
    }
    // With the real number of nulls, Arrow would allocate validity bits of its own for 0.
    vector.loadFieldBuffers(new ArrowFieldNode(column.rows(), -1), buffers);
    loadChildren(column.dataType() instanceof MapType ? entries(vector, column) : vector, column);
  }

  private void loadChildren(FieldVector vector, NativeColumn column) {
    List<FieldVector> children = vector.getChildrenFromFields();
    for (int index = 0; index < children.size(); index++) {
      load(children.get(index), (NativeColumn) column.getChild(index));
    }
  }

  /** The pairs of a map, none of which is null. */
  private FieldVector entries(FieldVector vector, NativeColumn column) {
    FieldVector pairs = vector.getChildrenFromFields().get(0);
    int rows = ((NativeColumn) column.getChild(0)).rows();
    int bytes = (rows + 7) / 8;
    long block = Platform.allocateMemory(Math.max(bytes, 1));
    blocks.add(block);
    Platform.setMemory(block, (byte) 0xff, bytes);
    pairs.loadFieldBuffers(new ArrowFieldNode(rows, 0), List.of(new ArrowBuf(ReferenceManager.NO_OP, null, bytes, block)));
    return pairs;
  }

  private void free() {
    blocks.forEach(Platform::freeMemory);
    blocks.clear();
  }

  private static Field field(String name, DataType type) {
    List<Field> children = List.of();
    if (type instanceof ArrayType list) {
      children = List.of(field("element", list.elementType()));
    } else if (type instanceof StructType struct) {
      children = Arrays.stream(struct.fields()).map((StructField one) -> field(one.name(), one.dataType())).toList();
    } else if (type instanceof MapType map) {
      Field key = new Field("key", FieldType.notNullable(arrowType(map.keyType())), field("key", map.keyType()).getChildren());
      children = List.of(new Field("entries", FieldType.notNullable(new ArrowType.Struct()), List.of(key, field("value", map.valueType()))));
    }
    return new Field(name, FieldType.nullable(arrowType(type)), children);
  }

  private static ArrowType arrowType(DataType type) {
    if (type instanceof BinaryType) {
      return new ArrowType.Binary();
    }
    if (type instanceof StringType) {
      return new ArrowType.Utf8();
    }
    if (type instanceof BooleanType) {
      return new ArrowType.Bool();
    }
    if (type instanceof TimestampType) {
      return new ArrowType.Timestamp(TimeUnit.MICROSECOND, "UTC");
    }
    if (type instanceof TimestampNTZType) {
      return new ArrowType.Timestamp(TimeUnit.MICROSECOND, null);
    }
    if (type instanceof DateType) {
      return new ArrowType.Date(DateUnit.DAY);
    }
    if (type instanceof DecimalType decimal) {
      return new ArrowType.Decimal(decimal.precision(), decimal.scale(), 128);
    }
    if (type instanceof FloatType || type instanceof DoubleType) {
      return new ArrowType.FloatingPoint(type instanceof FloatType ? FloatingPointPrecision.SINGLE : FloatingPointPrecision.DOUBLE);
    }
    if (type instanceof ArrayType) {
      return new ArrowType.List();
    }
    if (type instanceof MapType) {
      return new ArrowType.Map(false);
    }
    return type instanceof StructType ? new ArrowType.Struct() : new ArrowType.Int(8 * type.defaultSize(), true);
  }
}
