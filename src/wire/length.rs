/// A length of this machine as the 64-bit number that positions and counters are. No machine has longer ones.
#[inline(always)]
pub fn as_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// Returns a 32-bit length as `usize`.
#[inline]
pub fn to_len(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
