//! Which transactional batches were aborted, and where committed data ends, from markers alone (TXN-8).
//!
//! One pass over headers and markers, before the decode; nothing is decompressed. The result answers for each batch by itself,
//! so that batches can be decoded in any order and on any thread.

mod clocks;
mod latest;
mod open;
mod ranges;
mod scan;

pub use clocks::{Begin, Clocks, LONGEST_MS};
pub use open::BatchPosition;
use ranges::ProducerRanges;
pub use scan::TransactionScan;

use super::{RecordIter, ensure_count, records_at, verify};
use crate::error::Result;
use crate::limits::Limits;
use crate::model::{BatchHeader, CompressionType, ControlType, Marker, RecordRef, RecordSink, Section, control};

/// The transactions of a partition, as far as its batches tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    aborted: ProducerRanges,
    /// Of transactions whose marker may be lost.
    undecided: ProducerRanges,
    /// First offset of the oldest transaction without a marker.
    last_stable_offset: Option<i64>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionOutcome {
    /// It counts: by its marker, or since it belongs to no transaction. (Or is after the last stable offset.)
    Committed,
    /// It does not count.
    Aborted,
    /// Nobody knows: its marker may have been among what was skipped.
    Undecided {
        /// The last offset before that place.
        after: i64,
    },
}

impl Transactions {
    /// From lists of (producer id, first offset, last offset), and the last stable offset.
    pub fn from_parts(
        aborted: impl IntoIterator<Item = (i64, i64, i64)>,
        undecided: impl IntoIterator<Item = (i64, i64, i64)>,
        last_stable_offset: Option<i64>,
    ) -> Self {
        Self { aborted: aborted.into_iter().collect(), undecided: undecided.into_iter().collect(), last_stable_offset }
    }

    /// Aborted transactions as (producer id, first offset, last offset), by first offset.
    pub fn aborted(&self) -> Vec<(i64, i64, i64)> {
        self.aborted.to_vec()
    }

    /// What nobody knows the fate of, in the same form: of each transaction the part before a place where something was skipped, which may
    /// have been its marker.
    pub fn undecided(&self) -> Vec<(i64, i64, i64)> {
        self.undecided.to_vec()
    }

    /// First offset of the oldest open transaction; nothing from it on is committed (TXN-6).
    pub fn last_stable_offset(&self) -> Option<i64> {
        self.last_stable_offset
    }

    /// Return the producer id and the first offset of the oldest open transaction, and the last offset before the damage that may have removed its
    /// marker; `None` if no damage follows it.
    pub fn undecided_end(&self) -> Option<(i64, i64, i64)> {
        let stable = self.last_stable_offset?;
        self.undecided.to_vec().into_iter().find(|(_, first, _)| *first == stable)
    }

    /// What became of a batch that lies before the last stable offset.
    pub fn fate(&self, header: &BatchHeader) -> TransactionOutcome {
        if !header.attributes.is_transactional() || header.attributes.is_control() {
            return TransactionOutcome::Committed;
        }
        let (id, offset) = (header.producer.id, header.base_offset);
        match self.undecided.find(id, offset) {
            Some(after) => TransactionOutcome::Undecided { after },
            None if self.aborted.find(id, offset).is_some() => TransactionOutcome::Aborted,
            None => TransactionOutcome::Committed,
        }
    }
}

/// Larger than any marker: Kafka's take 78 bytes.
const MOST_OF_MARKER: u64 = 128;

/// True for a batch that may hold a transaction marker.
pub fn is_marker(header: &BatchHeader) -> bool {
    header.attributes.is_control() && header.attributes.is_transactional() && header.producer.id >= 0
}

/// True for an entry that is a marker, or may have been one before a bit of its header flipped. Only its checksum tells.
pub fn may_be_marker(header: &BatchHeader) -> bool {
    header.is_control() || header.size <= MOST_OF_MARKER
}

/// The marker in a control batch whose checksum matches; `None` when it does not, and as `marker`.
pub fn proven_marker(header: &BatchHeader, bytes: &[u8]) -> Option<Marker> {
    verify(bytes, header).ok()?;
    marker(header, bytes).ok().flatten()
}

/// The marker in a control batch; `None` when it is compressed (no broker does that) or compacted away (CTL-10).
///
/// # Errors
/// What is wrong with its record or its key.
pub fn marker(header: &BatchHeader, bytes: &[u8]) -> Result<Option<Marker>> {
    if header.compression() != CompressionType::None || header.count == Some(0) {
        return Ok(None);
    }
    let records = bytes.get(records_at(header, bytes)..).unwrap_or_default();
    let section = Section::new(records, records.len());
    let mut first = FirstRecord(None);
    let count = ensure_count(header, section.len(), false)?;
    let mut walk = RecordIter::of_batch(header, count, &section, &Limits::default())?;
    // One record alone does not tell whether its payload is where it was looked for.
    walk.ensure_placed(&section)?;
    walk.advance(&section, 1, &mut first)?;
    let Some(record) = first.0 else { return Ok(None) };
    let run = |range: Option<(usize, usize)>| range.map(|(start, len)| section.run(start, len));
    Ok(Some(Marker {
        control_type: ControlType::parse(run(record.key()))?,
        coordinator_epoch: control::coordinator_epoch(run(record.value())).unwrap_or(-1),
        timestamp: header.timestamp(record.timestamp_delta),
    }))
}

struct FirstRecord(Option<RecordRef>);

impl RecordSink for FirstRecord {
    fn header(&mut self, _: crate::model::HeaderRef) {}
    fn record(&mut self, record: RecordRef) {
        self.0.get_or_insert(record);
    }
}
