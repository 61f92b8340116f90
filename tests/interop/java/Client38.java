import java.nio.ByteBuffer;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;

/** The Java clients of 3.8 and 3.9, in which a codec comes with its level. */
public final class Client38 implements Peer.Driver {
    @Override
    public void read(ByteBuffer entries, Rows rows) {
        BatchReader.read(entries, rows);
    }

    @Override
    public ByteBuffer write(Rows.Spec spec) {
        ByteBuffer room = ByteBuffer.allocate(spec.roomFor());
        Compression codec = Compression.of(CompressionType.forName(spec.codec)).build();
        TimestampType type = TimestampType.forName(spec.timestampType);
        for (List<Rows.Row> batch : spec.batches) {
            ByteBuffer part = ByteBuffer.allocate(room.capacity());
            MemoryRecordsBuilder builder = MemoryRecords.builder(part, spec.magic, codec, type, batch.get(0).offset, spec.logAppendTime,
                RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH, RecordBatch.NO_SEQUENCE, false, 0);
            room.put(BatchReader.filled(builder, spec.magic, batch));
        }
        room.flip();
        return room;
    }

    @Override
    public String other(String[] words) throws Exception {
        return words[0].equals("filter") || words[0].equals("compact") ? LogFilter.answer(words) : Judge.answer(words);
    }
}
