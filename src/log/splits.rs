//! Where a log can be cut into pieces that are read apart: always where a batch begins.

use super::index_search::{from_first, from_last, position};
use super::lookup::{Lookup, first_known, no_data_error};
use crate::error::Result;
use crate::model::{BatchHeader, RecordFormat};
use crate::sidecar::OffsetEntry;

/// Where a piece of some offsets begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSplit {
    /// First offset of the piece.
    pub offset: i64,
    /// Where the first batch that it needs stands.
    pub position: u64,
    /// The end of the previous piece: after that batch, if it may have offsets of both.
    pub end_before: u64,
}

/// Bytes of a batch before its records.
const HEADER_BYTES: i64 = 61;

/// Most pieces of one log. A header may claim very many offsets; the rest after the last cut is one piece.
const MOST_SPLITS: usize = 1 << 16;

impl Lookup<'_> {
    /// Positions of batches about every `step` bytes, after `start`, where a batch begins, and before `end`.
    ///
    /// Headers are read from the last entry of the index before each cut, when a valid batch stands where it points; otherwise from the
    /// cut before. Where they cannot be read there are no more cuts, and who reads the last piece meets the error.
    ///
    /// # Errors
    /// `Io`.
    pub fn splits(&self, start: u64, end: u64, step: u64) -> Result<Vec<u64>> {
        let step = step.max(1);
        let mut splits = Vec::new();
        let mut from = start;
        while splits.len() < MOST_SPLITS {
            // Counted from `start` on, so that what one piece has too much another has less.
            let pieces = from.saturating_sub(start).checked_div(step).unwrap_or_default();
            let wanted = start.saturating_add(pieces.saturating_add(1).saturating_mul(step));
            let Some(next) = self.batch_from(from, wanted)?.filter(|next| *next < end) else { break };
            splits.push(next);
            from = next;
        }
        Ok(splits)
    }

    /// Cuts into pieces of at most `step` offsets, from offset `start` to before `end`. Offsets that are not there count for nothing. A batch
    /// is not cut into more pieces than it has bytes of records, whatever range of offsets its header claims.
    ///
    /// # Errors
    /// `Io`.
    pub fn offset_splits(&self, start: i64, end: i64, step: i64) -> Result<Vec<SegmentSplit>> {
        let mut splits = Vec::new();
        let Some(mut batch) = self.batch_of(start, 0)? else { return Ok(splits) };
        let mut offset = first_in(&batch, start);
        while splits.len() < MOST_SPLITS {
            let wanted = end_of_piece(&batch, offset, step.max(1));
            let Some(next) = self.batch_of(wanted, batch.position)? else { break };
            batch = next;
            offset = first_in(&batch, wanted);
            if offset >= end {
                break;
            }
            let is_shared = batch.format < RecordFormat::V2 || batch.base_offset < wanted;
            let end_before = batch.position.saturating_add(if is_shared { batch.size } else { 0 });
            splits.push(SegmentSplit { offset, position: batch.position, end_before });
        }
        Ok(splits)
    }

    /// The offset after the last batch that ends at `end` or before, of the batches from position `start` on, where one begins. If there is
    /// none: that after the first batch where `takes_first` is set, otherwise `None`.
    ///
    /// # Errors
    /// As `Headers::next_header`.
    pub fn offset_within(&self, start: u64, end: u64, takes_first: bool) -> Result<Option<i64>> {
        let is_at_most = |entry: &OffsetEntry| u64::try_from(entry.position).is_ok_and(|position| position <= end);
        let below = self.offsets.get(..self.offsets.partition_point(is_at_most)).unwrap_or_default();
        let near = from_last(below, |hint| match position(hint).filter(|position| *position > start) {
            Some(position) => self.valid_at(position),
            None => Ok(None),
        })?;
        // A batch begins at `near`, so that what it does not hold ends before it.
        let mut reached = near.map(|header| first_known(&header));
        let mut headers = self.headers(near.map_or(start, |header| header.position));
        while let Some(header) = headers.next_header()? {
            let is_within = header.position.saturating_add(header.size) <= end;
            if is_within || (takes_first && reached.is_none()) {
                reached = Some(header.last_offset.saturating_add(1));
            }
            if !is_within {
                break;
            }
        }
        Ok(reached)
    }

    /// The bytes that hold all valid batches with offsets from `start` to before `end`, and the last valid batch before them if there is
    /// one: from a valid batch to which an entry of the index leads, or the beginning of the log, to another one; `None` for the end.
    ///
    /// # Errors
    /// `Io`.
    pub fn valid_range(&self, start: Option<i64>, end: Option<i64>) -> Result<(u64, Option<u64>)> {
        let first = start.map_or(Ok(0), |start| self.valid_start_before(start))?;
        let last = end.map_or(Ok(None), |end| self.valid_end_from(end))?;
        Ok((first, last.map(|last| last.max(first))))
    }

    /// Leaves out positions where no valid batch begins.
    ///
    /// # Errors
    /// `Io`.
    pub fn valid_splits(&self, splits: Vec<u64>) -> Result<Vec<u64>> {
        let mut kept = Vec::with_capacity(splits.len());
        for split in splits {
            if self.valid_at(split)?.is_some() {
                kept.push(split);
            }
        }
        Ok(kept)
    }

    /// The first batch that begins at or after `wanted`; a batch begins at `from`.
    fn batch_from(&self, from: u64, wanted: u64) -> Result<Option<u64>> {
        let is_at_most = |entry: &OffsetEntry| u64::try_from(entry.position).is_ok_and(|position| position <= wanted);
        let below = self.offsets.get(..self.offsets.partition_point(is_at_most)).unwrap_or_default();
        let found = from_last(below, |hint| {
            let Some(position) = position(hint).filter(|position| *position > from) else { return Ok(None) };
            let is_valid = self.valid_at(position)?.is_some();
            let place = is_valid.then(|| self.scan(position, |header| header.position >= wanted));
            Ok(place.and_then(Result::ok).and_then(|place| place.header).map(|header| header.position))
        })?;
        if found.is_some() {
            return Ok(found);
        }
        let place = no_data_error(self.scan(from, |header| header.position >= wanted))?;
        Ok(place.and_then(|place| place.header).map(|header| header.position))
    }

    fn batch_of(&self, offset: i64, from: u64) -> Result<Option<BatchHeader>> {
        Ok(no_data_error(self.offset_from(offset, from))?.and_then(|place| place.header))
    }

    /// Where a valid batch begins that ends before `offset`.
    fn valid_start_before(&self, offset: i64) -> Result<u64> {
        let below = self.offsets.partition_point(|entry| entry.offset < offset);
        let found = from_last(self.offsets.get(..below).unwrap_or_default(), |hint| {
            let header = position(hint).map_or(Ok(None), |position| self.valid_at(position))?;
            Ok(header.filter(|header| header.last_offset < offset).map(|header| header.position))
        });
        Ok(found?.unwrap_or(0))
    }

    /// The end of a valid batch that reaches `offset` or is after it.
    fn valid_end_from(&self, offset: i64) -> Result<Option<u64>> {
        let below = self.offsets.partition_point(|entry| entry.offset < offset);
        from_first(self.offsets.get(below..).unwrap_or_default(), |hint| {
            let header = position(hint).map_or(Ok(None), |position| self.valid_at(position))?;
            Ok(header.filter(|header| header.last_offset >= offset).map(|header| header.position.saturating_add(header.size)))
        })
    }
}

/// Where the piece ends that begins at `offset` in a batch.
fn end_of_piece(batch: &BatchHeader, offset: i64, step: i64) -> i64 {
    let end = offset.saturating_add(step);
    if batch.format < RecordFormat::V2 || end > batch.last_offset {
        return end;
    }
    let bytes = i64::try_from(batch.size).unwrap_or(i64::MAX).saturating_sub(HEADER_BYTES).max(1);
    let claimed = batch.last_offset.saturating_sub(batch.base_offset);
    let least = claimed.checked_div(bytes).unwrap_or_default().saturating_add(1);
    end.max(offset.saturating_add(least)).min(batch.last_offset.saturating_add(1).max(end))
}

/// The first offset at or after `wanted` in a batch. The first offset of a wrapper of magic 0 and 1 is in its inner messages.
fn first_in(batch: &BatchHeader, wanted: i64) -> i64 {
    if batch.format < RecordFormat::V2 { wanted } else { wanted.max(batch.base_offset) }
}
