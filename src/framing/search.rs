//! Finds valid entries after damage: a header that makes sense and a checksum that matches.
//!
//! Every byte is looked at once, however many claims overlap there: what was found ahead of the front is remembered. The checksum work
//! on what turns out to be no entry is bounded by a multiple of the input, since hostile bytes can claim 100 MB at every position.

use std::collections::VecDeque;
use std::ops::Range;

use super::source::Source;
use super::verifier::{Claim, EntryChecksum, Verifier};
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt::Interrupt;
use crate::wire::as_u64;

/// What is known of the bytes at the front of a source and after it. Positions are those of the input.
pub struct EntrySearch {
    verifier: Box<dyn Verifier>,
    interrupt: Interrupt,
    /// Valid entries ahead of the front, none inside of another.
    found: VecDeque<Range<u64>>,
    /// Every entry that starts before it and ends at hand is in `found`.
    frontier: u64,
    /// The entries that were judged broken last.
    broken: VecDeque<(Range<u64>, Error)>,
    /// Where an entry starts whose checksum matches and which is not at hand yet.
    vouched: Option<u64>,
    effort: Effort,
}

/// How a step of the search ended.
enum Advance {
    Found,
    /// More bytes than are at hand are needed to go on.
    Starved,
    /// An entry at the frontier claims so many bytes that its checksum is compared before they are kept.
    Far(usize, Box<EntryChecksum>),
    Ended,
}

/// Checksum work on what was no valid entry.
#[derive(Debug, Default)]
struct Effort {
    start: u64,
    /// Position up to which the input is known to go.
    reach: u64,
    spent: u64,
    /// From the first to the last byte of what was left unsearched.
    unsearched: Option<Range<u64>>,
}

/// Broken entries that are remembered: as many as may follow each other before the length of the first is trusted, and more.
const MOST_BROKEN: usize = 32;
/// Bytes that may be checksummed in vain for each byte of the input. Valid entries are checksummed at most twice: eight in all.
const MOST_IN_VAIN: u64 = 6;
/// Of an input of a few bytes more is allowed.
const FREE: u64 = 64 << 10;
/// Bytes that are scanned before the caller is asked whether to go on.
const STRETCH: usize = 4 << 20;
/// From here on a candidate is so far off that the caller is asked before it is looked at.
const FAR: usize = 1 << 20;
/// Bytes of an entry that are kept before its checksum is compared.
const MOST_HELD: usize = 4 << 20;
/// Bytes that are read at a time to compare the checksum of a larger one.
const AHEAD: usize = 256 << 10;
/// Candidates that are looked at before the caller is asked.
const MANY: u32 = 4096;

impl EntrySearch {
    /// Nothing is known yet of a source whose front is at `start`.
    pub fn new(verifier: Box<dyn Verifier>, start: u64) -> Self {
        let effort = Effort { start, reach: start, ..Effort::default() };
        Self {
            verifier,
            interrupt: Interrupt::default(),
            found: VecDeque::new(),
            frontier: start,
            broken: VecDeque::new(),
            vouched: None,
            effort,
        }
    }

