//! What producers and transactions get wrong across batches: sequences, epochs, transactions that hang or that are left.
//!
//! Compaction takes batches out, and then sequences have gaps and markers no data. So a batch is compared with an earlier one of its
//! producer only when no offset is missing in between: its sequence with the last batch that had one, its transaction with the last batch.

use std::collections::HashMap;
use std::sync::Arc;

use super::finding::{Finding, Severity};
use super::kind::{FindingKind, ProducerProblem};
use crate::decode::transactions::{Begin, Clocks, LONGEST_MS};
use crate::model::batch::NO_SEQUENCE;
use crate::model::{BatchHeader, Marker};

/// The producers of a log, as far as its batches show.
#[derive(Debug, Default)]
pub struct ProducerRules {
    producers: HashMap<i64, KnownProducer>,
    /// The last offset of the batch before.
    last_offset: Option<i64>,
    /// Places so far where offsets are missing, or bytes are.
    gaps: u64,
    clocks: Clocks,
    /// Producers whose transactions began after the last time of a broker.
    begun: Vec<i64>,
    /// The file of the batches, when there are several.
    file: Option<Arc<str>>,
}

#[derive(Debug)]
struct KnownProducer {
    epoch: i16,
    /// Of its last batch with a sequence, and how many gaps there were before that batch.
    last_sequence: Option<(i32, u64)>,
    /// Of its last marker, and how many gaps there were before that.
    coordinator_epoch: Option<(i32, u64)>,
    /// Its open transaction.
    open: Option<OpenOfProducer>,
    /// How many gaps there were before its last batch.
    gaps: u64,
    /// It is in `begun`.
    is_begun: bool,
}

#[derive(Debug)]
struct OpenOfProducer {
    first_offset: i64,
    last_offset: i64,
    position: u64,
    length: u64,
    file: Option<Arc<str>>,
    begin: Begin,
}

/// Producers that are followed, some 12 MiB of them; a broker forgets those that are silent for a day.
const MOST: usize = 1 << 17;

impl ProducerRules {
    /// Holds a batch against those before it. A control batch comes with its marker.
    pub fn visit(&mut self, header: &BatchHeader, marker: Option<Marker>, findings: &mut Vec<Finding>) {
        if !header.format.is_batch() {
            return;
        }
        if self.last_offset.is_none_or(|last| last.checked_add(1) != Some(header.base_offset)) {
            // A log that begins with offset 0 is there from its beginning.
            if self.last_offset.is_some() || header.base_offset != 0 {
                self.interrupt();
            }
        }
        self.last_offset = Some(header.last_offset);
        if let Some(time) = self.clocks.visit(header) {
            for id in self.begun.drain(..) {
                let Some(known) = self.producers.get_mut(&id) else { continue };
                known.is_begun = false;
                if let Some(open) = &mut known.open {
                    open.begin.set_after(time);
                }
            }
        }
        if header.producer.id < 0 {
            return;
        }
        if self.producers.len() >= MOST && !self.producers.contains_key(&header.producer.id) {
            return;
        }
        if header.is_control() {
            if let Some(marker) = marker.filter(|marker| marker.control_type.is_marker()) {
                self.end_transaction(header, marker, findings);
            }
        } else {
            self.append(header, findings);
        }
    }

    /// Names the file of the transactions that are open at its end, before the batches of the next one.
    pub fn leave(&mut self, file: &Arc<str>) {
        for open in self.producers.values_mut().filter_map(|known| known.open.as_mut()) {
            open.file.get_or_insert_with(|| Arc::clone(file));
        }
    }

    /// The next batches are those of another file.
    pub fn enter(&mut self, file: &Arc<str>) {
        self.file = Some(Arc::clone(file));
    }

    /// Something is missing here: what comes cannot be held against what was.
    pub fn interrupt(&mut self) {
        self.gaps = self.gaps.saturating_add(1);
    }

    /// The transactions that hang at the end.
    pub fn finish(&mut self, findings: &mut Vec<Finding>) {
        let mut open: Vec<_> = self.producers.drain().filter_map(|(id, known)| Some((id, known.open?))).collect();
        open.sort_unstable_by_key(|(id, open)| (open.first_offset, *id));
        for (producer_id, open) in open {
            let open_ms = self.clocks.open_ms(&open.begin);
            if open_ms <= LONGEST_MS {
                // Usual for a log that is being written.
                continue;
            }
            let kind = FindingKind::AcrossBatches { producer_id, problem: ProducerProblem::HangingTransaction { open_ms } };
            findings.push(Finding {
                base_offset: Some(open.first_offset),
                last_offset: Some(open.last_offset),
                field: Some("producerId"),
                file: open.file,
                ..Finding::at_bytes(kind, Severity::Warning, open.position, open.length)
            });
        }
    }

