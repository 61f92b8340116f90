//! Plain bytes to literals and matches, for the formats of LZ4 and snappy alike.
//!
//! A table remembers where each group of bytes stood last. Three positions are looked at for every eight bytes loaded, then some are left out,
//! and more of them the longer nothing is found. Every other match begins where one ends: there a loop looks at that position alone.
//! pierrec's lz4 (Go) hashes six bytes too, and that is why it packs records smaller than liblz4.

mod source;

use std::hint::select_unpredictable;

use source::Source;

const SLOTS: usize = 1 << 14;
/// Positions are kept in 16 bits: there are no longer distances in LZ4, nor in chunks of snappy.
type Slots = [u16; SLOTS];

/// Bytes at the end that no match reaches into.
const TAIL: usize = 5;

/// How closely matches are looked for.
#[derive(Clone, Copy)]
pub(super) struct Search {
    /// Bytes that have to be equal for a match to be found: with fewer short matches are found, and fewer good ones. With two gaps at most 8.
    pub(super) hashed: u32,
    /// Positions from one of the three that are looked at to the next.
    pub(super) gap: usize,
    /// Positions from one look to the next while matches are found.
    pub(super) step: usize,
    /// One position more for so many bytes without a match, as a power of two.
    pub(super) patience: u32,
}

impl Search {
    /// For blocks of records of some hundred bytes, which repeat each other's names.
    pub(super) const CLOSE: Self = Self { hashed: 6, gap: 1, step: 5, patience: 5 };
}

/// There are no shorter matches.
pub(super) const LEAST: usize = 4;

/// Literals, then a match.
pub(super) struct Sequence<'a> {
    /// The literals and all that is behind them.
    pub(super) from: &'a [u8],
    /// Bytes of `from` that are literals.
    pub(super) literals: usize,
    /// The match.
    pub(super) found: Match,
}

/// Bytes that stand further in front too.
#[derive(Clone, Copy)]
pub(super) struct Match {
    /// How far back they lie.
    pub(super) offset: usize,
    /// `LEAST` bytes or more.
    pub(super) len: usize,
}

/// Takes what is found, in order.
pub(super) trait Elements {
    /// Literals, perhaps none, and a match.
    fn sequence(&mut self, sequence: &Sequence<'_>);
    /// A match where the one before ends.
    fn adjacent(&mut self, found: Match);
}

/// Finds matches; the table is made when the first data comes.
#[derive(Default)]
pub(super) struct Matcher(Option<Box<Slots>>);

impl Matcher {
    /// Gives all sequences of `plain` to `elements` and what is left behind them back. `search` is best known when this is compiled.
    #[inline(always)]
    pub(super) fn scan<'a>(&mut self, search: Search, plain: &'a [u8], elements: &mut impl Elements) -> &'a [u8] {
        let slots = self.0.get_or_insert_with(|| Box::new([0; SLOTS]));
        // Without what it remembers of other data the same bytes are packed the same way every time.
        slots.fill(0);
        let source = Source::new(plain);
        let (mut anchor, mut at) = (0, 1);
        while at < source.limit() {
            let Some((start, offset)) = look(slots, search, source, at) else {
                at += search.step + ((at + 2 - anchor) >> search.patience);
                continue;
            };
            let older = start - offset;
            let before = before(source, older, start, (start - anchor).min(older));
            let behind = match_len(source, older, start);
            let found = Match { offset, len: before + behind };
            elements.sequence(&Sequence { from: source.from(anchor), literals: start - before - anchor, found });
            anchor = start + behind;
            while let Some(found) = look_behind(slots, search, source, anchor) {
                elements.adjacent(found);
                anchor += found.len;
            }
            at = anchor + 1;
        }
        source.from(anchor)
    }
}

/// The match that begins at `at`, where the one before ends.
#[inline(always)]
fn look_behind(slots: &mut Slots, search: Search, source: Source<'_>, at: usize) -> Option<Match> {
    let word = source.load8(at).and(source.load8(at - 2))?;
    exchange(slots, search, word, at - 2);
    let offset = exchange(slots, search, word >> 16, at);
    matches(source, word >> 16, at, offset).then(|| Match { offset, len: match_len(source, at - offset, at) })
}

/// Looks at three positions from `at` on: the first where a match begins, and how far back it lies.
#[inline(always)]
fn look(slots: &mut Slots, search: Search, source: Source<'_>, at: usize) -> Option<(usize, usize)> {
    let word = source.load8(at)?;
    let (second_at, third_at, bits) = (at + search.gap, at + 2 * search.gap, 8 * search.gap);
    // The second is put in even if the first matches: waiting for it would cost more.
    let first = exchange(slots, search, word, at);
    let second = exchange(slots, search, word >> bits, second_at);
    if matches(source, word, at, first) {
        return Some((at, first));
    }
    if matches(source, word >> bits, second_at, second) {
        return Some((second_at, second));
    }
    let third = exchange(slots, search, word >> (2 * bits), third_at);
    matches(source, word >> (2 * bits), third_at, third).then_some((third_at, third))
}

