//! Valid entries in a row, and whether the entries before and after damage support the offsets of those that were searched for.
//!
//! Where a length is wrong, the next valid entry is searched for. It may be the next one of the log, or lie in a value of the damaged one:
//! the bytes are the same. Only offsets tell: those of the log fit between the entries around them.

use std::collections::BTreeSet;
use std::ops::Range;

use super::place::EntryPosition;

/// Entries that follow each other, up to bytes without a trusted length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryRun {
    /// How many entries come before it in the input.
    pub entries_before: usize,
    /// How many entries it has.
    pub entries: usize,
    /// Position of the first one.
    pub position: u64,
    /// Bytes without an entry directly before it.
    pub lost: u64,
    /// Lowest offset.
    pub first_offset: i64,
    /// Highest offset.
    pub last_offset: i64,
    /// Lengths lead to it from the start of the input.
    pub leads_from_start: bool,
    /// Lengths lead from it to the end of the input.
    pub leads_to_end: bool,
    /// Its first entry is an uncompressed message of magic 0 or 1, which may be the end of a value or of a compressed set.
    pub is_of_messages: bool,
    /// Two of its entries follow each other without a missing offset.
    pub has_neighbours: bool,
    /// Where its last entry ends.
    end: u64,
    /// The last offset of its last entry.
    latest: i64,
}

/// Offsets that may be missing for each lost byte: compression makes records small.
const MOST_MISSING: u64 = 4;

/// The most offsets that a torn entry skips: bytes that are none have any number there.
const MOST_JUMP: i64 = 1 << 31;
/// Runs that are told apart: an input could be damaged every hundred bytes.
const MOST_RUNS: usize = 1 << 18;

/// The runs of an input.
#[derive(Clone, Debug, Default)]
pub struct EntryRuns {
    runs: Vec<EntryRun>,
    is_interrupted: bool,
    /// Indexes of entries that are not read.
    unread: Vec<usize>,
}

impl EntryRuns {
    /// The next entry follows a search.
    pub fn interrupt(&mut self) {
        self.is_interrupted = true;
    }

    /// An entry; `is_unread` if a reader that skips damage does not read it.
    pub fn add(&mut self, place: &EntryPosition, is_message: bool, is_unread: bool) {
        if is_unread {
            self.unread.push(self.runs.last().map_or(0, |run| run.indexes().end));
        }
        let (first, last) = (place.base_offset, place.last_offset);
        let end = place.position.saturating_add(place.size);
        let goes_on = !self.is_interrupted || self.runs.len() == MOST_RUNS;
        match self.runs.last_mut().filter(|_| goes_on) {
            Some(run) => {
                run.entries += 1;
                run.has_neighbours |= run.latest.checked_add(1) == Some(first);
                (run.end, run.latest) = (end, last);
                (run.first_offset, run.last_offset) = (run.first_offset.min(first), run.last_offset.max(last));
            }
            None => {
                let (before, lost_from) = self.runs.last().map_or((0, 0), |run| (run.entries_before + run.entries, run.end));
                self.runs.push(EntryRun {
                    entries_before: before,
                    entries: 1,
                    position: place.position,
                    lost: place.position.saturating_sub(lost_from),
                    first_offset: first,
                    last_offset: last,
                    leads_from_start: !self.is_interrupted && self.runs.is_empty(),
                    leads_to_end: false,
                    is_of_messages: is_message,
                    has_neighbours: false,
                    end,
                    latest: last,
                });
            }
        }
        self.is_interrupted = false;
    }

    /// The input ends here, or in a torn entry at this offset: the rest of a value is none that goes on.
    pub fn end(&mut self, torn: Option<i64>) {
        let is_interrupted = self.is_interrupted;
        if let Some(run) = self.runs.last_mut() {
            let goes_on = |offset: i64| run.latest < offset && offset.saturating_sub(run.latest) <= MOST_JUMP;
            run.leads_to_end = !is_interrupted && torn.is_none_or(goes_on);
        }
    }

    /// Of entries in order: all are read, and the entries before and after each run support its offsets.
    pub fn are_supported(&self) -> bool {
        let supports = |pair: &[EntryRun]| matches!(pair, [before, after] if after.goes_on_from(before));
        let is_last_supported = match self.runs.as_slice() {
            [.., before, last] => last.may_end_after(before),
            _ => true,
        };
        let is_first_supported = match self.runs.as_slice() {
            [first, second, ..] => first.leads_from_start || supports(&[*first, *second]),
            _ => true,
        };
        self.unread.is_empty() && is_last_supported && is_first_supported
    }

    /// Indexes of the entries that are not read, or whose offsets nothing supports. `settle` gives those of some entries that make a log.
    pub fn doubtful(&self, places: &[EntryPosition], settle: impl Fn(Vec<usize>) -> Vec<usize>) -> BTreeSet<usize> {
        let mut found: BTreeSet<usize> = self.unread.iter().copied().collect();
        if self.runs.len() > 1 {
            found.extend(self.unsupported(places, |indexes| settle(indexes.into_iter().filter(|index| !found.contains(index)).collect())));
        }
        found
    }

