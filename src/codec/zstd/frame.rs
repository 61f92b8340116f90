//! Measures one frame: its length, the most that it decompresses to, its window and its dictionary.
//!
//! magic 4 | descriptor 1 | [window 1] | [dictionary id 1, 2, 4] | [content size 1, 2, 4, 8] | blocks: header 3, bytes | [checksum 4]; little-endian.

use crate::codec::error::zstd_error;
use crate::error::{Error, Result};
use crate::wire::to_len;

const MAGIC: u32 = 0xfd2f_b528;
const SKIPPABLE: u32 = 0x184d_2a50;
const SKIPPABLE_MASK: u32 = !0xf;

// The frame header descriptor
const DICTIONARY_ID: u8 = 0b0000_0011;
const CHECKSUM: u8 = 0b0000_0100;
const RESERVED: u8 = 0b0000_1000;
const SINGLE_SEGMENT: u8 = 0b0010_0000;

/// Java's decoder refuses larger windows (COD-Z4). One-shot decoding needs no window; the limit keeps what we take the same.
const WINDOW_MAXIMUM: u64 = 1 << 27;
/// Bytes that no block may exceed, compressed or decompressed; nor may it exceed the window.
const BLOCK_MAXIMUM: usize = 128 << 10;

/// A part of a stream.
pub(super) enum ZstdPart<'a> {
    /// A frame with content.
    Frame(ZstdFrame<'a>),
    /// A skippable frame.
    Skippable,
}

/// A frame with content.
pub(super) struct ZstdFrame<'a> {
    /// All its bytes, from the magic to the checksum.
    pub(super) bytes: &'a [u8],
    /// Where its first block starts.
    pub(super) blocks_at: usize,
    /// The most bytes that it decompresses to, from its content size and its blocks.
    pub(super) bound: usize,
    /// Bytes that a decoder keeps to decompress it piece by piece.
    pub(super) window: u64,
    /// The id of the dictionary that it needs; 0 for none.
    pub(super) dictionary: u64,
}

/// Splits the frame off with which `input` begins.
pub(super) fn split(input: &[u8]) -> Result<(ZstdPart<'_>, &[u8])> {
    let (magic, after) = take_u32(input).ok_or_else(|| zstd_error("COD-Z3", "the stream ends inside a frame's magic"))?;
    match magic {
        MAGIC => {
            let header = ZstdFrameHeader::parse(after)?;
            let (bound, rest) = walk(&header)?;
            let bytes = input.get(..input.len() - rest.len()).unwrap_or_default();
            let blocks_at = input.len() - header.blocks.len();
            Ok((ZstdPart::Frame(ZstdFrame { bytes, blocks_at, bound, window: header.window, dictionary: header.dictionary }), rest))
        }
        _ if magic & SKIPPABLE_MASK == SKIPPABLE => {
            let (len, after) = take_u32(after).ok_or_else(cut)?;
            Ok((ZstdPart::Skippable, after.get(to_len(len)..).ok_or_else(cut)?))
        }
        _ => Err(zstd_error("COD-Z3", "the magic is not that of a zstd frame")),
    }
}

/// Returns the window that the frame claims with which `input` begins; `None` if its header is cut, bad, or that of a skippable frame.
pub(super) fn claimed_window(input: &[u8]) -> Option<u64> {
    let (magic, after) = take_u32(input)?;
    if magic == MAGIC { ZstdFrameHeader::parse(after).ok().map(|header| header.window) } else { None }
}

/// The fields before the blocks.
struct ZstdFrameHeader<'a> {
    has_checksum: bool,
    content_size: Option<u64>,
    block_maximum: usize,
    window: u64,
    dictionary: u64,
    blocks: &'a [u8],
}

impl<'a> ZstdFrameHeader<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self> {
        let (&descriptor, rest) = bytes.split_first().ok_or_else(cut)?;
        if descriptor & RESERVED != 0 {
            return Err(zstd_error("COD-Z6", "a reserved bit is set"));
        }
        let single_segment = descriptor & SINGLE_SEGMENT != 0;
        let (window, rest) = if single_segment { (None, rest) } else { take_window(rest)? };
        let (dictionary, rest) = take_number(rest, dictionary_id_len(descriptor))?;
        let (content_size, blocks) = take_content_size(rest, descriptor)?;
        // A single segment is its own window.
        let window = window.or(content_size).unwrap_or(u64::MAX);
        if window > WINDOW_MAXIMUM {
            return Err(zstd_error("COD-Z4", "the window is larger than 128 MiB"));
        }
        let block_maximum = usize::try_from(window).unwrap_or(usize::MAX).min(BLOCK_MAXIMUM);
        Ok(Self { has_checksum: descriptor & CHECKSUM != 0, content_size, block_maximum, window, dictionary, blocks })
    }
}

