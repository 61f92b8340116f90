//! Plain bytes to literals and matches.
//!
//! Two tables remember where groups of bytes stood: four bytes once, seven bytes the last two times. There are no chains to walk, so that every position
//! costs the same. What such a look misses is found again in three cheap ways: a match also grows back over the literals before it, some of them
//! may stand as far back as it does with others between, and where a match ends it is asked whether what follows stood somewhere behind the same
//! bytes too.

use super::block::Block;
use super::symbols::{self, MOST, WINDOW};
use crate::codec::matches::{equal, equal_before, load8, whole_bytes};

const SLOTS: usize = 1 << 14;
const SHORT: u32 = 4;
const LONG: u32 = 7;
/// Bytes at the end in which no match begins, since two positions are looked at in words of eight bytes.
const MARGIN: usize = 16;
/// One position is left out for every 64 bytes without a match.
const PATIENCE: u32 = 6;
/// With a short match as long as this the next position is not looked at.
const GOOD: usize = 32;
/// Bytes behind the beginning of a match where a further-reaching one begins; growing back finds what of them is equal.
const SKIPPED: usize = 2;
/// Bytes of a block. With fewer its codes would cost more than they save, with more they would fit worse.
pub(super) const BLOCK: usize = 64 << 10;
/// Positions from one that is written down inside a match to the next.
const STRIDE: usize = 2;
/// Nothing shorter is looked for: three bytes are cheaper as literals, unless they are near and their distance comes twice.
const LEAST: usize = 4;
/// The shortest matches lie no further back: they would take as many bits as their bytes, and readers more time.
const NEAR: usize = 2 << 10;
/// Bytes before a match in which others are looked for that stand as far back.
const BEFORE: usize = 8;

/// Finds matches. Positions are kept in 16 bits, of which a window needs 15.
pub(super) struct Matcher {
    short: Box<[u16; SLOTS]>,
    /// The last in the lower half, the one before it above.
    long: Box<[u32; SLOTS]>,
}

/// Equal bytes; none are found when `len` is below `LEAST`.
#[derive(Clone, Copy)]
struct Match {
    at: usize,
    len: usize,
    distance: usize,
    is_long: bool,
}

impl Default for Matcher {
    fn default() -> Self {
        Self { short: Box::new([0; SLOTS]), long: Box::new([0; SLOTS]) }
    }
}

impl Matcher {
    /// Forgets all: the same bytes are packed the same way every time.
    pub(super) fn clear(&mut self) {
        self.short.fill(0);
        self.long.fill(0);
    }

    /// Puts what is found from `start` on into `block`, and gives the position behind it: about `BLOCK` bytes on, or the end.
    pub(super) fn fill(&mut self, source: &[u8], start: usize, block: &mut Block) -> usize {
        let limit = source.len().saturating_sub(MARGIN);
        let stop = limit.min(start.saturating_add(BLOCK));
        let (mut anchor, mut at) = (start, start.max(1));
        while at < stop {
            let first = self.look(source, at, load8(source, at));
            if first.len < LEAST {
                at += 1 + ((at - anchor) >> PATIENCE);
                continue;
            }
            let (next, indexed) = self.best_of_two(source, first);
            let found = self.reaching_further(source, next, limit).grown_back(source, anchor);
            if let Some(before) = found.before(source, anchor) {
                block.put(source.get(anchor..before.at).unwrap_or_default(), before.len, before.distance);
                anchor = before.at + before.len;
            }
            block.put(source.get(anchor..found.at).unwrap_or_default(), found.len, found.distance);
            anchor = found.at + found.len;
            self.index(source, indexed, anchor.min(limit));
            at = anchor;
        }
        // The last step may have gone beyond the end.
        let end = if stop == limit { source.len() } else { at.min(source.len()) };
        block.count(source.get(anchor..end).unwrap_or_default());
        end
    }

