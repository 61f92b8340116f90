//! Bytes out: storage that grows, is reused, and is written in runs and in small fixed windows.

use super::huge_pages;

/// Bytes written so far, and initialised storage after them.
///
/// Storage is never zeroed again: what lies after the written bytes is of no meaning.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    storage: Vec<u8>,
    len: usize,
}

impl Sink {
    /// Forgets the written bytes and keeps the storage.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Forgets the bytes from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Forgets the first `len` bytes; those after them move to the front.
    pub fn forget_front(&mut self, len: usize) {
        let len = len.min(self.len);
        self.storage.copy_within(len..self.len, 0);
        self.len -= len;
    }

    /// The written bytes as a vector, without a copy.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.storage.truncate(self.len);
        self.storage
    }

    /// At least `wanted` bytes of storage after the written bytes.
    #[inline]
    pub fn unfilled(&mut self, wanted: usize) -> &mut [u8] {
        let needed = self.len.saturating_add(wanted);
        if self.storage.len() < needed {
            self.grow(needed);
        }
        self.storage.get_mut(self.len..).unwrap_or_default()
    }

    /// Counts `bytes` of the space as written.
    #[inline]
    pub fn fill(&mut self, bytes: usize) {
        debug_assert!(self.len + bytes <= self.storage.len(), "filled beyond the storage");
        self.len = (self.len + bytes).min(self.storage.len());
    }

    /// Writes a run of bytes.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        if let Some(unfilled) = self.unfilled(bytes.len()).get_mut(..bytes.len()) {
            unfilled.copy_from_slice(bytes);
        }
        self.fill(bytes.len());
    }

    /// Writes over bytes that are there, from position `at` on; what would lie beyond them is not written.
    #[inline]
    pub fn patch(&mut self, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= self.len, "patched beyond what is written");
        if let Some(written) = self.storage.get_mut(at..at.saturating_add(bytes.len())) {
            written.copy_from_slice(bytes);
        }
    }

    /// The written bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.storage.get(..self.len).unwrap_or_default()
    }

    /// The written bytes from position `at` on.
    #[inline]
    pub fn from(&self, at: usize) -> &[u8] {
        self.bytes().get(at..).unwrap_or_default()
    }

    /// Bytes written.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of storage held.
    pub fn held_bytes(&self) -> usize {
        self.storage.capacity()
    }

    /// True when nothing is written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Moves to larger storage. Much of it costs nothing before it is written to: the system gives zero pages as they are touched. So large
    /// storage grows by more, and what is written moves less often.
    #[cold]
    fn grow(&mut self, needed: usize) {
        const LEAST: usize = 4096;
        const LARGE: usize = 8 << 20;
        let held = self.storage.len();
        let wanted = held.saturating_mul(if held < LARGE { 2 } else { 4 });
        let mut storage = huge_pages::zeroed(needed.max(wanted).max(LEAST));
        if let Some(written) = storage.get_mut(..self.len) {
            written.copy_from_slice(self.bytes());
        }
        self.storage = storage;
    }
}

/// Fields built one after the other in `N` bytes, so that one bounds check serves them all; `N` is a power of two.
/// The caller must leave room: at most `N` bytes may be written in all.
pub struct FieldSink<'a, const N: usize> {
    bytes: &'a mut [u8; N],
    at: usize,
}

impl<'a, const N: usize> FieldSink<'a, N> {
    /// Writes into these bytes, from the first one on.
    #[inline(always)]
    pub fn new(bytes: &'a mut [u8; N]) -> Self {
        const { assert!(N.is_power_of_two()) };
        Self { bytes, at: 0 }
    }

    /// Bytes written.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.at
    }

    /// True when nothing is written.
    pub fn is_empty(&self) -> bool {
        self.at == 0
    }

    /// Writes a byte.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "masked to the length of the array, a power of two")]
    pub fn byte(&mut self, byte: u8) {
        self.bytes[self.at & (N - 1)] = byte;
        self.at += 1;
    }

    /// Writes a zigzag integer of 32 or 64 bits in its shortest form (PRM-1, PRM-2, PRM-5).
    #[inline(always)]
    pub fn varlong(&mut self, value: i64) {
        let mut raw = (value.wrapping_shl(1) ^ (value >> 63)).cast_unsigned();
        while raw >= 0x80 {
            self.byte(low_group(raw) | 0x80);
            raw >>= 7;
        }
        self.byte(low_group(raw));
    }
}

#[inline(always)]
#[expect(clippy::as_conversions, reason = "seven bits fit a byte")]
fn low_group(raw: u64) -> u8 {
    (raw & 0x7f) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::varint;

    #[test]
    fn what_is_put_stays_while_storage_grows() {
        let mut sink = Sink::default();
        for byte in 0..=255 {
            sink.put(&[byte; 100]);
        }
        assert_eq!((sink.len(), sink.from(25_500)), (25_600, [255; 100].as_slice()));
        sink.patch(1, b"ab");
        assert!(sink.bytes().starts_with(b"\0ab\0"));
        sink.truncate(3);
        sink.put(b"c");
        assert_eq!(sink.bytes(), b"\0abc");
        sink.put(b"def");
        sink.forget_front(2);
        assert_eq!(sink.clone().into_vec(), b"bcdef");
        sink.forget_front(9);
        assert!(sink.is_empty() && sink.unfilled(1).len() >= 25_600);
    }

    #[test]
    fn prm_1_integers_are_written_in_their_shortest_form() {
        for value in [0, -1, 63, 64, -64, -65, 8191, 8192, i64::from(i32::MAX), i64::from(i32::MIN), i64::MAX, i64::MIN] {
            let mut bytes = [0; 16];
            let mut fields = FieldSink::new(&mut bytes);
            fields.varlong(value);
            let len = fields.len();
            assert_eq!(len, varint::len_of(value), "{value}");
            let (raw, rest) = varint::take(&bytes[..len], varint::MAX_VARLONG_LEN).unwrap();
            assert_eq!((varint::zigzag_i64(raw), rest), (value, [].as_slice()));
        }
    }
}
