//! Which valid entry may follow an entry that claims to go on past the end of its source: the length of that entry may be damaged, or the
//! entry is torn and a value in it contains an entry of another log.

use std::ops::Range;

use super::entry::{base_offset, last_offset};
use super::search::EntrySearch;
use super::verifier::EntryChecksum;
use super::{Ending, Step, step};
use crate::limits::Limits;
use crate::model::Formats;

/// A torn entry at the front of some bytes.
pub(super) struct TornEntry<'a> {
    /// The bytes from the entry to the end of the source.
    pub front: &'a [u8],
    /// The position of the front.
    pub position: u64,
    pub formats: Formats,
    pub limits: Limits,
    pub ending: Ending,
    /// The last offset of the entries before it, if it is known.
    pub previous_last: Option<i64>,
}

/// Where the magic is, in all formats since Kafka 0.8.
const MAGIC_AT: usize = 16;
/// The most offsets from the first one of a segment to the last one.
pub(super) const MOST_DELTA: i64 = 0x7fff_ffff;

/// True if an offset comes after another one, and both may be in one segment. The bytes at a torn entry whose offset does not come after
/// those before it are no header.
fn is_near(before: i64, after: i64) -> bool {
    after > before && after.checked_sub(before).is_some_and(|delta| delta <= MOST_DELTA)
}

impl TornEntry<'_> {
    /// The first of the valid entries after the front that may follow the torn entry.
    ///
    /// A checksum covers neither the length nor the offset. If it matches the bytes up to a valid entry, that entry is the next one. Bytes that
    /// cannot begin an entry have no value that could contain one.
    pub(super) fn successor(&self, search: &EntrySearch) -> Option<Range<u64>> {
        if let Some(next) = self.proven(search) {
            return Some(next);
        }
        if !search.may_begin(self.front) {
            return search.found().next().cloned();
        }
        search.found().filter(|entry| self.may_precede(entry)).find(|entry| self.is_closed() || self.leads_on(entry)).cloned()
    }

    /// The valid entry at which the torn entry ends by its checksum.
    fn proven(&self, search: &EntrySearch) -> Option<Range<u64>> {
        let EntryChecksum { start, stored, mut running } = search.checksum_of(self.front)?;
        let mut at = start;
        for entry in search.found() {
            let end = usize::try_from(entry.start.saturating_sub(self.position)).ok()?;
            if end > at {
                running.add(self.front.get(at..end)?);
                at = end;
                if running.value() == stored {
                    return Some(entry.clone());
                }
            }
        }
        None
    }

    /// The entry in some bytes of the input.
    fn bytes_from(&self, start: u64) -> &[u8] {
        let start = usize::try_from(start.saturating_sub(self.position)).unwrap_or(usize::MAX);
        self.front.get(start..).unwrap_or_default()
    }

    /// True if no entry can be written after the front, so that a torn entry is an error anyway.
    fn is_closed(&self) -> bool {
        self.ending != Ending::Open
    }

    /// True if the offsets of a valid entry come after those of the torn entry, and before those of the next segment. Where they come between
    /// those of the entries before and that of the front, the front is not a header: an entry does not contain an earlier one.
    fn may_precede(&self, entry: &Range<u64>) -> bool {
        let found = self.bytes_from(entry.start);
        let (Some(first), Some(base)) = (base_offset(found), base_offset(self.front)) else { return self.formats.is_v07() };
        if self.formats.is_v07() {
            return true;
        }
        let magic = self.front.get(MAGIC_AT).map_or(-1, |magic| magic.cast_signed());
        let last = last_offset(self.front, magic).unwrap_or(base).max(base);
        let is_before_next = if let Ending::Segment { next, .. } = self.ending { first < next } else { true };
        let follows_previous = self.previous_last.is_some_and(|last| (!is_near(last, base) || first < base) && is_near(last, first));
        is_before_next && (follows_previous || first > last && is_near(base, first))
    }

    /// True if a valid entry ends where the source ends, or where a later entry begins. After an entry in a value there are the remaining
    /// bytes of the record.
    fn leads_on(&self, entry: &Range<u64>) -> bool {
        let (found, after) = (self.bytes_from(entry.start), self.bytes_from(entry.end));
        if after.iter().all(|byte| *byte == 0) {
            return true;
        }
        match step(after, self.formats, &self.limits) {
            Step::Error(_) => false,
            Step::Entry { .. } | Step::Incomplete { .. } if self.formats.is_v07() => true,
            Step::Entry { .. } | Step::Incomplete { .. } => match (base_offset(found), base_offset(after)) {
                (Some(first), Some(next)) => next > first && next.checked_sub(first).is_some_and(|delta| delta <= MOST_DELTA),
                // A few bytes of an entry that is being written.
                (_, None) => true,
                (None, _) => false,
            },
        }
    }
}