    /// The longest match among those that the tables know for `word`, the bytes at `at`; writes down that they stand here.
    #[inline(always)]
    fn look(&mut self, source: &[u8], at: usize, word: u64) -> Match {
        let [low, high, ..] = at.to_le_bytes();
        let here = u16::from_le_bytes([low, high]);
        let short = slot(&mut self.short, word, SHORT).map_or(0, |slot| std::mem::replace(slot, here));
        let long = slot(&mut self.long, word, LONG).map_or(0, |slot| std::mem::replace(slot, *slot << 16 | u32::from(here)));
        let [last_low, last_high, before_low, before_high] = long.to_le_bytes();
        let last = Candidate::new(source, at, word, here.wrapping_sub(u16::from_le_bytes([last_low, last_high])));
        let before = Candidate::new(source, at, word, here.wrapping_sub(u16::from_le_bytes([before_low, before_high])));
        let best = Candidate::new(source, at, word, here.wrapping_sub(short)).or_longer(last).or_longer(before);
        let is_long = last.len >= LEAST;
        if best.len < size_of::<u64>() {
            let len = if best.len == LEAST && best.distance > NEAR { 0 } else { best.len };
            return Match { at, len, distance: best.distance, is_long };
        }
        let found = best.extended(source, at);
        if before.len == size_of::<u64>() && before.distance != best.distance {
            let other = before.extended(source, at);
            return if other.len > found.len { other } else { found };
        }
        found
    }

    /// This match or a longer one at the next position, and from where on positions are not written down.
    #[inline(always)]
    fn best_of_two(&mut self, source: &[u8], first: Match) -> (Match, usize) {
        let next = first.at + 1;
        if first.is_long || first.len >= GOOD {
            return (first, next);
        }
        let second = self.look(source, next, load8(source, next));
        (if second.len > first.len { second } else { first }, next + 1)
    }

    /// This match, or one that ends behind it.
    #[inline(always)]
    fn reaching_further(&mut self, source: &[u8], found: Match, limit: usize) -> Match {
        let (at, behind) = (found.at + SKIPPED, found.at + found.len);
        if behind >= limit {
            return found;
        }
        let [low, high, ..] = behind.to_le_bytes();
        let here = u16::from_le_bytes([low, high]);
        let [last_low, last_high, before_low, before_high] =
            slot(&mut self.long, load8(source, behind), LONG).map_or(0, |slot| *slot).to_le_bytes();
        for there in [[last_low, last_high], [before_low, before_high]] {
            let distance = usize::from(here.wrapping_sub(u16::from_le_bytes(there)));
            if distance.wrapping_sub(1) < WINDOW && distance <= at {
                let len = match_len(source, at - distance, at, at + MOST);
                if len > found.len {
                    return Match { at, len, distance, is_long: true };
                }
            }
        }
        found
    }

    /// Writes down the positions from `at` on up to `end`.
    #[inline(always)]
    fn index(&mut self, source: &[u8], mut at: usize, end: usize) {
        while at < end {
            let word = load8(source, at);
            let [low, high, ..] = at.to_le_bytes();
            let here = u16::from_le_bytes([low, high]);
            if let Some(slot) = slot(&mut self.short, word, SHORT) {
                *slot = here;
            }
            if let Some(slot) = slot(&mut self.long, word, LONG) {
                *slot = *slot << 16 | u32::from(here);
            }
            at += STRIDE;
        }
    }
}

impl Match {
    /// With the equal bytes before it, down to `anchor`.
    #[inline(always)]
    fn grown_back(self, source: &[u8], anchor: usize) -> Self {
        let older = self.at - self.distance;
        let most = (self.at - anchor).min(older).min(MOST - self.len);
        let more = if most == 0 { 0 } else { equal_before(source, older, self.at, most) };
        Self { at: self.at - more, len: self.len + more, ..self }
    }

    /// The first three or more literals from `anchor` on, among the last before this match, that stand as far back as it does. Records of one
    /// length are alike in the lengths at their ends, not in the times and offsets between.
    #[inline(always)]
    fn before(self, source: &[u8], anchor: usize) -> Option<Self> {
        let (literals, newer) = (self.at - anchor, self.at.wrapping_sub(BEFORE));
        if literals < symbols::LEAST || self.distance > NEAR || self.at < BEFORE + self.distance {
            return None;
        }
        let unequal = non_zero(load8(source, newer) ^ load8(source, newer - self.distance));
        let equal = HIGH & !unequal & (u64::MAX << (8 * BEFORE.saturating_sub(literals)));
        let three = equal & (equal >> 8) & (equal >> 16);
        if three == 0 {
            return None;
        }
        let skipped = whole_bytes(three.trailing_zeros());
        let len = whole_bytes((unequal >> (8 * skipped)).trailing_zeros()).min(BEFORE - skipped);
        Some(Self { at: newer + skipped, len, ..self })
    }
}

