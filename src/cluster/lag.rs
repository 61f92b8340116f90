//! How far groups are behind: committed offsets against the best directory of each partition.

use std::collections::HashMap;

use super::context::ReadContext;
use super::copies::PartitionCopy;
use super::records::{LogItem, RecordRange, read};
use super::state::{Cluster, Lag};
use crate::error::Result;
use crate::internal_topics::replay::Uuid;
use crate::partition::SegmentLookup;

/// What a group has committed for a partition.
struct GroupPosition<'a> {
    group: &'a str,
    topic: &'a str,
    partition: i32,
    committed: Option<i64>,
    topic_id: Option<Uuid>,
    /// Offsets after the committed one that are finished.
    finished: i64,
}

/// The lag of all groups.
///
/// # Errors
/// If a file cannot be read, and when the work is to stop.
pub(super) fn of(cluster: &Cluster, reading: ReadContext<'_>) -> Result<Vec<Lag>> {
    let mut times = Times { reading, known: HashMap::new() };
    let mut found = Vec::new();
    for (place, (commit, _)) in &cluster.coordinators.commits {
        let position = GroupPosition {
            group: &place.group,
            topic: &place.topic,
            partition: place.partition,
            committed: Some(commit.offset),
            topic_id: commit.topic_id,
            finished: 0,
        };
        found.push(lag_of(&position, cluster, &mut times)?);
    }
    for (place, offset) in &cluster.coordinators.shared {
        let name = cluster.topic_name(&place.topic_id);
        let shown = name.clone().unwrap_or_else(|| super::text::uuid(&place.topic_id));
        let position = GroupPosition {
            group: &place.group,
            topic: &shown,
            partition: place.partition,
            committed: Some(offset.start_offset).filter(|start| *start >= 0),
            topic_id: Some(place.topic_id),
            finished: i64::from(offset.delivery_complete_count.max(0)),
        };
        found.push(lag_of(&position, cluster, &mut times)?);
    }
    found.sort_by(|one, other| (&one.group, &one.topic, one.partition).cmp(&(&other.group, &other.topic, other.partition)));
    Ok(found)
}

fn lag_of(position: &GroupPosition<'_>, cluster: &Cluster, times: &mut Times<'_>) -> Result<Lag> {
    let best = cluster.best(position.topic, position.partition);
    let end = best.and_then(|best| best.end.as_ref());
    let mut lag = Lag {
        group: position.group.to_owned(),
        topic: position.topic.to_owned(),
        partition: position.partition,
        committed: position.committed,
        end: end.map(|end| end.offset),
        stable: end.map(|end| end.stable),
        problem: problem_of(position, cluster, best),
        ..Lag::default()
    };
    let (Some(best), Some(end), Some(committed)) = (best, end, position.committed) else { return Ok(lag) };
    if cluster.is_other_topic(position.topic, position.topic_id) {
        return Ok(lag);
    }
    let behind = end.offset.saturating_sub(committed).saturating_sub(position.finished);
    lag.lag = Some(behind);
    lag.lag_ms = if behind <= 0 { Some(0) } else { times.of(best, committed)?.map(|first| end.timestamp.saturating_sub(first).max(0)) };
    Ok(lag)
}

fn problem_of(position: &GroupPosition<'_>, cluster: &Cluster, best: Option<&PartitionCopy>) -> Option<String> {
    if let Some(metadata) = &cluster.metadata {
        let Some(id) = cluster.ids.get(position.topic) else {
            let was_there = metadata.deleted.iter().any(|(id, topic)| topic.name == position.topic || Some(*id) == position.topic_id);
            let text = if was_there { "the topic was deleted" } else { "the metadata does not have the topic" };
            return Some(text.to_owned());
        };
        if cluster.is_other_topic(position.topic, position.topic_id) {
            return Some("the offset is of a deleted topic with the same name".to_owned());
        }
        if !metadata.topics.get(id).is_some_and(|topic| topic.partitions.contains_key(&position.partition)) {
            return Some("the metadata does not have the partition".to_owned());
        }
    }
    let Some(best) = best else { return Some("no directory of the partition is here".to_owned()) };
    let (Some(end), Some(committed)) = (&best.end, position.committed) else { return None };
    if committed > end.offset {
        return Some(format!("the offset is after the log end offset {}", end.offset));
    }
    let start = best.start.filter(|start| committed < *start)?;
    Some(format!("the offset is before the log start offset {start}"))
}

/// Looks up timestamps of records.
struct Times<'a> {
    reading: ReadContext<'a>,
    known: HashMap<(String, i32, i64), Option<i64>>,
}

impl Times<'_> {
    /// The timestamp of the first record at or after an offset, without control records; `None` if it has none.
    fn of(&mut self, copy: &PartitionCopy, offset: i64) -> Result<Option<i64>> {
        let key = (copy.topic.clone(), copy.partition, offset);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let found = match self.look_up(copy, offset) {
            Err(error) if error.is_interrupted() => return Err(error),
            found => found.ok().flatten().filter(|timestamp| *timestamp >= 0),
        };
        self.known.insert(key, found);
        Ok(found)
    }

    fn look_up(&self, copy: &PartitionCopy, offset: i64) -> Result<Option<i64>> {
        let from = copy.files.iter().rposition(|file| file.base() <= offset).unwrap_or(0);
        let mut wanted = offset;
        for file in copy.files.get(from..).unwrap_or_default().iter().filter(|file| !file.is_of_0_7()) {
            let lookup = SegmentLookup::new(file.clone());
            // Control batches, and batches of which only the end was at or after the offset, have no such record.
            while let Some(header) = lookup.find_offset(wanted, self.reading.storage)?.header {
                if !header.is_control() {
                    let range =
                        RecordRange { path: &file.path, start: header.position, end: Some(header.position.saturating_add(header.size)) };
                    let mut found = None;
                    read(range, self.reading, &mut |item| {
                        if let LogItem::Record(record) = item {
                            found = found.or(Some(record.timestamp).filter(|_| record.offset >= offset));
                        }
                    })?;
                    if found.is_some() {
                        return Ok(found);
                    }
                }
                if header.last_offset < wanted {
                    break;
                }
                wanted = header.last_offset.saturating_add(1);
            }
        }
        Ok(None)
    }
}
