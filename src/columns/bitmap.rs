//! Bitmaps: of validity, made only when something is null, and of facts, made a word at a time.

use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};

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

/// One bit a row, pushed `WORD` rows at a time; only the last push before `finish` may hold fewer.
#[derive(Debug, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// Rows of a push.
    pub const WORD: usize = 64;

    /// Pushes the bits of up to `WORD` rows; true when one of them is set.
    #[inline]
    pub fn push(&mut self, bits: impl Iterator<Item = bool>) -> bool {
        let word = bits.take(Self::WORD).zip(0..).fold(0, |word, (bit, at)| word | u64::from(bit) << at);
        self.0.push(word.to_le());
        word != 0
    }

    /// The bits of `rows` rows; a row after the last push is not set.
    pub fn finish(&mut self, rows: usize) -> BooleanBuffer {
        let mut words = std::mem::take(&mut self.0);
        words.resize(rows.div_ceil(Self::WORD), 0);
        BooleanBuffer::new(Buffer::from_vec(words), 0, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_in_the_order_of_the_rows() {
        let rows: Vec<_> = (0..150).map(|row| row % 3 == 1).collect();
        let mut bits = Bits::default();
        assert!(rows.chunks(Bits::WORD).all(|rows| bits.push(rows.iter().copied())));
        assert_eq!(bits.finish(150).iter().collect::<Vec<_>>(), rows);
        assert!(!bits.push([false; 3].into_iter()));
        assert_eq!(bits.finish(3).count_set_bits(), 0);
    }
}
