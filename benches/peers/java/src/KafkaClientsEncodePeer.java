// Encode contestant: Apache kafka-clients' MemoryRecordsBuilder, as its producer drives it.
// usage: KafkaClientsEncodePeer CODEC LEVEL FILE REPEAT OUTPUT      LEVEL: a number, or - for the codec's own default
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import java.io.BufferedOutputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.ArrayList;
import java.util.List;

public class KafkaClientsEncodePeer {
  /** What a producer holds after its serializers ran. */
  static final class ProducedRecord {
    final long timestamp; final byte[] key; final byte[] value; final Header[] headers;
    ProducedRecord(Record r) { timestamp = r.timestamp(); key = array(r.key()); value = array(r.value()); headers = r.headers(); }
    static byte[] array(ByteBuffer b) { if (b == null) return null; byte[] a = new byte[b.remaining()]; b.get(b.position(), a); return a; }
  }

  static final long WARM_UP_NANOS = 2_500_000_000L;

  static List<ProducedRecord[]> load(byte[] segment) {
    List<ProducedRecord[]> batches = new ArrayList<>();
    for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(segment)).batches()) {
      List<ProducedRecord> records = new ArrayList<>();
      for (Record r : batch) records.add(new ProducedRecord(r));
      batches.add(records.toArray(new ProducedRecord[0]));
    }
    return batches;
  }

  static Compression compression(String codec, String level) {
    boolean own = level.equals("-");
    int number = own ? 0 : Integer.parseInt(level);
    switch (codec) {
      case "none": return Compression.NONE;
      case "gzip": return own ? Compression.gzip().build() : Compression.gzip().level(number).build();
      case "snappy": return Compression.snappy().build();
      case "lz4": return own ? Compression.lz4().build() : Compression.lz4().level(number).build();
      case "zstd": return own ? Compression.zstd().build() : Compression.zstd().level(number).build();
      default: throw new IllegalArgumentException(codec);
    }
  }

  /** One batch into `buffer`, which is used again and again, as the producer's pool does. */
  static MemoryRecords encode(ProducedRecord[] batch, ByteBuffer buffer, Compression compression) {
    buffer.clear();
    MemoryRecordsBuilder builder = MemoryRecords.builder(buffer, RecordBatch.MAGIC_VALUE_V2, compression, TimestampType.CREATE_TIME, 0L);
    for (ProducedRecord r : batch) builder.append(r.timestamp, r.key, r.value, r.headers);
    return builder.build();
  }

  static long pass(List<ProducedRecord[]> batches, ByteBuffer buffer, Compression compression) {
    long size = 0;
    for (ProducedRecord[] batch : batches) size += encode(batch, buffer, compression).sizeInBytes();
    return size;
  }

  static void write(List<ProducedRecord[]> batches, ByteBuffer buffer, Compression compression, Path path) throws Exception {
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(path), 1 << 20)) {
      for (ProducedRecord[] batch : batches) {
        ByteBuffer found = encode(batch, buffer, compression).buffer();
        out.write(found.array(), found.arrayOffset() + found.position(), found.remaining());
      }
    }
  }

  public static void main(String[] args) throws Exception {
    Compression compression = compression(args[0], args[1]);
    List<ProducedRecord[]> batches = load(Files.readAllBytes(Paths.get(args[2])));
    int repeat = Integer.parseInt(args[3]);
    ByteBuffer buffer = ByteBuffer.allocate(2 << 20);
    write(batches, buffer, compression, Paths.get(args[4]));
    long size = 0, start = System.nanoTime();
    for (int i = 0; i < 3 || System.nanoTime() - start < WARM_UP_NANOS; i++) pass(batches, buffer, compression);
    StringBuilder seconds = new StringBuilder();
    for (int i = 0; i < repeat; i++) {
      long begun = System.nanoTime();
      size = pass(batches, buffer, compression);
      seconds.append(i == 0 ? "" : ",").append((System.nanoTime() - begun) / 1e9);
    }
    long records = 0;
    for (ProducedRecord[] batch : batches) records += batch.length;
    System.out.println("{\"records\":" + records + ",\"bytes\":" + size + ",\"seconds\":[" + seconds + "]}");
  }
}
