//! The one reader of a partition: segments and what is wanted go in, the byte ranges that hold the wanted records come out.
//!
//! A segment holds offsets from its name on and before the name of the next segment; compaction may only make it begin later. A segment that
//! contradicts its name (SEG-1) is damage: it was renamed, or swapped with another one. A read finds its batches by the offsets that they
//! hold; a read of these offsets, or of the offsets of the name, raises the error, or reports it and returns the records.
//!
//! Source: `LogSegment` and `LocalLog` in Kafka.

use std::sync::Arc;

use super::piece::{SegmentRange, end_of_name, segments_with};
use super::storage::{Storage, WantedEnds, newly_near};
use super::wanted::WantedRange;
use super::{SegmentFile, SegmentLookup};
use crate::error::{ErrorKind, Result};

/// Finds the bytes of the records of one partition that are wanted, and no more than it must.
#[derive(Clone, Debug)]
pub struct PartitionReader {
    /// All segments that may be read, in the order of their offsets.
    pub segments: Vec<Arc<SegmentLookup>>,
    /// What is wanted. Records below the log start offset of the partition never are.
    pub wanted: WantedRange,
    /// ms; batches whose headers say that all of their records are earlier may be left out.
    pub timestamp: Option<i64>,
}

impl PartitionReader {
    /// The reader of segments in the order of their offsets.
    pub fn new(segments: Vec<Arc<SegmentLookup>>, wanted: WantedRange, timestamp: Option<i64>) -> Self {
        let wanted = wanted.from_log_start(log_start(&segments));
        Self { segments, wanted, timestamp }
    }

    /// The segments that may hold wanted offsets, by number, each with the first offset after it; `None` for the last one.
    pub fn wanted_segments(&self) -> Vec<(usize, Option<i64>)> {
        segments_with(&self.wanted, &self.segments)
    }

    /// The bytes of each segment that may hold wanted records, with the number of the segment. A segment that is gone is whole: the read raises
    /// the error.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn pieces(&self, storage: &dyn Storage) -> Result<Vec<(usize, SegmentRange)>> {
        let (wanted, mut found) = (self.wanted_segments(), Vec::new());
        for (at, (number, follower)) in wanted.iter().enumerate() {
            newly_near(&wanted, at).iter().for_each(|next| self.expect_end(*next, storage));
            let Some(segment) = self.segments.get(*number) else { continue };
            found.extend(self.piece_of(segment, *follower, storage)?.map(|piece| (*number, piece)));
        }
        Ok(found)
    }

    /// Begins to fetch the end of a segment that holds no offset from `follower` on, if the end of what is wanted is looked up there.
    fn expect_end(&self, (number, follower): (usize, Option<i64>), storage: &dyn Storage) {
        let Some(segment) = self.segments.get(number).filter(|segment| segment.file.known_size.is_some()) else { return };
        let (_, end) = self.wanted.bounds();
        let is_last_wanted = end.zip(follower).is_some_and(|(end, follower)| follower <= end);
        if is_last_wanted && !self.wanted.has_positions && end_of_name(&segment.file, &self.wanted).is_none() {
            storage.expect(&segment.file.path, WantedEnds { has_front: false, size: segment.file.known_size });
        }
    }

    /// The bytes that are read of a segment before the offset `follower`; `None` if there are none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn piece_of(&self, segment: &Arc<SegmentLookup>, follower: Option<i64>, storage: &dyn Storage) -> Result<Option<SegmentRange>> {
        let wanted = self.wanted_of(&segment.file);
        let piece = SegmentRange::new(Arc::clone(segment), wanted, 0, None);
        let piece = SegmentRange { follower, least: self.wanted.start_offset, ..piece };
        if end_of_name(&segment.file, &self.wanted).is_some() {
            return Ok(Some(piece));
        }
        match self.range_of(segment, &wanted, storage) {
            Ok(range) => Ok(range.map(|(begin, stop)| SegmentRange { begin, stop, ..piece })),
            // The read raises the error of a file that is gone. A look-up has the default limits, and the read may have others.
            Err(error) if error.is_not_found() || matches!(error.kind(), ErrorKind::Limit { .. }) => Ok(Some(piece)),
            Err(error) => Err(error),
        }
    }

    /// The bytes of the only segment whose wanted records are in known bytes: from `begin` on, which is looked up if it is not given.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn piece_in(
        &self,
        segment: &Arc<SegmentLookup>,
        begin: Option<u64>,
        stop: Option<u64>,
        storage: &dyn Storage,
    ) -> Result<SegmentRange> {
        let open_end = WantedRange { end_offset: None, share: (self.wanted.share.0, None), ..self.wanted };
        let first = match begin {
            Some(begin) => begin,
            None => segment.range_to_read(&open_end, storage)?.0,
        };
        Ok(SegmentRange { is_inner: false, ..SegmentRange::new(Arc::clone(segment), self.wanted, first, stop) })
    }

    fn range_of(&self, segment: &Arc<SegmentLookup>, wanted: &WantedRange, storage: &dyn Storage) -> Result<Option<(u64, Option<u64>)>> {
        let (mut begin, stop) = segment.range_to_read(wanted, storage)?;
        // A damaged header must not lead a read past valid batches that it shall return.
        if let Some(timestamp) = self.timestamp.filter(|_| !wanted.skips_damage) {
            let Some(first) = segment.position_for_timestamp(timestamp, storage)? else { return Ok(None) };
            begin = begin.max(first);
        }
        let is_empty = begin > 0 && begin >= stop.map_or_else(|| segment.size(storage), Ok)?;
        Ok((!is_empty).then_some((begin, stop)))
    }

    /// What is wanted of a segment. Its name may show that all of its batches are wanted; uploads may overlap.
    fn wanted_of(&self, file: &SegmentFile) -> WantedRange {
        let (start, _) = self.wanted.bounds();
        let begins_later = start.zip(file.offsets).is_some_and(|(start, offsets)| offsets.start >= start);
        if begins_later { WantedRange { start_offset: None, share: (None, self.wanted.share.1), ..self.wanted } } else { self.wanted }
    }
}

/// The log start offset of the partition of segments.
pub fn log_start(segments: &[Arc<SegmentLookup>]) -> Option<i64> {
    segments.iter().filter_map(|segment| segment.file.log_start).max()
}
