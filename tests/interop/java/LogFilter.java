import java.io.DataInputStream;
import java.io.ByteArrayInputStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;

/**
 * What {@code MemoryRecords.filterTo} makes of a log whose records with some keys go, or all records without a key and those of which a
 * later one has the same key, as {@code Cleaner} has it where there are no transactions.
 *
 * <pre>
 * filter IN KEYS OUT    IN: a log; KEYS: each behind its length (int32, -1 for null)  -> "ok BYTES"
 * compact IN OUT        IN: a log of magic 0 or 1                                     -> "ok BYTES"
 * </pre>
 *
 * Control batches stay. A batch that loses all its records stays empty if it is the last of the log, the last with data of its producer, or
 * the first of an open transaction.
 */
final class LogFilter extends MemoryRecords.RecordFilter {
    private final Set<ByteBuffer> keys;
    private final boolean hasNull;
    /** The latest offset of each key; null to drop by key. */
    private final Map<ByteBuffer, Long> latest;
    private final Map<Long, Long> lastData = new HashMap<>();
    private final Map<Long, Long> openSince = new HashMap<>();
    private long lastOffset = -1;

    private LogFilter(MemoryRecords log, Set<ByteBuffer> keys, Map<ByteBuffer, Long> latest) {
        super(0L, 0L);
        this.hasNull = keys.remove(null);
        this.keys = keys;
        this.latest = latest;
        for (MutableRecordBatch batch : log.batches()) {
            lastOffset = batch.lastOffset();
            if (batch.isControlBatch()) {
                openSince.remove(batch.producerId());
            } else if (batch.hasProducerId()) {
                lastData.put(batch.producerId(), batch.lastOffset());
                if (batch.isTransactional()) {
                    openSince.putIfAbsent(batch.producerId(), batch.baseOffset());
                }
            }
        }
    }

    /** The command above. */
    static String answer(String[] words) throws Exception {
        byte[] in = Files.readAllBytes(Paths.get(words[1]));
        MemoryRecords log = MemoryRecords.readableRecords(ByteBuffer.wrap(in));
        boolean compacts = words[0].equals("compact");
        Set<ByteBuffer> keys = compacts ? new HashSet<>() : keys(Paths.get(words[2]));
        ByteBuffer out = ByteBuffer.allocate(4 * in.length + 4096);
        LogFilter filter = new LogFilter(log, keys, compacts ? latest(log) : null);
        filtered(MemoryRecords.readableRecords(ByteBuffer.wrap(in)), filter, out);
        Files.write(Paths.get(words[words.length - 1]), Arrays.copyOf(out.array(), out.position()));
        return String.valueOf(out.position());
    }

    private static Map<ByteBuffer, Long> latest(MemoryRecords log) {
        Map<ByteBuffer, Long> latest = new HashMap<>();
        for (Record record : log.records()) {
            if (record.hasKey()) {
                latest.put(record.key().duplicate(), record.offset());
            }
        }
        return latest;
    }

    private static void filtered(MemoryRecords log, LogFilter filter, ByteBuffer out) throws Exception {
        for (Method method : MemoryRecords.class.getMethods()) {
            if (method.getName().equals("filterTo")) {
                if (method.getParameterCount() == 3) {
                    method.invoke(log, filter, out, BufferSupplier.NO_CACHING);
                } else {
                    method.invoke(log, new TopicPartition("t", 0), filter, out, Integer.MAX_VALUE, BufferSupplier.NO_CACHING);
                }
                return;
            }
        }
        throw new NoSuchMethodException("filterTo");
    }

    private static Set<ByteBuffer> keys(Path path) throws Exception {
        Set<ByteBuffer> keys = new HashSet<>();
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(Files.readAllBytes(path)));
        while (in.available() > 0) {
            int length = in.readInt();
            byte[] key = new byte[Math.max(length, 0)];
            in.readFully(key);
            keys.add(length < 0 ? null : ByteBuffer.wrap(key));
        }
        return keys;
    }

    @Override
    protected BatchRetentionResult checkBatchRetention(RecordBatch batch) {
        boolean isLast = batch.lastOffset() == lastOffset;
        boolean isLastData = batch.hasProducerId() && Long.valueOf(batch.lastOffset()).equals(lastData.get(batch.producerId()));
        boolean isFirst = batch.isTransactional() && Long.valueOf(batch.baseOffset()).equals(openSince.get(batch.producerId()));
        boolean stays = isLast || isLastData || isFirst;
        return new BatchRetentionResult(stays ? BatchRetention.RETAIN_EMPTY : BatchRetention.DELETE_EMPTY, false);
    }

    @Override
    protected boolean shouldRetainRecord(RecordBatch batch, Record record) {
        if (batch.isControlBatch()) {
            return true;
        }
        if (latest != null) {
            return record.hasKey() && record.offset() >= latest.get(record.key());
        }
        return record.hasKey() ? !keys.contains(record.key()) : !hasNull;
    }
}
