//! Plain bytes to literals and matches.
//!
//! A table remembers where each group of bytes stood last. Three positions are looked at for every eight bytes loaded, then a byte is left out, and
//! more of them the longer nothing is found. pierrec's lz4 (Go) hashes six bytes too, and that is why it packs records smaller than liblz4.

const SLOTS: usize = 1 << 14;
/// Positions are kept in 16 bits: LZ4 has no longer distances.
type Slots = [u16; SLOTS];

/// Bytes that have to be equal for a match to be found: with four more short matches are found, and fewer good ones.
const HASHED: u32 = 6;
/// Bytes at the end in which no match begins: LZ4 wants 12, and three positions are looked at.
const MARGIN: usize = 16;
/// Bytes at the end that no match reaches into.
const TAIL: usize = 5;
/// Positions from one look to the next while matches are found.
const STEP: usize = 4;
/// One position more for every 32 bytes without a match.
const PATIENCE: u32 = 5;
/// LZ4 has no shorter matches.
pub(super) const LEAST: usize = 4;

/// Literals, then a match.
pub(super) struct Sequence<'a> {
    /// The literals and all that is behind them.
    pub(super) from: &'a [u8],
    /// Bytes of `from` that are literals.
    pub(super) literals: usize,
    /// How far back the match lies.
    pub(super) offset: usize,
    /// Bytes of the match, `LEAST` or more.
    pub(super) len: usize,
}

/// Finds matches; the table is made when the first data comes.
#[derive(Default)]
pub(super) struct Matcher(Option<Box<Slots>>);

impl Matcher {
    /// Gives all sequences of `source` to `put` and what is left behind them back.
    #[inline(always)]
    pub(super) fn scan<'a>(&mut self, source: &'a [u8], mut put: impl FnMut(Sequence<'_>)) -> &'a [u8] {
        let slots = self.0.get_or_insert_with(|| Box::new([0; SLOTS]));
        // Without what it remembers of other data the same bytes are packed the same way every time.
        slots.fill(0);
        let limit = source.len().saturating_sub(MARGIN);
        let end = source.len().saturating_sub(TAIL);
        let (mut anchor, mut at) = (0, 1);
        while at < limit {
            let Some((start, offset)) = look(slots, source, at) else {
                at += STEP + ((at + 2 - anchor) >> PATIENCE);
                continue;
            };
            let older = start - offset;
            let before = equal_before(source, older, start, (start - anchor).min(older));
            let len = before + LEAST + equal(source, older + LEAST, start + LEAST, end);
            let literals = start - before - anchor;
            put(Sequence { from: source.get(anchor..).unwrap_or_default(), literals, offset, len });
            anchor += literals + len;
            at = anchor;
            if at < limit {
                let word = load8(source, at - 2);
                exchange(slots, word, at - 2);
                exchange(slots, word >> 8, at - 1);
            }
        }
        source.get(anchor..).unwrap_or_default()
    }
}

/// Looks at three positions from `at` on: the first where a match begins, and how far back it lies.
#[inline(always)]
fn look(slots: &mut Slots, source: &[u8], at: usize) -> Option<(usize, usize)> {
    let word = load8(source, at);
    // The second is put in even if the first matches: waiting for it would cost more.
    let first = exchange(slots, word, at);
    let second = exchange(slots, word >> 8, at + 1);
    if matches(source, word, at, first) {
        return Some((at, first));
    }
    if matches(source, word >> 8, at + 1, second) {
        return Some((at + 1, second));
    }
    let third = exchange(slots, word >> 16, at + 2);
    matches(source, word >> 16, at + 2, third).then_some((at + 2, third))
}

/// True when the `LEAST` bytes at `at`, which `word` begins with, stand `offset` bytes before it too.
#[inline(always)]
fn matches(source: &[u8], word: u64, at: usize, offset: usize) -> bool {
    // A slot that nobody wrote, or one written 64 KiB ago, gives any distance: what stands there decides.
    let older = source.get(at.wrapping_sub(offset)..).and_then(|bytes| bytes.first_chunk());
    let [a, b, c, d, ..] = word.to_le_bytes();
    offset != 0 && older == Some(&[a, b, c, d])
}

/// Writes down that the bytes of `word` stand at `at`; the distance to where they stood before, if they did.
#[inline(always)]
fn exchange(slots: &mut Slots, word: u64, at: usize) -> usize {
    const PRIME: u64 = 0x9e37_79b1_85eb_ca87;
    let hash = (word << (u64::BITS - 8 * HASHED)).wrapping_mul(PRIME) >> (u64::BITS - SLOTS.ilog2());
    let [a, b, ..] = at.to_le_bytes();
    let at = u16::from_le_bytes([a, b]);
    let slot = usize::try_from(hash).ok().and_then(|hash| slots.get_mut(hash));
    slot.map_or(0, |slot| usize::from(at.wrapping_sub(std::mem::replace(slot, at))))
}

/// How many bytes from both positions on are equal, before `end`.
#[inline(always)]
fn equal(source: &[u8], older: usize, newer: usize, end: usize) -> usize {
    let (Some(older), Some(newer)) = (source.get(older..), source.get(newer..end)) else { return 0 };
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
fn equal_before(source: &[u8], older: usize, newer: usize, most: usize) -> usize {
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

#[inline(always)]
fn load8(source: &[u8], at: usize) -> u64 {
    source.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[inline(always)]
fn whole_bytes(bits: u32) -> usize {
    usize::try_from(bits / 8).unwrap_or(0)
}
