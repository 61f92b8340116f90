import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The public tools and clients of Kafka 4.3: a consumer and a producer that talk to a broker, and the dump tool; and its storage module.
 *
 * <pre>
 * consume SERVERS TOPIC ISOLATION OUT    partition 0 from its start to its end, as rows     -> "ok COUNT"
 * produce SERVERS TOPIC SPEC             rows to partition 0, each batch of the SPEC apart  -> "ok COUNT"
 * await SERVERS TOPIC OFFSET             until partition 0 ends there: markers come later   -> "ok END"
 * append DIRECTORY ...                   see LogAppend                                      -> "ok FIRST LAST"
 * dump SEGMENT OUT [OPTION...]           what kafka-dump-log --deep-iteration prints        -> "ok LINES"
 * console ..., messages ...              see Formatters                                     -> "ok COUNT"
 * producer, begin, commit, abort, send, close    see Producers
 * judge, tell                            see Judge
 * compact IN OUT                         see LogFilter                                      -> "ok BYTES"
 * filter IN KEYS OUT                     see LogFilter                                      -> "ok BYTES"
 * </pre>
 */
public final class Broker43 implements Peer.Driver {
    private final Map<String, KafkaConsumer<byte[], byte[]>> consumers = new HashMap<>();
    private final LogAppend appends = new LogAppend();
    private final Producers producers = new Producers();

    @Override
    public void read(ByteBuffer entries, Rows rows) {
        throw new UnsupportedOperationException("this version is asked through a broker");
    }

    @Override
    public ByteBuffer write(Rows.Spec spec) {
        throw new UnsupportedOperationException("this version is asked through a broker");
    }

    @Override
    public String other(String[] words) throws Exception {
        switch (words[0]) {
            case "consume":
                return String.valueOf(consume(words[1], words[2], words[3], Paths.get(words[4])));
            case "produce":
                return String.valueOf(produce(words[1], words[2], Rows.Spec.load(Paths.get(words[3]))));
            case "await":
                return String.valueOf(await(words[1], words[2], Long.parseLong(words[3])));
            case "append":
                return appends.append(words);
            case "dump":
                return String.valueOf(dump(words[1], Paths.get(words[2]), Arrays.copyOfRange(words, 3, words.length)));
            case "compact":
            case "filter":
                return LogFilter.answer(words);
            default:
                String answer = producers.answer(words);
                answer = answer == null ? Formatters.answer(words) : answer;
                return answer == null ? Judge.answer(words) : answer;
        }
    }

    private int consume(String servers, String topic, String isolation, Path out) throws Exception {
        KafkaConsumer<byte[], byte[]> consumer = consumers.computeIfAbsent(servers + isolation, key -> consumer(servers, isolation));
        TopicPartition partition = new TopicPartition(topic, 0);
        consumer.assign(Collections.singletonList(partition));
        consumer.seekToBeginning(Collections.singletonList(partition));
        long end = consumer.endOffsets(Collections.singletonList(partition)).get(partition);
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        Rows rows = new Rows();
        while (consumer.position(partition) < end) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("at offset " + consumer.position(partition) + " of " + end + " after 30 s");
            }
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                List<Rows.Header> headers = new ArrayList<>();
                for (Header header : record.headers()) {
                    headers.add(new Rows.Header(header.key(), header.value()));
                }
                rows.add(record.offset(), record.timestamp(), record.timestampType().id, record.key(), record.value(), headers);
            }
        }
        rows.save(out);
        return rows.count();
    }

    private long await(String servers, String topic, long offset) throws Exception {
        KafkaConsumer<byte[], byte[]> consumer = consumers.computeIfAbsent(servers, key -> consumer(servers, "read_uncommitted"));
        TopicPartition partition = new TopicPartition(topic, 0);
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (true) {
            long end = consumer.endOffsets(Collections.singletonList(partition)).get(partition);
            if (end >= offset) {
                return end;
            }
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("it ends at " + end + " after 60 s");
            }
            Thread.sleep(2);
        }
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String servers, String isolation) {
        Map<String, Object> options = new HashMap<>();
        options.put("bootstrap.servers", servers);
        options.put("isolation.level", isolation);
        options.put("enable.auto.commit", false);
        options.put("fetch.max.wait.ms", 50);
        return new KafkaConsumer<>(options, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static int produce(String servers, String topic, Rows.Spec spec) throws Exception {
        Map<String, Object> options = Producers.options(servers, spec.codec);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(options, new ByteArraySerializer(), new ByteArraySerializer())) {
            Producers.send(producer, topic, spec);
        }
        return spec.batches.stream().mapToInt(List::size).sum();
    }

    private static int dump(String segment, Path out, String[] more) throws Exception {
        PrintStream before = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        List<String> words = new ArrayList<>(List.of("--deep-iteration", "--print-data-log", "--files", segment));
        words.addAll(Arrays.asList(more));
        String[] arguments = words.toArray(new String[0]);
        System.setOut(new PrintStream(printed, true, "UTF-8"));
        try {
            dumpTool().getMethod("main", String[].class).invoke(null, (Object) arguments);
        } finally {
            System.out.flush();
            System.setOut(before);
        }
        String text = printed.toString(StandardCharsets.UTF_8);
        Files.write(out, text.getBytes(StandardCharsets.UTF_8));
        return text.split("\n").length;
    }

    private static Class<?> dumpTool() throws ClassNotFoundException {
        try {
            return Class.forName("org.apache.kafka.tools.DumpLogSegments");
        } catch (ClassNotFoundException scala) {
            return Class.forName("kafka.tools.DumpLogSegments");
        }
    }
}
