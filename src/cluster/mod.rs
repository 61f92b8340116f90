//! What a cluster knew, from the log directories of its brokers and controllers, without any of them running.
//!
//! Paths go in; topics, configurations, groups and their lag come out, as tables (`views`), with findings about what disagrees or is missing.
//! Sources: `org.apache.kafka.image`, the group, transaction and share coordinators of Kafka.

mod coordinators;
mod copies;
mod directories;
mod harmless;
mod lag;
mod metadata;
mod records;
mod rules;
mod table;
mod text;
pub mod views;

pub use coordinators::Coordinators;
pub use copies::{CopyEnd, PartitionCopy};
pub use directories::LogDirectory;
pub use lag::Lag;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use directories::ClusterDirectories;

use crate::error::{Error, Result};
use crate::internal_topics::replay::{Metadata, Uuid};
use crate::limits::Limits;
use crate::partition::{DiscoveredSegments, PartitionSelection, SegmentSearch, Storage};
use crate::validate::{Finding, Severity};

/// The topic of the metadata log.
const METADATA_TOPIC: &str = "__cluster_metadata";
/// Its one directory in a log directory.
const METADATA_DIRECTORY: &str = "__cluster_metadata-0";

/// How files are read.
#[derive(Clone, Copy)]
struct ReadContext<'a> {
    limits: Limits,
    storage: &'a dyn Storage,
}

/// What a cluster knew.
#[derive(Debug, Default)]
pub struct Cluster {
    /// The metadata; `None` without a metadata log.
    pub metadata: Option<Metadata>,
    /// The offset after the last record of the metadata.
    pub metadata_end: Option<i64>,
    /// The log directories.
    pub log_dirs: Vec<LogDirectory>,
    /// The directories of partitions, by topic and partition.
    pub copies: Vec<PartitionCopy>,
    /// The state of the coordinators.
    pub coordinators: Coordinators,
    /// The lag of groups.
    pub lag: Vec<Lag>,
    /// What is damaged, missing or contradictory.
    pub findings: Vec<Finding>,
    /// The ids of topics by name.
    ids: HashMap<String, Uuid>,
    /// The number of the best directory of each topic and partition among the copies.
    best: HashMap<String, BTreeMap<i32, usize>>,
}

impl Cluster {
    /// Reads log directories, or trees and copies of them.
    ///
    /// # Errors
    /// If a path does not exist, if there is nothing of a cluster below the paths, if a file cannot be read, and when the work is to stop.
    pub fn read(paths: &[PathBuf], limits: Limits, storage: &dyn Storage) -> Result<Self> {
        let reading = ReadContext { limits, storage };
        let mut findings = Vec::new();
        let directories = ClusterDirectories::find(paths, storage, &mut findings)?;
        let files = discovered(paths, !directories.snapshots.is_empty(), storage, &mut findings)?;
        let copies = copies::find(&files, &directories, reading, &mut findings)?;
        let (mut of_metadata, mut copies): (Vec<_>, Vec<_>) = copies.into_iter().partition(|copy| copy.topic == METADATA_TOPIC);
        copies.sort_by(|one, other| (&one.topic, one.partition, &one.path).cmp(&(&other.topic, other.partition, &other.path)));
        let metadata = metadata::replay(&of_metadata.iter().collect::<Vec<_>>(), &directories, reading, &mut findings)?;
        let newest = of_metadata.iter().map(PartitionCopy::rank).max();
        of_metadata.iter_mut().for_each(|copy| copy.is_behind = Some(copy.rank()) < newest);
        let mut cluster = Self { log_dirs: directories.logs, copies, ..Self::default() };
        match metadata {
            Some(replayed) => {
                cluster.metadata_end = Some(replayed.end);
                cluster.metadata = Some(replayed.metadata);
            }
            None => findings.push(no_metadata()),
        }
        cluster.rank();
        cluster.compare(reading, &mut findings);
        let best: Vec<_> = cluster.best_copies().into_values().collect();
        cluster.coordinators = Coordinators::read(&best, reading, &mut findings)?;
        cluster.lag = lag::of(&cluster, reading)?;
        cluster.copies.extend(of_metadata);
        cluster.findings = findings;
        Ok(cluster)
    }

    /// The name of a topic, also of one that was deleted.
    pub fn topic_name(&self, id: &Uuid) -> Option<String> {
        let metadata = self.metadata.as_ref();
        let known = metadata.and_then(|metadata| metadata.topics.get(id).or_else(|| metadata.deleted.get(id)));
        known.map(|topic| topic.name.clone()).or_else(|| {
            let id = text::uuid(id);
            self.copies.iter().find(|copy| copy.topic_id.as_ref() == Some(&id)).map(|copy| copy.topic.clone())
        })
    }

