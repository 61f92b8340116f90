//! Zigzag base-128 integers, low group first (PRM-1 to PRM-6; `ByteUtils` in Kafka's clients).
//!
//! Two ways in: `take` from a slice, exact and slow, and `VarintWindow`, which reads several integers out of one
//! fixed array with a single bounds check. Both drop bits beyond the width, as Java does (PRM-4).

/// Longest encoding of a 32-bit integer.
pub const MAX_VARINT_LEN: usize = 5;
/// Longest encoding of a 64-bit integer.
pub const MAX_VARLONG_LEN: usize = 10;

/// Why an integer could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarintError {
    /// The bytes ended inside it.
    Ended,
    /// Its last allowed byte says that more follow.
    TooLong,
}

/// Takes one integer off the front of `bytes`: its raw value and the rest.
///
/// # Errors
/// `Ended` or `TooLong`.
#[inline]
pub fn take(bytes: &[u8], max_len: usize) -> Result<(u64, &[u8]), VarintError> {
    let mut raw = 0_u64;
    let mut rest = bytes;
    for group in 0..max_len {
        let (byte, tail) = rest.split_first().ok_or(VarintError::Ended)?;
        rest = tail;
        raw |= u64::from(byte & 0x7f).wrapping_shl(shift_of(group));
        if *byte < 0x80 {
            return Ok((raw, rest));
        }
    }
    Err(VarintError::TooLong)
}

/// The integer that eight bytes begin with: its raw value and its length, without a loop. `None` when it is longer.
#[inline(always)]
pub fn within_eight(bytes: [u8; 8]) -> Option<(u64, usize)> {
    /// The highest bit of each byte: it is clear in the last byte of an integer.
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let word = u64::from_le_bytes(bytes);
    let ends = !word & HIGH;
    let last = ends.checked_sub(1)?;
    // The groups of this integer alone, then closed up in twos, in fours, and all.
    let groups = word & (ends ^ last) & !HIGH;
    let twos = (groups & 0x007f_007f_007f_007f) | ((groups & 0x7f00_7f00_7f00_7f00) >> 1);
    let fours = (twos & 0x0000_3fff_0000_3fff) | ((twos & 0x3fff_0000_3fff_0000) >> 2);
    let raw = (fours & 0x0fff_ffff) | ((fours & 0x0fff_ffff_0000_0000) >> 4);
    Some((raw, usize::try_from(ends.trailing_zeros() / 8).unwrap_or(0) + 1))
}

/// Reads integers one after the other out of `N` bytes; `N` is a power of two.
pub struct VarintWindow<'a, const N: usize> {
    bytes: &'a [u8; N],
    at: usize,
}

impl<'a, const N: usize> VarintWindow<'a, N> {
    /// A window at its first byte.
    #[inline(always)]
    pub fn new(bytes: &'a [u8; N]) -> Self {
        const { assert!(N.is_power_of_two()) };
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    #[inline(always)]
    pub fn read_len(&self) -> usize {
        self.at
    }

    /// The next byte.
    #[inline(always)]
    pub fn byte(&mut self) -> u8 {
        let byte = self.peek(0);
        self.at += 1;
        byte
    }

    /// The next integer, raw; `None` when it does not end within `max_len` bytes.
    /// The caller must leave room: at most `N` bytes may be read in all.
    #[inline(always)]
    pub fn raw(&mut self, max_len: usize) -> Option<u64> {
        let first = u64::from(self.peek(0));
        if first < 0x80 {
            self.at += 1;
            return Some(first);
        }
        let second = u64::from(self.peek(1));
        if second < 0x80 {
            self.at += 2;
            return Some((first & 0x7f) | (second << 7));
        }
        let (raw, len) = long(self.bytes, self.at, max_len)?;
        self.at += len;
        Some(raw)
    }

    /// The next 32-bit integer.
    #[inline(always)]
    pub fn varint(&mut self) -> Option<i32> {
        self.raw(MAX_VARINT_LEN).map(zigzag_i32)
    }

    /// The next 64-bit integer.
    #[inline(always)]
    pub fn varlong(&mut self) -> Option<i64> {
        self.raw(MAX_VARLONG_LEN).map(zigzag_i64)
    }

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "masked to the length of the array, a power of two")]
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes[(self.at + ahead) & (N - 1)]
    }
}

