//! Validity bitmaps, made only when something is null.

use arrow_buffer::{BooleanBuffer, MutableBuffer, NullBuffer};

/// A bitmap of `len` rows where the given rows are null; `None` when none is.
pub fn nulls(rows: &[usize], len: usize) -> Option<NullBuffer> {
    if rows.is_empty() {
        return None;
    }
    let mut bits = MutableBuffer::from_len_zeroed(len.div_ceil(8));
    bits.as_slice_mut().fill(0xff);
    for row in rows.iter().filter(|row| **row < len) {
        if let Some(byte) = bits.as_slice_mut().get_mut(row / 8) {
            *byte &= !(1_u8 << (row % 8));
        }
    }
    Some(NullBuffer::new(BooleanBuffer::new(bits.into(), 0, len)))
}
