//! New records of a growing partition: where it ends now, what was appended, and whether the log was cut.
//!
//! A broker may append, roll, cut and delete between any two looks. A batch counts once it is whole and, if it is the last one, its checksum
//! matches. Uploads do not grow: segments are added and removed. After a change of leaders a new segment may have offsets of another one again.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::arrange::{lower_bounded, order_by_offsets};
use super::growing::EndOptions;
use super::growing_log::{GrowingPartition, reader_of};
use super::piece::SegmentRange;
use super::storage::{AtDamage, Storage};
use super::wanted::WantedRange;
use super::{SegmentFile, SegmentLookup};
use crate::decode::torn_offsets;
use crate::error::{Error, Result, grouped};
use crate::format::record_batch;
use crate::framing::Tail;
use crate::log::{LastBatch, LogEnd, no_data_error};
use crate::validate::Finding;

/// Bytes of a batch by which it is known again.
const HEADER_LEN: u64 = 61;
/// Batches that are remembered, one for each look that found new records, to know how far back a log was cut.
const REMEMBERED: usize = 1000;

/// What a look found.
#[derive(Clone, Debug)]
pub enum Followed {
    /// Records to show, of the segment with this number; findings after the byte `known` are for a later look.
    Records {
        /// The number of the segment in the order of the look.
        segment: usize,
        /// The bytes that hold them.
        piece: Box<SegmentRange>,
        /// The last byte whose findings are for this look; `None` if all are.
        known: Option<u64>,
    },
    /// Records that are gone.
    Gone(String),
    /// The damage that ends a read which does not skip damage, after the records before it.
    Damaged(usize, Box<EndDamage>),
}

/// Damage at the end of a segment.
#[derive(Clone, Debug)]
pub enum EndDamage {
    /// By its error.
    Error(Error),
    /// By its finding.
    Finding(Finding),
}

/// A batch that was the last one when it was shown.
#[derive(Clone, Debug, PartialEq)]
struct ShownBatch {
    path: PathBuf,
    last: LastBatch,
}

/// A file in a listing: another size is another upload.
type ListedFile = (PathBuf, Option<u64>);

/// Follows one partition.
#[derive(Debug)]
pub struct Follower {
    /// The first offset that was not shown; `None` before the first look if only new records are wanted.
    next: Option<i64>,
    wanted: WantedRange,
    ends: GrowingPartition,
    shown: VecDeque<ShownBatch>,
    /// Closed segments that were shown to their end.
    done: HashSet<ListedFile>,
    listed: Vec<ListedFile>,
    /// How long a segment that is gone, or shorter than it was, may come back unchanged. A copy that replaces a file looks like that.
    wait: Duration,
    /// Since when the newest batch is missing.
    missing_since: Option<Instant>,
    look: OpenLook,
}

/// A look that is going on.
#[derive(Debug, Default)]
struct OpenLook {
    segments: Vec<SegmentFile>,
    notes: VecDeque<String>,
    /// The number of the segment that is looked at next.
    at: usize,
    /// What counts once the records that were given are shown: the last batch of a segment.
    given: Option<ShownRecords>,
}

/// Records that were given.
#[derive(Debug)]
struct ShownRecords {
    last: Option<LastBatch>,
    damage: Option<EndDamage>,
}

impl Follower {
    /// Follow a partition from an offset on; `None` for records that are appended from now on.
    pub fn new(start: Option<i64>, wanted: WantedRange, ends: EndOptions, wait: Duration) -> Self {
        let ends = GrowingPartition::new(EndOptions { skips_damage: wanted.skips_damage, is_checked: true, ..ends });
        let (shown, done, listed) = (VecDeque::new(), HashSet::new(), Vec::new());
        Self { next: start, wanted, ends, shown, done, listed, wait, missing_since: None, look: OpenLook::default() }
    }

    /// The first offset that was not shown.
    pub fn next_offset(&self) -> Option<i64> {
        self.next
    }

    /// The segments of the look that is going on.
    pub fn segments(&self) -> &[SegmentFile] {
        &self.look.segments
    }