impl ZstdFrame<'_> {
    /// Returns the end of the block that starts at `at`, or the end of the frame if it is the last block.
    pub(super) fn block_end(&self, at: usize) -> usize {
        match ZstdBlock::parse(self.bytes.get(at..).unwrap_or_default(), BLOCK_MAXIMUM) {
            Ok(block) if !block.is_last => self.bytes.len().min(at + block.len),
            _ => self.bytes.len(),
        }
    }
}

/// The header of a block.
struct ZstdBlock {
    is_last: bool,
    /// Bytes of it, its header included.
    len: usize,
    /// Bytes that it decompresses to; `None` if the header does not say.
    decompressed: Option<usize>,
}

impl ZstdBlock {
    /// Parses the header of a block, which must not be larger than `maximum`. Decoding in one go would accept a larger block that only
    /// repeats or copies bytes; decoding piece by piece, as Java does, refuses it.
    fn parse(bytes: &[u8], maximum: usize) -> Result<Self> {
        let &[low, middle, high] = bytes.first_chunk::<3>().ok_or_else(cut)?;
        let word = u32::from_le_bytes([low, middle, high, 0]);
        let size = to_len(word >> 3);
        if size > maximum {
            return Err(zstd_error("COD-Z6", "a block is larger than the window or 128 KiB"));
        }
        let (compressed, decompressed) = match (word >> 1) & 0b11 {
            0 => (size, Some(size)),
            1 => (1, Some(size)),
            2 => (size, None),
            _ => return Err(zstd_error("COD-Z6", "a block is of the reserved type")),
        };
        Ok(Self { is_last: word & 1 != 0, len: 3 + compressed, decompressed })
    }
}

/// Walks over the blocks and the checksum; returns the most bytes that they decompress to, and the bytes after the frame.
fn walk<'a>(header: &ZstdFrameHeader<'a>) -> Result<(usize, &'a [u8])> {
    let mut rest = header.blocks;
    let mut bound: usize = 0;
    loop {
        let block = ZstdBlock::parse(rest, header.block_maximum)?;
        let decompressed = block.decompressed.unwrap_or(header.block_maximum);
        bound = bound.saturating_add(decompressed);
        rest = rest.get(block.len..).ok_or_else(cut)?;
        if block.is_last {
            break;
        }
    }
    if header.has_checksum {
        rest = rest.get(4..).ok_or_else(cut)?;
    }
    let claimed = header.content_size.and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX);
    Ok((bound.min(claimed), rest))
}

fn take_window(bytes: &[u8]) -> Result<(Option<u64>, &[u8])> {
    let (byte, rest) = bytes.split_first().ok_or_else(cut)?;
    let base = 1_u64 << (10 + (byte >> 3));
    Ok((Some(base + (base >> 3) * u64::from(byte & 0b111)), rest))
}

fn take_content_size(bytes: &[u8], descriptor: u8) -> Result<(Option<u64>, &[u8])> {
    let len = match descriptor >> 6 {
        0 if descriptor & SINGLE_SEGMENT == 0 => return Ok((None, bytes)),
        0 => 1,
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let (size, rest) = take_number(bytes, len)?;
    // Two bytes start where one byte ends.
    Ok((Some(if len == 2 { size + 256 } else { size }), rest))
}

fn dictionary_id_len(descriptor: u8) -> usize {
    match descriptor & DICTIONARY_ID {
        0 => 0,
        1 => 1,
        2 => 2,
        _ => 4,
    }
}

/// Takes a number of `len` bytes, 8 at most.
fn take_number(bytes: &[u8], len: usize) -> Result<(u64, &[u8])> {
    let (number, rest) = bytes.split_at_checked(len).ok_or_else(cut)?;
    Ok((number.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)), rest))
}

fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk::<4>().map(|(number, rest)| (u32::from_le_bytes(*number), rest))
}

