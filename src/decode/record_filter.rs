//! Which records of an opened entry are given: by their own offsets and times, whatever the header claims.

use super::{DecodeOptions, Isolation, OffsetRange};
use crate::model::timestamp::TimeRange;
use crate::model::{BatchHeader, RecordFormat};

/// The records of one entry that are wanted. Each record is compared by itself.
#[derive(Clone, Copy, Debug)]
pub struct RecordFilter {
    offsets: OffsetRange,
    times: Option<TimeRange>,
}

/// What is wanted of an entry, as far as its header shows.
pub(super) enum WantedRecords {
    /// No record.
    Nothing,
    /// Every record.
    Everything,
    /// The records that pass the filter.
    Some(RecordFilter),
}

impl RecordFilter {
    /// True for a record with this offset and this timestamp.
    #[inline]
    pub fn contains(&self, offset: i64, timestamp: i64) -> bool {
        self.offsets.contains(offset) && self.times.is_none_or(|times| times.contains(timestamp))
    }
}

impl DecodeOptions {
    /// True when all records of all entries are wanted.
    #[inline]
    fn wants_all(&self) -> bool {
        self.offsets.is_all() && self.share.is_all() && self.times.is_none() && self.stable_end().is_none()
    }

    /// The last stable offset of a committed read.
    #[inline]
    fn stable_end(&self) -> Option<i64> {
        match &self.isolation {
            Isolation::ReadUncommitted => None,
            Isolation::ReadCommitted(transactions) => transactions.last_stable_offset(),
        }
    }

    /// The offsets of the batches that this read has.
    fn batches(&self) -> OffsetRange {
        self.stable_end().map_or(self.share, |end| self.share.until(end))
    }

    /// The first offset that neither the caller nor the plan of the read wants.
    pub(super) fn end_offset(&self) -> Option<i64> {
        self.share.end.map_or(self.offsets.end, |end| self.offsets.until(end).end)
    }

    /// True when a record of this offset is wanted that is alone in its entry.
    #[inline]
    pub(super) fn wants(&self, offset: i64) -> bool {
        self.offsets.contains(offset) && self.share.contains(offset) && self.stable_end().is_none_or(|end| offset < end)
    }

    /// True when an entry of Kafka 0.7 at this position is wanted.
    #[inline]
    pub(super) fn has_entry_at(&self, position: i64) -> bool {
        self.offsets.contains(position) && self.share.contains(position)
    }

    /// The filter of records whose offsets were compared; `None` when their times do not matter.
    #[inline]
    pub(super) fn filter_of_times(&self) -> Option<RecordFilter> {
        self.times.map(|times| RecordFilter { offsets: OffsetRange::default(), times: Some(times) })
    }

    /// The filter of records of an entry of which nothing is known.
    pub(super) fn filter(&self) -> RecordFilter {
        RecordFilter { offsets: self.offsets.and(self.batches()), times: self.times }
    }

    /// What is wanted of an entry whose first and last offset are known.
    ///
    /// A batch is left out unopened when its header says that all of its offsets are outside, or when it has an append time, which is the
    /// time of all of its records.
    #[inline]
    pub(super) fn wanted(&self, header: &BatchHeader) -> WantedRecords {
        if self.wants_all() { WantedRecords::Everything } else { self.wanted_in(header) }
    }

    #[inline(never)]
    fn wanted_in(&self, header: &BatchHeader) -> WantedRecords {
        let (first, last) = (header.base_offset, header.last_offset);
        let batches = self.batches();
        // The last offset of a contradictory header is wrong: the checksum shows whether it is damaged, else each record is compared.
        let is_outside = (self.offsets.misses(first, last) || batches.misses(first, last)) && !header.is_contradictory();
        let append_time = header.append_time().filter(|_| header.format >= RecordFormat::V2);
        if is_outside || append_time.is_some_and(|time| self.times.is_some_and(|times| !times.contains(time))) {
            return WantedRecords::Nothing;
        }
        let offsets = self.offsets.and(batches.cutting(first, last));
        let times = self.times.filter(|_| append_time.is_none());
        if offsets.is_all() && times.is_none() { WantedRecords::Everything } else { WantedRecords::Some(RecordFilter { offsets, times }) }
    }
}