    /// Begin a look at the segments of the partition, in the order of their offsets.
    ///
    /// # Errors
    /// `NotFound` if a segment was deleted meanwhile: look again.
    pub fn begin(&mut self, segments: &[SegmentFile], storage: &dyn Storage) -> Result<()> {
        self.look = OpenLook::default();
        // A cleaner may merge the next segment into one since the directory was listed, so that only first offsets count.
        let segments: Vec<_> = order_by_offsets(segments, self.wanted.skips_damage, storage)?.into_iter().map(lower_bounded).collect();
        let listed: Vec<ListedFile> = segments.iter().map(name_of).collect();
        if listed == self.listed || self.is_waiting(&segments, storage)? {
            return Ok(());
        }
        self.done.retain(|name| listed.contains(name));
        self.ends.forget_others(&segments);
        let Some(last) = segments.last() else { return Ok(()) };
        if self.next.is_none() {
            self.begin_at_end(last, storage)?;
            self.finish(&segments, storage);
            return Ok(());
        }
        let mut notes = VecDeque::new();
        notes.extend(self.cut(&segments, storage)?);
        notes.extend(self.deleted(&segments));
        self.look = OpenLook { segments, notes, at: 0, given: None };
        Ok(())
    }

    /// What the look finds next; `None` at its end. Records count as shown when the next thing is asked for.
    ///
    /// # Errors
    /// `NotFound` as in `begin`; if a batch that is not the last one is damaged, or a file cannot be read.
    pub fn next_found(&mut self, storage: &dyn Storage) -> Result<Option<Followed>> {
        if let Some(note) = self.look.notes.pop_front() {
            return Ok(Some(Followed::Gone(note)));
        }
        loop {
            if let Some(given) = self.look.given.take() {
                if let Some(damage) = given.damage {
                    return Ok(Some(Followed::Damaged(self.look.at, Box::new(damage))));
                }
                self.count(given.last);
                self.leave(storage);
            }
            let Some(segment) = self.look.segments.get(self.look.at).cloned() else {
                let segments = std::mem::take(&mut self.look.segments);
                if !segments.is_empty() {
                    self.finish(&segments, storage);
                }
                return Ok(None);
            };
            let following = self.look.segments.get(self.look.at.saturating_add(1)).map(SegmentFile::base);
            let is_closed = following.is_some() || storage.is_stored(&segment.path);
            let is_over = is_closed && self.done.contains(&name_of(&segment));
            let may_have_more = following.is_none_or(|following| self.next.is_none_or(|next| following > next));
            if is_over || !may_have_more {
                self.look.at = self.look.at.saturating_add(1);
                continue;
            }
            if let Some(found) = self.new_of(&segment, is_closed, storage)? {
                return Ok(Some(found));
            }
        }
    }

    /// Leave the segment whose look failed out of this look.
    pub fn step_over(&mut self, storage: &dyn Storage) {
        self.leave(storage);
    }

    fn begin_at_end(&mut self, segment: &SegmentFile, storage: &dyn Storage) -> Result<()> {
        let found = self.ends.last_valid(segment, storage)?;
        self.next = Some(found.next_offset());
        self.ends.go_on_from(segment, &found);
        if let Some(last) = found.end.last {
            self.remember(ShownBatch { path: segment.path.clone(), last });
        }
        Ok(())
    }

    /// Objects of a store never change under their names; what grows is looked at each time.
    fn finish(&mut self, segments: &[SegmentFile], storage: &dyn Storage) {
        let is_all_stored = segments.iter().all(|segment| storage.is_stored(&segment.path));
        self.listed = if is_all_stored { segments.iter().map(name_of).collect() } else { Vec::new() };
    }

    fn deleted(&mut self, segments: &[SegmentFile]) -> Option<String> {
        let first = segments.first()?;
        let first = first.base().max(first.log_start.unwrap_or(0));
        let next = self.next.filter(|next| *next < first)?;
        self.next = Some(first);
        Some(format!("offsets {} to {} were deleted", thousands(next), thousands(first.saturating_sub(1))))
    }

    /// The new records of a segment. Damage that is not skipped comes after the records before it.
    fn new_of(&mut self, segment: &SegmentFile, is_closed: bool, storage: &dyn Storage) -> Result<Option<Followed>> {
        let known = self.shown.back().filter(|shown| shown.path == segment.path).map(|shown| shown.last);
        let end = self.end_of(segment, known, is_closed, storage)?;
        let is_new = end.last.is_some_and(|last| self.next.is_none_or(|next| last.last_offset >= next));
        let counted = end.last.filter(|_| is_new);
        let given = ShownRecords { last: counted, damage: end.damage };
        let number = self.look.at;
        if end.is_rest_shown {
            let piece = Box::new(self.piece(segment, known, None, None, storage)?);
            self.look.given = Some(given);
            return Ok(Some(Followed::Records { segment: number, piece, known: None }));
        }
        if let Some(last) = counted {
            let to = Some(last.last_offset.saturating_add(1));
            let piece = Box::new(self.piece(segment, known, end.stop, to, storage)?);
            self.look.given = Some(given);
            return Ok(Some(Followed::Records { segment: number, piece, known: Some(last.position) }));
        }
        self.look.given = Some(given);
        Ok(None)
    }

