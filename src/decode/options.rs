use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Transactions;
use crate::codec::Plugins;
use crate::codec::zstd::Dictionaries;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::model::timestamp::TimeRange;
use crate::model::{BatchHeader, CompressionType, Formats, RecordFormat, UploadOffsets};
use crate::quirks::Quirks;

/// What a decode is asked for.
#[derive(Clone, Debug)]
pub struct DecodeOptions {
    /// Which formats the entries are of.
    pub formats: Formats,
    /// Of a column, look at each value to tell its family (MAP-1); what entries of Kafka 0.8 and later may be.
    pub sniffed_values: Option<Formats>,
    /// Of an upload in tiered storage: the offsets that its batches must have, in increasing order.
    pub upload: Option<UploadOffsets>,
    /// Position of the input in its partition; only Kafka 0.7 needs it, whose offsets are positions.
    pub base_position: i64,
    /// What codecs take that they take for nobody else.
    pub codecs: CodecOptions,
    /// Compare checksums.
    pub check_crc: bool,
    /// Give control records too.
    pub is_control_wanted: bool,
    /// The offsets of the records to give. Each record of an opened entry is compared.
    pub offsets: OffsetRange,
    /// The part of the offsets of a log that this read has, where several reads share the log: a batch whose header lies inside is given
    /// whole, so that no record is in none of the reads.
    pub share: OffsetRange,
    /// The timestamps of the records to give; `None` for all records, also for those without a timestamp.
    pub times: Option<TimeRange>,
    /// Which offsets the batches may hold, as the names of the segment and of the next one say (SEG-1).
    pub segment: OffsetRange,
    /// What to do with transactions.
    pub isolation: Isolation,
    /// True once a stream of the read has reported the undecided transaction at which committed records end. The streams of one read share it.
    pub undecided_reported: Arc<AtomicBool>,
    /// What an entry may claim.
    pub limits: Limits,
    /// What to do at a batch without damage that cannot be read here.
    pub unreadable: Unreadable,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self {
            formats: Formats::default(),
            sniffed_values: None,
            upload: None,
            base_position: 0,
            codecs: CodecOptions::default(),
            check_crc: true,
            is_control_wanted: false,
            offsets: OffsetRange::default(),
            share: OffsetRange::default(),
            times: None,
            segment: OffsetRange::default(),
            isolation: Isolation::ReadUncommitted,
            undecided_reported: Arc::default(),
            limits: Limits::default(),
            unreadable: Unreadable::default(),
        }
    }
}

/// What to do at a batch without damage that cannot be read here; see `Error::is_unreadable`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreadable {
    /// Fail, also where damage is skipped.
    #[default]
    Raise,
    /// Leave the batch out, and remember a finding of severity warning.
    Skip,
}

/// What codecs take only when they are told to, and codecs that are not built in.
#[derive(Clone, Debug, Default)]
pub struct CodecOptions {
    /// Deviations that are accepted.
    pub quirks: Quirks,
    /// Dictionaries that zstd frames may name (COD-Z5).
    pub zstd_dictionaries: Dictionaries,
    /// Codecs that batches of magic 2 may name by an id (S-P1).
    pub plugins: Plugins,
}

/// Kafka's `isolation.level`.
#[derive(Clone, Debug)]
pub enum Isolation {
    /// All records.
    ReadUncommitted,
    /// No records of aborted transactions, and none from the last stable offset on (TXN-1 to TXN-9).
    ReadCommitted(Arc<Transactions>),
}

/// Offsets from `start` (inclusive) to `end` (exclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetRange {
    /// First offset wanted.
    pub start: i64,
    /// First offset not wanted any more; `None` for no end.
    pub end: Option<i64>,
}

impl Default for OffsetRange {
    fn default() -> Self {
        Self { start: i64::MIN, end: None }
    }
}

impl OffsetRange {
    /// True when this offset is wanted.
    #[inline(always)]
    pub fn contains(&self, offset: i64) -> bool {
        offset >= self.start && self.end.is_none_or(|end| offset < end)
    }

    /// True when every offset is wanted.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// True when no offset from `first` to `last` is wanted.
    pub fn misses(&self, first: i64, last: i64) -> bool {
        first <= last && (last < self.start || self.end.is_some_and(|end| first >= end))
    }

    /// Fail for a batch that holds an offset outside of this range: that of its segment.
    ///
    /// Only the inner messages of a wrapper (magic 0 and 1) know its first offset, so its last offset counts. A wrapper offset of 0 may be
    /// unset (L8-27). Kafka 0.7 has no offsets.
    ///
    /// # Errors
    /// `OutsideSegment` (SEG-1).
    #[inline]
    pub fn ensure_holds(&self, header: &BatchHeader) -> Result<()> {
        if self.is_all() || self.holds(header) { Ok(()) } else { Err(self.outside(header)) }
    }

    fn holds(&self, header: &BatchHeader) -> bool {
        match header.format {
            RecordFormat::V2 | RecordFormat::V3 => self.contains(header.base_offset) && self.contains(header.last_offset),
            RecordFormat::V0 | RecordFormat::V1 => self.contains(header.last_offset) || is_unset(header),
            RecordFormat::V07 => true,
        }
    }

    #[cold]
    fn outside(&self, header: &BatchHeader) -> Error {
        let last = header.last_offset;
        let first = if header.format.is_batch() { header.base_offset } else { last };
        Error::from(ErrorKind::OutsideSegment { first, last, start: self.start, end: self.end }).in_field("baseOffset")
    }

    /// The bounds that cut through a batch from `first` to `last`. A bound that has the whole batch on its inner side is left out, since the
    /// records of the batch may lie outside of what the header claims.
    #[must_use]
    pub fn cutting(self, first: i64, last: i64) -> Self {
        if first > last {
            return self;
        }
        let start = if first >= self.start { i64::MIN } else { self.start };
        Self { start, end: self.end.filter(|end| last >= *end) }
    }

    /// The offsets that are in both ranges.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let both = other.end.map_or(self, |end| self.until(end));
        Self { start: self.start.max(other.start), ..both }
    }

    /// The part that lies before `end`.
    #[must_use]
    pub fn until(self, end: i64) -> Self {
        Self { end: Some(self.end.map_or(end, |own| own.min(end))), ..self }
    }
}

/// True for a wrapper whose offset a producer may not have set.
fn is_unset(header: &BatchHeader) -> bool {
    header.last_offset == 0 && header.compression() != CompressionType::None
}
