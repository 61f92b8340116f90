use std::collections::{BTreeSet, HashMap};

use super::{AbortedTxn, ProducerEntry};
use crate::model::{BatchHeader, ControlType, Marker};

/// Follows the producers of a partition through its batches, as Kafka's recovery does (`ProducerStateManager`, `ProducerAppendInfo`).
///
/// Producers do not expire here: a broker forgets one that was silent for `producer.id.expiration.ms`.
#[derive(Debug, Default)]
pub struct Producers {
    entries: HashMap<i64, (usize, ProducerEntry)>,
    open: BTreeSet<(i64, i64)>,
}

impl Producers {
    /// Goes on from the state of a snapshot.
    pub fn from_snapshot(entries: &[ProducerEntry]) -> Self {
        let mut producers = Self::default();
        for entry in entries {
            if entry.current_txn_first_offset >= 0 {
                producers.open.insert((entry.current_txn_first_offset, entry.producer_id));
            }
            let seen = producers.entries.len();
            producers.entries.insert(entry.producer_id, (seen, *entry));
        }
        producers
    }

    /// Looks at the next batch. A control batch comes with its marker; one without a marker was emptied by compaction and changes
    /// nothing (CTL-10). What is given back belongs into the `.txnindex` of the batch's segment.
    pub fn visit(&mut self, header: &BatchHeader, marker: Option<Marker>) -> Option<AbortedTxn> {
        if header.producer.id < 0 {
            return None;
        }
        if header.is_control() {
            return marker.and_then(|marker| self.end_transaction(header, marker));
        }
        self.append_data(header);
        None
    }

    /// The state as Kafka writes it: in the order of Java's hash map.
    pub fn snapshot(&self) -> Vec<ProducerEntry> {
        let mut entries: Vec<_> = self.entries.values().collect();
        let mask = java_capacity(entries.len()) - 1;
        entries.sort_unstable_by_key(|(seen, entry)| (java_hash(entry.producer_id) & mask, *seen));
        entries.into_iter().map(|(_, entry)| *entry).collect()
    }

    fn append_data(&mut self, header: &BatchHeader) {
        let delta = header.last_offset.wrapping_sub(header.base_offset);
        let entry = self.entry(header);
        entry.last_sequence = header.last_sequence();
        entry.last_offset = header.last_offset;
        entry.offset_delta = i32::try_from(delta).unwrap_or(i32::MAX);
        entry.timestamp = header.max_timestamp;
        if header.is_transactional() && entry.current_txn_first_offset < 0 {
            entry.current_txn_first_offset = header.base_offset;
            self.open.insert((header.base_offset, header.producer.id));
        }
    }

    fn end_transaction(&mut self, header: &BatchHeader, marker: Marker) -> Option<AbortedTxn> {
        if !matches!(marker.control_type, ControlType::Abort | ControlType::Commit) {
            return None;
        }
        let (producer_id, last_offset) = (header.producer.id, header.base_offset);
        let entry = self.entry(header);
        let first_offset = entry.current_txn_first_offset;
        entry.current_txn_first_offset = -1;
        entry.coordinator_epoch = marker.coordinator_epoch;
        entry.timestamp = marker.timestamp;
        if first_offset < 0 {
            return None;
        }
        self.open.remove(&(first_offset, producer_id));
        let last_stable_offset = self.open.first().map_or(last_offset.wrapping_add(1), |(first, _)| *first);
        let aborted = AbortedTxn { producer_id, first_offset, last_offset, last_stable_offset };
        (marker.control_type == ControlType::Abort).then_some(aborted)
    }

    /// The producer's entry; a new epoch forgets its batches.
    fn entry(&mut self, header: &BatchHeader) -> &mut ProducerEntry {
        let seen = self.entries.len();
        let producer_epoch = header.producer.epoch;
        let (_, entry) = self.entries.entry(header.producer.id).or_insert((seen, unseen(header.producer.id, producer_epoch)));
        if entry.producer_epoch != producer_epoch {
            *entry = ProducerEntry {
                coordinator_epoch: entry.coordinator_epoch,
                current_txn_first_offset: entry.current_txn_first_offset,
                ..unseen(header.producer.id, producer_epoch)
            };
        }
        entry
    }
}

fn unseen(producer_id: i64, producer_epoch: i16) -> ProducerEntry {
    ProducerEntry {
        producer_id,
        producer_epoch,
        last_sequence: -1,
        last_offset: -1,
        offset_delta: 0,
        timestamp: -1,
        coordinator_epoch: -1,
        current_txn_first_offset: -1,
    }
}

/// `HashMap.hash` of a `Long`.
fn java_hash(key: i64) -> u32 {
    let key = key.cast_unsigned();
    let folded = u32::try_from((key ^ (key >> 32)) & u64::from(u32::MAX)).unwrap_or(0);
    folded ^ (folded >> 16)
}

/// Buckets of a Java hash map that has grown to `len` entries at its load factor of 3/4.
fn java_capacity(len: usize) -> u32 {
    let needed = u32::try_from(len).unwrap_or(1 << 30).saturating_mul(4).div_ceil(3);
    needed.clamp(16, 1 << 30).next_power_of_two()
}