/// The highest bit of each byte.
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// The highest bit of each byte that is not 0.
#[inline(always)]
fn non_zero(word: u64) -> u64 {
    (((word & !HIGH) + !HIGH) | word) & HIGH
}

/// A place where equal bytes may stand: how many of the first eight are.
#[derive(Clone, Copy)]
struct Candidate {
    len: usize,
    distance: usize,
}

impl Candidate {
    /// A slot that nobody wrote, or one written 64 KiB ago, gives any distance: what stands there decides.
    #[inline(always)]
    fn new(source: &[u8], at: usize, word: u64, distance: u16) -> Self {
        let distance = usize::from(distance);
        let differing = load8(source, at.wrapping_sub(distance)) ^ word;
        let differing = if distance.wrapping_sub(1) < WINDOW { differing } else { 1 };
        Self { len: whole_bytes(differing.trailing_zeros()), distance }
    }

    #[inline(always)]
    fn or_longer(self, other: Self) -> Self {
        if other.len > self.len { other } else { self }
    }

    /// With all bytes that are equal, the first eight being so.
    #[inline(always)]
    fn extended(self, source: &[u8], at: usize) -> Match {
        let behind = at + self.len;
        let more = match_len(source, behind - self.distance, behind, at + MOST);
        Match { at, len: self.len + more, distance: self.distance, is_long: true }
    }
}

/// How many bytes from both positions on are equal, before `end`.
#[inline(always)]
fn match_len(source: &[u8], older: usize, newer: usize, end: usize) -> usize {
    let (Some(older), Some(newer)) = (source.get(older..), source.get(newer..source.len().min(end))) else { return 0 };
    equal(older, newer)
}

/// The slot for the first `bytes` bytes of a word.
#[inline(always)]
fn slot<T>(slots: &mut [T; SLOTS], word: u64, bytes: u32) -> Option<&mut T> {
    const PRIME: u64 = 0x9e37_79b1_85eb_ca87;
    let hash = (word << (u64::BITS - 8 * bytes)).wrapping_mul(PRIME) >> (u64::BITS - SLOTS.ilog2());
    usize::try_from(hash).ok().and_then(|hash| slots.get_mut(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISTANCE: usize = 20;

    /// What is found before a match at 40, 20 back, when the literals are those from `anchor` on and these of the eight bytes before it are equal.
    fn before(anchor: usize, equal: &[usize]) -> Option<(usize, usize, usize)> {
        let mut source: Vec<u8> = (0..=59).collect();
        for at in equal {
            source[at + 32] = source[at + 32 - DISTANCE];
        }
        let found = Match { at: 40, len: 10, distance: DISTANCE, is_long: true }.before(&source, anchor);
        found.map(|found| (found.at, found.len, found.distance))
    }

    #[test]
    fn three_literals_that_stand_as_far_back_as_the_match_behind_them_are_a_match() {
        assert_eq!(before(30, &[0, 1, 2]), Some((32, 3, DISTANCE)));
        assert_eq!(before(30, &[1, 3, 4, 5, 6]), Some((35, 4, DISTANCE)));
        assert_eq!(before(32, &[0, 1, 2, 4, 5, 6]), Some((32, 3, DISTANCE)));
        // A match of the greatest length does not grow back over what is equal.
        assert_eq!(before(30, &[0, 1, 2, 3, 4, 5, 6, 7]), Some((32, 8, DISTANCE)));
        assert_eq!(before(34, &[0, 1, 2, 3, 4]), Some((34, 3, DISTANCE)));
        for (anchor, equal) in [(30, [0, 1, 3, 4].as_slice()), (33, &[0, 1, 2]), (38, &[5, 6, 7]), (30, &[])] {
            assert_eq!(before(anchor, equal), None, "{anchor} {equal:?}");
        }
    }

    #[test]
    fn four_bytes_are_a_match_when_they_are_near() {
        for (distance, len) in [(100, 4), (NEAR, 4), (NEAR + 1, 0), (10_000, 0)] {
            let mut source = vec![0; distance + 40];
            source[10..15].copy_from_slice(b"abcde");
            source[10 + distance..15 + distance].copy_from_slice(b"abcdf");
            let mut matcher = Matcher::default();
            for (at, expected) in [(10, 0), (10 + distance, len)] {
                assert_eq!(matcher.look(&source, at, load8(&source, at)).len, expected, "{distance}");
            }
        }
    }
}
