//! Room for packed bytes, written from the front.
#![expect(unsafe_code, reason = "two checks of bounds at each write took a twentieth of the time")]

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
        const { assert!(N > 0) };
        if N <= self.bytes.len().saturating_sub(self.at) {
            // SAFETY: that many bytes of the slice are behind `at`, which is before its end, as `N` is not 0.
            unsafe { self.bytes.as_mut_ptr().add(self.at).cast::<[u8; N]>().write(bytes) };
        } else {
            put_last(self.bytes.get_mut(self.at..), &bytes, len);
        }
        self.at += len;
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

/// Near the end of the room.
#[cold]
fn put_last(room: Option<&mut [u8]>, bytes: &[u8], len: usize) {
    let room = room.and_then(|room| room.get_mut(..len));
    if let (Some(room), Some(bytes)) = (room, bytes.get(..len)) {
        room.copy_from_slice(bytes);
    }
}

/// The lowest byte of a number.
#[inline(always)]
pub(super) fn low_byte(number: usize) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEYOND: u8 = 0xee;

    #[test]
    fn what_fits_is_written_and_nothing_beyond_the_room() {
        let from: Vec<u8> = (0..=199).collect();
        for (len, behind) in [(0, 0), (0, 40), (1, 31), (15, 0), (31, 1), (32, 0), (33, 0), (33, 40), (100, 100)] {
            // Storage of its own, so that what is read beyond it would be seen by AddressSanitizer.
            let from = from[..len + behind].to_vec();
            let expected = [&[7, 8, 9], &from[..len], &[3, 4]].concat();
            for size in 0..expected.len() + 40 {
                let mut bytes = vec![BEYOND; size + 40];
                let mut room = Room::new(&mut bytes[..size]);
                room.put([7]);
                room.put_first([8, 9, 10, 11], 2);
                room.copy(&from, len);
                room.put_first([3, 4, 5], 2);
                let written = room.written();
                assert_eq!(written, (expected.len() <= size).then_some(expected.len()), "{len}, {size}");
                assert!(written.is_none_or(|written| bytes[..written] == expected), "{len}, {size}");
                assert!(bytes[size..].iter().all(|byte| *byte == BEYOND), "{len}, {size}");
            }
        }
    }
}