#[cold]
fn cut() -> Error {
    zstd_error("COD-Z6", "a frame is cut short")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec::Zstd;
    use crate::codec::testing::{DecompressionOutcome, decompress};

    /// A frame of "hello" after this header.
    fn hello(header: &[u8]) -> Vec<u8> {
        [b"\x28\xb5\x2f\xfd", header, b"\x29\0\0hello"].concat()
    }

    fn bound(input: &[u8]) -> Option<usize> {
        match split(input) {
            Ok((ZstdPart::Frame(frame), _)) => Some(frame.bound),
            _ => None,
        }
    }

    #[test]
    fn cod_z4_windows_up_to_128_mib() {
        assert_eq!(decompress(Zstd, &hello(b"\0\x50")), DecompressionOutcome::of(b"hello"));
        assert_eq!(decompress(Zstd, &hello(b"\0\x88")), DecompressionOutcome::of(b"hello"));
        for window in [0x89, 0x90, 0xa0, 0xff] {
            assert_eq!(decompress(Zstd, &hello(&[0, window])), DecompressionOutcome::Error("COD-Z4"), "{window:02x}");
        }
    }

    #[test]
    fn cod_z4_a_single_segment_is_its_own_window() {
        assert_eq!(decompress(Zstd, &hello(b"\xa0\x01\0\0\x08")), DecompressionOutcome::Error("COD-Z4"));
        assert_eq!(decompress(Zstd, &hello(b"\xa0\0\0\0\x08")), DecompressionOutcome::Error("COD-Z6"));
    }

    #[test]
    fn cod_z5_dictionary_ids_are_refused_unless_0() {
        for header in [b"\x01\x50\x07".as_slice(), b"\x02\x50\0\x07", b"\x03\x50\0\0\0\x07"] {
            assert_eq!(decompress(Zstd, &hello(header)), DecompressionOutcome::Error("COD-Z5"));
        }
        assert_eq!(decompress(Zstd, &hello(b"\x03\x50\0\0\0\0")), DecompressionOutcome::of(b"hello"));
    }

    #[test]
    fn cod_z6_reserved_bits_and_block_types_are_refused() {
        assert_eq!(decompress(Zstd, &hello(b"\x08\x50")), DecompressionOutcome::Error("COD-Z6"));
        assert_eq!(decompress(Zstd, b"\x28\xb5\x2f\xfd\0\x50\x2f\0\0hello"), DecompressionOutcome::Error("COD-Z6"));
        // A run of 128 KiB + 1.
        assert_eq!(decompress(Zstd, b"\x28\xb5\x2f\xfd\0\x50\x0b\0\x10a"), DecompressionOutcome::Error("COD-Z6"));
    }

    #[test]
    fn cod_z6_a_block_is_no_larger_than_the_window() {
        let run = |window: u8, header: [u8; 3]| decompress(Zstd, &[b"\x28\xb5\x2f\xfd\0".as_slice(), &[window], &header, b"a"].concat());
        // A run of 1,024 bytes in a window of as many, and one of 1,025 in that and in one of 1,152.
        assert_eq!(run(0, [0x03, 0x20, 0]), DecompressionOutcome::of(&[b'a'; 1024]));
        assert_eq!(run(1, [0x0b, 0x20, 0]), DecompressionOutcome::of(&[b'a'; 1025]));
        assert_eq!(run(0, [0x0b, 0x20, 0]), DecompressionOutcome::Error("COD-Z6"));
        // A single segment of 3 bytes, and a block of 5.
        assert_eq!(decompress(Zstd, &hello(b"\x20\x03")), DecompressionOutcome::Error("COD-Z6"));
    }

    #[test]
    fn cod_6_a_claimed_content_size_is_bounded_by_the_blocks() {
        // 8 GiB, and blocks of 5 bytes, of a run of 6, and of unknown bytes.
        let header = b"\x28\xb5\x2f\xfd\xc0\x50\0\0\0\0\x02\0\0\0";
        assert_eq!(bound(&[header, b"\x29\0\0hello".as_slice()].concat()), Some(5));
        assert_eq!(bound(&[header, b"\x33\0\0a".as_slice()].concat()), Some(6));
        assert_eq!(bound(&[header, b"\x0d\0\0a".as_slice()].concat()), Some(BLOCK_MAXIMUM));
        assert_eq!(bound(header), None);
        assert_eq!(bound(&hello(b"\xc0\0\x03\0\0\0\0\0\0\0")), Some(3));
        assert_eq!(bound(b"\x28\xb5\x2f\xfd\x60\x00\x01\x0d\0\0a"), Some(512));
    }

    #[test]
    fn cod_z6_a_cut_skippable_frame_is_an_error() {
        assert_eq!(decompress(Zstd, b"\x50\x2a\x4d\x18\x03\0\0\0ab"), DecompressionOutcome::Error("COD-Z6"));
        assert_eq!(decompress(Zstd, b"\x50\x2a\x4d\x18\x03\0"), DecompressionOutcome::Error("COD-Z6"));
    }
}