/// True when the `LEAST` bytes at `at`, which `word` begins with, stand `offset` bytes before it too.
#[inline(always)]
fn matches(source: Source<'_>, word: u64, at: usize, offset: usize) -> bool {
    // A slot that nobody wrote, or one written 64 KiB ago, gives any distance: what stands there decides.
    let [a, b, c, d, ..] = word.to_le_bytes();
    offset != 0 && source.load4(at.wrapping_sub(offset)) == Some([a, b, c, d])
}

/// Writes down that the bytes of `word` stand at `at`; the distance to where they stood before, if they did.
#[inline(always)]
fn exchange(slots: &mut Slots, search: Search, word: u64, at: usize) -> usize {
    const PRIME: u64 = 0x9e37_79b1_85eb_ca87;
    let hash = (word << (u64::BITS - 8 * search.hashed)).wrapping_mul(PRIME) >> (u64::BITS - SLOTS.ilog2());
    let [a, b, ..] = at.to_le_bytes();
    let at = u16::from_le_bytes([a, b]);
    let slot = usize::try_from(hash).ok().and_then(|hash| slots.get_mut(hash));
    slot.map_or(0, |slot| usize::from(at.wrapping_sub(std::mem::replace(slot, at))))
}

/// Bytes of the match of which `LEAST` were compared. Most end within 16 bytes more, which takes no branch that could be guessed wrong.
#[inline(always)]
fn match_len(source: Source<'_>, older: usize, newer: usize) -> usize {
    let (older, newer) = (older + LEAST, newer + LEAST);
    if let (Some([old, old_next]), Some([new, new_next])) = (source.load16(older), source.load16(newer)) {
        let (first, next) = (old ^ new, old_next ^ new_next);
        if first | next != 0 {
            let (first_len, next_len) = (whole_bytes(first.trailing_zeros()), 8 + whole_bytes(next.trailing_zeros()));
            return LEAST + select_unpredictable(first != 0, first_len, next_len);
        }
    }
    LEAST + equal_long(source.from(older), source.before_tail(newer))
}

/// How many bytes before both positions are equal, `most` at most.
#[inline(always)]
fn before(source: Source<'_>, older: usize, newer: usize, most: usize) -> usize {
    if let (Some(a), Some(b)) = (source.load8(older.wrapping_sub(8)), source.load8(newer.wrapping_sub(8))) {
        let equal = whole_bytes((a ^ b).leading_zeros());
        if equal < 8 || most <= 8 {
            return equal.min(most);
        }
    }
    equal_before(source.from(0), older, newer, most)
}

/// How many bytes at the front are equal. Most matches end within 16 bytes, which takes no branch that could be guessed wrong.
#[inline(always)]
pub(super) fn equal(older: &[u8], newer: &[u8]) -> usize {
    if let (Some((old, older)), Some((new, newer))) = (older.split_first_chunk(), newer.split_first_chunk()) {
        let differing = u128::from_le_bytes(*old) ^ u128::from_le_bytes(*new);
        if differing != 0 {
            return whole_bytes(differing.trailing_zeros());
        }
        return size_of::<u128>() + equal_long(older, newer);
    }
    equal_long(older, newer)
}

fn equal_long(older: &[u8], newer: &[u8]) -> usize {
    let mut len = 0;
    let ((old, _), (new, left)) = (older.as_chunks::<8>(), newer.as_chunks::<8>());
    for (a, b) in old.iter().zip(new) {
        let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differing != 0 {
            return len + whole_bytes(differing.trailing_zeros());
        }
        len += 8;
    }
    len + older.get(len..).unwrap_or_default().iter().zip(left).take_while(|(a, b)| a == b).count()
}

/// How many bytes before both positions are equal, `most` at most.
#[inline(always)]
pub(super) fn equal_before(source: &[u8], older: usize, newer: usize, most: usize) -> usize {
    let word = |end: usize| source.get(..end).and_then(|bytes| bytes.last_chunk()).map(|bytes| u64::from_le_bytes(*bytes));
    if let (Some(a), Some(b)) = (word(older), word(newer)) {
        let equal = whole_bytes((a ^ b).leading_zeros());
        if equal < 8 || most <= 8 {
            return equal.min(most);
        }
    }
    let (a, b) = (source.get(..older).unwrap_or_default(), source.get(..newer).unwrap_or_default());
    a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(a, b)| a == b).count()
}

/// The eight bytes from here on; 0 where fewer are left.
#[inline(always)]
pub(super) fn load8(source: &[u8], at: usize) -> u64 {
    source.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// How many whole bytes so many bits are.
#[inline(always)]
pub(super) fn whole_bytes(bits: u32) -> usize {
    usize::try_from(bits / 8).unwrap_or(0)
}
