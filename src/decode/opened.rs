//! An entry whose records can be read.

use super::RecordIter;
use super::record_filter::RecordFilter;
use crate::model::{BatchHeader, RecordRef};

/// An entry whose records can be walked, or a bundle of uncompressed messages.
#[derive(Clone, Copy, Debug)]
pub struct DecodedBatch {
    /// Its header, resolved: base offset and count of a wrapper are those of its messages.
    pub header: BatchHeader,
    /// Where its uncompressed records are.
    pub records_source: RecordsSource,
    /// Its records.
    pub walk: RecordIter,
    /// Which records to give; `None` for all.
    pub filter: Option<RecordFilter>,
    /// The append time that replaces the timestamp of every record of a batch.
    pub append_time: Option<i64>,
    /// Where the uncompressed records start in the entry, when they are stored there.
    pub records_at: usize,
    /// Bytes of the entry, or of all entries of the bundle.
    pub bundled: usize,
}

/// Where the decompressed records of an entry are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordsSource {
    /// In the entry itself.
    Input,
    /// In the decoder's storage.
    Decompressed,
    /// In memory that a plugin returned.
    Plugin,
}

impl DecodedBatch {
    /// An entry all of whose records are given, each with the timestamp that its walk says.
    #[inline]
    pub(super) fn new(header: BatchHeader, records_source: RecordsSource, walk: RecordIter) -> Self {
        let bundled = usize::try_from(header.size).unwrap_or(usize::MAX);
        Self { header, records_source, walk, filter: None, append_time: None, records_at: 0, bundled }
    }

    /// Returns the timestamp of a record as Kafka gives it to consumers.
    #[inline]
    pub fn timestamp(&self, record: &RecordRef) -> i64 {
        self.append_time.unwrap_or_else(|| self.header.base_timestamp.wrapping_add(record.timestamp_delta))
    }
}
