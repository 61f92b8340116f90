//! The frame around the blocks.

use super::descriptor::Descriptor;
use super::header_checksum::{ChecksumForm, FoundChecksum, HeaderChecksum};
use super::layout::{BLOCK_CHECKSUM, CONTENT_CHECKSUM, INDEPENDENT, STORED};
use crate::codec::error::lz4_error;
use crate::error::Result;
use crate::quirks::{Quirk, Quirks};
use crate::wire::to_len;
use xxhash_rust::xxh32::xxh32;

/// The fields of the descriptor.
pub(super) struct Lz4Frame {
    flags: u8,
    /// Bytes that no block may exceed, compressed or decompressed.
    pub(super) block_maximum: usize,
    /// Bytes of all blocks, if declared. A claim that Java does not verify.
    pub(super) content_size: Option<u64>,
    /// The header checksum, when it is not the one that it should be.
    pub(super) odd_checksum: Option<FoundChecksum>,
}

/// The bytes of one block.
pub(super) enum Lz4Block<'a> {
    /// A compressed block.
    Compressed(&'a [u8]),
    /// A block that did not shrink, as it is (COD-L5).
    Stored(&'a [u8]),
}

/// What is wrong with a header checksum that is not the correct one.
fn mismatch(found: FoundChecksum) -> &'static str {
    match found {
        FoundChecksum::Broken => "the header checksum does not match: it is the broken one of Kafka 0.8.2 and 0.9",
        _ => "the header checksum does not match: it is neither the correct nor the broken one",
    }
}

impl Lz4Frame {
    /// Splits the descriptor off: the frame and its blocks.
    pub(super) fn parse(input: &[u8], accepted: HeaderChecksum, quirks: Quirks) -> Result<(Self, &[u8])> {
        let descriptor = Descriptor::parse(input)?;
        if !quirks.has(Quirk::Lz4DependentBlocks) && descriptor.flags & INDEPENDENT == 0 {
            return Err(lz4_error("COD-L12", "blocks depend on each other"));
        }
        let block_maximum = block_maximum(descriptor.sizes)?;
        let odd_checksum = match accepted {
            HeaderChecksum::Correct if descriptor.checksum(ChecksumForm::Correct) != descriptor.stored => {
                return Err(lz4_error("COD-L8", mismatch(descriptor.found())));
            }
            HeaderChecksum::Correct => None,
            // Magic 0 has the broken one.
            HeaderChecksum::Any => Some(descriptor.found()).filter(|found| *found != FoundChecksum::Broken),
            HeaderChecksum::Ignored => Some(descriptor.found()).filter(|found| *found != FoundChecksum::Correct),
        };
        let blocks = input.get(descriptor.checksum_at() + 1..).unwrap_or_default();
        Ok((Self { flags: descriptor.flags, block_maximum, content_size: descriptor.content_size(), odd_checksum }, blocks))
    }

    /// True when blocks refer to those before them.
    pub(super) fn is_dependent(&self) -> bool {
        self.flags & INDEPENDENT == 0
    }

    /// Splits one block off: the block, or nothing at the end mark, and what follows.
    #[inline]
    pub(super) fn split_block<'a>(&self, bytes: &'a [u8]) -> Result<(Option<Lz4Block<'a>>, &'a [u8])> {
        let (size, after) = bytes.split_first_chunk::<4>().ok_or_else(|| lz4_error("COD-L13", "the end mark is missing"))?;
        let size = u32::from_le_bytes(*size);
        let len = to_len(size & !STORED);
        if len == 0 {
            // Java masks first, so 80000000 ends the frame as well (COD-L10).
            return Ok((None, after));
        }
        if len > self.block_maximum {
            return Err(lz4_error("COD-L13", "a block is larger than the frame allows"));
        }
        let (block, after) = after.split_at_checked(len).ok_or_else(|| lz4_error("COD-L13", "a block is cut short"))?;
        let after = if self.flags & BLOCK_CHECKSUM != 0 { verify_block(block, after)? } else { after };
        let block = if size & STORED != 0 { Lz4Block::Stored(block) } else { Lz4Block::Compressed(block) };
        Ok((Some(block), after))
    }

    /// Splits what follows the end mark: the content checksum, if there is one, and bytes that are no part of the frame.
    pub(super) fn split_end<'a>(&self, after: &'a [u8]) -> Result<(Option<u32>, &'a [u8])> {
        if self.flags & CONTENT_CHECKSUM == 0 {
            return Ok((None, after));
        }
        let (checksum, rest) = after.split_first_chunk::<4>().ok_or_else(|| lz4_error("COD-L11", "the content checksum is cut short"))?;
        Ok((Some(u32::from_le_bytes(*checksum)), rest))
    }
}

