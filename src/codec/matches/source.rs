//! Plain bytes to find matches in: many of them loaded at once, from anywhere, with one comparison.
#![expect(unsafe_code, reason = "two checks of bounds at each load took a fifteenth of the time")]

use super::TAIL;

/// Bytes at the end at which nothing is loaded: the widest load, and none may reach what no match reaches into.
const MARGIN: usize = 16 + TAIL;

/// Bytes of which as many can be loaded from any position before the limit.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    bytes: &'a [u8],
    limit: usize,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, limit: bytes.len().saturating_sub(MARGIN) }
    }

    /// Positions before it can be loaded from.
    #[inline(always)]
    pub(super) fn limit(self) -> usize {
        self.limit
    }

    /// The bytes from a position on; none beyond the end.
    #[inline(always)]
    pub(super) fn from(self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// The bytes before a position that matches may reach into.
    pub(super) fn before_tail(self, from: usize) -> &'a [u8] {
        self.bytes.get(from..self.bytes.len().saturating_sub(TAIL)).unwrap_or_default()
    }

    /// The four bytes at a position before the limit.
    #[inline(always)]
    pub(super) fn load4(self, at: usize) -> Option<[u8; 4]> {
        self.load(at)
    }

    /// The eight bytes at a position before the limit.
    #[inline(always)]
    pub(super) fn load8(self, at: usize) -> Option<u64> {
        self.load(at).map(u64::from_le_bytes)
    }

    /// The eight bytes at a position before the limit, and the next eight.
    #[inline(always)]
    pub(super) fn load16(self, at: usize) -> Option<[u64; 2]> {
        let bytes: [u8; 16] = self.load(at)?;
        let [a, b, c, d, e, f, g, h, rest @ ..] = bytes;
        Some([u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes(rest)])
    }

    #[inline(always)]
    fn load<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        const { assert!(N <= MARGIN) };
        // SAFETY: `at` is before the limit, so that more than `MARGIN` bytes of the slice, and with them `N`, begin there.
        (at < self.limit).then(|| unsafe { self.bytes.as_ptr().add(at).cast::<[u8; N]>().read() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_what_the_slice_holds_and_none_beyond_the_limit() {
        let bytes: Vec<u8> = (0..=99).collect();
        for len in 0..=bytes.len() {
            // Storage of its own, so that a load beyond it would be seen by AddressSanitizer.
            let bytes = bytes[..len].to_vec();
            let source = Source::new(&bytes);
            assert_eq!(source.limit(), len.saturating_sub(21));
            for at in (0..len + 2).chain([usize::MAX - 20, usize::MAX]) {
                let is_before = at < source.limit();
                assert_eq!(source.load4(at), is_before.then(|| *bytes[at..].first_chunk().unwrap()));
                assert_eq!(source.load8(at), is_before.then(|| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap())));
                assert_eq!(
                    source.load16(at),
                    is_before.then(|| [at, at + 8].map(|at| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap())))
                );
                assert_eq!(source.from(at), bytes.get(at..).unwrap_or_default());
                assert_eq!(source.before_tail(at), bytes.get(at..len.saturating_sub(5)).unwrap_or_default());
            }
        }
    }
}
