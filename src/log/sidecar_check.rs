//! The files next to a log held against the log.

use std::collections::BTreeSet;

use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{BatchHeader, ControlType, Marker, RecordFormat};
use crate::sidecar::{
    AbortedTxn, EpochEntry, OffsetEntry, SidecarFinding, SidecarFindings, SidecarProblem, TimeEntry, offset_index, time_index,
};

/// Holds the entries of sound indexes against the batches of their segment, in order.
pub struct IndexCheck<'a> {
    offsets: std::slice::Iter<'a, OffsetEntry>,
    times: std::slice::Iter<'a, TimeEntry>,
    /// Entries that were looked at.
    seen: (u64, u64),
    previous_last: i64,
    largest: i64,
    last_indexed: u64,
    last_offset: Option<i64>,
    last_time: Option<TimeEntry>,
    /// Where the first batch begins that is later than all time entries.
    later: Option<u64>,
    findings: (SidecarFindings, SidecarFindings),
}

/// Bytes of a log after the last entry of its index that are not reported: many intervals of any broker.
pub(super) const FAR: u64 = 16 << 20;

impl<'a> IndexCheck<'a> {
    /// Against entries that are in order.
    pub fn new(offsets: &'a [OffsetEntry], times: &'a [TimeEntry]) -> Self {
        let findings = (SidecarFindings::default(), SidecarFindings::default());
        let (offsets, times) = (offsets.iter(), times.iter());
        let (previous_last, largest, last_time) = (i64::MIN, i64::MIN, times.as_slice().last().copied());
        Self { offsets, times, seen: (0, 0), previous_last, largest, last_indexed: 0, last_offset: None, last_time, later: None, findings }
    }

    /// The next batch.
    pub fn visit(&mut self, header: &BatchHeader) {
        while let Some(entry) = self.offsets.as_slice().first().filter(|entry| position(entry) <= header.position) {
            self.offset_entry(*entry, header);
            self.offsets.next();
            self.seen.0 += 1;
        }
        while let Some(entry) = self.times.as_slice().first().filter(|entry| entry.offset <= header.last_offset) {
            self.time_entry(*entry, header);
            self.times.next();
            self.seen.1 += 1;
        }
        if self.last_time.is_some_and(|last| last.offset <= header.last_offset && last.timestamp < header.max_timestamp) {
            self.later.get_or_insert(header.position);
        }
        self.previous_last = self.previous_last.max(header.last_offset);
        self.largest = self.largest.max(header.max_timestamp);
    }

    /// The findings about offset and time index, for a log whose whole entries end at `end`.
    pub fn finish(mut self, end: u64) -> (Vec<SidecarFinding>, Vec<SidecarFinding>) {
        for entry in self.offsets.as_slice() {
            no_batch(&mut self.findings.0, self.seen.0, *entry);
            self.seen.0 += 1;
        }
        for entry in self.times.as_slice() {
            let what = "offset of a time entry";
            let problem = SidecarProblem::Contradiction { rule: "IDX-3", what, stored: entry.offset, found: None };
            self.findings.1.push(problem, self.seen.1.saturating_mul(12), 12);
            self.seen.1 += 1;
        }
        if let Some(stored) = self.last_offset.filter(|offset| *offset > self.previous_last) {
            let problem =
                SidecarProblem::Contradiction { rule: "IDX-2", what: "offset of the last entry", stored, found: Some(self.previous_last) };
            self.findings.0.push(problem, self.seen.0.saturating_sub(1).saturating_mul(8), 8);
        }
        if let Some(problem) = ends_early(self.last_indexed, end).filter(|_| self.seen.0 > 0) {
            self.findings.0.push(problem, self.seen.0.saturating_mul(8), 0);
        }
        if let Some(problem) = self.later.and_then(|later| ends_early(later, end)) {
            self.findings.1.push(problem, at::<{ time_index::ENTRY_LEN }>(self.seen.1), 0);
        }
        (self.findings.0.finish(), self.findings.1.finish())
    }

