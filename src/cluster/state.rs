//! What a cluster knew: its metadata, directories, coordinators and lag, and which directory of a partition is the best.

use std::collections::{BTreeMap, HashMap};

use super::coordinators::Coordinators;
use super::copies::PartitionCopy;
use super::directories::LogDirectory;
use super::text;
use crate::internal_topics::replay::{Metadata, Uuid};
use crate::validate::Finding;

/// The lag of a group in a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// Id of the group.
    pub group: String,
    /// Topic; the id of one without a name.
    pub topic: String,
    /// Partition.
    pub partition: i32,
    /// The offset of the record that the group reads next; `None` if it has not begun.
    pub committed: Option<i64>,
    /// The end of the best directory.
    pub end: Option<i64>,
    /// Its last stable offset.
    pub stable: Option<i64>,
    /// Offsets from the committed offset to the end.
    pub lag: Option<i64>,
    /// How much older the first unread record is than the newest record, ms.
    pub lag_ms: Option<i64>,
    /// What is wrong with the offset.
    pub problem: Option<String>,
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
    pub(super) ids: HashMap<String, Uuid>,
    /// The number of the best directory of each topic and partition among the copies.
    pub(super) best: HashMap<String, BTreeMap<i32, usize>>,
}

impl Cluster {
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
    pub(super) fn best(&self, topic: &str, partition: i32) -> Option<&PartitionCopy> {
        self.best.get(topic)?.get(&partition).and_then(|at| self.copies.get(*at))
    }

    pub(super) fn best_copies(&self) -> BTreeMap<(&str, i32), &PartitionCopy> {
        let all = self.best.iter().flat_map(|(topic, own)| own.iter().map(move |(partition, at)| ((topic.as_str(), *partition), *at)));
        all.filter_map(|(place, at)| Some((place, self.copies.get(at).filter(|copy| copy.end.is_some())?))).collect()
    }

    /// True if a topic of this name has another id.
    pub(super) fn is_other_topic(&self, name: &str, id: Option<Uuid>) -> bool {
        id.is_some_and(|id| self.ids.get(name).is_some_and(|own| *own != id))
    }

    /// Says which directories are current, which is the best of each partition, and which are behind.
    pub(super) fn rank(&mut self) {
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
}
