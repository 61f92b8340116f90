//! A raw block: the plain length, then literals and copies. The two low bits of an element's first byte tell what it is: 0 a literal, whose
//! length less 1 stands above them, or 60 and 61 there for one and two bytes more; 1 a copy of 4 to 11 bytes from less than 2 KiB back; 2 one
//! of up to 64 bytes from less than 64 KiB back.

use std::hint::select_unpredictable;

use crate::codec::matches::{Elements, Match, Matcher, Search, Sequence};
use crate::codec::room::{Room, low_byte};

/// Literals up to here have their length in the first byte, and most are shorter.
const SHORT: usize = 60;
/// Copies are this long at most.
const LONGEST: usize = 64;
/// Copies are this long at least.
const LEAST: usize = 4;

/// Plain bytes of a chunk, the farthest that a copy reaches back. snappy-java's default is the half, which packs records worse; its readers
/// take chunks of any size (COD-S7).
pub(super) const CHUNK: usize = 64 << 10;
/// Whole chunks are of large records: text, in which there is a match of 4 or 5 bytes for nearly everything.
const WHOLE_CHUNKS: Search = Search { hashed: 4, gap: 2, step: 10, patience: 4 };

/// Packs up to 64 KiB; the bytes written, or nothing when they do not fit into `room`.
pub(super) fn pack(matcher: &mut Matcher, plain: &[u8], room: &mut [u8]) -> Option<usize> {
    let mut block = Block(Room::new(room));
    block.preamble(plain.len());
    let left =
        if plain.len() < CHUNK { matcher.scan(Search::CLOSE, plain, &mut block) } else { matcher.scan(WHOLE_CHUNKS, plain, &mut block) };
    block.literals(left, left.len());
    block.0.written()
}

struct Block<'a>(Room<'a>);

impl Block<'_> {
    fn preamble(&mut self, mut len: usize) {
        while len >= 0x80 {
            self.0.put([low_byte(len) | 0x80]);
            len >>= 7;
        }
        self.0.put([low_byte(len)]);
    }

    /// Writes a literal, or nothing for none.
    #[inline(always)]
    fn literals(&mut self, from: &[u8], len: usize) {
        if len <= SHORT {
            // None is no branch: what is written for it is written over.
            self.0.put_first([low_byte(len.wrapping_sub(1) << 2)], usize::from(len != 0));
        } else {
            let [low, high, ..] = (len - 1).to_le_bytes();
            let is_wide = high != 0;
            self.0.put_first([if is_wide { 61 << 2 } else { 60 << 2 }, low, high], if is_wide { 3 } else { 2 });
        }
        self.0.copy(from, len);
    }

    /// Writes copies, each of them as long as may be and the last not too short.
    #[inline(always)]
    fn copies(&mut self, found: Match) {
        let Match { offset, mut len } = found;
        while len > LONGEST {
            let some = LONGEST.min(len - LEAST);
            self.copy(Match { offset, len: some });
            len -= some;
        }
        self.copy(Match { offset, len });
    }

    #[inline(always)]
    fn copy(&mut self, found: Match) {
        let (copy, len) = copy(found);
        self.0.put_first(copy, len);
    }
}

/// A copy of up to `LONGEST` bytes as an element, and how many of these bytes it takes.
#[inline(always)]
fn copy(Match { offset, len }: Match) -> ([u8; 4], usize) {
    let is_near = len < 12 && offset < 2048;
    let near = (offset >> 8) << 5 | len.wrapping_sub(LEAST) << 2 | 1 | (offset & 0xff) << 8;
    let far = (len - 1) << 2 | 2 | offset << 8;
    let [a, b, c, d, ..] = select_unpredictable(is_near, near, far).to_le_bytes();
    ([a, b, c, d], 3 - usize::from(is_near))
}

impl Elements for Block<'_> {
    #[inline(always)]
    fn sequence(&mut self, sequence: &Sequence<'_>) {
        self.literals(sequence.from, sequence.literals);
        self.copies(sequence.found);
    }

    #[inline(always)]
    fn adjacent(&mut self, found: Match) {
        self.copies(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::all_to_pack;

    #[test]
    fn a_block_is_its_length_literals_and_copies() {
        let mut room = [0; 64];
        let written = pack(&mut Matcher::default(), b"abcdefghabcdefghabcdefghabcdefgh-tail", &mut room).unwrap();
        // 8 literals, then 24 bytes from 8 back; the rest as literals.
        assert_eq!(&room[..written], b"\x25\x1cabcdefgh\x5e\x08\x00\x10-tail");
        let written = pack(&mut Matcher::default(), b"abcdefghijabcdefgh.....-tail-of-it", &mut room).unwrap();
        // Of 8 bytes from 10 back.
        assert_eq!(&room[..written], b"\x22\x24abcdefghij\x11\x0a\x3c.....-tail-of-it");
    }

    /// What snap makes of it, in the room that it would want.
    fn ensure_unpacks(matcher: &mut Matcher, plain: &[u8]) {
        for chunk in plain.chunks(64 << 10) {
            let mut room = vec![0; snap::raw::max_compress_len(chunk.len())];
            let written = pack(matcher, chunk, &mut room).unwrap();
            assert!(snap::raw::Decoder::new().decompress_vec(&room[..written]).unwrap() == chunk, "{} bytes", chunk.len());
        }
    }

    #[test]
    fn other_decoders_unpack_whatever_was_packed() {
        all_to_pack(ensure_unpacks);
    }

    #[test]
    fn a_block_that_does_not_fit_is_none() {
        assert_eq!(pack(&mut Matcher::default(), &[1; 100], &mut [0; 5]), None);
        assert_eq!(pack(&mut Matcher::default(), b"", &mut [0; 1]), Some(1));
    }
}
