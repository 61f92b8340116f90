//! Whether the length of a broken entry is trusted. Nothing inside of an entry is searched when its length leads on to another entry or to
//! the end: what looks like an entry there is a value.

use std::ops::Range;

use super::super::entry::{base_offset, claimed_len};
use super::super::successor::MOST_DELTA;
use super::super::{LOG_OVERHEAD, Step, step};
use super::{FrameEvent, Runs};
use crate::error::{Error, Result};
use crate::wire::as_u64;

/// Broken entries that may follow each other before the valid one that proves the length of the first.
const MOST_HOPS: usize = 16;
/// Bytes of them, which are held in memory.
const MOST_HELD: usize = 8 << 20;
/// The magic of an entry that has none.
const UNKNOWN: i8 = -1;

impl Runs {
    /// Bytes that begin no entry. Where only the magic is wrong, the length may still lead on.
    pub(super) fn step_over_unreadable(&mut self, error: Error, start: u64) -> Result<FrameEvent> {
        let is_other_format = self.formats.is_v07() || !matches!(error.kind(), crate::error::ErrorKind::Magic { .. });
        let len = claimed_len(self.source.front(), &self.limits).filter(|len| !is_other_format && *len <= MOST_HELD);
        let Some(len) = len else { return self.step_over(error, start) };
        while self.source.front().len() < len {
            if !self.source.fill(len)? {
                return self.step_over(error, start);
            }
        }
        self.step_over_broken(error, len, UNKNOWN)
    }

    /// A broken entry. Its length is trusted when it leads on to a valid entry or to the end, and no valid entry contradicts it.
    pub(super) fn step_over_broken(&mut self, error: Error, len: usize, magic: i8) -> Result<FrameEvent> {
        let start = self.source.position();
        if error.is_refused_format() {
            return Ok(self.leave_out(error, len));
        }
        let end = start.saturating_add(as_u64(len));
        let last = self.valid_before(end)?.map(|(_, last)| last);
        if last.as_ref().is_some_and(|last| last.end > end) || !self.leads_on(len)? {
            return self.step_over(error, start);
        }
        let Some(last) = last else { return Ok(self.leave_out(error, len)) };
        let is_swallowed = last.end == end && self.is_swallowed(&last, magic);
        if is_swallowed || self.ends_in_zeros(&last, end) { self.step_over(error, start) } else { Ok(self.leave_out(error, len)) }
    }

    /// True if the length of the broken entry at the front reaches into the zeros after the log, over valid entries that may follow it and that end
    /// where the zeros begin. Such entries are not a value of the broken entry: the record around a value ends in a single zero, its header count.
    fn ends_in_zeros(&self, last: &Range<u64>, end: u64) -> bool {
        let at = |position: u64| usize::try_from(position.saturating_sub(self.source.position())).unwrap_or(usize::MAX);
        let front = self.source.front();
        let is_zero = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
        let (base, first) = (base_offset(front), front.get(at(self.start_of_run(last))..).and_then(base_offset));
        let follows =
            base.zip(first).is_some_and(|(base, first)| first > base && first.checked_sub(base).is_some_and(|by| by <= MOST_DELTA));
        end.saturating_sub(last.end) > 1
            && (self.formats.is_v07() || follows)
            && self.source.is_at_end()
            && is_zero(front.get(at(last.end)..))
    }

    /// Whether an entry or the end follows the broken entry of this length. Other broken entries may come before a valid one.
    fn leads_on(&mut self, len: usize) -> Result<bool> {
        let (mut at, mut hops) = (len, 0);
        loop {
            let next = self.source.front().get(at..).unwrap_or_default();
            let ends = self.source.is_at_end();
            let broken = match step(next, self.formats, &self.limits) {
                Step::Entry { len: entry, magic } => {
                    if self.damage_at(at, entry, magic).is_none_or(|error| error.is_refused_format()) {
                        return Ok(true);
                    }
                    entry
                }
                Step::Incomplete { .. } if ends => return Ok(next.is_empty() || hops == 0 && self.may_be_torn(next)),
                Step::Incomplete { needed } => {
                    if hops > 0 && needed > MOST_HELD {
                        return Ok(false);
                    }
                    self.source.fill(at.saturating_add(needed))?;
                    continue;
                }
                Step::Error(_) => return Ok(ends && next.iter().all(|byte| *byte == 0)),
            };
            at = at.saturating_add(broken);
            hops += 1;
            if hops > MOST_HOPS || at.saturating_sub(len) > MOST_HELD {
                return Ok(false);
            }
        }
    }

    /// Whether the last bytes of the source may be a torn entry after the broken one at the front, and not bytes in the middle of an entry.
    fn may_be_torn(&self, last: &[u8]) -> bool {
        let (Some(base), Some(next)) = (base_offset(self.source.front()), base_offset(last)) else { return true };
        self.formats.is_v07() || next > base && next.checked_sub(base).is_some_and(|delta| delta <= MOST_DELTA)
    }

    /// Whether the valid entry that ends where the broken entry at the front claims to end is one of the log: no checksum covers a length, and
    /// the broken entry is valid if it ends where the first of the entries starts that follow each other up to that end. Otherwise they are
    /// the end of a value.
    fn is_swallowed(&self, last: &Range<u64>, magic: i8) -> bool {
        const SIZE: Range<usize> = 8..LOG_OVERHEAD;
        if self.formats.is_v07() || magic == UNKNOWN {
            return false;
        }
        let len = usize::try_from(self.start_of_run(last).saturating_sub(self.source.position())).unwrap_or(usize::MAX);
        let Some(mut shorter) = self.source.front().get(..len).map(<[u8]>::to_vec) else { return false };
        let size = len.checked_sub(LOG_OVERHEAD).and_then(|size| i32::try_from(size).ok());
        let Some((field, size)) = shorter.get_mut(SIZE).zip(size) else { return false };
        field.copy_from_slice(&size.to_be_bytes());
        self.search.as_ref().is_some_and(|search| search.has_valid(&shorter))
    }

    /// Where the first of the valid entries starts that directly follow each other up to this one.
    fn start_of_run(&self, last: &Range<u64>) -> u64 {
        let mut start = last.start;
        for entry in self.search.iter().flat_map(|search| search.found().rev()) {
            if entry.end == start {
                start = entry.start;
            }
        }
        start
    }
}
