//! What messages of magic 0 and 1 can get wrong and still be readable.

use super::clock::Clock;
use super::finding::{Finding, Severity};
use super::kind::FindingKind;
use super::rule_counts::RuleCounts;
use crate::format::v0_v1::parse::V0V1Message;
use crate::model::{BatchHeader, CompressionType, HeaderRef, RecordFormat, RecordRef, RecordSink, Section};

/// Looks at every message of one wrapper, or at an uncompressed one.
pub struct MessageRules<'a> {
    header: &'a BatchHeader,
    section: Section<'a>,
    findings: &'a mut Vec<Finding>,
    counts: RuleCounts,
    previous: Option<i64>,
    clock: Clock,
    /// Largest timestamp of the messages.
    pub max_timestamp: Option<i64>,
}

impl<'a> MessageRules<'a> {
    /// Rules over the messages after this header.
    pub fn new(header: &'a BatchHeader, section: Section<'a>, findings: &'a mut Vec<Finding>) -> Self {
        Self { header, section, findings, counts: RuleCounts::default(), previous: None, clock: Clock::now(), max_timestamp: None }
    }

    /// Reports the counted findings, and those of the last message. Call it at the end.
    pub fn finish(mut self) {
        let left = self.section.len().saturating_sub(self.counts.end);
        if left > 0 && self.is_wrapped() {
            let kind = FindingKind::CutInnerSet { bytes: u64::try_from(left).unwrap_or(u64::MAX) };
            self.findings.push(Finding::in_batch(kind, Severity::Warning, self.header).at_field("value"));
        }
        if let (true, RecordFormat::V0, Some(last)) = (self.is_wrapped(), self.header.format, self.previous)
            && last != self.header.last_offset
        {
            let kind = FindingKind::WrapperOffset { stored: self.header.last_offset, last };
            self.findings.push(Finding::in_batch(kind, Severity::Warning, self.header).at_field("offset"));
        }
        let header = self.header;
        std::mem::take(&mut self.counts).finish(header, self.findings);
    }

    fn is_wrapped(&self) -> bool {
        self.header.compression() != CompressionType::None
    }

    fn warn(&mut self, kind: FindingKind, record: &RecordRef, field: &'static str) {
        if self.counts.counts_as_listed(kind.rule(), field) {
            self.findings.push(Finding::in_batch(kind, Severity::Warning, self.header).at_record(record.index).at_field(field));
        }
    }

    fn lengths(&mut self, message: &V0V1Message, record: &RecordRef) {
        for (length, field) in [(message.key_len, "keyLength"), (message.value_len, "valueLength")] {
            if length < -1 {
                self.warn(FindingKind::LooseNull { length: length.into() }, record, field);
            }
        }
        let spare = (record.end - record.start).saturating_sub(message.end());
        if spare > 0 {
            self.warn(FindingKind::BytesAfterValue { bytes: u64::try_from(spare).unwrap_or(u64::MAX) }, record, "value");
        }
    }
}

impl RecordSink for MessageRules<'_> {
    fn header(&mut self, _: HeaderRef) {}

    fn record(&mut self, record: RecordRef) {
        let entry = self.section.run(record.start, record.end - record.start);
        let Ok(message) = V0V1Message::parse(entry) else { return };
        self.counts.end = record.end;
        self.lengths(&message, &record);
        let offset = self.header.base_offset.wrapping_add(record.offset_delta);
        if let Some(previous) = self.previous.filter(|previous| *previous >= offset) {
            self.warn(FindingKind::OffsetNotIncreasing { delta: offset, previous }, &record, "offset");
        }
        self.previous = Some(offset);
        self.max_timestamp = Some(self.max_timestamp.map_or(message.timestamp, |max| max.max(message.timestamp)));
        if let Some(unit) = self.clock.other_unit(message.timestamp).filter(|_| self.header.append_time().is_none()) {
            self.warn(FindingKind::OtherUnit { timestamp: message.timestamp, unit }, &record, "timestamp");
        }
        if !self.is_wrapped() {
            return;
        }
        if message.timestamp < -1 {
            self.warn(FindingKind::NegativeTimestamp { timestamp: message.timestamp }, &record, "timestamp");
        }
        let unused = message.attributes & if message.magic == 0 { 0xf8 } else { 0xf0 };
        if unused != 0 {
            self.warn(FindingKind::UnusedBits { bits: unused.into() }, &record, "attributes");
        }
        if message.magic != self.header.magic {
            self.warn(FindingKind::InnerMagic { inner: message.magic, outer: self.header.magic }, &record, "magic");
        }
    }
}

/// Looks at a wrapper itself: nothing but its value means anything (FND-4, FND-13, FND-15).
pub fn wrapper_rules(entry: &[u8], header: &BatchHeader, findings: &mut Vec<Finding>) {
    let Ok(message) = V0V1Message::parse(entry) else { return };
    let mut warn = |kind, field| findings.push(Finding::in_batch(kind, Severity::Warning, header).at_field(field));
    match message.key_len {
        -1 => {}
        length if length < -1 => warn(FindingKind::LooseNull { length: length.into() }, "keyLength"),
        _ => warn(FindingKind::WrapperKey, "key"),
    }
    let spare = entry.len().saturating_sub(message.end());
    if spare > 0 {
        warn(FindingKind::BytesAfterValue { bytes: u64::try_from(spare).unwrap_or(u64::MAX) }, "value");
    }
}
