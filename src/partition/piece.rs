//! A piece of a segment: the bytes that hold wanted records. Large pieces can be cut.

use std::sync::Arc;

use super::storage::Storage;
use super::wanted::{WantedRange, least, touch};
use super::{SegmentFile, SegmentLookup};
use crate::error::Result;

/// Bytes of a segment with wanted records.
#[derive(Clone, Debug)]
pub struct SegmentRange {
    /// The segment.
    pub segment: Arc<SegmentLookup>,
    /// What the read wants of the piece.
    pub wanted: WantedRange,
    /// Position of the first byte.
    pub begin: u64,
    /// Position after the last byte; `None` for the end of the file at the time of the read.
    pub stop: Option<u64>,
    /// First offset after the segment; `None` if it is not known.
    pub follower: Option<i64>,
    /// The read of the piece reports the finding of the segment; of several pieces only one does.
    pub has_finding: bool,
    /// Another piece has the offsets of the segment before the first one of this piece.
    pub resumes: bool,
    /// The least offset of wanted records, also where the name of the segment shows that all batches are wanted: records may have other
    /// offsets than their batches.
    pub least: Option<i64>,
    /// Another batch begins at `stop`, unless the segment ends there. False if a broker may write there.
    pub is_inner: bool,
}

/// Bytes of a segment as they are read.
#[derive(Clone, Debug)]
pub struct PieceBytes {
    /// Their positions; `None` for the end of the file.
    pub bytes: (u64, Option<u64>),
    /// Another entry begins at the end.
    pub is_inner: bool,
    /// What is wanted of them.
    pub wanted: WantedRange,
}

impl SegmentRange {
    /// The wanted bytes of a segment.
    pub fn new(segment: Arc<SegmentLookup>, wanted: WantedRange, begin: u64, stop: Option<u64>) -> Self {
        Self { segment, wanted, begin, stop, follower: None, has_finding: true, resumes: false, least: None, is_inner: true }
    }

    /// The number of bytes, as far as it is known. 0 if the file is gone, which the read reports.
    ///
    /// # Errors
    /// If the size cannot be asked for.
    pub fn size(&self, storage: &dyn Storage) -> Result<u64> {
        match self.stop {
            Some(stop) => Ok(stop.saturating_sub(self.begin)),
            None => Ok(known(self.segment.size(storage))?.map_or(0, |size| size.saturating_sub(self.begin))),
        }
    }

    /// True if the piece is not the whole segment.
    pub fn is_looked_up(&self) -> bool {
        self.begin > 0 || self.stop.is_some()
    }

    /// The first offset after the piece; `None` if only the file shows it.
    pub fn end_offset(&self) -> Option<i64> {
        least(self.wanted.bounds().1, self.follower)
    }

    /// The first offset that the piece may hold.
    pub fn first_offset(&self) -> i64 {
        self.wanted.bounds().0.unwrap_or(0).max(self.segment.file.base())
    }

    /// The most offsets that the piece may hold; `None` if only the file shows it.
    pub fn most_offsets(&self) -> Option<i64> {
        self.end_offset().map(|end| end.saturating_sub(self.first_offset()).max(0))
    }

    /// The offset after the last batch of the piece that ends within `most` bytes from its beginning; `None` if there is none. `takes_first`:
    /// the first batch is within them, however large it is.
    ///
    /// # Errors
    /// If headers cannot be read, or the file cannot be read.
    pub fn offset_within(&self, most: u64, takes_first: bool, storage: &dyn Storage) -> Result<Option<i64>> {
        self.segment.offset_within(self.begin, self.begin.saturating_add(most), takes_first, storage)
    }

    /// The bytes of the read.
    ///
    /// # Errors
    /// If the size of the file cannot be asked for.
    pub fn bytes(&self, storage: &dyn Storage) -> Result<PieceBytes> {
        let start_offset = self.wanted.start_offset.or(self.least);
        let is_inner = self.is_inner && self.stop.is_some() && !self.ends_segment(storage)?;
        Ok(PieceBytes { bytes: (self.begin, self.stop), is_inner, wanted: WantedRange { start_offset, ..self.wanted } })
    }

