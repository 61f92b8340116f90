//! What headers add up to.

use super::batch::BatchHeader;

/// Entries one after the other, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// The lowest first offset.
    pub first_offset: i64,
    /// The highest last offset.
    pub last_offset: i64,
    /// Entries.
    pub batches: u64,
    /// Records, as the headers count them.
    pub records: i64,
}

impl Totals {
    /// Of one entry; `None` when its header does not count its records (L8-28).
    pub fn of(header: &BatchHeader) -> Option<Self> {
        let records = i64::from(header.count?);
        Some(Self { first_offset: header.base_offset, last_offset: header.last_offset, batches: 1, records })
    }

    /// Of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            first_offset: self.first_offset.min(other.first_offset),
            last_offset: self.last_offset.max(other.last_offset),
            batches: self.batches.saturating_add(other.batches),
            records: self.records.saturating_add(other.records),
        }
    }
}
