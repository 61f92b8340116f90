//! One raw snappy block: a varint with the decompressed length, then literals and copies.

use super::block;
use super::target::BlockTarget;
use crate::codec::error::snappy_error;
use crate::error::Result;

/// Decompresses one block, which takes all of `input`.
pub(super) fn decompress(input: &[u8], out: &mut impl BlockTarget) -> Result<()> {
    let (declared, elements) = declared_len(input).ok_or_else(|| snappy_error("COD-S1", "the declared length does not end in 5 bytes"))?;
    if declared > most(input.len()) {
        return Err(snappy_error("COD-S9", "the declared length is more than the block can hold"));
    }
    out.take(declared, |output| block::decompress(elements, output).map_err(|what| snappy_error("COD-S1", what)))
}

/// Returns the declared length, 32 bits in up to five bytes, and the bytes after it.
pub(super) fn declared_len(input: &[u8]) -> Option<(usize, &[u8])> {
    let mut len = 0_u64;
    for (index, byte) in (0..5_usize).zip(input) {
        len |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            return Some((usize::try_from(u32::try_from(len).ok()?).ok()?, input.get(index + 1..)?));
        }
    }
    None
}

/// Returns the most bytes that a block of `len` bytes decompresses to: a copy of 64 bytes takes 3.
fn most(len: usize) -> usize {
    len.saturating_mul(64) / 3
}

#[cfg(test)]
mod tests {
    use crate::codec::Codec::Snappy;
    use crate::codec::testing::{DecompressionOutcome, decompress};

    #[test]
    fn cod_s1_a_raw_block_is_read() {
        assert_eq!(decompress(Snappy, b"\x05\x10hello"), DecompressionOutcome::of(b"hello"));
        // "abcd", then a copy of 8 bytes from 4 back.
        assert_eq!(decompress(Snappy, b"\x0c\x0cabcd\x11\x04"), DecompressionOutcome::of(b"abcdabcdabcd"));
    }

    #[test]
    fn cod_s2_empty_input_is_an_error() {
        assert_eq!(decompress(Snappy, b""), DecompressionOutcome::Error("COD-S2"));
    }

    #[test]
    fn cod_s5_bytes_after_a_raw_block_are_an_error() {
        assert_eq!(decompress(Snappy, b"\x05\x10hello\0x"), DecompressionOutcome::Error("COD-S1"));
        assert_eq!(decompress(Snappy, b"\x05\x10hello\x11\x04"), DecompressionOutcome::Error("COD-S1"));
    }

    #[test]
    fn cod_s5_a_cut_block_is_an_error() {
        assert_eq!(decompress(Snappy, b"\x05\x10hell"), DecompressionOutcome::Error("COD-S1"));
        assert_eq!(decompress(Snappy, b"\x85"), DecompressionOutcome::Error("COD-S1"));
        assert_eq!(decompress(Snappy, b"\x05"), DecompressionOutcome::Error("COD-S1"));
    }

    #[test]
    fn cod_s5_the_block_of_an_empty_input_is_one_zero() {
        assert_eq!(decompress(Snappy, b"\0"), DecompressionOutcome::of(b""));
    }

    #[test]
    fn cod_s9_a_length_that_cannot_be_is_refused_before_it_is_allocated() {
        assert_eq!(decompress(Snappy, b"\xff\xff\xff\xff\x07\x10hello"), DecompressionOutcome::Error("COD-S9"));
        assert_eq!(decompress(Snappy, b"\xff\xff\xff\xff\xff\xff\x01\x10hello"), DecompressionOutcome::Error("COD-S1"));
        // 63 bytes from 3 + 2 + 3: the most that the bound lets through still has to be there.
        assert_eq!(decompress(Snappy, b"\x41\x00a\xfe\x01\x00"), DecompressionOutcome::of(&[b'a'; 65]));
    }

    #[test]
    fn cod_s10_the_official_framing_is_not_known() {
        assert_eq!(decompress(Snappy, b"\xff\x06\0\0sNaPpY\x01\x09\0\0\0\0\0\0hello"), DecompressionOutcome::Error("COD-S9"));
    }
}