    fn offset_entry(&mut self, entry: OffsetEntry, header: &BatchHeader) {
        self.last_indexed = position(&entry);
        self.last_offset = Some(entry.offset);
        if position(&entry) < header.position {
            no_batch(&mut self.findings.0, self.seen.0, entry);
        } else if entry.offset <= self.previous_last {
            // An entry above the batch is sound: what was appended at once has one entry, with the last offset of all of it.
            let (stored, found) = (entry.offset, Some(header.last_offset));
            let problem =
                SidecarProblem::Contradiction { rule: "IDX-2", what: "offset of the batch at an entry's position", stored, found };
            self.findings.0.push(problem, at::<{ offset_index::ENTRY_LEN }>(self.seen.0), 8);
        }
    }

    fn time_entry(&mut self, entry: TimeEntry, header: &BatchHeader) {
        let exceeded = (self.largest > entry.timestamp).then_some(("timestamp that an earlier batch exceeds", self.largest));
        let problem = other_time(entry, header).or_else(|| exceeded.map(|(what, found)| time_contradiction(what, entry, found)));
        if let Some(problem) = problem {
            self.findings.1.push(problem, at::<{ time_index::ENTRY_LEN }>(self.seen.1), 12);
        }
    }
}

/// What is wrong with a time entry for the batch of its offset.
pub(super) fn other_time(entry: TimeEntry, header: &BatchHeader) -> Option<SidecarProblem> {
    // Brokers that kept a topic in the format of 0.9 indexed the times that its messages do not have.
    let is_other = header.max_timestamp != entry.timestamp && header.max_timestamp != NO_TIMESTAMP;
    is_other.then(|| time_contradiction("timestamp of the batch at an entry's offset", entry, header.max_timestamp))
}

/// What is wrong with an index that has no entry from position `last` on, for a log that goes on to `end`.
pub(super) fn ends_early(last: u64, end: u64) -> Option<SidecarProblem> {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    (end.saturating_sub(last) > FAR).then(|| SidecarProblem::Stale { last: signed(last), end: signed(end) })
}

fn time_contradiction(what: &'static str, entry: TimeEntry, found: i64) -> SidecarProblem {
    SidecarProblem::Contradiction { rule: "IDX-3", what, stored: entry.timestamp, found: Some(found) }
}

/// Holds a `.txnindex` against the markers of its segment.
#[derive(Debug, Default)]
pub struct AbortCheck {
    expected: Vec<AbortedTxn>,
    markers: BTreeSet<(i64, i64)>,
}

impl AbortCheck {
    /// The next control batch, its marker, and the transaction that it aborts.
    pub fn visit(&mut self, header: &BatchHeader, marker: Option<Marker>, aborted: Option<AbortedTxn>) {
        self.expected.extend(aborted);
        if marker.is_some_and(|marker| marker.control_type == ControlType::Abort) {
            self.markers.insert((header.producer.id, header.base_offset));
        }
    }

    /// The findings about a valid file. An entry without data before its marker is one whose data was compacted away.
    pub fn finish(&self, entries: &[AbortedTxn]) -> Vec<SidecarFinding> {
        let mut findings = SidecarFindings::default();
        let rule = "IDX-4";
        for (index, entry) in entries.iter().enumerate() {
            if !self.markers.contains(&(entry.producer_id, entry.last_offset)) {
                let what = "offset of an ABORT marker";
                let problem = SidecarProblem::Contradiction { rule, what, stored: entry.last_offset, found: None };
                findings.push(problem, at::<34>(u64::try_from(index).unwrap_or(u64::MAX)), 34);
            }
        }
        for aborted in &self.expected {
            let key = (aborted.producer_id, aborted.last_offset);
            let named = entries.iter().find(|entry| (entry.producer_id, entry.last_offset) == key);
            let what = "missing transaction, aborted by a marker at offset";
            match named {
                None => findings.push(SidecarProblem::Lacks { rule, what, offset: aborted.last_offset }, 0, 0),
                Some(entry) if entry.first_offset > aborted.first_offset => {
                    let (stored, found) = (entry.first_offset, Some(aborted.first_offset));
                    let problem = SidecarProblem::Contradiction { rule, what: "first offset of an aborted transaction", stored, found };
                    findings.push(problem, 0, 0);
                }
                Some(_) => {}
            }
        }
        findings.finish()
    }
}

