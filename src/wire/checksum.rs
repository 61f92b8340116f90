//! CRC-32C (record batches) and CRC-32 (older messages), PRM-7.

use crc_fast::{CrcAlgorithm, Digest};

use super::prefetch;

const CRC_32C: CrcAlgorithm = CrcAlgorithm::Crc32Iscsi;
const CRC_32: CrcAlgorithm = CrcAlgorithm::Crc32IsoHdlc;
/// Bytes that are asked for, then summed: half of the smallest first-level cache, so that the next piece fits next to this one.
const PIECE: usize = 24 << 10;
/// From here on asking for the bytes costs less than waiting for them.
const WORTH_ASKING: usize = 8 << 10;

/// CRC-32C (Castagnoli) of `bytes`, which may have to come from memory.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    low(if bytes.len() < WORTH_ASKING { crc_fast::checksum(CRC_32C, bytes) } else { sum_pieces(CRC_32C, bytes) })
}

/// The same of `bytes` that were asked for before.
#[inline]
pub fn crc32c_cached(bytes: &[u8]) -> u32 {
    low(crc_fast::checksum(CRC_32C, bytes))
}

/// CRC-32 (zlib, IEEE) of `bytes`.
#[inline]
pub fn crc32(bytes: &[u8]) -> u32 {
    low(if bytes.len() <= PIECE { crc_fast::checksum(CRC_32, bytes) } else { sum_pieces(CRC_32, bytes) })
}

#[inline]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "a 32-bit algorithm gives 32 bits in a u64")]
fn low(sum: u64) -> u32 {
    sum as u32
}

/// A checksum in wide steps is faster than memory: each piece is asked for, many pages side by side, while the one before is summed.
#[inline(never)]
fn sum_pieces(algorithm: CrcAlgorithm, bytes: &[u8]) -> u64 {
    let mut digest = Digest::new(algorithm);
    let mut pieces = bytes.chunks(PIECE);
    let mut next = pieces.next();
    next.into_iter().for_each(prefetch::pages);
    while let Some(piece) = next {
        next = pieces.next();
        next.into_iter().for_each(prefetch::pages);
        digest.update(piece);
    }
    digest.finalize()
}

#[cfg(test)]
mod tests {
    #[test]
    fn prm_7_the_same_in_pieces() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        for len in [super::WORTH_ASKING - 1, super::WORTH_ASKING, super::PIECE, super::PIECE + 1, 3 * super::PIECE, bytes.len()] {
            let whole = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &bytes[1..len]);
            assert_eq!(u64::from(super::crc32c(&bytes[1..len])), whole, "{len} bytes");
        }
    }

    #[test]
    fn prm_7_check_value() {
        assert_eq!(super::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
