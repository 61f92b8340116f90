//! The offsets that consumer groups have committed, from the records of one partition of `__consumer_offsets` in their order.
//!
//! A commit in a transaction counts when its COMMIT marker comes, a plain one at once, also while transactions of other groups are open.
//! Source: KIP-98; `OffsetMetadataManager.replay` and `replayEndTransactionMarker` of Kafka's group coordinator.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::part::Part;
use super::record::identify;
use super::topic::Topic;
use super::undecoded::Undecoded;
use super::visitor::{Scalar, Visitor};

/// What an offset is committed for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupPartition {
    /// Group id.
    pub group: String,
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
}

/// A commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetCommit {
    /// Offset of its record in the log.
    pub record_offset: i64,
    /// The offset that is committed.
    pub offset: i64,
    /// Leader epoch, if the client gave it.
    pub leader_epoch: Option<i32>,
    /// Metadata of the client.
    pub metadata: String,
    /// When it was committed, ms.
    pub commit_timestamp: i64,
    /// When it expires, ms, if the client said so.
    pub expire_timestamp: Option<i64>,
    /// The id of the topic, if the broker wrote it.
    pub topic_id: Option<[u8; 16]>,
}

/// The offsets that count, and those of open transactions.
#[derive(Debug, Default)]
pub struct CommittedOffsets {
    committed: BTreeMap<GroupPartition, OffsetCommit>,
    /// By producer id.
    pending: HashMap<i64, HashMap<GroupPartition, OffsetCommit>>,
}

impl CommittedOffsets {
    /// Adds a record; one with a producer id belongs to a transaction. Returns what cannot be read of it: an earlier offset of that
    /// partition then no longer counts.
    pub fn add(&mut self, record_offset: i64, producer_id: Option<i64>, key: Option<&[u8]>, value: Option<&[u8]>) -> Option<Undecoded> {
        let record = identify(Some(Topic::ConsumerOffsets), false, key, value)?;
        if !matches!(record.name, Some("OFFSET_COMMIT" | "LEGACY_OFFSET_COMMIT")) {
            return record.undecoded;
        }
        let mut fields = Fields::default();
        if let Some(undecoded) = record.visit(&record.key, &mut fields) {
            return Some(undecoded);
        }
        let place = std::mem::take(&mut fields.place);
        if record.value.is_null() {
            self.remove(&place);
            return None;
        }
        let undecoded = record.undecoded.or_else(|| record.visit(&record.value, &mut fields));
        if undecoded.is_some() || !matches!(record.value, Part::Message { .. }) {
            self.remove(&place);
            return undecoded;
        }
        let commit = OffsetCommit { record_offset, ..fields.commit };
        match producer_id {
            Some(id) => self.pending.entry(id).or_default().insert(place, commit),
            None => self.committed.insert(place, commit),
        };
        None
    }

    /// Ends the transaction of a producer: its commits count, unless a later commit does.
    pub fn end(&mut self, producer_id: i64, commits: bool) {
        let pending = self.pending.remove(&producer_id).filter(|_| commits).unwrap_or_default();
        for (place, commit) in pending {
            let is_newest = self.committed.get(&place).is_none_or(|other| other.record_offset < commit.record_offset);
            if is_newest {
                self.committed.insert(place, commit);
            }
        }
    }

    /// Forgets the commits of open transactions: bytes are missing here that may have held their markers, so that later ones do not decide.
    pub fn interrupt(&mut self) {
        self.pending.clear();
    }

    /// Returns the offsets that count, by group, topic and partition; true if an open transaction has another offset for it.
    pub fn into_sorted(self) -> impl Iterator<Item = (GroupPartition, OffsetCommit, bool)> {
        let pending: HashSet<_> = self.pending.into_values().flat_map(HashMap::into_keys).collect();
        self.committed.into_iter().map(move |(place, commit)| {
            let is_pending = pending.contains(&place);
            (place, commit, is_pending)
        })
    }

    /// A tombstone deletes what open transactions have for the partition too.
    fn remove(&mut self, place: &GroupPartition) {
        self.committed.remove(place);
        for pending in self.pending.values_mut() {
            pending.remove(place);
        }
    }
}

/// Takes the fields of a key and of a value. None of them is inside of another struct or array.
#[derive(Debug, Default)]
struct Fields {
    place: GroupPartition,
    commit: OffsetCommit,
    name: Name,
}

#[derive(Clone, Copy, Debug, Default)]
enum Name {
    Group,
    Topic,
    Partition,
    Offset,
    LeaderEpoch,
    Metadata,
    CommitTimestamp,
    ExpireTimestamp,
    TopicId,
    #[default]
    Other,
}

impl Visitor for Fields {
    fn open_struct(&mut self) {}
    fn close_struct(&mut self) {}
    fn open_array(&mut self) {}
    fn close_array(&mut self) {}