    /// The best directory of a partition.
    fn best(&self, topic: &str, partition: i32) -> Option<&PartitionCopy> {
        self.best.get(topic)?.get(&partition).and_then(|at| self.copies.get(*at))
    }

    fn best_copies(&self) -> BTreeMap<(&str, i32), &PartitionCopy> {
        let all = self.best.iter().flat_map(|(topic, own)| own.iter().map(move |(partition, at)| ((topic.as_str(), *partition), *at)));
        all.filter_map(|(place, at)| Some((place, self.copies.get(at).filter(|copy| copy.end.is_some())?))).collect()
    }

    /// True if a topic of this name has another id.
    fn is_other_topic(&self, name: &str, id: Option<Uuid>) -> bool {
        id.is_some_and(|id| self.ids.get(name).is_some_and(|own| *own != id))
    }

    /// Says which directories are current, which is the best of each partition, and which are behind.
    fn rank(&mut self) {
        let topics = self.metadata.iter().flat_map(|metadata| &metadata.topics);
        self.ids = topics.map(|(id, topic)| (topic.name.clone(), *id)).collect();
        let has_metadata = self.metadata.is_some();
        for copy in &mut self.copies {
            let id = self.ids.get(&copy.topic).map(text::uuid);
            copy.is_current = match (&copy.topic_id, id) {
                (Some(own), Some(id)) => *own == id,
                (_, None) => !has_metadata,
                (None, Some(_)) => true,
            };
        }
        for (at, copy) in self.copies.iter().enumerate().filter(|(_, copy)| copy.is_current) {
            let known = self.best.entry(copy.topic.clone()).or_default().entry(copy.partition).or_insert(at);
            if self.copies.get(*known).is_none_or(|known| copy.rank() > known.rank()) {
                *known = at;
            }
        }
        let ranks: Vec<_> = self.copies.iter().map(|copy| self.best(&copy.topic, copy.partition).map(PartitionCopy::rank)).collect();
        for (copy, best) in self.copies.iter_mut().zip(ranks) {
            copy.is_behind = copy.is_current && best.is_some_and(|best| copy.rank() < best);
        }
    }

    /// Reports what the metadata and the directories do not have in common.
    fn compare(&self, reading: ReadContext<'_>, findings: &mut Vec<Finding>) {
        let Some(metadata) = &self.metadata else { return };
        for copy in self.copies.iter().filter(|copy| !copy.is_current) {
            let text = match self.ids.get(&copy.topic) {
                Some(_) => "the directory is of a deleted topic with the same name: its topic id is another one",
                None => "the metadata does not have the topic: it was deleted, or the directory is of another cluster",
            };
            let finding = Finding::of_files(rules::STRAY, Severity::Warning, text, 0, 0);
            findings.push(finding.in_file(&reading.storage.shown(&copy.path).into()));
        }
        let here: HashSet<_> = self.best_copies().into_keys().collect();
        for topic in metadata.topics.values() {
            let missing: Vec<_> = topic.partitions.keys().filter(|number| !here.contains(&(topic.name.as_str(), **number))).collect();
            if let Some(first) = missing.first() {
                let text = format!(
                    "no directory of {} of the {} partitions of {} can be read, the first is {first}; their offsets are unknown",
                    missing.len(),
                    topic.partitions.len(),
                    topic.name
                );
                findings.push(Finding::of_files(rules::NO_REPLICA, Severity::Warning, text, 0, 0));
            }
        }
    }
}

fn discovered(
    paths: &[PathBuf],
    has_snapshots: bool,
    storage: &dyn Storage,
    findings: &mut Vec<Finding>,
) -> Result<Vec<crate::partition::SegmentFile>> {
    let selection = PartitionSelection::default();
    let search = SegmentSearch { has_patterns: true, selection: &selection, replicas: None };
    let mut failed: Option<Error> = None;
    let mut collect = |error: Error| {
        if error.is_interrupted() {
            return Err(error);
        }
        failed.get_or_insert(error);
        Ok(())
    };
    let DiscoveredSegments { files, findings: noted } = search.run(paths, storage, &mut collect)?;
    findings.extend(noted);
    match failed {
        Some(error) if files.is_empty() && !has_snapshots => return Err(error),
        Some(error) => findings.push(Finding::of_files(rules::UNREADABLE, Severity::Warning, error.to_string(), 0, 0)),
        None => {}
    }
    Ok(files)
}

fn no_metadata() -> Finding {
    let text = "there is no __cluster_metadata log: the cluster kept its metadata in ZooKeeper, or the directories of its controllers are missing; \
                configurations, ACLs, quotas, SCRAM users and features are unknown, and topics are what the directories of partitions show";
    Finding::of_files(rules::NO_METADATA, Severity::Warning, text, 0, 0)
}
