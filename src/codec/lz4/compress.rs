//! The frame that Kafka's `KafkaLZ4BlockOutputStream` and `Lz4BlockOutputStream` write (COD-L4): independent blocks of 64 KiB, no sizes and no
//! checksums but that of the frame header.

use super::ChecksumForm;
use super::layout::{MAGIC, STORED};
use super::liblz4::{self, HighCompressor};
use crate::wire::Sink;

/// Version 1, independent blocks; then the code of blocks of 64 KiB (COD-L3).
const FLG_AND_BD: [u8; 2] = [0x60, 0x40];
const BLOCK_LEN: usize = 64 << 10;
const SIZE_LEN: usize = 4;
const END_MARK: [u8; 4] = [0; 4];

/// The compression contexts.
#[derive(Default)]
pub struct Lz4Compressor {
    high: HighCompressor,
}

impl Lz4Compressor {
    /// Compresses `input` as one frame. A block ends after the first `front` bytes.
    pub(in crate::codec) fn compress(&mut self, (input, front): (&[u8], usize), level: Option<u8>, checksum: ChecksumForm, out: &mut Sink) {
        let start = out.len();
        out.put(&MAGIC);
        out.put(&FLG_AND_BD);
        let checksum = checksum.of(out.from(start));
        out.put(&[checksum]);
        let (front, rest) = input.split_at_checked(front).unwrap_or((input, &[]));
        for block in front.chunks(BLOCK_LEN).chain(rest.chunks(BLOCK_LEN)) {
            self.compress_block(block, level, out);
        }
        out.put(&END_MARK);
    }

    /// Writes one block; one that does not shrink is stored as it is (COD-L5).
    fn compress_block(&mut self, block: &[u8], level: Option<u8>, out: &mut Sink) {
        let size_at = out.len();
        out.put(&[0; SIZE_LEN]);
        let output = out.unfilled(bound(block.len()));
        let compressed = match level {
            None => liblz4::compress(block, output),
            Some(level) => self.high.compress(block, level, output),
        };
        let compressed = compressed.filter(|len| *len < block.len());
        match compressed {
            Some(len) => out.fill(len),
            None => out.put(block),
        }
        let stored = if compressed.is_none() { STORED } else { 0 };
        let size = u32::try_from(compressed.unwrap_or(block.len())).unwrap_or(u32::MAX) | stored;
        out.patch(size_at, &size.to_le_bytes());
    }
}

/// Returns the most bytes that a block of `len` bytes compresses to: with so many liblz4 omits its own checks.
fn bound(len: usize) -> usize {
    len + len / 255 + 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(input: &[u8], level: Option<u8>, checksum: ChecksumForm) -> Vec<u8> {
        let mut out = Sink::default();
        Lz4Compressor::default().compress((input, 0), level, checksum, &mut out);
        out.bytes().to_vec()
    }

    #[test]
    fn cod_l4_l8_headers_are_those_of_each_era() {
        assert_eq!(compressed(b"", None, ChecksumForm::Correct), b"\x04\x22\x4d\x18\x60\x40\x82\0\0\0\0");
        assert_eq!(compressed(b"", None, ChecksumForm::Broken), b"\x04\x22\x4d\x18\x60\x40\x1a\0\0\0\0");
    }

    #[test]
    fn cod_l5_a_block_that_does_not_shrink_is_stored() {
        assert_eq!(compressed(b"hello", None, ChecksumForm::Correct), b"\x04\x22\x4d\x18\x60\x40\x82\x05\0\0\x80hello\0\0\0\0");
    }

    #[test]
    fn cod_l4_blocks_are_of_64_kib() {
        for level in [None, Some(4)] {
            let frame = compressed(&vec![0; (64 << 10) + 1], level, ChecksumForm::Correct);
            let first = usize::try_from(u32::from_le_bytes(*frame[7..].first_chunk().unwrap())).unwrap();
            assert!(frame[4..7] == *b"\x60\x40\x82" && first < 300);
            assert_eq!(&frame[11 + first..], b"\x01\0\0\x80\0\0\0\0\0", "a block of one byte, stored");
        }
    }
}
