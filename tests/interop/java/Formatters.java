import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * What Kafka 4.3 itself makes of the records of internal topics.
 *
 * <pre>
 * console FORMATTER SEGMENT TOPIC OUT    what a formatter of the console consumer prints, lines of offset, tab, text    -> "ok COUNT"
 * messages IN OUT                        lines of class, version, base64: the JSON of Kafka's converter, line by line    -> "ok COUNT"
 * </pre>
 */
final class Formatters {
    private Formatters() {
    }

    /** The answer to a command, null for one that is none of these. */
    static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "console":
                return String.valueOf(console(words[1], Paths.get(words[2]), words[3], Paths.get(words[4])));
            case "messages":
                return String.valueOf(messages(Paths.get(words[1]), Paths.get(words[2])));
            default:
                return null;
        }
    }

    private static int console(String formatterClass, Path segment, String topic, Path out) throws Exception {
        List<String> lines = new ArrayList<>();
        try (MessageFormatter formatter = (MessageFormatter) Class.forName(formatterClass).getDeclaredConstructor().newInstance();
                FileRecords records = FileRecords.open(segment.toFile())) {
            for (RecordBatch batch : records.batches()) {
                if (batch.isControlBatch()) {
                    continue;
                }
                for (Record record : batch) {
                    ByteArrayOutputStream printed = new ByteArrayOutputStream();
                    byte[] key = bytes(record.key());
                    byte[] value = bytes(record.value());
                    PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);
                    formatter.writeTo(new ConsumerRecord<>(topic, 0, record.offset(), key, value), stream);
                    stream.flush();
                    String text = printed.toString(StandardCharsets.UTF_8).strip();
                    if (!text.isEmpty()) {
                        lines.add(record.offset() + "\t" + text);
                    }
                }
            }
        }
        Files.write(out, lines, StandardCharsets.UTF_8);
        return lines.size();
    }

    private static int messages(Path in, Path out) throws Exception {
        List<String> lines = new ArrayList<>();
        for (String line : Files.readAllLines(in, StandardCharsets.UTF_8)) {
            String[] words = line.split(" ", -1);
            lines.add(message(words[0], Short.parseShort(words[1]), Base64.getDecoder().decode(words[2])).toString());
        }
        Files.write(out, lines, StandardCharsets.UTF_8);
        return lines.size();
    }

    private static JsonNode message(String name, short version, byte[] content) throws Exception {
        Class<?> type = Class.forName(name);
        ByteBuffer buffer = ByteBuffer.wrap(content);
        Object message = type.getConstructor(Readable.class, short.class).newInstance(new ByteBufferAccessor(buffer), version);
        if (buffer.hasRemaining()) {
            throw new IllegalArgumentException(buffer.remaining() + " bytes left behind " + message);
        }
        Method write = Class.forName(name + "JsonConverter").getMethod("write", type, short.class);
        return (JsonNode) write.invoke(null, message, version);
    }

    private static byte[] bytes(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return copy;
    }
}
