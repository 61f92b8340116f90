//! CRC-32C (record batches) and CRC-32 (older messages), PRM-7.

use crc_fast::{CrcAlgorithm, Digest};

/// A checksum of bytes that come piece by piece.
pub struct Running(Digest);

impl Running {
    /// CRC-32C.
    pub fn crc32c() -> Self {
        Self(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }

    /// CRC-32.
    pub fn crc32() -> Self {
        Self(Digest::new(CrcAlgorithm::Crc32IsoHdlc))
    }

    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all bytes so far.
    pub fn value(&self) -> u32 {
        low(self.0.finalize())
    }
}

/// CRC-32C (Castagnoli) of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    low(crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes))
}

/// CRC-32 (zlib, IEEE) of `bytes`.
#[inline]
pub fn crc32(bytes: &[u8]) -> u32 {
    low(crc_fast::checksum(CrcAlgorithm::Crc32IsoHdlc, bytes))
}

#[inline]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "a 32-bit algorithm gives 32 bits in a u64")]
fn low(sum: u64) -> u32 {
    sum as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        // Lengths on both sides of the widths in which the fast implementations work, and starts at every alignment.
        #[test]
        fn properties_crc32c_is_that_of_another_implementation(bytes in prop::collection::vec(any::<u8>(), 0..2048), start in 0_usize..64) {
            let part = bytes.get(start..).unwrap_or_default();
            prop_assert_eq!(super::crc32c(part), ::crc32c::crc32c(part));
            prop_assert_eq!(super::crc32(part), crc32fast::hash(part));
        }
    }

    #[test]
    fn prm_7_check_value() {
        assert_eq!(super::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
        for (mut running, value) in [(super::Running::crc32c(), 0xe306_9283), (super::Running::crc32(), 0xcbf4_3926)] {
            running.add(b"1234");
            running.add(b"");
            running.add(b"56789");
            assert_eq!(running.value(), value);
        }
    }
}
