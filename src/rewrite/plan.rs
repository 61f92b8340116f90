//! What becomes of each record.

use super::selection::{Matches, RecordSelection};
use crate::error::Result;
use crate::model::{BatchHeader, NewRecord};

/// What becomes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordAction {
    /// It stays.
    Keep,
    /// It goes.
    Drop,
    /// Its value becomes null.
    Tombstone,
    /// Its value is masked.
    Mask,
}

/// What becomes of a batch before its records are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchAction {
    /// All records stay.
    Keep,
    /// All records go.
    Drop,
    /// The records have to be looked at.
    Look,
}

/// Decides about batches and records of a log, in the order of the log.
pub trait Filter: Send {
    /// True when headers of records are looked at.
    fn reads_headers(&self) -> bool;

    /// Decides about a batch, whose bytes are `entry`.
    ///
    /// # Errors
    /// What is wrong with a marker.
    fn of_batch(&mut self, header: &BatchHeader, entry: &[u8]) -> Result<BatchAction>;

    /// Decides about a record of the batch that was asked for last.
    fn of_record(&mut self, header: &BatchHeader, record: &NewRecord<'_>) -> RecordAction;

    /// The delete horizon that the batch gets which was asked for last, unless it has one (CMP-5).
    fn delete_horizon_ms(&self, _header: &BatchHeader, _keeps_tombstone: bool) -> Option<i64> {
        None
    }

    /// Fails for a batch that cannot be decided about.
    ///
    /// # Errors
    /// `Usage`.
    fn ensure_possible(&self, _header: &BatchHeader) -> Result<()> {
        Ok(())
    }
}

/// Records that are kept, dropped, made tombstones or masked. What is dropped is not looked at further, what is a tombstone not masked.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// All other records go.
    pub keep: Option<RecordSelection>,
    /// These records go.
    pub drop: Option<RecordSelection>,
    /// The values of these become null.
    pub tombstone: Option<RecordSelection>,
    /// The values of these are masked.
    pub mask: Option<RecordSelection>,
    /// Records that were looked at, without control records.
    pub place: i64,
}

impl Plan {
    fn selections(&self) -> impl Iterator<Item = &RecordSelection> {
        [&self.keep, &self.drop, &self.tombstone, &self.mask].into_iter().flatten()
    }
}

impl Filter for Plan {
    fn reads_headers(&self) -> bool {
        self.selections().any(RecordSelection::reads_headers)
    }

    /// Control batches stay: markers end transactions, and the rest is no one's data (CMP-6).
    fn of_batch(&mut self, header: &BatchHeader, _entry: &[u8]) -> Result<BatchAction> {
        if header.is_control() {
            return Ok(BatchAction::Keep);
        }
        if self.selections().any(|selection| selection.places.is_some()) {
            // Places count every record.
            return Ok(BatchAction::Look);
        }
        let of = |selection: &Option<RecordSelection>, none| selection.as_ref().map_or(none, |selection| selection.of_batch(header));
        Ok(match (of(&self.keep, Matches::All), of(&self.drop, Matches::None)) {
            (Matches::None, _) | (_, Matches::All) => BatchAction::Drop,
            (Matches::All, Matches::None) => {
                let is_changed = |selection| of(selection, Matches::None) != Matches::None;
                if is_changed(&self.tombstone) || is_changed(&self.mask) { BatchAction::Look } else { BatchAction::Keep }
            }
            _ => BatchAction::Look,
        })
    }

    #[inline]
    fn of_record(&mut self, _header: &BatchHeader, record: &NewRecord<'_>) -> RecordAction {
        let place = self.place;
        self.place += 1;
        let is_in = |selection: &Option<RecordSelection>| selection.as_ref().is_some_and(|selection| selection.matches(place, record));
        if self.keep.as_ref().is_some_and(|keep| !keep.matches(place, record)) || is_in(&self.drop) {
            RecordAction::Drop
        } else if record.value.is_none() {
            // Null stays null.
            RecordAction::Keep
        } else if is_in(&self.tombstone) {
            RecordAction::Tombstone
        } else if is_in(&self.mask) {
            RecordAction::Mask
        } else {
            RecordAction::Keep
        }
    }
}
