//! Bits to bytes, the lowest first.

use super::huffman::Code;
use crate::codec::room::Room;

/// Bits that are not written yet. Behind a flush they are 7 at most, and 57 more have room.
#[derive(Default)]
pub(super) struct Bits {
    word: u64,
    len: u8,
}

impl Bits {
    /// Adds the lowest `len` bits; those above them must be 0.
    #[inline(always)]
    pub(super) fn add(&mut self, bits: u64, len: u8) {
        self.word |= bits << (self.len & 63);
        self.len += len;
    }

    /// Adds a code.
    #[inline(always)]
    pub(super) fn code(&mut self, code: Code) {
        self.add(code.bits.into(), code.len);
    }

    /// Writes all whole bytes; room for eight is used, whatever their number.
    #[inline(always)]
    pub(super) fn flush(&mut self, room: &mut Room<'_>) {
        room.put_first(self.word.to_le_bytes(), usize::from(self.len / 8));
        self.word >>= self.len & 56;
        self.len &= 7;
    }

    /// Adds zeros up to the end of a byte, and writes it.
    pub(super) fn align(&mut self, room: &mut Room<'_>) {
        self.len = self.len.next_multiple_of(8);
        self.flush(room);
    }

    /// Bits written and waiting, when the bytes fitted.
    #[cfg(test)]
    pub(super) fn written(&self, room: &Room<'_>) -> Option<usize> {
        room.written().map(|bytes| bytes * 8 + usize::from(self.len))
    }
}
