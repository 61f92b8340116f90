//! Idempotent producers: sequences must follow each other, and what was appended already is not appended again (VAL-20).

use std::collections::{BTreeMap, VecDeque};

use super::origin::AppendOrigin;
use super::refusal::refused;
use crate::compat::error_codes::{INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER};
use crate::error::Result;
use crate::model::BatchHeader;
use crate::model::batch::{NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE};

/// What a partition knows of its producers, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerState(pub BTreeMap<i64, ProducerHistory>);

/// One producer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerHistory {
    /// Its current epoch.
    pub epoch: i16,
    /// Its last batches, oldest first, at most five.
    pub batches: VecDeque<ProducedBatch>,
}

/// A batch that was appended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProducedBatch {
    /// Sequence of its first record.
    pub first_sequence: i32,
    /// Sequence of its last record.
    pub last_sequence: i32,
    /// Offset of its first record.
    pub first_offset: i64,
    /// Offset of its last record.
    pub last_offset: i64,
    /// Its largest timestamp.
    pub timestamp: i64,
}

/// How many batches of a producer are remembered (`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`).
const RETAINED: usize = 5;

impl ProducerState {
    /// The batch that this one repeats.
    pub(super) fn duplicate_of(&self, header: &BatchHeader) -> Option<ProducedBatch> {
        let entry = self.0.get(&header.producer.id).filter(|entry| entry.epoch == header.producer.epoch)?;
        let range = (header.producer.base_sequence, header.last_sequence());
        entry.batches.iter().find(|batch| (batch.first_sequence, batch.last_sequence) == range).copied()
    }

    /// Takes a batch in. Clients' sequences must follow each other, and no epoch but that of what the leader took may be over.
    ///
    /// # Errors
    /// `Rejected` for an epoch that is over, and a sequence that does not follow.
    pub(super) fn append(&mut self, header: &BatchHeader, origin: AppendOrigin, offsets: (i64, i64), timestamp: i64) -> Result<()> {
        let epoch = header.producer.epoch;
        // A control batch without records is what the cleaner left of a marker whose transaction is gone.
        if header.producer.id == NO_PRODUCER_ID || (header.is_control() && header.count == Some(0)) {
            return Ok(());
        }
        if let Some(entry) = self.0.get(&header.producer.id) {
            if origin != AppendOrigin::Replication {
                ensure_current(entry, header)?;
            }
            if origin == AppendOrigin::Client {
                ensure_follows(entry, header)?;
            }
        }
        let entry = self.0.entry(header.producer.id).or_insert_with(|| ProducerHistory { epoch, batches: VecDeque::new() });
        if entry.epoch != epoch {
            *entry = ProducerHistory { epoch, batches: VecDeque::new() };
        }
        if !header.is_control() {
            entry.remember(header, offsets, timestamp);
        }
        Ok(())
    }
}

impl ProducerHistory {
    fn remember(&mut self, header: &BatchHeader, (first_offset, last_offset): (i64, i64), timestamp: i64) {
        let (first_sequence, last_sequence) = (header.producer.base_sequence, header.last_sequence());
        self.batches.push_back(ProducedBatch { first_sequence, last_sequence, first_offset, last_offset, timestamp });
        while self.batches.len() > RETAINED {
            self.batches.pop_front();
        }
    }
}

fn ensure_current(entry: &ProducerHistory, header: &BatchHeader) -> Result<()> {
    if header.producer.epoch >= entry.epoch {
        return Ok(());
    }
    let (id, epoch) = (header.producer.id, header.producer.epoch);
    let reason = format!("Epoch of producer {id} is {epoch}, which is smaller than the last seen epoch {}", entry.epoch);
    Err(refused("VAL-20", INVALID_PRODUCER_EPOCH, reason))
}

/// An epoch that is not known yet lets a producer begin anywhere; a new one begins with 0.
fn ensure_follows(entry: &ProducerHistory, header: &BatchHeader) -> Result<()> {
    let (id, epoch, first) = (header.producer.id, header.producer.epoch, header.producer.base_sequence);
    let last = entry.batches.back().map_or(NO_SEQUENCE, |batch| batch.last_sequence);
    let reason = match () {
        () if entry.epoch == NO_PRODUCER_EPOCH => return Ok(()),
        () if epoch != entry.epoch && first != 0 => {
            format!("Invalid sequence number for new epoch of producer {id}: {epoch} (request epoch), {first} (seq. number)")
        }
        () if epoch == entry.epoch && first != last.wrapping_add(1) & i32::MAX => {
            format!("Out of order sequence number for producer {id}: {first} (incoming seq. number), {last} (current end sequence number)")
        }
        () => return Ok(()),
    };
    Err(refused("VAL-20", OUT_OF_ORDER_SEQUENCE_NUMBER, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Producer, RecordFormat};

    fn header(epoch: i16, first: i32, records: i64) -> BatchHeader {
        let producer = Producer { id: 7, epoch, base_sequence: first };
        BatchHeader { last_offset: records - 1, count: Some(1), producer, ..BatchHeader::new(RecordFormat::V2) }
    }

    #[test]
    fn val_20_sequences() {
        let mut state = ProducerState::default();
        let code = |result: Result<()>| result.err().and_then(|error| error.kind().kafka_error_code());
        // A producer that is not known may begin anywhere.
        assert_eq!(code(state.append(&header(3, i32::MAX - 1, 2), AppendOrigin::Client, (0, 1), 5)), None);
        assert_eq!(code(state.append(&header(3, 1, 1), AppendOrigin::Client, (2, 2), 5)), Some(45));
        assert_eq!(code(state.append(&header(3, 0, 3), AppendOrigin::Client, (2, 4), 5)), None);
        assert_eq!(state.duplicate_of(&header(3, 0, 3)).map(|batch| batch.first_offset), Some(2));
        assert_eq!(state.duplicate_of(&header(3, 0, 2)), None);
        assert_eq!(code(state.append(&header(2, 3, 1), AppendOrigin::Client, (5, 5), 5)), Some(47));
        assert_eq!(code(state.append(&header(4, 3, 1), AppendOrigin::Client, (5, 5), 5)), Some(45));
        assert_eq!(code(state.append(&header(4, 0, 1), AppendOrigin::Client, (5, 5), 5)), None);
        for sequence in 1..7 {
            assert_eq!(code(state.append(&header(4, sequence, 1), AppendOrigin::Client, (5, 5), 5)), None);
        }
        assert_eq!(state.duplicate_of(&header(4, 1, 1)), None, "only five are remembered");
        assert!(state.duplicate_of(&header(4, 2, 1)).is_some());
    }
}