    fn name(&mut self, name: &'static str) {
        self.name = match name {
            "group" => Name::Group,
            "topic" => Name::Topic,
            "partition" => Name::Partition,
            "offset" => Name::Offset,
            "leaderEpoch" => Name::LeaderEpoch,
            "metadata" => Name::Metadata,
            "commitTimestamp" => Name::CommitTimestamp,
            "expireTimestamp" => Name::ExpireTimestamp,
            "topicId" => Name::TopicId,
            _ => Name::Other,
        };
    }

    fn scalar(&mut self, scalar: Scalar<'_>) {
        match (self.name, scalar) {
            (Name::Group, Scalar::Text(text)) => text.clone_into(&mut self.place.group),
            (Name::Topic, Scalar::Text(text)) => text.clone_into(&mut self.place.topic),
            (Name::Metadata, Scalar::Text(text)) => text.clone_into(&mut self.commit.metadata),
            (Name::Partition, Scalar::Number(number)) => self.place.partition = i32::try_from(number).unwrap_or(-1),
            (Name::Offset, Scalar::Number(number)) => self.commit.offset = number,
            (Name::LeaderEpoch, Scalar::Number(number)) => {
                self.commit.leader_epoch = i32::try_from(number).ok().filter(|epoch| *epoch >= 0);
            }
            (Name::CommitTimestamp, Scalar::Number(number)) => self.commit.commit_timestamp = number,
            (Name::ExpireTimestamp, Scalar::Number(number)) => self.commit.expire_timestamp = Some(number).filter(|time| *time >= 0),
            (Name::TopicId, Scalar::Uuid(id)) => self.commit.topic_id = Some(id),
            _ => {}
        }
    }

    fn mark(&self) -> usize {
        0
    }

    fn back_to(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(group: &str) -> Vec<u8> {
        let text = |text: &str| [&u16::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat();
        [&1_i16.to_be_bytes()[..], &text(group), &text("orders"), &0_i32.to_be_bytes()].concat()
    }

    fn value(offset: i64) -> Vec<u8> {
        [&3_i16.to_be_bytes()[..], &offset.to_be_bytes(), &(-1_i32).to_be_bytes(), &0_u16.to_be_bytes(), &7_i64.to_be_bytes()].concat()
    }

    fn offsets(state: CommittedOffsets) -> Vec<(String, i64, bool)> {
        state.into_sorted().map(|(place, commit, pending)| (place.group, commit.offset, pending)).collect()
    }

    fn add(state: &mut CommittedOffsets, at: i64, producer: Option<i64>, group: &str, offset: Option<i64>) {
        assert_eq!(state.add(at, producer, Some(&key(group)), offset.map(value).as_deref()), None);
    }

    #[test]
    fn a_transactional_commit_counts_at_its_marker() {
        let mut state = CommittedOffsets::default();
        add(&mut state, 0, None, "g", Some(100));
        add(&mut state, 1, Some(7), "g", Some(500));
        add(&mut state, 2, Some(8), "h", Some(300));
        add(&mut state, 3, Some(9), "h", Some(400));
        add(&mut state, 4, Some(6), "g", Some(600));
        state.end(7, false);
        state.end(8, true);
        assert_eq!(offsets(state), [("g".to_owned(), 100, true), ("h".to_owned(), 300, true)]);
    }

    #[test]
    fn the_newest_record_counts_and_not_the_newest_marker() {
        let mut state = CommittedOffsets::default();
        add(&mut state, 0, Some(7), "g", Some(1));
        add(&mut state, 1, None, "g", Some(2));
        state.end(7, true);
        assert_eq!(offsets(state), [("g".to_owned(), 2, false)]);
    }

    #[test]
    fn a_tombstone_deletes_the_commits_of_open_transactions_too() {
        let mut state = CommittedOffsets::default();
        add(&mut state, 0, None, "g", Some(1));
        add(&mut state, 1, Some(7), "g", Some(2));
        add(&mut state, 2, None, "g", None);
        add(&mut state, 3, Some(7), "h", Some(3));
        state.end(7, true);
        assert_eq!(offsets(state), [("h".to_owned(), 3, false)]);
    }

    #[test]
    fn missing_bytes_leave_open_transactions_undecided() {
        let mut state = CommittedOffsets::default();
        add(&mut state, 0, Some(7), "g", Some(1));
        state.interrupt();
        state.end(7, true);
        assert_eq!(offsets(state), []);
    }

    #[test]
    fn a_value_of_a_later_release_takes_the_offset_before_it_away() {
        let mut state = CommittedOffsets::default();
        add(&mut state, 0, None, "g", Some(1));
        let later = state.add(1, None, Some(&key("g")), Some(&[0, 99, 1]));
        assert_eq!(later, Some(Undecoded::Version { name: "OFFSET_COMMIT", version: 99 }));
        assert_eq!(offsets(state), []);
    }
}
