//! Names of the options, by entry point: a batch query, its views, a streaming query, a write.

use super::error::{QueryResult, SparkError};
use super::similar::nearest;

/// The prefixes of options that another program knows: of Spark's Kafka source for a connection with brokers, librdkafka's, and object_store's.
pub(super) const BROKERS: [&str; 4] = ["kafka.", "kafkaconsumer.", "fetchoffset.", "groupidprefix"];
pub(super) const PLUGINS: &str = "plugins.kafka.";
/// Options of a store.
pub(super) const STORAGE: &str = "storage.";
/// Limits of a batch.
pub(super) const LIMITS: &str = "limits.";
/// Kafka's own name of the option `isolation`.
pub(super) const KAFKA_ISOLATION: &str = "kafka.isolation.level";
/// Spark's options of a table in its catalog, which are not of a query.
const TABLE: [&str; 9] =
    ["provider", "location", "owner", "comment", "external", "is_managed_location", "table_type", "collation", "transient_lastddltime"];

const PATHS: &[&str] = &["path", "paths", "keys", "layout"];
const SELECTION: &[&str] = &["subscribe", "subscribePattern", "assign"];
const RECORDS: &[&str] = &[
    "replica",
    "logStartOffset",
    "includeHeaders",
    "columns",
    "values",
    "keyValues",
    "schemas.path",
    "schemas.framing",
    "readerSchema",
    "integers",
    "isolation",
    "topic",
    "partition",
    "batchSize",
    "batchBytes",
    "format",
    "quirks",
    "zstdDictionaries",
    "unreadable",
    "mode",
    "columnNameOfCorruptRecord",
    "ioStats",
    "limits.max_batch_bytes",
    "limits.max_decompressed_bytes",
    "limits.max_ratio",
    "limits.max_records",
    "limits.max_headers",
    "limits.max_nesting",
    "plugins.path",
    "plugins.kafka.bootstrap.servers",
    "plugins.timeout",
    "plugins.allow",
];
const STARTS: &[&str] = &["startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy"];
const TASKS: &[&str] = &["failOnDataLoss", "minPartitions", "maxRecordsPerPartition", "maxPartitionBytes"];
const ENDS: &[&str] = &["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp", "pushFilters", "reader", "view"];
/// How much a trigger takes: a batch query ignores these options with a warning, as in Spark.
const TRIGGERS: &[&str] = &["maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "maxBytesPerTrigger"];
/// The options of other entry points.
const ELSEWHERE: [(&str, &[&str]); 3] = [
    ("the view batches or the view findings", &["checkCrc", "depth"]),
    ("a streaming query", &["upTo"]),
    (
        "a write",
        &[
            "partitions",
            "compression",
            "level",
            "segmentBytes",
            "compression.codec",
            "compressed.topics",
            "checkpointLocation",
            "queryName",
            "outputMode",
        ],
    ),
];

/// Refuse an option that a batch query does not have; return a warning about options that it ignores.
///
/// # Errors
/// `Value` that suggests the nearest name, or names the entry points that have the option.
pub(super) fn check_names(given: &[&str], has_isolation: bool) -> QueryResult<Option<String>> {
    check_known(given)?;
    for name in given {
        if let Some((place, own)) = elsewhere().find(|(_, own)| own.eq_ignore_ascii_case(name)) {
            let text = format!("option {own} is not valid in a batch query, only in {place}");
            return Err(SparkError::value(format!("{text}; the options are {}", known().join(", "))));
        }
    }
    Ok(ignored(given, has_isolation))
}

/// Refuse an option that nothing has.
///
/// # Errors
/// `Value` that suggests the nearest name.
pub(super) fn check_known(given: &[&str]) -> QueryResult<()> {
    let all: Vec<&str> = known().into_iter().chain(TRIGGERS.iter().copied()).chain(elsewhere().map(|(_, name)| name)).collect();
    let has = |names: &[&str], name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let mut unknown: Vec<&str> = given.iter().copied().filter(|name| !is_anyones(name) && !has(&all, name)).collect();
    unknown.sort_unstable();
    if !unknown.is_empty() {
        let texts = unknown.iter().map(|name| name.to_lowercase()).map(|name| match nearest(&name, &all) {
            Some(near) => format!("{name} (did you mean {near}?)"),
            None => name,
        });
        return Err(SparkError::value(format!(
            "unknown option {}; the options are {}",
            texts.collect::<Vec<_>>().join(", "),
            all.join(", ")
        )));
    }
    Ok(())
}

/// The options of a batch query.
fn known() -> Vec<&'static str> {
    [PATHS, SELECTION, RECORDS, STARTS, TASKS, ENDS].concat()
}

fn elsewhere() -> impl Iterator<Item = (&'static str, &'static str)> {
    ELSEWHERE.iter().flat_map(|(place, names)| names.iter().map(move |name| (*place, *name)))
}

/// True for an option that Spark adds for a table of its catalog.
pub(super) fn is_of_table(name: &str) -> bool {
    has_prefix(name, "option.") || TABLE.iter().any(|own| own.eq_ignore_ascii_case(name))
}

fn ignored(given: &[&str], has_isolation: bool) -> Option<String> {
    let is_ignored = |name: &str| is_for_brokers(name) && (has_isolation || !name.eq_ignore_ascii_case(KAFKA_ISOLATION));
    let mut brokers: Vec<&str> = given.iter().copied().filter(|name| is_ignored(name)).collect();
    let mut triggers: Vec<&str> = given.iter().copied().filter(|name| TRIGGERS.iter().any(|own| own.eq_ignore_ascii_case(name))).collect();
    brokers.sort_unstable();
    triggers.sort_unstable();
    let mut texts = Vec::new();
    if !brokers.is_empty() {
        texts.push(format!("logsegment reads files, not brokers; ignored options: {}", brokers.join(", ")));
    }
    if !triggers.is_empty() {
        texts.push(format!("ignored in a batch query: {}", triggers.join(", ")));
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// True for a name that is not listed here: brokers, librdkafka or a store know it.
fn is_anyones(name: &str) -> bool {
    is_for_brokers(name) || [PLUGINS, STORAGE].iter().any(|prefix| has_prefix(name, prefix))
}

fn is_for_brokers(name: &str) -> bool {
    BROKERS.iter().any(|prefix| has_prefix(name, prefix))
}

pub(super) fn has_prefix(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|front| front.eq_ignore_ascii_case(prefix))
}
