//! Batches in offset order to the transactions of their partition.
//!
//! Where something was skipped, the marker of every open transaction may have been among it, and a later marker may be that of another
//! transaction. So a later marker decides about what comes after that place, and about nothing before it.

use std::collections::HashMap;

use super::latest::{Change, LatestBatch};
use super::open::{BatchPosition, OpenTransaction};
use super::{ProducerRanges, Transactions, is_marker, marker, may_be_marker, proven_marker};
use crate::decode::parse_header;
use crate::error::Result;
use crate::format::v2;
use crate::framing::Frame;
use crate::model::{BatchHeader, ControlType, Formats, Marker};
use crate::sidecar::ProducerEntry;

/// Reads batches in offset order.
#[derive(Debug, Default)]
pub struct TransactionScan {
    open: HashMap<i64, OpenTransaction>,
    aborted: ProducerRanges,
    undecided: ProducerRanges,
    first_offset: Option<i64>,
    /// Every COMMIT and ABORT, where somebody wants them one by one.
    ends: Option<Vec<(i64, i64, ControlType)>>,
    /// The last offset so far.
    last_offset: Option<i64>,
    /// What the last batch changed, while its base offset is taken on trust.
    latest: LatestBatch,
    /// Places so far where offsets are missing.
    gaps: u64,
    segment: usize,
    /// No batch of the segment was seen, and its name tells no offset.
    is_at_border: bool,
    /// The segment before ended in the midst of an entry, or in zeros.
    is_torn: bool,
}

impl TransactionScan {
    /// A scan that keeps every marker that ends a transaction.
    pub fn keeping_ends() -> Self {
        Self { ends: Some(Vec::new()), ..Self::default() }
    }

    /// The kept markers in their order: producer id, offset, and COMMIT or ABORT.
    pub fn into_ends(self) -> Vec<(i64, i64, ControlType)> {
        self.ends.unwrap_or_default()
    }

    /// What comes belongs to the segment of this number, which holds no offset before `base_offset` when its name tells one.
    pub fn enter(&mut self, segment: usize, base_offset: Option<i64>) {
        (self.segment, self.is_at_border) = (segment, base_offset.is_none());
        if let Some(base_offset) = base_offset {
            if self.latest.before.is_some_and(|before| before < base_offset && base_offset <= self.latest.base_offset) {
                self.take_back(base_offset);
            }
            self.latest = LatestBatch::default();
            self.reach(base_offset);
            self.last_offset = Some(base_offset.saturating_sub(1));
        }
    }

    /// Looks at one entry. Entries that are not record batches carry no transactions and are skipped. A marker counts only when the
    /// checksum of its batch matches: one flipped bit makes an ABORT a COMMIT.
    pub fn visit(&mut self, frame: Frame<'_>) {
        if frame.magic < v2::layout::MAGIC {
            return;
        }
        let Ok(header) = parse_header(frame, Formats::Every, 0) else { return self.mark_undecided() };
        self.first_offset.get_or_insert(header.base_offset);
        let marker = if is_marker(&header) { proven_marker(&header, frame.bytes) } else { None };
        self.see(&header, marker);
    }

    /// Looks at one header. Of a batch that is a marker, or may have been one, `entry` gives the bytes when their checksum matches; without them
    /// nothing is learned, and the answer is false.
    ///
    /// # Errors
    /// Those of `entry`.
    pub fn visit_header<B: AsRef<[u8]>>(&mut self, header: &BatchHeader, entry: impl FnOnce() -> Result<Option<B>>) -> Result<bool> {
        let mut found = None;
        if header.is_control() || (self.has_open() && may_be_marker(header)) {
            let Some(entry) = entry()? else { return Ok(false) };
            if is_marker(header) {
                found = marker(header, entry.as_ref()).ok().flatten();
            }
        }
        self.see(header, found);
        Ok(true)
    }