    fn append(&mut self, header: &BatchHeader, findings: &mut Vec<Finding>) {
        let (gaps, producer, file) = (self.gaps, header.producer, self.file.clone());
        let begin = header.is_transactional().then(|| self.clocks.begin(header));
        let known = self.known(header, findings);
        // A marker after a gap has no sequence: the batches that lead up to this one may still be missing.
        let next = known
            .last_sequence
            .filter(|(_, then)| *then == gaps)
            .map(|(last, _)| if last == i32::MAX { 0 } else { last.saturating_add(1) });
        let is_unbroken = known.gaps == gaps;
        // A broker that has forgotten a producer takes 0 as well.
        if let Some(expected) = next.filter(|next| producer.base_sequence > 0 && producer.base_sequence != *next) {
            let problem = ProducerProblem::SequenceGap { expected, found: producer.base_sequence };
            findings.push(found(problem, Severity::Warning, header, "baseSequence"));
        }
        known.last_sequence = (producer.base_sequence != NO_SEQUENCE).then(|| (header.last_sequence(), gaps));
        known.gaps = gaps;
        match (&mut known.open, begin) {
            (Some(open), Some(_)) => open.last_offset = header.last_offset,
            (Some(_), None) if is_unbroken => {
                findings.push(found(ProducerProblem::OutsideTransaction, Severity::Warning, header, "attributes"));
            }
            (None, Some(begin)) => {
                let (first_offset, last_offset, position, length) = (header.base_offset, header.last_offset, header.position, header.size);
                known.open = Some(OpenOfProducer { first_offset, last_offset, position, length, file, begin });
                if !std::mem::replace(&mut known.is_begun, true) {
                    self.begun.push(producer.id);
                }
            }
            // The marker may be in the gap.
            (Some(_), None) => known.open = None,
            (None, None) => {}
        }
    }

    fn end_transaction(&mut self, header: &BatchHeader, marker: Marker, findings: &mut Vec<Finding>) {
        let (gaps, producer_id) = (self.gaps, header.producer.id);
        // Its data may be in a gap, or before what there is of the log.
        let is_without_data = match self.producers.get(&producer_id) {
            Some(known) => known.gaps == gaps && known.open.is_none(),
            None => gaps == 0,
        };
        let known = self.known(header, findings);
        if is_without_data {
            findings.push(found(ProducerProblem::MarkerWithoutData, Severity::Info, header, "producerId"));
        }
        let epoch = marker.coordinator_epoch;
        let is_lower = |(previous, then): &(i32, u64)| *then == gaps && (0..*previous).contains(&epoch);
        if let Some((previous, _)) = known.coordinator_epoch.filter(is_lower) {
            findings.push(found(ProducerProblem::LowerCoordinatorEpoch { epoch, previous }, Severity::Warning, header, "records"));
        }
        known.coordinator_epoch = Some((epoch, gaps)).filter(|(epoch, _)| *epoch >= 0).or(known.coordinator_epoch);
        known.gaps = gaps;
        if let Some(open) = known.open.take() {
            self.clocks.end(&open.begin, header.max_timestamp);
        }
    }

    /// What is known of a batch's producer; a new epoch begins its sequences anew.
    fn known(&mut self, header: &BatchHeader, findings: &mut Vec<Finding>) -> &mut KnownProducer {
        let (epoch, gaps) = (header.producer.epoch, self.gaps);
        let known = self.producers.entry(header.producer.id).or_insert(KnownProducer {
            epoch,
            last_sequence: None,
            coordinator_epoch: None,
            open: None,
            gaps,
            is_begun: false,
        });
        if epoch < known.epoch && epoch >= 0 {
            let problem = ProducerProblem::LowerEpoch { epoch, previous: known.epoch };
            findings.push(found(problem, Severity::Warning, header, "producerEpoch"));
        }
        if epoch != known.epoch {
            (known.epoch, known.last_sequence) = (epoch, None);
        }
        known
    }
}

fn found(problem: ProducerProblem, severity: Severity, header: &BatchHeader, field: &'static str) -> Finding {
    Finding::in_batch(FindingKind::AcrossBatches { producer_id: header.producer.id, problem }, severity, header).at_field(field)
}
