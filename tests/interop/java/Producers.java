import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Producers that live from one command to the next, by their names.
 *
 * <pre>
 * producer SERVERS NAME CODEC plain|idempotent|transactional   makes one
 * begin NAME, commit NAME, abort NAME                          its transaction
 * send NAME TOPIC SPEC                                         rows to partition 0, each batch of the SPEC apart -> offset of the last record
 * close NAME                                                   sends nothing more: an open transaction stays open
 * </pre>
 */
final class Producers {
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();

    /** The answer, or null for another command. */
    String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "producer":
                producers.put(words[2], made(words[1], words[2], words[3], words[4]));
                return words[2];
            case "begin":
                producers.get(words[1]).beginTransaction();
                return words[1];
            case "commit":
                producers.get(words[1]).commitTransaction();
                return words[1];
            case "abort":
                producers.get(words[1]).abortTransaction();
                return words[1];
            case "send":
                return String.valueOf(send(producers.get(words[1]), words[2], Rows.Spec.load(Paths.get(words[3]))));
            case "close":
                producers.remove(words[1]).close(Duration.ZERO);
                return words[1];
            default:
                return null;
        }
    }

    private static KafkaProducer<byte[], byte[]> made(String servers, String name, String codec, String kind) {
        Map<String, Object> options = options(servers, codec);
        options.put("enable.idempotence", !kind.equals("plain"));
        if (kind.equals("transactional")) {
            options.put("transactional.id", name);
            options.put("transaction.timeout.ms", 900000);
        }
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(options, new ByteArraySerializer(), new ByteArraySerializer());
        if (kind.equals("transactional")) {
            producer.initTransactions();
        }
        return producer;
    }

    /** A batch goes out when it is flushed. */
    static Map<String, Object> options(String servers, String codec) {
        Map<String, Object> options = new HashMap<>();
        options.put("bootstrap.servers", servers);
        options.put("compression.type", codec);
        options.put("linger.ms", 60000);
        options.put("batch.size", 900000);
        options.put("delivery.timeout.ms", 120000);
        return options;
    }

    static long send(KafkaProducer<byte[], byte[]> producer, String topic, Rows.Spec spec) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (List<Rows.Row> batch : spec.batches) {
            for (Rows.Row row : batch) {
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, 0, row.timestamp, row.key, row.value);
                row.headers.forEach(header -> record.headers().add(new RecordHeader(header.key, header.value)));
                sent.add(producer.send(record));
            }
            producer.flush();
        }
        long last = -1;
        for (Future<RecordMetadata> one : sent) {
            last = one.get().offset();
        }
        return last;
    }
}
