import java.nio.ByteBuffer;
import java.util.Collections;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.LogEntry;
import org.apache.kafka.common.record.MemoryRecords;

/** The record sets of the Java clients of 0.9. A producer of that time counts the offsets of every set from 0, so all rows become one set. */
public final class Client09 implements Peer.Driver {
    @Override
    public void read(ByteBuffer entries, Rows rows) {
        for (LogEntry entry : MemoryRecords.readableRecords(entries)) {
            entry.record().ensureValid();
            byte[] key = Rows.bytes(entry.record().key());
            rows.add(entry.offset(), -1, -1, key, Rows.bytes(entry.record().value()), Collections.emptyList());
        }
    }

    @Override
    public ByteBuffer write(Rows.Spec spec) {
        ByteBuffer room = ByteBuffer.allocate(spec.roomFor());
        MemoryRecords records = MemoryRecords.emptyRecords(room, CompressionType.forName(spec.codec));
        for (Rows.Row row : spec.all()) {
            records.append(row.offset, row.key, row.value);
        }
        records.close();
        return records.buffer();
    }
}