/// An integer of three bytes or more, and its length. By value, so that the window stays in registers.
#[inline(never)]
fn long<const N: usize>(bytes: &[u8; N], at: usize, max_len: usize) -> Option<(u64, usize)> {
    let mut window = VarintWindow { bytes, at };
    let mut raw = 0_u64;
    for group in 0..max_len {
        let byte = window.byte();
        raw |= u64::from(byte & 0x7f).wrapping_shl(shift_of(group));
        if byte < 0x80 {
            return Some((raw, group + 1));
        }
    }
    None
}

/// Decodes the 32-bit integer of a raw value; bits above 32 are dropped.
#[inline(always)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "PRM-4 drops the upper bits")]
pub fn zigzag_i32(raw: u64) -> i32 {
    let raw = raw as u32;
    ((raw >> 1) as i32) ^ -((raw & 1) as i32)
}

/// Decodes the 64-bit integer of a raw value.
#[inline(always)]
#[expect(clippy::as_conversions, clippy::cast_possible_wrap, reason = "zigzag is defined on the bit pattern")]
pub fn zigzag_i64(raw: u64) -> i64 {
    ((raw >> 1) as i64) ^ -((raw & 1) as i64)
}

/// Bytes of the shortest encoding of `value` (PRM-6).
#[inline]
pub fn len_of(value: i64) -> usize {
    let zigzag = (value.wrapping_shl(1) ^ (value >> 63)).cast_unsigned();
    let last_bit = 63 - (zigzag | 1).leading_zeros();
    // last_bit / 7 + 1 without a division.
    usize::try_from((last_bit * 9 + 73) / 64).unwrap_or(MAX_VARLONG_LEN)
}

#[inline(always)]
fn shift_of(group: usize) -> u32 {
    u32::try_from(group * 7).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(hex: &[u8]) -> (i64, usize) {
        let (raw, rest) = take(hex, MAX_VARLONG_LEN).ok().unwrap_or_default();
        let mut padded = [0xff_u8; 16];
        padded.iter_mut().zip(hex).for_each(|(to, from)| *to = *from);
        let mut window = VarintWindow::new(&padded);
        assert_eq!(window.raw(MAX_VARLONG_LEN), Some(raw));
        assert_eq!(window.read_len(), hex.len() - rest.len());
        (zigzag_i64(raw), hex.len() - rest.len())
    }

    #[test]
    fn prm_1_eight_bytes_give_the_integer_that_the_loop_gives() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..20_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Bytes that go on, as many as the round says, and one that does not.
            let going_on = 0x80_8080_8080_8080_u64 & ((1 << (8 * (round % 9).min(7))) - 1);
            let end = 0x80_u64.checked_shl(8 * (round % 9)).filter(|_| round % 9 < 8).unwrap_or(0);
            let bytes = (((state | going_on) & !end) | if round % 9 == 8 { 0x8080_8080_8080_8080 } else { 0 }).to_le_bytes();
            let expected = take(&bytes, MAX_VARLONG_LEN).ok().map(|(raw, rest)| (raw, 8 - rest.len()));
            assert_eq!(within_eight(bytes), expected, "{bytes:02x?}");
            assert_eq!(expected.map_or(9, |(_, len)| len), usize::try_from(round % 9 + 1).unwrap());
        }
    }

    #[test]
    fn prm_1_zigzag_pairs_around_zero_and_the_group_borders() {
        for (hex, value) in [
            (&[0x00_u8][..], 0_i64),
            (&[0x01], -1),
            (&[0x7e], 63),
            (&[0x80, 0x01], 64),
            (&[0xff, 0x7f], -8192),
            (&[0x80, 0x80, 0x01], 8192),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], -(1 << 31)),
        ] {
            assert_eq!(both(hex), (value, hex.len()));
            assert_eq!(len_of(value), hex.len());
        }
    }

    #[test]
    fn prm_4_upper_bits_are_dropped_and_a_last_byte_that_goes_on_is_a_fault() {
        let (raw, _) = take(&[0x80, 0x80, 0x80, 0x80, 0x70], MAX_VARINT_LEN).unwrap_or_default();
        assert_eq!(zigzag_i32(raw), 0);
        assert_eq!(take(&[0x80; 6], MAX_VARINT_LEN), Err(VarintError::TooLong));
        assert_eq!(take(&[0x80; 11], MAX_VARLONG_LEN), Err(VarintError::TooLong));
        assert_eq!(take(&[0x80; 3], MAX_VARLONG_LEN), Err(VarintError::Ended));
        assert_eq!(VarintWindow::new(&[0x80; 16]).varint(), None);
    }

    #[test]
    fn prm_5_overlong_encodings_are_read() {
        assert_eq!(both(&[0x80, 0x00]), (0, 2));
    }
}