/// The block maximum of a BD byte (COD-L3).
fn block_maximum(sizes: u8) -> Result<usize> {
    match sizes {
        0x40 => Ok(64 << 10),
        0x50 => Ok(256 << 10),
        0x60 => Ok(1 << 20),
        0x70 => Ok(4 << 20),
        _ => Err(lz4_error("COD-L3", "the block size is not one of 4 to 7, or reserved bits are set")),
    }
}

/// Verifies the checksum after a block, which is of the bytes as they are stored; returns the bytes after it (COD-L11).
fn verify_block<'a>(block: &[u8], after: &'a [u8]) -> Result<&'a [u8]> {
    let (stored, after) = after.split_first_chunk::<4>().ok_or_else(|| lz4_error("COD-L11", "a block checksum is cut short"))?;
    if u32::from_le_bytes(*stored) != xxh32(block, 0) {
        return Err(lz4_error("COD-L11", "a block checksum does not match"));
    }
    Ok(after)
}

#[cfg(test)]
mod tests {
    use crate::codec::Codec::Lz4;
    use crate::codec::HeaderChecksum::{Any, Correct};
    use crate::codec::testing::{DecompressionOutcome, decompress};
    use crate::codec::{CodecFinding, FoundChecksum, NO_ENTRIES};

    fn lz4(parts: &[&[u8]]) -> DecompressionOutcome {
        decompress(Lz4(Correct, NO_ENTRIES), &[&[b"\x04\x22\x4d\x18".as_slice()], parts].concat().concat())
    }

    const JAVA: &[u8] = b"\x60\x40\x82";
    const ONE: &[u8] = b"\x01\0\0\x80\x01";
    const END: &[u8] = b"\0\0\0\0";

    #[test]
    fn cod_l1_every_cut_of_a_frame_is_an_error() {
        let frame = b"\x04\x22\x4d\x18\x64\x40\xa7\x01\0\0\x80\x01\0\0\0\0\xde\xad\xbe\xef";
        for len in 0..frame.len() {
            let cut = frame.get(..len).unwrap_or_default();
            assert!(
                matches!(decompress(Lz4(Any, NO_ENTRIES), cut), DecompressionOutcome::Error("COD-L1" | "COD-L11" | "COD-L13")),
                "{len}"
            );
        }
    }

    #[test]
    fn cod_l2_other_versions_are_refused() {
        assert_eq!(lz4(&[b"\xa0\x40\0", ONE, END]), DecompressionOutcome::Error("COD-L2"));
    }

    #[test]
    fn cod_l3_block_sizes() {
        for (header, good) in [(b"\x60\x50\xfb", true), (b"\x60\x60\x51", true), (b"\x60\x70\x73", true), (b"\x60\x30\xd4", false)] {
            assert_eq!(lz4(&[header, ONE, END]) == DecompressionOutcome::of(b"\x01"), good, "{header:02x?}");
        }
        assert_eq!(lz4(&[b"\x60\x41\0", ONE, END]), DecompressionOutcome::Error("COD-L3"));
        assert_eq!(lz4(&[b"\x60\xc0\0", ONE, END]), DecompressionOutcome::Error("COD-L3"));
    }

