//! The frame that Kafka's `KafkaLZ4BlockOutputStream` and `Lz4BlockOutputStream` write (COD-L4): blocks that do not depend on each other, no
//! sizes and no checksums but that of the header. Theirs are of 64 KiB, and so are ours at a level. The fast compressor takes the smallest size
//! that holds all records in one block, since matches end where a block does; all readers know all four sizes (COD-L3).

use super::ChecksumForm;
use super::compressor::Blocks;
use super::fast;
use super::frame::MAGIC;
use crate::codec::matches::Matcher;
use crate::wire::Sink;

/// Version 1, independent blocks.
const FLG: u8 = 0x60;
/// BD and the size of blocks (COD-L3).
const BLOCKS: [(u8, usize); 4] = [KAFKAS_BLOCKS, (0x50, 256 << 10), (0x60, 1 << 20), LARGEST_BLOCKS];
const KAFKAS_BLOCKS: (u8, usize) = (0x40, 64 << 10);
const LARGEST_BLOCKS: (u8, usize) = (0x70, 4 << 20);
const SIZE_LEN: usize = 4;
/// Top bit of the size of a block that is stored as it is (COD-L5).
const STORED: u32 = 1 << 31;
const END_MARK: [u8; 4] = [0; 4];

/// The packing contexts.
#[derive(Default)]
pub struct Compressor {
    fast: Matcher,
    high: Blocks,
}

impl Compressor {
    /// Packs `plain` as one frame. A block ends behind the first `front` bytes.
    pub(in crate::codec) fn pack(&mut self, (plain, front): (&[u8], usize), level: Option<u8>, checksum: ChecksumForm, out: &mut Sink) {
        let [a, b, c, d] = MAGIC;
        let (bd, block_len) = blocks(plain.len(), level);
        let header = [a, b, c, d, FLG, bd];
        out.put(&header);
        out.put(&[checksum.of(&header)]);
        let (front, rest) = plain.split_at_checked(front).unwrap_or((plain, &[]));
        for block in front.chunks(block_len).chain(rest.chunks(block_len)) {
            self.pack_block(block, level, out);
        }
        out.put(&END_MARK);
    }

    /// A block that does not shrink is stored.
    fn pack_block(&mut self, block: &[u8], level: Option<u8>, out: &mut Sink) {
        let size_at = out.len();
        out.put(&[0; SIZE_LEN]);
        // With room for the worst case liblz4 leaves out its own checks, and ours may write in wide steps.
        let room = out.room(bound(block.len()));
        let packed = match level {
            None => fast::pack(&mut self.fast, block, room),
            Some(level) => self.high.pack(block, level, room),
        };
        let packed = packed.filter(|len| *len < block.len());
        match packed {
            Some(len) => out.fill(len),
            None => out.put(block),
        }
        let stored = if packed.is_none() { STORED } else { 0 };
        let size = u32::try_from(packed.unwrap_or(block.len())).unwrap_or(u32::MAX) | stored;
        out.patch(size_at, &size.to_le_bytes());
    }
}

/// BD and the size of the blocks that `len` bytes are packed in.
fn blocks(len: usize, level: Option<u8>) -> (u8, usize) {
    if level.is_some() {
        return KAFKAS_BLOCKS;
    }
    BLOCKS.into_iter().find(|(_, most)| len <= *most).unwrap_or(LARGEST_BLOCKS)
}

/// The most bytes that a block of `len` bytes packs to.
fn bound(len: usize) -> usize {
    len + len / 255 + 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(plain: &[u8], checksum: ChecksumForm) -> Vec<u8> {
        let mut out = Sink::default();
        Compressor::default().pack((plain, 0), None, checksum, &mut out);
        out.bytes().to_vec()
    }

    #[test]
    fn cod_l4_l8_headers_are_those_of_each_era() {
        assert_eq!(packed(b"", ChecksumForm::Correct), b"\x04\x22\x4d\x18\x60\x40\x82\0\0\0\0");
        assert_eq!(packed(b"", ChecksumForm::Broken), b"\x04\x22\x4d\x18\x60\x40\x1a\0\0\0\0");
    }

    #[test]
    fn cod_l5_a_block_that_does_not_shrink_is_stored() {
        assert_eq!(packed(b"hello", ChecksumForm::Correct), b"\x04\x22\x4d\x18\x60\x40\x82\x05\0\0\x80hello\0\0\0\0");
    }

    #[test]
    fn cod_l3_the_fast_compressor_takes_the_smallest_blocks_that_hold_all() {
        let cases: [(usize, &[u8]); 6] = [
            (0, b"\x40\x82"),
            (64 << 10, b"\x40\x82"),
            ((64 << 10) + 1, b"\x50\xfb"),
            (1 << 20, b"\x60\x51"),
            ((1 << 20) + 1, b"\x70\x73"),
            ((4 << 20) + 1, b"\x70\x73"),
        ];
        for (len, descriptor) in cases {
            let frame = packed(&vec![0; len], ChecksumForm::Correct);
            assert_eq!(&frame[5..7], descriptor, "{len}");
            assert!(frame.len() < 20_000, "{len}");
        }
        let frame = packed(&vec![0; (4 << 20) + 1], ChecksumForm::Correct);
        assert!(frame.ends_with(b"\x01\0\0\x80\0\0\0\0\0"), "a block of one byte, stored");
    }

    #[test]
    fn cod_l4_at_a_level_blocks_are_of_64_kib() {
        let (mut out, plain) = (Sink::default(), vec![0; (64 << 10) + 1]);
        Compressor::default().pack((&plain, 0), Some(4), ChecksumForm::Correct, &mut out);
        let frame = out.bytes();
        let first = usize::try_from(u32::from_le_bytes(*frame[7..].first_chunk().unwrap())).unwrap();
        assert!(frame[4..7] == *b"\x60\x40\x82" && first < 300);
        assert_eq!(&frame[11 + first..], b"\x01\0\0\x80\0\0\0\0\0");
    }
}
