//! What a record can get wrong and still be readable.

use super::clock::Clock;
use super::finding::{Finding, Severity};
use super::kind::FindingKind;
use super::rule_counts::RuleCounts;
use crate::format::record_batch::RecordHead;
use crate::model::{BatchHeader, HeaderRef, RecordRef, RecordSink, Section, TimestampType};
use crate::wire::{as_u64, varint};

/// Below every offset delta, which has 32 bits, and not above any timestamp.
const NONE: i64 = i64::MIN;

/// Looks at every record of one batch.
pub struct RecordRules<'a> {
    header: &'a BatchHeader,
    section: Section<'a>,
    findings: &'a mut Vec<Finding>,
    /// Bytes that the headers of the coming record need at least.
    header_bytes: usize,
    /// Bytes of the attributes of each record.
    attributes_len: usize,
    last_delta: i64,
    has_create_time: bool,
    clock: Clock,
    previous_delta: i64,
    max_timestamp: i64,
    loose_header: Option<i32>,
    has_bad_key: bool,
    reads_payload: bool,
    counts: RuleCounts,
}

impl<'a> RecordRules<'a> {
    /// Rules over the records of this batch. Without `reads_payload`, only offsets, timestamps and lengths are looked at.
    pub fn new(header: &'a BatchHeader, section: Section<'a>, findings: &'a mut Vec<Finding>, reads_payload: bool) -> Self {
        Self {
            header,
            section,
            findings,
            header_bytes: 0,
            attributes_len: usize::from(header.has_record_attributes()),
            last_delta: header.last_offset.wrapping_sub(header.base_offset),
            has_create_time: header.timestamp_type() == TimestampType::CreateTime,
            clock: Clock::now(),
            previous_delta: NONE,
            max_timestamp: NONE,
            loose_header: None,
            has_bad_key: false,
            reads_payload,
            counts: RuleCounts::default(),
        }
    }

    /// Looks at a record whose payload is not there: its headers are taken for as long as they need to be.
    pub fn metadata(&mut self, metadata: &RecordHead) {
        let record = metadata.record;
        let known = record.key().map_or(0, |(_, len)| len) + record.value().map_or(0, |(_, len)| len);
        self.header_bytes = metadata.payload_len.saturating_sub(known);
        self.record(record);
    }

    /// Largest timestamp of a record; `None` when there was none.
    pub fn max_timestamp(&self) -> Option<i64> {
        (self.previous_delta != NONE).then_some(self.max_timestamp)
    }

    /// Reports how many findings were only counted.
    pub fn finish(self) {
        self.counts.finish(self.header, self.findings);
    }

    #[cold]
    #[inline(never)]
    fn warn(&mut self, kind: FindingKind, record: &RecordRef, field: &'static str) {
        if self.counts.counts_as_listed(kind.rule(), field) {
            self.findings.push(Finding::in_batch(kind, Severity::Warning, self.header).at_record(record.index).at_field(field));
        }
    }

    #[inline(always)]
    fn offsets(&mut self, record: &RecordRef) {
        let (delta, last_delta, previous) = (record.offset_delta, self.last_delta, self.previous_delta);
        if delta < 0 || delta > last_delta.max(0) {
            self.warn(FindingKind::OffsetOutside { delta, last_delta }, record, "offsetDelta");
        }
        if previous >= delta {
            self.warn(FindingKind::OffsetNotIncreasing { delta, previous }, record, "offsetDelta");
        }
        self.previous_delta = delta;
    }

    #[inline(always)]
    fn timestamps(&mut self, record: &RecordRef) {
        let timestamp = self.header.timestamp(record.timestamp_delta);
        self.max_timestamp = self.max_timestamp.max(timestamp);
        if timestamp < -1 && self.has_create_time {
            self.warn(FindingKind::NegativeTimestamp { timestamp }, record, "timestampDelta");
        }
        if let Some(unit) = self.clock.other_unit(timestamp).filter(|_| self.has_create_time) {
            self.warn(FindingKind::OtherUnit { timestamp, unit }, record, "timestampDelta");
        }
    }

    #[inline(always)]
    fn lengths(&mut self, record: &RecordRef) {
        if record.key_len < -1 || record.value_len < -1 || self.loose_header.is_some() {
            self.loose_nulls(record);
        }
        let shortest_body = self.attributes_len
            + varint::len_of(record.timestamp_delta)
            + varint::len_of(record.offset_delta)
            + varint::len_of(record.key_len.into())
            + bytes_of(record.key())
            + varint::len_of(record.value_len.into())
            + bytes_of(record.value())
            + varint::len_of(i64::try_from(record.headers).unwrap_or(i64::MAX))
            + self.header_bytes;
        let body = record.end - record.body;
        let shortest = shortest_body + varint::len_of(i64::try_from(body).unwrap_or(i64::MAX));
        let spare = (record.end - record.start).saturating_sub(shortest);
        if spare > 0 {
            self.warn(FindingKind::LongVarint { bytes: as_u64(spare) }, record, "length");
        }
    }

    #[cold]
    fn loose_nulls(&mut self, record: &RecordRef) {
        for (length, field) in [(record.key_len, "keyLength"), (record.value_len, "valueLength")] {
            if length < -1 {
                self.warn(FindingKind::LooseNull { length: length.into() }, record, field);
            }
        }
        if let Some(length) = self.loose_header.take() {
            self.warn(FindingKind::LooseNull { length: length.into() }, record, "headerValueLength");
        }
    }
}

/// Bytes of a key or a value; a null has none.
#[inline]
fn bytes_of(range: Option<(usize, usize)>) -> usize {
    range.map_or(0, |(_, len)| len)
}

impl RecordSink for RecordRules<'_> {
    fn header(&mut self, header: HeaderRef) {
        let (start, len) = header.key();
        self.header_bytes += varint::len_of(header.key_len.into())
            + len
            + varint::len_of(header.value_len.into())
            + header.value().map_or(0, |(_, len)| len);
        if header.value_len < -1 {
            self.loose_header = Some(header.value_len);
        }
        if self.reads_payload && std::str::from_utf8(self.section.run(start, len)).is_err() {
            self.has_bad_key = true;
        }
    }

    #[inline(always)]
    fn record(&mut self, record: RecordRef) {
        self.offsets(&record);
        self.timestamps(&record);
        self.lengths(&record);
        self.header_bytes = 0;
        if record.attributes != 0 {
            self.warn(FindingKind::UnusedBits { bits: record.attributes.into() }, &record, "attributes");
        }
        if std::mem::take(&mut self.has_bad_key) {
            self.warn(FindingKind::HeaderKeyNotUtf8, &record, "headerKey");
        }
    }
}
