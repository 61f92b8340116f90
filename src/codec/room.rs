//! Room for packed bytes, written from the front.

/// Literals up to here are copied as so many bytes whatever their number, which costs a load and a store.
const WIDE: usize = 32;

/// What does not fit is not written and shows at the end.
pub(super) struct Room<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Room<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Writes these bytes.
    #[inline(always)]
    pub(super) fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.put_first(bytes, N);
    }

    /// Writes the first `len` of these bytes; the others may be written too, and are written over by what comes next.
    #[inline(always)]
    pub(super) fn put_first<const N: usize>(&mut self, bytes: [u8; N], len: usize) {
        if let Some(room) = self.bytes.get_mut(self.at..).and_then(|room| room.first_chunk_mut()) {
            *room = bytes;
        } else {
            self.put_last(&bytes, len);
        }
        self.at += len;
    }

    /// Near the end of the room.
    #[cold]
    fn put_last(&mut self, bytes: &[u8], len: usize) {
        let room = self.bytes.get_mut(self.at..).and_then(|room| room.get_mut(..len));
        if let (Some(room), Some(bytes)) = (room, bytes.get(..len)) {
            room.copy_from_slice(bytes);
        }
    }

    /// Writes the first `len` bytes of `from`; those behind them may be written too, and are written over by what comes next.
    #[inline(always)]
    pub(super) fn copy(&mut self, from: &[u8], len: usize) {
        let room = self.bytes.get_mut(self.at..).unwrap_or_default();
        self.at += len;
        if len <= WIDE
            && let (Some(from), Some(room)) = (from.first_chunk::<WIDE>(), room.first_chunk_mut::<WIDE>())
        {
            *room = *from;
        } else if let (Some(from), Some(room)) = (from.get(..len), room.get_mut(..len)) {
            room.copy_from_slice(from);
        }
    }

    /// Bytes written, if all of them fitted.
    pub(super) fn written(&self) -> Option<usize> {
        (self.at <= self.bytes.len()).then_some(self.at)
    }
}

/// The lowest byte of a number.
#[inline(always)]
pub(super) fn low_byte(number: usize) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low
}
