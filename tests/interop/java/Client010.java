import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.LogEntry;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.TimestampType;

/** The record sets of the Java clients of 0.10: magic 0 and 1. */
public final class Client010 implements Peer.Driver {
    @Override
    public void read(ByteBuffer entries, Rows rows) {
        MemoryRecords records = MemoryRecords.readableRecords(entries);
        for (LogEntry entry : records.shallowEntries()) {
            entry.record().ensureValid();
        }
        for (LogEntry entry : records.deepEntries()) {
            Record record = entry.record();
            record.ensureValid();
            byte[] key = Rows.bytes(record.key());
            byte[] value = Rows.bytes(record.value());
            rows.add(entry.offset(), record.timestamp(), record.timestampType().id, key, value, Collections.emptyList());
        }
    }

    @Override
    public ByteBuffer write(Rows.Spec spec) {
        ByteBuffer room = ByteBuffer.allocate(spec.roomFor());
        CompressionType codec = CompressionType.forName(spec.codec);
        TimestampType type = TimestampType.forName(spec.timestampType);
        for (List<Rows.Row> batch : spec.batches) {
            ByteBuffer part = ByteBuffer.allocate(room.capacity());
            MemoryRecordsBuilder builder = MemoryRecords.builder(part, spec.magic, codec, type, batch.get(0).offset, spec.logAppendTime);
            for (Rows.Row row : batch) {
                builder.appendWithOffset(row.offset, spec.magic == 0 ? Record.NO_TIMESTAMP : row.timestamp, row.key, row.value);
            }
            room.put(builder.build().buffer().duplicate());
        }
        room.flip();
        return room;
    }
}