    /// Pieces of about `step` bytes; each batch is in one of them.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn cut_by_bytes(&self, step: u64, storage: &dyn Storage) -> Result<Vec<Self>> {
        // A cut shortly before the end would make a tiny piece.
        let last = self.begin.saturating_add(self.size(storage)?).saturating_sub(step / 2);
        let is_cut = last > self.begin;
        let cuts = if is_cut { self.segment.cuts(step, self.begin, Some(last), self.wanted.skips_damage, storage)? } else { Vec::new() };
        let begins = [self.begin].into_iter().chain(cuts.iter().copied());
        let stops = cuts.iter().copied().map(Some).chain([self.stop]);
        let pieces = begins.zip(stops).enumerate();
        Ok(pieces
            .map(|(number, (begin, stop))| Self { begin, stop, has_finding: self.has_finding && number == 0, ..self.clone() })
            .collect())
    }

    /// The piece before the last `step` bytes or more, and the rest: each about twice as long as the one after it. `None` if it is too short to
    /// be cut.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn cut_before_end(&self, step: u64, storage: &dyn Storage) -> Result<Option<(Self, Self)>> {
        let (size, mut step) = (self.size(storage)?, step.max(1));
        while size > step.saturating_mul(2) {
            // The cuts are multiples of the bytes before the last `step` ones, and so one at most.
            let end = Some(self.begin.saturating_add(size));
            let cuts = self.segment.cuts(size.saturating_sub(step), self.begin, end, self.wanted.skips_damage, storage)?;
            if let Some(cut) = cuts.first().copied() {
                let before = Self { stop: Some(cut), has_finding: false, ..self.clone() };
                return Ok(Some((before, Self { begin: cut, ..self.clone() })));
            }
            step = step.saturating_mul(2);
        }
        Ok(None)
    }

    /// Pieces of at most `most` offsets. A batch may be among the bytes of two of them, each of which reads its own records.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn cut_by_offsets(&self, most: i64, storage: &dyn Storage) -> Result<Vec<Self>> {
        let (start, end) = self.wanted.bounds();
        let cuts = self.segment.offset_cuts(most, self.first_offset(), end, storage)?;
        let starts = [start].into_iter().chain(cuts.iter().map(|cut| Some(cut.offset)));
        let ends = cuts.iter().map(|cut| Some(cut.offset)).chain([end]);
        let begins = [self.begin].into_iter().chain(cuts.iter().map(|cut| cut.position));
        let stops = cuts.iter().map(|cut| Some(cut.end_before)).chain([self.stop]);
        let mut pieces = Vec::new();
        for (number, ((start, end), (begin, stop))) in starts.zip(ends).zip(begins.zip(stops)).enumerate() {
            let wanted = self.wanted.sharing(start, end);
            // Headers lead to the cuts, and a damaged one may claim the offsets of valid batches.
            let (begin, stop) =
                if wanted.skips_damage { self.segment.range_to_read(&wanted, storage)? } else { (begin.max(self.begin), stop) };
            if wanted.skips_damage || stop.is_none_or(|stop| stop > self.begin) {
                let (has_finding, resumes) = (self.has_finding && number == 0, number > 0);
                pieces.push(Self { wanted, begin, stop, has_finding, resumes, ..self.clone() });
            }
        }
        Ok(pieces)
    }

    /// The ranges of offsets with some of the piece, of which a partition may have very many: (producer id, first, last). `stable` is the last
    /// stable offset of the partition.
    pub fn touching<'a>(&self, ranges: impl Iterator<Item = &'a (i64, i64, i64)>, stable: Option<i64>) -> Vec<(i64, i64, i64)> {
        let (first, end) = (self.first_offset(), self.wanted.bounds().1);
        let is_of_piece = |(_, begin, last): &(i64, i64, i64)| {
            // A read also reports an undecided transaction that may still be open before its first batch (TRX-5).
            Some(*begin) == stable || (*last >= first && end.is_none_or(|end| *begin < end))
        };
        ranges.copied().filter(is_of_piece).collect()
    }

    /// True if the next segment of the partition follows the last byte, and no other batch.
    fn ends_segment(&self, storage: &dyn Storage) -> Result<bool> {
        let Some(stop) = self.stop.filter(|_| self.segment.file.next_offset.is_some()) else { return Ok(false) };
        Ok(known(self.segment.size(storage))?.is_some_and(|size| stop >= size))
    }
}

/// `None` for a file that is gone.
pub(super) fn known<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.is_not_found() => Ok(None),
        found => found.map(Some),
    }
}

/// The segments of a partition that may hold wanted offsets, each by its number, with the first offset after it; `None` for the last one.
pub(super) fn segments_with(wanted: &WantedRange, segments: &[Arc<SegmentLookup>]) -> Vec<(usize, Option<i64>)> {
    let bounds = wanted.bounds();
    if bounds.0.zip(bounds.1).is_some_and(|(start, end)| start >= end) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, (segment, follower)) in segments.iter().zip(followers(segments)).enumerate() {
        match end_of_name(&segment.file, wanted) {
            Some(end) => found.push((number, Some(follower.unwrap_or(0).max(end)))),
            None if touch(bounds, (segment.file.base_offset, follower)) => found.push((number, follower)),
            None => {}
        }
    }
    found
}

/// The first offset after those of a name that the segment contradicts; `None` if none of them is wanted.
pub(super) fn end_of_name(file: &SegmentFile, wanted: &WantedRange) -> Option<i64> {
    let named = file.named?;
    touch(wanted.bounds(), super::wanted::bounds_of(named)).then(|| named.end.unwrap_or(LAST))
}

/// The first offset after each segment. One that contradicts its name ends where its batches do, and limits no other.
fn followers(segments: &[Arc<SegmentLookup>]) -> Vec<Option<i64>> {
    let mut found = Vec::with_capacity(segments.len());
    let mut follower = None;
    for segment in segments.iter().rev() {
        match segment.file.actual_offsets {
            Some((_, last)) => found.push(Some(last.saturating_add(1))),
            None => {
                found.push(follower);
                follower = segment.file.base_offset;
            }
        }
    }
    found.reverse();
    found
}

/// The last offset of a segment whose end is damaged.
pub(super) const LAST: i64 = i64::MAX - 1;