/// Holds a `leader-epoch-checkpoint` against the batches of a partition.
pub struct EpochCheck<'a> {
    entries: &'a [EpochEntry],
    /// The file is there, and has no byte.
    is_empty_file: bool,
    findings: SidecarFindings,
}

impl<'a> EpochCheck<'a> {
    /// Against entries that are in order. Kafka 0.11 leaves an empty file where no batch has an epoch, and no broker where one has.
    pub fn new(entries: &'a [EpochEntry], is_empty_file: bool) -> Self {
        Self { entries, is_empty_file, findings: SidecarFindings::default() }
    }

    /// The next batch. Offsets before the first entry were deleted once.
    pub fn visit(&mut self, header: &BatchHeader) {
        if header.format < RecordFormat::V2 || header.partition_leader_epoch < 0 {
            return;
        }
        if std::mem::take(&mut self.is_empty_file) {
            let (what, offset) = ("the file is empty, and the log has leader epoch", i64::from(header.partition_leader_epoch));
            self.findings.push(SidecarProblem::Lacks { rule: "SEG-9", what, offset }, 0, 0);
        }
        let after = self.entries.partition_point(|entry| entry.start_offset <= header.base_offset);
        let Some(entry) = after.checked_sub(1).and_then(|index| self.entries.get(index)) else { return };
        if entry.epoch != header.partition_leader_epoch {
            let (stored, found) = (i64::from(entry.epoch), Some(i64::from(header.partition_leader_epoch)));
            let problem = SidecarProblem::Contradiction { rule: "IDX-5", what: "leader epoch of a batch", stored, found };
            self.findings.push(problem, 0, 0);
        }
    }

    /// The findings.
    pub fn finish(self) -> Vec<SidecarFinding> {
        self.findings.finish()
    }
}

fn no_batch(findings: &mut SidecarFindings, index: u64, entry: OffsetEntry) {
    let (what, stored) = ("position of an index entry", i64::from(entry.position));
    findings.push(SidecarProblem::Contradiction { rule: "IDX-2", what, stored, found: None }, index.saturating_mul(8), 8);
}

fn position(entry: &OffsetEntry) -> u64 {
    u64::try_from(entry.position).unwrap_or(0)
}

fn at<const LEN: usize>(index: u64) -> u64 {
    index.saturating_mul(u64::try_from(LEN).unwrap_or(0))
}

/// The fault of a `.index` whose entries led to no batch that fits, or end far before the batch that was found.
pub fn misleading_entry(entries: &[OffsetEntry], offset: i64, found: u64, by_index: bool) -> Option<SidecarFinding> {
    let below = entries.partition_point(|entry| entry.offset <= offset).checked_sub(1)?;
    let entry = entries.get(below)?;
    let position = u64::try_from(entry.position).unwrap_or(0);
    let is_last = below + 1 == entries.len();
    if !by_index && position == found {
        // Where a wrapper of magic 0 and 1 begins is not known, so that its entry is not relied on; but it leads there.
        return None;
    }
    let problem = if !by_index {
        let what = "position of an index entry";
        SidecarProblem::Contradiction { rule: "IDX-2", what, stored: i64::from(entry.position), found: None }
    } else {
        ends_early(position, found).filter(|_| is_last)?
    };
    let position = u64::try_from(below).unwrap_or(u64::MAX).saturating_mul(8);
    Some(SidecarFinding { problem, position, length: 8 })
}
