import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordVersion;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** Logs of Kafka 4.3's storage module in directories of their own, without a broker. */
final class LogAppend {
    private static final int A_DAY = 86_400_000;

    private final Map<String, UnifiedLog> logs = new HashMap<>();
    private final Clock clock = new Clock();
    private KafkaScheduler scheduler;

    /**
     * Words: DIRECTORY START ORIGIN EPOCH NOW CONFIG MAGIC IN OUT. What the log has more afterwards goes to OUT.
     *
     * @return "FIRST LAST", or "refused CODE CLASS" with the code that a client would get
     */
    String append(String[] words) throws Exception {
        UnifiedLog log = logs.get(words[1]);
        if (log == null) {
            log = open(new File(words[1]), Long.parseLong(words[2]), words[6]);
            logs.put(words[1], log);
        }
        clock.now = Long.parseLong(words[5]);
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(Files.readAllBytes(Paths.get(words[8]))));
        int before = bytes(log).length;
        try {
            LogAppendInfo info = append(log, records, AppendOrigin.valueOf(words[3]), Integer.parseInt(words[4]), words[7]);
            byte[] after = bytes(log);
            Files.write(Paths.get(words[9]), Arrays.copyOfRange(after, before, after.length));
            return info.firstOrLastOffsetOfFirstBatch() + " " + info.lastOffset();
        } catch (Exception failure) {
            Throwable told = failure instanceof RecordValidationException ? ((RecordValidationException) failure).invalidException() : failure;
            return "refused " + Errors.forException(told).code() + " " + told.getClass().getSimpleName();
        }
    }

    private static LogAppendInfo append(UnifiedLog log, MemoryRecords records, AppendOrigin origin, int epoch, String magic) {
        if (origin == AppendOrigin.REPLICATION) {
            return log.appendAsFollower(records, epoch);
        }
        if (!magic.equals("2")) {
            return log.appendAsLeaderWithRecordVersion(records, epoch, RecordVersion.lookup(Byte.parseByte(magic)));
        }
        return log.appendAsLeader(records, epoch, origin, RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) 0);
    }

    private UnifiedLog open(File directory, long start, String config) throws Exception {
        Map<String, String> settings = new HashMap<>();
        for (String setting : config.split(",")) {
            if (setting.contains("=")) {
                settings.put(setting.split("=")[0], setting.split("=")[1]);
            }
        }
        if (scheduler == null) {
            scheduler = new KafkaScheduler(1);
            scheduler.startup();
        }
        Files.createDirectories(directory.toPath());
        return UnifiedLog.create(directory, new LogConfig(settings), start, start, scheduler, new BrokerTopicStats(), clock, A_DAY,
            new ProducerStateManagerConfig(A_DAY, false), A_DAY, new LogDirFailureChannel(1), true, Optional.of(Uuid.randomUuid()));
    }

    private static byte[] bytes(UnifiedLog log) throws Exception {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        File[] segments = log.dir().listFiles((directory, name) -> name.endsWith(".log"));
        Arrays.sort(segments);
        for (File segment : segments) {
            all.write(Files.readAllBytes(segment.toPath()));
        }
        return all.toByteArray();
    }

    /** A clock that stands where it was put. */
    private static final class Clock implements Time {
        private long now;

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override
        public void sleep(long time) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException();
        }
    }
}
