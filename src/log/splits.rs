//! Where a log can be cut into pieces that are read apart: always where a batch begins.

use super::index_search::{from_last, position};
use super::lookup::{Lookup, is_final, no_data_error};
use super::{Headers, ReadAt};
use crate::decode::OffsetRange;
use crate::error::Result;
use crate::model::{BatchHeader, RecordFormat};
use crate::sidecar::OffsetEntry;

/// Where a piece of some offsets begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// First offset of the piece.
    pub offset: i64,
    /// Where the first batch that it needs stands.
    pub position: u64,
    /// Where the bytes of the piece before end: behind that batch, when it may hold offsets of both.
    pub end_before: u64,
}

/// Bytes that are zeros in front of a preallocated file without a batch.
const PREALLOCATED: usize = 64;

/// Batches of a log that are walked before a valid one near its end is searched for.
const FEW: usize = 64;
/// Bytes at the end of a log without an index in which a valid batch is searched for.
const SEARCHED: u64 = 1 << 20;

/// Most pieces of one log. A header may claim very many offsets; what is behind the last cut is one piece.
const MOST_CUTS: usize = 1 << 16;

impl Lookup<'_> {
    /// Positions of batches about every `step` bytes, behind `start`, where a batch begins, and before `end`.
    ///
    /// Headers are read from the last entry of the index before each cut, when an intact batch stands where it points; otherwise from the
    /// cut before. Where they cannot be read there are no more cuts, and who reads the last piece meets the fault.
    ///
    /// # Errors
    /// `Io`.
    pub fn cuts(&self, start: u64, end: u64, step: u64) -> Result<Vec<u64>> {
        let step = step.max(1);
        let mut cuts = Vec::new();
        let mut from = start;
        while cuts.len() < MOST_CUTS {
            // Counted from `start` on, so that what one piece has too much another has less.
            let pieces = from.saturating_sub(start).checked_div(step).unwrap_or_default();
            let wanted = start.saturating_add(pieces.saturating_add(1).saturating_mul(step));
            let Some(next) = self.batch_from(from, wanted)?.filter(|next| *next < end) else { break };
            cuts.push(next);
            from = next;
        }
        Ok(cuts)
    }

    /// Cuts into pieces of at most `step` offsets, from offset `start` to before `end`. Offsets that are not there count for nothing.
    ///
    /// # Errors
    /// `Io`.
    pub fn offset_cuts(&self, start: i64, end: i64, step: i64) -> Result<Vec<Split>> {
        let mut cuts = Vec::new();
        let Some(first) = self.batch_of(start, 0)? else { return Ok(cuts) };
        let (mut offset, mut from) = (first_in(&first, start), first.position);
        while cuts.len() < MOST_CUTS {
            let wanted = offset.saturating_add(step.max(1));
            let Some(batch) = self.batch_of(wanted, from)? else { break };
            offset = first_in(&batch, wanted);
            if offset >= end {
                break;
            }
            let is_shared = batch.format < RecordFormat::V2 || batch.base_offset < wanted;
            let end_before = batch.position.saturating_add(if is_shared { batch.size } else { 0 });
            cuts.push(Split { offset, position: batch.position, end_before });
            from = batch.position;
        }
        Ok(cuts)
    }

    /// Where the log begins, by its first batch, past damage before it; `None` when it has no batch. A base offset that is not allowed counts
    /// if the second batch goes on where the first one ends; otherwise that of the second one does.
    ///
    /// # Errors
    /// `Io`.
    pub fn first_offset(&self, allowed: &OffsetRange) -> Result<Option<i64>> {
        let mut front = [0; PREALLOCATED];
        let len = self.log.fill_at(&mut front, 0)?;
        if front.iter().take(len).all(|byte| *byte == 0) {
            // Nothing was written into a preallocated file yet.
            return Ok(None);
        }
        let mut headers = self.headers(0);
        let first = match no_data_error(headers.next_header())? {
            Some(first) => first,
            None => {
                let Some(position) = self.log.valid_from(1, &self.limits)? else { return Ok(None) };
                headers = self.headers(position);
                no_data_error(headers.next_header())?.flatten()
            }
        };
        let Some(first) = first else { return Ok(None) };
        if allowed.contains(first.base_offset) {
            return Ok(Some(first.base_offset));
        }
        let second = no_data_error(headers.next_header())?.flatten();
        let is_damaged = second.filter(|second| first.last_offset.checked_add(1) != Some(second.base_offset));
        Ok(Some(is_damaged.map_or(first.base_offset, |second| second.base_offset)))
    }

    /// The header of the last whole batch; `None` when there is none.
    ///
    /// # Errors
    /// As `Headers::next_header`.
    pub fn last_batch(&self) -> Result<Option<BatchHeader>> {
        self.last_by(&|position| self.headers(position))
    }

    /// The same, without a look at what follows zeros: a preallocated file may have a GiB of them.
    ///
    /// # Errors
    /// As `last_batch`.
    pub fn last_batch_before_zeros(&self) -> Result<Option<BatchHeader>> {
        self.last_by(&|position| self.headers(position).knowing_zeros(0..self.len))
    }

    fn last_by<'a>(&'a self, headers: &impl Fn(u64) -> Headers<&'a dyn ReadAt>) -> Result<Option<BatchHeader>> {
        let found = from_last(self.offsets, |hint| {
            let Some(position) = position(hint) else { return Ok(None) };
            let is_valid = match self.valid_at(position) {
                // Bytes behind those that are lost tell as well.
                Err(error) if error.lost_bytes().is_some() => true,
                header => header?.is_some(),
            };
            Ok(is_valid.then(|| self.last_from(headers(position))).filter(is_final))
        })?;
        if let Some(found) = found {
            return found;
        }
        let mut few = headers(0);
        for _ in 0..FEW {
            if no_data_error(few.next_header())?.flatten().is_none() {
                return self.last_from(headers(0));
            }
        }
        // Without an index a valid batch near the end leads to the last one.
        let near = self.len.saturating_sub(SEARCHED);
        if near > 0
            && let Some(position) = self.log.valid_from(near, &self.limits)?
            && let Ok(Some(last)) = self.last_from(headers(position))
        {
            return Ok(Some(last));
        }
        self.last_from(headers(0))
    }

    fn last_from<'a>(&'a self, mut headers: Headers<&'a dyn ReadAt>) -> Result<Option<BatchHeader>> {
        let mut last = None;
        loop {
            match headers.next_header() {
                Ok(None) => return Ok(last),
                Ok(header) => last = header,
                Err(error) => headers = self.headers_behind(error)?,
            }
        }
    }

    /// The first batch that begins at `wanted` or behind it; a batch begins at `from`.
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
}

/// The first offset at or behind `wanted` in a batch. Where a wrapper of magic 0 and 1 begins is known to its inner messages only.
fn first_in(batch: &BatchHeader, wanted: i64) -> i64 {
    if batch.format < RecordFormat::V2 { wanted } else { wanted.max(batch.base_offset) }
}
