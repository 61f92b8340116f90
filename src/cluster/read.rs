//! Log directories go in, the state of their cluster comes out.

use std::collections::HashSet;
use std::path::PathBuf;

use super::context::{METADATA_TOPIC, ReadContext};
use super::coordinators::Coordinators;
use super::copies::{self, PartitionCopy};
use super::directories::ClusterDirectories;
use super::state::Cluster;
use super::{lag, metadata, rules};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::partition::{DiscoveredSegments, PartitionSelection, SegmentSearch, Storage};
use crate::validate::{Finding, Severity};

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