    fn end_of(&mut self, segment: &SegmentFile, known: Option<LastBatch>, is_closed: bool, storage: &dyn Storage) -> Result<EndNow> {
        let found = match self.ends.end(segment, true, storage) {
            Err(error) if error.is_about_data() => {
                return Ok(EndNow { last: known, stop: None, damage: Some(EndDamage::Error(error)), is_rest_shown: true });
            }
            found => found?,
        };
        if found.is_cut && known.is_some() {
            // The log was cut during this look: the next look finds it.
            return Ok(EndNow { last: known, stop: None, damage: None, is_rest_shown: false });
        }
        let LogEnd { last, tail, zeros, finding } = found.end;
        // Zeros are allowed in a closed segment only if no offset is missing, which the read of the rest finds out.
        let is_whole = tail == Tail::Complete && !self.wanted.skips_damage;
        let is_rest_shown = finding.is_some() || (is_closed && !is_whole);
        let stop = Some(zeros.start).filter(|_| !zeros.is_empty());
        Ok(EndNow { last, stop, damage: finding.map(EndDamage::Finding), is_rest_shown })
    }

    /// The new records of a segment, up to the offset `end` and to the byte `stop`.
    fn piece(
        &self,
        segment: &SegmentFile,
        known: Option<LastBatch>,
        stop: Option<u64>,
        end: Option<i64>,
        storage: &dyn Storage,
    ) -> Result<SegmentRange> {
        let is_first = known.is_none() && self.next.is_none_or(|next| next <= segment.base());
        let begin = known.map(|known| known.position).or(is_first.then_some(0));
        let reader = reader_of(segment, self.wanted.sharing(self.next, end));
        let lookup = std::sync::Arc::new(SegmentLookup::new(segment.clone()));
        reader.piece_in(reader.segments.first().unwrap_or(&lookup), begin, stop, storage)
    }

    fn count(&mut self, last: Option<LastBatch>) {
        if let (Some(last), Some(segment)) = (last, self.look.segments.get(self.look.at)) {
            self.next = Some(last.last_offset.saturating_add(1));
            let path = segment.path.clone();
            self.remember(ShownBatch { path, last });
        }
    }

    /// Goes on with the next segment.
    fn leave(&mut self, storage: &dyn Storage) {
        let at = self.look.at;
        if let Some(segment) = self.look.segments.get(at)
            && (at.saturating_add(1) < self.look.segments.len() || storage.is_stored(&segment.path))
        {
            self.done.insert(name_of(segment));
        }
        self.look.at = at.saturating_add(1);
    }

    fn remember(&mut self, shown: ShownBatch) {
        self.shown.push_back(shown);
        if self.shown.len() > REMEMBERED {
            self.shown.pop_front();
        }
    }

    /// True while the segment of the newest batch may come back as it was.
    fn is_waiting(&mut self, segments: &[SegmentFile], storage: &dyn Storage) -> Result<bool> {
        let newest = self.shown.back().cloned().filter(|_| !self.wait.is_zero());
        let is_missing = newest.map_or(Ok(false), |newest| self.is_missing(&newest, segments, storage))?;
        if !is_missing {
            self.missing_since = None;
            return Ok(false);
        }
        Ok(self.missing_since.get_or_insert_with(Instant::now).elapsed() < self.wait)
    }