    /// One batch, with its marker when it is a control batch; `None` for one that cannot be read.
    fn see(&mut self, header: &BatchHeader, marker: Option<Marker>) {
        if !header.format.is_batch() {
            return;
        }
        let order = self.follow(header);
        if !header.attributes.is_transactional() || header.producer.id < 0 {
            return;
        }
        if !header.attributes.is_control() {
            match order {
                OffsetOrder::Onward => self.append(header),
                OffsetOrder::Back => self.undecided.add(header.producer.id, header.base_offset, header.base_offset),
            }
            return;
        }
        match marker {
            Some(marker) => {
                self.keep(header, marker.control_type);
                self.close(header.producer.id, marker.control_type, header.last_offset);
            }
            // Compaction leaves empty ones (CTL-10).
            None if header.count == Some(0) => {}
            None => self.mark_undecided(),
        }
    }

    /// Whether a batch goes on where the last one ended: then neither base offset has a flipped bit.
    pub fn goes_on_with(&self, header: &BatchHeader) -> bool {
        self.last_offset.is_some_and(|last| last.checked_add(1) == Some(header.base_offset))
    }

    /// Something was skipped here: damage, lost bytes, a batch that cannot be read.
    pub fn mark_undecided(&mut self) {
        let last = self.last_offset;
        self.open.values_mut().for_each(|open| open.mark_undecided(last));
    }

    /// The segment ends in the midst of an entry, or in zeros. That is damage when offsets are missing before the next one.
    pub fn tear(&mut self) {
        self.is_torn = true;
    }

    /// Holds what is open against the producers before the next segment, as its sound snapshot has them. Where offsets are missing, a marker
    /// may be missing that no damage tells of.
    pub fn agree(&mut self, producers: &[ProducerEntry]) {
        let (last, gaps) = (self.last_offset, self.gaps);
        self.open.retain(|id, open| {
            let first =
                producers.iter().find(|producer| producer.producer_id == *id).map_or(-1, |producer| producer.current_txn_first_offset);
            if open.gaps == gaps || (0..=open.first_offset).contains(&first) {
                return true;
            }
            // Another one is open, or none: the marker of this one was in the gap.
            open.mark_undecided(if first < 0 { last } else { Some(first.saturating_sub(1)) });
            if first < 0 {
                self.undecided.add(*id, open.first_offset, open.undecided_until.unwrap_or(open.first_offset));
                return false;
            }
            open.certain = Some(first);
            true
        });
    }

    /// True when something is open of which `agree` may learn more.
    pub fn may_lack_markers(&self) -> bool {
        self.open.values().any(|open| open.gaps < self.gaps)
    }

    /// Base offset of the first batch seen since it was last asked for.
    pub fn take_first_offset(&mut self) -> Option<i64> {
        self.first_offset.take()
    }

    /// A transaction is open from this offset on, unless its producer has an open one already.
    pub fn begin(&mut self, producer_id: i64, first_offset: i64) {
        self.open.entry(producer_id).or_insert_with(|| OpenTransaction::new(first_offset, self.gaps, None));
    }

    /// True when a transaction is open.
    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// True when a transaction that began before this offset has not ended yet.
    pub fn is_open_before(&self, offset: i64) -> bool {
        self.open.values().any(|open| open.first_offset < offset)
    }

    /// The open transactions: producer id and first offset, in the order of the offsets.
    pub fn open(&self) -> Vec<(i64, i64)> {
        let mut open: Vec<_> = self.open.iter().map(|(id, open)| (*id, open.first_offset)).collect();
        open.sort_unstable_by_key(|(id, first)| (*first, *id));
        open
    }

    /// Where those open transactions began that cut a read up to `end`, as far as their first batches were seen. When the checksum of one does
    /// not match, it is none: a flipped bit made it one.
    pub fn begun_before(&self, end: Option<i64>) -> Vec<BatchPosition> {
        let cutting = self.open.values().filter(|open| end.is_none_or(|end| open.first_offset < end));
        cutting.filter_map(|open| open.begun).collect()
    }

    /// The transactions seen so far; those without a marker are open, also where it may be lost.
    pub fn finish(mut self) -> Transactions {
        for (id, open) in &self.open {
            if let Some(undecided_until) = open.undecided_until {
                self.undecided.add(*id, open.first_offset, undecided_until);
            }
        }
        let last_stable_offset = self.open.into_values().map(|open| open.first_offset).min();
        Transactions { aborted: self.aborted, undecided: self.undecided, last_stable_offset }
    }

