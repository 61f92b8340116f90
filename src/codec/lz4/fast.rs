//! A block packed fast, without levels. Each sequence is a token (both lengths, 15 for "and more"), more of the literals' length, the literals,
//! the offset, little-endian, and more of the match's length.

use crate::codec::matches::{Elements, LEAST, Match, Matcher, Search, Sequence};
use crate::codec::room::{Room, low_byte};

/// A length in a token that goes on behind it.
const MORE: usize = 15;

/// Blocks up to here are searched closely.
const SMALL: usize = 64 << 10;
/// In larger blocks almost everything stands further in front too, and it is no matter which match is found.
const LARGE_BLOCKS: Search = Search { step: 7, patience: 4, ..Search::CLOSE };

/// Packs a block of any length; the bytes written, or nothing when they do not fit into `room`.
pub(super) fn pack(matcher: &mut Matcher, plain: &[u8], room: &mut [u8]) -> Option<usize> {
    let mut block = Block(Room::new(room));
    let left =
        if plain.len() <= SMALL { matcher.scan(Search::CLOSE, plain, &mut block) } else { matcher.scan(LARGE_BLOCKS, plain, &mut block) };
    block.literals(left, left.len(), 0);
    block.0.written()
}

struct Block<'a>(Room<'a>);

impl Block<'_> {
    /// Writes the token and the literals.
    #[inline(always)]
    fn literals(&mut self, from: &[u8], len: usize, low: usize) {
        self.0.put([low_byte(len.min(MORE) << 4 | low)]);
        self.more(len);
        self.0.copy(from, len);
    }

    /// Writes what of a length is not in the token.
    #[inline(always)]
    fn more(&mut self, len: usize) {
        if let Some(more) = len.checked_sub(MORE) {
            self.long(more);
        }
    }

    fn long(&mut self, mut more: usize) {
        while more >= 255 {
            self.0.put([255]);
            more -= 255;
        }
        self.0.put([low_byte(more)]);
    }

    /// Writes what stands behind the literals.
    #[inline(always)]
    fn found(&mut self, found: Match) {
        let [low, high, ..] = found.offset.to_le_bytes();
        self.0.put([low, high]);
        self.more(found.len - LEAST);
    }
}

impl Elements for Block<'_> {
    #[inline(always)]
    fn sequence(&mut self, sequence: &Sequence<'_>) {
        self.literals(sequence.from, sequence.literals, (sequence.found.len - LEAST).min(MORE));
        self.found(sequence.found);
    }

    #[inline(always)]
    fn adjacent(&mut self, found: Match) {
        self.0.put([low_byte((found.len - LEAST).min(MORE))]);
        self.found(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::all_to_pack;

    #[test]
    fn a_block_is_tokens_literals_and_offsets() {
        let mut room = [0; 64];
        let written = pack(&mut Matcher::default(), b"abcdefghabcdefghabcdefghabcdefgh-tail", &mut room).unwrap();
        // 8 literals, then 24 bytes from 8 back; the rest as literals.
        assert_eq!(&room[..written], b"\x8fabcdefgh\x08\x00\x05\x50-tail");
    }

    /// What liblz4 and `lz4_flex` make of it, in the room that a caller has to give.
    fn ensure_unpacks(matcher: &mut Matcher, plain: &[u8]) {
        let mut room = vec![0; plain.len() + plain.len() / 255 + 16];
        let written = pack(matcher, plain, &mut room).unwrap();
        assert!(lz4_flex::block::decompress(&room[..written], plain.len()).unwrap() == plain, "{} bytes", plain.len());
        let mut found = vec![0; plain.len()];
        assert_eq!(crate::codec::lz4::oneshot::inflate(&room[..written], &mut found), Some(plain.len()));
        assert!(found == plain);
    }

    #[test]
    fn other_decoders_unpack_whatever_was_packed() {
        all_to_pack(ensure_unpacks);
    }

    #[test]
    fn a_block_that_does_not_fit_is_none() {
        assert_eq!(pack(&mut Matcher::default(), &[1; 100], &mut [0; 5]), None);
        assert_eq!(pack(&mut Matcher::default(), b"", &mut [0; 1]), Some(1));
        let plain = b"a match of 20 bytes, a match of 20 bytes, and another of 20 bytes, a match of 25 bytes, and another of it".repeat(3);
        let mut whole = vec![0; 500];
        let len = pack(&mut Matcher::default(), &plain, &mut whole).unwrap();
        for size in 0..whole.len() {
            let mut room = vec![0; size];
            assert_eq!(pack(&mut Matcher::default(), &plain, &mut room), (len <= size).then_some(len), "{size}");
            assert!(size < len || room[..len] == whole[..len], "{size}");
        }
    }
}
