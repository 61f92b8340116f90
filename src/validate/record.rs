//! What a record can get wrong and still be readable.

use super::finding::{Finding, Severity, What};
use super::told::Told;
use crate::format::v3::metadata::Metadata;
use crate::model::{BatchHeader, HeaderRef, RecordRef, RecordSink, Section, TimestampType};
use crate::wire::varint;

/// Looks at every record of one batch.
pub struct RecordRules<'a> {
    header: &'a BatchHeader,
    section: Section<'a>,
    findings: &'a mut Vec<Finding>,
    /// Bytes that the headers of the coming record need at least.
    header_bytes: usize,
    previous_delta: Option<i64>,
    /// Largest record timestamp.
    pub max_timestamp: Option<i64>,
    loose_header: Option<i32>,
    has_bad_key: bool,
    reads_payload: bool,
    told: Told,
}

impl<'a> RecordRules<'a> {
    /// Rules over the records of this batch. Without `reads_payload`, only offsets, timestamps and lengths are looked at.
    pub fn new(header: &'a BatchHeader, section: Section<'a>, findings: &'a mut Vec<Finding>, reads_payload: bool) -> Self {
        Self {
            header,
            section,
            findings,
            header_bytes: 0,
            previous_delta: None,
            max_timestamp: None,
            loose_header: None,
            has_bad_key: false,
            reads_payload,
            told: Told::default(),
        }
    }

    /// Looks at a record whose payload is not there: its headers are taken for as long as they need to be.
    pub fn metadata(&mut self, metadata: &Metadata) {
        let record = metadata.record;
        let known = record.key().map_or(0, |(_, len)| len) + record.value().map_or(0, |(_, len)| len);
        self.header_bytes = metadata.payload_len.saturating_sub(known);
        self.record(record);
    }

    /// Tells how many findings were only counted.
    pub fn finish(self) {
        self.told.finish(self.header, self.findings);
    }

    fn warn(&mut self, what: What, record: &RecordRef, field: &'static str) {
        if self.told.is_told(what.rule(), field) {
            self.findings.push(Finding::in_batch(what, Severity::Warning, self.header).at_record(record.index).at_field(field));
        }
    }

    fn offsets(&mut self, record: &RecordRef) {
        let delta = record.offset_delta;
        let last_delta = self.header.last_offset.wrapping_sub(self.header.base_offset);
        if delta < 0 || delta > last_delta.max(0) {
            self.warn(What::OffsetOutside { delta, last_delta }, record, "offsetDelta");
        }
        if let Some(previous) = self.previous_delta.filter(|previous| *previous >= delta) {
            self.warn(What::OffsetNotIncreasing { delta, previous }, record, "offsetDelta");
        }
        self.previous_delta = Some(delta);
    }

    fn timestamps(&mut self, record: &RecordRef) {
        let timestamp = self.header.timestamp(record.timestamp_delta);
        self.max_timestamp = Some(self.max_timestamp.map_or(timestamp, |max| max.max(timestamp)));
        if timestamp < -1 && self.header.timestamp_type() == TimestampType::CreateTime {
            self.warn(What::NegativeTimestamp { timestamp }, record, "timestampDelta");
        }
    }

    fn lengths(&mut self, record: &RecordRef) {
        for (length, field) in [(record.key_len, "keyLength"), (record.value_len, "valueLength")] {
            if length < -1 {
                self.warn(What::LooseNull { length: length.into() }, record, field);
            }
        }
        if let Some(length) = self.loose_header.take() {
            self.warn(What::LooseNull { length: length.into() }, record, "headerValueLength");
        }
        let body = usize::from(self.header.has_record_attributes())
            + varint::len_of(record.timestamp_delta)
            + varint::len_of(record.offset_delta)
            + varint::len_of(record.key_len.into())
            + usize::try_from(record.key_len).unwrap_or(0)
            + varint::len_of(record.value_len.into())
            + usize::try_from(record.value_len).unwrap_or(0)
            + varint::len_of(i64::try_from(record.headers).unwrap_or(i64::MAX))
            + self.header_bytes;
        let stored_body = record.end - record.body;
        let length_field = varint::len_of(i64::try_from(stored_body).unwrap_or(i64::MAX));
        let spare = (stored_body.saturating_sub(body)) + (record.body - record.start).saturating_sub(length_field);
        if spare > 0 {
            self.warn(What::LongVarint { bytes: u64::try_from(spare).unwrap_or(u64::MAX) }, record, "length");
        }
    }
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

    fn record(&mut self, record: RecordRef) {
        self.offsets(&record);
        self.timestamps(&record);
        self.lengths(&record);
        self.header_bytes = 0;
        if record.attributes != 0 {
            self.warn(What::UnusedBits { bits: record.attributes.into() }, &record, "attributes");
        }
        if std::mem::take(&mut self.has_bad_key) {
            self.warn(What::HeaderKeyNotUtf8, &record, "headerKey");
        }
    }
}