    /// No checksum covers a base offset. Where offsets go back, the last batch claimed one too high when this one goes on from those before it,
    /// and this one claims one too low when not.
    fn follow(&mut self, header: &BatchHeader) -> OffsetOrder {
        let mut order = OffsetOrder::Onward;
        if !self.is_at_border && self.last_offset.is_some_and(|last| header.base_offset <= last) {
            if self.latest.is_right_next_to(header) {
                self.latest.lower = Some(header.last_offset);
                return OffsetOrder::Back;
            }
            if self.latest.before.is_none() {
                order = OffsetOrder::Back;
            }
            self.take_back(header.base_offset);
        }
        self.latest = LatestBatch { base_offset: header.base_offset, before: self.last_offset, gaps: self.gaps, ..LatestBatch::default() };
        self.reach(header.base_offset);
        (self.is_at_border, self.last_offset) = (false, Some(header.last_offset));
        order
    }

    /// The last batch comes before `next`, whatever its base offset says: it is in doubt by itself, and moves nothing else.
    fn take_back(&mut self, next: i64) {
        let latest = std::mem::take(&mut self.latest);
        (self.last_offset, self.gaps) = (latest.before, latest.gaps);
        match latest.change {
            Change::Nothing => {}
            Change::Data { producer_id, base_offset, went_on_from } => {
                self.undecided.add(producer_id, base_offset, base_offset);
                match (went_on_from, self.open.get_mut(&producer_id)) {
                    (Some(last), Some(open)) => {
                        open.last_offset = last;
                        open.certain = open.certain.filter(|certain| *certain != base_offset);
                    }
                    _ => drop(self.open.remove(&producer_id)),
                }
            }
            Change::Aborted { producer_id, first_offset } => self.aborted.end_before(producer_id, first_offset, next),
        }
    }

    /// The next batch has this offset or a later one.
    fn reach(&mut self, offset: i64) {
        if self.last_offset.is_some_and(|last| offset > last.saturating_add(1)) {
            self.gaps = self.gaps.saturating_add(1);
            if self.is_torn {
                self.mark_undecided();
            }
        }
        self.is_torn = false;
    }

    fn append(&mut self, header: &BatchHeader) {
        let (first, epoch) = (header.base_offset, Some(header.producer.epoch));
        let place = BatchPosition { segment: self.segment, position: header.position };
        let went_on_from = self.open.get(&header.producer.id).map(|open| open.last_offset);
        self.latest.change = Change::Data { producer_id: header.producer.id, base_offset: first, went_on_from };
        let open = self.open.entry(header.producer.id).or_insert_with(|| OpenTransaction::new(first, self.gaps, Some(place)));
        let is_other = open.epoch.is_some() && open.epoch != epoch;
        if is_other && open.gaps < self.gaps {
            // An epoch begins after the marker of the one before, and that was in a gap.
            open.mark_undecided(Some(first.saturating_sub(1)));
        }
        (open.epoch, open.last_offset) = (epoch, header.last_offset.max(open.last_offset));
        open.certain.get_or_insert(first);
    }

    fn keep(&mut self, header: &BatchHeader, marker: ControlType) {
        if let (Some(ends), ControlType::Abort | ControlType::Commit) = (&mut self.ends, marker) {
            ends.push((header.producer.id, header.last_offset, marker));
        }
    }

    /// A marker belongs to its producer's data since the marker before (CTL-7: by producer id only).
    fn close(&mut self, producer_id: i64, marker: ControlType, last_offset: i64) {
        let Some(open) = self.open.remove(&producer_id) else { return };
        if let Some(undecided_until) = open.undecided_until {
            self.undecided.add(producer_id, open.first_offset, undecided_until);
        }
        if let (Some(first), ControlType::Abort) = (open.certain, marker) {
            self.latest.change = Change::Aborted { producer_id, first_offset: first };
            self.aborted.add(producer_id, first, last_offset.max(open.last_offset));
        }
    }
}

/// How a batch follows those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OffsetOrder {
    Onward,
    Back,
}
