//! The records of an entry that was opened, past the rules of its format.

use super::batch::max_timestamp_rule;
use super::depth::Depth;
use super::finding::{Finding, Severity};
use super::kind::FindingKind;
use super::message::MessageRules;
use super::record::RecordRules;
use crate::decode::{DecodedBatch, RecordIter, ensure_count};
use crate::error::Result;
use crate::model::{BatchHeader, ControlType, Discard, HeaderRef, RecordRef, RecordSink, Section, control};
use crate::wire::as_u64;

/// Of a batch, whose records take `stored` bytes in the entry.
pub(super) fn walk(
    opened: &mut DecodedBatch,
    section: &Section<'_>,
    stored: usize,
    depth: Depth,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let header = opened.header;
    let before = findings.len();
    let mut rules = RecordRules::new(&header, *section, findings, depth == Depth::Full);
    let walked = opened.walk.advance(section, usize::MAX, &mut rules).and_then(|()| opened.walk.finish(section));
    let max_timestamp = rules.max_timestamp();
    rules.finish();
    if let Err(error) = walked {
        findings.truncate(before);
        return Err(error);
    }
    if header.count == Some(0) && stored > 0 {
        let kind = FindingKind::UncountedBytes { bytes: as_u64(stored) };
        findings.push(Finding::in_batch(kind, Severity::Warning, &header).at_field("recordsCount"));
    }
    max_timestamp_rule(&header, max_timestamp, findings);
    if header.is_control() && depth == Depth::Full {
        marker_rules(&header, section, findings);
    }
    Ok(())
}

/// Of a message set, or of the messages that a wrapper holds.
pub(super) fn walk_messages(opened: &mut DecodedBatch, section: &Section<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let header = opened.header;
    let mut rules = MessageRules::new(&header, *section, findings);
    opened.walk.advance(section, usize::MAX, &mut rules)?;
    let max_timestamp = rules.max_timestamp;
    rules.finish();
    max_timestamp_rule(&header, max_timestamp, findings);
    Ok(())
}

/// L7-21: a decompressed set of Kafka 0.7 may end inside of a message.
pub(super) fn cut_set_rule(opened: &mut DecodedBatch, section: &Section<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    opened.walk.advance(section, usize::MAX, &mut Discard)?;
    let bytes = as_u64(section.len().saturating_sub(opened.walk.position()));
    if bytes > 0 {
        let kind = FindingKind::CutInnerSet { bytes };
        findings.push(Finding::in_batch(kind, Severity::Warning, &opened.header).at_field("payload"));
    }
    Ok(())
}

/// CTL-1, CTL-4: a marker batch has one record, whose value holds the coordinator's epoch.
fn marker_rules(header: &BatchHeader, section: &Section<'_>, findings: &mut Vec<Finding>) {
    let mut markers = Markers { section: *section, header, count: 0, findings };
    let Ok(count) = ensure_count(header, section.len(), false) else { return };
    let Ok(mut walk) = RecordIter::of_batch(header, count, section, &crate::limits::Limits::default()) else { return };
    if walk.advance(section, usize::MAX, &mut markers).is_err() {
        return;
    }
    let count = markers.count;
    if count > 1 {
        findings.push(Finding::in_batch(FindingKind::ManyMarkers { count }, Severity::Warning, header).at_field("recordsCount"));
    }
}

/// Markers of one batch whose values are looked at; a broker writes one.
const MOST_MARKERS: u64 = 8;

struct Markers<'a> {
    section: Section<'a>,
    header: &'a BatchHeader,
    count: u64,
    findings: &'a mut Vec<Finding>,
}

impl RecordSink for Markers<'_> {
    fn header(&mut self, _: HeaderRef) {}
    fn record(&mut self, record: RecordRef) {
        let run = |range: Option<(usize, usize)>| range.map(|(start, len)| self.section.run(start, len));
        if matches!(ControlType::parse(run(record.key())), Ok(ControlType::Abort | ControlType::Commit)) {
            self.count += 1;
            if self.count <= MOST_MARKERS && control::coordinator_epoch(run(record.value())).is_err() {
                let finding = Finding::in_batch(FindingKind::MarkerValue, Severity::Warning, self.header);
                self.findings.push(finding.at_record(record.index).at_field("value"));
            }
        }
    }
}
