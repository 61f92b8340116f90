//! Walks over the records of an entry that is appended: to hold them against the rules, and to write them anew.

use super::append::AppendOptions;
use super::checks::{RecordErrors, Seen};
use crate::decode::Opened;
use crate::encode::BatchBuilder;
use crate::error::{Error, Result};
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{HeaderRef, NewHeader, NewRecord, RecordFormat, RecordRef, RecordSink, Section};
use crate::wire::Sink;

/// What the records of an entry are like.
#[derive(Clone, Copy, Debug)]
pub struct Looked {
    /// How many there are.
    pub count: i64,
    /// Their largest timestamp.
    pub max_timestamp: i64,
    /// Offsets are 0, 1, 2 and so on.
    pub is_sequential: bool,
}

impl Default for Looked {
    fn default() -> Self {
        Self { count: 0, max_timestamp: NO_TIMESTAMP, is_sequential: true }
    }
}

/// Holds records against the rules.
pub struct Look<'a> {
    opened: &'a Opened,
    section: Section<'a>,
    options: &'a AppendOptions,
    looked: Looked,
    errors: RecordErrors,
}

impl<'a> Look<'a> {
    /// At the records of an entry that is open.
    pub fn new(opened: &'a Opened, section: Section<'a>, options: &'a AppendOptions) -> Self {
        Self { opened, section, options, looked: Looked::default(), errors: RecordErrors::default() }
    }

    /// What they are like.
    ///
    /// # Errors
    /// `Rejected` with the indexes of records that break a rule (VAL-16).
    pub fn finish(mut self) -> Result<Looked> {
        self.errors.ensure_none().map(|()| self.looked)
    }
}

impl RecordSink for Look<'_> {
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
        let seen = Seen { index, magic, has_key: record.key().is_some(), timestamp: self.opened.timestamp(&record) };
        self.errors.look(header, &seen, self.options);
        if header.format != RecordFormat::V0 {
            self.looked.max_timestamp = self.looked.max_timestamp.max(seen.timestamp);
        }
        self.looked.is_sequential &= header.base_offset.wrapping_add(record.offset_delta) == self.looked.count;
        self.looked.count += 1;
    }
}

/// Writes records anew.
pub struct Refill<'a, 'b> {
    opened: &'b Opened,
    section: Section<'a>,
    builder: &'b mut BatchBuilder,
    out: &'b mut Sink,
    headers: Vec<NewHeader<'a>>,
    next_offset: i64,
    max_timestamp: i64,
    failed: Option<Error>,
}

impl<'a, 'b> Refill<'a, 'b> {
    /// Of an entry that is open, from this offset on; the time is the largest so far.
    pub fn new(
        opened: &'b Opened,
        section: Section<'a>,
        (builder, out): (&'b mut BatchBuilder, &'b mut Sink),
        (next_offset, max_timestamp): (i64, i64),
    ) -> Self {
        Self { opened, section, builder, out, headers: Vec::new(), next_offset, max_timestamp, failed: None }
    }

    /// The offset behind the last record, and the largest timestamp.
    ///
    /// # Errors
    /// What the builder refused first.
    pub fn finish(self) -> Result<(i64, i64)> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok((self.next_offset, self.max_timestamp)),
        }
    }
}

impl RecordSink for Refill<'_, '_> {
    #[inline]
    fn header(&mut self, header: HeaderRef) {
        let run = |(start, len)| self.section.run(start, len);
        self.headers.push(NewHeader { key: run(header.key()), value: header.value().map(run) });
    }

    #[inline]
    fn record(&mut self, record: RecordRef) {
        let run = |(start, len)| self.section.run(start, len);
        let timestamp = self.opened.timestamp(&record);
        let new = NewRecord {
            offset: self.next_offset,
            timestamp,
            key: record.key().map(run),
            value: record.value().map(run),
            headers: &self.headers,
            ..NewRecord::default()
        };
        if let Err(error) = self.builder.append(&new, self.out) {
            self.failed.get_or_insert(error.in_record(u64::try_from(record.index).unwrap_or(u64::MAX)));
        }
        self.next_offset = self.next_offset.wrapping_add(1);
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.headers.clear();
    }
}
