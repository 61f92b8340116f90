//! The topic-partitions of a query: paths and the options `subscribe`, `subscribePattern`, `assign` go in, the segments of each come out.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;

use super::error::{QueryResult, SparkError, listed, quoted};
use super::options::QueryOptions;
use crate::error::{Error, ErrorKind};
use crate::partition::{
    FindingsOf, PartitionSelection, Replica, ReplicaChoice, SegmentFile, SegmentSearch, Storage, log_starts, order_by_offsets,
};
use crate::validate::Finding;

/// Topics that an error names.
const NAMED_TOPICS: usize = 20;
/// Kafka's internal topics, which no pattern matches; the last is the log of the controllers.
const INTERNAL_TOPICS: [&str; 4] = ["__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"];
const EXAMPLE: &str = r#"{"orders":[0,1],"payments":[0]}"#;

/// A partition by name; a file outside of partition directories has no name unless the options set one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: Option<String>,
    /// The number.
    pub partition: Option<i32>,
}

/// Topic-partitions with their segments.
pub(super) type Logs = Vec<(TopicPartition, Vec<SegmentFile>)>;

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.topic, self.partition) {
            (Some(topic), Some(partition)) => write!(f, "{topic}-{partition}"),
            _ => f.write_str("a file outside a partition directory (set the options topic and partition)"),
        }
    }
}

/// Finds out which topics a pattern of Java's regular expressions matches anywhere in their names.
pub trait TopicMatcher {
    /// Return for each topic if it matches.
    ///
    /// # Errors
    /// `Value` for an invalid pattern.
    fn matches(&self, pattern: &str, topics: &[String]) -> QueryResult<Vec<bool>>;
}

/// Which topic-partitions are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum TopicSelection {
    #[default]
    All,
    /// Of `subscribe`.
    Topics(Vec<String>),
    /// Of `subscribePattern`.
    Pattern(String),
    /// Of `assign`.
    Partitions(BTreeSet<TopicPartition>),
}

impl TopicSelection {
    /// Parse the options.
    ///
    /// Source: `KafkaSourceProvider.validateGeneralOptions` in Spark.
    pub(super) fn parse(options: &QueryOptions) -> QueryResult<Self> {
        let given: Vec<&str> = ["subscribe", "subscribePattern", "assign"].into_iter().filter(|name| options.get(name).is_some()).collect();
        let [name] = given.as_slice() else {
            if given.is_empty() {
                return Ok(Self::All);
            }
            let text = format!("options {}: only one of subscribe, subscribePattern, assign can be given", given.join(" and "));
            return Err(SparkError::value(text));
        };
        let value = options.get(name).unwrap_or_default().trim();
        match *name {
            "subscribe" => {
                let topics: Vec<String> = value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
                if topics.is_empty() {
                    let text = format!("option subscribe must be names of topics with commas between them, not {}", quoted(value));
                    return Err(SparkError::value(text));
                }
                Ok(Self::Topics(topics))
            }
            "subscribePattern" if value.is_empty() => {
                Err(SparkError::value("option subscribePattern must be a regular expression, not ''"))
            }
            "subscribePattern" => Ok(Self::Pattern(value.to_owned())),
            _ => partitions(value)
                .map(Self::Partitions)
                .ok_or_else(|| SparkError::value(format!("option assign must be like {EXAMPLE}, not {}", quoted(value)))),
        }
    }

    /// Fail if a named topic is missing, as a broker does.
    fn ensure_there(&self, found: &[TopicPartition]) -> QueryResult<()> {
        let there: BTreeSet<&String> = found.iter().filter_map(|name| name.topic.as_ref()).collect();
        let named: BTreeSet<&String> = match self {
            Self::Topics(topics) => topics.iter().collect(),
            Self::Partitions(partitions) => partitions.iter().filter_map(|name| name.topic.as_ref()).collect(),
            Self::All | Self::Pattern(_) => return Ok(()),
        };
        let missing: Vec<String> = named.difference(&there).map(|name| (*name).clone()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = there.into_iter().cloned().collect();
        let names = if names.is_empty() { "none".to_owned() } else { listed(&names, NAMED_TOPICS) };
        Err(SparkError::value(format!("no such topic: {}; there are {names}", listed(&missing, NAMED_TOPICS))))
    }

    /// For each topic-partition, whether it is read.
    fn chosen(&self, found: &[TopicPartition], matcher: &dyn TopicMatcher) -> QueryResult<Vec<bool>> {
        Ok(match self {
            Self::All => vec![true; found.len()],
            Self::Topics(topics) => found.iter().map(|name| name.topic.as_ref().is_some_and(|topic| topics.contains(topic))).collect(),
            Self::Partitions(partitions) => found.iter().map(|name| partitions.contains(name)).collect(),
            Self::Pattern(pattern) => {
                let topics: BTreeSet<String> = found.iter().filter_map(|name| name.topic.clone()).collect();
                let topics: Vec<String> = topics.into_iter().filter(|topic| !INTERNAL_TOPICS.contains(&topic.as_str())).collect();
                let matching = matcher.matches(pattern, &topics)?;
                let matching: BTreeSet<&String> = topics.iter().zip(matching).filter(|(_, is)| *is).map(|(topic, _)| topic).collect();
                found.iter().map(|name| name.topic.as_ref().is_some_and(|topic| matching.contains(topic))).collect()
            }
        })
    }
}

/// Which directories and records of a partition count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReplicaOptions {
    pub(super) replica: Replica,
    pub(super) ignores_log_start: bool,
}