    /// Asked now and then while a search goes on.
    pub fn with_interrupt(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    /// Why the entry at `position` cannot be trusted; `None` when it can.
    pub fn damage_of(&mut self, position: u64, entry: &[u8], magic: i8) -> Option<Error> {
        let place = position..position.saturating_add(as_u64(entry.len()));
        if self.verifier.reads(magic) && self.is_known(&place) {
            return None;
        }
        if let Some((_, error)) = self.broken.iter().find(|(broken, _)| *broken == place) {
            return Some(error.clone());
        }
        if !self.effort.allows(&place) {
            return Some(ErrorKind::Unsearched.into());
        }
        let error = self.verifier.damage_of(entry, magic)?;
        self.effort.spend(entry.len());
        if self.broken.len() == MOST_BROKEN {
            self.broken.pop_front();
        }
        self.broken.push_back((place, error.clone()));
        Some(error)
    }

    /// The valid entries after the front that start before `end`: the first one, and the last one, which alone can go on past `end`.
    ///
    /// # Errors
    /// `Io`, `Interrupted`.
    pub fn within(&mut self, source: &mut Source, end: u64, target: usize) -> Result<Option<(Range<u64>, Range<u64>)>> {
        self.begin(source.position());
        loop {
            match self.advance(source, end)? {
                Advance::Found => {}
                Advance::Starved => more(source, target)?,
                Advance::Far(len, checksum) => self.look_ahead(source, len, *checksum)?,
                Advance::Ended => break,
            }
        }
        let before = self.found.partition_point(|entry| entry.start < end);
        let first = self.found.front().filter(|_| before > 0);
        Ok(first.cloned().zip(before.checked_sub(1).and_then(|last| self.found.get(last)).cloned()))
    }

    /// The valid entries that are known, in order.
    pub fn found(&self) -> impl DoubleEndedIterator<Item = &Range<u64>> {
        self.found.iter()
    }

    /// Drops the bytes before the next valid entry after the front, or everything when there is none.
    ///
    /// # Errors
    /// `Io`, `Interrupted`.
    pub fn skip(&mut self, source: &mut Source, target: usize) -> Result<()> {
        self.begin(source.position());
        while self.found.is_empty() {
            match self.advance(source, u64::MAX)? {
                Advance::Found => {}
                Advance::Starved => {
                    source.discard_to(self.frontier);
                    more(source, target)?;
                }
                Advance::Far(len, checksum) => self.look_ahead(source, len, *checksum)?,
                Advance::Ended => break,
            }
        }
        source.discard_to(self.found.front().map_or(u64::MAX, |next| next.start));
        Ok(())
    }

    /// The first unsearched range, reported once.
    pub fn take_unsearched(&mut self) -> Option<Range<u64>> {
        self.effort.unsearched.take()
    }

    /// Forgets what lies at the front or before it.
    fn begin(&mut self, front: u64) {
        while self.found.front().is_some_and(|entry| entry.start <= front) {
            self.found.pop_front();
        }
        self.frontier = self.frontier.max(front.saturating_add(1));
    }

    /// Whether the checksum of an entry matches.
    pub fn has_valid(&self, entry: &[u8]) -> bool {
        self.verifier.is_valid(entry)
    }

    /// The checksum of the entry that these bytes claim to begin.
    pub fn checksum_of(&self, front: &[u8]) -> Option<EntryChecksum> {
        self.verifier.checksum_of(front)
    }

    /// False if these bytes cannot begin an entry.
    pub fn may_begin(&self, front: &[u8]) -> bool {
        self.verifier.claim(front) != Claim::No
    }

    fn is_known(&self, entry: &Range<u64>) -> bool {
        let at = self.found.partition_point(|found| found.start < entry.start);
        self.found.get(at) == Some(entry)
    }

    /// Moves the frontier past the next valid entry that starts before `end`, or else to `end`.
    fn advance(&mut self, source: &Source, end: u64) -> Result<Advance> {
        let (bytes, at_end, position) = (source.front(), source.is_at_end(), source.position());
        let mut candidates = 0_u32;
        while self.frontier < end {
            let from = usize::try_from(self.frontier.saturating_sub(position)).unwrap_or(usize::MAX);
            let Some(candidate) = self.next_candidate(bytes, from)? else {
                let unseen = if at_end { 0 } else { self.verifier.reach() };
                let seen = as_u64(bytes.len().saturating_sub(unseen));
                self.frontier = self.frontier.max(position.saturating_add(seen));
                return Ok(if at_end { Advance::Ended } else { Advance::Starved });
            };
            self.frontier = position.saturating_add(as_u64(candidate));
            if self.frontier >= end {
                break;
            }
            candidates = candidates.wrapping_add(1);
            if candidates.is_multiple_of(MANY) {
                self.interrupt.ensure_wanted()?;
            }
            let front = bytes.get(candidate..).unwrap_or_default();
            match self.verifier.claim(front) {
                Claim::Cut if !at_end => return Ok(Advance::Starved),
                Claim::Long(len) if !at_end => {
                    let is_far = len > MOST_HELD && self.vouched != Some(self.frontier) && source.looks_ahead();
                    let checksum = if is_far { self.verifier.checksum_of(front) } else { None };
                    return Ok(checksum.map_or(Advance::Starved, |checksum| Advance::Far(len, Box::new(checksum))));
                }
                Claim::Whole(len) if self.is_valid(front.get(..len).unwrap_or_default())? => {
                    let entry = self.frontier..self.frontier.saturating_add(as_u64(len));
                    // What is inside of a valid entry is its own affair.
                    self.frontier = entry.end;
                    self.found.push_back(entry);
                    return Ok(Advance::Found);
                }
                _ => self.frontier = self.frontier.saturating_add(1),
            }
        }
        Ok(Advance::Ended)
    }

    /// Compares the checksum of the entry that may start at the frontier, and keeps none of its bytes: data often looks like the header of a
    /// large entry.
    fn look_ahead(&mut self, source: &mut Source, len: usize, mut checksum: EntryChecksum) -> Result<()> {
        let entry = self.frontier..self.frontier.saturating_add(as_u64(len));
        let mut storage = vec![0; AHEAD];
        let is_whole = source.read_ahead(storage.get_mut(..1).unwrap_or_default(), entry.end.saturating_sub(1))? > 0;
        if is_whole && self.effort.allows(&entry) {
            let mut at = entry.start.saturating_add(as_u64(checksum.start));
            while at < entry.end {
                self.interrupt.ensure_wanted()?;
                let left = usize::try_from(entry.end.saturating_sub(at)).unwrap_or(usize::MAX).min(AHEAD);
                let read = source.read_ahead(storage.get_mut(..left).unwrap_or_default(), at)?;
                if read == 0 {
                    break;
                }
                checksum.running.add(storage.get(..read).unwrap_or_default());
                at = at.saturating_add(as_u64(read));
            }
            if at == entry.end && checksum.running.value() == checksum.stored {
                self.vouched = Some(entry.start);
                return Ok(());
            }
            self.effort.spend(len);
        }
        self.frontier = self.frontier.saturating_add(1);
        Ok(())
    }

    /// Where an entry may start, from `from` on.
    fn next_candidate(&self, bytes: &[u8], mut from: usize) -> Result<Option<usize>> {
        let reach = self.verifier.reach();
        loop {
            let rest = bytes.get(from..).unwrap_or_default();
            // A candidate in the last bytes alone belongs to the next stretch too.
            let stretch = rest.get(..STRETCH.saturating_add(reach)).unwrap_or(rest);
            if let Some(skip) = self.verifier.next(stretch) {
                if skip > FAR {
                    self.interrupt.ensure_wanted()?;
                }
                return Ok(Some(from.saturating_add(skip)));
            }
            if stretch.len() == rest.len() {
                return Ok(None);
            }
            self.interrupt.ensure_wanted()?;
            from = from.saturating_add(STRETCH);
        }
    }

    /// Whether the entry at the frontier is valid.
    fn is_valid(&mut self, entry: &[u8]) -> Result<bool> {
        if !self.effort.allows(&(self.frontier..self.frontier.saturating_add(as_u64(entry.len())))) {
            return Ok(false);
        }
        self.interrupt.ensure_wanted()?;
        let is_valid = self.verifier.is_valid(entry);
        if !is_valid {
            self.effort.spend(entry.len());
        }
        Ok(is_valid)
    }
}

fn more(source: &mut Source, target: usize) -> Result<()> {
    let have = source.front().len();
    source.fill(have.saturating_mul(2).max(target)).map(|_| ())
}

impl Effort {
    /// Whether an entry may be checksummed; remembers it as unsearched when not.
    fn allows(&mut self, entry: &Range<u64>) -> bool {
        self.reach = self.reach.max(entry.end);
        let allowed = self.reach.saturating_sub(self.start).saturating_mul(MOST_IN_VAIN).max(FREE);
        let is_allowed = self.spent.saturating_add(entry.end.saturating_sub(entry.start)) <= allowed;
        if !is_allowed {
            let known = self.unsearched.get_or_insert(entry.clone());
            *known = known.start.min(entry.start)..known.end.max(entry.end);
        }
        is_allowed
    }

    fn spend(&mut self, len: usize) {
        self.spent = self.spent.saturating_add(as_u64(len));
    }
}
