//! Which batches stay although they lose all their records.

use std::collections::HashMap;

use crate::model::BatchHeader;
use crate::sidecar::ProducerEntry;

/// The end of a partition: the last batch, and the last batch of each producer.
///
/// A batch without records keeps what a broker would forget with it (CMP-1, `Cleaner.cleanInto`): the log end offset, the last sequence of a
/// producer, and where its open transaction begins.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    last_offset: Option<i64>,
    producers: HashMap<i64, LatestOfProducer>,
}

#[derive(Clone, Copy, Debug)]
struct LatestOfProducer {
    last_data_offset: i64,
    open_since: i64,
    epoch: i16,
}

impl Retention {
    /// Of a partition whose last batch ends at `last_offset`, with these producers at its end.
    pub fn new(last_offset: Option<i64>, producers: &[ProducerEntry]) -> Self {
        let latest = |entry: &ProducerEntry| LatestOfProducer {
            last_data_offset: entry.last_offset,
            open_since: entry.current_txn_first_offset,
            epoch: entry.producer_epoch,
        };
        Self { last_offset, producers: producers.iter().map(|entry| (entry.producer_id, latest(entry))).collect() }
    }

    /// True for the batch that ends the partition.
    pub fn is_last(&self, header: &BatchHeader) -> bool {
        self.last_offset == Some(header.last_offset)
    }

    /// True for a batch that stays without records.
    pub fn retains(&self, header: &BatchHeader) -> bool {
        self.is_last(header) || self.producers.get(&header.producer.id).is_some_and(|latest| latest.needs(header))
    }
}

impl LatestOfProducer {
    fn needs(&self, header: &BatchHeader) -> bool {
        if self.last_data_offset < 0 {
            // The last entry of the producer is a marker, which has its epoch.
            return header.is_control() && header.producer.epoch == self.epoch;
        }
        let begins_open = header.is_transactional() && !header.is_control() && header.base_offset == self.open_since;
        header.last_offset == self.last_data_offset || begins_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Attributes, Producer, RecordFormat};

    fn batch(id: i64, first: i64, last: i64) -> BatchHeader {
        let attributes = Attributes::default().with_transactional(true);
        let producer = Producer { id, epoch: 0, base_sequence: 0 };
        BatchHeader { base_offset: first, last_offset: last, producer, attributes, ..BatchHeader::new(RecordFormat::V2) }
    }

    #[test]
    fn the_last_batches_and_the_begin_of_an_open_transaction_stay() {
        let entry = ProducerEntry {
            producer_id: 7,
            producer_epoch: 0,
            last_sequence: 5,
            last_offset: 50,
            offset_delta: 0,
            timestamp: 0,
            coordinator_epoch: -1,
            current_txn_first_offset: 30,
        };
        let retention = Retention::new(Some(99), &[entry]);
        assert!(retention.retains(&batch(7, 45, 50)) && retention.retains(&batch(7, 30, 33)));
        assert!(!retention.retains(&batch(7, 34, 40)) && !retention.retains(&batch(8, 45, 50)));
        assert!(retention.retains(&batch(-1, 98, 99)) && retention.is_last(&batch(-1, 98, 99)));
    }
}