/// Segments at the paths of a query.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    /// The segments of each selected topic-partition, in the order of their offsets.
    pub(super) logs: Logs,
    /// Findings of the files of these partitions that are not read.
    pub(super) left_out: Vec<Finding>,
    /// Log start offsets of these partitions that do not count or are not known (SEG-20, SEG-21).
    pub(super) log_starts: Vec<Finding>,
}

/// What is looked for.
pub(super) struct Search<'a> {
    pub(super) paths: &'a [PathBuf],
    pub(super) selection: &'a TopicSelection,
    /// The name of files outside of partition directories.
    pub(super) unnamed: &'a TopicPartition,
    pub(super) partition: &'a ReplicaOptions,
    /// Report segments that contradict their names, instead of raising where they are read.
    pub(super) reports: bool,
}

impl Search<'_> {
    /// Find the segments of the selected topic-partitions.
    ///
    /// # Errors
    /// `Value` if a named topic is missing, or a partition is in several directories and the options choose none of them; those of the files.
    pub(super) fn run(&self, matcher: &dyn TopicMatcher, storage: &dyn Storage) -> QueryResult<Discovered> {
        let every = PartitionSelection::default();
        let search = SegmentSearch { has_patterns: false, selection: &every, replicas: None };
        let found = search.run(self.paths, storage, &mut Err)?;
        let mut logs = self.by_name(&found.files);
        let names: Vec<TopicPartition> = logs.iter().map(|(name, _)| name.clone()).collect();
        self.selection.ensure_there(&names)?;
        let mut chosen = self.selection.chosen(&names, matcher)?.into_iter();
        logs.retain(|_| chosen.next().unwrap_or(false));
        let logs = self.of_one_replica(logs, storage)?;
        let mut ordered = Vec::with_capacity(logs.len());
        for (name, files) in logs {
            ordered.push((name, order_by_offsets(&files, self.reports, storage)?));
        }
        let kept: Vec<SegmentFile> = ordered.iter().flat_map(|(_, files)| files.iter().cloned()).collect();
        let others = (*self.selection == TopicSelection::All).then_some(found.files.as_slice());
        let counts = FindingsOf::new(&kept, others, storage);
        let left_out = found.findings.into_iter().filter(|finding| counts.has(&finding.path())).collect();
        let (logs, log_starts) = self.with_log_starts(ordered, &kept, storage)?;
        Ok(Discovered { logs, left_out, log_starts })
    }

    /// The segments by topic-partition, in the order of the first segment of each.
    fn by_name(&self, files: &[SegmentFile]) -> Logs {
        let mut at: HashMap<TopicPartition, usize> = HashMap::new();
        let mut logs = Logs::new();
        for file in files {
            let name = match &file.topic {
                None => self.unnamed.clone(),
                Some(topic) => TopicPartition { topic: Some(topic.clone()), partition: file.partition },
            };
            let number = *at.entry(name.clone()).or_insert(logs.len());
            match logs.get_mut(number) {
                Some((_, own)) => own.push(file.clone()),
                None => logs.push((name, vec![file.clone()])),
            }
        }
        logs
    }

    /// The segments without those of other replicas of a partition, which would give every record twice.
    fn of_one_replica(&self, logs: Logs, storage: &dyn Storage) -> QueryResult<Logs> {
        let files: Vec<SegmentFile> = logs.iter().flat_map(|(_, files)| files.iter().cloned()).collect();
        let kept = ReplicaChoice::new(self.partition.replica.clone()).of(&files, storage).map_err(|error| replica_error(&error))?;
        let mut kept = kept.into_iter();
        let mut only = |files: Vec<SegmentFile>| files.into_iter().filter(|_| kept.next().unwrap_or(true)).collect();
        Ok(logs.into_iter().map(|(name, files)| (name, only(files))).collect())
    }

    fn with_log_starts(&self, mut logs: Logs, files: &[SegmentFile], storage: &dyn Storage) -> QueryResult<(Logs, Vec<Finding>)> {
        if self.partition.ignores_log_start {
            return Ok((logs, Vec::new()));
        }
        let (starts, findings) = log_starts(files, storage)?;
        let mut starts = starts.into_iter();
        for file in logs.iter_mut().flat_map(|(_, files)| files) {
            file.log_start = starts.next().flatten();
        }
        Ok((logs, findings))
    }
}

fn replica_error(error: &Error) -> SparkError {
    match error.kind() {
        ErrorKind::Replicas { problem, is_asked: true } => SparkError::value(format!("the option replica: {problem}")),
        ErrorKind::Replicas { problem, .. } => {
            SparkError::value(format!("{problem}; choose one with the option replica (\"longest\", \"first\" or the path of a directory)"))
        }
        _ => SparkError::Core(error.clone()),
    }
}

/// Spark's JSON of partitions per topic.
fn partitions(text: &str) -> Option<BTreeSet<TopicPartition>> {
    let topics: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    let mut found = BTreeSet::new();
    for (topic, numbers) in topics {
        for number in numbers.as_array()? {
            let partition = number.as_i64().and_then(|number| i32::try_from(number).ok()).filter(|number| *number >= 0)?;
            found.insert(TopicPartition { topic: Some(topic.clone()), partition: Some(partition) });
        }
    }
    Some(found)
}