    /// True if bytes of a batch are gone and no other bytes are in their place.
    fn is_missing(&self, newest: &ShownBatch, segments: &[SegmentFile], storage: &dyn Storage) -> Result<bool> {
        let LastBatch { position, last_offset, .. } = newest.last;
        let Some(own) = segments.iter().find(|segment| segment.path == newest.path) else {
            // Retention deletes from the oldest segment on: what is missing after others was moved or cut.
            let is_later = segments.first().is_some_and(|first| first.base() <= last_offset);
            return Ok(is_later && self.found(newest, segments, storage)?.is_none());
        };
        if self.ends.has(own, &newest.last, storage)? {
            return Ok(false);
        }
        if own.size(storage)? < position.saturating_add(HEADER_LEN) {
            return Ok(true);
        }
        let mut source = storage.source(&own.path, position, None, AtDamage::Fail)?;
        if no_data_error(source.fill(record_batch::MAX_HEADER_LEN))?.is_none() {
            return Ok(false);
        }
        let offsets = torn_offsets(source.front(), self.ends.formats());
        Ok(offsets.is_some_and(|(_, last)| last == last_offset))
    }

    /// Go back to the last remembered batch that is still there, if the newest one is not.
    fn cut(&mut self, segments: &[SegmentFile], storage: &dyn Storage) -> Result<Option<String>> {
        let (shown, mut oldest) = (self.next, None);
        while let Some(gone) = self.shown.pop_back() {
            let found = self.found(&gone, segments, storage)?;
            if found.as_ref() != Some(&gone) {
                self.ends.forget_others(&[]);
            }
            if let Some(found) = found {
                self.shown.push_back(found);
                break;
            }
            // A segment that is deleted before others was not cut.
            let is_listed = segments.iter().any(|segment| segment.path == gone.path);
            if is_listed || segments.last().is_some_and(|last| last.base() <= gone.last.last_offset) {
                oldest = Some(gone.last.last_offset.saturating_add(1));
                self.shown.extend(self.kept(&gone, segments, storage)?);
            }
        }
        let (Some(oldest), Some(shown)) = (oldest, shown) else { return Ok(None) };
        let next = match (self.shown.back(), segments.last()) {
            (Some(last), _) => last.last.last_offset.saturating_add(1),
            (None, Some(last)) => oldest.min(self.ends.last_valid(last, storage)?.next_offset()),
            (None, None) => oldest,
        };
        self.next = Some(next);
        self.done.clear();
        let (from, to) = (thousands(next), thousands(shown.saturating_sub(1)));
        Ok(Some(format!("the log was truncated: offsets {from} to {to} were replaced; the new records follow")))
    }

    /// A batch with its place now: the same, or another segment that has its offsets. `None` if it is gone.
    fn found(&self, shown: &ShownBatch, segments: &[SegmentFile], storage: &dyn Storage) -> Result<Option<ShownBatch>> {
        let last_offset = shown.last.last_offset;
        let Some(holder) = segments.iter().rev().find(|segment| segment.base() <= last_offset) else { return Ok(None) };
        if holder.path == shown.path && self.ends.has(holder, &shown.last, storage)? {
            return Ok(Some(shown.clone()));
        }
        let place = no_data_error(SegmentLookup::new(holder.clone()).find_offset(last_offset, storage))?;
        let Some(place) = place.filter(|place| place.header.is_some()) else { return Ok(None) };
        let last = LastBatch { position: place.position, ..shown.last };
        let is_there = self.ends.has(holder, &last, storage)?;
        Ok(is_there.then(|| ShownBatch { path: holder.path.clone(), last }))
    }

    /// The end of the part of an upload that is still read, if another leader has replaced its last batches.
    fn kept(&self, gone: &ShownBatch, segments: &[SegmentFile], storage: &dyn Storage) -> Result<Option<ShownBatch>> {
        let object = storage.untiered(&gone.path);
        for segment in segments {
            let before = storage.cut_of(&segment.path);
            if before.is_some_and(|before| before <= gone.last.last_offset) && storage.untiered(&segment.path) == object {
                let last = self.ends.last_valid(segment, storage)?.end.last;
                return Ok(last.map(|last| ShownBatch { path: segment.path.clone(), last }));
            }
        }
        Ok(None)
    }
}

/// The end of a segment now.
struct EndNow {
    /// The last batch that counts.
    last: Option<LastBatch>,
    /// Where only zeros follow, if that is known.
    stop: Option<u64>,
    /// What ends the read.
    damage: Option<EndDamage>,
    /// The bytes after the batch are read too, so that their findings are shown.
    is_rest_shown: bool,
}

fn name_of(segment: &SegmentFile) -> ListedFile {
    (segment.path.clone(), segment.known_size)
}

fn thousands(offset: i64) -> String {
    u64::try_from(offset).map_or_else(|_| offset.to_string(), grouped)
}
