import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;

/**
 * What Kafka's classes make of bytes, damaged ones too: the records of every entry before the first failure, control records too, and that
 * failure.
 *
 * <pre>
 * judge IN OUT    IN: inputs, each behind its length (int32); OUT: a line for each  -> "ok COUNT"
 * tell IN OUT     the records of one input before its failure, as rows              -> "ok COUNT"
 * </pre>
 *
 * A line is: where the entry stands that fails, records before it, MD5 of their rows, "reads" or the failure.
 */
final class Judge {
    private final Rows rows = new Rows();
    private int position;
    private String verdict = "reads";

    private Judge(ByteBuffer entries) {
        try {
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(entries).batches()) {
                batch.ensureValid();
                rows.addAll(read(batch));
                position += batch.sizeInBytes();
            }
        } catch (Throwable failure) {
            verdict = told(failure);
        }
    }

    /** A command of those above. */
    static String answer(String[] words) throws Exception {
        byte[] in = Files.readAllBytes(Paths.get(words[1]));
        Path out = Paths.get(words[2]);
        switch (words[0]) {
            case "judge":
                return String.valueOf(all(ByteBuffer.wrap(in), out));
            case "tell":
                Rows rows = new Judge(ByteBuffer.wrap(in)).rows;
                rows.save(out);
                return String.valueOf(rows.count());
            default:
                throw new UnsupportedOperationException(words[0]);
        }
    }

    private static int all(ByteBuffer inputs, Path out) throws Exception {
        ByteArrayOutputStream lines = new ByteArrayOutputStream();
        int count = 0;
        while (inputs.hasRemaining()) {
            byte[] input = new byte[inputs.getInt()];
            inputs.get(input);
            lines.write(new Judge(ByteBuffer.wrap(input)).line().getBytes(StandardCharsets.UTF_8));
            count++;
        }
        Files.write(out, lines.toByteArray());
        return count;
    }

    private String line() throws Exception {
        StringBuilder digest = new StringBuilder();
        for (byte part : MessageDigest.getInstance("MD5").digest(rows.text().getBytes(StandardCharsets.UTF_8))) {
            digest.append(String.format("%02x", part));
        }
        return position + "\t" + rows.count() + "\t" + digest + "\t" + verdict + "\n";
    }

    private static Rows read(MutableRecordBatch batch) {
        Rows rows = new Rows();
        // As the consumer reads; `iterator` passes over the payload of a batch that says it has no records.
        try (CloseableIterator<Record> records = batch.streamingIterator(BufferSupplier.NO_CACHING)) {
            while (records.hasNext()) {
                add(records.next(), batch, rows);
            }
        }
        return rows;
    }

    private static void add(Record record, MutableRecordBatch batch, Rows rows) {
        record.ensureValid();
        List<Rows.Header> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            headers.add(new Rows.Header(header.key(), header.value()));
        }
        byte[] key = Rows.bytes(record.key());
        rows.add(record.offset(), record.timestamp(), batch.timestampType().id, key, Rows.bytes(record.value()), headers);
    }

    private static String told(Throwable failure) {
        String text = failure.getClass().getSimpleName() + ": " + failure.getMessage();
        return text.replaceAll("\\s+", " ");
    }
}
