//! Names of configurations whose values are no secrets. The value of every other name is hidden: a plugin may keep a password under any name.
//!
//! Sources: `TopicConfig`, `DynamicBrokerConfig`, `GroupConfig` and `ClientMetricsConfigs` in Kafka, without those of the type PASSWORD.

/// Shown instead of a value that may be a secret.
pub const HIDDEN: &str = "(hidden)";

/// Of topics, sorted.
const TOPIC: &[&str] = &[
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "errors.deadletterqueue.group.enable",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "index.interval.bytes",
    "internal.segment.bytes",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.downconversion.enable",
    "message.format.version",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "remote.copy.lag.bytes",
    "remote.copy.lag.ms",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
    "unclean.leader.election.enable",
];

/// Of brokers, sorted.
const BROKER: &[&str] = &[
    "background.threads",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "cordoned.log.dirs",
    "follower.replication.throttled.rate",
    "group.coordinator.append.linger.ms",
    "group.coordinator.background.threads",
    "group.coordinator.cached.buffer.max.bytes",
    "leader.replication.throttled.rate",
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.delete.retention.ms",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.max.compaction.lag.ms",
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.min.compaction.lag.ms",
    "log.cleaner.threads",
    "log.cleanup.policy",
    "log.flush.interval.messages",
    "log.flush.interval.ms",
    "log.index.interval.bytes",
    "log.index.size.max.bytes",
    "log.local.retention.bytes",
    "log.local.retention.ms",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.type",
    "log.preallocate",
    "log.retention.bytes",
    "log.retention.ms",
    "log.roll.jitter.ms",
    "log.roll.ms",
    "log.segment.bytes",
    "log.segment.delete.delay.ms",
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "message.max.bytes",
    "min.insync.replicas",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "producer.id.expiration.ms",
    "remote.fetch.max.wait.ms",
    "remote.list.offsets.request.timeout.ms",
    "remote.log.index.file.cache.total.size.bytes",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.copy.max.bytes.per.second",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.fetch.max.bytes.per.second",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
    "replica.alter.log.dirs.io.max.bytes.per.second",
    "share.coordinator.append.linger.ms",
    "share.coordinator.cached.buffer.max.bytes",
    "transaction.partition.verification.enable",
    "unclean.leader.election.enable",
];

/// Of groups, sorted.
const GROUP: &[&str] = &[
    "consumer.assignment.interval.ms",
    "consumer.assignor.offload.enable",
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "share.assignment.interval.ms",
    "share.assignor.offload.enable",
    "share.auto.offset.reset",
    "share.delivery.count.limit",
    "share.heartbeat.interval.ms",
    "share.isolation.level",
    "share.partition.max.record.locks",
    "share.record.lock.duration.ms",
    "share.renew.acknowledge.enable",
    "share.session.timeout.ms",
    "streams.assignment.interval.ms",
    "streams.assignor.offload.enable",
    "streams.heartbeat.interval.ms",
    "streams.initial.rebalance.delay.ms",
    "streams.num.standby.replicas",
    "streams.num.warmup.replicas",
    "streams.session.timeout.ms",
    "streams.task.offset.interval.ms",
];

/// Of client metrics, sorted.
const CLIENT_METRICS: &[&str] = &["interval.ms", "match", "metrics"];

/// The value of a configuration as it is shown.
pub fn shown<'a>(resource: i32, name: &str, value: &'a str) -> &'a str {
    let names = match resource {
        2 => TOPIC,
        4 => BROKER,
        16 => CLIENT_METRICS,
        32 => GROUP,
        _ => &[],
    };
    if names.binary_search(&name).is_ok() { value } else { HIDDEN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted() {
        for table in [TOPIC, BROKER, GROUP, CLIENT_METRICS] {
            assert!(table.is_sorted());
        }
    }

    #[test]
    fn only_values_of_known_names_are_shown() {
        assert_eq!(shown(2, "retention.ms", "1"), "1");
        for (resource, name) in [
            (4, "ssl.keystore.password"),
            (4, "listener.name.external.ssl.key.password"),
            (4, "sasl.jaas.config"),
            (4, "retention.ms"),
            (2, "confluent.key"),
            (8, "retention.ms"),
        ] {
            assert_eq!(shown(resource, name, "secret"), HIDDEN, "{name}");
        }
    }
}
