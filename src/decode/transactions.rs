//! Which transactional batches were aborted, and where committed data ends, from markers alone (TXN-8).
//!
//! One pass over headers and markers, before the decode; nothing is decompressed. The result answers for each batch by itself,
//! so that batches can be decoded in any order and on any thread.

use std::collections::HashMap;

use super::{Walk, ensure_count, records_at};
use crate::error::Result;
use crate::format::{v2, v3};
use crate::framing::Frame;
use crate::limits::Limits;
use crate::model::{BatchHeader, CompressionType, ControlType, Marker, RecordRef, RecordSink, Section, control};

/// The transactions of a partition, as far as its batches tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    /// Aborted ranges by producer id, each first and last offset inclusive, in offset order.
    aborted: HashMap<i64, Vec<(i64, i64)>>,
    /// First offset of the oldest transaction without a marker.
    last_stable_offset: Option<i64>,
}

/// Reads batches in offset order.
#[derive(Debug, Default)]
pub struct Scan {
    open: HashMap<i64, i64>,
    aborted: HashMap<i64, Vec<(i64, i64)>>,
    first_offset: Option<i64>,
    /// Every COMMIT and ABORT, where somebody wants them one by one.
    ends: Option<Vec<(i64, i64, ControlType)>>,
}

impl Scan {
    /// A scan that keeps every marker that ends a transaction.
    pub fn keeping_ends() -> Self {
        Self { ends: Some(Vec::new()), ..Self::default() }
    }

    /// The kept markers in their order: producer id, offset, and COMMIT or ABORT.
    pub fn into_ends(self) -> Vec<(i64, i64, ControlType)> {
        self.ends.unwrap_or_default()
    }

    /// Looks at one entry. Entries that are not record batches carry no transactions and are passed over, and so are damaged markers:
    /// the decode that follows reports them.
    pub fn visit(&mut self, frame: Frame<'_>) {
        let parsed = match frame.magic {
            v2::layout::MAGIC => v2::parse::header(frame.bytes, frame.position),
            v3::layout::MAGIC => v3::parse::header(frame.bytes, frame.position),
            _ => return,
        };
        let Ok(header) = parsed else { return };
        self.first_offset.get_or_insert(header.base_offset);
        let marker = if is_marker(&header) { marker(&header, frame.bytes).ok().flatten() } else { None };
        self.visit_header(&header, marker);
    }

    /// Looks at one batch whose marker was read already, when it is a control batch.
    pub fn visit_header(&mut self, header: &BatchHeader, marker: Option<Marker>) {
        if !header.attributes.is_transactional() || header.producer.id < 0 {
            return;
        }
        if !header.attributes.is_control() {
            self.begin(header.producer.id, header.base_offset);
            return;
        }
        if let Some(marker) = marker {
            self.keep(header, marker.control_type);
            self.close(header.producer.id, marker.control_type, header.last_offset);
        }
    }

    /// Base offset of the first batch seen since it was last asked for.
    pub fn take_first_offset(&mut self) -> Option<i64> {
        self.first_offset.take()
    }

    /// A transaction is open from this offset on, unless its producer has an open one already.
    pub fn begin(&mut self, producer_id: i64, first_offset: i64) {
        self.open.entry(producer_id).or_insert(first_offset);
    }

    /// True when a transaction that began before this offset has not ended yet.
    pub fn is_open_before(&self, offset: i64) -> bool {
        self.open.values().any(|first| *first < offset)
    }

    /// The open transactions: producer id and first offset, in the order of the offsets.
    pub fn open(&self) -> Vec<(i64, i64)> {
        let mut open: Vec<_> = self.open.iter().map(|(id, first)| (*id, *first)).collect();
        open.sort_unstable_by_key(|(id, first)| (*first, *id));
        open
    }

    /// The transactions seen so far; those without a marker are open.
    pub fn finish(self) -> Transactions {
        Transactions { last_stable_offset: self.open.into_values().min(), aborted: self.aborted }
    }

    fn keep(&mut self, header: &BatchHeader, marker: ControlType) {
        if let (Some(ends), ControlType::Abort | ControlType::Commit) = (&mut self.ends, marker) {
            ends.push((header.producer.id, header.last_offset, marker));
        }
    }

    /// A marker belongs to its producer's data since the marker before (CTL-7: by producer id only).
    fn close(&mut self, producer_id: i64, marker: ControlType, last_offset: i64) {
        let first = self.open.remove(&producer_id);
        if let (Some(first), ControlType::Abort) = (first, marker) {
            self.aborted.entry(producer_id).or_default().push((first, last_offset));
        }
    }
}

impl Transactions {
    /// From a list of (producer id, first offset, last offset) and the last stable offset.
    pub fn from_parts(aborted: impl IntoIterator<Item = (i64, i64, i64)>, last_stable_offset: Option<i64>) -> Self {
        let mut by_producer: HashMap<i64, Vec<(i64, i64)>> = HashMap::new();
        for (producer_id, first, last) in aborted {
            by_producer.entry(producer_id).or_default().push((first, last));
        }
        by_producer.values_mut().for_each(|ranges| ranges.sort_unstable());
        Self { aborted: by_producer, last_stable_offset }
    }

    /// Aborted transactions as (producer id, first offset, last offset), by first offset.
    pub fn aborted(&self) -> Vec<(i64, i64, i64)> {
        let mut all: Vec<_> =
            self.aborted.iter().flat_map(|(id, ranges)| ranges.iter().map(|(first, last)| (*id, *first, *last))).collect();
        all.sort_unstable_by_key(|(id, first, _)| (*first, *id));
        all
    }

    /// First offset of the oldest open transaction; nothing from it on is committed (TXN-6).
    pub fn last_stable_offset(&self) -> Option<i64> {
        self.last_stable_offset
    }

    /// True when the batch belongs to an aborted transaction.
    pub fn is_aborted(&self, header: &BatchHeader) -> bool {
        if !header.attributes.is_transactional() || header.attributes.is_control() {
            return false;
        }
        let Some(ranges) = self.aborted.get(&header.producer.id) else { return false };
        let after = ranges.partition_point(|(first, _)| *first <= header.base_offset);
        after.checked_sub(1).and_then(|index| ranges.get(index)).is_some_and(|(_, last)| header.base_offset <= *last)
    }
}

/// True for a batch that may hold a transaction marker.
pub fn is_marker(header: &BatchHeader) -> bool {
    header.attributes.is_control() && header.attributes.is_transactional() && header.producer.id >= 0
}

/// The marker in a control batch; `None` when it is compressed (no broker does that) or compacted away (CTL-10).
///
/// # Errors
/// What is wrong with its record or its key.
pub fn marker(header: &BatchHeader, bytes: &[u8]) -> Result<Option<Marker>> {
    if header.compression() != CompressionType::None || header.count == Some(0) {
        return Ok(None);
    }
    let plain = bytes.get(records_at(header, bytes)..).unwrap_or_default();
    let section = Section::new(plain, plain.len());
    let mut first = FirstRecord(None);
    let count = ensure_count(header, section.len(), false)?;
    let mut walk = Walk::of_batch(header, count, &section, &Limits::default())?;
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
