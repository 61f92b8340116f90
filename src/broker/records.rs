//! Compares the records of an entry that is appended with the rules.

use super::checks::{RecordErrors, RecordFacts};
use super::options::AppendOptions;
use crate::decode::DecodedBatch;
use crate::error::Result;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{HeaderRef, RecordFormat, RecordRef, RecordSink, Section};

/// What the records of an entry are like.
#[derive(Clone, Copy, Debug)]
pub struct RecordSummary {
    /// How many there are.
    pub count: i64,
    /// Their largest timestamp.
    pub max_timestamp: i64,
    /// Offsets are 0, 1, 2 and so on.
    pub is_sequential: bool,
}

impl Default for RecordSummary {
    fn default() -> Self {
        Self { count: 0, max_timestamp: NO_TIMESTAMP, is_sequential: true }
    }
}

/// Holds records against the rules.
pub struct RecordValidator<'a> {
    opened: &'a DecodedBatch,
    section: Section<'a>,
    options: &'a AppendOptions,
    looked: RecordSummary,
    errors: RecordErrors,
}

impl<'a> RecordValidator<'a> {
    /// At the records of an entry that is open.
    pub fn new(opened: &'a DecodedBatch, section: Section<'a>, options: &'a AppendOptions) -> Self {
        Self { opened, section, options, looked: RecordSummary::default(), errors: RecordErrors::default() }
    }

    /// What they are like.
    ///
    /// # Errors
    /// `Rejected` with the indexes of records that break a rule (VAL-16).
    pub fn finish(mut self) -> Result<RecordSummary> {
        self.errors.ensure_none().map(|()| self.looked)
    }
}

impl RecordSink for RecordValidator<'_> {
    #[inline]
    fn header(&mut self, _: HeaderRef) {}

    #[inline]
    fn record(&mut self, record: RecordRef) {
        const MAGIC: usize = 16;
        let header = &self.opened.header;
        let magic = match header.format {
            RecordFormat::V2 => header.magic,
            _ => self.section.run(record.start + MAGIC, 1).first().map_or(header.magic, |magic| i8::from_be_bytes([*magic])),
        };
        let index = u64::try_from(self.looked.count).unwrap_or(u64::MAX);
        let seen = RecordFacts { index, magic, has_key: record.key().is_some(), timestamp: self.opened.timestamp(&record) };
        self.errors.look(header, &seen, self.options);
        if header.format != RecordFormat::V0 {
            self.looked.max_timestamp = self.looked.max_timestamp.max(seen.timestamp);
        }
        self.looked.is_sequential &= header.base_offset.wrapping_add(record.offset_delta) == self.looked.count;
        self.looked.count += 1;
    }
}