    fn unsupported(&self, places: &[EntryPosition], settle: impl Fn(Vec<usize>) -> Vec<usize>) -> Vec<usize> {
        let anchors = self.anchors();
        let runs_at = |at: &usize| self.runs.get(*at);
        let settled = settle(anchors.iter().filter_map(runs_at).flat_map(EntryRun::indexes).collect());
        let trusted: Vec<Trusted> = anchors.iter().filter_map(|at| Trusted::of(self.runs.get(*at)?, *at, places, &settled)).collect();
        let mut doubtful = Vec::new();
        let (Some(first), last) = (trusted.first().copied(), trusted.last().copied()) else { return doubtful };
        let mut after = first;
        for (at, run) in self.runs.iter().enumerate().take(first.at).rev() {
            let is_supported = is_near(run.last_offset, after.first_offset, after.position.saturating_sub(run.end));
            if run.check_offsets((None, Some(after)), places, is_supported, &mut doubtful) {
                after = Trusted::whole(run, at);
            }
        }
        let mut before = first;
        for (at, run) in self.runs.iter().enumerate().skip(first.at + 1) {
            let next = last.filter(|last| at < last.at);
            if last.is_some_and(|last| at == last.at) {
                before = last.unwrap_or(before);
            } else if next.is_some() {
                run.check_offsets((Some(before), next), places, true, &mut doubtful);
            } else {
                let is_supported = run.may_follow(before.last_offset, run.position.saturating_sub(before.end));
                if run.check_offsets((Some(before), None), places, is_supported, &mut doubtful) {
                    before = Trusted::whole(run, at);
                }
            }
        }
        doubtful
    }

    /// The runs that lengths alone lead to, from either end; if there is none, the one with most entries.
    fn anchors(&self) -> Vec<usize> {
        let is_anchor = |run: &EntryRun| run.leads_from_start || run.ends_log();
        let found: Vec<usize> = self.runs.iter().enumerate().filter(|(_, run)| is_anchor(run)).map(|(at, _)| at).collect();
        if !found.is_empty() {
            return found;
        }
        self.runs.iter().enumerate().max_by_key(|(_, run)| run.entries).map(|(at, _)| at).into_iter().collect()
    }
}

/// Offsets that others are compared with.
#[derive(Clone, Copy, Debug)]
struct Trusted {
    at: usize,
    position: u64,
    end: u64,
    first_offset: i64,
    last_offset: i64,
}

impl Trusted {
    /// A run of which only these entries make a log; `None` if there are none.
    fn of(run: &EntryRun, at: usize, places: &[EntryPosition], settled: &[usize]) -> Option<Self> {
        let own = || settled.iter().filter(|index| run.indexes().contains(*index)).filter_map(|index| places.get(*index));
        let first_offset = own().map(|place| place.base_offset).min()?;
        let last_offset = own().map(|place| place.last_offset).max()?;
        Some(Self { first_offset, last_offset, ..Self::whole(run, at) })
    }

    fn whole(run: &EntryRun, at: usize) -> Self {
        let EntryRun { position, end, first_offset, last_offset, .. } = *run;
        Self { at, position, end, first_offset, last_offset }
    }
}

impl EntryRun {
    fn indexes(&self) -> Range<usize> {
        self.entries_before..self.entries_before + self.entries
    }

    /// Adds the entries that do not fit between trusted offsets, or all of a run without support. True if all fit.
    fn check_offsets(
        &self,
        (before, after): (Option<Trusted>, Option<Trusted>),
        places: &[EntryPosition],
        is_supported: bool,
        doubtful: &mut Vec<usize>,
    ) -> bool {
        let fits = |index: &usize| {
            let Some(place) = places.get(*index) else { return false };
            before.is_none_or(|before| before.last_offset < place.base_offset)
                && after.is_none_or(|after| place.last_offset < after.first_offset)
        };
        let known = doubtful.len();
        doubtful.extend(self.indexes().filter(|index| !is_supported || !fits(index)));
        doubtful.len() == known
    }

    /// Whether its offsets go on where those of another run end, but for what may have been lost between them.
    fn goes_on_from(&self, before: &Self) -> bool {
        is_near(before.last_offset, self.first_offset, self.lost)
    }

    /// Whether it is the end of a log after another run.
    fn may_end_after(&self, before: &Self) -> bool {
        self.may_follow(before.last_offset, self.lost)
    }

    /// Whether it may be the end of a log with these offsets. Bytes follow each batch in a value, but not the last message.
    fn may_follow(&self, last_offset: i64, lost: u64) -> bool {
        self.ends_log() || is_near(last_offset, self.first_offset, lost)
    }

    fn ends_log(&self) -> bool {
        self.leads_to_end && (!self.is_of_messages || self.has_neighbours)
    }
}

/// Whether so many lost bytes may have held the offsets between two entries.
fn is_near(last_offset: i64, first_offset: i64, lost: u64) -> bool {
    let missing = first_offset
        .checked_sub(last_offset)
        .and_then(|distance| u64::try_from(distance).ok())
        .and_then(|distance| distance.checked_sub(1));
    missing.is_some_and(|missing| missing <= lost.saturating_mul(MOST_MISSING))
}
