//! Rules of a readable batch header, alone and compared with the previous batch.

use super::clock::Clock;
use super::finding::{Finding, Severity};
use super::kind::FindingKind;
use crate::model::batch::{NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE};
use crate::model::{BatchHeader, RecordFormat, TimestampType};

/// What the batches so far say about the next one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Neighbours {
    last_offset: Option<i64>,
    epoch: Option<i32>,
}

impl Neighbours {
    /// Forgets the last offset: the next batch starts anew.
    pub fn forget_offset(&mut self) {
        self.last_offset = None;
    }

    /// Holds a batch against those before it.
    pub fn visit(&mut self, header: &BatchHeader, findings: &mut Vec<Finding>) {
        if header.format == RecordFormat::V07 {
            // Offsets are positions: they always fit.
            return;
        }
        if let Some(previous_last) = self.last_offset.filter(|last| header.base_offset <= *last) {
            let overlap = FindingKind::OffsetOverlap { previous_last };
            findings.push(Finding::in_batch(overlap, Severity::Warning, header).at_field("baseOffset"));
        }
        self.last_offset = Some(header.last_offset);
        let epoch = header.partition_leader_epoch;
        if epoch == NO_PARTITION_LEADER_EPOCH {
            // No broker has appended the batch yet.
            return;
        }
        if let Some(previous) = self.epoch.or(Some(0)).filter(|previous| epoch < *previous) {
            let lower = FindingKind::LowerEpoch { epoch, previous };
            findings.push(Finding::in_batch(lower, Severity::Warning, header).at_field("partitionLeaderEpoch"));
        }
        self.epoch = Some(epoch.max(0));
    }
}

/// Looks at a header by itself.
pub fn header_rules(header: &BatchHeader, findings: &mut Vec<Finding>) {
    let mut warn = |kind, field| findings.push(Finding::in_batch(kind, Severity::Warning, header).at_field(field));
    let last_offset_delta = header.last_offset.wrapping_sub(header.base_offset);
    if last_offset_delta < 0 || header.base_offset < 0 || header.base_offset.checked_add(last_offset_delta).is_none() {
        let field = if header.format.is_batch() { "lastOffsetDelta" } else { "offset" };
        warn(FindingKind::OffsetRange { base_offset: header.base_offset, last_offset_delta }, field);
    }
    if header.unused_bits() != 0 {
        warn(FindingKind::UnusedBits { bits: i32::from(header.unused_bits().cast_unsigned()) }, "attributes");
    }
    if !header.format.is_batch() {
        if header.max_timestamp < -1 {
            warn(FindingKind::NegativeTimestamp { timestamp: header.max_timestamp }, "timestamp");
        }
        return;
    }
    if header.base_timestamp < -1 {
        warn(FindingKind::NegativeTimestamp { timestamp: header.base_timestamp }, "baseTimestamp");
    }
    producer_rules(header, &mut warn);
}

/// Reports an append time in another unit than milliseconds (TIME-1), and where no record is looked at, such a time of the records.
pub fn clock_rule(header: &BatchHeader, has_records: bool, findings: &mut Vec<Finding>) {
    let [base, most] = if header.format.is_batch() { ["baseTimestamp", "maxTimestamp"] } else { ["", "timestamp"] };
    let base_timestamp = Some(header.base_timestamp).filter(|_| header.format.is_batch() && header.delete_horizon_ms().is_none());
    let times = match header.append_time() {
        Some(time) => [(Some(time), most), (None, base)],
        None if has_records => [(None, most), (None, base)],
        None => [(Some(header.max_timestamp), most), (base_timestamp.filter(|time| *time != header.max_timestamp), base)],
    };
    for (timestamp, field) in times.into_iter().filter_map(|(time, field)| time.map(|time| (time, field))) {
        if let Some(unit) = Clock::now().other_unit(timestamp) {
            findings.push(Finding::in_batch(FindingKind::OtherUnit { timestamp, unit }, Severity::Warning, header).at_field(field));
        }
    }
}

/// Holds the stored maximum against the records' own (FND-16); an append time has nothing to do with them.
pub fn max_timestamp_rule(header: &BatchHeader, found: Option<i64>, findings: &mut Vec<Finding>) {
    let Some(found) = found else { return };
    if header.timestamp_type() == TimestampType::CreateTime && header.max_timestamp != found {
        let kind = FindingKind::MaxTimestamp { stored: header.max_timestamp, found };
        let field = if header.format.is_batch() { "maxTimestamp" } else { "timestamp" };
        findings.push(Finding::in_batch(kind, Severity::Warning, header).at_field(field));
    }
}

fn producer_rules(header: &BatchHeader, warn: &mut impl FnMut(FindingKind, &'static str)) {
    let producer = header.producer;
    if producer.id == NO_PRODUCER_ID {
        if header.is_transactional() {
            warn(FindingKind::Producer { what: "the batch is transactional and has no producer id" }, "producerId");
        }
        return;
    }
    if producer.epoch < 0 {
        warn(FindingKind::Producer { what: "the batch has a producer id and no producer epoch" }, "producerEpoch");
    }
    if producer.base_sequence == NO_SEQUENCE && !header.is_control() {
        warn(FindingKind::Producer { what: "the batch has a producer id and no base sequence" }, "baseSequence");
    }
}
