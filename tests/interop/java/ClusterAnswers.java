import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.*;
import org.apache.kafka.common.resource.*;
import org.apache.kafka.common.serialization.*;

import java.io.File;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

/** Gives a cluster a state of every kind, keeps its clients alive, and writes what the cluster answers about it: JSON of Kafka's admin client. */
public class ClusterAnswers {
    static final ObjectMapper JSON = new ObjectMapper();
    static final List<Object> ALIVE = new ArrayList<>();
    static String servers;
    static Admin admin;
    /** What the brokers do not have: "share", "consumer" or "group-configs". */
    static Set<String> lacks;

    /** Arguments: servers, file of the answers, "setup" or "ask", replicas, what brokers lack. Prints "ready" and waits for the end of its input. */
    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        lacks = Set.of(arguments[4].split(","));
        admin = Admin.create(settings(Map.of()));
        if (arguments[2].equals("setup")) {
            setUp(Integer.parseInt(arguments[3]));
        }
        JSON.writerWithDefaultPrettyPrinter().writeValue(new File(arguments[1]), answers());
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
        Runtime.getRuntime().halt(0);
    }

    static Properties settings(Map<String, Object> more) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("default.api.timeout.ms", "60000");
        settings.putAll(more);
        return settings;
    }

    static void setUp(int replicas) throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        for (String name : List.of("orders", "deleted", "again", "trimmed", "payments", "shared", "quiet")) {
            topics.add(new NewTopic(name, 3, (short) replicas));
        }
        topics.add(new NewTopic("configured", 1, (short) replicas)
            .configs(Map.of("cleanup.policy", "compact,delete", "retention.ms", "86400000", "segment.bytes", "1048576")));
        topics.add(new NewTopic("compacted", 1, (short) replicas).configs(Map.of("cleanup.policy", "compact")));
        for (int number = 0; replicas > 1 && number < 50; number++) {
            topics.add(new NewTopic("many-" + number, 1 + number % 3, (short) (1 + number % replicas)));
        }
        admin.createTopics(topics).all().get();
        produce();
        configure();
        allow();
        limit();
        credentials();
        groups();
        transactions();
        admin.deleteRecords(Map.of(new TopicPartition("trimmed", 0), RecordsToDelete.beforeOffset(4))).all().get();
        admin.deleteTopics(List.of("deleted", "again")).all().get();
        Thread.sleep(1000);
        admin.createTopics(List.of(new NewTopic("again", 2, (short) replicas))).all().get();
        if (replicas > 1) {
            reassign();
        }
        Thread.sleep(4000);
    }

    /** One partition moves, and one gets a replica less. */
    static void reassign() throws Exception {
        admin.alterPartitionReassignments(Map.of(
            new TopicPartition("quiet", 0), Optional.of(new NewPartitionReassignment(List.of(3, 1))),
            new TopicPartition("many-0", 0), Optional.of(new NewPartitionReassignment(List.of(2, 3))))).all().get();
        for (long end = System.currentTimeMillis() + 60000; System.currentTimeMillis() < end; Thread.sleep(200)) {
            if (admin.listPartitionReassignments().reassignments().get().isEmpty()) {
                return;
            }
        }
    }

    static Producer<String, String> producer(Map<String, Object> more) {
        return new KafkaProducer<>(settings(more), new StringSerializer(), new StringSerializer());
    }

    static void produce() throws Exception {
        try (Producer<String, String> producer = producer(Map.of())) {
            for (String topic : List.of("orders", "deleted", "again", "trimmed", "shared", "compacted")) {
                for (int number = 0; number < 10; number++) {
                    int partition = topic.equals("compacted") ? 0 : number % 2;
                    producer.send(new ProducerRecord<>(topic, partition, "k" + number % 3, "v" + number)).get();
                }
            }
        }
    }

    static void set(ConfigResource.Type type, String name, String key, String value) throws Exception {
        AlterConfigOp op = new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, name), List.of(op))).all().get();
    }

    static void configure() throws Exception {
        set(ConfigResource.Type.BROKER, "", "log.cleaner.threads", "2");
        set(ConfigResource.Type.BROKER, "1", "log.cleaner.threads", "3");
        set(ConfigResource.Type.BROKER, "", "message.max.bytes", "2000000");
        set(ConfigResource.Type.BROKER, "1", "listener.name.plaintext.plain.sasl.jaas.config", "x.Y required password=\"hunter2\";");
        set(ConfigResource.Type.TOPIC, "orders", "retention.ms", "3600000");
        set(ConfigResource.Type.TOPIC, "orders", "max.message.bytes", "500000");
        set(ConfigResource.Type.TOPIC, "orders", "flush.ms", "1000");
        AlterConfigOp removed = new AlterConfigOp(new ConfigEntry("flush.ms", ""), AlterConfigOp.OpType.DELETE);
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, "orders"), List.of(removed))).all().get();
        if (!lacks.contains("group-configs")) {
            set(ConfigResource.Type.GROUP, "modern", "consumer.session.timeout.ms", "46000");
        }
        set(ConfigResource.Type.CLIENT_METRICS, "all", "interval.ms", "60000");
    }

    static AclBinding acl(ResourceType type, String name, PatternType pattern, String who, AclOperation what, AclPermissionType how) {
        return new AclBinding(new ResourcePattern(type, name, pattern), new AccessControlEntry(who, "*", what, how));
    }

    static void allow() throws Exception {
        admin.createAcls(List.of(
            acl(ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:alice", AclOperation.READ, AclPermissionType.ALLOW),
            acl(ResourceType.TOPIC, "pay", PatternType.PREFIXED, "User:bob", AclOperation.DESCRIBE_CONFIGS, AclPermissionType.ALLOW),
            acl(ResourceType.GROUP, "*", PatternType.LITERAL, "User:*", AclOperation.READ, AclPermissionType.DENY),
            acl(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL, "User:carol", AclOperation.IDEMPOTENT_WRITE, AclPermissionType.ALLOW),
            acl(ResourceType.TRANSACTIONAL_ID, "t-1", PatternType.LITERAL, "User:dave", AclOperation.WRITE, AclPermissionType.ALLOW),
            acl(ResourceType.TOPIC, "gone", PatternType.LITERAL, "User:eve", AclOperation.ALL, AclPermissionType.ALLOW))).all().get();
        admin.deleteAcls(List.of(new AclBindingFilter(
            new ResourcePatternFilter(ResourceType.TOPIC, "gone", PatternType.LITERAL), AccessControlEntryFilter.ANY))).all().get();
    }

    static void quota(Map<String, String> entity, String key, Double value) throws Exception {
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(
            new ClientQuotaEntity(entity), List.of(new ClientQuotaAlteration.Op(key, value))))).all().get();
    }

    static void limit() throws Exception {
        Map<String, String> everyone = new HashMap<>();
        everyone.put("user", null);
        quota(Map.of("user", "alice"), "producer_byte_rate", 1024.0);
        quota(everyone, "consumer_byte_rate", 2048.0);
        quota(Map.of("user", "alice", "client-id", "app"), "request_percentage", 50.5);
        quota(Map.of("client-id", "lone"), "producer_byte_rate", 99.0);
        quota(Map.of("ip", "127.0.0.1"), "connection_creation_rate", 500.0);
        quota(Map.of("user", "mallory"), "producer_byte_rate", 1.0);
        quota(Map.of("user", "mallory"), "producer_byte_rate", null);
    }

    static void credentials() throws Exception {
        ScramCredentialInfo sha256 = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096);
        ScramCredentialInfo sha512 = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192);
        admin.alterUserScramCredentials(List.of(
            new UserScramCredentialUpsertion("alice", sha256, "secret-1"),
            new UserScramCredentialUpsertion("bob", sha256, "secret-3"),
            new UserScramCredentialUpsertion("gone", sha256, "secret-4"))).all().get();
        admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion("alice", sha512, "secret-2"))).all().get();
        admin.alterUserScramCredentials(List.of(new UserScramCredentialDeletion("gone", ScramMechanism.SCRAM_SHA_256))).all().get();
    }

    static Consumer<String, String> consumer(String group, Map<String, Object> more) {
        Map<String, Object> own = new HashMap<>(more);
        own.put("group.id", group);
        own.put("enable.auto.commit", "false");
        own.put("auto.offset.reset", "earliest");
        return new KafkaConsumer<>(settings(own), new StringDeserializer(), new StringDeserializer());
    }

    static void groups() throws Exception {
        for (Map.Entry<String, String> group : Map.of("classic", "classic", "modern", "consumer").entrySet()) {
            if (lacks.contains(group.getValue())) {
                continue;
            }
            Consumer<String, String> consumer = consumer(group.getKey(), Map.of("group.protocol", group.getValue()));
            consumer.subscribe(List.of("orders"));
            read(consumer, 10);
            consumer.commitSync(Map.of(
                new TopicPartition("orders", 0), new OffsetAndMetadata(3, Optional.of(0), "three"),
                new TopicPartition("orders", 1), new OffsetAndMetadata(5)));
            keepAlive(consumer);
        }
        try (Consumer<String, String> consumer = consumer("simple", Map.of())) {
            consumer.commitSync(Map.of(
                new TopicPartition("deleted", 0), new OffsetAndMetadata(2),
                new TopicPartition("again", 0), new OffsetAndMetadata(2),
                new TopicPartition("trimmed", 0), new OffsetAndMetadata(1),
                new TopicPartition("trimmed", 1), new OffsetAndMetadata(1000),
                new TopicPartition("quiet", 2), new OffsetAndMetadata(0)));
        }
        try (Consumer<String, String> consumer = consumer("removed", Map.of())) {
            consumer.commitSync(Map.of(new TopicPartition("orders", 0), new OffsetAndMetadata(2)));
        }
        admin.deleteConsumerGroups(List.of("removed")).all().get();
        try (Consumer<String, String> consumer = consumer("left", Map.of())) {
            consumer.subscribe(List.of("orders"));
            read(consumer, 10);
            consumer.commitSync();
        }
        if (!lacks.contains("share")) {
            share();
        }
    }

    static void read(Consumer<String, String> consumer, int wanted) {
        int seen = 0;
        for (long end = System.currentTimeMillis() + 60000; seen < wanted && System.currentTimeMillis() < end; ) {
            seen += consumer.poll(Duration.ofMillis(200)).count();
        }
    }

    static void keepAlive(Consumer<String, String> consumer) {
        daemon(() -> {
            while (true) {
                consumer.poll(Duration.ofMillis(200));
            }
        });
    }

    static void daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
        ALIVE.add(thread);
    }

    static void share() throws Exception {
        AlterConfigOp earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, "sharing"), List.of(earliest))).all().get();
        KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(
            settings(Map.of("group.id", "sharing", "share.acknowledgement.mode", "explicit")), new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of("shared"));
        int seen = 0;
        for (long end = System.currentTimeMillis() + 60000; seen < 10 && System.currentTimeMillis() < end; ) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(300))) {
                seen++;
                boolean isLate = record.partition() == 0 && record.offset() >= 3;
                consumer.acknowledge(record, isLate ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
            }
            consumer.commitSync();
        }
        consumer.close();
    }

    static void transactions() throws Exception {
        for (String name : List.of("t-commit", "t-abort", "t-open")) {
            Producer<String, String> producer = producer(Map.of("transactional.id", name, "transaction.timeout.ms", "600000"));
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("payments", 0, "k", name)).get();
            producer.send(new ProducerRecord<>("payments", 1, "k", name)).get();
            if (name.equals("t-commit")) {
                producer.commitTransaction();
            } else if (name.equals("t-abort")) {
                producer.abortTransaction();
            }
            ALIVE.add(producer);
        }
    }

    static Map<String, Object> answers() throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        Set<String> names = admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get();
        Map<String, TopicDescription> topics = admin.describeTopics(names).allTopicNames().get();
        found.put("topics", topics(topics));
        found.put("configs", configs(names));
        found.put("acls", admin.describeAcls(AclBindingFilter.ANY).values().get().stream().map(ClusterAnswers::aclRow).toList());
        found.put("quotas", quotas());
        found.put("scram", scram());
        Map<String, Object> features = new TreeMap<>();
        admin.describeFeatures().featureMetadata().get().finalizedFeatures().forEach((name, range) -> features.put(name, range.maxVersionLevel()));
        found.put("features", features);
        found.put("groups", groupRows());
        found.put("offsets", offsets());
        found.put("ends", ends(topics));
        found.put("transactions", transactionRows());
        found.put("producers", producers(topics));
        return found;
    }

    static List<Object> topics(Map<String, TopicDescription> topics) {
        List<Object> rows = new ArrayList<>();
        for (TopicDescription topic : topics.values()) {
            for (TopicPartitionInfo partition : topic.partitions()) {
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("topic", topic.name());
                row.put("topicId", topic.topicId().toString());
                row.put("partition", partition.partition());
                row.put("leader", partition.leader() == null ? -1 : partition.leader().id());
                row.put("replicas", ids(partition.replicas()));
                row.put("isr", ids(partition.isr()));
                row.put("elr", partition.elr() == null ? List.of() : ids(partition.elr()));
                rows.add(row);
            }
        }
        return rows;
    }

    static List<Integer> ids(List<Node> nodes) {
        return nodes.stream().map(Node::id).toList();
    }

    static List<Object> configs(Set<String> topics) throws Exception {
        List<ConfigResource> resources = new ArrayList<>(topics.stream().map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name)).toList());
        for (Node node : admin.describeCluster().nodes().get()) {
            resources.add(new ConfigResource(ConfigResource.Type.BROKER, node.idString()));
        }
        resources.add(new ConfigResource(ConfigResource.Type.BROKER, ""));
        for (String group : lacks.contains("group-configs") ? List.<String>of() : List.of("modern", "sharing")) {
            resources.add(new ConfigResource(ConfigResource.Type.GROUP, group));
        }
        resources.add(new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "all"));
        List<Object> rows = new ArrayList<>();
        DescribeConfigsOptions options = new DescribeConfigsOptions().includeSynonyms(false);
        admin.describeConfigs(resources, options).all().get().forEach((resource, config) -> {
            for (ConfigEntry entry : config.entries()) {
                boolean isDefault = resource.name().isEmpty() && entry.source() != ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG;
                boolean isInherited = !resource.name().isEmpty() && entry.source() == ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG;
                if (entry.source().name().startsWith("DYNAMIC") && !isDefault && !isInherited) {
                    Map<String, Object> row = new LinkedHashMap<>();
                    row.put("resourceType", resource.type().name());
                    row.put("resourceName", resource.name());
                    row.put("name", entry.name());
                    row.put("value", entry.isSensitive() ? "(hidden)" : entry.value());
                    row.put("source", entry.source().name());
                    rows.add(row);
                }
            }
        });
        return rows;
    }

    static Object aclRow(AclBinding acl) {
        return Map.of("resourceType", acl.pattern().resourceType().name(), "resourceName", acl.pattern().name(),
            "patternType", acl.pattern().patternType().name(), "principal", acl.entry().principal(), "host", acl.entry().host(),
            "operation", acl.entry().operation().name(), "permission", acl.entry().permissionType().name());
    }

    static List<Object> quotas() throws Exception {
        List<Object> rows = new ArrayList<>();
        admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().forEach((entity, values) -> values.forEach((name, value) -> {
            Map<String, Object> row = new LinkedHashMap<>();
            for (String[] kind : new String[][] {{"user", "user"}, {"clientId", "client-id"}, {"ip", "ip"}}) {
                boolean has = entity.entries().containsKey(kind[1]);
                String own = entity.entries().get(kind[1]);
                row.put(kind[0], has ? own == null ? "<default>" : own : null);
            }
            row.put("name", name);
            row.put("value", value);
            rows.add(row);
        }));
        return rows;
    }

    static List<Object> scram() throws Exception {
        List<Object> rows = new ArrayList<>();
        admin.describeUserScramCredentials().all().get().forEach((user, description) -> description.credentialInfos().forEach(info ->
            rows.add(Map.of("user", user, "mechanism", info.mechanism().mechanismName(), "iterations", info.iterations()))));
        return rows;
    }

    static List<Object> groupRows() throws Exception {
        List<Object> rows = new ArrayList<>();
        for (GroupListing group : admin.listGroups().all().get()) {
            Map<String, Object> row = new LinkedHashMap<>();
            String type = group.type().map(kind -> kind.name().toLowerCase(Locale.ROOT)).orElse("");
            row.put("group", group.groupId());
            row.put("type", type);
            row.put("state", group.groupState().map(GroupState::toString).orElse(""));
            row.put("protocol", group.protocol());
            List<String> members = new ArrayList<>();
            if (type.equals("share")) {
                admin.describeShareGroups(List.of(group.groupId())).all().get().get(group.groupId()).members().forEach(member -> members.add(member.consumerId()));
            } else if (type.equals("consumer")) {
                admin.describeConsumerGroups(List.of(group.groupId())).all().get().get(group.groupId()).members().forEach(member -> members.add(member.consumerId()));
            } else {
                admin.describeClassicGroups(List.of(group.groupId())).all().get().get(group.groupId()).members().forEach(member -> members.add(member.consumerId()));
            }
            row.put("members", members.stream().sorted().toList());
            rows.add(row);
        }
        return rows;
    }

    static List<Object> offsets() throws Exception {
        List<Object> rows = new ArrayList<>();
        for (GroupListing group : admin.listGroups().all().get()) {
            String id = group.groupId();
            if (group.type().orElse(GroupType.UNKNOWN) == GroupType.SHARE) {
                admin.listShareGroupOffsets(Map.of(id, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(id).get().forEach((partition, info) -> {
                    if (info != null) {
                        Map<String, Object> row = row(id, partition);
                        row.put("committedOffset", info.startOffset());
                        row.put("lag", info.lag().orElse(null));
                        rows.add(row);
                    }
                });
                continue;
            }
            admin.listConsumerGroupOffsets(id).partitionsToOffsetAndMetadata().get().forEach((partition, offset) -> {
                if (offset != null) {
                    Map<String, Object> row = row(id, partition);
                    row.put("committedOffset", offset.offset());
                    row.put("metadata", offset.metadata());
                    row.put("leaderEpoch", offset.leaderEpoch().orElse(null));
                    rows.add(row);
                }
            });
        }
        return rows;
    }

    static Map<String, Object> row(String group, TopicPartition partition) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("group", group);
        row.put("topic", partition.topic());
        row.put("partition", partition.partition());
        return row;
    }

    static List<Object> ends(Map<String, TopicDescription> topics) throws Exception {
        List<Object> rows = new ArrayList<>();
        for (TopicDescription topic : topics.values()) {
            for (TopicPartitionInfo info : topic.partitions()) {
                TopicPartition partition = new TopicPartition(topic.name(), info.partition());
                ListOffsetsOptions committed = new ListOffsetsOptions(IsolationLevel.READ_COMMITTED);
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("topic", partition.topic());
                row.put("partition", partition.partition());
                row.put("logStartOffset", admin.listOffsets(Map.of(partition, OffsetSpec.earliest())).partitionResult(partition).get().offset());
                row.put("logEndOffset", admin.listOffsets(Map.of(partition, OffsetSpec.latest())).partitionResult(partition).get().offset());
                row.put("lastStableOffset", admin.listOffsets(Map.of(partition, OffsetSpec.latest()), committed).partitionResult(partition).get().offset());
                rows.add(row);
            }
        }
        return rows;
    }

    static List<Object> transactionRows() throws Exception {
        List<Object> rows = new ArrayList<>();
        for (TransactionListing listing : admin.listTransactions().all().get()) {
            TransactionDescription description = admin.describeTransactions(List.of(listing.transactionalId())).description(listing.transactionalId()).get();
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("transactionalId", listing.transactionalId());
            row.put("producerId", description.producerId());
            row.put("producerEpoch", description.producerEpoch());
            row.put("state", description.state().toString());
            row.put("timeoutMs", description.transactionTimeoutMs());
            row.put("startTimestamp", description.transactionStartTimeMs().isPresent() ? description.transactionStartTimeMs().getAsLong() : null);
            row.put("partitions", description.topicPartitions().stream().map(TopicPartition::toString).sorted().toList());
            rows.add(row);
        }
        return rows;
    }

    static List<Object> producers(Map<String, TopicDescription> topics) throws Exception {
        List<Object> rows = new ArrayList<>();
        List<TopicPartition> partitions = new ArrayList<>();
        topics.values().forEach(topic -> topic.partitions().forEach(info -> partitions.add(new TopicPartition(topic.name(), info.partition()))));
        admin.describeProducers(partitions).all().get().forEach((partition, state) -> state.activeProducers().forEach(producer -> {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("topic", partition.topic());
            row.put("partition", partition.partition());
            row.put("producerId", producer.producerId());
            row.put("producerEpoch", producer.producerEpoch());
            row.put("coordinatorEpoch", producer.coordinatorEpoch().orElse(-1));
            row.put("lastSequence", producer.lastSequence());
            row.put("lastTimestamp", producer.lastTimestamp());
            row.put("currentTransactionStartOffset", producer.currentTransactionStartOffset().isPresent() ? producer.currentTransactionStartOffset().getAsLong() : null);
            rows.add(row);
        }));
        return rows;
    }
}
