//! The frame that Kafka's `KafkaLZ4BlockOutputStream` and `Lz4BlockOutputStream` write (COD-L4): blocks of 64 KiB that do not depend on
//! each other, no sizes and no checksums but that of the header.

use super::ChecksumForm;
use super::compressor::Blocks;
use super::frame::MAGIC;
use crate::error::Result;
use crate::wire::Sink;

/// Version 1, independent blocks.
const FLG: u8 = 0x60;
/// Blocks of 64 KiB.
const BD: u8 = 0x40;
const BLOCK: usize = 64 << 10;
const SIZE_LEN: usize = 4;
/// Top bit of the size of a block that is stored as it is (COD-L5).
const STORED: u32 = 1 << 31;
const END_MARK: [u8; 4] = [0; 4];

/// The packing contexts.
#[derive(Default)]
pub struct Compressor(Blocks);

impl Compressor {
    /// Packs `plain` as one frame.
    pub(in crate::codec) fn pack(&mut self, plain: &[u8], level: Option<u8>, checksum: ChecksumForm, out: &mut Sink) -> Result<()> {
        let [a, b, c, d] = MAGIC;
        let header = [a, b, c, d, FLG, BD];
        out.put(&header);
        out.put(&[checksum.of(&header)]);
        for block in plain.chunks(BLOCK) {
            self.pack_block(block, level, out);
        }
        out.put(&END_MARK);
        Ok(())
    }

    /// A block that does not shrink is stored.
    fn pack_block(&mut self, block: &[u8], level: Option<u8>, out: &mut Sink) {
        let size_at = out.len();
        out.put(&[0; SIZE_LEN]);
        // With room for the worst case liblz4 leaves out its own checks.
        let room = out.room(bound(block.len()));
        let packed = match level {
            None => self.0.pack_fast(block, room),
            Some(level) => self.0.pack_high(block, level, room),
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

/// The most bytes that a block of `len` bytes packs to.
fn bound(len: usize) -> usize {
    len + len / 255 + 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(plain: &[u8], checksum: ChecksumForm) -> Vec<u8> {
        let mut out = Sink::default();
        Compressor::default().pack(plain, None, checksum, &mut out).unwrap();
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
    fn cod_l4_blocks_are_of_64_kib() {
        let frame = packed(&vec![0; BLOCK + 1], ChecksumForm::Correct);
        let first = usize::try_from(u32::from_le_bytes(*frame[7..].first_chunk().unwrap())).unwrap();
        assert!(first < 300);
        assert_eq!(&frame[11 + first..], b"\x01\0\0\x80\0\0\0\0\0");
    }
}
