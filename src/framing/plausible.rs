//! Finds the next intact entry behind damage: a header that makes sense and a checksum that matches.
//!
//! The checksum work on candidates is bounded by a multiple of the bytes searched, since hostile input could offer a candidate of
//! 100 MB at every byte.

use crate::error::Error;
use crate::wire::as_u64;

/// What framing must be told to judge entries: it does not know what is in them.
pub trait Judge: Send {
    /// Why a whole entry cannot be believed; `None` when it can, or when nobody can tell.
    fn damage_of(&self, entry: &[u8], magic: i8) -> Option<Error>;
    /// True when a whole entry is certainly one: its header parses and its checksum matches.
    fn is_intact(&self, entry: &[u8]) -> bool;
    /// What the bytes at `front` claim to be.
    fn claim(&self, front: &[u8]) -> Claim;
    /// The magic byte to search for.
    fn needle(&self) -> u8;
}

/// What some bytes claim to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// No entry.
    No,
    /// An entry that goes on past the bytes at hand, as far as one can tell.
    Cut,
    /// An entry of this many bytes.
    Whole(usize),
}

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// An intact entry starts here.
    At(usize),
    /// None starts before this position; from there on, more bytes are needed to tell.
    NotBefore(usize),
}

/// Checksum work that a search may still do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    searched: u64,
    checksummed: u64,
}

/// Checksummed bytes per searched byte; eight overlapping candidates are more than chance or honest nesting gives.
const MOST_CHECKSUMMED: u64 = 8;
/// Where the magic stands, counted from the start of an entry.
const MAGIC_AT: usize = 16;

impl Effort {
    fn allows(&self, len: usize) -> bool {
        self.checksummed.saturating_add(as_u64(len)) <= self.searched.saturating_mul(MOST_CHECKSUMMED).max(1 << 20)
    }
}

/// Searches `bytes` from `start` on. `at_end` says that no bytes will follow.
pub fn find(bytes: &[u8], start: usize, at_end: bool, judge: &dyn Judge, effort: &mut Effort) -> Found {
    let mut from = start;
    loop {
        let Some(tail) = bytes.get(from.saturating_add(MAGIC_AT)..) else { return Found::NotBefore(from.min(bytes.len())) };
        let Some(skip) = memchr::memchr(judge.needle(), tail) else {
            return Found::NotBefore(if at_end { bytes.len() } else { bytes.len().saturating_sub(MAGIC_AT).max(start) });
        };
        effort.searched = effort.searched.saturating_add(as_u64(skip + 1));
        let candidate = from + skip;
        let front = bytes.get(candidate..).unwrap_or_default();
        match judge.claim(front) {
            Claim::Whole(len) if effort.allows(len) => {
                if judge.is_intact(front.get(..len).unwrap_or_default()) {
                    // What was found is progress, not effort: many short gaps must not use up what one long gap may cost.
                    return Found::At(candidate);
                }
                effort.checksummed = effort.checksummed.saturating_add(as_u64(len));
            }
            Claim::Cut if !at_end => return Found::NotBefore(candidate),
            Claim::Cut | Claim::Whole(_) | Claim::No => {}
        }
        from = candidate + 1;
    }
}
