//! Transactions on the way through a log that is compacted (`CleanedTransactionMetadata`).

use std::collections::{HashMap, HashSet, VecDeque};

use crate::model::{BatchHeader, ControlType, Marker};
use crate::sidecar::AbortedTxn;

/// Which batches are of aborted transactions, and which markers end transactions of which no batch is left.
#[derive(Clone, Debug, Default)]
pub struct CleanedTransactions {
    /// In the order of their first offsets.
    aborted: VecDeque<AbortedTxn>,
    /// By producer; true when a batch was met.
    ongoing_aborted: HashMap<i64, bool>,
    ongoing_committed: HashSet<i64>,
}

impl CleanedTransactions {
    /// Of a log with these aborted transactions.
    pub fn new(aborted: &[AbortedTxn]) -> Self {
        let mut aborted = aborted.to_vec();
        aborted.sort_unstable_by_key(|aborted| aborted.first_offset);
        Self { aborted: aborted.into(), ..Self::default() }
    }

    /// Looks at the next data batch; true when its transaction was aborted.
    pub fn is_aborted(&mut self, header: &BatchHeader) -> bool {
        self.begin_until(header.last_offset);
        if !header.is_transactional() {
            return false;
        }
        match self.ongoing_aborted.get_mut(&header.producer.id) {
            Some(is_met) => {
                *is_met = true;
                true
            }
            None => {
                self.ongoing_committed.insert(header.producer.id);
                false
            }
        }
    }

    /// Looks at the next control batch; true when nothing of its transaction is left. A batch without a marker was emptied before.
    pub fn is_of_nothing(&mut self, header: &BatchHeader, marker: Option<Marker>) -> bool {
        self.begin_until(header.last_offset);
        match marker.map(|marker| marker.control_type) {
            Some(ControlType::Abort) => self.ongoing_aborted.remove(&header.producer.id) != Some(true),
            Some(ControlType::Commit) => !self.ongoing_committed.remove(&header.producer.id),
            Some(_) => false,
            None => header.count == Some(0),
        }
    }

    fn begin_until(&mut self, offset: i64) {
        while self.aborted.front().is_some_and(|aborted| aborted.first_offset <= offset) {
            if let Some(aborted) = self.aborted.pop_front() {
                self.ongoing_aborted.entry(aborted.producer_id).or_insert(false);
            }
        }
    }
}
