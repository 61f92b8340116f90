import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/**
 * Records as lines of tab-separated fields: offset, timestamp, timestamp type, key, value, headers. Bytes are base64 and null is "~"; headers are
 * "key:value" joined by commas.
 */
public final class Rows {
    private static final String NULL = "~";
    private final StringBuilder lines = new StringBuilder();
    private int count;

    /** One header of a row. */
    public static final class Header {
        public final String key;
        public final byte[] value;

        public Header(String key, byte[] value) {
            this.key = key;
            this.value = value;
        }
    }

    /** One record to write. */
    public static final class Row {
        public long offset;
        public long timestamp;
        public byte[] key;
        public byte[] value;
        public final List<Header> headers = new ArrayList<>();
    }

    /** What to write: the first line says how ("magic codec timestampType logAppendTime"), the others are rows; an empty line ends a batch. */
    public static final class Spec {
        public byte magic;
        public String codec;
        public String timestampType;
        public long logAppendTime;
        public final List<List<Row>> batches = new ArrayList<>();

        static Spec load(Path path) throws Exception {
            List<String> lines = Files.readAllLines(path, StandardCharsets.UTF_8);
            String[] how = lines.get(0).split("\t");
            Spec spec = new Spec();
            spec.magic = Byte.parseByte(how[0]);
            spec.codec = how[1];
            spec.timestampType = how[2];
            spec.logAppendTime = Long.parseLong(how[3]);
            List<Row> batch = new ArrayList<>();
            for (String line : lines.subList(1, lines.size())) {
                if (line.isEmpty()) {
                    spec.batches.add(batch);
                    batch = new ArrayList<>();
                } else {
                    batch.add(row(line));
                }
            }
            if (!batch.isEmpty()) {
                spec.batches.add(batch);
            }
            return spec;
        }

        public List<Row> all() {
            List<Row> rows = new ArrayList<>();
            batches.forEach(rows::addAll);
            return rows;
        }

        public int roomFor() {
            int room = 4096;
            for (Row row : all()) {
                room += 200 + (row.key == null ? 0 : row.key.length) + (row.value == null ? 0 : row.value.length);
            }
            return 2 * room;
        }
    }

    /** Add a record; `timestampType` is -1 (none), 0 (CreateTime) or 1 (LogAppendTime). */
    public void add(long offset, long timestamp, int timestampType, byte[] key, byte[] value, List<Header> headers) {
        lines.append(offset).append('\t').append(timestamp).append('\t').append(timestampType);
        lines.append('\t').append(text(key)).append('\t').append(text(value)).append('\t');
        for (int i = 0; i < headers.size(); i++) {
            String name = text(headers.get(i).key.getBytes(StandardCharsets.UTF_8));
            lines.append(i == 0 ? "" : ",").append(name).append(':').append(text(headers.get(i).value));
        }
        lines.append('\n');
        count++;
    }

    /** Add all of others. */
    public void addAll(Rows others) {
        lines.append(others.lines);
        count += others.count;
    }

    /** The rows as lines. */
    public String text() {
        return lines.toString();
    }

    public void save(Path path) throws Exception {
        Files.write(path, text().getBytes(StandardCharsets.UTF_8));
    }

    public int count() {
        return count;
    }

    /** The bytes of a buffer, or null. */
    public static byte[] bytes(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        ByteBuffer from = buffer.duplicate();
        byte[] bytes = new byte[from.remaining()];
        from.get(bytes);
        return bytes;
    }

    private static Row row(String line) {
        String[] fields = line.split("\t", -1);
        Row row = new Row();
        row.offset = Long.parseLong(fields[0]);
        row.timestamp = Long.parseLong(fields[1]);
        row.key = bytes(fields[3]);
        row.value = bytes(fields[4]);
        for (String header : fields[5].isEmpty() ? Arrays.<String>asList() : Arrays.asList(fields[5].split(","))) {
            String[] parts = header.split(":", -1);
            row.headers.add(new Header(new String(bytes(parts[0]), StandardCharsets.UTF_8), bytes(parts[1])));
        }
        return row;
    }

    private static String text(byte[] bytes) {
        return bytes == null ? NULL : Base64.getEncoder().encodeToString(bytes);
    }

    private static byte[] bytes(String text) {
        return text.equals(NULL) ? null : Base64.getDecoder().decode(text);
    }
}
