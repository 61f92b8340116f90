import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;

/** What all Java clients from 0.11 to 3.9 have in common: reading batches of magic 0, 1 and 2, and filling a builder. */
final class BatchReader {
    private BatchReader() {
    }

    static void read(ByteBuffer entries, Rows rows) {
        for (RecordBatch batch : MemoryRecords.readableRecords(entries).batches()) {
            batch.ensureValid();
            for (Record record : batch) {
                record.ensureValid();
                if (!batch.isControlBatch()) {
                    byte[] key = Rows.bytes(record.key());
                    byte[] value = Rows.bytes(record.value());
                    rows.add(record.offset(), record.timestamp(), batch.timestampType().id, key, value, headers(record));
                }
            }
        }
    }

    static ByteBuffer filled(MemoryRecordsBuilder builder, byte magic, List<Rows.Row> batch) {
        for (Rows.Row row : batch) {
            if (magic < 2) {
                builder.appendWithOffset(row.offset, magic == 0 ? RecordBatch.NO_TIMESTAMP : row.timestamp, row.key, row.value);
            } else {
                builder.appendWithOffset(row.offset, row.timestamp, row.key, row.value, headers(row));
            }
        }
        return builder.build().buffer().duplicate();
    }

    private static List<Rows.Header> headers(Record record) {
        List<Rows.Header> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            headers.add(new Rows.Header(header.key(), header.value()));
        }
        return headers;
    }

    private static Header[] headers(Rows.Row row) {
        return row.headers.stream().map(header -> new RecordHeader(header.key, header.value)).toArray(Header[]::new);
    }
}