    #[test]
    fn cod_l5_stored_blocks_are_copied() {
        assert_eq!(lz4(&[JAVA, ONE, ONE, END]), DecompressionOutcome::of(b"\x01\x01"));
        assert_eq!(lz4(&[JAVA, END]), DecompressionOutcome::of(b""));
    }

    #[test]
    fn cod_l8_only_magic_0_takes_another_header_checksum() {
        assert_eq!(lz4(&[b"\x60\x40\x1a", ONE, END]), DecompressionOutcome::Error("COD-L8"));
        assert_eq!(
            decompress(Lz4(Any, NO_ENTRIES), b"\x04\x22\x4d\x18\x60\x40\x1a\x01\0\0\x80\x01\0\0\0\0"),
            DecompressionOutcome::of(b"\x01")
        );
    }

    #[test]
    fn cod_l9_bytes_after_the_frame_are_reported() {
        let expected = DecompressionOutcome::Decompressed(b"\x01".to_vec(), vec![CodecFinding::TrailingBytes { bytes: 7 }]);
        assert_eq!(lz4(&[JAVA, ONE, END, b"garbage"]), expected);
    }

    #[test]
    fn cod_l10_the_end_mark_may_have_the_top_bit() {
        assert_eq!(lz4(&[JAVA, ONE, b"\0\0\0\x80"]), DecompressionOutcome::of(b"\x01"));
    }

    #[test]
    fn cod_l11_block_checksums_are_verified() {
        assert_eq!(lz4(&[b"\x70\x40\xad", b"\x01\0\0\x80a\x4d\xc2\x56\x55", END]), DecompressionOutcome::Error("COD-L11"));
        assert_eq!(lz4(&[b"\x70\x40\xad", b"\x01\0\0\x80a\x56\x74\x0d\x55", END]), DecompressionOutcome::of(b"a"));
    }

    #[test]
    fn cod_l11_content_size_and_checksum_are_only_reported() {
        let header = CodecFinding::HeaderChecksum { found: FoundChecksum::Neither };
        let findings = vec![
            header,
            CodecFinding::ContentSize { declared: 11, found: 1 },
            CodecFinding::ContentChecksum { stored: 1, computed: 0x550d_7456 },
        ];
        let frame = decompress(
            Lz4(Any, NO_ENTRIES),
            &[b"\x04\x22\x4d\x18\x6c\x40\x0b\0\0\0\0\0\0\0\xff", b"\x01\0\0\x80a".as_slice(), END, b"\x01\0\0\0"].concat(),
        );
        assert_eq!(frame, DecompressionOutcome::Decompressed(b"a".to_vec(), findings));
        assert_eq!(lz4(&[b"\x64\x40\xa7", b"\x01\0\0\x80a", END, b"\x56\x74\x0d\x55"]), DecompressionOutcome::of(b"a"));
    }

    #[test]
    fn cod_l12_dependent_blocks_dictionaries_and_reserved_bits_are_refused() {
        for flags in [0x40, 0x61, 0x62] {
            assert_eq!(lz4(&[&[flags, 0x40, 0], ONE, END]), DecompressionOutcome::Error("COD-L12"), "{flags:02x}");
        }
    }

    #[test]
    fn cod_l15_other_frames_are_refused() {
        assert_eq!(decompress(Lz4(Any, NO_ENTRIES), b"\x02\x21\x4c\x18\0\0\0\0"), DecompressionOutcome::Error("COD-L15"));
        assert_eq!(
            decompress(Lz4(Any, NO_ENTRIES), b"\x50\x2a\x4d\x18\x04\0\0\0abcd\x04\x22\x4d\x18\x60\x40\x82\0\0\0\0"),
            DecompressionOutcome::Error("COD-L15")
        );
    }
}
