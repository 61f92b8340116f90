//! Where a log begins and ends: its first offset, its last batch and its first valid entry.

use super::index_search::{from_last, position};
use super::lookup::{Lookup, is_final, no_data_error};
use super::{BatchHeaders, ReadAt};
use crate::decode::{ChecksumVerifier, Checksums, OffsetRange};
use crate::error::Result;
use crate::framing::{Ending, FrameEvent, Runs, Source};
use crate::limits::Limits;
use crate::model::{BatchHeader, Formats};

/// Bytes that are zeros before a preallocated file without a batch.
const PREALLOCATED: usize = 64;

/// Batches of a log that are walked before a valid one near its end is searched for.
const FEW: usize = 64;
/// Batches at the beginning of a log whose base offsets may all be damaged.
const FEW_DAMAGED: usize = 4;
/// Bytes at the end of a log without an index in which a valid batch is searched for.
const SEARCHED: u64 = 1 << 20;

/// Bytes in which a valid entry is searched for at a time: the first one is near, as a rule.
const AT_A_TIME: usize = 64 << 10;

/// Where the first valid entry of a source begins; `None` when it has none.
///
/// # Errors
/// `Io`, `Interrupted`.
pub fn first_valid_entry(source: Source, limits: &Limits) -> Result<Option<u64>> {
    let verifier = ChecksumVerifier { formats: Formats::Every, limits: *limits, checksums: Checksums::All };
    let mut runs = Runs::new(source, *limits, AT_A_TIME).of(verifier.formats).with_recovery(Box::new(verifier));
    while let Some(piece) = runs.next_piece()? {
        if let FrameEvent::Run(run) = piece {
            return Ok(Some(run.position));
        }
    }
    Ok(None)
}

impl Lookup<'_> {
    /// Return the offset at which the log begins, by its first batch after any damage; `None` without a batch, and if a single batch after
    /// damage has an offset that is not allowed. An offset of the first batch that is not allowed is valid if the second batch continues at
    /// its end, or is later and not allowed either (compaction leaves gaps). Otherwise it is damaged: return the first allowed offset of the
    /// next batches, or that of the second batch.
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
        let known = no_data_error(headers.next_header())?;
        let is_after_damage = known.is_none();
        let first = match known {
            Some(first) => first,
            None => {
                let Some(position) = self.log.valid_from(1, &self.limits)? else { return Ok(None) };
                headers = self.headers(position);
                no_data_error(headers.next_header())?.flatten()
            }
        };
        let Some(first) = first else { return Ok(None) };
        if allowed.contains(first.base_offset) {
            // Nothing bounds the last segment: there the next batch shows a damaged offset that is too high.
            let end = first.position.saturating_add(first.size);
            let is_too_high = allowed.end.is_none() && !self.offsets_increase_at(end, first.base_offset)?;
            let second = if is_too_high { no_data_error(headers.next_header())?.flatten() } else { None };
            let lower = second.map(|second| second.base_offset).filter(|offset| allowed.contains(*offset));
            return Ok(Some(lower.map_or(first.base_offset, |offset| first.base_offset.min(offset))));
        }
        let Some(second) = no_data_error(headers.next_header())?.flatten() else {
            return Ok(Some(first.base_offset).filter(|_| !is_after_damage));
        };
        let is_near = first.last_offset.checked_add(1) == Some(second.base_offset);
        if is_near || (first.last_offset < second.base_offset && !allowed.contains(second.base_offset)) {
            return Ok(Some(first.base_offset));
        }
        let mut next = Some(second);
        for _ in 0..FEW_DAMAGED {
            match next {
                Some(header) if allowed.contains(header.base_offset) => return Ok(Some(header.base_offset)),
                Some(_) => next = no_data_error(headers.next_header())?.flatten(),
                None => break,
            }
        }
        Ok(Some(second.base_offset))
    }

    /// The header of the last whole batch, however the log ends after it; `None` when there is none.
    ///
    /// # Errors
    /// As `BatchHeaders::next_header`.
    pub fn last_batch(&self) -> Result<Option<BatchHeader>> {
        self.last_by(&|position| self.headers(position).before(Ending::Open))
    }

    /// The same, without a look at what follows zeros: a preallocated file may have a GiB of them.
    ///
    /// # Errors
    /// As `last_batch`.
    pub fn last_batch_before_zeros(&self) -> Result<Option<BatchHeader>> {
        self.last_by(&|position| self.headers(position).before(Ending::Open).knowing_zeros(0..self.len))
    }

    fn last_by<'a>(&'a self, headers: &impl Fn(u64) -> BatchHeaders<&'a dyn ReadAt>) -> Result<Option<BatchHeader>> {
        let found = from_last(self.offsets, |hint| {
            let Some(position) = position(hint) else { return Ok(None) };
            let is_valid = match self.valid_at(position) {
                // Bytes after the lost bytes count as well.
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

    fn last_from<'a>(&'a self, mut headers: BatchHeaders<&'a dyn ReadAt>) -> Result<Option<BatchHeader>> {
        let mut last = None;
        loop {
            match headers.next_header() {
                Ok(None) => return Ok(last),
                Ok(header) => last = header,
                Err(error) => headers = self.headers_after(error)?,
            }
        }
    }
}
